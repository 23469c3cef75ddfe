"""Answers as Spark DataFrames, in the session that the user brought or in a local one."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import is_remote

from dyntc_spark import session
from dyntc_spark.graph.kinds import spark_type


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


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Make a DataFrame of an Arrow table; no job.

    Examples
    --------
    >>> from dyntc_spark import session
    >>> frame(session.local(), pa.table({"vertex": [3, 4]})).collect()
    [Row(vertex=3), Row(vertex=4)]
    """
    schema = ", ".join(f"`{field.name}` {spark_type(field.type)}" for field in table.schema)
    return spark.createDataFrame(table, schema) if table.num_rows else spark.createDataFrame([], schema)
