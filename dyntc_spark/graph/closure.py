"""``DynamicClosure``: which vertices reach which, in a directed graph that changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.engines import registry
from dyntc_spark.engines.base import Edges, Engine
from dyntc_spark.engines.edge_set import EdgeSet
from dyntc_spark.errors import InputError
from dyntc_spark.graph import interop, numbering
from dyntc_spark.graph.asking import Table, Vertex
from dyntc_spark.graph.batch import BatchResult, ChangedPairs, naming_cycles, planned
from dyntc_spark.graph.copies import Copies
from dyntc_spark.graph.history import Graph, Tally, Version
from dyntc_spark.graph.inputs import Ends, of_kind, read_vertices
from dyntc_spark.graph.kinds import encoded
from dyntc_spark.graph.misuse import refuse_copy, required_engine
from dyntc_spark.graph.numbering import Begun, Changes, ChangesHere, read_batch, read_edges
from dyntc_spark.graph.relations import Touched
from dyntc_spark.graph.spark_columns import named_table
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.replay import BATCH, DROP, RESET, Batch
from dyntc_spark.graph.streamed import Streamed
from dyntc_spark.progress import progress
from dyntc_spark.session import ensure_open, session_for

if TYPE_CHECKING:
    import networkx as nx
    from graphframes import GraphFrame


@dataclass(frozen=True, slots=True)
class Verification:
    """What `DynamicClosure.verify` found; true where the answers are right now."""

    rows: int  #: vertices whose descendants were checked
    missing: list[tuple[Vertex, Vertex]]  #: pairs that were wrongly answered "no": one at least for each wrong vertex
    repaired: bool  #: whether the closure was built again, so that nothing is missing any more

    def __bool__(self) -> bool:
        return self.repaired or not self.missing


class DynamicClosure(Streamed):
    """The closure of a directed graph, kept up to date while edges come and go.

    Every change is one atomic batch: when it is refused, the closure answers as
    before. Batches are numbered; ``version`` is the number of the last. Any number of threads may
    ask and change a closure: every answer is that of one whole version.

    Wherever a table is taken (a Spark DataFrame, pandas, Arrow), the keywords ``src``,
    ``dst`` and ``op`` name its columns, where these are called otherwise; a list of tuples is read by position.

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

    def __init__(self, engine: Engine | None = None, spark: SparkSession | None = None) -> None:
        super().__init__(required_engine(engine), spark)

    def __reduce__(self) -> NoReturn:
        refuse_copy(repr(self))

    # --- making ------------------------------------------------------------------------------

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
    ) -> DynamicClosure:
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
        >>> needs = pa.table({"package": ["shop", "web"], "needs": ["web", "tls"]})
        >>> DynamicClosure.from_edges(needs, src="package", dst="needs").reaches("shop", "tls")
        True
        """
        if isinstance(edges, str):
            spark = session_for(spark)
            edges = named_table(spark, edges)
        if spark is None and isinstance(edges, DataFrame):
            spark = edges.sparkSession
        closure = cls(registry.create(engine, backend, spark), spark)
        closure._asked, closure._names = (engine, backend), names
        read = numbering.begun(edges, vertices, (src, dst), names, spark)
        with closure._door.changing() as now:
            graph, repeated = closure._begun(read, multigraph=multigraph)
            last, tally = Tally(inserted=graph.size), Tally(insertions_ignored=repeated)
            closure._door.publish(replace(now, graph=graph, before=graph, last=last, tally=tally))
        return closure

    @classmethod
    def from_graphframe(cls, graph: GraphFrame, engine: str = "auto", backend: str = "auto") -> DynamicClosure:
        """Make the closure of a GraphFrame; what it says about vertices and edges is kept for `to_graphframe`."""
        attributes = interop.Attributes(graph.vertices, graph.edges)
        closure = cls.from_edges(
            graph.edges, engine=engine, backend=backend, vertices=graph.vertices.withColumnRenamed("id", "vertex")
        )
        closure._attributes = attributes  # noqa: SLF001  (one of this class)
        return closure

    @classmethod
    def from_networkx(
        cls, graph: nx.DiGraph, spark: SparkSession | None = None, engine: str = "auto", backend: str = "auto"
    ) -> DynamicClosure:
        """Make the closure of a directed graph of NetworkX: its nodes and edges, without their attributes.

        Examples
        --------
        >>> import networkx as nx
        >>> DynamicClosure.from_networkx(nx.DiGraph([(1, 2), (2, 3)])).reaches(1, 3)
        True
        """
        edges = interop.networkx_edges(graph)
        return cls.from_edges(edges, spark, engine, backend, vertices=list(graph.nodes))

    # --- changing ----------------------------------------------------------------------------

    def insert(self, edges: Table, *, strict: bool = False, src: str = "src", dst: str = "dst") -> BatchResult:
        """Insert edges, as one batch; ends that are not there yet become vertices.

        Edges that are there already are counted in ``stats()``; with ``strict`` they are an error.
        """
        changes = read_edges(self._graph.vertices, edges, (src, dst), inserting=True)
        return self._change(changes, strict=strict)

    def insert_at(
        self, vertex: Vertex, sources: Iterable[Vertex] = (), targets: Iterable[Vertex] = (), *, strict: bool = False
    ) -> BatchResult:
        """Insert edges from ``sources`` to a vertex and from there to ``targets``, as one batch.

        Examples
        --------
        >>> c = DynamicClosure.from_edges([(1, 2), (3, 4)])
        >>> c.insert_at(9, sources=[2], targets=[3])
        BatchResult(version=1, inserted=2, deleted=0, ignored=0)
        >>> c.reaches(1, 4)
        True
        """
        centre = read_vertices([vertex], "vertex")
        tails, heads = (
            of_kind(read_vertices(ends, name), centre.type, name)
            for ends, name in ((sources, "sources"), (targets, "targets"))
        )
        into, out = (centre.take(pa.array([0] * len(ends), pa.int64())) for ends in (tails, heads))
        ends = Ends(pa.concat_arrays([tails, out]), pa.concat_arrays([into, heads]))
        return self._change(ChangesHere(ends, np.ones(len(ends), np.bool_)), strict=strict)

    def delete(self, edges: Table, *, strict: bool = False, src: str = "src", dst: str = "dst") -> BatchResult:
        """Delete edges, as one batch; their ends stay vertices.

        Edges that are not there are counted in ``stats()``; with ``strict`` they are an error.
        """
        changes = read_edges(self._graph.vertices, edges, (src, dst), inserting=False)
        return self._change(changes, strict=strict)

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
        """Insert and delete edges, as one batch; one without changes makes no version.

        Parameters
        ----------
        changes
            Columns ``op``, ``src`` and ``dst``, or triples. ``op`` is ``"insert"`` or ``"delete"``, or what tools
            that capture changes write for these: ``I`` and ``D``, ``c`` and ``d``, ``update_preimage`` and so on, in
            any case. Where an edge is named
            more than once the last change counts: by the column ``timestamp`` where the table has it, else by the
            order of the rows. A Spark DataFrame has no order of rows: without times, and at one time,
            changes that contradict each other are a ``ContradictionError``.
        strict
            Whether a change that changes nothing is an error.
        batch_id
            At a location: a name of the batch, which is remembered there. A batch whose name is known does nothing,
            so that one whose fate is not known can be sent again.
        op, src, dst, timestamp
            What these columns are called in ``changes``.

        Examples
        --------
        >>> c = DynamicClosure.from_edges([(1, 2)])
        >>> c.apply([("insert", 2, 3), ("delete", 1, 2), ("insert", 1, 3)])
        BatchResult(version=1, inserted=2, deleted=1, ignored=0)
        >>> c.reaches(1, 2), c.reaches(1, 3)
        (False, True)
        """
        if self._is_known(batch_id):
            return BatchResult(self.version)
        graph = self._graph
        read = read_batch(graph.vertices, changes, (op, src, dst), timestamp, ordered=graph.copies is None)
        return self._change(read, strict=strict, batch_id=batch_id)

    def drop(self, vertices: Iterable[Vertex] | Table) -> BatchResult:
        """Let vertices without edges go, as one batch: a list, or a table with the column ``vertex``.

        Examples
        --------
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
        >>> c.delete([("b", "c")])
        BatchResult(version=1, inserted=0, deleted=1, ignored=0)
        >>> c.drop(["c"])
        BatchResult(version=2, inserted=0, deleted=0, ignored=0)
        >>> c.reaches("a", "c", unknown="false")
        False
        """
        names = read_vertices(vertices, "vertex")
        with self._door.changing() as now:
            if not len(names):
                return BatchResult(now.number)
            self._begin()
            numbers, edges = now.graph.vertices.known_numbers(names), now.graph.edges.edges
            held = np.isin(numbers, edges.sources) | np.isin(numbers, edges.targets)
            if held.any():
                vertex = names[int(np.argmax(held))].as_py()
                raise InputError("vertices without edges", f"{vertex!r}, which has some", "Delete its edges first.")
            gone = np.unique(numbers)
            batch = Batch(DROP, vertices=encoded(names)[1])
            return self._done(now.next(now.graph.without(gone), Tally()), Touched(gone, gone), batch)

    def reset(
        self, edges: Table, *, vertices: Iterable[Vertex] | Table = (), src: str = "src", dst: str = "dst"
    ) -> BatchResult:
        """Start again with other edges, as one batch; vertices without an edge go, but for those that are given."""
        names = self._names if self._store is None else "driver"  # a location takes them from there
        read = numbering.begun(edges, vertices, (src, dst), names, self._spark)
        with self._door.changing() as now:
            self._begin()
            graph, repeated = self._begun(read, multigraph=now.graph.copies is not None)
            version = now.next(graph, Tally(inserted=graph.size))
            version = replace(version, tally=now.tally + Tally(insertions_ignored=repeated))
            kept = None if graph.vertices.on_spark else graph.vertices.names()
            edges = graph.edges.edges
            counts = None if graph.copies is None else graph.counts(edges)
            return self._done(version, None, Batch(RESET, edges, vertices=kept, counts=counts))

    def on_spark(self, spark: SparkSession | None = None) -> None:
        """Move the state to Spark, as a DataFrame of blocks; answers are the same."""
        spark = session_for(spark or self._spark)
        with self._door.changing():
            self._door.move(lambda engine: engine.moved(SparkBackend(spark)))
            self._spark, self._asked = spark, (self._asked[0], "spark")
            self._show(None)

    def in_process(self) -> None:
        """Move the state into this process; answers are the same."""
        with self._door.changing():
            self._door.move(lambda engine: engine.moved(LocalBackend()))
            self._asked = self._asked[0], "local"
            self._show(None)

    def use(self, spark: SparkSession) -> None:
        """Go on in another session, for example after the one in use was stopped.

        The closure is built again from its edges, unless its state is in this process for good
        (``backend="local"``). Views and streams belong to their session: create and start them again.
        """
        ensure_open(spark)
        with self._door.changing() as now:
            now.graph.vertices.require_in(spark)
            self._spark = spark
            if self._store is not None:
                self._store.place = Place(spark, self._store.place.location)
            if self._asked[1] != "local":
                self._door.replace(registry.create(*self._asked, spark))

    def verify(self) -> Verification:
        """Check the whole closure, and build it again where an answer is wrong.

        No engine answers "yes" without a reason. A "no" is checked by the edges: what a successor of a vertex
        reaches, the vertex reaches too.
        """
        with self._door.changing() as now, progress("verifying", 1):
            found = self._door.ask(lambda _, closure: closure.verify())
            if found.repaired:
                self._show(None)
        ends = now.graph.named(found.missing)
        missing = list(zip(ends.src.to_pylist(), ends.dst.to_pylist(), strict=True))
        return Verification(found.rows, missing, found.repaired)

    # --- helpers -----------------------------------------------------------------------------

    def _begun(self, read: Begun, *, multigraph: bool) -> tuple[Graph, int]:
        """Let the engine close other edges; give their graph, and how many of them were there more than once."""
        vertices = read.vertices
        if len(vertices):
            self._graph.vertices.require_kind(vertices.kind)
        with progress("building", 1) as shown, naming_cycles(vertices.names, pa.nulls(0), np.arange(0)):
            shown.at(f"closing, engine {self._engine.current.name}")
            self._door.advance(lambda: self._engine.init(read.edges, vertices.extent), mend=lambda: None)
        graph = Graph(vertices, EdgeSet.of(read.edges), copies=Copies.of(read.edges) if multigraph else None)
        return graph, len(read.edges) - graph.size

    def _change(self, changes: Changes, *, strict: bool, batch_id: str | int | None = None) -> BatchResult:
        """Bring a batch to its net effect, to the engine and into the graph."""
        with self._door.changing() as now:
            if changes.is_empty or self._is_known(batch_id):  # another thread may have sent it meanwhile
                return BatchResult(now.number)
            self._begin()
            batch = planned(now.graph, changes, strict=strict)
            if not batch.rows:
                return BatchResult(now.number)
            inserted, deleted, added, new, last, *_ = batch
            if len(inserted) or len(deleted):
                with naming_cycles(now.graph.vertices.names, added, new):
                    self._door.advance(lambda: self._told(inserted, deleted, batch.extent))
            noted, counts = batch.noted
            version = now.next(now.graph.after(noted, deleted, added, new, counts), last)
            touched = Touched(np.concatenate([inserted.sources, deleted.sources, new]), new)
            known_as = None if batch_id is None else str(batch_id)
            return self._done(version, touched, Batch(BATCH, noted, deleted, None, known_as, counts))

    def _done(self, version: Version, touched: Touched | None, batch: Batch) -> BatchResult:
        """Commit a version that a batch has led to, and return what the batch did."""
        self._committed(version, touched, batch)
        done = version.last
        pairs = ChangedPairs(self._door.counting(version.number))
        return BatchResult(version.number, done.inserted, done.deleted, done.ignored, pairs)

    def _told(self, inserted: Edges, deleted: Edges, vertices: int) -> None:
        """Tell the engine about a batch, for which it has to have so many vertices at least."""
        if vertices > self._engine.vertices:  # else there are such already, or an earlier batch failed after this
            self._engine.grow(vertices)
        self._engine.apply(inserted, deleted)
