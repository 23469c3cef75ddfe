"""Streams that change a closure: each micro-batch is one batch, and counts once, also after failures and restarts.

Spark numbers the micro-batches of a query, and a query that starts again from its checkpoint has its id again
and repeats the last of them. Id and number together are the id of the batch at the closure's location, which
knows a batch that it has (``apply(batch_id=...)``).

The closure is in this process. On a classic session Spark hands each micro-batch to a function here. On
Spark Connect such functions run on the server, where the closure is not: there the query writes to a table of
its own below the checkpoint, which Delta does once for each micro-batch, and a thread here applies what has come.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from dyntc_spark.errors import DyntcError, LocationError, StorageError
from dyntc_spark.graph.changes.stream_rows import AT
from dyntc_spark.graph.store.place import Place
from dyntc_spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

#: Applies a table of changes under an id, once.
Apply = Callable[[pa.Table, str], None]

INBOX = "inbox"
#: Seconds between two looks into the inbox.
POLL_SECONDS = 0.5

_log = logging.getLogger(__name__)


class Stream(ABC):
    """A stream that changes a closure, as `DynamicClosure.stream` has started it.

    ``query`` is Spark's own ``StreamingQuery``, for its progress and its status.
    """

    query: StreamingQuery

    def __init__(self, apply: Apply) -> None:
        self._apply = apply
        self._failure: BaseException | None = None

    @property
    def id(self) -> str:
        """The id of the query, which is the same whenever it starts again from its checkpoint."""
        return str(self.query.id)

    @property
    @abstractmethod
    def is_active(self) -> bool:
        """Whether changes may still come."""

    def stop(self) -> None:
        """End the stream; when this returns, the closure is at a whole version and no more changes come."""
        self.query.stop()
        self._settle()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most ``timeout`` seconds, and return whether it has come.

        Raises what has ended the stream, unless it was `stop` or all had come that was there.
        """
        with self._watching():
            return self._has_ended(timeout)

    def process_all_available(self) -> None:
        """Wait until the closure has all changes that are there now; raises what has ended the stream meanwhile."""
        with self._watching():
            self.query.processAllAvailable()
            self._catch_up()

    def exception(self) -> BaseException | None:
        """Return the error that ended the stream: a `DyntcError` where a batch was refused, else Spark's; or None."""
        return self._failure or self.query.exception()

    def _arrived(self, table: pa.Table, batch_id: str) -> None:
        """Apply a micro-batch; one without rows is none."""
        if not table.num_rows:
            return
        try:
            self._apply(_timed(table), batch_id)
        except BaseException as error:
            self._failure = error
            raise

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Raise what has ended the stream, our own error rather than Spark's about it."""
        try:
            yield
        except Exception:  # our own error is the cause, whatever Spark says
            if self._failure is not None:
                raise self._failure from None
            raise
        if self._failure is not None:
            raise self._failure

    @abstractmethod
    def _settle(self) -> None:
        """Wait until what is under way is done or undone, after the query has ended."""

    @abstractmethod
    def _has_ended(self, timeout: float | None) -> bool:
        """Wait for the end."""

    @abstractmethod
    def _catch_up(self) -> None:
        """Apply what the query has handed over."""

    def __repr__(self) -> str:
        return f"Stream({self.id}, {'active' if self.is_active else 'ended'})"


class DirectStream(Stream):
    """A stream whose micro-batches come to this process."""

    def __init__(self, writer: DataStreamWriter, apply: Apply) -> None:
        super().__init__(apply)
        self._started = threading.Event()
        self._busy = threading.Lock()
        self.query = writer.foreachBatch(self._take).start()
        self._started.set()

    def _take(self, batch: DataFrame, epoch: int) -> None:
        self._started.wait()
        with self._busy:
            self._arrived(batch.toArrow(), named(self.id, epoch))

    @property
    def is_active(self) -> bool:
        """Whether changes may still come."""
        return bool(self.query.isActive)

    def _settle(self) -> None:
        with self._busy:
            pass

    def _has_ended(self, timeout: float | None) -> bool:
        if timeout is not None:
            return bool(self.query.awaitTermination(timeout))  # type: ignore[arg-type]  # a fraction will do
        self.query.awaitTermination()
        return True

    def _catch_up(self) -> None:
        """Nothing is left: the query waits for this process."""


