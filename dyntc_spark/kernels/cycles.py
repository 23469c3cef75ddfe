"""A cycle for each strongly connected component that has one: a witness."""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Offsets


@compiled
def shortest_cycles(offsets: Offsets, targets: Ids, component: Ids, roots: Ids) -> tuple[Offsets, Ids]:
    """Return a shortest cycle through each of ``roots``, as offsets and vertices in the direction of the cycle.

    ``roots`` has at most one vertex of a component, and each lies on a cycle. In a component of several vertices
    self-loops do not count; a root that is alone in its component has a self-loop, and its cycle is itself.

    One breadth-first search for each root, within its component: linear in vertices and edges.

    Examples
    --------
    >>> edges = np.array([0, 2, 3, 4, 5]), np.array([0, 1, 2, 0, 3], np.int32)
    >>> shortest_cycles(*edges, np.array([1, 1, 1, 0], np.int32), np.array([0, 3], np.int32))
    (array([0, 3, 4]), array([0, 1, 2, 3], dtype=int32))
    """
    n = len(component)
    parent = np.full(n, -1, np.int32)  # components are disjoint, so it need not be cleared between two roots
    queue, found = np.empty(n, np.int32), np.empty(n, np.int32)
    ends = np.zeros(len(roots) + 1, np.int64)
    count = 0
    for k in range(len(roots)):
        root = roots[k]
        queue[0] = parent[root] = last = root
        begin, end, closed = 0, 1, False
        while begin < end and not closed:
            v = queue[begin]
            begin += 1
            for w in targets[offsets[v] : offsets[v + 1]]:
                if w == root and v != root:
                    last, closed = v, True
                    break
                if parent[w] < 0 and component[w] == component[root]:
                    parent[w] = v
                    queue[end] = w
                    end += 1
        found[count] = last
        count += 1
        while last != root:
            last = parent[last]
            found[count] = last
            count += 1
        ends[k + 1] = count
        found[ends[k] : count] = found[ends[k] : count][::-1].copy()
    return ends, found[:count].copy()
