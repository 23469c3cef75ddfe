"""Runs of any engine: of one in lanes as they are, and of one that knows rows of vertices made of these.

An engine without lanes is taken for one whose stripes have one lane each: the number of a vertex is its component and
its stripe, and a run is a range of numbers that it reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.engines.abilities import InLanes, path_counts, rows_on_spark
from dyntc_spark.engines.algebraic.path_numbers import COUNT
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.lanes.runs import Layout
from dyntc_spark.graph.questions.structure import representatives
from dyntc_spark.graph.version import Graph
from dyntc_spark.kernels.ids import Indices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Lanes(NamedTuple):
    """Where vertices are in the runs: three parallel arrays."""

    component: Indices
    stripe: Indices
    lane: Indices


class Runs(Protocol):
    """The runs of a closure at one version."""

    @property
    def layout(self) -> Layout | None:
        """Return where vertices and stripes are; None where that never changes."""

    @property
    def strong(self) -> npt.NDArray[Any]:
        """Return a number of the strongly connected component that each vertex is in."""

    def lanes(self, numbers: Indices) -> Lanes:
        """Return where vertices are in the runs."""

    def frame(self, spark: SparkSession, *, look: bool) -> DataFrame | None:
        """Return the runs of a state on Spark; None when the state is in this process."""

    def table(self, stripes: Indices | None) -> pa.Table:
        """Return the runs of some stripes, or of all, out of this process."""


def runs_of(engine: Reachability, graph: Graph) -> Runs:
    """Return the runs of an engine that has the closure of a graph."""
    return RunsOfLanes(engine) if isinstance(engine, InLanes) else RunsOfRows(engine, graph)


class RunsOfLanes:
    """The runs of an engine in lanes."""

    def __init__(self, engine: InLanes) -> None:
        self._engine = engine
        self.layout = engine.layout()
        self.strong = self.layout.component

    def lanes(self, numbers: Indices) -> Lanes:
        """Return where vertices are in the runs."""
        component = self.layout.component[numbers].astype(np.int64)
        return Lanes(component, component // self.layout.width, component % self.layout.width)

    def frame(self, spark: SparkSession, *, look: bool) -> DataFrame | None:
        """Return the runs out of the blocks on Spark."""
        del spark, look  # Spark makes lost blocks of lanes again
        found = self._engine.runs()
        return None if found is None else found.selectExpr("*", "CAST(NULL AS DECIMAL(38, 0)) AS paths")

    def table(self, stripes: Indices | None) -> pa.Table:
        """Return the runs of some stripes, or of all."""
        found = self._engine.run_table(stripes)
        return found.append_column("paths", pa.nulls(found.num_rows, COUNT))


class RunsOfRows:
    """The rows of vertices of an engine without lanes, as runs; single numbers where paths are counted."""

    layout = None

    def __init__(self, engine: Reachability, graph: Graph) -> None:
        self._engine, self._used = engine, graph.vertices.used
        self.strong = representatives(graph.edges, graph.vertices.extent)

    def lanes(self, numbers: Indices) -> Lanes:
        """Return where vertices are in the runs."""
        return Lanes(numbers, numbers, np.zeros(len(numbers), np.int64))

    def frame(self, spark: SparkSession, *, look: bool) -> DataFrame | None:
        """Return the runs out of the rows on Spark, one for each number that is reached."""
        rows = rows_on_spark(self._engine, spark, look=look)
        if rows is None:
            return None
        paths = "get(paths, place)" if "paths" in rows.columns else "NULL"
        each = rows.selectExpr("*", "posexplode(reached) AS (place, other)").where("number <> other")
        return each.selectExpr(
            "number AS stripe",
            "other AS first",
            "other AS last",
            "1L AS word",
            f"CAST({paths} AS DECIMAL(38, 0)) AS paths",
        )

    def table(self, stripes: Indices | None) -> pa.Table:
        """Return the runs of some vertices, or of all."""
        every = self._engine.descendants(self._used if stripes is None else np.intersect1d(stripes, self._used))
        apart = every.sources != every.targets
        pairs = every.where(apart)
        counts = path_counts(self._engine, pairs)
        begins = np.ones(len(pairs), np.bool_)
        if counts is None:
            begins[1:] = (np.diff(pairs.sources) != 0) | (np.diff(pairs.targets) != 1)
        firsts = np.flatnonzero(begins)
        lasts = np.append(firsts[1:], len(pairs))[: len(firsts)] - 1
        return pa.table(
            {
                "stripe": pa.array(pairs.sources[firsts], pa.int32()),
                "first": pa.array(pairs.targets[firsts], pa.int32()),
                "last": pa.array(pairs.targets[lasts], pa.int32()),
                "word": pa.array(np.ones(len(firsts), np.int64)),
                "paths": pa.nulls(len(firsts), COUNT) if counts is None else counts,
            }
        )
