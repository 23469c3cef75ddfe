"""The parts of a closure, and how a closure is made: of edges, of a location, of a graph of another library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dyntc_spark.engines import registry
from dyntc_spark.engines.base import Engine
from dyntc_spark.graph.attachment import Attachment
from dyntc_spark.graph.changes.batches import Batches
from dyntc_spark.graph.changes.streaming import Streaming
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Table, Vertex
from dyntc_spark.graph.inputs.spark_columns import named_table
from dyntc_spark.graph.interop import Attributes, Interop, networkx_edges
from dyntc_spark.graph.location import Location, StoredVersion
from dyntc_spark.graph.maintenance import Maintenance
from dyntc_spark.graph.older_versions import OlderVersions
from dyntc_spark.graph.pictures.drawing import Drawing
from dyntc_spark.graph.questions.answers import Answers
from dyntc_spark.graph.questions.everyday import EverydayQuestions
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.tables.current_views import CurrentViews
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.lazy_pyspark import is_frame
from dyntc_spark.session import session_at_hand, session_for

if TYPE_CHECKING:
    import networkx as nx
    from graphframes import GraphFrame
    from pyspark.sql import SparkSession

#: The parts that users see through `DynamicClosure`, whose methods have their docstrings.
SEEN = (Answers, EverydayQuestions, Batches, CurrentViews, Location, Streaming, Maintenance, Interop, Drawing)


class Parts:
    """The parts of a closure. Each gets the door to the closure, and the parts below it that it needs.

    None of them knows the whole, so that a closure that nobody uses is gone at once, with its state.

    Parameters
    ----------
    engine
        Has the closure.
    spark
        The session for answers.
    """

    def __init__(self, engine: Engine, spark: SparkSession | None = None) -> None:
        self.door = Door(engine)
        self.tables = SessionTables(self.door, spark)
        self.views = CurrentViews(self.door, self.tables)
        self.attachment = Attachment(self.door, self.views)
        self.answers = Answers(self.door, self.tables, OlderVersions(self.door, self.attachment.required))
        self.questions = EverydayQuestions(self.door, self.tables)
        self.batches = Batches(self.door, self.attachment, self.tables)
        self.location = Location(self.door, self.attachment, self.tables, self.views)
        self.streaming = Streaming(self.door, self.attachment, self.batches, self.location)
        self.maintenance = Maintenance(self.door, self.tables, self.attachment, self.views)
        self.interop = Interop(self.door, self.tables)
        self.drawing = Drawing(self.door, self.tables, self.attachment)

    @classmethod
    def from_edges(
        cls,
        edges: Table,
        spark: SparkSession | None = None,
        engine: str = "auto",
        backend: str = "auto",
        *,
        vertices: Iterable[Vertex] | Table = (),
        src: str = "src",
        dst: str = "dst",
        names: str = "auto",
        multigraph: bool = False,
    ) -> Parts:
        """Make the closure of a graph.

        Parameters
        ----------
        edges
            Columns ``src`` and ``dst``, or pairs, or the name of a table of Spark's catalog; an edge that is there
            twice counts once. The vertices are the ends of the edges.
        spark
            The session in which answers become DataFrames; by default that of ``edges``, else the active one,
            else a local one that is started when an answer first needs it.
        engine
            The name of an engine, or ``"auto"`` for the one that suits most graphs. ``"path_counting"`` takes
            acyclic graphs only.
        backend
            Where the state is kept: ``"local"`` in this process, ``"spark"`` as DataFrames of blocks, ``"auto"`` in
            this process as long as that has room.
        vertices
            Further vertices, which need not have an edge: a list, or a table with the column ``vertex``.
        src, dst
            What these columns are called in ``edges``.
        names
            Where names of vertices are: ``"driver"``, in this process; ``"spark"``, in a DataFrame, so that only
            numbers come here; ``"auto"``, on Spark if they come in a DataFrame and are more than 10 million.
        multigraph
            Whether to count parallel edges: one that was inserted twice is there until it was deleted twice. Paths are
            the same. By default an edge is there or not.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from dyntc_spark import DynamicClosure
        >>> needs = pa.table({"package": ["shop", "web"], "needs": ["web", "tls"]})
        >>> DynamicClosure.from_edges(needs, src="package", dst="needs").reaches("shop", "tls")
        True
        """
        if isinstance(edges, str):
            spark = session_for(spark)
            edges = named_table(spark, edges)
        if spark is None and is_frame(edges):
            spark = edges.sparkSession
        parts = cls(registry.create(engine, backend, spark), spark)
        parts.attachment.asked = engine, backend
        parts.batches.start(edges, vertices, (src, dst), names, multigraph=multigraph)
        return parts

    @classmethod
    def from_graphframe(cls, graph: GraphFrame, engine: str = "auto", backend: str = "auto") -> Parts:
        """Make the closure of a GraphFrame; what it says about vertices and edges is kept for `to_graphframe`."""
        vertices = graph.vertices.withColumnRenamed("id", "vertex")
        parts = cls.from_edges(graph.edges, engine=engine, backend=backend, vertices=vertices)
        parts.interop.attributes = Attributes(graph.vertices, graph.edges)
        return parts

    @classmethod
    def from_networkx(
        cls, graph: nx.DiGraph, spark: SparkSession | None = None, engine: str = "auto", backend: str = "auto"
    ) -> Parts:
        """Make the closure of a directed graph of NetworkX: its nodes and edges, without their attributes.

        Examples
        --------
        >>> import networkx as nx
        >>> from dyntc_spark import DynamicClosure
        >>> DynamicClosure.from_networkx(nx.DiGraph([(1, 2), (2, 3)])).reaches(1, 3)
        True
        """
        return cls.from_edges(networkx_edges(graph), spark, engine, backend, vertices=list(graph.nodes))

    @classmethod
    def open(cls, location: str, version: int | None = None, spark: SparkSession | None = None) -> Parts:
        """Open the closure that was saved at a location, and attach it to that.

        Parameters
        ----------
        location
            A path, which has a ``/``, or a schema of the catalog.
        version
            An older version, to be asked as of then; such a closure takes no changes. By default the last one.
        spark
            The session to read and write in; by default the active one. Without one, a path of this machine is read
            and written without Spark, and for other locations a local session is started.
        """
        spark = session_at_hand(spark)
        return cls.read(StoredVersion.at(Place(spark, location), version), spark)

    @classmethod
    def repair(cls, location: str, spark: SparkSession | None = None, *, version: int | None = None) -> Parts:
        """Open a closure of which files are damaged, and mend its location.

        The closure is built again from its edges: those of a checkpoint that is whole, and the log behind it. What is
        damaged is put aside, into the folder ``_damaged`` of the location, and a new checkpoint is written.

        Where a published version is lost, nothing is changed: the error tells which version can be recovered. With
        that as ``version`` it becomes the last one, under a new number, and older versions are let go.
        """
        spark = session_at_hand(spark)
        return cls.read(StoredVersion.damaged(Place(spark, location), version), spark)

    @classmethod
    def read(cls, stored: StoredVersion, spark: SparkSession | None = None) -> Parts:
        """Read a version that is stored, for answers in a session."""
        parts = cls(registry.create(*stored.asked, spark), spark)
        parts.location.open(stored)
        return parts

    def at(self, version: int) -> Parts:
        """The closure as it was at an older version of its location: it can be asked, but takes no changes."""
        return self.open(self.attachment.required().place.location, version, self.tables.spark)

    def close(self) -> None:
        """Let go of all that the closure has here and on Spark, and of its location; what was saved there stays.

        A ``with`` statement does so at its end. Whatever is asked or changed afterwards is a ``ClosedError``. Answers
        that were given stay, and so do views, at the last version. Stop a stream before.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> with DynamicClosure.from_edges([("a", "b")]) as c:
        ...     c.reaches("a", "b")
        True
        >>> c
        DynamicClosure(closed)
        """
        self.door.close()
        self.attachment.store = None
        self.views.forget()
        self.tables.forget()
