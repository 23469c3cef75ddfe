"""A state on Spark that one task makes, as the local backend makes it: nothing of its size is at the driver.

Many small products are faster in one process than as one job each. That process is a worker of Spark:
the driver sends what the state is made of, the task works it out in its own memory, and its blocks go from there
to the executors that keep them. What the driver has to know about it, the task reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from dyntc_spark.blocks import workers
from dyntc_spark.blocks.columns import cell_schema
from dyntc_spark.blocks.local import LocalState
from dyntc_spark.blocks.placement import Placement
from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.spark import SparkBackend, SparkState
from dyntc_spark.blocks.state import bounds
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.errors import DyntcError
from dyntc_spark.kernels.block import Block
from dyntc_spark.session import ensure_open

#: A state in the process that makes it, and Boolean blocks, by a number each, that the driver is told.
Made: TypeAlias = tuple[LocalState, Mapping[int, Block | None]]
AT_A_TIME = 64  #: cells that a task hands on at a time


def state_from_single_task(
    backend: SparkBackend, what: str, kinds: Mapping[str, Kind], make: Callable[[], Made]
) -> tuple[SparkState, dict[int, Block]]:
    """Let one task make a state of these kinds: one job. Return the state, and what the task reports.

    ``make`` travels to the task with all that it refers to.
    """
    ensure_open(backend.spark)
    extent = bounds(kinds.values())
    place = Placement.choose(backend.parallelism, extent)
    made = backend.spark.range(0, 1, 1, 1).mapInArrow(_making(kinds, extent, make), cell_schema(*kinds))
    kept, reports = backend.keep(what, place.dealt(made), {})
    blocks = {key: BOOLEAN.decode(payload) for _, key, payload in workers.told(reports)}
    found = {key: block for key, block in blocks.items() if block is not None}
    return SparkState(backend, kinds, (kept,)), found


def _making(
    kinds: Mapping[str, Kind], extent: tuple[int, int], make: Callable[[], Made]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the task: its one row says that it has to begin."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not sum(batch.num_rows for batch in batches):
            return
        try:
            state, told = make()
        except DyntcError as error:
            yield _rows([(0, 0)], {name: [None] for name in kinds}, [[workers.error_row(error)]])
            return
        known = {key: BOOLEAN.encode(block) for key, block in told.items() if block is not None}
        reports: list[Any] = [[{"operation": 0, "key": key, "payload": payload} for key, payload in known.items()]]
        cells = [(bi, bj) for bi in range(extent[0]) for bj in range(extent[1])]
        for start in range(0, len(cells), AT_A_TIME):
            some = cells[start : start + AT_A_TIME]
            payloads = {
                name: [kind.ring.encode(state.blocks[name].get(at)) for at in some] for name, kind in kinds.items()
            }
            yield _rows(some, payloads, reports)
            reports = []

    return task


def _rows(
    cells: list[tuple[int, int]], payloads: Mapping[str, list[bytes | None]], reports: list[Any]
) -> pa.RecordBatch:
    """Return cells with their payloads; the first ones have the reports."""
    told = [report or None for report in reports] + [None] * (len(cells) - len(reports))
    arrays = [pa.array(side, pa.int32()) for side in zip(*cells, strict=True)]
    arrays += [pa.array(column, pa.binary()) for column in payloads.values()]
    return pa.RecordBatch.from_arrays(
        [*arrays, pa.array(told, workers.REPORT_TYPE)], names=["bi", "bj", *payloads, "reports"]
    )
