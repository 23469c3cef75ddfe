"""What runs in Spark's Python workers when stripes of a lazy matrix are written, over Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks import workers
from dyntc_spark.blocks.local import in_block
from dyntc_spark.blocks.superstep import Cell, Kind, Operation, Reports
from dyntc_spark.blocks.workers import Batches
from dyntc_spark.errors import DyntcError
from dyntc_spark.kernels.block import Block
from dyntc_spark.kernels.ids import Offsets

BATCH_BYTES = 16 * 2**20  # payloads that a task hands back at a time


@dataclass(frozen=True, slots=True)
class Run:
    """Stripes of a matrix that have keys one behind the other."""

    name: str
    stripe: int  #: the first one
    key: int  #: its key
    count: int


@dataclass(frozen=True, slots=True)
class Keys:
    """The stripes of several matrices, numbered through; stripes that come later have keys behind all others.

    Examples
    --------
    >>> keys = Keys((Run("by_row", 0, 0, 7), Run("by_column", 0, 7, 5), Run("by_row", 7, 12, 2)))
    >>> keys.locate(6), keys.locate(7), keys.locate(13)
    (('by_row', 6), ('by_column', 0), ('by_row', 8))
    >>> keys.of_stripes("by_row", np.array([0, 8]))
    array([ 0, 13])
    """

    runs: tuple[Run, ...]

    @classmethod
    def of(cls, kinds: Mapping[str, Kind]) -> Keys:
        """Number the block rows of these matrices."""
        return cls(()).grown(kinds)

    def grown(self, kinds: Mapping[str, Kind]) -> Keys:
        """Return the stripes that are new numbers behind those that are there."""
        runs = list(self.runs)
        for name, kind in kinds.items():
            there = sum(run.count for run in self.runs if run.name == name)
            if (more := kind.grid.blocks[0] - there) > 0:
                runs.append(Run(name, there, Keys(tuple(runs)).count, more))
        return Keys(tuple(runs))

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(run.count for run in self.runs)

    def locate(self, key: int) -> tuple[str, int]:
        """Return the matrix of a stripe, and its number there."""
        run = max((run for run in self.runs if run.key <= key), key=lambda run: run.key)
        return run.name, key - run.key + run.stripe

    def of_stripes(self, name: str, stripes: Offsets) -> Offsets:
        """Return the keys of stripes of a matrix."""
        keys = np.zeros(len(stripes), np.int64)
        for run in self.runs:
            if run.name == name:
                keys = np.where(stripes >= run.stripe, stripes - run.stripe + run.key, keys)
        return keys

    def stripe(self, name: str) -> str:
        """Return the number of the stripe as a column, null for a stripe of another matrix."""
        cases = [
            f"WHEN key BETWEEN {run.key} AND {run.key + run.count - 1} THEN key - {run.key - run.stripe}"
            for run in self.runs
            if run.name == name
        ]
        return f"CAST(CASE {' '.join(cases)} END AS INT)" if cases else "CAST(NULL AS INT)"


class Stripes:
    """Runs the operations of a superstep on one stripe at a time."""

    def __init__(self, operations: tuple[Operation[Any], ...], kinds: Mapping[str, Kind], keys: Keys) -> None:
        self._operations = [(number, item, item.where) for number, item in enumerate(operations)]
        self._kinds = kinds
        self._keys = keys

    def rewritten(self, columns: Mapping[str, pa.Array], place: int, key: int, reports: Reports) -> bytes | None:
        """Return the new payload of the stripe ``key``, which is row ``place`` of the batch."""
        name, stripe = self._keys.locate(key)
        ring, payload = self._kinds[name].ring, columns["payload"][place]

        def load(_: str) -> Block | None:
            try:
                return ring.decode(payload.as_buffer())
            except DyntcError as error:
                raise in_block(error, name, stripe, 0) from error

        cell = Cell(stripe, 0, self._kinds, load, reports)
        for number, operation, where in self._operations:
            if operation.name == name and where.holds(stripe, 0):
                left = workers.slice_of(operation.by_row, stripe, columns.get(f"left{number}"), place)
                cell.run(number, operation, left, None)
        return ring.encode(cell[name]) if cell.written else payload.as_py()


def rewriting(
    operations: tuple[Operation[Any], ...], kinds: Mapping[str, Kind], keys: Keys
) -> Callable[[Batches], Batches]:
    """Make the task of a superstep that writes: ``key, payload`` in, the same and reports out.

    The slices of a strip stand in a column ``left0`` (of operation 0, and so on) where they were too large to travel
    with the operation.
    """
    stripes = Stripes(operations, kinds, keys)

    def task(batches: Batches) -> Batches:
        try:
            for batch in batches:
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                done, reports, held = [], Reports(operations), 0
                for place, key in enumerate(columns["key"].to_pylist()):
                    done.append((key, stripes.rewritten(columns, place, key, reports)))
                    held += len(done[-1][1] or b"")
                    if held > BATCH_BYTES:
                        yield _finished(done, reports)
                        done, reports, held = [], Reports(operations), 0
                if done:
                    yield _finished(done, reports)
        except DyntcError as error:
            yield _batch([(-1, None)], [workers.error_row(error)])

    return task


def read_written(table: pa.Table, operations: tuple[Operation[Any], ...]) -> tuple[Offsets, tuple[Any, ...]]:
    """Return the keys and sizes of the stripes written, and the results of the operations."""
    sizes, reports = [np.zeros((0, 2), np.int64)], Reports(operations)
    for number, key, payload in workers.told(table):
        if number == len(operations):
            sizes.append(np.frombuffer(payload, np.int64).reshape(-1, 2))
        else:
            reports.add(number, key, operations[number].report_ring.decode(payload))
    return np.concatenate(sizes), reports.results()


def _finished(done: list[tuple[int, bytes | None]], reports: Reports) -> pa.RecordBatch:
    """Return finished stripes; the first row holds what was reported, and, behind it, the keys and the sizes of all."""
    sizes = np.array([(key, len(payload or b"")) for key, payload in done], np.int64)
    rows = workers.report_rows(reports)
    return _batch(done, [*rows, {"operation": len(reports.operations), "key": 0, "payload": sizes.tobytes()}])


def _batch(done: list[tuple[int, bytes | None]], report: list[dict[str, Any]]) -> pa.RecordBatch:
    arrays = [
        pa.array([key for key, _ in done], pa.int64()),
        pa.array([payload for _, payload in done], pa.binary()),
        pa.array([report, *[None] * (len(done) - 1)], workers.REPORT_TYPE),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=["key", "payload", "reports"])
