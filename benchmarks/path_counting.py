"""``path_counting`` on Debian's dependencies, one copy and ten, against what else could be done.

(a) semi-naive joins in PySpark: what a Spark user writes today; every batch with a deletion starts it again;
(b) the recompute of one machine: condensation and packed bits, or sparse rows (the engine ``recompute``);
(c) a graph library: a search from every vertex (igraph, else networkx).

Figures: Init, single insertions and deletions, the batch of 660 real changes (those that leave the graph acyclic),
10,000 questions; in process and on Spark. Contestants of one figure run in turns. The joins take minutes on one copy
and would take an hour on ten: the batch on ten copies is compared with the joins on *one*, which flatters the joins.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark.sql import SparkSession
from scipy.sparse import csgraph

from benchmarks.debian import Debian
from benchmarks.harness import Line, report, take_turns
from benchmarks.suite.on_spark import closed_by_joins
from dyntc_spark import session
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.path_counting import PathCounting
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.engines.topology import Topology
from dyntc_spark.kernels.compile import compiled

NONE = Edges.of()
QUESTIONS = 10_000
SINGLE_SECONDS = 0.005
INIT_TIMES, BATCH_TIMES = 8, 40
PARTS = ("one", "copies")


def semi_naive(spark: SparkSession, edges: Edges) -> int:
    """(a) Close the edges by joins of what is new with the edges, until nothing is new; give the number of pairs."""
    table = spark.createDataFrame(pa.table({"src": edges.sources, "dst": edges.targets}))
    return closed_by_joins(table).count()


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

    def __init__(self, debian: Debian, backend: Backend | None, *, worst_case: bool | None = None) -> None:
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


def _timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _spread(seen: list[float]) -> dict[str, float]:
    return {"median": statistics.median(seen), "low": min(seen), "high": max(seen)}


def _seconds(name: str, seen: list[float]) -> Line:
    print(f"  {name} {statistics.median(seen):.3f} s", flush=True)
    return Line(name, statistics.median(seen), "s", detail={"runs": _spread(seen)} if len(seen) > 1 else {})


def _ratio(name: str, ours: float, theirs: float, at_most: float | None) -> Line:
    """How many times the other's time we take; the bound is a share of it."""
    share = ours / theirs
    label = f"<= {at_most:g}" if at_most else ""
    return Line(name, share, "x", label, None if at_most is None else share <= at_most)


