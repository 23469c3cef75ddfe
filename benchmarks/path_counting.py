"""``path_counting`` on Debian's dependencies, one copy and ten, against what else could be done.

(a) semi-naive joins in PySpark: what a Spark user writes today; every batch with a deletion starts it again;
(b) the recompute of one machine: condensation and packed bits, or sparse rows (the engine ``recompute``);
(c) a graph library: a search from every vertex (igraph, else networkx).

Figures: Init, a single insertion, a single deletion, the batch of 660 real changes (those that leave the graph
acyclic), 10,000 questions; in process and on Spark. Contestants of one figure run in turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from functools import partial

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark.sql import DataFrame, SparkSession
from scipy.sparse import csgraph

from benchmarks.debian import Debian
from benchmarks.harness import Line, report, take_turns
from dyntc_spark import session
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.path_counting import PathCounting
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.topology import Topology
from dyntc_spark.kernels.compile import compiled

NONE = Edges.of()
QUESTIONS = 10_000
SINGLE_SECONDS = 0.005
INIT_TIMES, BATCH_TIMES = 8, 40


def semi_naive(spark: SparkSession, edges: Edges) -> int:
    """(a) Close the edges by joins of what is new with the edges, until nothing is new; give the number of pairs."""
    table = spark.createDataFrame(pa.table({"src": edges.sources, "dst": edges.targets}))
    steps = table.selectExpr("src as mid", "dst").localCheckpoint()
    closed = new = table.localCheckpoint()
    while True:
        reached = new.withColumnRenamed("dst", "mid").join(steps, "mid").select("src", "dst").distinct()
        new = reached.join(closed, ["src", "dst"], "left_anti").localCheckpoint()
        if not _some(new):
            return closed.count()
        closed = closed.unionAll(new).localCheckpoint()


def _some(frame: DataFrame) -> bool:
    return bool(frame.take(1))


def packed_bits(edges: Edges, vertices: int, width: int = 16_384) -> int:
    """(b) Condense, then unite packed rows in topological order, some columns at a time; give the number of pairs."""
    matrix = sp.csr_array((np.ones(len(edges), bool), (edges.sources, edges.targets)), shape=(vertices, vertices))
    count, component = csgraph.connected_components(matrix, connection="strong")
    sources, targets = component[edges.sources], component[edges.targets]
    real = sources != targets
    graph = Topology(Edges.of(sources[real], targets[real]), count)
    order, rows, total = np.argsort(graph.rank)[::-1], graph.adjacency, 0
    for first in range(0, count, width):
        words = np.zeros((count, -(-min(width, count - first) // 64)), np.uint64)
        _unite(order, rows.starts, rows.degrees, rows.targets, first, words)
        total += int(np.bitwise_count(words).sum())
    return total


@compiled
def _unite(order, starts, degrees, targets, first, words):
    for v in order:
        if first <= v < first + 64 * words.shape[1]:
            words[v, (v - first) // 64] |= np.uint64(1) << np.uint64((v - first) % 64)
        for e in range(starts[v], starts[v] + degrees[v]):
            for k in range(words.shape[1]):
                words[v, k] |= words[targets[e], k]


def sparse_rows(edges: Edges, vertices: int) -> None:
    """(b) Condense, then merge sorted rows in topological order."""
    Recompute().init(edges, vertices)


def library_search(edges: Edges, vertices: int) -> int:
    """(c) Search from every vertex; give the number of pairs."""
    pairs = np.stack([edges.sources, edges.targets], axis=1).tolist()
    if importlib.util.find_spec("igraph"):
        graph = importlib.import_module("igraph").Graph(n=vertices, edges=pairs, directed=True)
        return sum(map(len, graph.neighborhood(order=vertices, mode="out")))
    networkx = importlib.import_module("networkx")
    graph = networkx.DiGraph(pairs)
    return sum(1 + len(networkx.descendants(graph, v)) for v in graph)


class Contest:
    """An engine on a graph, and the operations that are timed; each leaves the graph as it was."""

    def __init__(self, debian: Debian, backend: Backend | None, worst_case: bool = False) -> None:
        self.debian = debian
        self.engine = PathCounting(backend, seed=1, worst_case=worst_case)
        self._random = np.random.default_rng(3)

    def init(self) -> None:
        self.engine.init(self.debian.edges, self.debian.vertices)

    def batch(self) -> float:
        """Seconds for the real batch; it is taken back afterwards."""
        seconds = _timed(partial(self.engine.apply, self.debian.inserted, self.debian.deleted))
        self.engine.apply(self.debian.deleted, self.debian.inserted)
        return seconds

    def singles(self, count: int) -> tuple[list[float], list[float]]:
        """Seconds for deletions of random edges, and for inserting each again."""
        deletions, insertions = [], []
        for k in self._random.permutation(len(self.debian.edges))[:count]:
            edge = Edges(self.debian.edges.sources[k : k + 1], self.debian.edges.targets[k : k + 1])
            deletions.append(_timed(partial(self.engine.apply, NONE, edge)))
            insertions.append(_timed(partial(self.engine.apply, edge, NONE)))
        return deletions, insertions

    def questions(self) -> None:
        pairs = self._random.integers(self.debian.vertices, size=(2, QUESTIONS))
        self.engine.query(*pairs)


def _timed(action) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _spread(seen: list[float]) -> dict[str, float]:
    return {"median": statistics.median(seen), "low": min(seen), "high": max(seen)}


def _updates(name: str, contest: Contest, singles: int, repeats: int, bound: float | None) -> list[Line]:
    """Single insertions and deletions, the batch, and the questions of one contestant."""
    contest.singles(2)
    lines = []
    for what, seen in zip(("deletion", "insertion"), contest.singles(singles), strict=True):
        mean = statistics.mean(seen)  # rebuilds included
        kept = None if bound is None else mean <= bound
        label = f"<= {bound * 1e3:g} ms" if bound is not None else ""
        lines.append(Line(f"{name}: single {what}, mean", mean * 1e3, "ms", label, kept, {"each": _spread(seen)}))
    batches = [contest.batch() for _ in range(repeats + 1)][1:]
    size = len(contest.debian.inserted) + len(contest.debian.deleted)
    lines.append(
        Line(f"{name}: batch of {size}", statistics.median(batches) * 1e3, "ms", detail={"batch": _spread(batches)})
    )
    asked = take_turns({"questions": contest.questions}, repeats, 1)["questions"]
    seconds = statistics.median(asked)
    lines.append(Line(f"{name}: {QUESTIONS} questions", seconds * 1e3, "ms", detail={"questions": _spread(asked)}))
    return lines


def _against(name: str, ours: list[float], others: dict[str, list[float]], bounds: dict[str, float]) -> list[Line]:
    """How many times the others' time we take, with a bound where there is one."""
    lines = []
    for who, seen in others.items():
        share, bound = statistics.median(ours) / statistics.median(seen), bounds.get(who)
        label = f"<= {bound:g}" if bound else ""
        lines.append(Line(f"{name} / {who}", share, "x", label, None if bound is None else share <= bound))
    return lines


