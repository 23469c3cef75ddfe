"""What a contestant is: something that can close a graph, follow batches of changes, and tell its closure's digest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from benchmarks.suite.digest import Digest
from benchmarks.suite.oracle import changed
from benchmarks.suite.workloads import Workload
from dyntc_spark.edges import Edges


class NotTriedError(Exception):
    """A system that is not run on a workload, and why."""


class System(ABC):
    """A system that keeps a closure up to date."""

    #: Whether a batch costs less than a start from scratch, so that the size of batches matters.
    incremental: ClassVar[bool] = False
    #: Whether Init can be run again for the spread; not where every start is a new program.
    repeatable: ClassVar[bool] = True
    #: Seconds that the system itself took for the last step, where it runs elsewhere and times itself.
    reported: float | None = None

    def check(self, workload: Workload) -> None:  # noqa: B027  (most systems take any)
        """Raise `NotTriedError` when it would be no use to try."""

    def start(self, cores: int) -> None:  # noqa: B027
        """Load what is needed and warm up; not timed."""

    @abstractmethod
    def init(self, edges: Edges, vertices: int) -> None:
        """Close a graph."""

    @abstractmethod
    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Follow a batch."""

    @abstractmethod
    def digest(self) -> Digest:
        """Digest the closure as it is now; not timed."""

    def query(self, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        """Answer whether each pair is in the closure or a vertex with itself; None without a way to ask."""
        del sources, targets
        return None

    def what_if(self, inserted: Edges, deleted: Edges) -> Callable[[], tuple[Digest, Digest]] | None:
        """Work out which pairs a batch would add and take away, and leave the closure as it is.

        Return a function that digests the two, which is not timed; None without a way to ask.
        """
        del inserted, deleted
        return None

    def counters(self) -> Mapping[str, int]:
        """Count jobs and bytes shuffled since the start, where there are any."""
        return {}

    def facts(self) -> Mapping[str, object]:
        """Return what else is known: bytes of the state, the engine that was chosen."""
        return {}

    def stop(self) -> None:  # noqa: B027
        """Let go of what was started."""


class Recomputing(System):
    """A system that closes the edges again after every batch."""

    def init(self, edges: Edges, vertices: int) -> None:
        self._edges, self._vertices = edges, vertices
        self.close(edges, vertices)

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        self._edges = changed(self._edges, inserted, deleted, self._vertices)
        self.close(self._edges, self._vertices)

    def skip(self, inserted: Edges, deleted: Edges) -> None:
        """Follow changes without closing the graph: a start from scratch costs the same after any of them."""
        self._edges = changed(self._edges, inserted, deleted, self._vertices)

    @abstractmethod
    def close(self, edges: Edges, vertices: int) -> None:
        """Close a graph, and keep the closure until the next one."""
