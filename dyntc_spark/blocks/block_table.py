"""Blocks as a table that a user can look at: a row a block, on any backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.local import LocalState
from dyntc_spark.blocks.spark import SparkState
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.workers import Batches
from dyntc_spark.errors import OptionError
from dyntc_spark.kernels import bits, codec
from dyntc_spark.kernels.block import Bits, Sparse
from dyntc_spark.lazy_pyspark import sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The columns of the table; ``nnz`` counts the entries that are not zero.
BLOCKS = "matrix string, bi int, bj int, codec string, nnz bigint, bytes bigint, payload binary"
#: The same in Arrow's words.
BLOCKS_TYPE = pa.schema(
    [
        ("matrix", pa.string()),
        ("bi", pa.int32()),
        ("bj", pa.int32()),
        ("codec", pa.string()),
        ("nnz", pa.int64()),
        ("bytes", pa.int64()),
        ("payload", pa.binary()),
    ]
)
_CODECS = {codec.SPARSE: "sparse", codec.DENSE_BITS: "dense bits", codec.DENSE_INTEGERS: "dense integers"}


def block_table(state: State, spark: SparkSession) -> DataFrame:
    """Show the blocks of a state, absent ones left out: the columns `BLOCKS`. No job.

    Examples
    --------
    >>> from dyntc_spark.blocks.block_table import described
    >>> from dyntc_spark.blocks.rings import BOOLEAN
    >>> described(BOOLEAN.encode(BOOLEAN.from_coordinates(np.array([1]), np.array([2]), None, (200, 300))))
    ('sparse', 1)
    """
    if isinstance(state, LocalState):
        rows = (
            (name, *at, state.kinds[name].ring.encode(block))
            for name, found in state.blocks.items()
            for at, block in sorted(found.items())
        )
        return table_of(((name, bi, bj, payload) for name, bi, bj, payload in rows if payload is not None), spark)
    if isinstance(state, SparkState):
        frames = [
            kept.frame.where(f"{name} IS NOT NULL").select("bi", "bj", name).mapInArrow(_showing(name), BLOCKS)
            for kept in state.kept
            for name in state.kinds
            if name in kept.frame.columns
        ]
        return reduce(sql.DataFrame.unionAll, frames) if frames else table_of((), spark)
    raise OptionError("a state in this process or on Spark", type(state).__name__, "Move it first.")


def table_of(blocks: Iterable[tuple[str, int, int, bytes]], spark: SparkSession) -> DataFrame:
    """Show blocks that are in this process, each with its matrix and its place."""
    rows = [_row(name, bi, bj, payload) for name, bi, bj, payload in blocks]
    if not rows:  # Spark Connect refuses a table without rows
        return spark.createDataFrame([], BLOCKS)
    return spark.createDataFrame(pa.Table.from_pylist(rows, BLOCKS_TYPE))


def described(payload: bytes) -> tuple[str, int]:
    """Return how a block is stored, and how many entries it has that are not zero."""
    header = codec.read_header(payload)
    if header.codec == codec.SPARSE:
        return _CODECS[header.codec], header.nnz
    block = codec.decode(payload)
    if isinstance(block, Bits):
        return _CODECS[header.codec], bits.count(block.words)
    values = block.values
    return _CODECS[header.codec], values.shape[1] if isinstance(block, Sparse) else int(np.count_nonzero(values.any(0)))


def _row(name: str, bi: int, bj: int, payload: bytes) -> dict[str, Any]:
    form, nnz = described(payload)
    place = {"matrix": name, "bi": bi, "bj": bj}
    return {**place, "codec": form, "nnz": nnz, "bytes": len(payload), "payload": payload}


def _showing(name: str) -> Callable[[Batches], Batches]:
    """Make the task that shows the blocks of a matrix."""

    def task(batches: Batches) -> Batches:
        for batch in batches:
            columns = (batch.column(each).to_pylist() for each in ("bi", "bj", name))
            rows = [_row(name, bi, bj, payload) for bi, bj, payload in zip(*columns, strict=True)]
            yield pa.RecordBatch.from_pylist(rows, BLOCKS_TYPE)

    return task
