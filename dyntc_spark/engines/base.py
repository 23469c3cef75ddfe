"""What an engine is: the reflexive closure of a changing digraph on the vertices ``0 … n-1``.

Engines know numbers, not names: the graph layer above maps vertices of any type
to numbers and back, checks input, and turns a batch into its net effect. So an
engine is only ever told to insert edges that are absent and to delete edges
that are present.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.blocks.exhibit import BLOCKS
from dyntc_spark.blocks.state import Backend
from dyntc_spark.errors import OptionError
from dyntc_spark.kernels.ids import Indices

_ROWS = 1024  # that are unfolded at a time, to be counted

__all__ = ["BLOCKS", "Certificate", "Edges", "Engine"]


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges as two parallel arrays of vertex numbers."""

    sources: Indices
    targets: Indices

    @classmethod
    def of(cls, sources: npt.ArrayLike = (), targets: npt.ArrayLike = ()) -> Edges:
        """Return two lists of vertex numbers as edges."""
        return cls(np.asarray(sources, np.int64).reshape(-1), np.asarray(targets, np.int64).reshape(-1))

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True, slots=True)
class Certificate:
    """What `Engine.verify` found.

    A closure whose rows contain their own vertex, and the rows of all successors of it, lacks nothing; and no
    engine answers "yes" without a reason. So a closure without ``missing`` pairs is right.
    """

    rows: int  #: how many rows were looked at
    missing: Edges  #: pairs that a row lacks though a successor's row has them: one at least for each wrong row
    repaired: bool = False  #: whether the closure was built again, so that nothing is missing any more

    @property
    def holds(self) -> bool:
        """Whether the answers are right now."""
        return self.repaired or not len(self.missing)


class Engine(ABC):
    """The closure of a digraph that changes in batches.

    Every vertex reaches itself. A batch is all or nothing: when ``apply``
    raises, the engine answers as before.
    """

    #: The name by which users choose the engine.
    name: ClassVar[str]
    #: Whether a "no" is always right; a "yes" is right in every engine.
    exact: ClassVar[bool]
    #: Bytes that the state may take in this process: `init` raises ``OutgrownError`` above, where the engine can.
    budget: int | None = None

    def __init__(self, backend: Backend | None = None) -> None:
        """Every engine can be made without arguments, or with the backend that its state is to be on."""
        del backend

    @property
    @abstractmethod
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""

    @abstractmethod
    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges (the paper's ``Init``; anywhere in a sequence of operations)."""

    @abstractmethod
    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges, as one atomic batch of any shape."""

    @abstractmethod
    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``, for each ``q``."""

    @abstractmethod
    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""

    @abstractmethod
    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``."""

    def counts(self, vertices: Indices) -> tuple[Indices, Indices]:
        """How many others each of ``vertices`` reaches, and how many others of these reach it; pairs are unfolded."""
        below, above = np.zeros(self.vertices, np.int64), np.zeros(self.vertices, np.int64)
        for part in np.array_split(vertices, len(vertices) // _ROWS + 1):
            pairs = self.descendants(part)
            below += np.bincount(pairs.sources, minlength=self.vertices)
            above += np.bincount(pairs.targets, minlength=self.vertices)
        return below[vertices] - 1, above[vertices] - 1

    @property
    def edges(self) -> Edges:
        """The edges as they are now, sorted."""
        raise self._lacks("a list of its edges")

    @property
    def backend(self) -> str:
        """Where the state is: ``"local"`` or ``"spark"``."""
        return "local"

    @property
    def current(self) -> Engine:
        """The engine that does the work: this one, unless it only decides where another one has its state."""
        return self

    @property
    def bytes(self) -> int:
        """What the state takes that is in this process or on Spark, as its backend says; about, and cheap to ask."""
        return int(self.stats().get("bytes", 0))

    def moved(self, backend: Backend) -> Engine:
        """Return the same engine with the same state on another backend, itself when it is there; no rebuild."""
        del backend
        raise self._lacks("a state that can be moved")

    def verify(self) -> Certificate:
        """Certify the closure, and build it again where that fails."""
        raise self._lacks("a certificate")

    def blocks(self, spark: SparkSession) -> DataFrame:
        """The matrices of the state as they are stored, a row a block: the columns `BLOCKS`."""
        del spark
        raise self._lacks("blocks to show")

    def rows(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The closure as it is on Spark: ``number int`` and ``reached array<int>``, sorted; the vertex itself included.

        None when the state is in this process. With ``look`` one small job looks first whether Spark still has the
        state: a DataFrame over blocks that are lost would fail in the hands of whoever works it out.
        """
        del spark, look
        return None

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable, and those that it made unreachable, each sorted.

        None from an engine that does not remember them.
        """
        return None

    def change_counts(self) -> tuple[int, int] | None:
        """How many pairs the last batch made reachable, and how many unreachable; None where only a job could tell."""
        found = self.changes() if self.backend == "local" else None
        return None if found is None else (len(found[0]), len(found[1]))

    def changed(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The pairs that the last batch changed: ``src int``, ``dst int``, ``won boolean`` (true: new, false: gone).

        It is worked out where the state is, when the DataFrame is read. None when the state is in this process, and
        from an engine that does not remember its last batch. With ``look`` one small job looks first whether Spark
        still has what is to be read.
        """
        del spark, look
        return None

    def snapshot(self) -> Engine | None:
        """Return an engine that answers as this one does now, whatever this one does later; it takes no batches.

        None from an engine that makes none, or has so little that a question to itself takes no longer.
        """
        return None

    def trial(self) -> Engine | None:
        """Return an engine that begins where this one stands, for one batch that is thrown away; this one stays.

        It must not be used any more when this one gets its next batch. None from an engine that makes none.
        """
        return None

    def require(self, edges: Edges, vertices: int) -> None:
        """Refuse edges that this engine cannot close; most can close all."""
        del edges, vertices

    @abstractmethod
    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices, at least as many as before; the new ones have no edges."""

    @abstractmethod
    def stats(self) -> Mapping[str, Any]:
        """What the engine can say about its size and its work."""

    def _lacks(self, what: str) -> OptionError:
        return OptionError(f"an engine with {what}", f"the engine {self.name!r}", "Choose another engine.")
