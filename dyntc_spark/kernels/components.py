"""The strongly connected components of a digraph, and the acyclic graph that is left when they are contracted.

A digraph on the vertices ``0 … n-1`` is given by ``offsets`` and ``targets``: the
edges of ``v`` lead to ``targets[offsets[v]:offsets[v + 1]]``. Two vertices are in
one strongly connected component when each reaches the other. Contracting the
components leaves an acyclic graph; they are numbered so that every edge between
two of them leads to the smaller number.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Offsets


@compiled
def strong_components(offsets: Offsets, targets: Ids) -> tuple[Ids, int]:
    """Return the component of each vertex, and how many components there are.

    Tarjan's algorithm without recursion: linear in vertices and edges. It
    finishes a component after all that it reaches, hence the numbering.

    Examples
    --------
    >>> strong_components(np.array([0, 1, 3, 3]), np.array([1, 0, 2], np.int32))
    (array([1, 1, 0], dtype=int32), 2)
    """
    n = len(offsets) - 1
    component = np.full(n, -1, np.int32)
    visited = np.zeros(n, np.int32)  # the moment of the first visit, from 1
    lowest = np.zeros(n, np.int32)  # the first moment that is known to be in reach
    cursor = offsets[:-1].copy()  # the next edge to follow
    path = np.empty(n, np.int32)  # from the root of the search to the current vertex
    pending = np.empty(n, np.int32)  # visited, but of no component yet
    clock = count = n_pending = 0
    for root in range(n):
        if visited[root]:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            v = path[depth]
            if not visited[v]:
                clock += 1
                visited[v] = lowest[v] = clock
                pending[n_pending] = v
                n_pending += 1
            if cursor[v] < offsets[v + 1]:
                w = targets[cursor[v]]
                cursor[v] += 1
                if not visited[w]:
                    depth += 1
                    path[depth] = w
                elif component[w] < 0:
                    lowest[v] = min(lowest[v], visited[w])
                continue
            if lowest[v] == visited[v]:
                n_pending = _settle(v, pending, n_pending, component, count)
                count += 1
            depth -= 1
            if depth >= 0:
                lowest[path[depth]] = min(lowest[path[depth]], lowest[v])
    return component, count


@compiled
def _settle(v: int, pending: Ids, n_pending: int, component: Ids, number: int) -> int:
    """Let the pending vertices from ``v`` on be component ``number``; return how many are still pending."""
    while component[v] < 0:
        n_pending -= 1
        component[pending[n_pending]] = number
    return n_pending


@compiled
def starts(numbers: Ids, count: int) -> Offsets:
    """Return how many of ``numbers`` are below each number from 0 to ``count``: where each begins when they are sorted.

    Examples
    --------
    >>> starts(np.array([2, 0, 2], np.int32), 3)
    array([0, 1, 1, 3])
    """
    offsets = np.zeros(count + 1, np.int64)
    for number in numbers:
        offsets[number + 1] += 1
    return np.cumsum(offsets)


@compiled
def grouped(component: Ids, count: int) -> tuple[Offsets, Ids]:
    """Return the members of each component, ascending, as offsets and vertices."""
    offsets = starts(component, count)
    cursor = offsets[:-1].copy()
    members = np.empty(len(component), np.int32)
    for v in range(len(component)):
        members[cursor[component[v]]] = v
        cursor[component[v]] += 1
    return offsets, members


@compiled
def ring(offsets: Offsets, members: Ids) -> tuple[Ids, Ids]:
    """Return for each vertex the next member of its component, and a member of each component."""
    after, first = np.empty(len(members), np.int32), np.empty(len(offsets) - 1, np.int32)
    for c in range(len(first)):
        first[c] = members[offsets[c]]
        for k in range(offsets[c], offsets[c + 1]):
            after[members[k]] = members[k + 1] if k + 1 < offsets[c + 1] else first[c]
    return after, first


@compiled
def contracted(
    offsets: Offsets, targets: Ids, component: Ids, member_offsets: Offsets, members: Ids
) -> tuple[Offsets, Ids]:
    """Return the edges between different components, each once."""
    count = len(member_offsets) - 1
    ends, heads = np.zeros(count + 1, np.int64), np.empty(len(targets), np.int32)
    marks = np.full(count, -1, np.int32)
    end = 0
    for c in range(count):
        marks[c] = c
        for v in members[member_offsets[c] : member_offsets[c + 1]]:
            for w in targets[offsets[v] : offsets[v + 1]]:
                d = component[w]
                if marks[d] != c:
                    marks[d] = c
                    heads[end] = d
                    end += 1
        ends[c + 1] = end
    return ends, heads[:end].copy()


@compiled
def transposed(offsets: Offsets, targets: Ids) -> tuple[Offsets, Ids]:
    """Return the edges the other way round: for each vertex the sources of its edges, ascending."""
    count = len(offsets) - 1
    ends = starts(targets, count)
    cursor = ends[:-1].copy()
    sources = np.empty(len(targets), np.int32)
    for v in range(count):
        for w in targets[offsets[v] : offsets[v + 1]]:
            sources[cursor[w]] = v
            cursor[w] += 1
    return ends, sources


@compiled
def without(keys: Offsets, others: Offsets) -> Offsets:
    """Return the elements of the ascending ``keys`` that the ascending ``others`` lack, in one pass over both.

    Examples
    --------
    >>> without(np.array([1, 3, 5]), np.array([0, 3, 4]))
    array([1, 5])
    """
    found = np.empty(len(keys), np.int64)
    count = place = 0
    for key in keys:
        while place < len(others) and others[place] < key:
            place += 1
        if place == len(others) or others[place] != key:
            found[count] = key
            count += 1
    result: Offsets = found[:count].copy()
    return result
