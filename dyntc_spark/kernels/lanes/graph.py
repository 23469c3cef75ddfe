"""A digraph with its strong components, as batches change it: edges, members, numbers and order of components.

What a batch does to the graph, before and after the words of the stripes shrink and grow
(the package's header has the whole): components that lost edges are `split`, and `insert_edges` leads from M to H.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import compiled, inner, lean_inner
from dyntc_spark.kernels.components import grouped, strong_components
from dyntc_spark.kernels.ids import Ids, Marks, Offsets
from dyntc_spark.kernels.lanes.adjacency import Adjacency, insert
from dyntc_spark.kernels.lanes.arrays import room
from dyntc_spark.kernels.lanes.order import Order, put_below, remove, replace

#: A component that loses at most so many inner edges is asked about each of them; else it is searched as a whole.
FEW_LOST = 8
_LOW = 2**32 - 1
_CLEAN, _DOWN, _UP = np.int8(0), np.int8(1), np.int8(2)  # marks of searches


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
    n_free: Offsets  #: how many these are; and edges that searches of `insert_edges` looked at
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


@lean_inner
def _is_joined(graph: Graph, u: int, v: int) -> bool:  # noqa: C901  (two searches that take turns)
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


def broken(graph: Graph, inner: Offsets) -> Ids:
    """Return the components that may have fallen apart by the loss of inner edges."""
    if not len(inner):
        return np.empty(0, np.int32)
    numbers = graph.members.component[inner >> 32]
    order = np.argsort(numbers, kind="stable")
    return _broken(graph, numbers[order], inner[order])


@compiled
def _broken(graph: Graph, numbers: Ids, inner: Offsets) -> Ids:
    """Return which of the components have fallen apart, as far as few inner edges tell: those of each lie together.

    A component holds together iff each tail still reaches its head: then every path has another way.
    """
    found = np.empty(len(inner), np.int32)
    count = begin = 0
    while begin < len(inner):
        end = begin
        while end < len(inner) and numbers[end] == numbers[begin]:
            end += 1
        apart = end - begin > FEW_LOST
        for k in range(begin, end):
            apart = apart or not _is_joined(graph, inner[k] >> 32, inner[k] & _LOW)
        if apart:
            found[count] = numbers[begin]
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
        largest = 0
        for p in range(1, pieces):
            if offsets[p + 1] - offsets[p] > offsets[largest + 1] - offsets[largest]:
                largest = p
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
        put_below(graph.order, np.int64(anchor), named)
    return Merges(parts[:count], wholes[:count])


@inner
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


@lean_inner
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
    graph: Graph, keys: Offsets, begin: int, merging: bool, budget: int
) -> tuple[int, Merges]:
    """Insert edges one after the other, repair the order, and merge the components on new cycles.

    Return how far it came, and the numbers that are gone with the components that they are part of in the end.
    Unless ``merging``, it stops at the first edge that closes a cycle, which is inserted already: ``members`` can be
    copied then, and the work go on from there. It gives up, and returns -1, when it has looked at more than ``budget``
    edges: a single edge at a large component may take a search of all of it.
    """
    component = graph.members.component
    graph.n_free[1] = 0
    gone, kept = np.empty(16, np.int32), np.empty(16, np.int32)
    count = np.int64(0)
    for k in range(begin, len(keys)):
        u, v = keys[k] >> 32, keys[k] & _LOW
        if k > begin or not merging:
            insert(graph.out, u, v)
            insert(graph.into, v, u)
        c, d = component[u], component[v]
        if c == d or graph.order.labels[c] > graph.order.labels[d]:
            continue
        if graph.n_free[1] > budget:
            return -1, Merges(gone[:0], kept[:0])
        n_cycle = _repair(graph, c, d, merging)  # leaves the components of a new cycle in graph.found
        if n_cycle:
            if not merging:
                return k, Merges(gone[:0], kept[:0])
            gone, kept = room(gone, count, n_cycle), room(kept, count, n_cycle)
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


@inner
def _repair(graph: Graph, c: int, d: int, merging: bool) -> int:
    """Repair the order after the edge from ``c`` up to ``d``; return how many components are on a cycle with it.

    What ``d`` reaches above ``c`` moves right below ``c``, in the order that it has; but for a
    cycle, whose components are left in ``graph.found`` for `_merge`. Unless ``merging``, a cycle leaves all as it was.
    """
    order, marks, stack = graph.order, graph.marks, graph.stack
    low = order.labels[c]
    n = _search(graph, graph.out, d, low, _CLEAN, _DOWN, stack)
    n_cycle = _search(graph, graph.into, c, low, _DOWN, _UP, graph.found) if marks[c] == _DOWN else 0
    if n_cycle and not merging:
        for k in range(n):
            marks[stack[k]] = _CLEAN
        return n_cycle
    rest = np.empty(n - n_cycle, np.int32)
    count = 0
    for k in range(n):
        x = stack[k]
        if marks[x] == _DOWN:
            rest[count] = x
            count += 1
            remove(order, x)
        marks[x] = _CLEAN
    if count:
        _highest_first(rest, order.labels)
        put_below(order, np.int64(c), rest)
    return n_cycle


@inner
def _highest_first(nodes: Ids, labels: Offsets) -> None:
    """Sort components by falling labels, in place: Shell's sort, which compiles faster than numba's own."""
    gap = len(nodes)
    while gap > 1:
        gap = (gap * 5 - 1) // 11 if gap > 4 else 1
        for k in range(gap, len(nodes)):
            node, at = nodes[k], k
            while at >= gap and labels[nodes[at - gap]] < labels[node]:
                nodes[at] = nodes[at - gap]
                at -= gap
            nodes[at] = node


@lean_inner
def _search(graph: Graph, rows: Adjacency, start: int, low: int, before: np.int8, mark: np.int8, found: Ids) -> int:
    """Mark what ``start`` reaches on ``rows``, and list it in ``found``; return how many components that are.

    Only components with the mark ``before`` and a label from ``low`` on are entered.
    """
    members, marks, labels = graph.members, graph.marks, graph.order.labels
    component, after = members.component, members.after
    found[0] = start
    marks[start] = mark
    n, done = 1, 0
    while done < n:
        x = found[done]
        done += 1
        v = members.first[x]
        for _ in range(members.size[x]):
            graph.n_free[1] += rows.lengths[v] + 1
            for place in range(rows.starts[v], rows.starts[v] + rows.lengths[v]):
                e = component[rows.values[place]]
                if marks[e] == before and labels[e] >= low:
                    marks[e] = mark
                    found[n] = e
                    n += 1
            v = after[v]
    return n


@lean_inner
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
    index, number = np.full(len(members.size), -1, np.int32), np.empty(len(members.size), np.int32)
    c = order.ends[0]
    while c >= 0:
        index[c] = count
        number[count] = c
        count += 1
        c = order.above[c]
    place = np.empty(len(members.component), np.int32)  # of each vertex: the index of its component
    for v in range(len(place)):
        place[v] = index[members.component[v]]
    for n in out.lengths:
        edges += n
    offsets, targets = np.zeros(count + 1, np.int64), np.empty(edges, np.int32)
    seen, end = np.full(count, -1, np.int32), 0
    for k in range(count):
        seen[k] = k
        v = members.first[number[k]]
        for _ in range(members.size[number[k]]):
            for at in range(out.starts[v], out.starts[v] + out.lengths[v]):
                d = place[out.values[at]]
                if seen[d] != k:
                    seen[d] = k
                    targets[end] = d
                    end += 1
            v = members.after[v]
        offsets[k + 1] = end
    return offsets, targets[:end], number[:count], index
