"""A closure that follows a stream of changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from dyntc_spark.errors import OptionError
from dyntc_spark.graph.attachment import Attachment
from dyntc_spark.graph.changes import stream
from dyntc_spark.graph.changes.batches import Batches
from dyntc_spark.graph.changes.stream import Stream
from dyntc_spark.graph.changes.stream_rows import AT, as_changes
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.vertex_types import spark_type
from dyntc_spark.graph.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Streaming:
    """Starts streams of changes to a closure at a location, which remembers the micro-batches."""

    def __init__(self, door: Door, attachment: Attachment, batches: Batches, location: Location) -> None:
        self._door, self._attachment, self._batches, self._location = door, attachment, batches, location

    def stream(
        self,
        changes: DataFrame,
        *,
        checkpoint: str,
        available_now: bool = False,
        every: str | None = None,
        name: str | None = None,
        record_changes: bool = True,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        timestamp: str = "timestamp",
    ) -> Stream:
        """Apply a stream of changes, each micro-batch as one batch, exactly once; give a handle to wait and to stop.

        The closure has to be at a location: what a micro-batch changes is published there under the query's id and
        the number of the micro-batch, and one that is there already does nothing. While the stream runs, the
        closure can be asked and changed as always; every answer is that of a whole version.

        Parameters
        ----------
        changes
            A streaming DataFrame: Delta's change data feed of a table of edges, Kafka's rows with JSON objects in
            ``value``, or columns ``op``, ``src``, ``dst`` and perhaps ``timestamp``, whatever they were read from.
            Where a micro-batch has several changes of one edge the last by time counts; without times, or at one
            time, changes that contradict each other are a ``ContradictionError``, which ends the stream.
        checkpoint
            A path for what Spark remembers of the stream; to continue later, give the same.
        available_now
            Whether to take what is there now, in as many micro-batches as the source makes, and to end then.
        every
            How often to look for changes, such as ``"10 seconds"``; by default as soon as the last are done.
        name
            The name of the query.
        record_changes
            Whether to keep the pairs that become reachable or unreachable in the table ``changes`` of the location,
            from now on, whoever makes the changes.
        op, src, dst, timestamp
            What these columns are called in ``changes``, or in the JSON objects.
        """
        store = self._attachment.required()
        if available_now and every is not None:
            raise OptionError("available_now or every", "both", "Leave one out.")
        rows = as_changes(changes, (op, src, dst), timestamp, spark_type(self._door.now.graph.vertices.kind))
        with self._door.changing():
            self._attachment.begin()
            self._attachment.record(wanted=record_changes)

        def apply(table: pa.Table, batch_id: str) -> None:
            apply_once = partial(self._batches.apply, table, batch_id=batch_id, timestamp=AT)
            stream.applied(apply_once, self._location.refresh)

        return stream.start(
            apply, store.has, rows, store.place.spark, checkpoint, available_now=available_now, every=every, name=name
        )