def run(
    *, quick: bool = False, cores: int = 2, copies: int = 10, joins_on_copies: bool = False, repeats: int = 5
) -> bool:
    """Run it all and say whether the bounds are kept; ``quick`` takes a tenth of the packages, two copies.

    ``joins_on_copies`` runs the semi-naive joins on the copies too, which takes about as many times as long as there
    are copies; without it they are run on one copy only.
    """
    spark = session.local(cores, config={"spark.ui.showConsoleProgress": "false"})
    spark.sparkContext.setLogLevel("ERROR")
    one = Debian.load(part=6_000 if quick else None)
    graphs = {"1 copy": one, f"{2 if quick else copies} copies": one.copies(2 if quick else copies)}
    lines: list[Line] = []
    for name, debian in graphs.items():
        lines += _one_graph(name, debian, spark, 1 if quick else repeats, joins=debian is one or joins_on_copies)
    return report("path_counting" + ("-quick" if quick else ""), lines)


def _one_graph(name: str, debian: Debian, spark: SparkSession, repeats: int, *, joins: bool) -> list[Line]:
    edges, n = debian.edges, debian.vertices
    local, far = Contest(debian, None), Contest(debian, SparkBackend(spark))
    inits = take_turns(
        {
            "in process": local.init,
            "on Spark": far.init,
            "(b) sparse rows": partial(sparse_rows, edges, n),
            "(c) library": partial(library_search, edges, n),
        },
        max(1, repeats // 2),
        1,
    )
    inits["(b) packed bits"] = take_turns({"bits": partial(packed_bits, edges, n)}, 1, 0)["bits"]
    if joins:
        inits["(a) joins"] = take_turns({"joins": partial(semi_naive, spark, edges)}, 1, 0)["joins"]
    for who, seen in inits.items():
        print(f"  {name}: {who} {statistics.median(seen):.3f} s", flush=True)
    lines = [
        Line(f"{name}: Init, {who}", statistics.median(seen), "s", detail={"runs": _spread(seen)})
        for who, seen in inits.items()
    ]
    others = {who: seen for who, seen in inits.items() if who.startswith("(")}
    joined = {"(a) joins": others["(a) joins"]} if joins else {}
    lines += _against(f"{name}: Init on Spark", inits["on Spark"], joined, {"(a) joins": 1 / INIT_TIMES})
    lines += _updates(f"{name}, in process", local, 300, repeats, SINGLE_SECONDS if name == "1 copy" else None)
    steady = Contest(debian, None, worst_case=True)
    steady.init()
    lines += _updates(f"{name}, in process, worst case", steady, 300, repeats, None)[:2]
    lines += _updates(f"{name}, on Spark", far, 4, repeats, None)
    bounds = {"(a) joins": 1 / BATCH_TIMES}
    if name != "1 copy":
        bounds |= {"(b) sparse rows": 1.0, "(b) packed bits": 1.0}
    lines += _against(f"{name}: batch in process", [local.batch() for _ in range(repeats)], others, {})
    lines += _against(f"{name}: batch on Spark", [far.batch() for _ in range(repeats)], others, bounds)
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--joins-on-copies", action="store_true")
    chosen = parser.parse_args()
    run(quick=chosen.quick, copies=chosen.copies, joins_on_copies=chosen.joins_on_copies)
