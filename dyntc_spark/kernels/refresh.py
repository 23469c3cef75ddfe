"""One batch on a condensation: which rows it can have changed, and these rows built again.

The object is a `Condensed` digraph: the strongly connected components, one row of
reached components a component, and the edges by tail and by head. G and H are
the graphs before and after a batch. Below, a row is what a vertex reaches.

**Which changes matter** (`decisive_tails`). A change is harmless when it is

(i)   an inserted edge ``(u, v)`` with ``v`` in the row of ``u`` in G;
(ii)  a deleted edge within a component that is still mutually reachable in H;
(iii) a deleted edge ``(u, v)`` between two components, where an edge ``(u, w)``
      that G and H share leads out of the component of ``u`` and ``v`` is in the
      row of ``w`` in G.

*A vertex that reaches, in G, no tail of another ("decisive") change has the same
row in H.* Nothing is lost: take such a vertex and its component C, and suppose it
shown for the components below C in the topological order of G. The members of C
still reach each other, by (ii). A path of G that leaves C by ``(u, v)`` goes on
below C, where nothing is lost; if ``(u, v)`` was deleted then (iii) gives a ``w``
below C whose row in G, hence in H, holds ``v`` and all that ``v`` reaches. Nothing is
won: on a path of H from such a vertex every edge is of G or falls under (i), so it
never leaves what the vertex reached in G.

**Which rows are built again** (`ancestors`, then ``kernels.refresh_rows``). Only the
ancestors in G of decisive tails are affected. The strong components of H that they
are in hold no others: an unaffected vertex on a cycle with them would reach them in
H, so in G, and be one of them. A component with the members of an old one keeps its
number; every other one gets a number that was free, so that a row which holds a
component that is no more differs from the new one. From below upwards, a row is the
union of the rows one step further. It is built only if the component is new, an edge
of it changed, or a row one step further changed: else it is the union of what it was
the union of. A row that turns out to be the old one stops the change there.

Costs: the edges into and out of the affected vertices, the edges of components in
which edges are deleted, and the rows that are built.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.pool import Rows, holds
from dyntc_spark.kernels.reach import Flags, Ids, Offsets

#: Rule (iii) is tried for tails with at most so many deletions; each costs the tail's edges, a search each.
FEW = 8
_LOW = 2**32 - 1
PAIRS, EDGES, HEADS, FREE = range(4)  #: places in ``Condensed.totals``


class Condensed(NamedTuple):
    """A digraph, its components and what they reach; arrays by vertex, by component, and rows of both kinds."""

    component: Ids  #: of each vertex
    after: Ids  #: the next member of its component, in a ring
    first: Ids  #: a member of each component
    size: Ids  #: number of members of each component
    free: Ids  #: component numbers that are not in use: the first ``totals[FREE]`` of these
    totals: Offsets  #: pairs of vertices, a vertex with itself included; edges; numbers in ``rows``; free numbers
    rows: Rows  #: components that each component reaches, itself included
    out: Rows  #: heads of the edges of each vertex
    into: Rows  #: tails of the edges to each vertex


class Part(NamedTuple):
    """The affected vertices, numbered among themselves, with their edges and components in H."""

    vertices: Ids
    begins: Offsets  #: the heads of the edges of each: ``out.values[begins:ends]``
    ends: Offsets
    component: Ids  #: of each, among themselves; edges lead to smaller numbers
    member_offsets: Offsets
    members: Ids
    numbers: Ids  #: the number of each component
    fresh: Flags  #: whether that number is new
    altered: Flags  #: whether the row has to be built; in the end, whether it changed
    starts: Offsets  #: the row of each component
    lengths: Ids


@compiled
def ring(offsets: Offsets, members: Ids) -> tuple[Ids, Ids]:
    """Give for each vertex the next member of its component, and a member of each component."""
    after, first = np.empty(len(members), np.int32), np.empty(len(offsets) - 1, np.int32)
    for c in range(len(first)):
        first[c] = members[offsets[c]]
        for k in range(offsets[c], offsets[c + 1]):
            after[members[k]] = members[k + 1] if k + 1 < offsets[c + 1] else first[c]
    return after, first


@compiled
def decisive_tails(graph: Condensed, inserted: Offsets, deleted: Offsets) -> tuple[Ids, Ids]:
    """Give the tails of decisive changes by (i) and (iii), and the components that (ii) is to be asked about."""
    tails, strained = np.empty(len(inserted) + len(deleted), np.int32), np.empty(len(deleted), np.int32)
    n_tails = n_strained = begin = 0
    for key in inserted:
        if not holds(graph.rows, graph.component[key >> 32], graph.component[key & _LOW]):
            tails[n_tails] = key >> 32
            n_tails += 1
    while begin < len(deleted):
        u = deleted[begin] >> 32
        end = begin
        while end < len(deleted) and deleted[end] >> 32 == u:
            end += 1
        decisive, within = _deletions(graph, u, deleted[begin:end])
        if decisive:
            tails[n_tails] = u
            n_tails += 1
        if within:
            strained[n_strained] = graph.component[u]
            n_strained += 1
        begin = end
    return tails[:n_tails], np.unique(strained[:n_strained])


@compiled
def _deletions(graph: Condensed, u: int, deleted: Offsets) -> tuple[bool, bool]:
    """Tell whether a deletion at ``u`` is decisive by (iii), and whether one lies within its component."""
    decisive = within = False
    component, out = graph.component, graph.out
    for key in deleted:
        v = key & _LOW
        if component[u] == component[v]:
            within = within or u != v  # a loop matters to no row
        elif not decisive:
            decisive = True
            gone = 0
            for place in range(out.starts[u], out.starts[u] + out.lengths[u] if len(deleted) <= FEW else 0):
                w = out.values[place]
                while gone < len(deleted) and deleted[gone] & _LOW < w:
                    gone += 1
                shared = gone == len(deleted) or deleted[gone] & _LOW != w
                if shared and component[w] != component[u] and holds(graph.rows, component[w], component[v]):
                    decisive = False
                    break
    return decisive, within


@compiled
def gathered(graph: Condensed, components: Ids) -> Ids:
    """Give the members of these components."""
    total = 0
    for c in components:
        total += graph.size[c]
    found = np.empty(total, np.int32)
    end = 0
    for c in components:
        v = graph.first[c]
        for _ in range(graph.size[c]):
            found[end] = v
            end += 1
            v = graph.after[v]
    return found


@compiled
def ancestors(into: Rows, tails: Ids, place: Ids, limit: int) -> Ids:
    """Give the vertices that reach ``tails``, those included, each numbered in ``place`` (where the others have -1).

    A breadth-first search backwards over the edges; it gives up when there are more than ``limit``.
    """
    found = np.empty(min(len(place), max(limit, 0) + len(tails) + 1), np.int32)
    count = done = 0
    for v in tails:
        if place[v] < 0:
            place[v] = count
            found[count] = v
            count += 1
    while done < count <= limit:
        v = found[done]
        done += 1
        for k in range(into.starts[v], into.starts[v] + into.lengths[v]):
            u = into.values[k]
            if place[u] < 0 and count <= limit:
                place[u] = count
                found[count] = u
                count += 1
    return found[:count]


@compiled
def located(
    out: Rows, vertices: Ids, place: Ids, touched: Ids, starts: Offsets, lengths: Ids
) -> tuple[Offsets, Offsets]:
    """Give where the edges of ``vertices`` lie in H: those of ``touched`` at ``starts``, the others where they were."""
    begins, ends = np.empty(len(vertices), np.int64), np.empty(len(vertices), np.int64)
    for i in range(len(vertices)):
        begins[i] = out.starts[vertices[i]]
        ends[i] = begins[i] + out.lengths[vertices[i]]
    for t in range(len(touched)):
        if place[touched[t]] >= 0:
            begins[place[touched[t]]] = starts[t]
            ends[place[touched[t]]] = starts[t] + lengths[t]
    return begins, ends


@compiled
def induced(values: Ids, begins: Offsets, ends: Offsets, place: Ids) -> tuple[Offsets, Ids]:
    """Give the edges between the vertices that are numbered in ``place``, in these numbers, as offsets and targets."""
    offsets = np.zeros(len(begins) + 1, np.int64)
    targets = np.empty((ends - begins).sum(), np.int32)
    count = 0
    for i in range(len(begins)):
        for k in range(begins[i], ends[i]):
            if place[values[k]] >= 0:
                targets[count] = place[values[k]]
                count += 1
        offsets[i + 1] = count
    return offsets, targets[:count]


@compiled
def broken(graph: Condensed, components: Ids, vertices: Ids, piece: Ids) -> Ids:
    """Give a member of each of ``components``, whose members are ``vertices``, that is now in more than one piece."""
    found = np.empty(len(components), np.int32)
    count = begin = 0
    for c in components:
        for k in range(begin + 1, begin + graph.size[c]):
            if piece[k] != piece[begin]:
                found[count] = vertices[begin]
                count += 1
                break
        begin += graph.size[c]
    return found[:count]


@compiled
def kept_numbers(graph: Condensed, vertices: Ids, member_offsets: Offsets, members: Ids) -> tuple[Ids, Ids]:
    """Give the number that each component of the part keeps, else -1, and the numbers that no component keeps."""
    numbers = np.full(len(member_offsets) - 1, -1, np.int32)
    lost = np.empty(len(vertices), np.int32)
    count = 0
    for c in range(len(numbers)):
        begin, end = member_offsets[c], member_offsets[c + 1]
        old = graph.component[vertices[members[begin]]]
        if graph.size[old] == end - begin:
            numbers[c] = old
            for k in range(begin, end):
                if graph.component[vertices[members[k]]] != old:
                    numbers[c] = -1
                    break
        if numbers[c] < 0:
            for k in range(begin, end):
                v = vertices[members[k]]
                if graph.first[graph.component[v]] == v:
                    lost[count] = graph.component[v]
                    count += 1
    return numbers, lost[:count]
