"""Edges without which a component falls apart: the back edges of a depth-first search in it.

An edge is a back edge when it leads to a vertex whose search is not finished. Every cycle has one,
so that a component is acyclic without them. How many there are depends on where the search starts. If
all cycles go through one vertex, as when one edge has closed a giant one, then it lies on the
first cycle that any search finds, and a search that starts there finds edges to it only.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Marks, Offsets

UNSEEN, OPEN, DONE = 0, 1, 2


@compiled
def back_edges(
    offsets: Offsets, targets: Ids, component: Ids, start: int, mark: Marks, cursor: Offsets
) -> tuple[Offsets, Offsets]:
    """Return the back edges of a search from ``start`` in its component, and the first cycle that it met.

    ``mark`` is 0 and ``cursor`` as ``offsets`` at the vertices of the component, and both are so again afterwards.

    Examples
    --------
    >>> offsets, targets = np.array([0, 1, 2, 4]), np.array([1, 2, 0, 1], np.int32)
    >>> back_edges(offsets, targets, np.zeros(3, np.int32), 1, np.zeros(3, np.int8), offsets[:-1].copy())
    (array([0, 3]), array([1, 2, 0]))
    """
    path, seen = np.empty(len(mark), np.int64), np.empty(len(mark), np.int64)
    found, cycle = np.empty(16, np.int64), np.empty(0, np.int64)
    depth, count, size = 0, 1, 0
    path[0] = seen[0] = start
    mark[start] = OPEN
    while depth >= 0:
        v = path[depth]
        e = cursor[v]
        if e == offsets[v + 1]:
            mark[v] = DONE
            depth -= 1
            continue
        cursor[v] += 1
        w = targets[e]
        if component[w] != component[v] or mark[w] == DONE:
            continue
        if mark[w] == UNSEEN:
            depth += 1
            path[depth] = seen[count] = w
            count += 1
            mark[w] = OPEN
            continue
        if size == 0:
            first = depth
            while path[first] != w:
                first -= 1
            cycle = path[first : depth + 1].copy()
        if size == len(found):
            found = np.append(found, found)
        found[size] = e
        size += 1
    for k in range(count):
        mark[seen[k]], cursor[seen[k]] = UNSEEN, offsets[seen[k]]
    return found[:size].copy(), cycle
