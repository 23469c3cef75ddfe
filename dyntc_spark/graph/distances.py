"""How many edges a shortest path has."""

from __future__ import annotations

import numpy as np

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.paths import asking, searched
from dyntc_spark.kernels.ids import Indices


def distances(edges: EdgeSet, closure: Reachability, pairs: Edges) -> Indices:
    """Return for each pair how many edges a shortest path has; -1 where there is no path.

    The closure says first which pairs a path joins, all of them at once. For these the edges are searched,
    breadth-first. Where the closure is in this process and exact, the search goes only to vertices that reach the
    target; of one on Spark nothing but the first answer is asked.

    Examples
    --------
    >>> from dyntc_spark.engines.recompute import Recompute
    >>> edges = EdgeSet.of(Edges.of([0, 1, 0, 2], [1, 2, 2, 3]))
    >>> closure = Recompute()
    >>> closure.init(edges.edges, 4)
    >>> distances(edges, closure, Edges.of([0, 0, 3, 1], [3, 1, 0, 1]))
    array([ 2,  1, -1,  0])
    """
    guided = closure.exact and closure.backend == "local"
    found = np.full(len(pairs), -1, np.int64)
    joined = closure.query(pairs.sources, pairs.targets) if closure.exact else np.ones(len(pairs), np.bool_)
    for row in np.flatnonzero(joined).tolist():
        source, target = int(pairs.sources[row]), int(pairs.targets[row])
        path = searched(edges, asking(closure, target) if guided else None, source, target)
        found[row] = -1 if path is None else len(path) - 1
    return found
