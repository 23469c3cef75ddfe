"""One edge at a time: what a change takes through ``DynamicClosure``, beside the engine alone, in one run.

On the dependencies of Debian's packages, and on an acyclic graph with one vertex that has most of the edges. Edges
drawn at random are deleted one after the other, then inserted again one by one; then edges to new
vertices are inserted. The engine alone is told the same changes by number. One core, time of
the processor, in milliseconds: the median and the slowest.

    python -m benchmarks single_changes [--quick]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import FrameType
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Line, report
from benchmarks.packages import DATA
from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes import build as lanes_build
from dyntc_spark.engines.lanes.engine import Lanes

SEED, SINGLES, QUICK_SINGLES = 11, 1000, 200
#: A change through the closure should take so many milliseconds at most, in the median.
MOST = 0.4
NO_EDGES = Edges.of()


@dataclass(frozen=True)
class Graph:
    """A digraph by number, and the names of its vertices."""

    names: list[str] | list[int]
    edges: Edges

    def table(self) -> pa.Table:
        """Return the edges by name."""
        names = pa.array(self.names)
        ends = (self.edges.sources, self.edges.targets)
        return pa.table({side: names.take(pa.array(end)) for side, end in zip(("src", "dst"), ends, strict=True)})


def debian() -> Graph:
    """Return the dependencies of Debian's packages, by their names."""
    depends = pq.read_table(DATA / "debian-depends.parquet")
    columns = [np.array(depends[side].to_pylist()) for side in ("src", "dst")]
    names, numbers = np.unique(np.concatenate(columns), return_inverse=True)
    return Graph(names.tolist(), Edges.of(*numbers.reshape(2, -1)))


def star(vertices: int = 38_811, rays: int = 30_000, others: int = 60_000) -> Graph:
    """Return an acyclic graph whose vertex 0 has most of the edges; its vertices are named by integers."""
    rng = np.random.default_rng(4)
    low, high = np.sort(rng.integers(1, vertices, (2, others)), axis=0)
    leaves = 1 + rng.permutation(vertices - 1)[:rays]
    sources = np.concatenate([np.zeros(rays, np.int64), low[low < high]])
    targets = np.concatenate([leaves, high[low < high]])
    keys = np.unique(sources * vertices + targets)
    return Graph(list(range(vertices)), Edges.of(*np.divmod(keys, vertices)))


def clock(action: Callable[[], object]) -> float:
    """Return the milliseconds that the processor spent."""
    begun = time.process_time_ns()
    action()
    return (time.process_time_ns() - begun) / 1e6


def calls(action: Callable[[], object]) -> int:
    """Return how many Python functions were called."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(called)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def lines(label: str, graph: Graph, singles: int) -> list[Line]:
    """Measure a graph: deletions, insertions, insertions with a new vertex."""
    closure = DynamicClosure.from_edges(graph.table(), engine="lanes", backend="local")
    engine, n = Lanes(), len(graph.names)
    engine.init(graph.edges, n)
    chosen = np.random.default_rng(SEED).permutation(len(graph.edges))[:singles]
    numbers = [(int(graph.edges.sources[at]), int(graph.edges.targets[at])) for at in chosen]
    ones = [Edges.of([source], [target]) for source, target in numbers]
    named = [[(graph.names[source], graph.names[target])] for source, target in numbers]
    kinds = type(graph.names[0])
    fresh = [[(graph.names[source], kinds(10**9 + at))] for at, (source, _) in enumerate(numbers)]
    grown = [Edges.of([source], [n + at]) for at, (source, _) in enumerate(numbers)]

    def grow(edge: Edges) -> None:
        engine.grow(engine.vertices + 1)
        engine.apply(edge, NO_EDGES)

    phases = {
        "delete": (closure.delete, named, partial(engine.apply, NO_EDGES), ones),
        "insert": (closure.insert, named, lambda edge: engine.apply(edge, NO_EDGES), ones),
        "insert with a new vertex": (closure.insert, fresh, grow, grown),
    }
    first = clock(partial(closure.delete, named[0]))  # builds the index of names, once
    closure.insert(named[0])
    found = [Line(f"{label}: the first change of all", first, "ms")]
    for phase, (ours, edges, alone, plain) in phases.items():
        seen = [
            (clock(partial(ours, edge)), clock(partial(alone, one))) for edge, one in zip(edges, plain, strict=True)
        ]
        whole, engines = ([pair[side] for pair in seen] for side in (0, 1))
        middle = statistics.median(whole)
        detail: dict[str, object] = {
            "slowest": f"{max(whole):.3f} ms",
            "first tenth, last tenth": "{:.3f}, {:.3f} ms".format(
                *(statistics.median(part) for part in (whole[: singles // 10], whole[-(singles // 10) :]))
            ),
            "engine alone": f"{statistics.median(engines):.3f} ms, slowest {max(engines):.3f} ms",
        }
        kept = (f"<= {MOST}", middle <= MOST) if phase in {"delete", "insert"} else ("", None)
        found.append(Line(f"{label}: {phase}", middle, "ms", *kept, detail))
    found.append(Line(f"{label}: Python calls of a deletion", calls(partial(closure.delete, named[0])), ""))
    return found


def run(*, quick: bool = False) -> bool:
    """Measure, print the table, and say whether the bounds were kept."""
    singles = QUICK_SINGLES if quick else SINGLES
    small = np.unique(np.random.default_rng(SEED).integers(0, 300**2, 450))
    with mock.patch.object(lanes_build, "MANY", sys.maxsize):  # one core
        for kind in (str, int):  # compiles, also what cycles need
            lines("warm-up", Graph([kind(v) for v in range(300)], Edges.of(*np.divmod(small, 300))), 300)
        found = lines("star", star(), singles)
        if not quick:
            found = [*lines("debian", debian(), singles), *found]
    return report("single_changes" + ("-quick" if quick else ""), found)


if __name__ == "__main__":
    sys.exit(0 if run(quick="--quick" in sys.argv[1:]) else 1)
