"""DataFrames of a lazy matrix on Spark, without a detour over the driver: Lookup of many pairs, and all rows.

The pairs travel to the stripes that hold their rows, in one shuffle; the buffers
travel inside the stage, and each task adds what they hold for its own stripes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.columns import INTEGERS, ROWS
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.blocks.workers import Batches
from dyntc_spark.errors import EntryValueError, SessionError
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.lazy_pyspark import F
from dyntc_spark.matrices.lazy import sparse_lines
from dyntc_spark.matrices.lazy.buffers import Buffers
from dyntc_spark.matrices.lazy.layers import LayeredState
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.operations import widened
from dyntc_spark.matrices.lazy.rebuild import BY_ROW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "row bigint, column bigint, values array<bigint>"
COUNTED_ROWS = f"{ROWS}, paths array<decimal(38,0)>"
#: Makes a value of each entry: from its row and ``values[plane, entry]``.
Counter: TypeAlias = Callable[[npt.NDArray[np.int32], Ints], pa.Array]


def lookup_frame(matrix: LazyMatrix, pairs: DataFrame) -> DataFrame:
    """Return ``row``, ``column`` and ``values`` (one an integer plane) of M at each pair; starts no job by itself.

    Parameters
    ----------
    matrix
        A lazy matrix whose blocks live on the session of ``pairs``.
    pairs
        Integer columns ``row`` and ``column``. Pairs come back as often as they are asked; a pair outside the
        matrix, or with a null, fails the job that asks for it.
    """
    state = _layers(matrix, "Use lookup(pairs) with arrays.")
    types = dict(pairs.dtypes)
    for name in ("row", "column"):
        if types.get(name) not in INTEGERS:
            raise EntryValueError(f"an integer column {name!r}", f"{types.get(name)}", "Rename or cast the columns.")
    kind = matrix.kinds[BY_ROW]
    row, column, nothing = (F.col("row").cast("bigint"), F.col("column").cast("bigint"), F.lit(None).cast("bigint"))
    stripe = F.floor(row / kind.grid.down.step).cast("bigint").alias("stripe")
    asked = pairs.select(stripe, row.alias("row"), column.alias("column"), F.lit(None).cast("binary").alias("payload"))
    held = state.stripes(BY_ROW).select(
        F.col("bi").cast("bigint").alias("stripe"), nothing.alias("row"), nothing.alias("column"), "payload"
    )
    together = held.unionByName(asked).repartition(state.backend.parallelism, "stripe")
    ordered = together.sortWithinPartitions("stripe", F.col("payload").isNull())  # a stripe's block comes first
    answers: DataFrame = ordered.mapInArrow(_answering(kind, matrix.pending), SCHEMA)
    return answers


def reached_frame(matrix: LazyMatrix, count: int, counter: Counter | None = None, *, look: bool = False) -> DataFrame:
    """Return ``number int`` and ``reached array<int>`` for each of the first ``count`` rows; starts no job by itself.

    ``reached`` are the columns of the entries that are not zero, and the row's own number, sorted. A ``counter`` adds
    ``paths``, what it makes of these entries; that of the row's own number is 1. With ``look`` one
    job looks first whether Spark has the blocks, and ``LostBlocksError`` is raised where it has not.
    """
    state = _layers(matrix, "Use gather(rows) instead.")
    if look:
        state.look()
    found: DataFrame = state.stripes(BY_ROW, absent=True).mapInArrow(
        _listing(matrix.kinds[BY_ROW], matrix.pending, count, counter), ROWS if counter is None else COUNTED_ROWS
    )
    return found


def pairs_reached(matrix: LazyMatrix, count: int) -> int:
    """Count the entries of the first ``count`` rows that are not zero, without those on the diagonal: one job."""
    total = reached_frame(matrix, count).select(F.sum(F.size("reached")).alias("pairs"))
    state = _layers(matrix, "Use gather(rows) instead.")
    return int(state.backend.collect("count pairs", total).column("pairs")[0].as_py() or 0) - count


def _layers(matrix: LazyMatrix, remedy: str) -> LayeredState:
    if not isinstance(matrix.state, LayeredState):
        raise SessionError("a matrix that lives on Spark", "one in this process", remedy)
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


def _answering(kind: Kind, pending: tuple[Buffers, ...]) -> Callable[[Batches], Batches]:
    """Make the task: blocks and pairs in, sorted by stripe; answers out."""

    def task(batches: Batches) -> Batches:
        at, block = -1, None
        for batch in batches:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            if columns["stripe"].null_count:
                raise EntryValueError("no nulls in column 'row'", "a null", "Drop or fill such rows first.")
            stripes = columns["stripe"].to_numpy()
            for start, stop in _runs(stripes, columns["payload"].is_valid().to_numpy(zero_copy_only=False)):
                if at != stripes[start]:
                    at, block = int(stripes[start]), None
                if columns["payload"][start].is_valid:
                    block = kind.ring.decode(columns["payload"][start].as_buffer())
                    continue
                places = [columns[name].slice(start, stop - start).to_numpy() for name in ("row", "column")]
                yield _answers(places[0], places[1], _entries(kind, block, pending, places[0], places[1]))

    return task


def _runs(stripes: Ints, blocks: Ints) -> Iterator[tuple[int, int]]:
    """Yield each block by itself, and the pairs of each stripe together."""
    changes = (np.diff(stripes) != 0) | blocks[1:] | blocks[:-1]
    ends = np.flatnonzero(changes) + 1
    yield from zip([0, *ends.tolist()], [*ends.tolist(), len(stripes)], strict=True) if len(stripes) else ()


def _entries(kind: Kind, block: Any, pending: tuple[Buffers, ...], rows: Ints, columns: Ints) -> Ints:  # noqa: ANN401
    grid = kind.grid
    rows, columns = grid.down.ids(rows, "row"), grid.across.ids(columns, "column")
    shape = grid.extent(int(rows[0]) // grid.down.step, 0) if len(rows) else (0, 0)  # all rows are of one stripe
    found = kind.ring.get(widened(block, shape), rows % grid.down.step, columns).astype(np.int64)
    for buffers in pending:
        found += buffers.entries(rows, columns)
    return found if kind.ring.modulus is None else np.asarray(found % np.array(kind.ring.modulus)[:, None])


def _answers(rows: Ints, columns: Ints, values: Ints) -> pa.RecordBatch:
    flat = pa.array(np.ascontiguousarray(values.T).reshape(-1))
    ends = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * len(values))
    arrays = [pa.array(rows), pa.array(columns), pa.ListArray.from_arrays(ends, flat)]
    return pa.RecordBatch.from_arrays(arrays, names=["row", "column", "values"])
