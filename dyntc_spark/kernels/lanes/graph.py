"""A digraph with its strong components, as batches change it: edges, members, numbers and order of components.

What a batch does to the graph, before and after the words of the stripes shrink and grow
(the package's header has the whole): components that lost edges are `split`, and `insert_edges` leads from M to H.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.lanes.adjacency import Adjacency, insert
from dyntc_spark.kernels.lanes.order import Order, put_below, remove, replace
from dyntc_spark.kernels.reach import Ids, Offsets, grouped, strong_components

#: A component that loses at most so many inner edges is asked about each of them; else it is searched as a whole.
FEW_LOST = 8
_LOW = 2**32 - 1
_CLEAN, _DOWN, _UP = 0, 1, 2  # marks of searches
Marks: TypeAlias = npt.NDArray[np.int8]


class Members(NamedTuple):
    """Which vertices are in which component. There are as many numbers as vertices; those without members are free."""

    component: Ids  #: of each vertex: the number of its component
    after: Ids  #: of each vertex: the next member of its component, in a ring
    first: Ids  #: of each number: a member
    size: Ids  #: of each number: how many members, 0 where it is free


class Graph(NamedTuple):
    """A digraph, its components and their order, and scratch space for searches."""

    members: Members
    free: Ids  #: numbers that are free: the first ``n_free[0]``
    n_free: Offsets
    order: Order
    out: Adjacency
    into: Adjacency
    marks: Marks  #: by vertex or number: clean between two calls
    stack: Ids  #: by vertex or number
    found: Ids  #: by vertex or number


class Merges(NamedTuple):
    """Components that became part of others."""

    gone: Ids  #: numbers before
    kept: Ids  #: number of the component that each is part of


@compiled
def is_joined(graph: Graph, u: int, v: int) -> bool:  # noqa: C901  (two searches that take turns)
    """Return whether ``u`` reaches ``v`` within their component: a search from both ends."""
    component, marks, down, up = graph.members.component, graph.marks, graph.stack, graph.found
    inside = component[u]
    down[0], up[0] = u, v
    marks[u], marks[v] = _DOWN, _UP
    n_down = n_up = 1
    done_down = done_up = 0
    met = False
    while not met and done_down < n_down and done_up < n_up:
        if n_down - done_down <= n_up - done_up:
            x = down[done_down]
            done_down += 1
            for place in range(graph.out.starts[x], graph.out.starts[x] + graph.out.lengths[x]):
                w = graph.out.values[place]
                if marks[w] == _UP:
                    met = True
                elif marks[w] == _CLEAN and component[w] == inside:
                    marks[w] = _DOWN
                    down[n_down] = w
                    n_down += 1
        else:
            x = up[done_up]
            done_up += 1
            for place in range(graph.into.starts[x], graph.into.starts[x] + graph.into.lengths[x]):
                w = graph.into.values[place]
                if marks[w] == _DOWN:
                    met = True
                elif marks[w] == _CLEAN and component[w] == inside:
                    marks[w] = _UP
                    up[n_up] = w
                    n_up += 1
    for k in range(n_down):
        marks[down[k]] = _CLEAN
    for k in range(n_up):
        marks[up[k]] = _CLEAN
    return met


@compiled
def is_broken(graph: Graph, keys: Offsets) -> bool:
    """Return whether a component that lost these inner edges has fallen apart, as far as few of them tell.

    It holds together iff each tail still reaches its head: then every path has another way.
    """
    found = len(keys) > FEW_LOST
    for key in keys:
        found = found or not is_joined(graph, key >> 32, key & _LOW)
    return found


@compiled
def broken(graph: Graph, inner: Offsets) -> Ids:
    """Return the components that may have fallen apart by the loss of inner edges."""
    component = graph.members.component
    numbers = np.empty(len(inner), np.int32)
    for k in range(len(inner)):
        numbers[k] = component[inner[k] >> 32]
    by_number = np.argsort(numbers)
    found = np.empty(len(inner), np.int32)
    count = begin = 0
    while begin < len(inner):
        c, end = numbers[by_number[begin]], begin
        while end < len(inner) and numbers[by_number[end]] == c:
            end += 1
        if is_broken(graph, inner[by_number[begin:end]]):
            found[count] = c
            count += 1
        begin = end
    return found[:count]


@compiled
def split(graph: Graph, numbers: Ids) -> Merges:
    """Let components fall into their parts, if they do; return the numbers of the parts with that of the whole.

    The largest part keeps the number and is listed, too. Linear in the edges at the components.
    """
    members, place = graph.members, np.full(len(graph.stack) if len(numbers) else 0, -1, np.int32)
    total = 0
    for c in numbers:
        total += members.size[c]
    parts, wholes = np.empty(total, np.int32), np.empty(total, np.int32)
    count = 0
    for c in numbers:
        inside = graph.stack[: members.size[c]]
        v = members.first[c]
        for k in range(len(inside)):
            inside[k] = v
            place[v] = k
            v = members.after[v]
        piece, pieces = strong_components(*_inner_edges(graph.out, inside, place))
        for v in inside:
            place[v] = -1
        if pieces == 1:
            continue
        offsets, order = grouped(piece, pieces)
        largest = np.argmax(offsets[1:] - offsets[:-1])
        named = np.empty(pieces, np.int32)
        for p in range(pieces):
            number = c
            if p != largest:
                graph.n_free[0] -= 1
                number = graph.free[graph.n_free[0]]
            _make_ring(members, number, inside, order[offsets[p] : offsets[p + 1]])
            named[pieces - 1 - p] = number  # the highest first
            parts[count], wholes[count] = number, c
            count += 1
        anchor = graph.order.above[c]
        remove(graph.order, c)
        put_below(graph.order, anchor, named)
    return Merges(parts[:count], wholes[:count])


@compiled
def _inner_edges(out: Adjacency, inside: Ids, place: Ids) -> tuple[Offsets, Ids]:
    """Return the edges among vertices that have a place, in places."""
    offsets = np.zeros(len(inside) + 1, np.int64)
    total = 0
    for v in inside:
        total += out.lengths[v]
    targets = np.empty(total, np.int32)
    count = 0
    for k in range(len(inside)):
        v = inside[k]
        for at in range(out.starts[v], out.starts[v] + out.lengths[v]):
            if place[out.values[at]] >= 0:
                targets[count] = place[out.values[at]]
                count += 1
        offsets[k + 1] = count
    return offsets, targets[:count]


@compiled
def _make_ring(members: Members, number: int, vertices: Ids, which: Ids) -> None:
    """Let some of ``vertices`` be the members of a component."""
    before = vertices[which[-1]]
    for k in which:
        members.component[vertices[k]] = number
        members.after[before] = vertices[k]
        before = vertices[k]
    members.first[number], members.size[number] = before, len(which)


@compiled
def insert_edges(  # noqa: C901  (an edge, its cycle, and whose part each component is in the end)
    graph: Graph, keys: Offsets, begin: int, merging: bool
) -> tuple[int, Merges]:
    """Insert edges one after the other, repair the order, and merge the components on new cycles.

    Return how far it came, and the numbers that are gone with the components that they are part of in the end.
    Unless ``merging``, it stops at the first edge that closes a cycle, which is inserted already: ``members`` can be
    copied then, and the work go on from there.
    """
    component = graph.members.component
    gone, kept = np.empty(16, np.int32), np.empty(16, np.int32)
    count = 0
    for k in range(begin, len(keys)):
        u, v = keys[k] >> 32, keys[k] & _LOW
        if k > begin or not merging:
            insert(graph.out, u, v)
            insert(graph.into, v, u)
        c, d = component[u], component[v]
        if c == d or graph.order.labels[c] > graph.order.labels[d]:
            continue
        n_cycle = _repair(graph, c, d, merging)  # leaves the components of a new cycle in graph.found
        if n_cycle:
            if not merging:
                return k, Merges(gone[:0], kept[:0])
            if count + n_cycle > len(gone):
                gone, kept = _longer(gone, count + n_cycle), _longer(kept, count + n_cycle)
            keep = _merge(graph, c, n_cycle)
            for at in range(n_cycle):
                if graph.found[at] != keep:
                    gone[count], kept[count] = graph.found[at], keep
                    count += 1
    heir = graph.stack
    for k in range(count - 1, -1, -1):  # a component that was kept may be gone later on
        if graph.members.size[kept[k]] == 0:
            kept[k] = heir[kept[k]]
        heir[gone[k]] = kept[k]
    return len(keys), Merges(gone[:count], kept[:count])


@compiled
def _longer(array: Ids, least: int) -> Ids:
    longer = np.empty(max(2 * len(array), least), array.dtype)
    longer[: len(array)] = array
    return longer


@compiled
def _repair(graph: Graph, c: int, d: int, merging: bool) -> int:
    """Repair the order after the edge from ``c`` up to ``d``; return how many components are on a cycle with it.

    What ``d`` reaches above ``c`` moves right below ``c``, in the order that it has; but for a
    cycle, whose components are left in ``graph.found`` for `_merge`. Unless ``merging``, a cycle leaves all as it was.
    """
    order, marks, stack = graph.order, graph.marks, graph.stack
    n = _reached(graph, d, order.labels[c])
    n_cycle = _leading_to(graph, c) if marks[c] == _DOWN else 0
    if n_cycle and not merging:
        for k in range(n):
            marks[stack[k]] = _CLEAN
        return n_cycle
    rest = np.empty(n - n_cycle, np.int32)
    labels = np.empty(n - n_cycle, np.int64)
    count = 0
    for k in range(n):
        x = stack[k]
        if marks[x] == _DOWN:
            rest[count], labels[count] = x, -order.labels[x]
            count += 1
            remove(order, x)
        marks[x] = _CLEAN
    if count:
        put_below(order, c, rest[np.argsort(labels)])
    return n_cycle


@compiled
def _reached(graph: Graph, d: int, low: int) -> int:
    """Mark what ``d`` reaches of the components with a label from ``low`` on, and list it in ``graph.stack``."""
    members, out, marks, stack = graph.members, graph.out, graph.marks, graph.stack
    stack[0] = d
    marks[d] = _DOWN
    n = 1
    done = 0
    while done < n:
        x = stack[done]
        done += 1
        v = members.first[x]
        for _ in range(members.size[x]):
            for place in range(out.starts[v], out.starts[v] + out.lengths[v]):
                e = members.component[out.values[place]]
                if marks[e] == _CLEAN and graph.order.labels[e] >= low:
                    marks[e] = _DOWN
                    stack[n] = e
                    n += 1
            v = members.after[v]
    return n


@compiled
def _leading_to(graph: Graph, c: int) -> int:
    """Mark what leads to ``c`` of the marked components, and list it in ``graph.found``."""
    members, into, marks, found = graph.members, graph.into, graph.marks, graph.found
    found[0] = c
    marks[c] = _UP
    n = 1
    done = 0
    while done < n:
        x = found[done]
        done += 1
        v = members.first[x]
        for _ in range(members.size[x]):
            for place in range(into.starts[v], into.starts[v] + into.lengths[v]):
                e = members.component[into.values[place]]
                if marks[e] == _DOWN:
                    marks[e] = _UP
                    found[n] = e
                    n += 1
            v = members.after[v]
    return n


@compiled
def _merge(graph: Graph, c: int, n_cycle: int) -> int:
    """Make one component of those in ``graph.found``, in the place of ``c``; the largest keeps its number."""
    members, cycle = graph.members, graph.found[:n_cycle]
    keep = c
    for x in cycle:
        if members.size[x] > members.size[keep]:
            keep = x
    for x in cycle:
        if x != c:
            remove(graph.order, x)
    if keep != c:
        replace(graph.order, c, keep)
    for x in cycle:
        if x == keep:
            continue
        a, b = members.first[keep], members.first[x]
        v = b
        for _ in range(members.size[x]):
            members.component[v] = keep
            v = members.after[v]
        members.after[a], members.after[b] = members.after[b], members.after[a]
        members.size[keep] += members.size[x]
        members.size[x] = 0
        graph.free[graph.n_free[0]] = x
        graph.n_free[0] += 1
    return keep


@compiled
def condensed(graph: Graph) -> tuple[Offsets, Ids, Ids, Ids]:
    """Return the acyclic graph of components, numbered by their order: offsets, targets, numbers, and their inverse."""
    members, out, order = graph.members, graph.out, graph.order
    count = edges = 0
    index = np.full(len(members.size), -1, np.int32)
    c = order.ends[0]
    while c >= 0:
        index[c] = count
        count += 1
        c = order.above[c]
    for n in out.lengths:
        edges += n
    offsets, targets = np.zeros(count + 1, np.int64), np.empty(edges, np.int32)
    number, seen = np.empty(count, np.int32), np.full(count, -1, np.int32)
    end = k = 0
    c = order.ends[0]
    while c >= 0:
        number[k] = c
        seen[k] = k
        v = members.first[c]
        for _ in range(members.size[c]):
            for place in range(out.starts[v], out.starts[v] + out.lengths[v]):
                d = index[members.component[out.values[place]]]
                if seen[d] != k:
                    seen[d] = k
                    targets[end] = d
                    end += 1
            v = members.after[v]
        offsets[k + 1] = end
        k += 1
        c = order.above[c]
    return offsets, targets[:end], number, index
