"""``LabelledGraph``: one set of labelled edges, and any number of closures, each over some of the labels.

The object is a set of triples (source, target, label) with a closure for each set S of labels that was asked for: which
vertices reach which by edges ``E_S``, those that have a label of S (`dyntc_spark.graph.labels.edges`).

The invariant, between two batches: all closures are at the version of the graph, have its table of vertices, and are
right for ``E_S`` of that version. A batch holds the doors of all closures. Every engine is told what the batch does to
its ``E_S``, and when all have done it, all versions are published; a question to any of them waits for that. If one
refuses, none is published, and those that were told before are brought back: they are built again.

A batch costs what it changes in each closure. One over other labels than the batch has costs nothing but a version.
A closure has an engine of its own. Names, numbers and labelled edges are there once; a closure over several labels
keeps ``E_S`` beside them, 8 bytes for each of its edges.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.engines import registry
from dyntc_spark.engines.base import Edges
from dyntc_spark.errors import ClosedError, InputError, OptionError
from dyntc_spark.graph.asking import Table, Vertex
from dyntc_spark.graph.batch import BatchResult, naming_cycles
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.frames import frame
from dyntc_spark.graph.history import Graph, Tally, Version
from dyntc_spark.graph.inputs import DELETE, INSERT, Ends, read_vertices
from dyntc_spark.graph.labels.arrow import LabelledArrow
from dyntc_spark.graph.labels.closure import LabelClosure, Names, shown
from dyntc_spark.graph.labels.edges import Batch, LabelledEdges, effect
from dyntc_spark.graph.labels.rows import Rows, read_changes, read_edges
from dyntc_spark.graph.misuse import refuse_copy
from dyntc_spark.graph.names import names_of
from dyntc_spark.progress import progress
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class Standing:
    """A version of the graph: a value."""

    edges: LabelledEdges = field(default_factory=LabelledEdges)
    number: int = 0
    tally: Tally = field(default_factory=Tally)


class LabelledGraph:
    """A directed graph whose edges have labels, with closures over sets of labels, kept up to date together.

    An edge is there once with each of its labels. Every change is one atomic batch for all closures: when it is
    refused, all of them answer as before. Any number of threads may ask and change.

    Examples
    --------
    >>> g = LabelledGraph.from_edges([
    ...     ("anna", "staff", "member"), ("staff", "wiki", "viewer"), ("anna", "plan", "owner"),
    ... ])
    >>> view, own = g.closure({"member", "viewer", "owner"}), g.closure({"member", "owner"})
    >>> view.reaches("anna", "wiki"), own.reaches("anna", "wiki"), own.reaches("anna", "plan")
    (True, False, True)
    >>> g.apply([("delete", "anna", "staff", "member"), ("insert", "anna", "wiki", "owner")])
    BatchResult(version=1, inserted=1, deleted=1, ignored=0)
    >>> own.reaches("anna", "wiki")
    True
    >>> g
    LabelledGraph(4 vertices, 3 edges with 2 labels; 2 closures, version 1)
    """

    def __init__(self, spark: SparkSession | None = None, engine: str = "auto", backend: str = "auto") -> None:
        self._spark, self._asked = spark, (engine, backend)
        # What does not exist is refused now, and not at the first closure.
        registry.create(engine, "local" if backend == "spark" else backend, spark)
        self._now = Standing()
        self._origin = object()  # see `Graph`
        self._closures: dict[frozenset[str] | None, LabelClosure] = {}
        self._lock = threading.RLock()  # held by whoever changes something
        self._closed = False

    def __reduce__(self) -> NoReturn:
        refuse_copy(repr(self))

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
        label: str = "label",
    ) -> LabelledGraph:
        """Make a graph of labelled edges; closures are built when they are asked for.

        Parameters
        ----------
        edges
            Columns ``src``, ``dst`` and ``label``, or triples; one that is there twice counts once.
        spark, engine, backend
            As for `DynamicClosure.from_edges`, for every closure of the graph.
        vertices
            Further vertices, which need not have an edge.
        src, dst, label
            What these columns are called in ``edges``.
        """
        if spark is None and isinstance(edges, DataFrame):
            spark = edges.sparkSession
        graph = cls(spark, engine, backend)
        rows = read_edges(edges, (src, dst, label), inserting=True)
        more = read_vertices(vertices, "vertex")
        batch = graph._now.edges.planned(rows)
        begun = graph._now.edges.after(batch)
        graph._now = Standing(_with_vertices(begun, more), 0, Tally(insertions_ignored=batch.last.insertions_ignored))
        return graph

    # --- closures ----------------------------------------------------------------------------

    def closure(self, labels: Collection[str] | None = None) -> LabelClosure:
        """Return the closure over the edges that have one of these labels; by default over all edges.

        It is built when it is first asked for, and kept up to date from then on. The same labels give the same
        object. A label that no edge has may come later.

        Examples
        --------
        >>> g = LabelledGraph.from_edges([(1, 2, "depends"), (2, 3, "recommends")])
        >>> g.closure(labels={"depends"}).reaches(1, 3), g.closure().reaches(1, 3)
        (False, True)
        """
        wanted = _checked(labels)
        with self._changing() as now:
            found = self._closures.get(wanted)
            if found is None:
                found = self._closures[wanted] = self._built(now, wanted)
            return found

    @property
    def closures(self) -> list[LabelClosure]:
        """The closures that are kept up to date."""
        return list(self._closures.values())

    @contextmanager
    def reading(self) -> Iterator[int]:
        """Hold up changes, so that several questions, to whichever closures, are answered for one version; give it.

        Each single answer is that of one version anyway.
        """
        with self._changing() as now:
            yield now.number

    # --- changing ----------------------------------------------------------------------------

    def insert(
        self, edges: Table, *, strict: bool = False, src: str = "src", dst: str = "dst", label: str = "label"
    ) -> BatchResult:
        """Insert labelled edges, as one batch; ends that are not there yet become vertices."""
        return self._change(read_edges(edges, (src, dst, label), inserting=True), strict=strict)

    def delete(
        self, edges: Table, *, strict: bool = False, src: str = "src", dst: str = "dst", label: str = "label"
    ) -> BatchResult:
        """Delete labelled edges, as one batch; an edge with another label, and the ends, stay."""
        return self._change(read_edges(edges, (src, dst, label), inserting=False), strict=strict)

    def apply(
        self,
        changes: Table,
        *,
        strict: bool = False,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        label: str = "label",
        timestamp: str = "timestamp",
    ) -> BatchResult:
        """Insert and delete labelled edges, as one batch; one without changes makes no version.

        Parameters
        ----------
        changes
            Columns ``op``, ``src``, ``dst`` and ``label``, or such tuples. See `DynamicClosure.apply` for the words
            that ``op`` may be, and for which change counts where an edge with its label is named more than once.
        strict
            Whether a change that changes nothing is an error.
        op, src, dst, label, timestamp
            What these columns are called in ``changes``.
        """
        return self._change(read_changes(changes, (op, src, dst, label), timestamp), strict=strict)

    def drop(self, vertices: Iterable[Vertex] | Table) -> BatchResult:
        """Let vertices without edges go, as one batch: a list, or a table with the column ``vertex``."""
        names = read_vertices(vertices, "vertex")
        with self._changing() as now:
            if not len(names):
                return BatchResult(now.number)
            table = now.edges.vertices
            numbers, every = table.known_numbers(names), now.edges.among(None).edges
            held = np.isin(numbers, every.sources) | np.isin(numbers, every.targets)
            if held.any():
                vertex = names[int(np.argmax(held))].as_py()
                raise InputError("vertices without edges", f"{vertex!r}, which has some", "Delete its edges first.")
            edges = LabelledEdges(table.dropped(numbers), now.edges.by_label)
            return self._done(now, edges, Batch({}, {}, pa.nulls(0), numbers[:0], Tally()))

    def close(self) -> None:
        """Let all closures go, with what they have on Spark; whatever is asked from now on is an error."""
        with self._lock:
            for closure in self.closures:
                closure.close()
            self._now, self._closed = Standing(), True

    # --- the edges ---------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of the last batch."""
        return self._standing().number

    @property
    def arrow(self) -> LabelledArrow:
        """The edges, vertices and labels as they are now, as Arrow tables."""
        return LabelledArrow(self._standing().edges)

    def edges(self) -> DataFrame:
        """The edges: ``src``, ``dst``, ``label``, a row for each label of an edge."""
        return frame(session_for(self._spark), self.arrow.edges())

    def vertices(self) -> DataFrame:
        """The vertices: the column ``vertex``."""
        return frame(session_for(self._spark), self.arrow.vertices())

    def labels(self) -> DataFrame:
        """The labels that edges have: ``label``, and ``edges``, how many have it."""
        return frame(session_for(self._spark), self.arrow.labels())

    def __len__(self) -> int:
        """Return how many vertices there are."""
        return len(self._standing().edges.vertices)

    def __repr__(self) -> str:
        if self._closed:
            return "LabelledGraph(closed)"
        now = self._now
        sizes = f"{len(now.edges.vertices)} vertices, {len(now.edges)} edges with {len(now.edges.by_label)} labels"
        return f"LabelledGraph({sizes}; {len(self._closures)} closures, version {now.number})"

    def __enter__(self) -> Self:
        self._standing()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- for closures of this graph ----------------------------------------------------------

    def within(self, labels: frozenset[str] | None, changes: Table, names: Names, *, strict: bool) -> pa.Table:
        """Return what changes of labelled edges come to among some labels: ``op``, ``src``, ``dst``."""
        rows = read_changes(changes, names[:4], names[4])
        edges = self._standing().edges
        batch = edges.planned(rows, strict=strict)
        after = edges.after(batch._replace(added=batch.added[:0]))  # the table of vertices stays
        sides = effect(batch, edges.among(labels), after, labels)
        ends = [np.concatenate([getattr(side, end) for side in sides]) for end in ("sources", "targets")]
        src, dst = (
            pa.array(names_of(numbers, edges.vertices.names, batch.added, batch.new), rows.ends.src.type)
            for numbers in ends
        )
        op = pa.array(np.repeat([INSERT, DELETE], [len(side) for side in sides]), pa.string())
        return pa.table([op, src, dst], ["op", "src", "dst"])

    def forget(self, labels: frozenset[str] | None) -> None:
        """Let the closure over some labels go."""
        with self._lock:
            self._closures.pop(labels, None)

    # --- helpers -----------------------------------------------------------------------------

    def _standing(self) -> Standing:
        if self._closed:
            raise ClosedError("a graph that is open", "one that was closed", "Build another one from its edges.")
        return self._now

    @contextmanager
    def _changing(self) -> Iterator[Standing]:
        """Be the only one who changes something; give the version that is current."""
        with self._lock:
            yield self._standing()

    def _built(self, now: Standing, labels: frozenset[str] | None) -> LabelClosure:
        """Build the closure over some labels."""
        made = LabelClosure(registry.create(*self._asked, self._spark), self._spark, self, labels)
        edges, table, door = now.edges.among(labels), now.edges.vertices, _door(made)
        with door.changing() as version, progress("building", 1) as shown_as:
            shown_as.at(f"closing {shown(labels)}")
            with naming_cycles(table.names, pa.nulls(0), np.arange(0)):
                door.advance(lambda: door.engine.init(edges.edges, table.extent), mend=lambda: None)
            graph = Graph(table, edges, self._origin)
            door.publish(Version(graph, graph, now.number, engine=version.engine, backend=version.backend))
        return made

    def _change(self, rows: Rows, *, strict: bool) -> BatchResult:
        with self._changing() as now:
            if not len(rows):
                return BatchResult(now.number)
            batch = now.edges.planned(rows, strict=strict)
            return self._done(now, now.edges.after(batch), batch)

    def _done(self, now: Standing, edges: LabelledEdges, batch: Batch) -> BatchResult:
        """Bring a batch to all closures, or to none."""
        with ExitStack() as held:
            versions = []
            for closure in self.closures:
                door = _door(closure)
                version = held.enter_context(door.changing())
                versions.append((door, self._advanced(door, version, closure.labels, edges, batch)))
            for door, version in versions:
                door.publish(version)
            self._now = Standing(edges, now.number + 1, now.tally + batch.last)
        last = batch.last
        return BatchResult(now.number + 1, last.inserted, last.deleted, last.ignored)

    def _advanced(
        self, door: Door, version: Version, labels: frozenset[str] | None, after: LabelledEdges, batch: Batch
    ) -> Version:
        """Let one closure do what a batch does to its edges; return its next version, which is to be published."""
        before = version.graph.edges
        inserted, deleted = effect(batch, before, after, labels)
        extent = int(batch.new.max(initial=-1)) + 1
        edges = before
        if len(inserted) or len(deleted):
            edges = before.replaced(inserted, deleted)
            if labels is not None and len(labels) == 1:  # it is there already
                edges = after.among(labels)
        if len(inserted) or len(deleted) or extent > door.engine.vertices:
            with naming_cycles(version.graph.vertices.names, batch.added, batch.new):
                door.advance(lambda: _told(door, inserted, deleted, extent))
        graph = Graph(after.vertices, edges, self._origin)
        return version.next(graph, Tally(inserted=len(inserted), deleted=len(deleted)))


