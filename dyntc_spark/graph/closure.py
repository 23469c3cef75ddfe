"""``DynamicClosure``: which vertices reach which, in a directed graph that changes.

The class is what users see, and no more: each method calls the part that does the work, and has its docstring.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dyntc_spark.engines.base import Engine
from dyntc_spark.graph.changes.batch import BatchResult
from dyntc_spark.graph.changes.stream import Stream
from dyntc_spark.graph.documented import documented_by
from dyntc_spark.graph.misuse import required_engine
from dyntc_spark.graph.parts import SEEN, Parts
from dyntc_spark.graph.questions.asking import Table, Vertex
from dyntc_spark.graph.questions.closure_questions import ClosureQuestions
from dyntc_spark.graph.store.following import create_location_views
from dyntc_spark.graph.upkeep import Verification

if TYPE_CHECKING:
    import networkx as nx
    from graphframes import GraphFrame
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Self


@documented_by(Parts, *SEEN)
class DynamicClosure(ClosureQuestions):
    """The closure of a directed graph, kept up to date while edges come and go.

    Every change is one atomic batch: when it is refused, the closure answers as
    before. Batches are numbered; ``version`` is the number of the last. Any number of threads may
    ask and change a closure: every answer is that of one whole version.

    Wherever a table is taken (a Spark DataFrame, pandas, Arrow), the keywords ``src``,
    ``dst`` and ``op`` name its columns, where these are called otherwise; a list of tuples is read by position.

    ================  ==========================================================================================
    making            from_edges, open, at, repair, close
    asking            reaches, query, descendants, ancestors, pairs, edges, vertices, changes, explain,
                      version, arrow
    more questions    components, cycles, is_acyclic, roots, leaves, distance, impact, between, common_ancestors,
                      common_descendants, what_if
    changing          insert, insert_at, delete, apply, drop, reset
    views and tables  create_views, create_location_views, publish
    location          save, refresh, vacuum, history
    stream            stream
    state             stats, blocks, verify, on_spark, in_process, use
    other libraries   from_graphframe, to_graphframe, from_networkx, to_networkx
    pictures          plot, explore
    ================  ==========================================================================================

    Examples
    --------
    >>> c = DynamicClosure.from_edges([("app", "web"), ("web", "tls"), ("web", "log")])
    >>> c.reaches("app", "tls")
    True
    >>> c.delete([("web", "tls")])
    BatchResult(version=1, inserted=0, deleted=1, ignored=0)
    >>> c.reaches("app", "tls")
    False
    >>> c
    DynamicClosure(4 vertices, 2 edges; engine 'lanes' in process, version 1)
    """

    def __init__(self, engine: Engine | Parts | None = None, spark: SparkSession | None = None) -> None:
        super().__init__(engine if isinstance(engine, Parts) else Parts(required_engine(engine), spark))

    # --- making --------------------------------------------------------------------------------

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
    ) -> Self:
        made = Parts.from_edges(
            edges,
            spark,
            engine,
            backend,
            vertices=vertices,
            src=src,
            dst=dst,
            names=names,
            multigraph=multigraph,
        )
        return cls(made)

    @classmethod
    def open(cls, location: str, version: int | None = None, spark: SparkSession | None = None) -> Self:
        return cls(Parts.open(location, version, spark))

    def at(self, version: int) -> Self:
        return type(self)(self._parts.at(version))

    @classmethod
    def repair(cls, location: str, spark: SparkSession | None = None, *, version: int | None = None) -> Self:
        return cls(Parts.repair(location, spark, version=version))

    # --- asking, beside what every closure answers -----------------------------------------------

    def changes(self, since: int | None = None) -> DataFrame:
        return self._parts.answers.changes(since)

    def what_if(
        self,
        changes: Table,
        *,
        strict: bool = False,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        timestamp: str = "timestamp",
    ) -> DataFrame:
        return self._parts.questions.what_if(changes, strict=strict, op=op, src=src, dst=dst, timestamp=timestamp)

    # --- changing ------------------------------------------------------------------------------

    def insert(self, edges: Table, *, strict: bool = False, src: str = "src", dst: str = "dst") -> BatchResult:
        return self._parts.batches.insert(edges, strict=strict, src=src, dst=dst)

    def insert_at(
        self, vertex: Vertex, sources: Iterable[Vertex] = (), targets: Iterable[Vertex] = (), *, strict: bool = False
    ) -> BatchResult:
        return self._parts.batches.insert_at(vertex, sources, targets, strict=strict)

    def delete(self, edges: Table, *, strict: bool = False, src: str = "src", dst: str = "dst") -> BatchResult:
        return self._parts.batches.delete(edges, strict=strict, src=src, dst=dst)

    def apply(
        self,
        changes: Table,
        *,
        strict: bool = False,
        batch_id: str | int | None = None,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        timestamp: str = "timestamp",
    ) -> BatchResult:
        return self._parts.batches.apply(
            changes, strict=strict, batch_id=batch_id, op=op, src=src, dst=dst, timestamp=timestamp
        )

    def drop(self, vertices: Iterable[Vertex] | Table) -> BatchResult:
        return self._parts.batches.drop(vertices)

    def reset(
        self, edges: Table, *, vertices: Iterable[Vertex] | Table = (), src: str = "src", dst: str = "dst"
    ) -> BatchResult:
        return self._parts.batches.reset(edges, vertices=vertices, src=src, dst=dst)

    # --- views and tables ----------------------------------------------------------------------

    create_location_views = staticmethod(create_location_views)

    def publish(self, target: str | None) -> None:
        self._parts.location.publish(target)

    # --- location ------------------------------------------------------------------------------

    def save(self, location: str, *, record_changes: bool = False, publish: str | None = None) -> None:
        self._parts.location.save(location, record_changes=record_changes, publish=publish)

    def refresh(self) -> int:
        return self._parts.location.refresh()

    def vacuum(self, keep: int, *, files: bool = True) -> None:
        self._parts.location.vacuum(keep, files=files)

    def history(self) -> DataFrame:
        return self._parts.answers.history()

    # --- stream --------------------------------------------------------------------------------

    def stream(
        self,
        changes: DataFrame,
        *,
        checkpoint: str,
        available_now: bool = False,
        every: str | None = None,
        name: str | None = None,
        record_changes: bool = True,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        timestamp: str = "timestamp",
    ) -> Stream:
        return self._parts.streaming.stream(
            changes,
            checkpoint=checkpoint,
            available_now=available_now,
            every=every,
            name=name,
            record_changes=record_changes,
            op=op,
            src=src,
            dst=dst,
            timestamp=timestamp,
        )

    # --- state ---------------------------------------------------------------------------------

    def blocks(self) -> DataFrame:
        return self._parts.answers.blocks()

    def verify(self) -> Verification:
        return self._parts.upkeep.verify()

    def on_spark(self, spark: SparkSession | None = None) -> None:
        self._parts.upkeep.on_spark(spark)

    def in_process(self) -> None:
        self._parts.upkeep.in_process()

    def use(self, spark: SparkSession) -> None:
        self._parts.upkeep.use(spark)

    # --- other libraries -----------------------------------------------------------------------

    @classmethod
    def from_graphframe(cls, graph: GraphFrame, engine: str = "auto", backend: str = "auto") -> Self:
        return cls(Parts.from_graphframe(graph, engine, backend))

    def to_graphframe(self, *, closure: bool = False) -> GraphFrame:
        return self._parts.interop.to_graphframe(closure=closure)

    @classmethod
    def from_networkx(
        cls, graph: nx.DiGraph, spark: SparkSession | None = None, engine: str = "auto", backend: str = "auto"
    ) -> Self:
        return cls(Parts.from_networkx(graph, spark, engine, backend))
