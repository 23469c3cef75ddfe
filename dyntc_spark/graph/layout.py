"""Where things are in a picture: a small graph in layers, a large one as its matrix.

Vertices that reach each other are drawn as one node, the components of the
graph, so that all edges between nodes lead from one layer to a later one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.history import Graph
from dyntc_spark.kernels import reach
from dyntc_spark.kernels.ids import Indices

#: More nodes than this are not drawn one by one.
MOST_NODES = 40
SWEEPS = 4
SAMPLE = 1024
LONGEST = 18


@dataclass(frozen=True, slots=True)
class Layers:
    """The components of a graph in layers: each is one layer behind the last of those that lead to it."""

    labels: list[str]
    sizes: list[int]  #: vertices of each component
    x: list[int]  #: the layer of each
    y: list[float]  #: its place in the layer; the middle of the layer is 0
    edges: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Condensation:
    """The components of the vertices that are in use, numbered so that edges lead to lower numbers."""

    vertices: Indices
    component: Indices  #: of each of ``vertices``
    count: int

    @classmethod
    def of(cls, graph: Graph) -> Condensation:
        """Condense a graph: linear in vertices and edges."""
        component, _ = reach.strong_components(*graph.edges.adjacency(graph.vertices.extent))
        vertices = graph.vertices.used
        used, numbers = np.unique(component[vertices], return_inverse=True)
        return cls(vertices, numbers.astype(np.int64), len(used))


def layered(graph: Graph, condensed: Condensation) -> Layers:
    """Put the components into layers, those of a layer in an order that crosses few edges."""
    place = np.full(graph.vertices.extent, -1)
    place[condensed.vertices] = condensed.component
    edges = graph.edges.edges
    tails, heads = place[edges.sources], place[edges.targets]
    apart = tails != heads
    between = sorted(set(zip(tails[apart].tolist(), heads[apart].tolist(), strict=True)), reverse=True)
    layer = [0] * condensed.count
    for tail, head in between:  # all edges into a component come before those out of it
        layer[head] = max(layer[head], layer[tail] + 1)
    _, firsts, sizes = np.unique(condensed.component, return_index=True, return_counts=True)
    names = graph.vertices.names(condensed.vertices[firsts]).to_pylist()
    labels = [_label(str(name), size) for name, size in zip(names, sizes.tolist(), strict=True)]
    return Layers(labels, sizes.tolist(), layer, _heights(layer, between), between)


def _heights(layer: list[int], edges: list[tuple[int, int]]) -> list[float]:
    """Return the height of each node: in each layer by the mean of its neighbours, forwards and backwards in turns."""
    layers: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, at in enumerate(layer):
        layers[at].append(node)
    height = [0.0] * len(layer)
    into: list[list[int]] = [[] for _ in layer]
    out: list[list[int]] = [[] for _ in layer]
    for tail, head in edges:
        into[head].append(tail)
        out[tail].append(head)
    for sweep in range(SWEEPS):
        for nodes in layers if sweep % 2 == 0 else reversed(layers):
            near = into if sweep % 2 == 0 else out
            nodes.sort(key=lambda v: sum(height[w] for w in near[v]) / len(near[v]) if near[v] else height[v])
            for rank, node in enumerate(nodes):
                height[node] = rank - (len(nodes) - 1) / 2
    return height


def _label(name: str, size: int) -> str:
    first = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return first if size == 1 else f"{first} +{size - 1}"


def density(condensed: Condensation, engine: Reachability, parts: int) -> npt.NDArray[np.float64]:
    """Return how full each part of the closure's matrix is, from 0 to 1, vertices in a topological order.

    From a sample of the rows, evenly spaced; ``parts`` by ``parts``, or less for a small graph.
    """
    n = len(condensed.vertices)
    parts = max(1, min(parts, n))
    if not n:
        return np.zeros((1, 1))
    order = np.argsort(-condensed.component, kind="stable")
    place = np.zeros(int(condensed.vertices.max()) + 1, np.int64)
    place[condensed.vertices[order]] = np.arange(n)
    sample = condensed.vertices[order][np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))]
    found: Edges = engine.descendants(sample)
    row, column = place[found.sources] * parts // n, place[found.targets] * parts // n
    full = np.bincount(row * parts + column, minlength=parts * parts).reshape(parts, parts)
    widths = np.bincount(np.arange(n) * parts // n, minlength=parts)
    sampled = np.bincount(place[sample] * parts // n, minlength=parts)
    return np.asarray(full / np.maximum(np.outer(sampled, widths), 1))
