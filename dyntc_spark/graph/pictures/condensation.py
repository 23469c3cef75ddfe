"""The components of a graph, in a topological order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyntc_spark.graph.version import Graph
from dyntc_spark.kernels import components
from dyntc_spark.kernels.ids import Indices


@dataclass(frozen=True, slots=True)
class Condensation:
    """The components of the vertices that are in use, numbered so that edges lead to lower numbers."""

    vertices: Indices
    component: Indices  #: of each of ``vertices``
    count: int

    @classmethod
    def of(cls, graph: Graph) -> Condensation:
        """Condense a graph: linear in vertices and edges."""
        component, _ = components.strong_components(*graph.edges.adjacency(graph.vertices.extent))
        vertices = graph.vertices.used
        used, numbers = np.unique(component[vertices], return_inverse=True)
        return cls(vertices, numbers.astype(np.int64), len(used))
