"""What the statements in ``sql/`` are about: a graph and its closure as two tables of a Spark session.

``vertices`` has a row for each vertex: its number, its name, the numbers that its edges lead to, and where it is in the
closure, that is its component and the stripe and the lane of this; ``strong`` is a number of its strongly connected
component, which an engine without lanes does not call so. ``runs`` is the closure (``kernels.lanes.runs``):
the components ``first`` to ``last`` are reached by the lanes of a stripe whose bits are in ``word``. So the pairs are

    vertices AS s JOIN runs AS r ON r.stripe = s.stripe AND <bit s.lane of r.word>
    JOIN vertices AS d ON d.component BETWEEN r.first AND r.last

A closure in this process sends both tables once. Later it sends the vertices and the stripes that are others than
before; these lie above the first ones until there are so many that everything is sent again. A closure whose state
is on Spark sends its vertices only, and its runs are read out of the blocks where these are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.abilities import CountsPaths
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.lanes.runs import Layout, moved
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.tables.runs import Runs, runs_of
from dyntc_spark.graph.version import Graph, Version
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: A table is sent again when a quarter of it lies above it, and at least this many bytes.
MOST_ABOVE = 0.25
LEAST_ABOVE = 1 << 16

_NOTHING: Indices = np.zeros(0, np.int64)

#: Gives the rows of a table that have some keys; None: all rows.
Content = Callable[[Indices | None], pa.Table]


@dataclass(frozen=True, slots=True)
class Touched:
    """The vertices at which batches changed something, some perhaps twice; those that are new or gone are in both."""

    vertices: Indices  #: whose names or successors are others
    rows: Indices  #: that reach others, or by other numbers of paths


class Tables(NamedTuple):
    """A graph and its closure as tables, which stay as they are when the closure changes."""

    vertices: DataFrame
    runs: DataFrame
    kind: pa.DataType  #: of the vertices
    has_vertices: bool  #: else any type may name them
    counted: bool  #: whether the engine counts paths
    of_tasks: bool  #: whether tasks make the runs, so that Spark does not know how many there are
    wide: bool  #: whether there may be too many vertices to broadcast


class SentTable:
    """A table in one session: what was sent once, and above it the keys whose rows have changed since."""

    def __init__(self, spark: SparkSession, key: str) -> None:
        self._spark = spark
        self._key = key
        self._base: DataFrame | None = None
        self._bytes = 0
        self._schema = pa.schema([])
        self._above: Indices = _NOTHING

    def frame(self, content: Content, touched: Indices | None) -> DataFrame:
        """Return the table, in which ``touched`` keys have other rows than at the last call; None: all of them."""
        if self._base is None or touched is None:
            return self._sent(content(None))
        self._above = np.union1d(self._above, touched)
        if not len(self._above):
            return self._base
        table = content(self._above)
        if table.nbytes > max(LEAST_ABOVE, MOST_ABOVE * self._bytes) or table.schema != self._schema:
            return self._sent(content(None))
        keys = frame(self._spark, pa.table({self._key: pa.array(self._above, pa.int32())}))
        kept = self._base.join(F.broadcast(keys), self._key, "left_anti").select(*table.column_names)
        return kept.unionByName(frame(self._spark, table))

    def _sent(self, table: pa.Table) -> DataFrame:
        self._bytes, self._schema, self._above = table.nbytes, table.schema, _NOTHING
        self._base = frame(self._spark, table)
        return self._base


class Relations:
    """The tables of one closure in one session, whichever versions are asked for in whichever order."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._vertices = SentTable(spark, "number")
        self._runs = SentTable(spark, "stripe")
        self._graph: Graph | None = None  # that the tables are about
        self._strong: npt.NDArray[Any] | None = None  # the components that the vertices were sent with
        self._sent: Layout | None = None  # that the runs were sent with
        self._lock = threading.Lock()

    def tables(
        self, version: Version, engine: Reachability, touched: Touched | None = None, *, look: bool = True
    ) -> Tables:
        """Return the tables of a version.

        What differs from the last call is found by comparing the two versions. ``touched`` says it for the
        batch that made this version; without it more is sent. With ``look`` one job looks first whether Spark has
        the blocks of a state that is there.
        """
        with self._lock:
            graph = version.graph
            found = runs_of(engine, graph)
            told = touched if version.before is self._graph and touched is not None else None
            same = graph is self._graph
            self._graph = None  # until all is sent
            vertices = self._vertices.frame(
                lambda numbers: vertex_table(graph, found, numbers),
                self._moved(found, _NOTHING if same else None if told is None else told.vertices),
            )
            runs = found.frame(self.spark, look=look)
            of_tasks = runs is not None
            if runs is None:
                altered = _NOTHING if same else None if told is None else told.rows
                runs = self._runs.frame(found.table, self._altered(found, altered))
                self._sent = found.layout
            else:
                self._runs, self._sent = SentTable(self.spark, "stripe"), None
            self._graph, self._strong = graph, found.strong
            table, counted = graph.vertices, isinstance(engine, CountsPaths)
            vertices = table.completed(vertices)
            return Tables(vertices, runs, table.kind, len(table) > 0, counted, of_tasks, table.on_spark)

    def _moved(self, runs: Runs, touched: Indices | None) -> Indices | None:
        """Add to the touched vertices those that are in another component than when they were sent."""
        if touched is None or self._strong is None:
            return None
        return np.append(touched, moved(runs.strong, self._strong))

    def _altered(self, runs: Runs, rows: Indices | None) -> Indices | None:
        """Return the stripes that have other runs than when they were sent."""
        if runs.layout is None:
            return rows
        return None if self._sent is None else runs.layout.altered(self._sent)


def vertex_table(graph: Graph, runs: Runs, numbers: Indices | None) -> pa.Table:
    """Return the vertices among ``numbers``, or all: where they are, and ``successors``, to which edges lead.

    Names are among them if they are in this process.
    """
    used = graph.vertices.used
    numbers = used if numbers is None else np.intersect1d(numbers, used)
    lanes = runs.lanes(numbers)
    return pa.table(
        {
            "number": pa.array(numbers, pa.int32()),
            **graph.vertices.columns(numbers),
            "component": pa.array(lanes.component, pa.int32()),
            "stripe": pa.array(lanes.stripe, pa.int32()),
            "lane": pa.array(lanes.lane, pa.int32()),
            "strong": pa.array(runs.strong[numbers], pa.int32()),
            "successors": _lists(numbers, graph.edges.leaving(numbers)),
        }
    )


def _lists(numbers: Indices, pairs: Edges) -> pa.Array:
    """Return the targets of pairs, which are sorted by source, as one list for each of the ascending ``numbers``."""
    ends = np.append(np.searchsorted(pairs.sources, numbers), len(pairs)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(pairs.targets.astype(np.int32)))
