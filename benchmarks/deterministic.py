"""The deterministic engines in this process: what an update costs, against each other and against starting again.

Parts, each of some minutes at most (``--parts``; by default all):

- ``growth``: seconds of an update of ``centres`` against n, and the slope. *Wide* updates on dense digraphs (one
  pair in four): Set* of n/2 edges at a vertex and Reset* of n/2 edges, in turns; here the O(n²) of the bound
  is reached, and the slope should be 2. *Narrow* ones at the threshold (two edges a vertex), two edges
  each, are far below it. Every update also pays its share of an Init* in a phase of n updates.
- ``sparse``, ``threshold``, ``dense``, ``layered``: one batch of both kinds by each engine, and three ways to start
  again: the engine ``recompute`` (components, sorted rows), its packed-bit form, and BLAS, which squares
  ``I + X`` until it stays. Digraphs have half an edge a vertex, two edges, one pair in four, or sixteen layers
  with three edges from a vertex to the next layer.
- ``large``: the same for more vertices without sections 5 and 6 and without BLAS, with a dense DAG besides: the
  digraph whose packed rows take longest to merge.
- ``logarithmic``, ``divide_conquer``, ``centres``: bytes for each entry of n x n, with dense and with threshold
  digraphs, of ``centres`` also with n records; and the n that fits 8 GiB at that rate.

One core; seconds of the processor, so that what else the machine does changes little.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import Line, report
from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic.centres import Centres
from dyntc_spark.engines.deterministic.divide_conquer import DivideConquer
from dyntc_spark.engines.deterministic.logarithmic import Logarithmic
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.kernels.bits import from_coordinates
from dyntc_spark.kernels.leaf_closure import closed

SEED = 7
GROWTH = {False: (2048, 4096, 8192), True: (512, 1024, 2048)}
DEPTH = 2  # the same for all sizes of the growth
KINDS = ("sparse", "threshold", "dense", "layered")
CONTEST = {False: 1024, True: 256}
LARGE = {False: 4096, True: 1024}
MEMORY = {False: (1024, 2048, 4096), True: (256, 512)}
ENGINES: dict[str, Any] = {"logarithmic": Logarithmic, "divide_conquer": DivideConquer, "centres": Centres}
PARTS = ("growth", *KINDS, "large", *ENGINES)
GIB8 = 8 * 2**30


def run(*, quick: bool = False, parts: tuple[str, ...] = PARTS) -> bool:
    """Measure, print the tables, and say whether the bounds were kept."""
    lines: list[Line] = []
    with threadpool_limits(1):
        _warm_up()
        for part in parts:
            if part == "growth":
                lines += growth(GROWTH[quick], updates=6, bounded=not quick)
            elif part == "large":
                lines += [contest(kind, LARGE[quick], 4, {"centres": Centres}) for kind in (*KINDS, "dense DAG")]
            elif part in KINDS:
                lines.append(contest(part, CONTEST[quick], 4, ENGINES))
            else:
                lines.append(memory(part, MEMORY[quick]))
    return report("deterministic" + ("-quick" if quick else "" if parts == PARTS else "-" + "-".join(parts)), lines)


# --- growth ----------------------------------------------------------------------------------


def growth(sizes: tuple[int, ...], updates: int, *, bounded: bool) -> list[Line]:
    """Seconds of an update of ``centres`` against n, and the slope."""
    lines = []
    for what, kind, width in (("wide", "dense", lambda n: n // 4), ("narrow", "threshold", lambda _: 1)):
        amortised(kind, sizes[0], width(sizes[0]), 3)  # loads what is loaded at the first call
        seconds = {n: amortised(kind, n, width(n), updates) for n in sizes}
        slope = float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])
        detail: dict[str, object] = {f"n = {n}": f"{1e3 * found:.2f} ms" for n, found in seconds.items()}
        name = f"centres: slope of {what} updates of {kind} digraphs against n"
        bound = ("2 ± 0.3", abs(slope - 2) <= 0.3) if what == "wide" and bounded else ("", None)
        lines.append(Line(name, slope, "", *bound, detail))
    return lines


def amortised(kind: str, n: int, width: int, updates: int) -> float:
    """Seconds of an update, with the share of an Init* for each of the n updates of a phase."""
    rng = np.random.default_rng((SEED, n))
    engine = Centres(most_records=n, depth=DEPTH)
    init = clock(partial(engine.init, graph(kind, n, rng), n))
    seconds = []
    for _ in range(updates):
        new = int(rng.integers(n)), rng.choice(n, width, replace=False), rng.choice(n, width, replace=False)
        seconds.append(clock(partial(engine.set, *new)))
        there = engine.edges
        gone = rng.choice(len(there), 2 * width, replace=False)
        seconds[-1] += clock(partial(engine.reset, (there.sources[gone], there.targets[gone])))
    return init / n + sum(seconds) / (2 * updates)


# --- contest ---------------------------------------------------------------------------------


def contest(kind: str, n: int, batches: int, chosen: dict[str, Any]) -> Line:
    """Milliseconds of a batch by each engine and by each way to start again."""
    rng = np.random.default_rng((SEED, n))
    start = graph(kind, n, rng)
    engines = {name: make() for name, make in {**chosen, "lanes": Lanes, "recompute": Recompute}.items()}
    again = {"packed bits": packed} | ({"BLAS squaring": squared} if len(chosen) > 1 else {})
    for engine in engines.values():
        engine.init(start, n)
    spent: dict[str, list[float]] = {name: [] for name in [*engines, *again]}
    for turn in range(batches + 1):
        inserted, deleted = batch(kind, n, engines["recompute"].edges, rng)
        found = {name: clock(partial(engine.apply, inserted, deleted)) for name, engine in engines.items()}
        after = engines["recompute"].edges
        found |= {name: clock(partial(action, after, n)) for name, action in again.items()}
        for name, seconds in found.items():
            spent[name] += [seconds] if turn else []  # the first one warms up
    pairs = np.random.default_rng(SEED).integers(n, size=(2, 10_000))
    for engine in engines.values():
        if not np.array_equal(engine.query(*pairs), engines["recompute"].query(*pairs)):
            raise SystemExit(f"{engine.name} disagrees with recompute on {kind} digraphs")
    mean = {name: 1e3 * float(np.mean(seconds)) for name, seconds in spent.items()}
    detail: dict[str, object] = {name: f"{found:.2f} ms a batch" for name, found in mean.items()}
    best = min(chosen, key=mean.__getitem__)
    detail["fastest of all"] = min(mean, key=mean.__getitem__)
    ratio = mean[best] / mean["recompute"]
    return Line(f"{kind}, n = {n}: {best} against recompute", ratio, "x", detail=detail)


def batch(kind: str, n: int, there: Edges, rng: np.random.Generator) -> tuple[Edges, Edges]:
    """Three edges come at one vertex, and three of those that there are go."""
    v = int(rng.integers(n))
    if kind == "dense DAG":
        v = int(rng.integers(n - 1))
        new = {(v, int(w)) for w in rng.integers(v + 1, n, size=3)}
    elif kind == "layered":
        layer = max(1, n // 16)
        v = int(rng.integers(n - layer))
        targets = (v // layer + 1) * layer + rng.integers(layer, size=3)
        new = {(v, int(min(w, n - 1))) for w in targets}
    else:
        new = {(v, int(w)) for w in rng.integers(n, size=2)} | {(int(rng.integers(n)), v)}
    present = set(zip(there.sources.tolist(), there.targets.tolist(), strict=True))
    new -= present
    gone = rng.choice(len(there), min(3, len(there)), replace=False)
    inserted = Edges.of([u for u, _ in new], [w for _, w in new])
    return inserted, Edges(there.sources[gone], there.targets[gone])


def graph(kind: str, n: int, rng: np.random.Generator) -> Edges:
    """A random digraph."""
    if kind == "dense":
        return Edges.of(*np.nonzero(rng.random((n, n)) < 0.25))
    if kind == "dense DAG":
        return Edges.of(*np.nonzero(np.triu(rng.random((n, n)) < 0.25, 1)))
    if kind == "layered":
        layer = max(1, n // 16)
        sources = np.repeat(np.arange(n - layer), 3)
        return _distinct(
            sources, np.minimum((sources // layer + 1) * layer + rng.integers(layer, size=len(sources)), n - 1)
        )
    count = n // 2 if kind == "sparse" else 2 * n
    return _distinct(rng.integers(n, size=count), rng.integers(n, size=count))


def packed(edges: Edges, n: int) -> np.ndarray:
    """The closure as packed rows, merged over the components."""
    return closed(from_coordinates(edges.sources, edges.targets, (n, n)))


def squared(edges: Edges, n: int) -> np.ndarray:
    """The closure by squaring I + X until it stays."""
    y = np.eye(n, dtype=np.float32)
    y[edges.sources, edges.targets] = 1
    while True:
        after = (y @ y > 0).astype(np.float32)
        if np.array_equal(after, y):
            return after
        y = after


# --- memory ----------------------------------------------------------------------------------


def memory(name: str, sizes: tuple[int, ...]) -> Line:
    """Bytes an entry."""
    detail: dict[str, object] = {}
    worst = 0.0
    for n in sizes:
        rng = np.random.default_rng((SEED, n))
        found = {}
        for kind in ("dense", "threshold"):
            engine = ENGINES[name]()
            engine.init(graph(kind, n, rng), n)
            found[kind] = engine.stats()["bytes"] / n**2
            if name == "centres" and kind == "dense":
                found["dense, n records"] = found[kind] + records(n) / n**2
            del engine
        worst = max(found.values())
        detail[f"n = {n}"] = ", ".join(f"{kind} {value:.2f}" for kind, value in found.items())
    detail["n that fits 8 GiB, dense"] = math.isqrt(int(GIB8 / worst))
    bound = ("<= 20", worst <= 20) if name == "centres" else ("", None)
    return Line(f"{name}: bytes an entry of n x n, at most", worst, "bytes", *bound, detail)


def records(n: int) -> int:
    """Bytes of n records, of a cycle whose edges come again one after the other."""
    every = np.arange(n)
    engine = Centres(most_records=n)
    engine.init(Edges.of(every, (every + 1) % n), n)
    for v in range(n):
        engine.set(v, row=[(v + 1) % n])
    return engine.records.bytes


def clock(action: Callable[[], object]) -> float:
    """Seconds of the processor."""
    started = time.process_time()
    action()
    return time.process_time() - started


def _distinct(sources: np.ndarray, targets: np.ndarray) -> Edges:
    pairs = np.unique(np.stack([sources, targets], axis=1), axis=0)
    return Edges.of(pairs[:, 0], pairs[:, 1])


def _warm_up() -> None:
    """Load the kernels."""
    rng = np.random.default_rng(0)
    for make in ENGINES.values():
        engine = make()
        engine.init(graph("threshold", 70, rng), 70)
        for _ in range(3):
            engine.apply(*batch("threshold", 70, engine.edges, rng))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    arguments = parser.parse_args()
    run(quick=arguments.quick, parts=tuple(arguments.parts))
