"""A closure that is attached to a location: each batch is durable there before the call that makes it returns.

A closure is attached when it is saved to a location or opened from one. A batch is worked out in
this process, then written and published; when that fails, the closure is brought back to what it was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dyntc_spark.engines.base import Reachability
from dyntc_spark.errors import ConflictError, DyntcError, OptionError
from dyntc_spark.graph.argument_checks import checked_batch_id
from dyntc_spark.graph.changes.difference_on_spark import StoredDifference, difference_between
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.store import recorded_changes
from dyntc_spark.graph.store.checkpoint import Content
from dyntc_spark.graph.store.replay import Batch
from dyntc_spark.graph.store.store import CHECKPOINTS, Store, ToPublish
from dyntc_spark.graph.tables.current_views import CurrentViews
from dyntc_spark.graph.tables.relations import Touched
from dyntc_spark.graph.version import Graph, Tally, Version
from dyntc_spark.progress import progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)


class Attachment:
    """The location that a closure is attached to, if any, and how its batches get there."""

    def __init__(self, door: Door, views: CurrentViews) -> None:
        self.store: Store | None = None
        self.is_past = False  #: whether the closure was opened at a version that may not be the last
        self.asked = ("auto", "auto")  #: the engine and the backend that were asked for; a location remembers them
        self._door, self._views = door, views
        self._started = 0.0

    def required(self) -> Store:
        """Return the store; a closure in memory only is refused."""
        self._door.require_open()
        if self.store is None:
            raise OptionError("a closure at a location", "one in memory only", "Call save() first, or open().")
        return self.store

    def begin(self) -> None:
        """Begin a batch: refuse it where it could not be published."""
        self._started = time.perf_counter()
        self._door.restore()  # a batch that changes no edge does not ask the engine, and must not declare it current
        if self.store is None:
            return
        if self.is_past:
            raise ConflictError(
                "the last version of a closure, for changes",
                f"version {self._version}, which was opened to be asked only",
                "Call refresh() or open the last version, or save this one to another location.",
            )
        if self.store.uncertain:
            raise ConflictError(
                "a closure that knows what is published",
                "one whose last commit may have been or not",
                "Call refresh() first.",
            )
        if self.store.lacks(self._version):
            self._record_version(self.store, self._graph_before())
        self.store.flush()
        self.store.follow_target(self._version)

    def is_known(self, batch_id: str | int | None) -> bool:
        """Return whether a batch was published before; refuse an id that cannot be remembered."""
        if batch_id is None:
            return False
        if self.store is None:
            raise OptionError("a closure at a location, for a batch_id", "one in memory only", "Call save() first.")
        return self.store.has(checked_batch_id(batch_id))

    def commit(self, version: Version, touched: Touched | None, batch: Batch) -> None:
        """Publish a batch that is done; then make its version the current one and let the views see it.

        ``touched``: what the batch changed; None: perhaps everything.
        """
        store = self.store
        if store is not None:
            store.publish(batch.kind, self._to_publish(version, version.last), batch, self._changes_of(version, store))
        self._door.publish(version)
        if store is not None:
            store.uncertain = False
        self._views.show(touched)
        if store is not None:
            self._after(store)

    def publish(self, kind: str, counts: Tally | None = None, **facts: Any) -> None:  # noqa: ANN401  (as fields are)
        """Publish something about the version that there is."""
        with progress("saving", 1):
            store, standing = self.required(), self._to_publish(self._door.now, counts or Tally())
            if kind in CHECKPOINTS:
                standing = replace(standing, content=self._content(lambda: store.place.spark))
            store.publish(kind, standing, None, **facts)
            store.uncertain = False

    def record(self, *, wanted: bool) -> None:
        """Have the location keep what batches change from now on, where that is wanted."""
        if wanted and not self.required().recording:
            self.publish("record", recording=True)

    def _changes_of(self, version: Version, store: Store) -> pa.Table | StoredDifference | None:
        """Return the changes to record of the engine's version; None where they are not known now."""
        if not store.recording:
            return None
        try:
            found = difference_between(
                version.before, version.graph, self._door.engine.current, lambda: store.place.spark
            )
            return recorded_changes.rows(version.number, found)
        except DyntcError as error:
            _log.debug("The changes of version %d are worked out when it is published: %s", version.number, error)
            return None

    def _after(self, store: Store) -> None:
        """Write what follows a batch that is published; what fails is made good by a later one."""
        try:
            if store.lacks(self._version):
                self._record_version(store, self._door.now.before)
            store.flush()
            store.follow_target(self._version)
            if store.is_due:
                self.publish("checkpoint")
            if store.is_scattered:
                store.compact()
        except DyntcError as error:
            _log.warning("Version %d is published, but not what follows it: %s", self._version, error)

    def _record_version(self, store: Store, before: Graph) -> None:
        """Have what the last version changed recorded: the difference to the graph before it."""

        def record(version: Version, closure: Reachability) -> None:
            found = difference_between(before, version.graph, closure, lambda: store.place.spark)
            store.record(version.number, recorded_changes.rows(version.number, found))

        self._door.ask(record)

    def _graph_before(self) -> Graph:
        """Read the version before the last one, which an earlier writer has published but not recorded."""
        store = self.required()
        return store.load(Store.required(store.place).upto(self._version - 1)).graph

    def _content(self, session: Callable[[], SparkSession]) -> Content:
        """Return the graph and the closure for a checkpoint."""
        return self._door.ask(lambda version, closure: Content.of(version.graph, closure, session))

    def _to_publish(self, version: Version, counts: Tally) -> ToPublish:
        return ToPublish(version.number, version.graph, self.asked, counts, self._started)

    @property
    def _version(self) -> int:
        return self._door.now.number
