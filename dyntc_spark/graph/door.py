"""`Door`: a monitor around the engine of a closure. Every answer is that of one whole version, from any thread.

All that is known about a version, but for its closure, is an immutable value, `Version`; a batch replaces it when it is
done. The closure itself is in an engine that a batch changes in place. So

- what needs no engine is answered from ``now``, without waiting;
- what needs it is asked through `Door.ask`, one question at a time, and waits until a batch is done or undone;
- what takes long is asked through `Door.ask_apart`: it waits only until the rows are copied, and then blocks nobody;
- batches, moves and all other changes are made within `Door.changing`. A question that comes while a batch waits lets
  it go first, so that a batch waits only for the questions that have begun.

A thread may ask, and change again, within its own change.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar

from dyntc_spark.engines.abilities import TakesSnapshots, change_counts, rows_on_spark
from dyntc_spark.engines.base import Engine, Reachability
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.errors import ClosedError, LostBlocksError, StorageError
from dyntc_spark.graph.argument_checks import refuse_copy
from dyntc_spark.graph.changes.difference_on_spark import DifferenceOnSpark
from dyntc_spark.graph.lost_blocks import retry_after_loss
from dyntc_spark.graph.store.place import brief
from dyntc_spark.graph.version import Difference, Version
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
#: Something to be worked out from a version and its closure.
Question: TypeAlias = Callable[[Version, Reachability], _Answer]


class Door:
    """The way to the versions of a closure and to its engine, which has the closure of the current version.

    Examples
    --------
    >>> from dyntc_spark.engines.recompute import Recompute
    >>> door = Door(Recompute())
    >>> door.ask(lambda version, closure: (version.number, closure.vertices))
    (0, 0)
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.losses = 0  #: of blocks on Spark, after which the closure was built again
        #: Called within `changing`, after the engine had to be built again for a question: Spark had lost its state.
        self.rebuilt: Callable[[], None] = lambda: None
        self._now = Version()
        self._difference: tuple[Version, Difference] | None = None  # worked out when first asked for
        self._changed: tuple[Version, DifferenceOnSpark] | None = None  # where something had to be built for it
        self._closed = False
        self._behind = False  # whether the engine may have another closure than the version that is current
        self._gate = threading.RLock()  # held during a change, also while that waits
        self._lock = threading.RLock()  # held while the engine is used
        self.publish(self._now)

    def __reduce__(self) -> NoReturn:
        refuse_copy(str(self._now))

    @property
    def now(self) -> Version:
        """The version that is current: a value, for what needs no engine."""
        self.require_open()
        return self._now

    def __str__(self) -> str:
        return "closed" if self._closed else str(self._now)

    # --- questions ---------------------------------------------------------------------------

    def ask(self, question: Question[_Answer]) -> _Answer:
        """Put a question to the engine at work; what Spark has lost of its state is built again.

        The question itself must not come here again: a batch may be waiting between the two.
        """
        with self._gate:  # a change that waits goes first
            pass
        with self._lock:
            self.require_open()
            self.restore()
            known = self.losses
            answer = retry_after_loss(lambda: question(self._now, self.engine.current), self._mend)
            lost = self.losses > known
        if lost:
            with self.changing():
                self.rebuilt()
        return answer

    def ask_apart(self, question: Question[_Answer]) -> _Answer:
        """Put a long question to a copy of the closure, if the engine makes one: batches need not wait for it then."""
        version, copied = self.ask(lambda version, closure: (version, _snapshot(closure)))
        if copied is None:
            return self.ask(question)
        try:
            return question(version, copied)
        except LostBlocksError:  # asking the engine itself has them built again
            return self.ask(question)

    def difference(self) -> tuple[Version, Difference]:
        """Return a version with the pairs that its batch has changed; worked out once for each version."""
        known, now = self._difference, self._now
        if known is not None and known[0].number == now.number and known[0].graph is now.graph:
            return known
        version, found = self.ask(
            lambda version, closure: (version, Difference.remembered(version.before, version.graph, closure))
        )
        if found is None:
            version, found = self.ask_apart(lambda version, closure: (version, _difference(version, closure)))
        self._difference = version, found
        return version, found

    def changed(self, spark: SparkSession, *, look: bool = False) -> tuple[Version, DifferenceOnSpark | None]:
        """Return a version with what its batch has changed, as it is on Spark; None where the closure is here.

        With ``look`` one small job looks first whether Spark has the blocks to compare.
        """

        def remembered(version: Version, closure: Reachability) -> tuple[Version, DifferenceOnSpark | None]:
            if closure.backend != "spark":
                return version, None
            if self._changed is not None and self._changed[0].graph is version.graph:
                rows_on_spark(closure, spark, look=look)
                return version, self._changed[1]
            return version, DifferenceOnSpark.remembered(version.before, version.graph, closure, spark, look=look)

        def worked_out(version: Version, closure: Reachability) -> tuple[Version, DifferenceOnSpark | None]:
            return version, DifferenceOnSpark.between(version.before, version.graph, closure, spark, look=look)

        version, found = self.ask(remembered)
        if found is None and version.backend == "spark":
            version, found = self.ask_apart(worked_out)
            self._changed = None if found is None else (version, found)
        return version, found

    def counting(self, number: int) -> Callable[[], tuple[int, int] | None]:
        """Return what counts the pairs that the batch of a version has made reachable, and unreachable.

        It gives None once that is no longer the current version, and keeps no reference to the closure.
        """
        known = weakref.ref(self)

        def counted(version: Version, closure: Reachability) -> tuple[int, int] | None:
            if version.number != number or version.before.origin is not version.graph.origin:
                return None
            return (0, 0) if version.before.edges is version.graph.edges else change_counts(closure)

        def count() -> tuple[int, int] | None:
            door = known()
            return None if door is None or door._closed else door.ask(counted)  # noqa: SLF001  (one of this class)

        return count

    # --- changes -----------------------------------------------------------------------------

    @contextmanager
    def changing(self) -> Iterator[Version]:
        """Be the only one who asks or changes something; give the version that is current.

        When an error comes between `advance` and `publish`, the engine is brought back.
        """
        with self._gate, self._lock:
            self.require_open()
            try:
                yield self._now
            except Exception:
                try:
                    self.restore()
                except StorageError as error:  # the cause is what the user has to know; this comes again
                    _log.warning("%s", error)
                raise

    def advance(self, act: Callable[[], None], mend: Callable[[], None] | None = None) -> None:
        """Let the engine do what leads to another version, which `publish` is to make the current one.

        An engine does all or nothing, unless it is interrupted. ``mend`` repairs a loss of blocks; by default
        the closure of the current version is built again.
        """
        self.restore()
        self._behind = True
        try:
            retry_after_loss(act, mend or self._mend)
        except Exception:
            self._behind = False
            raise

    def close(self) -> None:
        """Drop engine and version; every later question or change is an error. A second call does nothing."""
        with self._gate, self._lock:
            self._now, self._difference, self._changed = Version(), None, None
            self.engine, self._closed = Recompute(), True

    def require_open(self) -> None:
        """Refuse questions to a closure that was closed."""
        if self._closed:
            raise ClosedError("a closure that is open", "one that was closed", "Open it again, or build another one.")

    def publish(self, version: Version) -> None:
        """Make a version, whose closure the engine has, the current one."""
        self._now = self._placed(version)
        self._behind = False
        self._changed = None

    def move(self, act: Callable[[Engine], Engine]) -> None:
        """Continue with another engine that has the same closure."""
        self.restore()
        self.engine = retry_after_loss(lambda: act(self.engine), self._mend)
        self.publish(self._now)

    def replace(self, engine: Engine) -> None:
        """Continue with an engine that has no closure yet: it builds that of the current version."""
        self.engine, self._behind = engine, True
        self.restore()

    def restore(self) -> None:
        """Bring the engine back to the current version, if a batch that was not published has changed it."""
        if not self._behind:
            return
        graph = self._now.graph
        try:
            self.engine.init(graph.edges.edges, graph.vertices.extent)
        except Exception as error:
            raise StorageError(
                f"to bring the closure back to version {self._now.number}, after a batch that was not published",
                f"{type(error).__name__}: {brief(error)}",
                "Nothing is answered or changed before that succeeds: try again, or open the location again.",
            ) from error
        self.publish(self._now)

    def _mend(self) -> None:
        """Build the closure again from the edges of the graph."""
        self.losses += 1
        self._changed = None
        graph = self._now.graph
        self.engine.init(graph.edges.edges, max(graph.vertices.extent, self.engine.vertices))
        self._now = self._placed(self._now)

    def _placed(self, version: Version) -> Version:
        """Return a version with the engine that is at work, and where that has its state."""
        engine = self.engine.current
        if (version.engine, version.backend) == (engine.name, engine.backend):
            return version
        return replace(version, engine=engine.name, backend=engine.backend)


def _difference(version: Version, closure: Reachability) -> Difference:
    """Bring what a batch has changed into this process; where the closure is on Spark, it is compared there."""
    before, after = version.before, version.graph
    if closure.backend == "spark":
        found = DifferenceOnSpark.between(before, after, closure, session_for(None))
        if found is not None:
            return found.collected()
    return Difference.between(before, after, closure)


def _snapshot(closure: Reachability) -> Reachability | None:
    """Return a closure that stays as it is, from an engine that makes one."""
    return closure.snapshot() if isinstance(closure, TakesSnapshots) else None
