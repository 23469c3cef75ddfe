"""``python -m dyntc_spark.closure.calibrate [--spark]``: measure on this machine what the steps of engines take.

Random acyclic graphs are built and changed, some with few pairs an edge and some
with many; what single steps take is then the solution, without negative numbers and
with the least squares of relative errors, of one equation a run. It takes some ten
seconds, and with ``--spark`` some more. The result goes to ``create(..., costs=...)``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from dyntc_spark import session
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.closure.costs import Costs
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh

#: Vertices of a graph, its edges a vertex, and how far these reach: the less, the longer the rows.
GRAPHS = ((2_000, 30, 2_000), (100_000, 1, 100_000), (60_000, 1, 3_000), (20_000, 2, 400), (6_000, 2, 60))
_NONE = Edges.of()


def measure(backend: SparkBackend | None = None, *, scale: float = 1.0, seed: int = 1) -> Costs:
    """Measure all constants; those of Spark only with a backend there.

    Parameters
    ----------
    backend
        Where jobs are timed.
    scale
        A part of the usual sizes, for tests.
    seed
        Of the graphs.
    """
    rng = np.random.default_rng(seed)
    graphs = [_graph(rng, max(50, int(scale * n)), degree, max(5, int(scale * reach))) for n, degree, reach in GRAPHS]
    costs = _builds(graphs, Costs())
    costs = _batches(graphs, costs, rng)
    costs = replace(costs, entry=_entry())
    return _jobs(graphs[-1], backend, costs) if backend else costs


def _graph(rng: np.random.Generator, n: int, degree: int, reach: int) -> tuple[Edges, int]:
    sources = rng.integers(n - 1, size=degree * n)
    return Edges.of(sources, np.minimum(n - 1, sources + rng.integers(1, reach + 1, size=len(sources)))), n


def _builds(graphs: list[tuple[Edges, int]], costs: Costs) -> Costs:
    rows, seconds = [], []
    for edges, n in graphs:
        engine = Recompute()
        seconds.append(_best(3, lambda engine=engine, edges=edges, n=n: engine.init(edges, n)))  # type: ignore[misc]
        rows.append((n, len(edges), engine.stats()["pairs"]))
    vertex, edge, number = _solved(rows, seconds)
    return replace(costs, vertex=vertex, edge=edge, number=number)


def _batches(graphs: list[tuple[Edges, int]], costs: Costs, rng: np.random.Generator) -> Costs:
    rows, seconds = [], []
    for edges, n in graphs:
        engine = Refresh(rebuild_share=1)
        engine.init(edges, n)
        engine.apply(_NONE, _NONE)  # the first batch makes what all need
        everywhere, on_top = np.arange(len(edges)), np.flatnonzero(~np.isin(edges.sources, edges.targets))
        # Edges that leave vertices which nothing leads to affect these only: they tell what a change costs by itself.
        batches = [(everywhere, count) for count in (1, 1, 1, 3, 3, 10, 30, 100)] + [(on_top, 100), (on_top, 600)]
        for among, count in batches * 2:
            some = rng.permutation(among)[:count]
            part = Edges(edges.sources[some], edges.targets[some])
            for changes in ((_NONE, part), (part, _NONE)):
                took = _best(1, lambda engine=engine, changes=changes: engine.apply(*changes))  # type: ignore[misc]
                load = engine.load()
                rows.append((1, len(some), load.affected * load.degree, load.changed * load.width))
                seconds.append(took)
    batch, change, affected, rebuilt = _solved(rows, seconds)
    return replace(costs, batch=batch, change=change, affected=affected, rebuilt=rebuilt)


def _entry() -> float:
    """A product and a sum of residues modulo a prime below 2**31."""
    values = np.random.default_rng(0).integers(2**31 - 1, size=10**6)
    return _best(3, lambda: (values * 12345 + values) % (2**31 - 1)) / len(values)


def _jobs(graph: tuple[Edges, int], backend: SparkBackend, costs: Costs) -> Costs:
    job = statistics.median(
        _best(1, lambda: backend.collect("calibrate", backend.spark.range(1, numPartitions=1))) for _ in range(7)
    )
    engine = Recompute(backend)
    took = _best(3, lambda: engine.init(*graph))
    numbers = engine.stats()["pairs"] / backend.parallelism
    return replace(costs, job=job, far_number=max(took - job - costs.condensing(engine.load()), 0) / max(numbers, 1))


def _best(times: int, action: Callable[[], object]) -> float:
    """Give the seconds of the fastest of some runs."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        found.append(time.perf_counter() - started)
    return min(found)


def _solved(rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """Give what each unit takes, with the least squares of relative errors."""
    weights = 1 / np.array(seconds)
    found, _ = nnls(np.array(rows, float) * weights[:, np.newaxis], np.ones(len(seconds)))
    return [float(value) for value in found]


def main() -> None:
    """Print the constants of this machine."""
    parser = argparse.ArgumentParser(prog="calibrate", description=__doc__)
    parser.add_argument("--spark", action="store_true", help="time jobs in a local Spark session, too")
    chosen = parser.parse_args()
    measure(scale=0.02)  # compiles the kernels
    print(measure(SparkBackend(session.local()) if chosen.spark else None))  # noqa: T201  (what it is for)


if __name__ == "__main__":
    main()
