"""What an engine is: the reflexive closure of a changing digraph on the vertices ``0 … n-1``.

Engines know numbers, not names: the graph layer above maps vertices of any type
to numbers and back, checks input, and turns a batch into its net effect. So an
engine is only ever told to insert edges that are absent and to delete edges
that are present.

What every engine must do is here. What only some can do is a protocol of ``engines.abilities``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges


@dataclass(frozen=True, slots=True)
class Certificate:
    """What `abilities.Certifies.verify` found.

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


class Reachability(ABC):
    """Which vertices reach which: what every engine, and every snapshot of one, can be asked.

    Every vertex reaches itself.
    """

    #: The name by which users choose the engine.
    name: ClassVar[str]
    #: Whether a "no" is always right; a "yes" is right in every engine.
    exact: ClassVar[bool]

    @property
    @abstractmethod
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""

    @property
    @abstractmethod
    def backend(self) -> str:
        """Where the state is: ``"local"`` or ``"spark"``."""

    @abstractmethod
    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``, for each ``q``."""

    @abstractmethod
    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""

    @abstractmethod
    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``."""

    @abstractmethod
    def stats(self) -> Mapping[str, Any]:
        """What the engine can say about its size and its work."""


class Engine(Reachability):
    """The closure of a digraph that changes in batches.

    A batch is all or nothing: when ``apply`` raises, the engine answers as before.
    """

    #: Bytes that the state may take in this process: `init` raises ``OutgrownError`` above, where the engine can.
    budget: int | None = None

    def __init__(self, backend: Backend | None = None) -> None:
        """Every engine can be made without arguments, or with the backend that its state is to be on."""
        del backend

    @property
    def current(self) -> Engine:
        """The engine that does the work: this one, unless it only decides where another one has its state."""
        return self

    @property
    @abstractmethod
    def edges(self) -> Edges:
        """The edges as they are now, sorted."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """What the state takes that is in this process or on Spark, as its backend says; about, and cheap to ask."""

    @abstractmethod
    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges (the paper's ``Init``; anywhere in a sequence of operations)."""

    @abstractmethod
    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges, as one atomic batch of any shape.

        An edge that is there already, or that is to be deleted and is not there, changes nothing. One that is on both
        sides is there in the end.
        """

    @abstractmethod
    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices, at least as many as before; the new ones have no edges."""
