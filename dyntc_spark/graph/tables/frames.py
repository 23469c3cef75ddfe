"""Answers as Spark DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from dyntc_spark.graph.inputs.vertex_types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
