"""The main job: block matrices on a local Spark, and a closure that is kept up to date.

python -m dyntc_spark.demo
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from dyntc_spark import BlockMatrix, DynamicClosure, session
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.spark import SparkBackend

DEPENDENCIES = [
    ("shop", "django"),
    ("shop", "requests"),
    ("django", "sqlparse"),
    ("django", "asgiref"),
    ("requests", "urllib3"),
    ("requests", "certifi"),
    ("urllib3", "brotli"),
    ("reports", "pandas"),
    ("pandas", "numpy"),
]


def main() -> None:
    """Run both parts and print what they find."""
    spark = session.local()
    try:
        multiply(spark)
        keep_up_to_date(spark)
    finally:
        spark.stop()


def multiply(spark: SparkSession) -> None:
    """Count paths of two edges by squaring a matrix whose blocks are rows of a DataFrame."""
    _heading("A block matrix on Spark")
    edges = spark.createDataFrame([(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)], "row int, column int")
    a = BlockMatrix.from_entries(edges, (5, 5), COUNTING, size=2, backend=SparkBackend(spark))
    print(a)
    print("Its square: how many paths of two edges lead from row to column.")
    square = a.multiply(a).to_entries()
    for row, column, paths in zip(square.rows, square.columns, square.values, strict=True):
        print(f"  ({row}, {column}): {paths}")


def keep_up_to_date(spark: SparkSession) -> None:
    """Follow the dependencies of some packages while they change."""
    _heading("What depends on what")
    c = DynamicClosure.from_edges(DEPENDENCIES, spark=spark)
    c.create_views("deps")
    print(c)
    print("shop needs brotli:", c.reaches("shop", "brotli"))
    print("Why, in a shortest path:")
    _show(c.explain("shop", "brotli"))

    print("requests drops urllib3, and httpx comes in its place. Pairs that changed:")
    c.apply([("delete", "requests", "urllib3"), ("insert", "requests", "httpx"), ("insert", "httpx", "certifi")])
    _show(c.changes().orderBy("op", "src", "dst"))
    print("shop needs brotli:", c.reaches("shop", "brotli"))

    print("numpy starts to need reports, which closes a cycle. The most depended-upon, in SQL over the views:")
    c.insert([("numpy", "reports")])
    _show(
        spark.sql("""
            SELECT there.dst AS package, count(*) AS needed_by, count(back.src) AS and_needs_in_turn
            FROM deps_closure AS there
            LEFT JOIN deps_closure AS back ON back.src = there.dst AND back.dst = there.src
            GROUP BY package ORDER BY needed_by DESC, package LIMIT 5
        """)
    )


def _heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def _show(answer: DataFrame) -> None:
    """Print a small DataFrame with its columns lined up."""
    rows = [answer.columns, *([str(value) for value in row] for row in answer.collect())]
    widths = [max(len(row[place]) for row in rows) for place in range(len(answer.columns))]
    for row in rows:
        print("  " + "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
