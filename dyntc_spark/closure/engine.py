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

from dyntc_spark.blocks.grid import Ids


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges as two parallel arrays of vertex numbers."""

    sources: Ids
    targets: Ids

    @classmethod
    def of(cls, sources: npt.ArrayLike = (), targets: npt.ArrayLike = ()) -> Edges:
        """Give two lists of vertex numbers as edges."""
        return cls(np.asarray(sources, np.int64).reshape(-1), np.asarray(targets, np.int64).reshape(-1))

    def __len__(self) -> int:
        return len(self.sources)


class Engine(ABC):
    """The closure of a digraph that changes in batches.

    Every vertex reaches itself. A batch is all or nothing: when ``apply``
    raises, the engine answers as before.
    """

    #: The name by which users choose the engine.
    name: ClassVar[str]
    #: Whether a "no" is always right; a "yes" is right in every engine.
    exact: ClassVar[bool]

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

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable, and those that it made unreachable, each sorted.

        None from an engine that does not remember them.
        """
        return None

    @abstractmethod
    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices, at least as many as before; the new ones have no edges."""

    @abstractmethod
    def stats(self) -> Mapping[str, Any]:
        """What the engine can say about its size and its work."""
