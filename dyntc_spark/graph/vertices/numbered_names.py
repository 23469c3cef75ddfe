"""Names that get numbers on Spark, and keep them when Spark loses blocks.

A number has to stay with its name, also where Spark works a lost part of the DataFrame out again. Numbers that Spark
gives in passing, such as ``monotonically_increasing_id`` over a shuffle, do not stay: the order of the rows behind a
shuffle depends on which task was first. So a number here is a function of the set of names, and of nothing else:

- A name belongs to one of `GROUPS` groups, by a hash of the name alone, however many partitions there are.
- In its group it has a place, by the order of the names. Names are different, so the order is one, and so is the place.
- The number is the place, plus how many names are in the groups before. These counts are collected once (numbers, not
  names) and are a part of the plan from then on.

For this the names have to be the same when they are worked out again. That is up to whoever gave the DataFrame: its
table may be another by then. So the plan also has a checksum of each group (the exclusive or of a second hash), and
compares size and checksum whenever it works a group out. Either the names are those that were numbered, and then their
numbers are the same, or the job fails with a message that says so. A wrong name is never answered.

What is kept on Spark does not have the DataFrame of the user in its plan: Spark drops what it has cached of a table
when that is written to, and a Spark Connect server looks tables up whenever a plan is used. So it is a checkpoint
(``blocks.lineage``). What an executor took with it is made again here, with the counts and checksums of the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.columns import with_no_reports
from dyntc_spark.blocks.lineage import Kept, looking
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import MOST_VERTICES
from dyntc_spark.errors import IndexOutsideError, NullEndpointError, SessionError
from dyntc_spark.graph.inputs.spark_columns import quoted
from dyntc_spark.graph.inputs.vertex_types import spark_type
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: How many groups names are numbered in.
GROUPS = 1024
#: What is known of a group, and how it is worked out.
_TOLD = {"many": "count(*)", "mark": "bit_xor(second)"}
_OTHER_NAMES = "names that differ from those that were numbered"


class Names(Protocol):
    """Names with numbers on Spark."""

    @property
    def frame(self) -> DataFrame:
        """The columns ``vertex`` and ``number``."""

    def look(self) -> None:
        """Raise ``LostBlocksError`` where Spark has lost some: one small job."""

    def restore(self) -> None:
        """Have all of them on Spark again."""


class SentNames:
    """Names that are in this process, too."""

    def __init__(self, spark: SparkSession, table: pa.Table) -> None:
        self.table = table
        self.frame = frame(spark, table)

    def look(self) -> None:
        """Know that they are there: the plan has them."""

    def restore(self) -> None:
        """Do nothing, for the same reason."""


class KeptNames:
    """Names that Spark keeps.

    Parameters
    ----------
    backend
        Where.
    make
        Gives the DataFrame ``vertex``, ``number``; when some are lost, once more.
    needs
        The names that ``make`` reads.
    """

    def __init__(self, backend: SparkBackend, make: Callable[[], DataFrame], needs: tuple[Names, ...] = ()) -> None:
        self._backend, self._make, self._needs = backend, make, needs
        self._kept = self._keep(make())

    @property
    def frame(self) -> DataFrame:
        """The columns ``vertex`` and ``number``."""
        return self._kept.frame

    def look(self) -> None:
        """Raise ``LostBlocksError`` where Spark has lost some: one small job."""
        self._backend.collect("look for names", looking([self._kept]))

    def restore(self) -> None:
        """Make all of them again, or raise an error where they are others now."""
        for each in self._needs:
            each.restore()
        try:
            self._kept = self._keep(self._make())
        except SessionError as error:
            raise SessionError(
                "the names that the vertices were numbered by, since Spark has lost some of them",
                error.came,
                "The DataFrame that they came from gives others now. Build the closure again with from_edges.",
            ) from error

    def _keep(self, names: DataFrame) -> Kept:
        return self._backend.keep("names of vertices", with_no_reports(names), {})[0]


def lacking(value: str, kind: pa.DataType) -> str:
    """Return the condition that a vertex is null, or lacks a part; NaN names nothing.

    Examples
    --------
    >>> lacking("src", pa.struct([("a", pa.string()), ("b", pa.list_(pa.float64()))]))
    '(src IS NULL OR (src.`a` IS NULL) OR (src.`b` IS NULL OR exists(src.`b`, e -> (e IS NULL OR isnan(e)))))'
    """
    found = [f"{value} IS NULL"]
    if pa.types.is_struct(kind):
        found += [lacking(f"{value}.{quoted(field.name)}", field.type) for field in kind]
    elif pa.types.is_list(kind):
        found.append(f"exists({value}, e -> {lacking('e', kind.value_type)})")
    elif pa.types.is_floating(kind):
        found.append(f"isnan({value})")
    return f"({' OR '.join(found)})"


def canonical_column(name: str, kind: pa.DataType) -> Column:
    """Return a column of vertices in the one type of their kind."""
    found = F.col(quoted(name)).cast(spark_type(kind))
    return found + F.lit(0.0) if pa.types.is_floating(kind) else found  # 0.0 is -0.0


def numbered(
    backend: SparkBackend, names: Callable[[], DataFrame], first: int, needs: tuple[Names, ...] = ()
) -> tuple[KeptNames | None, int]:
    """Number different names, the column ``vertex``, from ``first`` on: two jobs.

    Return ``vertex`` and ``number`` as they are kept, None where there are none, and how many there are. ``needs``:
    what ``names`` reads.
    """
    sums = _grouped(names()).groupBy("bucket").agg(*(F.expr(f"{how} AS {name}") for name, how in _TOLD.items()))
    counts = backend.collect("count names", sums).sort_by("bucket")
    many = counts.column("many").to_numpy()
    total = int(many.sum())
    if first + total > MOST_VERTICES:
        raise IndexOutsideError(f"at most {MOST_VERTICES} vertices", f"{first + total}", "Cut the graph into parts.")
    expected = counts.append_column("offset", pa.array(first + np.cumsum(many) - many))
    expected = expected.rename_columns(["bucket", "known_many", "known_mark", "offset"])

    def make() -> DataFrame:
        placed = _grouped(names()).selectExpr(
            "*",
            "row_number() OVER (PARTITION BY bucket ORDER BY vertex) AS place",
            *(f"{how} OVER (PARTITION BY bucket) AS {name}" for name, how in _TOLD.items()),
        )
        found = placed.join(frame(placed.sparkSession, expected), "bucket", "full")  # full: a group may be missing
        same = "many = known_many AND mark = known_mark"
        number = f"CASE WHEN {same} THEN CAST(offset + place - 1 AS INT) ELSE raise_error('{_OTHER_NAMES}') END"
        return found.selectExpr("vertex", f"{number} AS number")

    return (KeptNames(backend, make, needs) if total else None), total


def _grouped(names: DataFrame) -> DataFrame:
    """Return names with their group, and with a second hash."""
    return names.select(
        "vertex",
        F.expr(f"CAST(pmod(xxhash64(vertex), {GROUPS}) AS INT)").alias("bucket"),
        F.expr("xxhash64(vertex, 1)").alias("second"),
    )


def checked(backend: SparkBackend, rows: DataFrame, kind: pa.DataType) -> int:
    """Return how many rows there are; refuse those that lack a vertex."""
    names = [name for name in rows.columns if name in {"src", "dst", "vertex"}]
    lost = [f"count_if({lacking(name, kind)}) AS {name}" for name in names]
    found = backend.collect("count rows", rows.selectExpr("count(*) AS many", *lost)).to_pylist()[0]
    for name in names:
        if found[name]:
            raise NullEndpointError(
                f"a vertex in every row of column {name!r}", f"null in {found[name]} rows", "Drop or repair these rows."
            )
    return int(found["many"])
