"""Answers as Spark DataFrames, in the session that the user brought or in a local one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import is_remote

from dyntc_spark import session
from dyntc_spark.closure.engine import Edges


def session_for(given: SparkSession | None) -> SparkSession:
    """Give the session to answer in: the ``given`` one, else the active one, else a local one that is started now."""
    if given is not None:
        session.ensure_open(given)
        return given
    if not is_remote():
        return session.local()
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return SparkSession.builder.getOrCreate()  # where SPARK_REMOTE says


def frame(spark: SparkSession, columns: dict[str, pa.Array]) -> DataFrame:
    """Make a DataFrame of Arrow columns; no job.

    Examples
    --------
    >>> from dyntc_spark import session
    >>> frame(session.local(), {"vertex": pa.array([3, 4])}).collect()
    [Row(vertex=3), Row(vertex=4)]
    """
    table = pa.table(columns)
    schema = ", ".join(f"`{name}` {_spark_type(column.type)}" for name, column in columns.items())
    return spark.createDataFrame(table, schema) if table.num_rows else spark.createDataFrame([], schema)


def _spark_type(kind: pa.DataType) -> str:
    """Give Spark's name of a type; left to itself, Spark reads a time stamp without zone as one of the session's zone.

    Examples
    --------
    >>> _spark_type(pa.list_(pa.int32())), _spark_type(pa.timestamp("us")), _spark_type(pa.decimal128(38, 2))
    ('array<int>', 'timestamp_ntz', 'decimal(38,2)')
    """
    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{_spark_type(kind.key_type)},{_spark_type(kind.item_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _SPARK_TYPES[kind]


_SPARK_TYPES = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
}


def numbered(names: pa.Array) -> dict[str, pa.Array]:
    """Give vertices as columns ``number`` and ``vertex``."""
    return {"number": pa.array(np.arange(len(names), dtype=np.int32)), "vertex": names}


def closure_rows(names: pa.Array, pairs: Edges) -> dict[str, pa.Array]:
    """Give a closure as columns ``number``, ``vertex`` and the array ``reached`` of the numbers that a vertex reaches.

    Four bytes a pair go to Spark instead of two names; Spark joins these again.
    """
    ends = np.searchsorted(pairs.sources, np.arange(len(names) + 1)).astype(np.int32)
    reached = pa.ListArray.from_arrays(pa.array(ends), pa.array(pairs.targets.astype(np.int32)))
    return {**numbered(names), "reached": reached}
