"""How the work of the engine ``lanes`` grows, and where the time of one batch goes.

    python -m benchmarks growth [--quick]            growth, and a profile of a batch in this process
    python -m benchmarks growth --spark              the profile on a local Spark of two cores, too

*Growth*: exponents in the number of vertices, for Init, a single deletion and a batch of ten, on four kinds of graphs;
and in what a batch does, by the engine's own counts: words that change, words that are looked at, stripes that
are changed. An exponent is the slope of a line through the logarithms; R² says how well the line fits. A batch takes
some tenths of a millisecond however small it is, which lowers exponents where batches are small; the points are in the
results. Seconds are the processor's, of one core.

*Profile*: a batch of Debian's packages through ``DynamicClosure.apply``, there and back. In this process its time is
that of kernels, of the engine's Python around them, and of the graph layer: names, Arrow, versions. On Spark
`benchmarks.suite.profile` parts the time of the engine into jobs that do nothing, Arrow, kernels, tasks otherwise, and
the rest, which is mostly planning; it has the bytes that are shuffled, too.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import platform
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from benchmarks.harness import RESULTS, commit
from benchmarks.lanes_graphs import grid
from benchmarks.suite import profile, workloads
from benchmarks.suite.growth import fit
from benchmarks.suite.plots import brief
from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes import build as lanes_build
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.kernels.plain_first import compiling_all

SEED, SINGLES = 23, 30
BATCHES = (1, 3, 10, 30, 100, 300, 1_000)
COUNTS = ("words_changed", "words_looked_at", "stripes_changed")
NONE = Edges.of()
Facts = dict[str, Any]


def _grid(n: int) -> workloads.Graph:
    found = grid(max(2, round(n**0.5) - 1))
    return workloads.Graph(found.vertices, found.edges, NONE)


#: Kinds of graphs, by about so many vertices.
KINDS: dict[str, Callable[[int], workloads.Graph]] = {
    "grid": _grid,
    "lineage": workloads.lineage,
    "groups": workloads.groups,
    "random, one edge a vertex": lambda n: workloads.random_digraph(n, 1.0),
}


def cpu(action: Callable[[], object]) -> float:
    """Return the seconds that the processor spent."""
    begun = time.process_time()
    action()
    return time.process_time() - begun


def growth(sizes: Sequence[int]) -> Facts:
    """Fit exponents on every kind of graph."""
    with mock.patch.object(lanes_build, "MANY", sys.maxsize):  # one core
        for make in KINDS.values():  # compiles
            _kind(make, (sizes[0],), BATCHES[:3])
        return {name: _kind(make, sizes, BATCHES) for name, make in KINDS.items()}


def _kind(make: Callable[[int], workloads.Graph], sizes: Sequence[int], batches: Sequence[int]) -> Facts:
    points: dict[str, list[tuple[float, float]]] = {}
    for n in sizes:
        graph, engine = make(n), Lanes()
        builds = [cpu(functools.partial(engine.init, graph.edges, graph.vertices)) for _ in range(3)]
        points.setdefault("Init", []).append((graph.vertices, min(builds)))
        for what, size in (("deletion", 1), ("batch of 10", 10)):
            runs = [seconds for seconds, _ in _deleted(engine, graph.edges, [size] * SINGLES)]
            points.setdefault(what, []).append((graph.vertices, statistics.median(runs)))
    done = list(_deleted(engine, graph.edges, [size for size in batches if 4 * size < len(graph.edges)] * 3))
    work = {name: fit([(stats[name], seconds) for seconds, stats in done if stats[name]]) for name in COUNTS}
    return {"vertices": {name: fit(each) for name, each in points.items()}, "a batch": work}


def _deleted(engine: Lanes, edges: Edges, sizes: Sequence[int]) -> Iterator[tuple[float, Facts]]:
    """Delete so many edges at a time and put them back; yield the seconds and the engine's counts of each deletion."""
    rng = np.random.default_rng(SEED)
    for size in sizes:
        chosen = rng.choice(len(edges), size, replace=False)
        some = Edges(edges.sources[chosen], edges.targets[chosen])
        seconds = cpu(functools.partial(engine.apply, NONE, some))
        yield seconds, dict(engine.stats())
        engine.apply(some, NONE)


# --- the profile in this process ----------------------------------------------------------------


