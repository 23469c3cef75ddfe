"""What edges alone tell about a graph, by the numbers of its vertices: components, cycles, roots and leaves.

Two vertices are in one strongly connected component when each reaches the other. All of it is linear in vertices and
edges, which are in this process for every engine and backend.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.kernels.components import strong_components
from dyntc_spark.kernels.cycles import shortest_cycles
from dyntc_spark.kernels.ids import Indices


def representatives(edges: EdgeSet, vertices: int) -> Indices:
    """Return for each vertex the smallest of its strongly connected component.

    Examples
    --------
    >>> representatives(EdgeSet.of(Edges.of([1, 2, 0], [2, 1, 1])), 4)
    array([0, 1, 1, 3])
    """
    component, count = strong_components(*edges.adjacency(vertices))
    first = np.empty(count, np.int64)
    first[component[::-1]] = np.arange(vertices - 1, -1, -1)  # what is written last stays
    found: Indices = first[component]
    return found


def cyclic(edges: EdgeSet, of: Indices) -> Indices:
    """Return the representatives of the components that have a cycle, ascending; ``of``: of each vertex.

    Examples
    --------
    >>> edges = EdgeSet.of(Edges.of([1, 2, 0, 3], [2, 1, 1, 3]))
    >>> cyclic(edges, representatives(edges, 5))
    array([1, 3])
    """
    every = edges.edges
    loops = every.sources[every.sources == every.targets]
    return np.unique(np.concatenate([of[loops], np.flatnonzero(np.bincount(of, minlength=1) > 1)]))


def witnesses(edges: EdgeSet, of: Indices) -> tuple[Indices, Indices, Edges]:
    """Return one cycle for each component that has one: for each edge of it the component, the hop, and the edge.

    Examples
    --------
    >>> edges = EdgeSet.of(Edges.of([1, 2, 0, 3], [2, 1, 1, 3]))
    >>> witnesses(edges, representatives(edges, 5))
    (array([1, 1, 3]), array([1, 2, 1]), Edges(sources=array([1, 2, 3]), targets=array([2, 1, 3])))
    """
    roots = cyclic(edges, of)
    ends, found = shortest_cycles(*edges.adjacency(len(of)), of.astype(np.int32), roots.astype(np.int32))
    lengths = np.diff(ends)
    hops = np.arange(1, len(found) + 1) - np.repeat(ends[:-1], lengths)
    following = np.roll(found, -1)
    following[ends[1:] - 1] = roots
    return np.repeat(roots, lengths), hops, Edges.of(found, following)


def roots(edges: EdgeSet, vertices: Indices) -> Indices:
    """Return those of ``vertices`` that no edge leads to.

    Examples
    --------
    >>> roots(EdgeSet.of(Edges.of([0, 2], [1, 2])), np.arange(4))
    array([0, 3])
    """
    return _without(vertices, edges.edges.targets)


def leaves(edges: EdgeSet, vertices: Indices) -> Indices:
    """Return those of ``vertices`` that no edge leaves.

    Examples
    --------
    >>> leaves(EdgeSet.of(Edges.of([0, 2], [1, 2])), np.arange(4))
    array([1, 3])
    """
    return _without(vertices, edges.edges.sources)


def _without(vertices: Indices, others: Indices) -> Indices:
    """Return those of the ascending ``vertices`` that are not among ``others``, which are vertices, too."""
    free = np.ones(int(vertices.max(initial=-1)) + 1, np.bool_)
    free[others] = False
    return vertices[free[vertices]]