def _told(door: Door, inserted: Edges, deleted: Edges, vertices: int) -> None:
    if vertices > door.engine.vertices:
        door.engine.grow(vertices)
    if len(inserted) or len(deleted):
        door.engine.apply(inserted, deleted)


def _door(closure: LabelClosure) -> Door:
    return closure._door  # noqa: SLF001  (the graph is who changes it)


def _with_vertices(edges: LabelledEdges, further: pa.Array) -> LabelledEdges:
    """Add vertices that need not have an edge."""
    if not len(further):
        return edges
    _, new = edges.vertices.numbered(Ends(further, further))
    return LabelledEdges(edges.vertices.added(new, edges.vertices.allotted(len(new))), edges.by_label)


def _checked(labels: Collection[str] | None) -> frozenset[str] | None:
    """Return labels as a set; refuse none at all, and what is no label."""
    if labels is None:
        return None
    if isinstance(labels, str) or not isinstance(labels, Collection):
        raise OptionError("a set of labels", f"{labels!r:.80}", "Write closure({'member', 'owner'}).")
    wanted = frozenset(labels)
    if not wanted or not all(isinstance(label, str) and label for label in wanted):
        raise OptionError("labels, which are texts", f"{set(labels) or 'none'!r:.80}", "For all edges leave them out.")
    return wanted
