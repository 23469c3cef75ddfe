"""What else could close a graph: joins in PySpark, recursive queries, a graph library, an incremental engine.

Each gives the number of pairs ``(u, v)`` that a path of one edge or more joins, by which answers are compared
before a time counts, and the seconds; a failure gives its message.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.harness import cause
from benchmarks.path_counting import semi_naive
from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Engine

PATHWAY = Path(__file__).parent / "pathway_peer.py"


@dataclass
class Peer:
    """What a contestant did."""

    seconds: float
    pairs: int | None = None
    failure: str = ""
    steps: list[float] = field(default_factory=list)  #: seconds of each later batch
    peak: float = 0.0  #: bytes that it took

    def right(self, pairs: int) -> bool:
        """Whether it finished with the right answer."""
        return not self.failure and self.pairs == pairs


def joined_pairs(engine: Engine) -> int:
    """Number of pairs that a path of one edge or more joins: a vertex on a cycle with itself included."""
    edges, n = engine.edges, engine.vertices
    inner = engine.query(edges.targets, edges.sources)
    on_cycles = np.zeros(n, bool)
    on_cycles[edges.sources[inner]] = True
    return engine.stats()["pairs"] + int(on_cycles.sum())


def timed(close: Callable[[], int]) -> Peer:
    """Run a contestant; what it raises is its failure."""
    started = time.perf_counter()
    try:
        pairs = close()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the result)
        return Peer(time.perf_counter() - started, failure=f"{type(error).__name__}: {cause(str(error))}")
    return Peer(time.perf_counter() - started, pairs)


def joins(spark: SparkSession, edges: Edges) -> Peer:
    """Semi-naive joins: what a Spark user writes today; a batch with a deletion starts it again."""
    return timed(lambda: semi_naive(spark, edges))


def spark_recursive(spark: SparkSession, edges: Edges) -> Peer:
    """Spark's recursive query, as its documentation has it; there is no UNION that would leave repetitions out."""
    spark.createDataFrame(pa.table({"src": edges.sources, "dst": edges.targets})).createOrReplaceTempView("links")
    query = """
        WITH RECURSIVE reached (src, dst) AS (
            SELECT src, dst FROM links
            UNION ALL
            SELECT reached.src, links.dst FROM reached JOIN links ON reached.dst = links.src
        )
        SELECT count(*) FROM (SELECT DISTINCT src, dst FROM reached)
    """
    found = timed(lambda: spark.sql(query).collect()[0][0])
    spark.catalog.dropTempView("links")
    return found


def duckdb_recursive(edges: Edges, threads: int = 2) -> Peer:
    """DuckDB's recursive query, with UNION."""
    import duckdb  # noqa: PLC0415  (only this contestant needs it)

    links = pa.table({"src": edges.sources, "dst": edges.targets})
    with duckdb.connect(config={"threads": threads}) as connection:
        connection.register("links_arrow", links)
        connection.execute("CREATE TABLE links AS SELECT * FROM links_arrow")
        query = """
            WITH RECURSIVE reached AS (
                SELECT src, dst FROM links
                UNION
                SELECT reached.src, links.dst FROM reached JOIN links ON reached.dst = links.src
            )
            SELECT count(*) FROM reached
        """
        return timed(lambda: connection.execute(query).fetchone()[0])


def igraph_search(edges: Edges, vertices: int, on_cycles: int) -> Peer:
    """A search from every vertex by igraph; it counts a vertex with itself always, the others on cycles only."""
    import igraph  # noqa: PLC0415

    pairs = np.stack([edges.sources, edges.targets], axis=1)

    def close() -> int:
        graph = igraph.Graph(n=vertices, edges=pairs, directed=True)
        return int(sum(graph.neighborhood_size(order=vertices, mode="out"))) - vertices + on_cycles

    return timed(close)


def pathway(edges: Edges, batches: list[tuple[Edges, Edges]], seconds: float) -> Peer:
    """Pathway's ``iterate``, which keeps the closure up to date: the graph, then each batch."""
    rows = [(0, "insert", edges)]
    for number, (inserted, deleted) in enumerate(batches, 1):
        rows += [(number, "delete", deleted), (number, "insert", inserted)]
    table = pa.concat_tables(
        pa.table({"step": np.full(len(part), step), "op": [op] * len(part), "src": part.sources, "dst": part.targets})
        for step, op, part in rows
        if len(part)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steps.parquet"
        pq.write_table(table, path)
        command = [sys.executable, str(PATHWAY), str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603
            out, failure = done.stdout, "" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-200:]}"
        except subprocess.TimeoutExpired as error:
            out = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
            failure = f"not finished after {seconds:.0f} s"
    told = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if not told:
        return Peer(seconds, failure=failure or "no answer")
    later = [step["seconds"] for step in told[1:]]
    if len(told) == 1 + len(batches):
        failure = ""
    return Peer(told[0]["seconds"], told[0]["pairs"], failure, later, told[-1]["peak"])
