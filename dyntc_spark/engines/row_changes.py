"""Rows of two closures compared by Spark: a join by the number of their vertex.

It takes both rows of every vertex through a shuffle, four bytes a pair. So it is what remains where nothing smaller can
be compared: ``lanes`` compares words (``lanes.changes``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


#: Pairs that differ: the numbers of their vertices, and whether they are new or gone.
CHANGED = "src int, dst int, won boolean"


def nothing_changed(spark: SparkSession) -> DataFrame:
    """Return no pairs: the columns `CHANGED`."""
    return spark.createDataFrame([], CHANGED)


def rows_compared(before: DataFrame, after: DataFrame) -> DataFrame:
    """Return the pairs that only one of the two closures has: the columns `CHANGED`. No job.

    Parameters
    ----------
    before, after
        Both closures as `RowsOnSpark.rows` gives them: ``number`` and ``reached``. A vertex that one of them does not
        have reaches itself only.

    Examples
    --------
    >>> from dyntc_spark import session
    >>> rows = session.local().createDataFrame([(0, [0, 1]), (1, [1])], "number int, reached array<int>")
    >>> others = rows.selectExpr("number", "IF(number = 0, array(0), array(0, 1)) AS reached")
    >>> sorted(map(tuple, rows_compared(rows, others).collect()))
    [(0, 1, False), (1, 0, True)]
    """
    were = before.select("number", F.col("reached").alias("were"))
    are = after.select("number", F.col("reached").alias("are"))
    both = were.join(are, "number", "full").selectExpr(
        "number", "coalesce(were, array(number)) AS were", "coalesce(are, array(number)) AS are"
    )
    sides = both.where("were <> are").selectExpr(
        "number AS src",
        "inline(array(struct(array_except(are, were) AS ends, true AS won),"
        " struct(array_except(were, are) AS ends, false AS won)))",
    )
    return sides.selectExpr("src", "explode(ends) AS dst", "won")
