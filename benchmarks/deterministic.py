"""The deterministic engines in this process: what an update costs, against each other and against starting again.

- *Growth*: ``centres`` on threshold digraphs (two edges a vertex), seconds of an update
  against n. An update is one Set* of three edges or one Reset* of three edges, in turns;
  each also pays its share of an Init* a phase of n updates. The slope should be 2, or less while n is small.
- *Contest*: one batch of both kinds by each engine, and three ways to start again: the engine
  ``recompute`` (components, sorted rows), its packed-bit form, and BLAS, which squares ``I + X`` until
  it stays. Digraphs are sparse (half an edge a vertex), at the threshold (two), dense (one
  pair in four) and layered (sixteen layers, three edges from a vertex to the next layer).
- *Memory*: bytes for each entry of n x n, with dense and with threshold digraphs, of
  ``centres`` also with n records; and the n that fits 8 GiB at that rate.

One core; seconds of the processor, so that what else the machine does changes little.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import Line, report
from dyntc_spark.closure.centres import Centres
from dyntc_spark.closure.divide_conquer import DivideConquer
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.logarithmic import Logarithmic
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from dyntc_spark.kernels.bits import from_coordinates
from dyntc_spark.kernels.leaf_closure import closed

SEED = 7
GROWTH = {False: (2048, 4096, 8192), True: (1024, 2048, 4096)}
DEPTH = 2  # the same for all sizes of the growth
CONTEST = {False: 1024, True: 256}
MEMORY = {False: (1024, 2048, 4096), True: (256, 512)}
ENGINES = {"logarithmic": Logarithmic, "divide_conquer": DivideConquer, "centres": Centres}
GIB8 = 8 * 2**30


def run(*, quick: bool = False) -> bool:
    """Measure, print the tables, and say whether the bounds were kept."""
    with threadpool_limits(1):
        _warm_up()
        lines = [
            *growth(GROWTH[quick], updates=16 if quick else 32),
            *contest(CONTEST[quick], batches=4),
        ]
        lines += memory(MEMORY[quick])
    return report("deterministic", lines)


# --- growth ----------------------------------------------------------------------------------


def growth(sizes: tuple[int, ...], updates: int) -> list[Line]:
    """Seconds of an update of ``centres`` against n, and the slope."""
    seconds = {n: amortised(n, updates) for n in sizes}
    slope = float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])
    detail: dict[str, object] = {f"n = {n}": f"{1e3 * found:.2f} ms" for n, found in seconds.items()}
    kept = slope <= 2.3  # at small n what a step starts with still shows, and the slope is below 2
    return [Line("centres: slope of an update against n", slope, "", "<= 2.3", kept, detail)]


def amortised(n: int, updates: int) -> float:
    """Seconds of an update, with the share of an Init* for each of the n updates of a phase."""
    rng = np.random.default_rng((SEED, n))
    engine = Centres(most_records=n, depth=DEPTH)
    edges = graph("threshold", n, rng)
    init = clock(lambda: engine.init(edges, n))
    update(engine, rng)  # loads what is loaded at the first call
    return init / n + sum(clock(lambda: update(engine, rng)) for _ in range(updates)) / (2 * updates)


def update(engine: Centres, rng: np.random.Generator) -> None:
    """One Set* and one Reset*."""
    n, there = engine.vertices, engine.edges
    engine.set(int(rng.integers(n)), rng.integers(n, size=2), rng.integers(n, size=1))
    gone = rng.choice(len(there), 3, replace=False)
    engine.reset((there.sources[gone], there.targets[gone]))


# --- contest ---------------------------------------------------------------------------------


def contest(n: int, batches: int) -> list[Line]:
    """Milliseconds of a batch, by kind of digraph."""
    return [_contest(kind, n, batches) for kind in ("sparse", "threshold", "dense", "layered")]


def _contest(kind: str, n: int, batches: int) -> Line:
    rng = np.random.default_rng((SEED, n))
    start = graph(kind, n, rng)
    makers = {**ENGINES, "centres": partial(Centres, depth=1), "refresh": Refresh, "recompute": Recompute}
    engines = {name: make() for name, make in makers.items()}
    for engine in engines.values():
        engine.init(start, n)
    spent: dict[str, list[float]] = {name: [] for name in [*engines, "packed bits", "BLAS squaring"]}
    for turn in range(batches + 1):
        there = engines["recompute"].edges
        inserted, deleted = batch(kind, n, there, rng)
        found = {name: clock(partial(engine.apply, inserted, deleted)) for name, engine in engines.items()}
        after = engines["recompute"].edges
        found["packed bits"] = clock(partial(packed, after, n))
        found["BLAS squaring"] = clock(partial(squared, after, n))
        for name, seconds in found.items():
            spent[name] += [seconds] if turn else []  # the first one warms up
    mean = {name: 1e3 * float(np.mean(seconds)) for name, seconds in spent.items()}
    detail: dict[str, object] = {name: f"{found:.2f} ms a batch" for name, found in mean.items()}
    best = min(ENGINES, key=mean.__getitem__)
    detail["fastest of the three"] = best
    ratio = mean[best] / mean["recompute"]
    return Line(f"{kind}, n = {n}: fastest of the three against recompute", ratio, "x", detail=detail)


def batch(kind: str, n: int, there: Edges, rng: np.random.Generator) -> tuple[Edges, Edges]:
    """Three edges come at one vertex, and three of those that there are go."""
    v = int(rng.integers(n))
    if kind == "layered":
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


def memory(sizes: tuple[int, ...]) -> list[Line]:
    """Bytes an entry."""
    lines = []
    for name, make in ENGINES.items():
        detail: dict[str, object] = {}
        worst = 0.0
        for n in sizes:
            rng = np.random.default_rng((SEED, n))
            found = {}
            for kind in ("dense", "threshold"):
                engine = make(**({"most_records": 2 * n} if name == "centres" else {}))
                engine.init(graph(kind, n, rng), n)
                found[kind] = engine.bytes / n**2
                if name == "centres" and kind == "dense":
                    for v in range(n):
                        engine.set(v, row=[(v + 1) % n])
                    found["dense, n records"] = engine.bytes / n**2
                del engine
            worst = max(found.values())
            shown = ", ".join(f"{kind} {value:.2f}" for kind, value in found.items())
            detail[f"n = {n}"] = shown
        detail["n that fits 8 GiB, dense"] = math.isqrt(int(GIB8 / worst))
        bound = ("<= 20", worst <= 20) if name == "centres" else ("", None)
        lines.append(Line(f"{name}: bytes an entry of n x n, at most", worst, "bytes", *bound, detail))
    return lines


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
    run(quick=True)
