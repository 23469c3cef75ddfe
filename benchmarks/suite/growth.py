"""Growth: exponents of seconds against n, and against the pairs that a batch touches, for each engine in process.

Lineage graphs are taken, where a batch touches a small part of the closure. An exponent is the slope of a line
through the logarithms by least squares; beside it stands how well the line fits (R²). Pairs touched by a batch are
those that it made reachable or unreachable, counted by comparing closures. Seconds are the processor's, so that what
else the machine does changes little.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from benchmarks.suite import ours, workloads
from benchmarks.suite.workloads import Workload
from dyntc_spark.edges import Edges
from dyntc_spark.engines import registry
from dyntc_spark.engines.base import Engine
from dyntc_spark.engines.recompute import Recompute

SIZES_OF_BATCHES = (1, 3, 10, 30, 100, 300)
REPEATS = 5
BUDGET = 3.0  # seconds of batches of one kind for an engine


def measured(sizes: tuple[int, ...]) -> dict[str, Any]:
    """Fit the growth of every engine; those that are there to study the paper on graphs of an eighth of the size."""
    return {
        name: _engine(name, tuple(n // 8 for n in sizes) if name in ours.STUDIES else sizes)
        for name in registry.ENGINES
    }


def _engine(name: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    system = ours.Ours(name, "local")
    system.start(1)
    init, batch = {}, {}
    for n in sizes:
        workload = workloads.made("lineage", workloads.lineage(n), {10: REPEATS}, ("mixed",), questions=1)
        for _ in range(2):  # the first time warms up
            init[n] = _seconds(system.engine, workload)
            batch[n] = statistics.median(_batches(system.engine, workload)[1:])
    middle = workloads.lineage(sizes[len(sizes) // 2])
    touching = workloads.made("lineage", middle, dict.fromkeys(SIZES_OF_BATCHES, REPEATS), ("mixed",), questions=1)
    _seconds(system.engine, touching)
    seen = zip(_touched(touching), _batches(system.engine, touching), strict=False)
    row = {
        "init": fit(list(init.items())),
        "batch of 10": fit(list(batch.items())),
        "touched pairs": fit([(pairs, seconds) for pairs, seconds in seen if pairs]),
    }
    print(f"  {name:16}" + "".join(f"  {what}: {_exponent(fit)}" for what, fit in row.items()), flush=True)
    return row


def _seconds(engine: Engine, workload: Workload) -> float:
    started = time.process_time()
    engine.init(workload.edges, workload.vertices)
    return time.process_time() - started


def _batches(engine: Engine, workload: Workload) -> list[float]:
    """Return the seconds of each batch, of fewer when they take long."""
    found: list[float] = []
    for group in workload.groups:
        for inserted, deleted in group.batches:
            started = time.process_time()
            engine.apply(inserted, deleted)
            found.append(time.process_time() - started)
            if sum(found) > BUDGET and len(found) > 1:
                return found
    return found


def _touched(workload: Workload) -> list[int]:
    """Count the pairs that each batch adds or takes away."""
    engine = Recompute()
    engine.init(workload.edges, workload.vertices)
    before, found = _closure(engine), []
    for group in workload.groups:
        for inserted, deleted in group.batches:
            engine.apply(inserted, deleted)
            after = _closure(engine)
            found.append(len(np.setxor1d(before, after, assume_unique=True)))
            before = after
    return found


def _closure(engine: Engine) -> Any:
    pairs: Edges = engine.descendants(np.arange(engine.vertices))
    return pairs.sources * engine.vertices + pairs.targets


def fit(points: list[tuple[int, float]]) -> dict[str, Any]:
    """Return the slope of the logarithms and how well it fits; None with fewer than three points."""
    if len({x for x, _ in points}) < 3:
        return {"exponent": None, "points": points}
    x, y = np.log(np.array(points, float)).T
    slope, offset = np.polyfit(x, y, 1)
    spread = float(((y - y.mean()) ** 2).sum())
    rest = float(((y - slope * x - offset) ** 2).sum())
    return {"exponent": float(slope), "fit": 1 - rest / spread if spread else 1.0, "points": points}


def _exponent(fit: dict[str, Any]) -> str:
    return "-" if fit["exponent"] is None else f"{fit['exponent']:.2f}"
