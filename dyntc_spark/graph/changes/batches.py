"""Changes of a graph: each is one batch, which takes effect as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.errors import InputError
from dyntc_spark.graph.attachment import Attachment
from dyntc_spark.graph.changes.batch_result import BatchResult, ChangedPairs
from dyntc_spark.graph.changes.copies import Copies
from dyntc_spark.graph.changes.net_effect import naming_cycles, planned
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs import numbering
from dyntc_spark.graph.inputs.numbering import Changes, ChangesHere, FirstGraph, read_batch, read_edges
from dyntc_spark.graph.inputs.read import Ends, Table, Vertex, of_kind, read_vertices
from dyntc_spark.graph.inputs.vertex_types import encoded
from dyntc_spark.graph.store.replay import BATCH, DROP, RESET, Batch
from dyntc_spark.graph.tables.relations import Touched
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.graph.version import Graph, Tally, Version
from dyntc_spark.progress import progress


class Batches:
    """Reads batches, has the engine work them out, and has them published where the closure is at a location."""

    def __init__(self, door: Door, attachment: Attachment, tables: SessionTables) -> None:
        self._door, self._attachment, self._tables = door, attachment, tables
        self._names = "auto"  # where names of vertices are to be

    def start(
        self,
        edges: Table,
        vertices: Iterable[Vertex] | Table,
        columns: tuple[str, str],
        names: str,
        *,
        multigraph: bool,
    ) -> None:
        """Insert the first edges of a new closure: version 0."""
        self._names = names
        read = numbering.read_first_graph(edges, vertices, columns, names, self._tables.spark)
        with self._door.changing() as now:
            graph, repeated = self._build(read, multigraph=multigraph)
            last, tally = Tally(inserted=graph.size), Tally(insertions_ignored=repeated)
            self._door.publish(replace(now, graph=graph, before=graph, last=last, tally=tally))

    def insert(self, edges: Table, *, strict: bool = False, src: str = "src", dst: str = "dst") -> BatchResult:
        """Insert edges, as one batch; ends that are not there yet become vertices.

        Edges that are there already are counted in ``stats()``; with ``strict`` they are an error.
        """
        changes = read_edges(self._door.now.graph.vertices, edges, (src, dst), inserting=True)
        return self._change(changes, strict=strict)

    def insert_at(
        self, vertex: Vertex, sources: Iterable[Vertex] = (), targets: Iterable[Vertex] = (), *, strict: bool = False
    ) -> BatchResult:
        """Insert edges from ``sources`` to a vertex and from there to ``targets``, as one batch.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
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
        changes = read_edges(self._door.now.graph.vertices, edges, (src, dst), inserting=False)
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
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([(1, 2)])
        >>> c.apply([("insert", 2, 3), ("delete", 1, 2), ("insert", 1, 3)])
        BatchResult(version=1, inserted=2, deleted=1, ignored=0)
        >>> c.reaches(1, 2), c.reaches(1, 3)
        (False, True)
        """
        if self._attachment.is_known(batch_id):
            return BatchResult(self._door.now.number)
        graph = self._door.now.graph
        read = read_batch(graph.vertices, changes, (op, src, dst), timestamp, ordered=graph.copies is None)
        return self._change(read, strict=strict, batch_id=batch_id)

    def drop(self, vertices: Iterable[Vertex] | Table) -> BatchResult:
        """Let vertices without edges go, as one batch: a list, or a table with the column ``vertex``.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
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
            self._attachment.begin()
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
        names = self._names if self._attachment.store is None else "driver"  # a location takes them from there
        read = numbering.read_first_graph(edges, vertices, (src, dst), names, self._tables.spark)
        with self._door.changing() as now:
            self._attachment.begin()
            graph, repeated = self._build(read, multigraph=now.graph.copies is not None)
            version = now.next(graph, Tally(inserted=graph.size))
            version = replace(version, tally=now.tally + Tally(insertions_ignored=repeated))
            kept = None if graph.vertices.on_spark else graph.vertices.names()
            every = graph.edges.edges
            counts = None if graph.copies is None else graph.counts(every)
            return self._done(version, None, Batch(RESET, every, vertices=kept, counts=counts))

    def _change(self, changes: Changes, *, strict: bool, batch_id: str | int | None = None) -> BatchResult:
        """Bring a batch to its net effect, to the engine and into the graph."""
        with self._door.changing() as now:
            if changes.is_empty or self._attachment.is_known(batch_id):  # another thread may have sent it meanwhile
                return BatchResult(now.number)
            self._attachment.begin()
            batch = planned(now.graph, changes, strict=strict)
            if not batch.rows:
                return BatchResult(now.number)
            inserted, deleted, added, new, last, *_ = batch
            if len(inserted) or len(deleted):
                with naming_cycles(now.graph.vertices.names, added, new):
                    self._door.advance(lambda: self._tell(inserted, deleted, batch.extent))
            noted, counts = batch.noted
            version = now.next(now.graph.after(noted, deleted, added, new, counts), last)
            touched = Touched(np.concatenate([inserted.sources, deleted.sources, new]), new)
            known_as = None if batch_id is None else str(batch_id)
            return self._done(version, touched, Batch(BATCH, noted, deleted, None, known_as, counts))

    def _done(self, version: Version, touched: Touched | None, batch: Batch) -> BatchResult:
        """Commit a version that a batch has led to, and return what the batch did."""
        self._attachment.commit(version, touched, batch)
        done = version.last
        pairs = ChangedPairs(self._door.counting(version.number))
        return BatchResult(version.number, done.inserted, done.deleted, done.ignored, pairs)

    def _tell(self, inserted: Edges, deleted: Edges, vertices: int) -> None:
        """Let the engine apply a batch that needs at least ``vertices``."""
        engine = self._door.engine
        if vertices > engine.vertices:  # else there are such already, or an earlier batch failed after this
            engine.grow(vertices)
        engine.apply(inserted, deleted)

    def _build(self, read: FirstGraph, *, multigraph: bool) -> tuple[Graph, int]:
        """Let the engine close other edges; give their graph, and how many of them were there more than once."""
        vertices, engine = read.vertices, self._door.engine
        if len(vertices):
            self._door.now.graph.vertices.require_kind(vertices.kind)
        with progress("building", 1) as shown, naming_cycles(vertices.names, pa.nulls(0), np.arange(0)):
            shown.at(f"closing, engine {engine.current.name}")
            self._door.advance(lambda: engine.init(read.edges, vertices.extent), mend=lambda: None)
        graph = Graph(vertices, EdgeSet.of(read.edges), copies=Copies.of(read.edges) if multigraph else None)
        return graph, len(read.edges) - graph.size
