"""The SQL views of a closure, kept at the version that is current."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dyntc_spark import session
from dyntc_spark.engines.abilities import CountsPaths, InLanes, rows_on_spark
from dyntc_spark.errors import SessionError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.tables.relations import Touched
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.graph.tables.statistics import statistics
from dyntc_spark.graph.tables.views import Views
from dyntc_spark.lazy_pyspark import spark_errors
from dyntc_spark.progress import progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DETAILS = pa.map_(pa.string(), pa.string())


class CurrentViews:
    """The views of a closure in all sessions; a batch brings them to its version."""

    def __init__(self, door: Door, tables: SessionTables) -> None:
        self._door, self._tables = door, tables
        self.shown: list[Views] = []
        door.rebuilt = _weakly(self.show)

    def create_views(self, prefix: str) -> None:
        """Create the temporary views ``<prefix>_edges``, ``_vertices``, ``_closure`` and so on: the files of ``sql/``.

        The functions ``<prefix>_descendants(v)``, ``_ancestors(v)``, ``_path(a, b)``, ``_what_if(changes)`` and so on,
        the files of ``sql/functions/``, are made where the session allows it. All see every later batch, which
        hands to Spark the vertices and the stripes of the closure that it changed.
        """
        views = Views(self._tables.session, prefix)
        with self._door.changing() as now, progress("creating views", 1):
            views.register(self._relations(views.spark, None), now.graph.vertices, now.number)
            replaced = [old for old in self.shown if (old.spark, old.prefix) == (views.spark, prefix)]
            self.shown = [old for old in self.shown if old not in replaced] + [views]
            for old in replaced:
                old.drop_hidden()

    def show(self, touched: Touched | None = None) -> None:
        """Let the views see what a batch touched, by default perhaps everything; those that are gone are forgotten."""
        self.shown = [views for views in self.shown if session.is_open(views.spark)]
        if self.shown and touched is not None:
            touched = self._with_rows(touched)
        failures = []
        for views in list(self.shown):
            try:
                relations, now = self._relations(views.spark, touched), self._door.now
                views.refresh(relations, now.graph.vertices, now.number)
            except spark_errors.PySparkException as error:  # noqa: PERF203  (the others are brought up to date)
                failures.append((views.prefix, error))
                self.shown = [other for other in self.shown if other is not views]
        for prefix, failure in failures[:1]:
            raise SessionError(
                f"a session that brings the views {prefix}_* up to date",
                f"{type(failure).__name__}: {failure}",
                "The batch itself is done. The views stay at one version, all of them; create them again.",
            ) from failure

    def forget(self) -> None:
        """Let the views stay as they are from now on."""
        self.shown = []

    def _with_rows(self, touched: Touched) -> Touched:
        """Add the rows that a batch changed: of what is reached, and of numbers of paths where these are counted.

        Runs of lanes are compared as they are, and rows that are on Spark are not sent there.
        """
        if isinstance(self._door.engine.current, InLanes):
            return touched
        on_spark = self._door.now.backend == "spark"
        if on_spark and self._door.ask(lambda _, closure: rows_on_spark(closure, self._tables.session) is not None):
            return touched
        rows = [touched.rows, self._door.difference()[1].rows]
        if isinstance(self._door.engine.current, CountsPaths):
            rows.append(self._door.ask(lambda _, closure: closure.ancestors(np.unique(touched.vertices))).sources)
        return Touched(touched.vertices, np.unique(np.concatenate(rows)))

    def _relations(self, spark: SparkSession, touched: Touched | None) -> dict[str, DataFrame]:
        """Return what the statements in ``sql/`` are about."""
        relations, stats = self._tables.relations(spark), statistics(self._door, self._tables)
        details = pa.array([[(key, str(value)) for key, value in stats.pop("details").items()]], _DETAILS)
        columns = {key: pa.array([value]) for key, value in stats.items()}
        tables = self._door.ask(
            lambda version, closure: relations.tables(version, closure, touched, look=touched is None)
        )
        version, changed = self._door.changed(spark, look=touched is None)
        if changed is None:
            changes = self._tables.framed(spark).changes()
        else:
            changes = changed.named(version.number, tables.vertices if changed.graph is version.graph else None)
        return {
            "vertices": tables.vertices,
            "runs": tables.runs,
            "changes": changes,
            "stats": frame(spark, pa.table({**columns, "details": details})),
        }


def _weakly(method: Callable[[], None]) -> Callable[[], None]:
    """Return a call of a method that keeps no reference to its object, so that a closure is freed with its last one."""
    known = weakref.WeakMethod(method)

    def call() -> None:
        found = known()
        if found is not None:
            found()

    return call
