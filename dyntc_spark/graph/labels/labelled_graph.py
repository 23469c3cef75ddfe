"""``LabelledGraph``: one set of labelled edges, and any number of closures, each over some of the labels.

The object is a set of triples (source, target, label) with a closure for each set S of labels that was asked for: which
vertices reach which by edges ``E_S``, those that have a label of S (`labelled_edges`). All closures are changed
together (`closure_set`). At a location, a batch is written when all engines have done it and before it is published
(`labelled_store`).

A batch costs what it changes in each closure. One over other labels than the batch has costs nothing but a version.
Each closure has its own engine. Names, numbers and labelled edges are there once; a closure over several labels
keeps ``E_S`` beside them, 8 bytes for each of its edges.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa

from dyntc_spark.engines import registry
from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import ClosedError, OptionError
from dyntc_spark.graph.argument_checks import checked_batch_id, refuse_copy, require_kept
from dyntc_spark.graph.changes.batch_result import BatchResult, ChangedPairs
from dyntc_spark.graph.inputs.read import Table, Vertex, read_vertices
from dyntc_spark.graph.inputs.vertex_types import encoded
from dyntc_spark.graph.labels.closure_set import ClosureSet
from dyntc_spark.graph.labels.label_closure import LabelClosure, Names, checked_labels, look_at_unknown
from dyntc_spark.graph.labels.labelled_arrow import LabelledArrow
from dyntc_spark.graph.labels.labelled_edges import Batch, LabelledEdges, LabelledVersion, within
from dyntc_spark.graph.labels.labelled_store import Change, LabelledStore, ReadVersion, loaded
from dyntc_spark.graph.labels.rows import Rows, read_changes, read_edges
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.version import Tally, counted
from dyntc_spark.lazy_pyspark import is_frame
from dyntc_spark.session import ensure_open, session_at_hand, session_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Self


class LabelledGraph:
    """A directed graph whose edges have labels, with closures over sets of labels, kept up to date together.

    An edge is there once with each of its labels. Every change is one atomic batch for all closures: when it is
    refused, all of them answer as before. Any number of threads may ask and change. What a batch has changed each
    closure tells by its ``changes``; ``won`` and ``lost`` of the result, one number for all of them, are None.

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
        self._now = LabelledVersion()
        self._closures = ClosureSet()
        self._lock = threading.RLock()  # held during a change
        self._store: LabelledStore | None = None
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
        if spark is None and is_frame(edges):
            spark = edges.sparkSession
        graph = cls(spark, engine, backend)
        rows = read_edges(edges, (src, dst, label), inserting=True)
        more = read_vertices(vertices, "vertex")
        begun = graph._now.edges.after(graph._now.edges.planned(rows))
        graph._now = LabelledVersion(begun.with_vertices(more))
        return graph

    # --- durability --------------------------------------------------------------------------

    def save(self, location: str) -> None:
        """Save the graph to a location, a path or a schema of the catalog, and attach it to that.

        From then on each batch is durable there before the call returns. Closures are not stored: they are built
        from the edges when they are asked for. At the location that the graph is attached to already, all is there:
        nothing is written.
        """
        with self._changing() as now:
            place = Place(session_at_hand(self._spark), location)
            if self._store is not None and self._store.is_at(place):
                self._store.require_changeable()
                return
            with place.writing():
                self._store = LabelledStore.create(place, now.number, Change.to(now.edges), now.edges.vertices.kind)

    @classmethod
    def open(
        cls,
        location: str,
        version: int | None = None,
        spark: SparkSession | None = None,
        engine: str = "auto",
        backend: str = "auto",
    ) -> LabelledGraph:
        """Open the graph that was saved at a location, and attach it to that.

        With an older ``version`` it is as it was then, and takes no changes.
        """
        spark = session_at_hand(spark)
        graph = cls(spark, engine, backend)
        store, edges, vertices = loaded(Place(spark, location), version)
        graph._now = LabelledVersion(edges.with_vertices(vertices), store.version)
        graph._store = store
        return graph

    def refresh(self) -> int:
        """Bring a reader, or a writer after a conflict, to the last version at its location; return its number."""
        with self._changing():
            if self._store is None or self._store.is_past:
                raise OptionError("a graph at the last version of a location", f"{self!r}", "Call open(location).")
            store = self._store
            try:
                self._store = None  # what is done from here on is there already
                store.version = self._now.number  # also after an interrupt
                for later in store.later():
                    self._follow(later)
                store.reached(self._now.number)
            finally:
                store.version, self._store = self._now.number, store
            return self._now.number

    def vacuum(self, keep: int, *, files: bool = True) -> None:
        """Let older versions at the location go, but for the last ``keep``.

        ``files``: whether to put small files together, and to remove those that Delta's retention period, by default a
        week, allows to remove.
        """
        require_kept(keep)
        with self._changing():
            store = self._located("vacuum")
            store.require_changeable()
            store.vacuum(keep, files=files)

    def use(self, spark: SparkSession) -> None:
        """Continue in another session; closures are built again there, unless all are in this process for good."""
        ensure_open(spark)
        with self._changing():
            self._spark = spark
            if self._store is not None:
                self._store.place = Place(spark, self._store.place.location)
            self._closures.use(spark, None if self._asked[1] == "local" else self._engine)

    # --- closures ----------------------------------------------------------------------------

    def closure(self, labels: Collection[str] | None = None, *, unknown: str = "warn") -> LabelClosure:
        """Return the closure over the edges that have one of these labels; by default over all edges.

        It is built when it is first asked for, and kept up to date from then on. The same labels give the same
        object. A label that no edge has yet is ``unknown``: ``"warn"`` logs that, for it may be a slip of the pen,
        ``"allow"`` takes it without a word, and ``"raise"`` refuses it. A graph without edges takes any.

        Examples
        --------
        >>> g = LabelledGraph.from_edges([(1, 2, "depends"), (2, 3, "recommends")])
        >>> g.closure(labels={"depends"}).reaches(1, 3), g.closure().reaches(1, 3)
        (False, True)
        """
        wanted = checked_labels(labels)
        with self._changing() as now:
            look_at_unknown(wanted, now.edges.by_label.keys(), unknown)
            found = self._closures.get(wanted)
            if found is None:
                found = LabelClosure(self._engine(), self._spark, self, wanted)
                self._closures.add(found, now.edges, now.number)
            return found

    @property
    def closures(self) -> list[LabelClosure]:
        """The closures that are kept up to date."""
        return list(self._closures)

    @contextmanager
    def reading(self) -> Iterator[int]:
        """Hold up changes, so that several questions, to whichever closures, are answered for one version; give it."""
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
        batch_id: str | int | None = None,
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
        batch_id
            At a location: a name of the batch. One whose name is known there does nothing, so that a batch whose fate
            is not known can be sent again.
        op, src, dst, label, timestamp
            What these columns are called in ``changes``.
        """
        known_as = None if batch_id is None else checked_batch_id(batch_id)
        return self._change(read_changes(changes, (op, src, dst, label), timestamp), strict=strict, batch_id=known_as)

    def drop(self, vertices: Iterable[Vertex] | Table) -> BatchResult:
        """Let vertices without edges go, as one batch: a list, or a table with the column ``vertex``."""
        names = read_vertices(vertices, "vertex")
        with self._changing() as now:
            if not len(names):
                return BatchResult(now.number)
            batch = Batch({}, {}, names[:0], np.arange(0), Tally(), encoded(names)[1])
            return self._done(now.edges.without(names), batch)

    def close(self) -> None:
        """Drop all closures, with their blocks on Spark; every later question is an error."""
        with self._lock:
            for closure in self.closures:
                closure.close()
            self._now, self._closed = LabelledVersion(), True

    # --- the edges ---------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of the last batch."""
        return self._settled_version().number

    @property
    def arrow(self) -> LabelledArrow:
        """The edges, vertices and labels as they are now, as Arrow tables."""
        return LabelledArrow(self._settled_version().edges)

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
        return len(self._settled_version().edges.vertices)

    def __repr__(self) -> str:
        if self._closed:
            return "LabelledGraph(closed)"
        now = self._now
        vertices, edges = counted(len(now.edges.vertices), "vertex", "vertices"), counted(len(now.edges), "edge")
        labels, closures = counted(len(now.edges.by_label), "label"), counted(len(self._closures), "closure")
        return f"LabelledGraph({vertices}, {edges} with {labels}; {closures}, version {now.number})"

    def __enter__(self) -> Self:
        self._settled_version()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- for closures of this graph ----------------------------------------------------------

    def within(self, labels: frozenset[str] | None, changes: Table, names: Names, *, strict: bool) -> pa.Table:
        """Return the net effect of changes of labelled edges on some labels: ``op``, ``src``, ``dst``."""
        return within(self._settled_version().edges, labels, read_changes(changes, names[:4], names[4]), strict=strict)

    def forget(self, closure: LabelClosure) -> None:
        """Let a closure go."""
        with self._lock:
            self._closures.remove(closure)

    # --- helpers -----------------------------------------------------------------------------

    def _settled_version(self) -> LabelledVersion:
        if self._closed:
            raise ClosedError("a graph that is open", "one that was closed", "Build another one from its edges.")
        return self._now

    def _engine(self) -> Engine:
        return registry.create(*self._asked, self._spark)

    @contextmanager
    def _changing(self) -> Iterator[LabelledVersion]:
        """Be the only one who changes something; give the version that is current, at which all closures are."""
        with self._lock:
            now = self._settled_version()
            self._closures.settle(now.edges, now.number)
            yield now

    def _located(self, what: str) -> LabelledStore:
        if self._store is None:
            raise OptionError(f"a graph at a location, for {what}", "one in memory only", "Call save() first.")
        return self._store

    def _change(self, rows: Rows, *, strict: bool, batch_id: str | None = None) -> BatchResult:
        with self._changing() as now:
            known = batch_id is not None and batch_id in self._located("a batch_id").batches
            return BatchResult(now.number) if known or not len(rows) else self._advance(rows, strict, batch_id)

    def _advance(self, rows: Rows, strict: bool = False, batch_id: str | None = None) -> BatchResult:
        """Make the next version."""
        batch = self._now.edges.planned(rows, strict=strict)
        return self._done(self._now.edges.after(batch), batch, batch_id)

    def _follow(self, later: ReadVersion) -> None:
        """Do what another writer did."""
        if len(later.dropped):
            self.drop(later.dropped)
        else:
            self._advance(later.changes)

    def _done(self, edges: LabelledEdges, batch: Batch, batch_id: str | None = None) -> BatchResult:
        """Bring a batch to all closures and to the location, or to none."""
        if self._store is not None:
            self._store.require_changeable()
        with self._closures.advancing(edges, batch):
            if self._store is not None:
                self._store.write(Change.of(edges, batch), batch_id)
        last, number = batch.last, self._now.number + 1
        self._now = LabelledVersion(edges, number)
        if self._store is not None:
            self._store.reached(number)
        self._closures.show()
        if self._store is not None:
            self._store.compact()
        # Each closure has its own pairs: there is no one number for all; see its changes().
        pairs = ChangedPairs((lambda: None) if last.inserted or last.deleted else None)
        return BatchResult(number, last.inserted, last.deleted, last.ignored, pairs)
