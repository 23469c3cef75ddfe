"""Shortest paths in a digraph, by searches that begin at a vertex and end when all that is looked for was met.

The digraph is given as in ``kernels.components``: the edges of ``v`` lead to ``targets[offsets[v]:offsets[v + 1]]``.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Indices, Offsets

_WANTED, _UNMET = -2, -1


class Searcher:
    """A digraph in which paths are searched. It can be sent to Spark's workers: two arrays.

    Parameters
    ----------
    offsets, targets
        The edges.

    Examples
    --------
    >>> square = Searcher(np.array([0, 2, 3, 4, 4]), np.array([1, 2, 3, 3], np.int32))
    >>> square.paths(np.array([0, 3, 1, 0]), np.array([3, 0, 1, 2]))
    [[0, 1, 3], None, [1], [0, 2]]
    """

    def __init__(self, offsets: Offsets, targets: Ids) -> None:
        self._offsets, self._targets = offsets, targets

    def paths(self, sources: Indices, ends: Indices) -> list[list[int] | None]:
        """Return a shortest path for each pair of vertices, its ends among it; None where there is none.

        Pairs with the same source share one search.
        """
        n = len(self._offsets) - 1
        parents, queue = np.full(n, _UNMET, np.int32), np.empty(n, np.int32)
        found: list[list[int] | None] = [None] * len(sources)
        order = np.argsort(sources, kind="stable")
        firsts = np.flatnonzero(np.diff(sources[order], prepend=-1))
        for rows in np.split(order, firsts[1:]) if len(order) else ():
            source, wanted = int(sources[rows[0]]), ends[rows].astype(np.int32)
            met = explored(self._offsets, self._targets, source, wanted, parents, queue)
            for row in rows.tolist():
                found[row] = _walked(parents, source, int(ends[row]))
            parents[queue[:met]] = _UNMET
            parents[wanted] = _UNMET
        return found


@compiled
def explored(offsets: Offsets, targets: Ids, source: int, wanted: Ids, parents: Ids, queue: Ids) -> int:
    """Search breadth-first from a vertex until all of ``wanted`` were met, or there is nothing left.

    ``parents`` has -1 for every vertex; it gets for each vertex that was met the one before it on a shortest path.
    ``queue`` gets the vertices that were met; return how many these are.
    """
    missing = 0
    for v in wanted:
        if parents[v] == _UNMET:
            parents[v] = _WANTED
            missing += 1
    if parents[source] == _WANTED:
        missing -= 1
    parents[source] = source
    queue[0] = source
    done, met = 0, 1
    while missing and done < met:
        v = queue[done]
        done += 1
        for w in targets[offsets[v] : offsets[v + 1]]:
            if parents[w] < 0:
                if parents[w] == _WANTED:
                    missing -= 1
                parents[w] = v
                queue[met] = w
                met += 1
    return met


def _walked(parents: Ids, source: int, end: int) -> list[int] | None:
    """Return the path that a search has found to a vertex."""
    path = [end]
    while path[-1] != source:
        if parents[path[-1]] < 0:
            return None
        path.append(int(parents[path[-1]]))
    return path[::-1]
