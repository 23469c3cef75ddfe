"""All rows of a lazy matrix on Spark as a DataFrame, without a detour over the driver.

The buffers travel inside the stage, and each task adds what they hold for its own stripes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.columns import ROWS
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.blocks.workers import Batches
from dyntc_spark.errors import SessionError
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.matrices.lazy import sparse_lines
from dyntc_spark.matrices.lazy.buffers import Buffers
from dyntc_spark.matrices.lazy.layered_state import LayeredState
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.rebuild import BY_ROW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNTED_ROWS = f"{ROWS}, paths array<decimal(38,0)>"
#: Makes a value of each entry: from its row and ``values[plane, entry]``.
Counter: TypeAlias = Callable[[npt.NDArray[np.int32], Ints], pa.Array]


def reached_frame(matrix: LazyMatrix, count: int, counter: Counter | None = None, *, look: bool = False) -> DataFrame:
    """Return ``number int`` and ``reached array<int>`` for each of the first ``count`` rows; starts no job by itself.

    ``reached`` are the columns of the entries that are not zero, and the row's own number, sorted. A ``counter`` adds
    ``paths``, what it makes of these entries; that of the row's own number is 1. With ``look`` one
    job looks first whether Spark has the blocks, and ``LostBlocksError`` is raised where it has not.
    """
    state = _layers(matrix)
    if look:
        state.look()
    found: DataFrame = state.stripes(BY_ROW, absent=True).mapInArrow(
        _listing(matrix.kinds[BY_ROW], matrix.pending, count, counter), ROWS if counter is None else COUNTED_ROWS
    )
    return found


def pairs_reached(matrix: LazyMatrix, count: int) -> int:
    """Count the entries of the first ``count`` rows that are not zero, without those on the diagonal: one job."""
    rows = reached_frame(matrix, count)
    return _layers(matrix).backend.total("count pairs", rows, "size(reached)") - count


def _layers(matrix: LazyMatrix) -> LayeredState:
    if not isinstance(matrix.state, LayeredState):
        raise SessionError("a matrix that lives on Spark", "one in this process", "Use gather(rows) instead.")
    return matrix.state


def _listing(
    kind: Kind, pending: tuple[Buffers, ...], count: int, counter: Counter | None
) -> Callable[[Batches], Batches]:
    """Make the task: stripes in, their rows as sorted lists out."""

    def task(batches: Batches) -> Batches:
        down = kind.grid.down
        upright = [sparse_lines.columns_at(buffers.columns_j, np.arange(down.length)) for buffers in pending]
        for batch in batches:
            for stripe, payload in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                ids = np.arange(stripe * down.step, stripe * down.step + down.extent(stripe), dtype=np.int32)
                lines = Sparse(
                    kind.grid.extent(stripe, 0), *kind.ring.coordinates(kind.ring.decode(payload.as_buffer()))
                )
                for j, buffers in zip(upright, pending, strict=True):
                    lines = sparse_lines.combine(lines, sparse.take_rows(j, ids), buffers.rows_i, kind.ring.modulus)
                if (wanted := min(len(ids), count - int(ids[0]))) > 0:
                    yield _lists(lines, ids[:wanted], counter)

    return task


def _lists(lines: Sparse, ids: npt.NDArray[np.int32], counter: Counter | None) -> pa.RecordBatch:
    """Return the first lines as lists, each with its own id."""
    own = np.arange(len(ids), dtype=np.int64)
    kept = lines.rows < len(ids)
    keys = np.concatenate([lines.rows[kept].astype(np.int64) << 32 | lines.columns[kept], own << 32 | ids])
    keys, places = np.unique(keys, return_index=True)
    ends = pa.array(np.searchsorted(keys, np.arange(len(ids) + 1, dtype=np.int64) << 32).astype(np.int32))
    lists = {"reached": pa.array((keys & 0xFFFFFFFF).astype(np.int32))}
    if counter is not None:
        ones = np.ones((len(lines.values), len(ids)), lines.values.dtype)
        lists["paths"] = counter(ids[keys >> 32], np.concatenate([lines.values[:, kept], ones], axis=1)[:, places])
    arrays = [pa.array(ids), *(pa.ListArray.from_arrays(ends, values) for values in lists.values())]
    return pa.RecordBatch.from_arrays(arrays, names=["number", *lists])
