"""The closures of a labelled graph, which are changed together.

The invariant, between two batches: all closures are at the version of the graph, have its table of vertices, and are
right for ``E_S`` of that version. A batch holds the doors of all closures. Every engine is told what the batch does to
its ``E_S``, and when all have done it, all versions are published; a question to any of them waits for that. If one
refuses, none is published, and those that were told before are brought back: they are built again.

An interrupt may come anywhere, also between two publications. What it leaves is found when the graph is next used
(`ClosureSet.settle`): a closure at another version than the graph is built again from the edges of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import SessionError
from dyntc_spark.graph.changes.net_effect import naming_cycles
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.labels.label_closure import LabelClosure, shown
from dyntc_spark.graph.labels.labelled_edges import Batch, LabelledEdges, effect
from dyntc_spark.graph.tables.relations import Touched
from dyntc_spark.graph.version import Graph, Tally, Version
from dyntc_spark.progress import progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ClosureSet:
    """Closures over different labels of one graph, at one version of it; the caller holds the graph's lock."""

    def __init__(self) -> None:
        self._origin = object()  # see `Graph`
        self._kept: dict[frozenset[str] | None, LabelClosure] = {}
        self._unshown: dict[LabelClosure, Touched | None] = {}  # what views have not seen yet; None: much

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[LabelClosure]:
        return iter(list(self._kept.values()))

    def get(self, labels: frozenset[str] | None) -> LabelClosure | None:
        """Return the closure over some labels, if there is one."""
        return self._kept.get(labels)

    def remove(self, closure: LabelClosure) -> None:
        """Change a closure no more; another one over the same labels stays."""
        if self._kept.get(closure.labels) is closure:
            del self._kept[closure.labels]
        self._unshown.pop(closure, None)

    def add(self, closure: LabelClosure, edges: LabelledEdges, number: int) -> None:
        """Build a closure at a version, and change it with the others from then on."""
        self._build(closure, edges, number)
        self._kept[closure.labels] = closure

    def settle(self, edges: LabelledEdges, number: int) -> None:
        """Build those closures again that are not at this version of the graph: a batch was interrupted.

        They are as if they were new: they do not know what the last batch changed.
        """
        for closure in self:
            if closure.version != number:
                self._unshown[closure] = None
                self._build(closure, edges, number)

    def _build(self, closure: LabelClosure, edges: LabelledEdges, number: int) -> None:
        """Build a closure at a version of the graph."""
        mine, table, door = edges.among(closure.labels), edges.vertices, closure.parts.door
        with door.changing() as version, progress("building", 1) as shown_as:
            shown_as.at(f"closing {shown(closure.labels)}")
            with naming_cycles(table.names, pa.nulls(0), np.arange(0)):
                door.advance(lambda: door.engine.init(mine.edges, table.extent), mend=lambda: None)
            graph = Graph(table, mine, self._origin)
            door.publish(Version(graph, graph, number, engine=version.engine, backend=version.backend))

    @contextmanager
    def advancing(self, edges: LabelledEdges, batch: Batch) -> Iterator[None]:
        """Let all closures do a batch that leads to ``edges``; publish it behind the body, or nowhere."""
        with ExitStack() as held:
            done = []
            for closure in self:
                door = closure.parts.door
                held.enter_context(door.changing())
                door.restore()  # after an interrupt; a batch without work for the engine would publish over it
                done.append((closure, *self._advanced(closure, door.now, edges, batch)))
            yield
            for closure, _, touched in done:  # views that have missed a batch have to see everything
                self._unshown[closure] = None if closure in self._unshown else touched
            for closure, version, _ in done:
                closure.parts.door.publish(version)

    def show(self) -> None:
        """Bring the views of all closures to the version that was published."""
        failures = []
        for closure, touched in list(self._unshown.items()):
            try:
                with closure.parts.door.changing():
                    closure.parts.views.show(touched)
            except SessionError as error:  # the others are brought up to date
                failures.append(error)
            del self._unshown[closure]
        if failures:
            raise failures[0]

    def use(self, spark: SparkSession, engine: Callable[[], Engine] | None) -> None:
        """Continue in another session; with another ``engine``, which builds the closure again, where one is given."""
        for closure in self:
            with closure.parts.door.changing():
                closure.parts.tables.spark = spark
                if engine is not None:
                    closure.parts.door.replace(engine())

    def _advanced(
        self, closure: LabelClosure, version: Version, after: LabelledEdges, batch: Batch
    ) -> tuple[Version, Touched | None]:
        """Let one closure do what a batch does to its edges; return its next version, and what the batch touched.

        The version is to be published.
        """
        labels, door, before = closure.labels, closure.parts.door, version.graph.edges
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
        touched = Touched(np.concatenate([inserted.sources, deleted.sources, batch.new]), batch.new)
        whole = len(after.vertices) < len(version.graph.vertices)  # some were dropped
        last = Tally(inserted=len(inserted), deleted=len(deleted))
        return version.next(graph, last), None if whole else touched


def _told(door: Door, inserted: Edges, deleted: Edges, vertices: int) -> None:
    if vertices > door.engine.vertices:
        door.engine.grow(vertices)
    if len(inserted) or len(deleted):
        door.engine.apply(inserted, deleted)
