"""The vertices near some others, in both directions: what is shown of a graph that is too large to show.

The distance of a vertex is the number of edges of a shortest path from a start to it, or from it to a start. From each
vertex that is shown, such a path is shown as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.errors import OptionError
from dyntc_spark.kernels.ids import Indices


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Some of the vertices near some others."""

    vertices: Indices  #: ascending
    complete: int | None  #: all vertices up to this distance are among them; None: all at any distance


def nearby(
    edges: EdgeSet, starts: Indices, weight: Indices, *, depth: int | None, most: int, each: int | None = None
) -> Neighbourhood:
    """Return the vertices near ``starts``, the nearest first, of those equally near the heaviest.

    Parameters
    ----------
    edges, starts
        The graph, and where to begin.
    weight
        Of each vertex of the graph.
    depth
        How far to go; None: as far as there is room.
    most
        So many vertices at most, beside the starts.
    each
        So many at most for each distance and direction.

    Examples
    --------
    >>> chain = EdgeSet.of(Edges.of([0, 1, 2, 3, 9], [1, 2, 3, 4, 2]))
    >>> nearby(chain, np.array([2]), np.arange(10), depth=1, most=9)
    Neighbourhood(vertices=array([1, 2, 3, 9]), complete=1)
    >>> nearby(chain, np.array([2]), np.arange(10), depth=2, most=9, each=1)
    Neighbourhood(vertices=array([2, 3, 4, 9]), complete=0)
    """
    starts = np.unique(starts)
    seen = np.zeros(len(weight), np.bool_)
    seen[starts] = True
    reverse = EdgeSet.of(Edges(edges.edges.targets, edges.edges.sources))
    sides, frontiers = [(1, edges), (-1, reverse)], {1: starts, -1: starts}
    shown, whole, hops, complete = [starts], True, 0, 0
    while any(map(len, frontiers.values())) and hops != depth and most > 0:
        hops += 1
        found: dict[int, Indices] = {}
        for side, steps in sides:
            near = np.unique(steps.leaving(frontiers[side]).targets)
            near = near[~seen[near]]
            seen[near] = True  # a vertex of both directions, on a cycle, counts once
            found[side] = near[np.argsort(-weight[near], kind="stable")]
        for side, _ in sides:
            other = len(found[-side]) if side == 1 else 0
            room = most if side == -1 else max(most - other, (most + 1) // 2)
            kept = found[side][: room if each is None else min(room, each)]
            whole = whole and len(kept) == len(found[side])
            most -= len(kept)
            frontiers[side] = kept
            shown.append(kept)
        complete = hops if whole else complete
    everything = whole and not any(map(len, frontiers.values()))
    return Neighbourhood(np.sort(np.concatenate(shown)), None if everything else complete)


def degrees(edges: EdgeSet, vertices: int) -> Indices:
    """Return how many edges each vertex has."""
    every = edges.edges
    found: Indices = np.bincount(np.concatenate([every.sources, every.targets]), minlength=vertices)
    return found


def induced(edges: EdgeSet, vertices: Indices) -> Edges:
    """Return the edges among ascending ``vertices``."""
    steps = edges.leaving(vertices)
    kept = np.isin(steps.targets, vertices)
    return Edges(steps.sources[kept], steps.targets[kept])


def require_depth(depth: object, *, none: bool) -> None:
    """Refuse what is no distance; with ``none``, None is one."""
    if (depth is None and none) or (isinstance(depth, int) and not isinstance(depth, bool) and depth >= 0):
        return
    raise OptionError("depth, a number of edges from 0 on", f"{depth!r:.80}", "Leave it out for the default.")
