"""``recompute`` and ``lanes`` in process and on Spark, on real dependencies and their real changes, and at scale.

Parts, each of some minutes (``--parts``; by default all, one after the other in one run of about ten minutes):

- ``engines``: one copy of Debian's graph, and ten that fifty random links join: Init, the real batch of 660, a
  single deletion and insertion, 100,000 queries, memory, jobs;
- ``algebraic``: the same operations on one copy by the engine ``algebraic``, each answer certified;
- ``joins``: Init and batch on one copy against semi-naive joins in PySpark, and Spark's recursive query;
- ``libraries``: the same against DuckDB's recursive query and igraph;
- ``pathway``: the same and single changes against Pathway's ``iterate``, which is incremental, too;
- ``hundred``: a hundred copies on Spark: 6.4 million vertices, some 390 million pairs.

A contestant's answer is compared before its time counts; a failure is reported with its message.
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from pyspark.sql import SparkSession

from benchmarks import peers
from benchmarks.harness import Line, report
from benchmarks.packages import Packages
from dyntc_spark import session
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.engine import Algebraic
from dyntc_spark.engines.base import Engine
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute

PARTS = ("engines", "algebraic", "joins", "libraries", "pathway", "hundred")
QUERIES = 100_000
NONE = Edges.of()
PATHWAY_SECONDS = 270


def seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


class Contestant:
    """An engine on a graph, and the operations that are timed; each leaves the graph as it was."""

    def __init__(self, name: str, engine: Engine, graph: Packages) -> None:
        self.name, self.engine, self.graph = name, engine, graph

    def init(self, times: int) -> list[float]:
        return [seconds(partial(self.engine.init, self.graph.edges, self.graph.vertices)) for _ in range(times)]

    def batch(self, times: int) -> list[float]:
        found = []
        for _ in range(times):
            found.append(seconds(partial(self.engine.apply, self.graph.inserted, self.graph.deleted)))
            found.append(seconds(partial(self.engine.apply, self.graph.deleted, self.graph.inserted)))
        return found

    def singles(self, times: int) -> tuple[list[float], list[float]]:
        edges, deletions, insertions = self.graph.edges, [], []
        for k in np.random.default_rng(3).permutation(len(edges))[:times]:
            one = Edges(edges.sources[k : k + 1], edges.targets[k : k + 1])
            deletions.append(seconds(partial(self.engine.apply, NONE, one)))
            insertions.append(seconds(partial(self.engine.apply, one, NONE)))
        return deletions, insertions

    def queries(self, times: int) -> list[float]:
        rng = np.random.default_rng(1)
        return [
            seconds(partial(self.engine.query, *rng.integers(self.graph.vertices, size=(2, QUERIES))))
            for _ in range(times)
        ]


def spread(seen: list[float]) -> dict[str, float]:
    return {"median": statistics.median(seen), "low": min(seen), "high": max(seen)}


def line(name: str, seen: list[float]) -> Line:
    return Line(name, statistics.median(seen) * 1e3, "ms", detail={"runs": spread(seen)})


def at_most(name: str, value: float, bound: float, unit: str = "x") -> Line:
    return Line(name, value, unit, f"<= {bound:.3g}", value <= bound)


def at_least(name: str, value: float, bound: float) -> Line:
    return Line(name, value, "times", f">= {bound:g}", value >= bound)


def engines(spark: SparkSession, graph: Packages, label: str, *, repeats: int, contest: bool) -> list[Line]:
    """Time all engines on both backends; answers of all are compared on sizes and 100,000 pairs."""
    backend = SparkBackend(spark)
    contestants = [
        Contestant("lanes in process", Lanes(), graph),
        Contestant("recompute in process", Recompute(), graph),
        Contestant("lanes on Spark", Lanes(backend), graph),
        Contestant("recompute on Spark", Recompute(backend), graph),
    ]
    lines, batches = [], {}
    for each in contestants:
        name, far, whole = f"{label}, {each.name}", "Spark" in each.name, "recompute" in each.name
        each.init(1)
        lines.append(line(f"{name}: Init", each.init(2 if far else repeats)))
        batches[each.name] = each.batch(1 if far and whole else repeats)
        lines.append(line(f"{name}: batch of 660", batches[each.name][1:]))
        if not whole:
            each.singles(3)
            with backend.jobs.watch() as jobs:
                found = each.singles(200)
            for what, seen in zip(("deletion", "insertion"), found, strict=True):
                lines.append(line(f"{name}: single {what}", seen))
            if far:
                lines.append(at_most(f"{name}: jobs a single change", len(jobs) / 400, 2, "jobs"))
                with backend.jobs.watch() as jobs:
                    each.batch(1)
                lines.append(at_most(f"{name}: jobs a batch", len(jobs) / 2, 2, "jobs"))
        each.queries(1)
        lines.append(line(f"{name}: {QUERIES} queries", each.queries(3)))
        stats = each.engine.stats()
        held = stats["bytes"] / stats["pairs"]
        lines.append(
            Line(f"{name}: memory", held, "bytes/pair") if far else at_most(f"{name}: memory", held, 6, "bytes/pair")
        )
    _agree(contestants)
    if contest:
        ours, theirs = (statistics.median(batches[f"{name} on Spark"][1:]) for name in ("lanes", "recompute"))
        lines.append(at_least(f"{label}: batch on Spark, recompute / lanes", theirs / ours, 3))
    return lines


def algebraic(spark: SparkSession, graph: Packages, *, repeats: int) -> list[Line]:
    """Time the engine that inverts a matrix, on both backends; its answers are compared with those of ``lanes``."""
    backend, lines = SparkBackend(spark), []
    exact = Contestant("lanes", Lanes(), graph)
    exact.init(1)
    pairs = np.random.default_rng(5).integers(graph.vertices, size=(2, QUERIES))
    for place, engine in (("in process", Algebraic(seed=1)), ("on Spark", Algebraic(backend, seed=1))):
        each, far = Contestant("algebraic", engine, graph), place == "on Spark"
        name = f"1 copy, algebraic {place}"
        each.init(1)
        lines.append(line(f"{name}: Init", each.init(1 if far else repeats)))
        each.batch(1)
        with backend.jobs.watch() as jobs:
            lines.append(line(f"{name}: batch of 660", each.batch(2 if far else repeats)))
        if far:
            lines.append(at_most(f"{name}: jobs a batch", len(jobs) / 4, 3, "jobs"))
        each.singles(2)
        for what, seen in zip(("deletion", "insertion"), each.singles(10 if far else 50), strict=True):
            lines.append(line(f"{name}: single {what}", seen))
        each.queries(1)
        lines.append(line(f"{name}: {QUERIES} queries", each.queries(3)))
        stats = engine.stats()
        lines.append(Line(f"{name}: memory", stats["bytes"] / stats["pairs"], "bytes/pair"))
        if (engine.query(*pairs) != exact.engine.query(*pairs)).any():
            raise SystemExit(f"algebraic ({place}) disagrees with lanes")
    return lines


def _agree(contestants: list[Contestant]) -> None:
    first, *others = (each.engine for each in contestants)
    pairs = np.random.default_rng(5).integers(first.vertices, size=(2, QUERIES))
    for other in others:
        if other.stats()["pairs"] != first.stats()["pairs"] or (other.query(*pairs) != first.query(*pairs)).any():
            raise SystemExit(f"{other.name} ({other.backend}) disagrees with {first.name}")


def ours(spark: SparkSession, graph: Packages) -> tuple[dict[str, tuple[float, float]], int, int, Engine]:
    """Time Init and the batch in process and on Spark; give the number of pairs before and after the batch, too."""
    found, before, after = {}, 0, 0
    local = Lanes()
    for place, engine in (("in process", local), ("on Spark", Lanes(SparkBackend(spark)))):
        each = Contestant(place, engine, graph)
        each.init(1)
        init = min(each.init(3))
        each.batch(1)
        found[place] = init, statistics.median(each.batch(3))
    before = peers.joined_pairs(local)
    local.apply(graph.inserted, graph.deleted)
    after = peers.joined_pairs(local)
    changed = local.edges
    local.apply(graph.deleted, graph.inserted)
    del changed
    return found, before, after, local


def told(name: str, peer: peers.Peer, pairs: int) -> Line:
    """Report what a contestant took, or why it has no time."""
    failure = peer.failure or ("" if peer.right(pairs) else f"{peer.pairs} pairs, not {pairs}")
    return Line(name, peer.seconds, "s", "", None, {"failed": failure} if failure else {})


def against_joins(spark: SparkSession, graph: Packages) -> list[Line]:
    times, before, after, engine = ours(spark, graph)
    engine.apply(graph.inserted, graph.deleted)
    changed = engine.edges
    lines, runs = [], {}
    for what, edges, pairs in (("Init", graph.edges, before), ("batch of 660", changed, after)):
        peer = runs[what] = peers.joins(spark, edges)
        lines.append(told(f"1 copy, semi-naive joins in PySpark: {what}", peer, pairs))
        for place, bound in (
            ("in process", {"Init": 200, "batch of 660": 3000}),
            ("on Spark", {"Init": 10, "batch of 660": 50}),
        ):
            mine = times[place][0 if what == "Init" else 1]
            lines.append(line(f"1 copy, lanes {place}: {what}", [mine]))
            if peer.right(pairs):
                lines.append(at_least(f"1 copy: {what}, joins / lanes {place}", peer.seconds / mine, bound[what]))
    lines.append(told("1 copy, Spark's recursive query: Init", peers.spark_recursive(spark, graph.edges), before))
    return lines


def against_libraries(spark: SparkSession, graph: Packages) -> list[Line]:
    times, before, _, engine = ours(spark, graph)
    on_cycles = before - engine.stats()["pairs"]
    lines = []
    for name, peer in (
        ("DuckDB's recursive query", peers.duckdb_recursive(graph.edges)),
        ("igraph, a search from every vertex", peers.igraph_search(graph.edges, graph.vertices, on_cycles)),
    ):
        lines.append(told(f"1 copy, {name}: Init and batch alike", peer, before))
        if peer.right(before):
            for place, mine in times.items():
                lines.append(Line(f"1 copy: Init, {name} / lanes {place}", peer.seconds / mine[0], "times"))
                lines.append(Line(f"1 copy: batch, {name} / lanes {place}", peer.seconds / mine[1], "times"))
    return lines


def against_pathway(graph: Packages, singles: int, limit: float) -> list[Line]:
    engine = Lanes()
    each = Contestant("lanes", engine, graph)
    each.init(1)
    before_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each.singles(singles)
    deletions, insertions = each.singles(singles)
    batch = each.batch(2)[2:]
    pairs, size = peers.joined_pairs(engine), engine.stats()["bytes"]
    steps: list[tuple[Edges, Edges]] = []
    edges = graph.edges
    for k in np.random.default_rng(3).permutation(len(edges))[:singles]:
        one = Edges(edges.sources[k : k + 1], edges.targets[k : k + 1])
        steps += [(NONE, one), (one, NONE)]
    steps += [(graph.inserted, graph.deleted), (graph.deleted, graph.inserted)]
    peer = peers.pathway(graph.edges, steps, limit)
    lines = [told("1 copy, Pathway: Init", peer, pairs)]
    lines.append(Line("1 copy, lanes: bytes of the state", size / 2**20, "MiB", detail={"pairs": pairs}))
    lines.append(
        Line(
            "1 copy, lanes: growth of the process while it changes",
            (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_peak) / 1024,
            "MiB",
        )
    )
    if peer.pairs != pairs:
        return lines
    lines.append(Line("1 copy, Pathway: peak memory", peer.peak / 2**20, "MiB", detail={"failed": peer.failure}))
    lines.append(at_most("1 copy: memory, lanes / Pathway", size / peer.peak, 1 / 100))
    for what, mine, theirs in (
        ("single deletion", deletions, peer.steps[: 2 * singles : 2]),
        ("single insertion", insertions, peer.steps[1 : 2 * singles : 2]),
        ("batch of 660", batch, peer.steps[2 * singles :]),
    ):
        lines.append(line(f"1 copy, lanes: {what}", mine))
        if theirs:
            lines.append(line(f"1 copy, Pathway: {what}", theirs))
            ratio = statistics.median(mine) / statistics.median(theirs)
            lines.append(at_most(f"1 copy: {what}, lanes / Pathway", ratio, 1))
    return lines


def hundred(spark: SparkSession, graph: Packages, label: str) -> list[Line]:
    """Many copies on Spark: the closure is never in this process."""
    backend = SparkBackend(spark)
    each = Contestant("lanes", Lanes(backend), graph)
    lines = [line(f"{label}, lanes on Spark: Init", each.init(1))]
    stats = each.engine.stats()
    lines.append(Line(f"{label}: pairs", stats["pairs"] / 1e6, "million", detail={"vertices": stats["vertices"]}))
    each.batch(1)
    with backend.jobs.watch() as jobs:
        lines.append(line(f"{label}, lanes on Spark: batch of 660", each.batch(2)))
    lines.append(at_most(f"{label}: jobs a batch", len(jobs) / 4, 2, "jobs"))
    for what, seen in zip(("deletion", "insertion"), each.singles(50), strict=True):
        lines.append(line(f"{label}, lanes on Spark: single {what}", seen))
    lines.append(line(f"{label}, lanes on Spark: {QUERIES} queries", each.queries(1)))
    stats = each.engine.stats()
    lines.append(at_most(f"{label}: memory", stats["bytes"] / stats["pairs"], 6, "bytes/pair"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines.append(Line(f"{label}: peak memory of the driver's Python", peak, "GiB"))
    return lines


def run(*, quick: bool = False, parts: tuple[str, ...] = PARTS, copies: int = 10, most: int = 100) -> bool:
    """Run the parts and say whether the bounds are kept; ``quick`` takes a tenth of the packages, without bounds."""
    packages = Packages.load(part=6_000 if quick else None)
    lines: list[Line] = []
    for part in parts:
        spark = session.local(2, config={"spark.ui.showConsoleProgress": "false"})
        started = time.perf_counter()
        if part == "engines":
            few = 2 if quick else copies
            lines += engines(spark, packages, "1 copy", repeats=3 if quick else 10, contest=False)
            lines += engines(spark, packages.copies(few), f"{few} copies", repeats=3, contest=not quick)
        elif part == "algebraic":
            lines += algebraic(spark, packages, repeats=3 if quick else 7)
        elif part == "joins":
            lines += against_joins(spark, packages)
        elif part == "libraries":
            lines += against_libraries(spark, packages)
        elif part == "pathway":
            lines += against_pathway(packages, 5 if quick else 10, PATHWAY_SECONDS)
        elif part == "hundred":
            lines += hundred(spark, packages.copies(2 if quick else most), f"{2 if quick else most} copies")
        lines.append(Line(f"the part {part!r}", time.perf_counter() - started, "s"))
        spark.stop()
        gc.collect()
    if quick:
        for each in lines:
            each.bound, each.kept = "", None
    return report("scale" + ("-quick" if quick else "" if parts == PARTS else "-" + "-".join(parts)), lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--most", type=int, default=100)
    chosen = parser.parse_args()
    run(quick=chosen.quick, parts=tuple(chosen.parts), copies=chosen.copies, most=chosen.most)
