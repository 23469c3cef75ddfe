"""Questions that need edges and closure together: witness paths, and the pairs that a batch changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from dyntc_spark.edges import Edges, EdgeSet, edges_of, keys_of
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.kernels.reach import without

#: Tells for each of some vertices whether it is worth going there; None: all are.
Guide = Callable[[Indices], npt.NDArray[np.bool_]] | None


def shortest_path(edges: EdgeSet, closure: Reachability, source: int, target: int) -> list[int] | None:
    """Return the vertices of a shortest path, or None where there is no path.

    A breadth-first search that an exact closure keeps on course: it follows
    only edges whose head reaches the target.

    Examples
    --------
    >>> edges = EdgeSet.of(Edges.of([0, 1, 0, 2], [1, 2, 3, 4]))
    >>> closure = Recompute()
    >>> closure.init(edges.edges, 5)
    >>> shortest_path(edges, closure, 0, 4), shortest_path(edges, closure, 4, 0)
    ([0, 1, 2, 4], None)
    """
    return next(shortest_paths(edges, closure, Edges.of([source], [target])))


def shortest_paths(edges: EdgeSet, closure: Reachability, pairs: Edges) -> Iterator[list[int] | None]:
    """Return a shortest path for each of many pairs, one after the other.

    A closure in this process is asked at every step; of one on Spark the
    ancestors of all targets are gathered first, in one job.
    """
    gathered = closure.exact and closure.backend == "spark"
    return _found(edges, closure, pairs, closure.ancestors(pairs.targets) if gathered else None)


def _found(edges: EdgeSet, closure: Reachability, pairs: Edges, reaching: Edges | None) -> Iterator[list[int] | None]:
    for source, target in zip(pairs.sources.tolist(), pairs.targets.tolist(), strict=True):
        guide: Guide = None
        if reaching is not None:
            begin, end = np.searchsorted(reaching.targets, [target, target + 1])
            guide = _among(reaching.sources[begin:end])
        elif closure.exact:
            guide = asking(closure, target)
        yield searched(edges, guide, source, target)


def asking(closure: Reachability, target: int) -> Guide:
    """Return the guide to a target that asks the closure."""
    return lambda heads: closure.query(heads, np.full(len(heads), target))


def _among(vertices: Indices) -> Guide:
    return lambda heads: np.isin(heads, vertices)


def searched(edges: EdgeSet, guide: Guide, source: int, target: int) -> list[int] | None:
    """Search breadth-first where the guide leads; return the vertices of a shortest path, or None."""
    if guide is not None and not guide(np.array([source]))[0]:
        return None
    parents = {source: source}
    frontier: Indices = np.array([source])
    while target not in parents:
        steps = edges.leaving(frontier)
        heads, firsts = np.unique(steps.targets, return_index=True)
        if guide is not None:
            near = guide(heads)
            heads, firsts = heads[near], firsts[near]
        pairs = zip(heads.tolist(), steps.sources[firsts].tolist(), strict=True)
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
