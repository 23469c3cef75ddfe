"""The engine ``refresh``: after a batch, exactly the rows that it can have changed are built again.

The state is the condensation of the graph with one sorted row of reached
components a component, as in ``recompute``, but in a pool where single rows are
replaced (``kernels.pool``). A batch of any mixture of insertions and deletions

1. drops the changes that provably change no row: an insertion along a path that
   was there, a deletion within a component that holds together, a deletion next
   to another edge that leads to the same place;
2. finds the vertices that reach a tail of the others, backwards on the edges;
3. finds the strong components of these in the new graph;
4. builds their rows from below, each from the rows one step further, and goes on
   only where a row differs from the old one.

Why it is exact is shown in ``kernels.refresh``, step by step. It costs the edges at the
affected vertices and the rows that are built, some 10 ns a pair in these, whatever the
size of the graph; where a build from scratch is likely to be faster, by the model of
``costs``, the closure is built from scratch instead. On Spark it is the same with the
rows elsewhere (``far``): a batch fetches those that it needs and keeps those that it
built. Memory is that of ``recompute``, with the edges in both directions and some
garbage: at 60 pairs a vertex less than 6 bytes a pair, nearer to 4 with more.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.blocks.grid import Axis, Ids
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.closure import stripe_frames
from dyntc_spark.closure.built import Built
from dyntc_spark.closure.condensed import GARBAGE_LEAST, MOST_REPLACED, State
from dyntc_spark.closure.costs import affected_limit
from dyntc_spark.closure.edge_set import EdgeSet, checked, distinct, keys_of
from dyntc_spark.closure.engine import Certificate, Edges, Engine
from dyntc_spark.closure.far import FarState
from dyntc_spark.errors import OptionError, ShapeMismatchError
from dyntc_spark.kernels import refresh_answers
from dyntc_spark.kernels.refresh_answers import Former

#: A batch that affects a larger part of the vertices builds everything again, whatever the costs.
REBUILD_SHARE = 0.5
#: A search that finds too much is in vain when it takes more than this part of a build, any other batch when it takes
#: so many builds.
WASTE, SLOW = 0.25, 1.5
#: Batches in a row that are built from scratch without a look at what they affect, at most.
MOST_SKIPPED = 8
#: A state of fewer bytes is not worth a copy.
SMALL = 2**18


@dataclass
class Doubt:
    """How often of late the search for affected vertices was in vain, and whether a batch had better go without it.

    It is in vain when it takes long beside the last build, and that is needed then nevertheless, or had been faster.

    After the second time in a row the next two batches of as many changes are built from scratch at once, then
    the next four, up to ``MOST_SKIPPED``: a search tells when times have changed.

    >>> doubt = Doubt()
    >>> [doubt.note(10, in_vain=True) for _ in range(2)]
    [None, None]
    >>> [doubt.skips(changes) for changes in (10, 1, 20, 10)]
    [True, False, True, False]
    """

    times: int = 0
    changes: int = 0  #: of the last batch for which it was in vain
    left: int = 0  #: batches to go without it

    def note(self, changes: int, *, in_vain: bool) -> None:
        """Take note of a search."""
        as_many = changes >= self.changes
        self.times = (self.times + 1 if as_many else 1) if in_vain else 0
        self.changes, self.left = changes, min(2 ** (self.times - 1), MOST_SKIPPED) if self.times > 1 else 0

    def skips(self, changes: int) -> bool:
        """Tell whether a batch goes without a search."""
        if not self.left or changes < self.changes:
            return False
        self.left -= 1
        return True


class Refresh(Engine):
    """The closure of any digraph, of which a batch builds again only the rows that it can have changed.

    Parameters
    ----------
    backend
        Where the rows are; by default in this process. On Spark the edges and the components stay here (``far``).
    rebuild_share
        The closure is built from scratch when a batch affects more than this share of the vertices; by default, when
        that is likely to be faster.

    Examples
    --------
    >>> engine = Refresh()
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.query([0, 2, 2, 3], [2, 1, 0, 3])
    array([ True,  True, False,  True])
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    >>> engine.ancestors([2]).sources
    array([0, 1, 2])
    """

    name: ClassVar[str] = "refresh"
    exact: ClassVar[bool] = True

    def __init__(self, backend: Backend | None = None, *, rebuild_share: float | None = None) -> None:
        if rebuild_share is not None and not 0 <= rebuild_share <= 1:
            raise OptionError("a share of the vertices from 0 to 1", f"{rebuild_share!r}", "Most leave it out.")
        self._share = rebuild_share
        self._spark = backend if isinstance(backend, SparkBackend) else None
        self._closed: Built | State = self._made(EdgeSet.of(Edges.of()), 0)
        self._former: Former | None = None
        self._doubt = Doubt()
        self._rebuilds = self._batches = self._compactions = self._changed = 0
        self._seconds, self._build_seconds = 0.0, math.inf

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return self._closed.vertices

    @property
    def state(self) -> State:
        """The condensation with its rows, as batches change it: made of what a build left when it is first needed."""
        if isinstance(self._closed, Built):
            self._closed = self._closed.state()
        return self._closed

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges: linear in edges and pairs."""
        self._rebuild(EdgeSet.of(checked(edges, vertices)), vertices, time.perf_counter())
        self._doubt = Doubt()

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges: as much work as there is at the vertices and in the rows that are affected."""
        started = time.perf_counter()
        n = self.vertices
        new, gone = checked(inserted, n), checked(deleted, n)
        changes = len(new) + len(gone)
        limit = self._limit(changes)
        former = None
        if limit >= 0 and (self._share is not None or not self._doubt.skips(changes)):
            state, begun = self.state, time.perf_counter()
            self._tidy()
            state.rest()
            former = state.apply(distinct(keys_of(new)), distinct(keys_of(gone)), limit)
            worth = self._build_seconds * (WASTE if former is None else SLOW)
            self._doubt.note(changes, in_vain=time.perf_counter() - begun > worth)
        if former is None:
            self._rebuild(self._closed.edges.replaced(new, gone), n, started)
        else:
            self._former, self._changed = former, len(former.vertices)
            if former.lengths.sum() > max(GARBAGE_LEAST, MOST_REPLACED * self._closed.numbers):
                self._tidy()
            self._seconds = time.perf_counter() - started
        self._batches += 1

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``: a binary search each."""
        return self._closed.joined(Edges.of(sources, targets))

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""
        near = self._known(vertices)
        return _spread(near, *self.state.descendants(near))

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``.

        A search backwards on the edges for each component that ``vertices`` are in.
        """
        near = self._known(vertices)
        turned = _spread(near, *self.state.ancestors(near))
        return Edges(turned.targets, turned.sources)

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable, and those that it made unreachable, sorted.

        One pass over the old and the new rows that it changed. None where the old rows are no longer there: after
        a batch that replaced a large part of the closure, or when the graph has grown since.
        """
        if self._former is None:
            return None
        sources = self._former.vertices
        won_offsets, won, lost_offsets, lost = refresh_answers.differences(self.state.graph, self._former)
        return _spread(sources, won_offsets, won), _spread(sources, lost_offsets, lost)

    @property
    def backend(self) -> str:
        """Where the rows are."""
        return "spark" if self._spark else "local"

    def moved(self, backend: Backend) -> Refresh:
        """Give the engine with its rows on another backend: one job, and nothing is worked out again."""
        to = backend if isinstance(backend, SparkBackend) else None
        if to is self._spark:
            return self
        other = copy.copy(self)
        state = self.state.near() if isinstance(self.state, FarState) else self.state
        other._closed = FarState.moved(state, to) if to else state  # noqa: SLF001  (it is one of us)
        other._spark, other._former = to, None  # noqa: SLF001
        return other

    def snapshot(self) -> Refresh | None:
        """Return an engine with a copy of what is at hand, four bytes a number; stripes on Spark are values."""
        if self._closed.bytes < SMALL:
            return None
        other = copy.copy(self)
        other._closed = copy.deepcopy(self.state)  # noqa: SLF001  (it is one of us)
        return other

    @property
    def edges(self) -> Edges:
        """The edges, sorted: one pass over them."""
        return self._closed.edges.edges

    def verify(self) -> Certificate:
        """Certify every row by the edges, and build the closure again where one is wrong: on Spark one job.

        The engine is exact; what this finds is damage.
        """
        missing = Edges.of(*self.state.lacking())
        if len(missing):
            self.init(self.edges, self.vertices)
        return Certificate(self.vertices, missing, bool(len(missing)))

    def blocks(self, spark: SparkSession) -> DataFrame:
        """The rows as stripes, those of an overlay apart, and the members of each component."""
        return stripe_frames.blocks(self.state, spark)

    def rows(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The closure as rows of vertices, unfolded where the stripes are; None when these are in this process."""
        del spark
        return stripe_frames.rows(self._closed, look=look) if isinstance(self._closed, FarState) else None

    @property
    def bytes(self) -> int:
        """What rows, edges and components take."""
        return self._closed.bytes

    def take(self, state: State) -> bool:
        """Take rows as they are; from this process they move to Spark if that is where the others are."""
        if isinstance(state, FarState) and self._spark is None:
            return False
        if self._spark is not None and not isinstance(state, FarState):
            state = FarState.moved(state, self._spark)
        self._closed, self._former = state, None
        return True

    def spark_for(self, size: int) -> SparkBackend | None:
        """Return the backend of the rows if it is on Spark, whatever their size."""
        del size
        return self._spark

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: linear in the new ones."""
        if vertices < self.vertices:
            raise ShapeMismatchError(
                f"at least {self.vertices} vertices", f"{vertices}", "Use init to start again with fewer."
            )
        checked(Edges.of(), vertices)
        if vertices > self.vertices:
            self._tidy()
            self.state.grow(vertices)

    def stats(self) -> Mapping[str, Any]:
        """Sizes of the graph, of its condensation and of the closure, and the work of the last batch.

        ``affected`` counts the vertices whose rows the last batch could have changed by the edges,
        ``changed`` those whose rows it did change; both are all vertices after a build from scratch.
        """
        state = self.state
        return {
            "vertices": self.vertices,
            "edges": state.edge_count,
            "pairs": state.pairs,
            "components": state.components,
            "largest_component": state.largest,
            "bytes": state.bytes,
            "batches": self._batches,
            "rebuilds": self._rebuilds,
            "compactions": self._compactions,
            "affected": state.affected,
            "changed": self._changed,
            "seconds_of_last_batch": self._seconds,
        }

    def _limit(self, changes: int) -> int:
        """Give how many vertices a batch may affect before a build from scratch is likely to be faster.

        Below 0 when its changes alone take longer.
        """
        n = self.vertices
        if self._share is not None:
            return int(self._share * n)
        closed = self._closed
        limit = affected_limit(changes, n, closed.edge_count, closed.numbers, on_spark=self._spark is not None)
        return int(min(REBUILD_SHARE * n, limit)) if limit >= 0 else -1

    def _tidy(self) -> None:
        """Forget what the last batch replaced, and use its space."""
        self._former = None
        self._compactions += self.state.tidy()

    def _rebuild(self, edges: EdgeSet, vertices: int, started: float) -> None:
        """Close other edges; nothing is replaced before all is made."""
        begun = time.perf_counter()
        self._closed = self._made(edges, vertices)
        self._former, self._changed = None, vertices
        self._rebuilds += 1
        self._seconds = time.perf_counter() - started
        self._build_seconds = time.perf_counter() - begun

    def _made(self, edges: EdgeSet, vertices: int) -> Built | State:
        if self._spark:
            return FarState.build(self._spark, edges, vertices)
        return Built.of(edges, vertices, self.budget)

    def _known(self, vertices: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Give vertices ascending, each once, or an error."""
        return np.unique(Axis(self.vertices, 1).ids(vertices, "vertex")).astype(np.int32)


def _spread(near: npt.NDArray[np.int32], offsets: Ids, far: npt.NDArray[np.int32]) -> Edges:
    """Give each of ``near`` with its part of ``far``."""
    return Edges(np.repeat(near.astype(np.int64), np.diff(offsets)), far.astype(np.int64))
