"""The blocks of a lazy matrix as a table that a user can look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dyntc_spark.blocks.exhibit import exhibit, exhibited
from dyntc_spark.matrices.lazy.layers import LayeredState
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def lazy_blocks(matrix: LazyMatrix, spark: SparkSession) -> DataFrame:
    """Show *Lazy* in stripes ``by_row`` and ``by_column``, and the buffers as blocks ``buf_j`` and ``buf_i``."""
    state, encode = matrix.state, matrix.ring.encode
    buffers = [
        (name, number, 0, payload)
        for number, pending in enumerate(matrix.pending)
        for name, lines in (("buf_j", pending.columns_j), ("buf_i", pending.rows_i))
        if lines.nnz and (payload := encode(lines))
    ]
    lazy = exhibit(state.flat if isinstance(state, LayeredState) else state, spark)
    return lazy.unionAll(exhibited(buffers, spark)) if buffers else lazy