class InboxStream(Stream):
    """A stream whose micro-batches are written to a table, from which a thread of this process takes them."""

    def __init__(
        self, writer: DataStreamWriter, rows: DataFrame, place: Place, apply: Apply, known: Callable[[str], bool]
    ) -> None:
        super().__init__(apply)
        self._place = place
        self._draining = threading.Lock()
        self._seen = -1  # the last version of the inbox that was applied
        self._make_inbox(rows.schema, known)
        self.query = writer.format("delta").start(f"{place.location.rstrip('/')}/{INBOX}")
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"dyntc stream {self.id}", daemon=True)
        self._thread.start()

    @property
    def is_active(self) -> bool:
        """Whether changes may still come."""
        return self._thread.is_alive()

    def _settle(self) -> None:
        self._woken.set()
        self._thread.join()

    def _has_ended(self, timeout: float | None) -> bool:
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        failure = self.query.exception()
        if failure is not None:
            raise failure
        return True

    def _catch_up(self) -> None:
        self._drain()

    def _make_inbox(self, schema: StructType, known: Callable[[str], bool]) -> None:
        """Have an inbox: a new one, or that of an earlier run, which is emptied if all of it was applied."""
        if not self._place.exists(INBOX):
            empty = self._place.spark.createDataFrame([], schema)
            with self._place.translating("making the inbox of the stream"):
                self._place.append(INBOX, empty, properties={"delta.enableChangeDataFeed": "true"})
            return
        left = self._written()
        if left and all(known(batch_id) for _, batch_id in left):
            with self._place.translating("emptying the inbox of the stream"):
                self._place.delete(INBOX, "true")
            self._seen = left[-1][0]

    def _follow(self) -> None:
        """Apply what comes, until the query has ended and nothing is left."""
        progress: object = None
        try:
            while True:
                active = self.query.isActive  # asked before the look, so that the last rows are seen
                last = self.query.lastProgress
                if not active or last is None or last["batchId"] != progress:
                    self._drain()
                    progress = None if last is None else last["batchId"]
                if not active:
                    return
                self._woken.wait(POLL_SECONDS)
        except BaseException as error:  # noqa: BLE001  (it is raised where somebody waits)
            self._failure = error
            _log.warning("The stream %s ends: %s", self.id, error)
            self.query.stop()

    def _drain(self) -> None:
        """Apply what is in the inbox and was not applied, in its order."""
        with self._draining:
            if self._failure is not None:
                return
            for version, batch_id in self._written():
                self._arrived(self._rows(version), batch_id)
                self._seen = version

    def _written(self) -> list[tuple[int, str]]:
        """Return the versions of the inbox that micro-batches have made since it was empty, with the ids of these."""
        with self._place.translating("reading the history of the inbox"):
            found = self._place.by_spark.versions(INBOX).where(f"version > {self._seen}")
            rows = found.select("version", "operation", "operationParameters").orderBy("version").collect()
        made: list[tuple[int, str]] = []
        for version, operation, told in rows:
            if operation == "STREAMING UPDATE":
                made.append((int(version), named(told["queryId"], int(told["epochId"]))))
            elif operation == "DELETE":
                made.clear()
        return made

    def _rows(self, version: int) -> pa.Table:
        with self._place.translating(f"reading version {version} of the inbox"):
            found = self._place.by_spark.feed(INBOX, version)
            return found.drop(*(name for name in found.columns if name.startswith("_"))).toArrow()


def named(query: str, epoch: int) -> str:
    """Return the id of a batch: that of the query, and the number of the micro-batch."""
    return f"stream {query} {epoch}"


def start(
    apply: Apply,
    known: Callable[[str], bool],
    rows: DataFrame,
    spark: SparkSession,
    checkpoint: str,
    *,
    available_now: bool = False,
    every: str | None = None,
    name: str | None = None,
) -> Stream:
    """Start a stream of changes."""
    place = Place(spark, checkpoint)
    if not place.is_path:
        raise LocationError("a path for the checkpoint", f"{checkpoint!r}", "Give one with a '/'.")
    writer = rows.writeStream.option("checkpointLocation", place.location)
    if available_now:
        writer = writer.trigger(availableNow=True)
    elif every is not None:
        writer = writer.trigger(processingTime=every)
    if name is not None:
        writer = writer.queryName(name)
    with place.translating("starting the stream"):
        return InboxStream(writer, rows, place, apply, known) if is_connect(spark) else DirectStream(writer, apply)


def applied(act: Callable[[], object], refresh: Callable[[], object], attempts: int = 3) -> None:
    """Apply a batch again after another writer was first, or after it was not seen whether it was published."""
    for left in reversed(range(attempts)):
        try:
            act()
        except StorageError as error:  # noqa: PERF203  (a batch costs more)
            if not left:
                raise
            _log.warning("A batch of a stream is applied again: %s", error)
            try:
                refresh()
            except DyntcError:
                raise error from None
        else:
            return


def _timed(table: pa.Table) -> pa.Table:
    """Return rows that tell no times one time, so that nothing is taken for their order."""
    if AT in table.column_names:
        if table.column(AT).null_count < table.num_rows:
            return table
        table = table.drop_columns(AT)
    return table.append_column(AT, pa.nulls(table.num_rows, pa.int64()).fill_null(0))
