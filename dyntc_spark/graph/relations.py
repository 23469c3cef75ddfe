"""What the statements in ``sql/`` are about: a graph and its closure as tables of a Spark session.

Both are tables by vertex number: ``vertices`` has the name and the successors of
each vertex, ``rows`` what it reaches, four bytes a pair. They are sent to Spark
once; after a batch only the rows that it changed are, and these lie above the
others until they have become so many that everything is sent again. A closure
whose state is on Spark is not sent at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.graph.counting import COUNT, path_counts
from dyntc_spark.graph.frames import frame
from dyntc_spark.graph.history import Graph
from dyntc_spark.graph.kinds import spark_type

#: A quarter of a table, but at least so many bytes, lies above it before it is sent again.
MOST_ABOVE = 0.25
LEAST_ABOVE = 1 << 16

ROWS = ("number", "vertex", "reached", "paths")

_COUNTS = pa.list_(COUNT)

Content = Callable[[Ids], pa.Table]


@dataclass(frozen=True, slots=True)
class Touched:
    """The vertices at which batches changed something, some perhaps twice; those that are new or gone are in both."""

    vertices: Ids  #: whose names or successors are others
    rows: Ids  #: that reach others, or by other numbers of paths


class Layered:
    """A table by vertex number in one session: what was sent once, and above it what has changed since."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._base: DataFrame | None = None
        self._bytes = 0
        self._schema = pa.schema([])
        self._above: Ids = np.zeros(0, np.int64)

    def frame(self, content: Content, every: Ids, touched: Ids | None) -> DataFrame:
        """Give the table, of which ``touched`` rows are others than at the last call; None: all of them.

        ``content`` gives rows by number, with nulls for a number that no vertex has.
        """
        if self._base is None or touched is None:
            return self._sent(content(every))
        self._above = np.union1d(self._above, touched)
        if not len(self._above):
            return self._base
        table = content(self._above)
        if table.nbytes > max(LEAST_ABOVE, MOST_ABOVE * self._bytes) or table.schema != self._schema:
            return self._sent(content(every))
        above = frame(self._spark, table)
        kept = self._base.join(F.broadcast(above.select("number")), "number", "left_anti")
        return kept.unionByName(above.where("vertex IS NOT NULL"))

    def _sent(self, table: pa.Table) -> DataFrame:
        self._bytes, self._schema, self._above = table.nbytes, table.schema, np.zeros(0, np.int64)
        self._base = frame(self._spark, table)
        return self._base


class Relations:
    """The tables ``vertices`` and ``rows`` of one closure in one session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._vertices = Layered(spark)
        self._rows = Layered(spark)

    def tables(self, graph: Graph, engine: Engine, touched: Touched | None = None) -> dict[str, DataFrame]:
        """Give the tables of a version; ``touched`` says what is another than at the last call, None: everything."""
        every = graph.vertices.used
        vertices = self._vertices.frame(
            lambda numbers: _vertices(graph, numbers), every, None if touched is None else touched.vertices
        )
        rows = engine.rows(self.spark, look=touched is None)
        if rows is None:
            rows = self._rows.frame(
                lambda numbers: _rows(graph, engine, numbers), every, None if touched is None else touched.rows
            )
        else:
            self._rows = Layered(self.spark)  # what was sent before the state moved is no longer followed
            if "paths" not in rows.columns:
                rows = rows.withColumn("paths", F.lit(None).cast(spark_type(_COUNTS)))
            # Spark takes what tasks make of little for little, and would broadcast the closure, by way of the driver.
            names = F.broadcast(vertices.select("number", "vertex"))
            rows = rows.join(names, "number").select(*ROWS)
        return {"vertices": vertices, "rows": rows}


def _vertices(graph: Graph, numbers: Ids) -> pa.Table:
    """Give ``number``, ``vertex`` and the array ``successors`` of the numbers that edges lead to."""
    return pa.table(
        {
            "number": pa.array(numbers.astype(np.int32)),
            "vertex": graph.vertices.names(numbers),
            "successors": _lists(numbers, graph.edges.leaving(numbers)),
        }
    )


def _rows(graph: Graph, engine: Engine, numbers: Ids) -> pa.Table:
    """Give `ROWS`: ``reached`` and ``paths`` are arrays, and what is reached are numbers, the vertex's own included."""
    pairs = engine.descendants(numbers)
    reached, counts = _lists(numbers, pairs), path_counts(engine, pairs)
    return pa.table(
        {
            "number": pa.array(numbers.astype(np.int32)),
            "vertex": graph.vertices.names(numbers),
            "reached": reached,
            "paths": pa.nulls(len(numbers), _COUNTS)
            if counts is None
            else pa.ListArray.from_arrays(reached.offsets, counts),
        }
    )


def _lists(numbers: Ids, pairs: Edges) -> pa.Array:
    """Give the targets of pairs, which are sorted by source, as one list for each of the ascending ``numbers``."""
    ends = np.append(np.searchsorted(pairs.sources, numbers), len(pairs)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(pairs.targets.astype(np.int32)))
