"""The engine ``auto``: another engine, chosen by what it would cost, on the backend where its state fits.

After each batch it asks the engines that it may choose among what a batch like the
last ones would cost them (``costs``). One that has been clearly cheaper for some
batches, by so much that taking over is soon made good, takes over: with the state as
it is where both keep rows of components, else by a build from the edges. With
``backend="auto"`` the state is in this process while it fits the budget, moves to
Spark when it has outgrown it, and back when it is a quarter of it; a start whose
closure outgrows the budget is worked out on Spark. ``stats()`` says under ``chosen`` and
``because`` what was chosen and why, and so does the log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.closure.costs import Costs, Load
from dyntc_spark.closure.engine import Certificate, Edges, Engine
from dyntc_spark.errors import DyntcError, OutgrownError

#: An engine takes over when it would take less than this part of the time,
CHEAPER = 0.7
#: for so many batches one after the other.
PATIENCE = 3
#: and when so many batches make good what taking over costs.
HORIZON = 30
#: Affected rows from which on it is worth asking what a batch of fewer changes than that leads to.
MANY_AFFECTED, FEW_CHANGES = 1000, 100
#: Ten times the seconds that a pair in the answer takes.
ASKING = 5e-7
#: A batch goes to the first engine at once where it would take so many times what a start from scratch takes there.
DEARER = 2
#: A batch of fewer seconds is not worth a thought about what would be cheaper.
CHEAP = 5e-4
#: A state moves back into this process when it takes less than this part of the budget.
RETURN_PART = 0.25

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Where:
    """Where a state may be."""

    backend: str  #: "local", "spark" or "auto"
    spark: Callable[[], SparkBackend]  #: gives the backend on Spark, made when first asked for
    budget: int  #: bytes that a state may take in this process, for "auto"

    def first(self) -> Backend | None:
        """Give the backend to start on; None for this process."""
        return self.spark() if self.backend == "spark" else None

    def moved(self, engine: Engine) -> tuple[Engine, str] | None:
        """Give the engine where its state fits, and why it is moved; None when it is there."""
        if self.backend != "auto":
            return None
        held = engine.bytes
        if engine.backend == "local" and held > self.budget:
            return engine.moved(self.spark()), f"{held} bytes are more than the budget of {self.budget}"
        if engine.backend == "spark" and held < RETURN_PART * self.budget:
            return engine.moved(LocalBackend()), f"{held} bytes fit the budget of {self.budget} again"
        return None


class Auto(Engine):
    """The closure of any digraph, by the engine that suits it.

    Parameters
    ----------
    candidates
        Classes of engines to choose among; the first is the one to start with.
    where
        Where the state may be.
    costs
        What single steps take, as ``calibrate`` measures it.
    """

    name: ClassVar[str] = "auto"
    exact: ClassVar[bool] = False  # it may choose an engine that is not

    def __init__(self, candidates: Sequence[type[Engine]], where: Where, costs: Costs | None = None) -> None:
        self._candidates = tuple(candidates)
        self._where = where
        self._costs = costs or Costs()
        self._engine: Engine
        self._use(self._made(self._candidates[0], where.first()))
        self._load = Load()
        self._because = "it suits most graphs" if len(self._candidates) > 1 else "it was asked for"
        self._cheaper = (self._candidates[0], 0)  # which was cheaper, and in how many batches
        self._switches = self._moves = 0

    @property
    def current(self) -> Engine:
        """The engine that was chosen."""
        return self._engine

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return self._engine.vertices

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges, in this process as far as the closure fits the budget."""
        kind, where = self._candidates[0], "spark" if self._where.backend == "spark" else "local"
        fits = isinstance(self._engine, kind) and self._engine.backend == where
        engine = self._engine if fits else self._made(kind, self._where.first())
        try:
            engine.init(edges, vertices)
        except OutgrownError as error:
            engine = self._made(type(engine), self._where.spark())
            engine.init(edges, vertices)
            self._moves += 1
            self._tell(engine, error.came)
        self._use(engine)
        self._load = Load()
        self._settle()

    def take(self, other: Engine) -> bool:
        """Take the rows of an engine as they are, and tell whether that was possible."""
        kind, far = self._candidates[0], other.backend == "spark"
        if not far and self._where.backend == "auto" and other.bytes > self._where.budget:
            return False
        engine = kind.adopting(other, self._where.spark() if far else None)
        self._use(engine.moved(self._where.spark()) if self._where.backend == "spark" else engine)
        self._load = Load()
        return True

    def spark_for(self, size: int) -> SparkBackend | None:
        """Where rows of so many bytes would be on Spark; None: they would be in this process."""
        far = self._where.backend == "spark" or (self._where.backend == "auto" and size > self._where.budget)
        return self._where.spark() if far else None

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges, and then choose for the next batch."""
        self._leave(len(inserted) + len(deleted))
        started = time.perf_counter()
        try:
            self._engine.apply(inserted, deleted)
        except OutgrownError as error:  # the state is as it was
            self._use(self._engine.moved(self._where.spark()))
            self._moves += 1
            self._tell(self._engine, error.came)
            self._engine.apply(inserted, deleted)
        took = time.perf_counter() - started
        if took < CHEAP:
            self._cheaper = type(self._engine), 0
            self._settle()
        else:
            self._observe(inserted, deleted, took)
            self._settle(took)

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``, for each ``q``."""
        return self._engine.query(sources, targets)

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""
        return self._engine.descendants(vertices)

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``."""
        return self._engine.ancestors(vertices)

    @property
    def edges(self) -> Edges:
        """The edges as they are now, sorted."""
        return self._engine.edges

    @property
    def backend(self) -> str:
        """Where the state is now."""
        return self._engine.backend

    @property
    def bytes(self) -> int:
        """What the state takes."""
        return self._engine.bytes

    def moved(self, backend: Backend) -> Auto:
        """Move the state, which then stays there."""
        self._engine = self._engine.moved(backend)
        self._where = replace(self._where, backend=self._engine.backend)
        return self

    def verify(self) -> Certificate:
        """Certify the closure, and build it again where that fails."""
        return self._engine.verify()

    def blocks(self, spark: SparkSession) -> DataFrame:
        """The matrices of the state as they are stored."""
        return self._engine.blocks(spark)

    def rows(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The closure as it is on Spark; None when the state is in this process."""
        return self._engine.rows(spark, look=look)

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable and unreachable; None after a change of engine or backend."""
        return self._engine.changes()

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices."""
        self._engine.grow(vertices)

    def stats(self) -> Mapping[str, Any]:
        """What the engine says, and why it was chosen."""
        return {
            **self._engine.stats(),
            "chosen": self._engine.name,
            "because": self._because,
            "switches": self._switches,
            "moves": self._moves,
        }

    # --- the choice --------------------------------------------------------------------------

    def _observe(self, inserted: Edges, deleted: Edges, took: float) -> None:
        """Remember what the last batch was like; where it affected many rows, ask how much lies below it, too.

        The question is asked if it takes a small part of what the batch ``took``.
        """
        seen, on_spark = self._engine.load(), self._engine.backend == "spark"
        seen = replace(seen, changes=len(inserted) + len(deleted), on_spark=on_spark, cores=self._cores)
        few = seen.changes < FEW_CHANGES and seen.changes * seen.row * ASKING < took
        if not (seen.below or on_spark) and seen.affected > MANY_AFFECTED and few:
            targets = np.append(inserted.targets, deleted.targets)
            seen = replace(seen, below=len(np.unique(self._engine.descendants(targets).targets)))
        self._load = self._load.after(seen, counted=self._engine.counts_affected)
        if not (few or seen.below):  # nobody knows; few changes say nothing about many
            self._load = replace(self._load, below=0.0)

    def _leave(self, changes: int) -> None:
        """Leave an engine to which so many changes are far dearer than a start from scratch is to the first."""
        first, engine, load = self._candidates[0], self._engine, self._load
        if isinstance(engine, first) or not load.vertices:
            return
        load = replace(load, changes=changes, below=load.below if changes < FEW_CHANGES else 0.0)
        now = engine.seconds(load, self._costs)
        other = first.seconds(replace(load, affected=load.vertices, changed=load.vertices), self._costs)
        if now is not None and other is not None and now > DEARER * other:
            self._use(first.adopting(engine, self._backend()))
            self._switches += 1
            self._tell(self._engine, f"a batch of {changes} changes would take {_brief(now)}, not {_brief(other)}")

    def _settle(self, took: float | None = None) -> None:
        """Choose a backend, and before it an engine, if a batch ``took`` long; a move that fails changes nothing."""
        try:
            if took is not None:
                self._choose(took)
            moved = self._where.moved(self._engine)
        except DyntcError as error:
            _log.warning("The state stays with %s (%s): %s", self._engine.name, self._engine.backend, error)
            return
        if moved:
            engine, why = moved
            self._use(engine)
            self._moves += 1
            self._tell(engine, why)

    def _choose(self, took: float) -> None:
        """Choose an engine by the estimates; what the last batch ``took`` counts where it is less than its estimate."""
        seconds = {kind: kind.seconds(self._load, self._costs) for kind in self._candidates}
        known = {kind: value for kind, value in seconds.items() if value is not None}
        now = known.get(type(self._engine))
        if now is None or not self._load.changes:
            return
        now = known[type(self._engine)] = min(now, took)
        best = min(known, key=lambda kind: known[kind])
        times = self._cheaper[1] + 1 if self._cheaper[0] is best else 1
        self._cheaper = best, times
        if best is type(self._engine) or known[best] > CHEAPER * now or times < PATIENCE:
            return
        if HORIZON * (now - known[best]) < best.adopting_seconds(self._load, self._costs):
            return
        self._use(best.adopting(self._engine, self._backend()))
        self._switches += 1
        self._tell(
            self._engine,
            f"a batch of {self._load.changes:.0f} changes that affects {self._load.affected:.0f} of "
            f"{self._load.vertices} vertices would take {_brief(known[best])}, not {_brief(now)}",
        )

    def _backend(self) -> Backend | None:
        return self._where.spark() if self._engine.backend == "spark" else None

    def _made(self, kind: type[Engine], backend: Backend | None) -> Engine:
        return self._told(kind(backend) if backend else kind())

    def _use(self, engine: Engine) -> None:
        """Go on with an engine."""
        self._engine = self._told(engine)
        self._cores = self._where.spark().parallelism if engine.backend == "spark" else 1

    def _told(self, engine: Engine) -> Engine:
        """Let an engine know what it may take, and what steps take here."""
        engine.costs = self._costs
        if self._where.backend == "auto":
            engine.budget = self._where.budget
        return engine

    def _tell(self, engine: Engine, why: str) -> None:
        self._because = why
        _log.info("Engine %s, backend %s: %s", engine.name, engine.backend, why)


def _brief(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds >= 1 else f"{1e3 * seconds:.2g} ms"
