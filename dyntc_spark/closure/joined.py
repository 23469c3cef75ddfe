"""A closure whose edges do not fit the driver: a search as joins.

Everywhere else the edges are at the driver, which condenses them; up to some
10^8 that takes seconds and a few GiB. Above, edges and closure are DataFrames of
pairs, and a round of the search joins the pairs that are new with the edges,

    new' = new ∘ E - closed,    closed' = closed + new',

until nothing is new (semi-naive evaluation): two jobs a round, as many rounds as the
longest shortest path has edges, and 16 bytes a pair of vertices instead of 4 a pair
of components. It is the slow way, for graphs that know no other.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark.blocks.lineage import Kept
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.workers import REPORT
from dyntc_spark.closure.edge_set import checked, keys_of
from dyntc_spark.closure.engine import Edges
from dyntc_spark.kernels.reach import Ids, Offsets
from dyntc_spark.kernels.stripe import offsets_of


class Joined:
    """Edges and closure as pairs on Spark: ``source``, ``target``; pairs of a vertex with itself are left out."""

    def __init__(self, backend: SparkBackend, edges: DataFrame, vertices: int) -> None:
        self.backend = backend
        self.vertices = vertices
        self._edges = self._kept("edges", edges.select("source", "target").distinct())
        self._closed = self._kept("closure", self._close())

    @classmethod
    def build(cls, backend: SparkBackend, edges: Edges, vertices: int) -> Joined:
        """Close edges that are here, though there are too many to work with here."""
        return cls(backend, _frame(backend, edges), vertices)

    def _close(self) -> DataFrame:
        steps = self._edges.frame.where("source <> target")
        closed = new = steps
        parts = [self._edges]
        while True:
            longer = new.withColumnRenamed("target", "middle").join(
                steps.withColumnRenamed("source", "middle"), "middle"
            )
            found = longer.select("source", "target").where("source <> target").distinct()
            parts.append(self._kept("a round of joins", found.join(closed, ["source", "target"], "left_anti")))
            new = parts[-1].frame
            if not self._count(new):
                return closed
            closed = closed.unionAll(new)

    def replaced(self, inserted: Edges, deleted: Edges) -> Joined:
        """Give the closure of other edges: all joins again."""
        kept = self._edges.frame.join(_frame(self.backend, deleted), ["source", "target"], "left_anti")
        return Joined(self.backend, kept.unionAll(_frame(self.backend, inserted)), self.vertices)

    def grown(self, vertices: int) -> Joined:
        """Give the closure with vertices without edges added at the end."""
        other = object.__new__(Joined)
        other.__dict__.update(self.__dict__)
        other.vertices = vertices
        return other

    @property
    def component(self) -> Ids:
        """Each vertex stands for itself."""
        return np.arange(self.vertices, dtype=np.int32)

    @cached_property
    def edge_count(self) -> int:
        """Number of edges: one job."""
        return self._count(self._edges.frame)

    @cached_property
    def pairs(self) -> int:
        """Number of pairs of two different vertices of which one reaches the other: one job."""
        return self._count(self._closed.frame)

    @property
    def bytes(self) -> int:
        """What the pairs take."""
        return 16 * (self.pairs + self.edge_count)

    @property
    def edges(self) -> Edges:
        """The edges, at the driver after all: one job."""
        return Edges(*self._sorted(self._edges.frame))

    def joined(self, pairs: Edges) -> npt.NDArray[np.bool_]:
        """Tell for each pair of vertices whether the first reaches the second: one job."""
        known = checked(pairs, self.vertices)
        asked = _frame(self.backend, known).distinct()
        found = Edges(*self._sorted(asked.join(self._closed.frame, ["source", "target"], "left_semi")))
        answers: npt.NDArray[np.bool_] = np.isin(keys_of(known), keys_of(found)) | (known.sources == known.targets)
        return answers

    def descendants(self, vertices: Ids) -> tuple[Offsets, Ids]:
        """Give for each of ``vertices`` what it reaches, ascending, as offsets and vertices: one job."""
        return self._around(vertices, "source", "target")

    def ancestors(self, vertices: Ids) -> tuple[Offsets, Ids]:
        """Give for each of ``vertices`` what reaches it, ascending, as offsets and vertices: one job."""
        return self._around(vertices, "target", "source")

    def rows(self) -> DataFrame:
        """The closure as ``number`` and ``reached``, sorted."""
        itself = self.backend.spark.range(self.vertices).select(
            F.col("id").alias("source"), F.col("id").alias("target")
        )
        lists = self._closed.frame.unionAll(itself).groupBy("source").agg(F.sort_array(F.collect_list("target")))
        return lists.toDF("number", "reached").selectExpr("CAST(number AS INT)", "CAST(reached AS ARRAY<INT>)")

    def _around(self, vertices: Ids, near: str, far: str) -> tuple[Offsets, Ids]:
        wanted = Edges(vertices.astype(np.int64), vertices.astype(np.int64))
        keys = _frame(self.backend, wanted).select(F.col("source").alias(near))
        pairs = self._closed.frame.join(keys, near, "left_semi").select(
            F.col(near).alias("source"), F.col(far).alias("target")
        )
        left, right = self._sorted(pairs)
        left, right = np.append(left, wanted.sources), np.append(right, wanted.targets)
        order = np.lexsort((right, left))
        lengths = np.bincount(np.searchsorted(vertices, left), minlength=len(vertices))
        return offsets_of(lengths.astype(np.int32)), right[order].astype(np.int32)

    def _sorted(self, pairs: DataFrame) -> tuple[Offsets, Offsets]:
        table = self.backend.collect("collect pairs", pairs.select("source", "target"))
        sources, targets = (table.column(name).to_numpy() for name in ("source", "target"))
        order = np.lexsort((targets, sources))
        return sources[order], targets[order]

    def _count(self, frame: DataFrame) -> int:
        found: int = self.backend.collect("count pairs", frame.select(F.count("*").alias("n"))).column("n")[0].as_py()
        return found

    def _kept(self, what: str, frame: DataFrame) -> Kept:
        no_reports = F.lit(None).cast(REPORT).alias("reports")
        return self.backend.keep(f"keep {what}", frame.select("source", "target", no_reports), {})[0]


def _frame(backend: SparkBackend, edges: Edges) -> DataFrame:
    if not len(edges):  # Spark Connect refuses a table without rows
        return backend.spark.createDataFrame([], "source bigint, target bigint")
    return backend.spark.createDataFrame(pa.table({"source": edges.sources, "target": edges.targets}))
