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
from dyntc_spark.graph.interop import Interop
from dyntc_spark.graph.location import Location, StoredVersion
from dyntc_spark.graph.maintenance import Maintenance
from dyntc_spark.graph.older_versions import OlderVersions
from dyntc_spark.graph.pictures.drawing import Drawing
from dyntc_spark.graph.questions.answers import Answers
from dyntc_spark.graph.questions.everyday import EverydayQuestions
from dyntc_spark.graph.tables.current_views import CurrentViews
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.lazy_pyspark import is_frame
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Parts:
    """The parts of a closure. Each gets the door to the closure, and the parts below it that it needs.

    None of them knows the whole, so that a closure without references is freed at once, with its state.

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
        """Make the parts of the closure of a graph; see `DynamicClosure.from_edges`."""
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
    def read(cls, stored: StoredVersion, spark: SparkSession | None = None) -> Parts:
        """Read a version that is stored, for answers in a session."""
        parts = cls(registry.create(*stored.asked, spark), spark)
        parts.location.open(stored)
        return parts

    def close(self) -> None:
        """Let go of all that the closure has here and on Spark, and of its location."""
        self.door.close()
        self.attachment.store = None
        self.views.forget()
        self.tables.forget()
