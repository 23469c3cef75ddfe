"""``DynamicClosure``: which vertices reach which, in a directed graph that changes.

The class is what users see, and no more: each method calls the part that does the work, and has its docstring.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from dyntc_spark.engines.base import Engine
from dyntc_spark.graph.arrow import ArrowAnswers
from dyntc_spark.graph.asking import NO_TARGET, Table, Unknown, Vertex
from dyntc_spark.graph.batch import BatchResult
from dyntc_spark.graph.documented import documented_by
from dyntc_spark.graph.explore.page import Page
from dyntc_spark.graph.joins import UnknownRow
from dyntc_spark.graph.misuse import refuse_copy, required_engine
from dyntc_spark.graph.parts import SEEN, Parts
from dyntc_spark.graph.ranking import By
from dyntc_spark.graph.store.following import create_location_views
from dyntc_spark.graph.stream import Stream
from dyntc_spark.graph.upkeep import Verification

if TYPE_CHECKING:
    import networkx as nx
    from graphframes import GraphFrame
    from matplotlib.axes import Axes
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Self


@documented_by(Parts, *SEEN)
class DynamicClosure:
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
    everyday          components, cycles, is_acyclic, roots, leaves, distance, impact, between, common_ancestors,
    questions         common_descendants, what_if
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
        self._parts = engine if isinstance(engine, Parts) else Parts(required_engine(engine), spark)

    def __reduce__(self) -> NoReturn:
        refuse_copy(repr(self))

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

    def close(self) -> None:
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # --- asking --------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of the last batch."""
        return self._parts.door.now.number

    @property
    def arrow(self) -> ArrowAnswers:
        return self._parts.answers.arrow

    def reaches(self, src: Vertex, dst: Vertex, *, unknown: Unknown = "raise") -> bool:
        return self._parts.answers.reaches(src, dst, unknown=unknown)

    def query(
        self, pairs: Table, *, unknown: UnknownRow | None = None, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        return self._parts.answers.query(pairs, unknown=unknown, src=src, dst=dst)

    def descendants(
        self,
        vertex: Vertex | DataFrame,
        *,
        reflexive: bool = False,
        unknown: UnknownRow = "null",
        column: str = "vertex",
    ) -> DataFrame:
        return self._parts.answers.descendants(vertex, reflexive=reflexive, unknown=unknown, column=column)

    def ancestors(
        self,
        vertex: Vertex | DataFrame,
        *,
        reflexive: bool = False,
        unknown: UnknownRow = "null",
        column: str = "vertex",
    ) -> DataFrame:
        return self._parts.answers.ancestors(vertex, reflexive=reflexive, unknown=unknown, column=column)

    def pairs(self, *, reflexive: bool = False) -> DataFrame:
        return self._parts.answers.pairs(reflexive=reflexive)

    def edges(self) -> DataFrame:
        return self._parts.answers.edges()

    def vertices(self) -> DataFrame:
        return self._parts.answers.vertices()

    def changes(self, since: int | None = None) -> DataFrame:
        return self._parts.answers.changes(since)

    def explain(
        self, source: Vertex | Table, target: Vertex = NO_TARGET, /, *, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        return self._parts.answers.explain(source, target, src=src, dst=dst)

    def __len__(self) -> int:
        """Return how many vertices there are, as a graph of NetworkX does; ``stats()`` knows edges and pairs."""
        return len(self._parts.door.now.graph.vertices)

    def __contains__(self, asked: Vertex | tuple[Vertex, Vertex]) -> bool:
        return asked in self._parts.answers

    # --- everyday questions --------------------------------------------------------------------

    def components(self) -> DataFrame:
        return self._parts.questions.components()

    def cycles(self) -> DataFrame:
        return self._parts.questions.cycles()

    def is_acyclic(self) -> bool:
        return self._parts.questions.is_acyclic()

    def roots(self) -> DataFrame:
        return self._parts.questions.roots()

    def leaves(self) -> DataFrame:
        return self._parts.questions.leaves()

    def distance(
        self,
        source: Vertex | Table,
        target: Vertex = NO_TARGET,
        /,
        *,
        unknown: UnknownRow | None = None,
        src: str = "src",
        dst: str = "dst",
    ) -> DataFrame | int | None:
        return self._parts.questions.distance(source, target, unknown=unknown, src=src, dst=dst)

    def impact(self, top: int = 10, by: By = "ancestors") -> DataFrame:
        return self._parts.questions.impact(top, by)

    def between(self, source: Vertex, target: Vertex, *, edges: bool = False) -> DataFrame:
        return self._parts.questions.between(source, target, edges=edges)

    def common_ancestors(self, a: Vertex, b: Vertex, *, reflexive: bool = False) -> DataFrame:
        return self._parts.questions.common_ancestors(a, b, reflexive=reflexive)

    def common_descendants(self, a: Vertex, b: Vertex, *, reflexive: bool = False) -> DataFrame:
        return self._parts.questions.common_descendants(a, b, reflexive=reflexive)

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

    def create_views(self, prefix: str) -> None:
        self._parts.views.create_views(prefix)

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

    def stats(self) -> dict[str, Any]:
        return self._parts.upkeep.stats()

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

    def to_networkx(self, *, closure: bool = False) -> nx.DiGraph:
        return self._parts.interop.to_networkx(closure=closure)

    # --- pictures ------------------------------------------------------------------------------

    def plot(
        self, ax: Axes | None = None, *, around: Vertex | None = None, depth: int = 2, unfold: bool = False
    ) -> Axes:
        return self._parts.pictures.plot(ax, around=around, depth=depth, unfold=unfold)

    def explore(self, around: Vertex | None = None, depth: int | None = None, *, most: int = 2_000) -> Page:
        return self._parts.pictures.explore(around, depth, most=most)

    def __repr__(self) -> str:
        return f"DynamicClosure({self._parts.door})"

    def _repr_html_(self) -> str:
        return self._parts.pictures.html()
