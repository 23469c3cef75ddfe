"""What a call that changes a closure returns: the version, and how many edges and pairs came and went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class ChangedPairs:
    """How many pairs a batch made reachable, and how many unreachable: counted when somebody first asks.

    Examples
    --------
    >>> ChangedPairs(lambda: (3, 1)).counts
    (3, 1)
    """

    __slots__ = ("_count", "_found")

    def __init__(self, count: Callable[[], tuple[int, int] | None] | None = None) -> None:
        self._count, self._found = count, (0, 0) if count is None else None

    @property
    def counts(self) -> tuple[int, int] | None:
        """The two numbers; None where it is not known."""
        if self._count is not None:
            self._found, self._count = self._count(), None
        return self._found

    def __reduce__(self) -> tuple[Any, ...]:
        return ChangedPairs._known, (self.counts,)

    @classmethod
    def _known(cls, counts: tuple[int, int] | None) -> ChangedPairs:
        return cls(lambda: counts)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch did to a closure.

    ``won`` and ``lost`` are counted when they are first asked for: by the words that the batch has changed. Ask before
    the next batch. They are None after that, after a ``reset``, and where only a job of Spark could tell: for a
    closure on Spark and a batch that both inserts and deletes, unless the stripes that it changed are in this process.

    Examples
    --------
    >>> from dyntc_spark import DynamicClosure
    >>> c = DynamicClosure.from_edges([("a", "b"), ("c", "d")])
    >>> done = c.insert([("b", "c")])
    >>> done.won, done.lost
    (4, 0)
    """

    version: int  #: of the closure, now
    inserted: int = 0  #: edges that are new; in a multigraph their copies
    deleted: int = 0  #: edges that are gone; in a multigraph their copies
    ignored: int = 0  #: changes that changed nothing
    pairs: ChangedPairs = field(default_factory=ChangedPairs, repr=False, compare=False)

    @property
    def won(self) -> int | None:
        """Pairs that became reachable; None where it is not known."""
        counts = self.pairs.counts
        return None if counts is None else counts[0]

    @property
    def lost(self) -> int | None:
        """Pairs that became unreachable; None where it is not known."""
        counts = self.pairs.counts
        return None if counts is None else counts[1]
