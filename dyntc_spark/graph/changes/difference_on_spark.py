"""What a version changed, where the closure is on Spark: a DataFrame, worked out when it is read.

The engine compares its state before and after the batch, where it remembers both. Else the closure before is
built again, on Spark, and the rows of both are compared there. Pairs are numbers until a join names them. None of
them comes to this process, unless somebody asks for `DifferenceOnSpark.collected`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.workers import REPORT, REPORT_TYPE, Batches
from dyntc_spark.edges import Edges
from dyntc_spark.engines.abilities import changes_on_spark, rows_on_spark
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.row_changes import CHANGED, nothing_changed, rows_compared
from dyntc_spark.errors import OptionError
from dyntc_spark.graph.inputs.read import DELETE, INSERT
from dyntc_spark.graph.store.stored_types import to_storage
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.version import Difference, Graph, renumbered
from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WON, _LOST = 0, 1  # reports of a task: how many pairs
_COLUMNS = ["src", "dst", "won", "reports"]


class StoredDifference(NamedTuple):
    """Rows that are to be stored, and how many pairs they are."""

    rows: DataFrame  #: ``version``, ``op``, ``src``, ``dst``
    won: int
    lost: int
    hold: object  #: what keeps the rows on Spark


@dataclass(frozen=True)
class DifferenceOnSpark:
    """Pairs that became reachable or unreachable: ``src``, ``dst`` and ``won``, by the numbers of a graph."""

    graph: Graph
    numbers: DataFrame
    hold: object = None  #: what has to stay for the DataFrame to be read without being built again

    @classmethod
    def between(
        cls, before: Graph, after: Graph, closure: Reachability, spark: SparkSession, *, look: bool = False
    ) -> DifferenceOnSpark | None:
        """Compare two versions, where ``closure`` is that of ``after``; None where it is in this process.

        With ``look``, one small job looks first whether Spark has the blocks to compare.
        """
        if closure.backend != "spark":
            return None
        known = cls.remembered(before, after, closure, spark, look=look)
        if known is not None:
            return known
        if before.origin is not after.origin:
            before, after = renumbered(before, after)
        rows = rows_on_spark(closure, spark, look=look)
        if rows is None:
            raise OptionError(
                "an engine that can say on Spark what its last batch changed",
                f"the engine {closure.name!r}",
                "Call in_process() first, or use the engine 'lanes'.",
            )
        old = Lanes(SparkBackend(rows.sparkSession))
        old.init(before.edges.edges, max(after.vertices.extent, closure.vertices))
        found = old.rows(spark)
        return cls(after, rows_compared(found, rows) if found is not None else nothing_changed(spark), old)

    @classmethod
    def remembered(
        cls, before: Graph, after: Graph, closure: Reachability, spark: SparkSession, *, look: bool = False
    ) -> DifferenceOnSpark | None:
        """Compare two versions if nothing has to be built for it; else return None."""
        if before.origin is not after.origin:
            return None
        if before.edges is after.edges:
            return cls(after, nothing_changed(spark))
        found = changes_on_spark(closure, spark, look=look)
        return None if found is None else cls(after, found)

    def named(self, version: int, names: DataFrame | None = None) -> DataFrame:
        """Return ``src``, ``dst``, ``op``, ``version``; no job. ``names``: ``number`` and ``vertex`` of the graph."""
        if names is None:
            names = self.graph.vertices.frame(self.numbers.sparkSession)
        ends = [names.selectExpr(f"number AS {end}", f"vertex AS {end}_name") for end in ("src", "dst")]
        return (
            self.numbers.join(ends[0], "src")
            .join(ends[1], "dst")
            .select(
                F.col("src_name").alias("src"),
                F.col("dst_name").alias("dst"),
                F.when(F.col("won"), INSERT).otherwise(DELETE).alias("op"),
                F.lit(version).cast("bigint").alias("version"),
            )
        )

    def stored(self, version: int) -> StoredDifference:
        """Work the pairs out, once, and return the rows to store: one job."""
        backend = SparkBackend(self.numbers.sparkSession)
        told = self.numbers.mapInArrow(_counting, f"{CHANGED}, reports {REPORT}")
        kept, reports = backend.keep("changes", told, {})
        every = [each for row in reports.column("reports").to_pylist() for each in row]
        won, lost = (sum(each["key"] for each in every if each["operation"] == side) for side in (_WON, _LOST))
        found = DifferenceOnSpark(self.graph, kept.frame.where("src IS NOT NULL"))
        vertices = self.graph.vertices
        names = self._names(to_storage(vertices.names(vertices.used)))
        return StoredDifference(found.named(version, names).select("version", "op", "src", "dst"), won, lost, kept.hold)

    def collected(self) -> Difference:
        """Bring the pairs into this process: one job."""
        backend = SparkBackend(self.numbers.sparkSession)
        table = backend.collect("changes", self.numbers.orderBy("src", "dst"))
        won = table.column("won").to_numpy()
        pairs = [table.column(end).to_numpy().astype(np.int64) for end in ("src", "dst")]
        return Difference(self.graph, *(Edges(pairs[0][which], pairs[1][which]) for which in (won, ~won)))

    def _names(self, names: pa.Array) -> DataFrame:
        numbers = pa.array(self.graph.vertices.used.astype(np.int32))
        return frame(self.numbers.sparkSession, pa.table({"number": numbers, "vertex": names}))


def difference_between(
    before: Graph, after: Graph, closure: Reachability, session: Callable[[], SparkSession]
) -> DifferenceOnSpark | Difference:
    """Compare two versions, where ``closure`` is that of ``after``, on Spark or in this process as it is."""
    found = None
    if closure.backend == "spark" and before.edges is not after.edges:
        found = DifferenceOnSpark.between(before, after, closure, session())
    return found or Difference.between(before, after, closure)


def _counting(batches: Batches) -> Batches:
    """Yield pairs as they are, and behind them how many are new and how many are gone."""
    won = total = 0
    for batch in batches:
        won += batch.column("won").true_count
        total += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, pa.nulls(batch.num_rows, REPORT_TYPE)], names=_COLUMNS)
    counts = ((_WON, won), (_LOST, total - won))
    reports = [{"operation": what, "key": count, "payload": None} for what, count in counts]
    nothing = [pa.nulls(1, kind) for kind in (pa.int32(), pa.int32(), pa.bool_())]
    arrays = [*nothing, pa.array([reports], REPORT_TYPE)]
    yield pa.RecordBatch.from_arrays(arrays, names=_COLUMNS)