class Kernels:
    """Times every kernel that Python calls, while `watching`; all of them must be compiled before."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Put a clock around each kernel, wherever a module of the package has it."""
        from numba.core.dispatcher import Dispatcher  # noqa: PLC0415  (numba has no public name for it)

        with contextlib.ExitStack() as stack:
            for module in [each for name, each in sys.modules.items() if name.startswith("dyntc_spark")]:
                for name, value in list(vars(module).items()):
                    if isinstance(value, Dispatcher):
                        stack.enter_context(mock.patch.object(module, name, self._timed(value)))
            yield

    def _timed(self, kernel: Any) -> Callable[..., Any]:
        name = kernel.py_func.__name__

        @functools.wraps(kernel.py_func)
        def called(*arguments: Any, **named: Any) -> Any:
            begun = time.thread_time()
            try:
                return kernel(*arguments, **named)
            finally:
                self.seconds[name] += time.thread_time() - begun

        return called


def profiled(part: int | None, repeats: int) -> Facts:
    """Return where the time of Debian's 660 changes goes, there and back, in seconds of the processor a batch."""
    graph, real = workloads.debian(part=part)
    there, back = _table(*real), _table(*real[::-1])
    with compiling_all():
        closure = DynamicClosure.from_edges(_table(graph.edges).select(["src", "dst"]), backend="local")
        for _ in range(3):
            closure.apply(there)
            closure.apply(back)
    kernels, engine = Kernels(), Counter()
    inner = Lanes.apply

    def applied(self: Lanes, inserted: Edges, deleted: Edges) -> None:
        begun = time.process_time()
        inner(self, inserted, deleted)
        engine["seconds"] += time.process_time() - begun

    with kernels.watching(), mock.patch.object(Lanes, "apply", applied):
        total = cpu(lambda: [closure.apply(batch) for _ in range(repeats) for batch in (there, back)])
    batches, spent = 2 * repeats, sum(kernels.seconds.values())
    parts = {
        "kernels": spent,
        "engine's Python": engine["seconds"] - spent,
        "names, Arrow and versions": total - engine["seconds"],
    }
    return {
        "changes": there.num_rows,
        "seconds": total / batches,
        "parts": {name: seconds / batches for name, seconds in parts.items()},
        "largest kernels": {name: seconds / batches for name, seconds in kernels.seconds.most_common(8)},
    }


def _table(inserted: Edges, deleted: Edges = NONE) -> pa.Table:
    op = np.repeat(["insert", "delete"], [len(inserted), len(deleted)])
    ends = ([getattr(each, side) for each in (inserted, deleted)] for side in ("sources", "targets"))
    return pa.table({"op": op, **dict(zip(("src", "dst"), map(np.concatenate, ends), strict=True))})


# --- the command --------------------------------------------------------------------------------


def told(results: Facts) -> Iterator[str]:
    """Yield the results as lines."""
    for kind, found in results["growth"].items():
        for what in ("vertices", "a batch"):
            for name, line in found[what].items():
                if line["exponent"] is not None:
                    against = "vertices" if what == "vertices" else name.replace("_", " ")
                    of = name if what == "vertices" else "a batch"
                    yield f"{kind}: {of} against {against}: exponent {line['exponent']:.2f}, R² {line['fit']:.2f}"
    here = results["in process"]
    yield f"a batch of {here['changes']} changes in process: {brief(here['seconds'])}"
    for name, seconds in here["parts"].items():
        yield f"    {name:28}{brief(seconds):>10}  {seconds / here['seconds']:.0%}"
    for cores, found in results.get("on Spark", {}).items():
        for op in found["operations"]:
            shares = ", ".join(f"{kind} {brief(max(op[f'{kind} seconds'], 0))}" for kind in SHARES)
            yield f"{cores}: {op['engine']}, {op['what']}: {brief(op['seconds'])}: {shares}"


SHARES = ("jobs", "transfer", "kernels", "tasks", "rest")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and write the results as JSON."""
    parser = argparse.ArgumentParser(
        prog="benchmarks growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small graphs: seconds")
    parser.add_argument("--spark", action="store_true", help="also where the time goes on Spark")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results go (default: benchmarks/results)")
    options = parser.parse_args(words)
    about = {"commit": commit(), "python": platform.python_version(), "machine": platform.machine()}
    sizes = (1_024, 2_048, 4_096) if options.quick else (4_096, 8_192, 16_384, 32_768, 65_536)
    results: Facts = {"about": about, "growth": growth(sizes)}
    results["in process"] = profiled(3_000 if options.quick else None, 3 if options.quick else 20)
    if options.spark:
        vertices, cores = (6_000, [2]) if options.quick else (64_000, [1, 2])
        results["on Spark"] = profile.measured(vertices, cores, ["lanes"])
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / ("growth-quick.json" if options.quick else "growth.json")
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(*told(results), f"written to {path}", sep="\n")
    return 0


def run(*, quick: bool = False) -> bool:
    """Measure without Spark."""
    return main(["--quick"] if quick else []) == 0


if __name__ == "__main__":
    sys.exit(main())
