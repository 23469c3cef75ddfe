"""What a Spark user writes today: joins until nothing is new, a recursive query, GraphFrames."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.suite.digest import SQL_DIGEST, Digest
from benchmarks.suite.system import NotTriedError, Recomputing
from benchmarks.suite.workloads import Workload
from dyntc_spark import session
from dyntc_spark.edges import Edges

GRAPHFRAMES_JAR = "DYNTC_GRAPHFRAMES_JAR"
MOST_LANDMARKS = 2_000  # shortest paths to every vertex: n maps of n entries


class Session:
    """A Spark session that counts its jobs and the bytes that they shuffle; ``DYNTC_BENCH_MASTER`` names a cluster."""

    def __init__(self, cores: int, **config: str) -> None:
        settings = {"spark.ui.showConsoleProgress": "false", **config}
        if os.environ.get("DYNTC_BENCH_MASTER"):
            settings["spark.master"] = os.environ["DYNTC_BENCH_MASTER"]
            settings["spark.executor.memory"] = os.environ.get("DYNTC_BENCH_EXECUTOR_MEMORY", "1g")
        self.spark = session.local(cores, memory="4g", delta=False, config=settings)
        self._context = self.spark.sparkContext._jsc.sc()  # noqa: SLF001  (a benchmark may look behind the API)

    def counters(self) -> dict[str, int]:
        """Count jobs, and bytes written for shuffles, since the session began."""
        self._context.listenerBus().waitUntilEmpty()
        executors = self._context.statusStore().executorList(False)
        shuffled = sum(executors.apply(k).totalShuffleWrite() for k in range(executors.size()))
        return {"jobs": self._context.dagScheduler().numTotalJobs(), "shuffled": shuffled}

    def executors(self) -> list[dict[str, int | str]]:
        """Return the bytes of blocks that each executor holds, in memory and on disk.

        The driver is one of them: it holds what it broadcasts.
        """
        found = self._context.statusStore().executorList(True)
        each = (found.apply(k) for k in range(found.size()))
        return [
            {"id": one.id(), "memory": one.memoryUsed(), "disk": one.diskUsed(), "most": one.maxMemory()}
            for one in each
        ]

    def stop(self) -> None:
        self.spark.stop()


def digest(pairs: DataFrame) -> Digest:
    """Digest the pairs ``src``, ``dst``."""
    row = pairs.where("src <> dst").selectExpr(*SQL_DIGEST).collect()[0]
    return Digest(*(int(value) for value in row))


class OnSpark(Recomputing):
    """A closure that is a DataFrame of pairs ``src``, ``dst``, made anew after every batch."""

    session: Session
    closed: DataFrame

    def start(self, cores: int) -> None:
        self.session = Session(cores)
        self.init(Edges.of([0, 1, 2], [1, 2, 3]), 4)
        self.digest()

    def close(self, edges: Edges, vertices: int) -> None:
        del vertices
        table = pa.table({"src": edges.sources, "dst": edges.targets})
        self.closed = self.closure(self.session.spark, self.session.spark.createDataFrame(table))

    def closure(self, spark: SparkSession, edges: DataFrame) -> DataFrame:
        """Close the edges; materialised."""
        raise NotImplementedError

    def digest(self) -> Digest:
        return digest(self.closed)

    def query(self, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        asked = self.session.spark.createDataFrame(
            pa.table({"q": np.arange(len(sources)), "src": sources, "dst": targets})
        )
        found = asked.join(self.closed, ["src", "dst"], "left_semi").select("q").toArrow()["q"].to_numpy()
        answers = sources == targets
        answers[found] = True
        return answers

    def counters(self) -> Mapping[str, int]:
        return self.session.counters()

    def stop(self) -> None:
        self.session.stop()


class Joins(OnSpark):
    """Semi-naive evaluation: what is new joined with the edges, until nothing is new."""

    def closure(self, spark: SparkSession, edges: DataFrame) -> DataFrame:
        del spark
        return closed_by_joins(edges)


def closed_by_joins(edges: DataFrame) -> DataFrame:
    """Close the edges ``src``, ``dst`` by joins of what is new with them, until nothing is new."""
    steps = edges.selectExpr("src as mid", "dst").localCheckpoint()
    closed = new = edges.localCheckpoint()
    while True:
        reached = new.withColumnRenamed("dst", "mid").join(steps, "mid").select("src", "dst").distinct()
        new = reached.join(closed, ["src", "dst"], "left_anti").localCheckpoint()
        if not new.take(1):
            return closed
        closed = closed.unionAll(new).localCheckpoint()


class RecursiveQuery(OnSpark):
    """Spark's recursive query, as its documentation has it; it has no UNION that would leave repetitions out."""

    def closure(self, spark: SparkSession, edges: DataFrame) -> DataFrame:
        edges.createOrReplaceTempView("links")
        found = spark.sql("""
            WITH RECURSIVE reached (src, dst) AS (
                SELECT src, dst FROM links
                UNION ALL
                SELECT reached.src, links.dst FROM reached JOIN links ON reached.dst = links.src
            )
            SELECT DISTINCT src, dst FROM reached
        """)
        return found.localCheckpoint()


class GraphFramesPaths(OnSpark):
    """GraphFrames has no closure; lengths of shortest paths to every vertex are the nearest that it has."""

    def check(self, workload: Workload) -> None:
        if not os.environ.get(GRAPHFRAMES_JAR):
            raise NotTriedError(f"its jar is not at hand ({GRAPHFRAMES_JAR} names it)")
        if workload.vertices > MOST_LANDMARKS:
            raise NotTriedError(f"n too large: {workload.vertices:,} landmarks, tried up to {MOST_LANDMARKS:,}")

    def start(self, cores: int) -> None:
        self.session = Session(cores, **{"spark.jars": os.environ[GRAPHFRAMES_JAR]})

    def closure(self, spark: SparkSession, edges: DataFrame) -> DataFrame:
        del spark
        from graphframes import GraphFrame  # noqa: PLC0415

        ends = edges.selectExpr("src as id").union(edges.selectExpr("dst")).distinct()
        vertices = [row.id for row in ends.collect()]
        lengths = GraphFrame(ends, edges).shortestPaths(landmarks=vertices)
        return lengths.selectExpr("id as src", "explode(map_keys(distances)) as dst").localCheckpoint()
