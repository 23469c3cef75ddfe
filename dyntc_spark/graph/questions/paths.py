"""Questions that need edges and closure together: witness paths, and the pairs that a batch changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dyntc_spark.edges import Edges, EdgeSet, edges_of, keys_of
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.kernels.components import without
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.kernels.search import Searcher

#: Returns for each of some vertices whether the search should go there.
Guide = Callable[[Indices], Flags]
#: How many pairs are searched together, without a guide.
TOGETHER = 1024


def searcher(edges: EdgeSet, vertices: int) -> Searcher:
    """Return what searches for paths without a closure."""
    return Searcher(*edges.adjacency(vertices))


def shortest_paths(edges: EdgeSet, closure: Reachability, pairs: Edges) -> Iterator[list[int] | None]:
    """Return the vertices of a shortest path for each of some pairs, or None where there is no path, one by one.

    The closure says first which pairs a path joins, all of them at once. For these the edges are searched,
    breadth-first. Where the closure is in this process and exact, the search goes only to vertices that reach the
    target; of one on Spark nothing but the first answer is asked, and of one that is not exact nothing.

    Examples
    --------
    >>> edges = EdgeSet.of(Edges.of([0, 1, 0, 2], [1, 2, 3, 4]))
    >>> closure = Recompute()
    >>> closure.init(edges.edges, 5)
    >>> list(shortest_paths(edges, closure, Edges.of([0, 4, 1], [4, 0, 1])))
    [[0, 1, 2, 4], None, [1]]
    """
    joined = closure.query(pairs.sources, pairs.targets) if closure.exact else np.ones(len(pairs), np.bool_)
    if closure.exact and closure.backend == "local":
        return _guided(edges, closure, pairs, joined)
    return _unguided(searcher(edges, closure.vertices), pairs, joined)


def distances(edges: EdgeSet, closure: Reachability, pairs: Edges) -> Indices:
    """Return for each pair how many edges a shortest path has; -1 where there is no path.

    Examples
    --------
    >>> edges = EdgeSet.of(Edges.of([0, 1, 0, 2], [1, 2, 2, 3]))
    >>> closure = Recompute()
    >>> closure.init(edges.edges, 4)
    >>> distances(edges, closure, Edges.of([0, 0, 3, 1], [3, 1, 0, 1]))
    array([ 2,  1, -1,  0])
    """
    paths = shortest_paths(edges, closure, pairs)
    return np.fromiter((-1 if path is None else len(path) - 1 for path in paths), np.int64, len(pairs))


def _unguided(search: Searcher, pairs: Edges, joined: Flags) -> Iterator[list[int] | None]:
    for begin in range(0, len(pairs), TOGETHER):
        part = slice(begin, begin + TOGETHER)
        some = np.flatnonzero(joined[part])
        paths = search.paths(pairs.sources[part][some], pairs.targets[part][some])
        found = dict(zip(some.tolist(), paths, strict=True))
        yield from (found.get(row) for row in range(len(joined[part])))


def _guided(edges: EdgeSet, closure: Reachability, pairs: Edges, joined: Flags) -> Iterator[list[int] | None]:
    for source, target, is_joined in zip(pairs.sources.tolist(), pairs.targets.tolist(), joined, strict=True):
        yield _searched(edges, _asking(closure, target), source, target) if is_joined else None


def _asking(closure: Reachability, target: int) -> Guide:
    """Return the guide to a target that asks the closure."""
    return lambda heads: closure.query(heads, np.full(len(heads), target))


def _searched(edges: EdgeSet, guide: Guide, source: int, target: int) -> list[int] | None:
    """Search breadth-first where the guide leads; return the vertices of a shortest path, or None."""
    parents = {source: source}
    frontier: Indices = np.array([source])
    while target not in parents:
        steps = edges.leaving(frontier)
        heads, firsts = np.unique(steps.targets, return_index=True)
        near = guide(heads)
        pairs = zip(heads[near].tolist(), steps.sources[firsts[near]].tolist(), strict=True)
        new = [(head, tail) for head, tail in pairs if head not in parents]
        if not new:
            return None
        parents.update(new)
        frontier = np.array([head for head, _ in new])
    path = [target]
    while path[-1] != source:
        path.append(parents[path[-1]])
    return path[::-1]


def changed_pairs(before: EdgeSet, after: EdgeSet, closure: Reachability) -> tuple[Edges, Edges]:
    """Return the pairs that became reachable and those that became unreachable, where ``closure`` is that of ``after``.

    Only rows of vertices that reached the tail of a changed edge before can
    differ: the first changed edge on a path, new or lost, is reached by edges
    that were there. Their old rows come from a recomputation.

    Examples
    --------
    >>> before, after = EdgeSet.of(Edges.of([0, 1], [1, 2])), EdgeSet.of(Edges.of([0, 2], [1, 0]))
    >>> closure = Recompute()
    >>> closure.init(after.edges, 3)
    >>> gained, lost = changed_pairs(before, after, closure)
    >>> gained.sources, gained.targets, lost.sources, lost.targets
    (array([2, 2]), array([0, 1]), array([0, 1]), array([2, 2]))
    """
    tails = np.concatenate([before.minus(after).sources, after.minus(before).sources])
    old = Recompute()
    old.init(before.edges, closure.vertices)
    rows = np.unique(old.ancestors(tails).sources)
    were, are = keys_of(old.descendants(rows)), keys_of(closure.descendants(rows))
    return edges_of(without(are, were)), edges_of(without(were, are))
