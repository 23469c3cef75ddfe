"""Lineage: how the blocks of a state are materialised, and how those of old states are released.

Spark describes a DataFrame by the plan that computes it. A state that grew out
of two hundred updates must neither carry two hundred updates in its plan nor
keep two hundred copies of its blocks. Three strategies:

``local_checkpoint``
    Blocks stay in the executors, in memory and then on their disks; the plan is
    cut. The write and the report to the driver are one job; on Spark Connect
    the report is a small job of its own (counted with the write), because the
    server cuts no plan when it answers a query.

    Where the plan is short and stays short (``persist``) it is not cut. Blocks are
    persisted, and unpersisted as soon as no state uses them. When an executor is lost,
    Spark works out the partitions that it held, and no others, by the plan. A DataFrame
    that was made of an old state is still right for the same reason.

    What is derived from an older state again and again (``keep``) is a checkpoint, so
    that its plan does not contain that of the older one. What an executor held is gone
    with it, and a ``LostBlocksError`` says so. No call of the DataFrame API releases a
    checkpoint: its blocks go when the JVM of the driver collects the object that stands
    for it, which it can as soon as no state uses it. Until then Spark moves them to
    disk where it needs the memory.
``parquet``, ``delta``
    Blocks are written to a managed table of the session's catalog (or of
    ``schema``) and read back. It works where nothing may be cached
    (serverless) and survives the loss of executors. A report costs a second
    job. The table of an old state is dropped as soon as no state uses it, or on
    ``close``.

Nothing here needs more than the DataFrame API.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from dyntc_spark.blocks.releases import releases
from dyntc_spark.errors import SetupError
from dyntc_spark.lazy_pyspark import F, pyspark_module, sql
from dyntc_spark.session import ensure_open, is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Materialisation: TypeAlias = Literal["local_checkpoint", "parquet", "delta"]
#: Runs an action that starts a job, under a description.
RunAction: TypeAlias = Callable[[str, Callable[[], Any]], Any]


@dataclass(frozen=True)
class Kept:
    """Blocks that are materialised: they last as long as ``hold`` does, which every frame made of them must carry."""

    frame: DataFrame
    hold: object

    def derived(self, frame: DataFrame) -> Kept:
        """Return another view of the same blocks."""
        return Kept(frame, self.hold)


class Lineage(ABC):
    """A way to keep the blocks of a state."""

    @abstractmethod
    def keep(self, frame: DataFrame, description: str, run: RunAction) -> tuple[Kept, pa.Table]:
        """Materialise ``frame``, cut it off from its plan, and return its column ``reports`` (where not null) apart."""

    @abstractmethod
    def persist(self, frame: DataFrame, description: str, run: RunAction) -> tuple[Kept, pa.Table]:
        """Materialise ``frame`` as `keep` does, but keep its plan, if Spark needs it to make good a loss."""

    @abstractmethod
    def close(self) -> None:
        """Release everything that was kept."""


class LocalCheckpoint(Lineage):
    """Blocks in the executors' own storage."""

    def keep(self, frame: DataFrame, description: str, run: RunAction) -> tuple[Kept, pa.Table]:
        """Mark the plan for a checkpoint and let the report's job fill it."""

        def fill() -> tuple[DataFrame, pa.Table]:
            # Under adaptive execution, shuffles run here already. A query of Spark Connect would fill a lazy
            # checkpoint and leave its lineage as it is: after some 150 updates the JVM's stack overflows.
            kept = frame.localCheckpoint(eager=is_connect(frame.sparkSession))
            return kept, _reports(kept)

        kept, found = run(description, fill)
        classic = not is_connect(frame.sparkSession)
        releases.when_gone(kept, lambda: classic)
        return Kept(kept.drop("reports"), kept), found

    def persist(self, frame: DataFrame, description: str, run: RunAction) -> tuple[Kept, pa.Table]:
        """Persist the frame, and let the report's job fill it."""
        classic = not is_connect(frame.sparkSession)
        # Two frames with the same plan would be one in Spark's cache, and gone when one of them is released.
        own = F.lit(uuid.uuid4().hex).isNotNull()

        def fill() -> tuple[DataFrame, pa.Table]:
            made = frame.where(own).persist(pyspark_module("pyspark").StorageLevel.MEMORY_AND_DISK)
            try:
                return made, _reports(made)
            except BaseException:
                made.unpersist()
                raise

        made, found = run(description, fill)

        def release() -> bool:
            ensure_open(made.sparkSession)
            made.unpersist()
            return classic

        hold = _Hold()
        releases.when_gone(hold, release)
        return Kept(made.drop("reports"), hold), found

    def close(self) -> None:
        """Do nothing: the blocks go with the states that use them."""


class _Hold:
    """What every state that uses the same blocks refers to."""


class ManagedTable(Lineage):
    """Blocks in tables of the catalog that come and go with the states."""

    def __init__(self, spark: SparkSession, form: Literal["parquet", "delta"], schema: str | None = None) -> None:
        self._spark = spark
        self._form = form
        self._prefix = f"{_quoted(schema)}." if schema else ""
        self._tables: set[str] = set()

    def keep(self, frame: DataFrame, description: str, run: RunAction) -> tuple[Kept, pa.Table]:
        """Write a new table, and read the reports back from it if there are any."""
        table = f"{self._prefix}dyntc_{uuid.uuid4().hex}"
        self._tables.add(table)

        try:
            run(f"{description}: write", lambda: frame.write.format(self._form).saveAsTable(table))
            kept = self._spark.table(table)
            found = run(f"{description}: report", lambda: _reports(kept))
        except BaseException:
            self._drop(table)
            raise
        releases.when_gone(kept, lambda: self._release(table))
        return Kept(kept.drop("reports"), kept), found

    def persist(self, frame: DataFrame, description: str, run: RunAction) -> tuple[Kept, pa.Table]:
        """Write a new table."""
        return self.keep(frame, description, run)

    def close(self) -> None:
        """Drop every table that is left."""
        if self._tables:
            ensure_open(self._spark)
        for table in list(self._tables):
            self._drop(table)

    def _release(self, table: str) -> bool:
        if table in self._tables:
            ensure_open(self._spark)
            self._drop(table)
        return False

    def _drop(self, table: str) -> None:
        self._spark.sql(f"DROP TABLE IF EXISTS {table}")
        self._tables.discard(table)


def lineage(spark: SparkSession, strategy: Materialisation, schema: str | None = None) -> Lineage:
    """Return the strategy of that name."""
    if strategy == "local_checkpoint":
        return LocalCheckpoint()
    if strategy in {"parquet", "delta"}:
        return ManagedTable(spark, strategy, schema)
    raise SetupError(
        "one of 'local_checkpoint', 'parquet', 'delta'", f"{strategy!r}", "Choose how blocks are materialised."
    )


def looking(kept: Iterable[Kept]) -> DataFrame:
    """Return a DataFrame without rows, to work out which takes every partition of these blocks, and moves none.

    Blocks of a local checkpoint go with their executor, and only a job that reads them finds out.
    """
    nothing = F.spark_partition_id() < 0  # which Spark does not know beforehand
    return reduce(sql.DataFrame.unionAll, (each.frame.where(nothing).select(F.lit(0).alias("found")) for each in kept))


def _reports(kept: DataFrame) -> pa.Table:
    """Return what tasks reported. Nulls are dropped here: a filter would be one more plan for Spark to analyse."""
    return kept.select("reports").toArrow().drop_null()


def _quoted(name: str) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in name.split("."))
