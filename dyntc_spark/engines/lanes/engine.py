"""The engine ``lanes``: the closure as one Boolean block matrix, built and changed 64 sources at a time.

What it keeps, why it is right and what it costs is in the header of ``kernels.lanes``. The answers
come from a `Closure`, which nobody changes: a batch works on a graph of its own and on new stripes, and its last
step is to put another closure in the place of the old one. When a batch fails on the way, the
closure that stands still answers, and the graph is made again before the next batch.

The graph is always in this process. The stripes are there, too, or on Spark (``on_spark``).
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges, EdgeSet, checked, distinct, edges_of, keys_of
from dyntc_spark.engines.base import Certificate, Engine
from dyntc_spark.engines.lanes import difference
from dyntc_spark.engines.lanes.in_process import NONE, OTHER_NUMBERS, Change, Closure, InProcess, Place
from dyntc_spark.engines.lanes.load import StoredClosure, has_components, state_of
from dyntc_spark.engines.lanes.on_spark import OnSpark
from dyntc_spark.engines.lanes.questions import Answering, Snapshot
from dyntc_spark.engines.lanes.state import OrderGivenUp, State
from dyntc_spark.errors import OptionError, ShapeMismatchError
from dyntc_spark.kernels.ids import Offsets
from dyntc_spark.kernels.lanes.stripes import ENTRY_BYTES, LANES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger(__name__)

#: Stripes may take so many times as many bytes as after a build, and so many more, before components get new numbers;
#: after so many batches somebody looks.
MOST_GROWTH, LEAST_GROWTH, LOOK_AFTER = 1.5, 1 << 20, 64


class Lanes(Answering, Engine):
    """The closure of any digraph in lanes.

    Parameters
    ----------
    backend
        Where the stripes are; by default in this process.
    width
        Lanes of a stripe, from 1 to 64; tests use narrow ones.

    Examples
    --------
    >>> engine = Lanes()
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.query([0, 2, 2, 3], [2, 1, 0, 3])
    array([ True,  True, False,  True])
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    >>> engine.ancestors([2]).sources
    array([0, 1, 2])
    """

    def __init__(self, backend: Backend | None = None, *, width: int = LANES) -> None:
        if not 1 <= width <= LANES:
            raise OptionError(f"from 1 to {LANES} lanes", f"{width}", "Most leave it out.")
        self._width = width
        self._spark = backend if isinstance(backend, SparkBackend) else None
        self._place: Place = InProcess() if self._spark is None else OnSpark.nothing(self._spark)
        self._state = State(EdgeSet.of(Edges.of()), 0, width, self._place, None)
        self._failed: tuple[Offsets, Offsets] | None = None  # the batch that failed: its insertions and deletions
        self._change: Change | None = None
        self._sides = False, False  # whether the last batch has inserted edges, and deleted some
        self._built = self._state.row_bytes
        self._batches = self._rebuilds = 0
        self._seconds = 0.0

    @property
    def closure(self) -> Closure:
        """The closure as it is now: a value."""
        return self._state.closure

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges: one sweep for 512 sources; on Spark one job."""
        self._build(EdgeSet.of(checked(edges, vertices)), vertices)

    def load(self, edges: EdgeSet, vertices: int, stored: StoredClosure) -> bool:
        """Start again with a closure as it is stored: a pass over its runs."""
        fits = self.budget is None or stored.rows * ENTRY_BYTES <= self.budget
        if self._spark is not None or stored.width != self._width or not fits:
            return False
        started = time.perf_counter()
        self._state = state_of(stored, edges, vertices, self.budget)
        self._failed = self._change = None
        self._built = self._state.row_bytes
        self._seconds = time.perf_counter() - started
        return True

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges: as much work as there are words that change, times the edges at these.

        On Spark most often no job, one where stripes are read or worked on there, two where others are written first.
        """
        started = time.perf_counter()
        self._recover()
        n = self.vertices
        new, gone = (distinct(keys_of(checked(edges, n))) for edges in (inserted, deleted))
        new, gone = self._state.effect(new, gone)
        self._failed, self._sides = (new, gone), (len(new) > 0, len(gone) > 0)
        try:
            change = self._state.apply(new, gone)
        except OrderGivenUp:
            self._replace(self._edge_set().replaced(edges_of(new), edges_of(gone)))
            self._batches += 1
            return
        self._failed = None
        self._change = change
        self._batches += 1
        if self._batches % LOOK_AFTER == 0 and self._state.row_bytes > MOST_GROWTH * self._built + LEAST_GROWTH:
            try:
                self._build(EdgeSet.of(self.edges), n)
                self._change = change  # the pairs are the same, whatever their numbers
            except Exception as error:  # noqa: BLE001  (the batch is done: whoever hears of an error takes it back)
                _log.warning("The components of a closure in lanes keep their numbers: %s", error)
        self._seconds = time.perf_counter() - started

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable, and those that it made unreachable, sorted.

        The exclusive or of the words before and after; by rows where components fell apart or merged. They are
        collected here, wherever the stripes are. None where there was no batch since ``init``.
        """
        if self._change is None:
            return None
        won, lost = difference.collected(self._change)
        return edges_of(won), edges_of(lost)

    def change_counts(self) -> tuple[int, int] | None:
        """How many pairs the last batch made reachable, and how many unreachable: by words, where these are here.

        Of a batch on Spark it is known if that only inserted edges, or only deleted some: its job tells how
        many pairs more there are.
        """
        if self._change is None:
            return None
        found = difference.counted(self._change)
        more = None if found is not None or all(self._sides) else difference.more_pairs(self._change)
        return found if more is None else (max(more, 0), max(-more, 0))

    def changed(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The pairs that the last batch changed, worked out where the stripes are; None when these are here."""
        del spark, look
        if self._change is None or self._spark is None:
            return None
        return difference.changed(self._change, self._spark)

    def snapshot(self) -> Snapshot:
        """Return what answers from the closure that there is now; nothing is copied."""
        return Snapshot(self.closure, self.bytes)

    def trial(self) -> Lanes:
        """Return an engine for one batch that is thrown away: the graph is copied, the stripes are not."""
        self._recover()
        other = Lanes(self._spark, width=self._width)
        other._state, other._place, other._built = self._state.trial(), self._place, self._built
        return other

    def moved(self, backend: Backend) -> Lanes:
        """Return the engine with its stripes on another backend: one job, which builds them there or reads them.

        This one must not be used any more.
        """
        to = backend if isinstance(backend, SparkBackend) else None
        if to is self._spark:
            return self
        self._recover()
        other = copy.copy(self)
        other._settle(to, self._state)  # noqa: SLF001  (one of us)
        return other

    def _settle(self, to: SparkBackend | None, state: State) -> None:
        """Have the stripes of a state on another backend."""
        place: Place = InProcess() if to is None else OnSpark.nothing(to)
        self._state = state.moved(place)
        self._spark, self._place = to, place
        if to is not None and self._change is not None:
            self._change = difference.lean(self._change)

    @property
    def edges(self) -> Edges:
        """The edges, sorted: one pass over them.

        A batch that failed may have changed some of them. It only inserts what was absent and deletes what was there.
        """
        return self._edge_set().edges

    def verify(self) -> Certificate:
        """Certify every word by those of its predecessors, and build the closure again where one is wrong.

        The engine is exact; what this finds is damage. On Spark one job.
        """
        self._recover()
        version, place = self.closure
        edges = self._edge_set()
        if not has_components(version, edges):
            self._build(edges, self.vertices)
            return Certificate(self.vertices, Edges.of(), repaired=True)
        missing, extra = place.wrong(self._state.graph, version)
        if len(missing) or extra:
            self._build(edges, self.vertices)
        return Certificate(self.vertices, edges_of(missing), bool(len(missing) or extra))

    @property
    def bytes(self) -> int:
        """What the stripes take, which is what can be on Spark; edges and components stay in this process.

        In this process old stripes count that are still in the pools.
        """
        return self._state.row_bytes if self._spark else self._state.pool_bytes

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: linear in the new ones."""
        if vertices < self.vertices:
            raise ShapeMismatchError(
                f"at least {self.vertices} vertices", f"{vertices}", "Use init to start again with fewer."
            )
        checked(Edges.of(), vertices)
        if vertices > self.vertices:
            self._recover()
            self._state.grow(vertices)
            self._change = None

    def stats(self) -> Mapping[str, Any]:
        """Sizes of the graph, of its condensation and of the closure, and the work of the last batch."""
        change = self._change
        return {
            **super().stats(),
            "bytes": self._state.bytes,
            "batches": self._batches,
            "rebuilds": self._rebuilds,
            "stripes_changed": 0 if change is None else len(change.altered),
            "words_changed": 0 if change is None else change.words,
            "words_looked_at": 0 if change is None else change.looked,
            "seconds_of_last_batch": self._seconds,
        }

    def _edge_set(self) -> EdgeSet:
        """The edges of the closure, whatever a batch that failed has done to the working graph."""
        keys = self._state.keys
        if self._failed is not None:
            new, gone = self._failed
            keys = np.setdiff1d(np.union1d(keys, gone), new)
        return EdgeSet.of(edges_of(keys))

    def _recover(self) -> None:
        """Make the graph again, where a batch that failed has left it halfway."""
        if self._failed is not None:
            self._state.restore(self._edge_set())
            self._failed = None

    def _replace(self, edges: EdgeSet) -> None:
        """Close other edges in place of those that there are, and remember what there was."""
        before = self.closure
        self._build(edges, self.vertices)
        self._change = Change(before, self.closure, NONE, NONE, 0, 0, OTHER_NUMBERS)

    def _build(self, edges: EdgeSet, vertices: int) -> None:
        """Close other edges; nothing is replaced before all is made."""
        started = time.perf_counter()
        self._state = State(edges, vertices, self._width, self._place, self.budget)
        self._failed = self._change = None
        self._built = self._state.row_bytes
        self._rebuilds += 1
        self._seconds = time.perf_counter() - started
