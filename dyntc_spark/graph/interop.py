"""Graphs of other libraries: GraphFrames with their attributes, and NetworkX."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dyntc_spark.errors import InputError, SetupError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Ends
from dyntc_spark.graph.inputs.vertex_types import hashable
from dyntc_spark.graph.tables.session_tables import SessionTables

if TYPE_CHECKING:
    import networkx as nx
    import pyarrow as pa
    from graphframes import GraphFrame
    from pyspark.sql import DataFrame


PACKAGE = "io.graphframes:graphframes-spark4_2.13:0.12.3"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a GraphFrame says about its vertices (columns beside ``id``) and edges (beside ``src`` and ``dst``)."""

    vertices: DataFrame | None = None
    edges: DataFrame | None = None

    def of_vertices(self, vertices: DataFrame) -> DataFrame:
        """Return vertices as ``id``, with the attributes of those that were there; null for the others."""
        found = vertices.withColumnRenamed("vertex", "id")
        return found if self.vertices is None else found.join(self.vertices, "id", "left")

    def of_edges(self, edges: DataFrame) -> DataFrame:
        """Return edges with their attributes, as many rows as it had; null for edges that were not there."""
        return edges if self.edges is None else edges.join(self.edges, ["src", "dst"], "left")


def graphframe(vertices: DataFrame, edges: DataFrame) -> GraphFrame:
    """Make a GraphFrame, where the package and its jar are there."""
    try:
        from graphframes import GraphFrame
    except ImportError as error:
        raise SetupError(
            "the package graphframes-py",
            "an environment without it",
            'Install it: pip install "dyntc-spark[graphframes]".',
        ) from error
    try:
        return GraphFrame(vertices, edges)
    except Exception as error:
        if "graphframes" not in str(error):  # the class or module that the session lacks
            raise
        raise SetupError(
            "a session that was started with the jar of GraphFrames",
            "one without it",
            f"Start Spark with spark.jars.packages={PACKAGE}, or with the jar in spark.jars.",
        ) from error


def networkx_edges(graph: Any) -> list[tuple[Hashable, Hashable]]:  # noqa: ANN401  (a graph, or any object)
    """Return the edges of a directed graph of NetworkX; an undirected one is refused."""
    if not hasattr(graph, "is_directed") or not graph.is_directed():
        raise InputError("a directed graph of NetworkX", f"{type(graph).__name__}", "Call its to_directed() first.")
    return [(tail, head) for tail, head, *_ in graph.edges]


def networkx_graph(vertices: pa.Array, edges: Ends) -> nx.DiGraph:
    """Make a directed graph of NetworkX; vertices that are structs or arrays become tuples."""
    try:
        import networkx as nx  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise SetupError(
            "the package networkx", "an environment without it", "Install it: pip install networkx."
        ) from error
    graph = nx.DiGraph()
    graph.add_nodes_from(hashable(vertices))
    graph.add_edges_from(zip(hashable(edges.src), hashable(edges.dst), strict=True))
    return graph


class Interop:
    """The graph and its closure, for other libraries."""

    def __init__(self, door: Door, tables: SessionTables) -> None:
        self._door, self._tables = door, tables
        self.attributes = Attributes()

    def to_graphframe(self, *, closure: bool = False) -> GraphFrame:
        """Return the graph as a GraphFrame, with the attributes of the GraphFrame that it was made of.

        Edges that were inserted have null attributes. With ``closure`` the edges are the pairs, without attributes.
        """
        if closure:
            edges, vertices = self._tables.whole()
        else:
            graph, framed = self._door.now.graph, self._tables.framed()
            edges, vertices = self.attributes.of_edges(framed.edges_of(graph)), framed.vertices_of(graph)
        return graphframe(self.attributes.of_vertices(vertices), edges)

    def to_networkx(self, *, closure: bool = False) -> nx.DiGraph:
        """Return the graph, or with ``closure`` its closure, as a directed graph of NetworkX.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> DynamicClosure.from_edges([(1, 2), (2, 3)]).to_networkx(closure=True).edges
        OutEdgeView([(1, 2), (1, 3), (2, 3)])
        """
        graph = self._door.now.graph
        found = graph.edges.edges
        if closure:
            graph, every = self._door.ask_apart(
                lambda version, closure: (version.graph, closure.descendants(version.graph.vertices.used))
            )
            found = every.where(every.sources != every.targets)
        return networkx_graph(graph.vertices.names(), graph.named(found))