def _singles(name: str, contest: Contest, count: int, bound: float | None) -> list[Line]:
    """Single updates: the middle one, the one that only a hundredth exceeds, and the slowest, rebuilds included."""
    contest.singles(max(2, count // 2))  # several rebuilds, so that every kernel is compiled
    lines = []
    for what, seen in zip(("deletion", "insertion"), contest.singles(count), strict=True):
        figures = {"median": np.median(seen), "99th percentile": np.quantile(seen, 0.99), "slowest": max(seen)}
        for which, seconds in figures.items():
            asked = None if which == "slowest" else bound
            label = f"<= {asked * 1e3:g}" if asked else ""
            kept = None if asked is None else bool(seconds <= asked)
            lines.append(Line(f"{name}: single {what} of {count}, {which}", float(seconds) * 1e3, "ms", label, kept))
    return lines


def run(*, quick: bool = False, parts: tuple[str, ...] = PARTS, copies: int = 10, repeats: int = 5) -> bool:
    """Run it and say whether the bounds are kept.

    ``quick`` takes a tenth of the packages, and two copies of that: it shows that everything works, and its times say
    nothing about the bounds between contestants, which are therefore left out. ``parts``: one copy, several copies.
    """
    spark = session.local(2, config={"spark.ui.showConsoleProgress": "false"})
    spark.sparkContext.setLogLevel("ERROR")
    copies = 2 if quick else copies
    one = Debian.load(part=6_000 if quick else None)
    lines: list[Line] = []
    joins = None
    if "one" in parts:
        found, joins = _one_copy(one, spark, 1 if quick else repeats, bounds=not quick)
        lines += found
    if "copies" in parts:
        lines += _copies(one.copies(copies), copies, spark, 2 if quick else repeats, joins, bounds=not quick)
    suite = "path_counting" + ("" if parts == PARTS else "-" + "-".join(parts)) + ("-quick" if quick else "")
    return report(suite, lines)


def _one_copy(debian: Debian, spark: SparkSession, repeats: int, *, bounds: bool) -> tuple[list[Line], float]:
    edges, n = debian.edges, debian.vertices
    near, far = Contest(debian, None), Contest(debian, SparkBackend(spark))
    inits = take_turns(
        {
            "in process": near.init,
            "on Spark": far.init,
            "(b) sparse rows": partial(sparse_rows, edges, n),
            "(b) packed bits": partial(packed_bits, edges, n),
            "(c) library": partial(library_search, edges, n),
        },
        max(1, repeats // 2),
        1,
    )
    inits["(a) joins"] = take_turns({"joins": partial(semi_naive, spark, edges)}, 1, 0)["joins"]
    joins = inits["(a) joins"][0]
    lines = [_seconds(f"1 copy: Init, {who}", seen) for who, seen in inits.items()]
    init = statistics.median(inits["on Spark"])
    lines.append(_ratio("1 copy: Init on Spark / (a) joins", init, joins, 1 / INIT_TIMES if bounds else None))
    lines += _singles("1 copy, in process", near, 1000, SINGLE_SECONDS)
    amortised = Contest(debian, None, worst_case=False)
    amortised.init()
    lines += _singles("1 copy, in process, rebuilds at once", amortised, 1000, None)
    lines += _singles("1 copy, on Spark", far, 10 if bounds else 3, None)
    batches = {who: [contest.batch() for _ in range(repeats + 1)][1:] for who, contest in _both(near, far)}
    lines += [_seconds(f"1 copy, {who}: batch of {_size(debian)}", seen) for who, seen in batches.items()]
    batch = statistics.median(batches["on Spark"])
    lines.append(_ratio("1 copy: batch on Spark / (a) joins", batch, joins, 1 / BATCH_TIMES if bounds else None))
    asked = take_turns({who: contest.questions for who, contest in _both(near, far)}, min(repeats, 3), 1)
    lines += [_seconds(f"1 copy, {who}: {QUESTIONS} questions", seen) for who, seen in asked.items()]
    return lines, joins


def _copies(
    debian: Debian, copies: int, spark: SparkSession, repeats: int, joins: float | None, *, bounds: bool
) -> list[Line]:
    """The batch on Spark and the recomputes of one machine, in turns."""
    edges, n, name = debian.edges, debian.vertices, f"{copies} copies"
    far = Contest(debian, SparkBackend(spark))
    lines = [_seconds(f"{name}: Init, on Spark, the first", [_timed(far.init)])]
    warm = [far.batch() for _ in range(2)]
    seen: dict[str, list[float]] = {"batch": [], "rows": []}
    for turn in range(repeats + 1):
        rows, batch = _timed(partial(sparse_rows, edges, n)), far.batch()
        if turn:
            seen["batch"].append(batch)
            seen["rows"].append(rows)
    bits = take_turns({"bits": partial(packed_bits, edges, n)}, 1, 0)["bits"]
    lines += [
        _seconds(f"{name}: recompute, (b) sparse rows", seen["rows"]),
        _seconds(f"{name}: recompute, (b) packed bits", bits),
        _seconds(f"{name}, on Spark: batch of {_size(debian)}", seen["batch"]),
        _seconds(f"{name}, on Spark: batch of {_size(debian)}, the first two", warm),
    ]
    ours = statistics.median(seen["batch"])
    others = {"(b) sparse rows": statistics.median(seen["rows"]), "(b) packed bits": bits[0]}
    for who, seconds in others.items():
        lines.append(_ratio(f"{name}: batch on Spark / {who}", ours, seconds, 1.0 if bounds else None))
    if joins is not None:
        bound = 1 / BATCH_TIMES if bounds else None
        lines.append(_ratio(f"{name}: batch on Spark / (a) joins on 1 copy", ours, joins, bound))
    lines.append(_seconds(f"{name}, on Spark: rebuild", [_timed(far.engine.matrix.rebuild)]))
    lines += _singles(f"{name}, on Spark", far, 6, None)
    return lines


def _both(near: Contest, far: Contest) -> tuple[tuple[str, Contest], ...]:
    return ("in process", near), ("on Spark", far)


def _size(debian: Debian) -> int:
    return len(debian.inserted) + len(debian.deleted)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--part", choices=PARTS, action="append", help="run only this part; may be given twice")
    chosen = parser.parse_args()
    run(quick=chosen.quick, copies=chosen.copies, parts=tuple(chosen.part or PARTS))
