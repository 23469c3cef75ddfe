"""An engine whose state is in this process while it fits a budget, and on Spark when it has outgrown it.

The state moves to Spark when it takes more bytes than the budget, and back when it takes
less than a quarter of it. A build that would outgrow the budget is refused by the engine
before it takes the memory (``OutgrownError``), and is then done on Spark. ``stats()`` says
under ``moves`` how often the state has moved and under ``because`` why it did the last
time; so does the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.abilities import Movable, loaded, moved
from dyntc_spark.engines.base import Engine
from dyntc_spark.engines.lanes.load import StoredClosure
from dyntc_spark.errors import DyntcError, OutgrownError

#: A state moves back into this process when it takes less than this part of the budget.
RETURN_PART = 0.25

_log = logging.getLogger(__name__)


class AutoBackend(Engine):
    """An engine of some class, in this process while its state fits there, else on Spark.

    Parameters
    ----------
    kind
        The class of the engine.
    spark
        Return the backend on Spark; called when it is first needed.
    budget
        Bytes that the state may take in this process.
    """

    name: ClassVar[str] = "placed"
    exact: ClassVar[bool] = False  # ask the engine inside

    def __init__(self, kind: type[Engine], spark: Callable[[], SparkBackend], budget: int) -> None:
        self._kind, self._spark, self.budget = kind, spark, budget
        self._engine = self._made(None)
        self._moves, self._because = 0, ""

    @property
    def current(self) -> Engine:
        """The engine inside."""
        return self._engine

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges: in this process if the closure fits the budget."""
        engine = self._engine if self.backend == "local" else self._made(None)
        try:
            engine.init(edges, vertices)
        except OutgrownError as error:
            engine = self._made(self._spark())
            engine.init(edges, vertices)
            self._note_move(engine, error.came)
        self._engine = engine
        self._settle()

    def load(self, edges: EdgeSet, vertices: int, stored: StoredClosure) -> bool:
        """Start again with a closure as it is stored, in this process."""
        engine = self._engine if self.backend == "local" else self._made(None)
        if not loaded(engine, edges, vertices, stored):
            return False
        self._engine = engine
        self._settle()
        return True

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges, then move the state if it no longer fits."""
        try:
            self._engine.apply(inserted, deleted)
        except OutgrownError as error:  # the state is as it was
            if self.backend == "spark":  # there is no larger place
                raise
            self._engine = moved(self._engine, self._spark())
            self._note_move(self._engine, error.came)
            self._engine.apply(inserted, deleted)
        self._settle()

    def moved(self, backend: Backend) -> Engine:
        """Return the engine inside with its state on ``backend``, where it then stays."""
        engine = moved(self._engine, backend)
        engine.budget = None
        return engine

    def stats(self) -> Mapping[str, Any]:
        """Return what the engine says, how often its state has moved, and why it did the last time."""
        return {**self._engine.stats(), "moves": self._moves, "because": self._because}

    # --- what the engine inside answers; what only some can do is asked of `current` ------------

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return self._engine.vertices

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

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``, for each ``q``."""
        return self._engine.query(sources, targets)

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""
        return self._engine.descendants(vertices)

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``."""
        return self._engine.ancestors(vertices)

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices."""
        self._engine.grow(vertices)

    # --- the place ---------------------------------------------------------------------------

    def _settle(self) -> None:
        """Move the state to where it fits; when the move fails, it stays where it is."""
        engine, held, budget = self._engine, self._engine.bytes, self.budget
        if budget is None or not isinstance(engine, Movable):
            return
        try:
            if engine.backend == "local" and held > budget:
                self._engine = engine.moved(self._spark())
                self._note_move(self._engine, f"{held} bytes are more than the budget of {budget}")
            elif engine.backend == "spark" and held < RETURN_PART * budget:
                self._engine = engine.moved(LocalBackend())
                self._note_move(self._engine, f"{held} bytes fit the budget of {budget} again")
        except DyntcError as error:
            _log.warning("The state of %s stays where it is (%s): %s", engine.name, engine.backend, error)

    def _made(self, backend: SparkBackend | None) -> Engine:
        engine = self._kind(backend) if backend else self._kind()
        engine.budget = self.budget
        return engine

    def _note_move(self, engine: Engine, why: str) -> None:
        self._moves += 1
        self._because = why
        _log.info("The state of %s is now at the backend %s: %s", engine.name, engine.backend, why)
