"""The closure in lanes against sorted rows (the engine ``refresh`` in this process), in one run.

For each graph: building, bytes a pair in the rows, single deletions and insertions (of edges drawn at random, each
put back), a batch, a question, and a list of all pairs. One core, seconds of the processor: threads are
switched off. The pairs of the two are compared, and with published counts where there are some.

    python -m benchmarks lanes [--quick]
    python -m benchmarks.lanes --graphs FOLDER grid150 usroads    (some graphs; FOLDER has those of the literature)

What the files in FOLDER hold is theirs to say: Parquet with the columns ``src`` and ``dst``, named ``usroads.parquet``,
``fe_ocean.parquet`` and so on. They are not part of the project.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow.parquet as pq

from benchmarks.harness import Line, report
from benchmarks.refresh import Packages
from dyntc_spark.closure import lanes_build
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.closure.lanes import Lanes
from dyntc_spark.closure.refresh import Refresh

SEED, SINGLES = 5, 40
NO_EDGES = Edges.of()


@dataclass(frozen=True)
class Graph:
    """A digraph, the size of its random batches, whether rows fit, and how many pairs it has by others' count."""

    vertices: int
    edges: Edges
    batch: int = 100
    rows: bool = True
    pairs: int | None = None


@dataclass(frozen=True)
class Target:
    """What lanes should reach: times as fast as rows, or seconds; and bytes a pair."""

    build: float | None = None
    deletion: float | None = None
    batch: float | None = None
    bytes: float | None = None


def grid(k: int, *, rows: bool = True) -> Graph:
    """Return k by k squares, with edges to the right and down."""
    places = np.arange((k + 1) ** 2).reshape(k + 1, k + 1)
    sources = np.concatenate([places[:-1].ravel(), places[:, :-1].ravel()])
    targets = np.concatenate([places[1:].ravel(), places[:, 1:].ravel()])
    ways = (k + 1) * (k + 2) // 2
    return Graph((k + 1) ** 2, Edges.of(sources, targets), rows=rows, pairs=ways * ways - (k + 1) ** 2)


def layered(layers: int, width: int) -> Graph:
    """Return layers with three edges from each vertex to the next one."""
    sources = np.repeat(np.arange((layers - 1) * width), 3)
    rng = np.random.default_rng(1)
    targets = (sources // width + 1) * width + rng.integers(0, width, len(sources))
    keys = np.unique(sources * layers * width + targets)
    return Graph(layers * width, Edges.of(*np.divmod(keys, layers * width)))


def tree(height: int, *, rows: bool = True) -> Graph:
    """Return a tree in which each vertex above the leaves has two to six children."""
    rng, level, count = np.random.default_rng(2), np.zeros(1, np.int64), 1
    sources, targets = [], []
    for _ in range(height):
        sources.append(np.repeat(level, rng.integers(2, 7, len(level))))
        level = np.arange(count, count + len(sources[-1]))
        targets.append(level)
        count += len(level)
    return Graph(count, Edges.of(np.concatenate(sources), np.concatenate(targets)), rows=rows)


def random_digraph(vertices: int, degree: float) -> Graph:
    """Return a digraph with so many random edges a vertex."""
    rng = np.random.default_rng(3)
    keys = np.unique(rng.integers(0, vertices**2, int(vertices * degree)))
    return Graph(vertices, Edges.of(*np.divmod(keys, vertices)))


def debian(copies: int = 1) -> Graph:
    """Return the dependencies of Debian's packages."""
    packages = Packages.load()
    packages = packages.copies(copies) if copies > 1 else packages
    return Graph(packages.vertices, packages.edges, batch=10_000)


#: By name: how the graph is made, and what lanes should reach on it.
GRAPHS: dict[str, tuple[Callable[[], Graph], Target]] = {
    "debian": (debian, Target(1.5, 3, 3, 1.0)),
    "debian10": (partial(debian, 10), Target(1.5, 3, None, 1.0)),
    "layered": (partial(layered, 16, 512), Target(5, 50, 10, 0.25)),
    "grid150": (partial(grid, 150), Target(20, 100, None, 0.16)),
    "random": (partial(random_digraph, 20_000, 1.5), Target()),
    "tree": (partial(tree, 9), Target(bytes=1.5)),
    "grid250": (partial(grid, 250, rows=False), Target(bytes=0.15)),
    "tree11": (partial(tree, 11, rows=False), Target(bytes=1.5)),
}
QUICK = ("layered", "random")
#: Files of the literature, with published numbers of pairs; that of gnutella31 has the 14,149 vertices on cycles, too.
LITERATURE: dict[str, tuple[int | None, Target]] = {
    "usroads": (871_365_688, Target(bytes=0.02)),
    "fe_ocean": (1_669_750_513, Target(bytes=0.1)),
    "sf_cedge": (80_498_014, Target()),
    "brightkite": (None, Target()),
    "fe_body": (None, Target()),
    "gnutella31": (884_179_859 - 14_149, Target()),
}


def literature(folder: Path, name: str) -> Graph:
    """Read a graph of the literature."""
    table = pq.read_table(folder / f"{name}.parquet")
    ends = [table.column(side).to_numpy(zero_copy_only=False) for side in ("src", "dst")]
    names, numbers = np.unique(np.concatenate(ends), return_inverse=True)
    pairs = LITERATURE[name][0]
    edges = Edges.of(numbers[: len(ends[0])], numbers[len(ends[0]) :])
    return Graph(len(names), edges, rows=pairs is None or pairs < 2 * 10**8, pairs=pairs)


def clock(action: Callable[[], object]) -> float:
    """Return the seconds that the processor spent."""
    begun = time.process_time()
    action()
    return time.process_time() - begun


def measured(graph: Graph, engine: Engine) -> dict[str, float]:
    """Return what an engine takes for each phase, in seconds, and its sizes."""
    rng = np.random.default_rng(SEED)
    found = {"build": min(clock(lambda: engine.init(graph.edges, graph.vertices)) for _ in range(3))}
    edges = engine.edges
    singles: dict[str, list[float]] = {"delete": [], "insert": []}
    for place in rng.integers(0, len(edges), SINGLES):
        edge = Edges.of([edges.sources[place]], [edges.targets[place]])
        singles["delete"].append(clock(partial(engine.apply, NO_EDGES, edge)))
        singles["insert"].append(clock(partial(engine.apply, edge, NO_EDGES)))
    found |= {name: statistics.median(seen) for name, seen in singles.items()}
    found |= {f"slowest {name}": max(seen) for name, seen in singles.items()}
    batches = []
    for _ in range(3):
        chosen = rng.permutation(len(edges))[: graph.batch]
        some = Edges(edges.sources[chosen], edges.targets[chosen])
        batches.append(clock(partial(engine.apply, NO_EDGES, some)) + clock(partial(engine.apply, some, NO_EDGES)))
    found["batch, there and back"] = statistics.median(batches)
    ends = rng.integers(0, graph.vertices, (2, 100_000))
    found["100,000 questions"] = min(clock(partial(engine.query, *ends)) for _ in range(3))
    stats = engine.stats()
    found["pairs"] = stats["pairs"]
    found["bytes a pair"] = stats.get("row_bytes", stats["bytes"]) / max(stats["pairs"] + graph.vertices, 1)
    return found


def lines(name: str, graph: Graph, target: Target) -> list[Line]:
    """Compare lanes with rows on a graph."""
    ours = measured(graph, Lanes())
    theirs = measured(graph, Refresh()) if graph.rows else {}
    if theirs and ours["pairs"] != theirs["pairs"]:
        sys.exit(f"{name}: {ours['pairs']} pairs in lanes, {theirs['pairs']} in rows")
    if graph.pairs is not None and ours["pairs"] != graph.pairs:
        sys.exit(f"{name}: {ours['pairs']} pairs in lanes, {graph.pairs} are known")
    wanted = {"build": target.build, "delete": target.deletion, "batch, there and back": target.batch}
    found = []
    for phase, seconds in ours.items():
        if phase in {"pairs", "bytes a pair"}:
            continue
        detail: dict[str, object] = {"lanes": f"{1e3 * seconds:.3f} ms"}
        if not theirs:
            found.append(Line(f"{name}: {phase}", 1e3 * seconds, "ms"))
            continue
        detail["rows"] = f"{1e3 * theirs[phase]:.3f} ms"
        ratio, bound = theirs[phase] / seconds, wanted.get(phase)
        kept = (f">= {bound:g}", ratio >= bound) if bound else ("", None)
        found.append(Line(f"{name}: {phase}", ratio, "x as fast", *kept, detail))
    size = {"pairs": f"{int(ours['pairs']):,}"} | ({"rows": f"{theirs['bytes a pair']:.3f}"} if theirs else {})
    kept = (f"<= {target.bytes:g}", ours["bytes a pair"] <= target.bytes) if target.bytes else ("", None)
    return [*found, Line(f"{name}: bytes a pair", ours["bytes a pair"], "", *kept, size)]


def run(*, quick: bool = False, names: tuple[str, ...] = (), folder: Path | None = None) -> bool:
    """Measure, print the table, and say whether the bounds were kept."""
    chosen = names or (QUICK if quick else (*GRAPHS, *(LITERATURE if folder else ())))
    measured(layered(3, 40), Lanes())  # compiles
    measured(layered(3, 40), Refresh())
    found = []
    with mock.patch.object(lanes_build, "MANY", sys.maxsize):  # one core
        for name in chosen:
            if name in GRAPHS:
                make, target = GRAPHS[name]
                found += lines(name, make(), target)
            elif name in LITERATURE and folder is not None:
                found += lines(name, literature(folder, name), LITERATURE[name][1])
            else:
                sys.exit(f"no graph {name!r}; there are {', '.join([*GRAPHS, *LITERATURE])}, the last with --graphs")
            print(f"{name} done", flush=True)
    return report("lanes" + ("-quick" if quick else ""), found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"graphs: {', '.join([*GRAPHS, *LITERATURE])}; by default all")
    parser.add_argument("--graphs", type=Path, help="the folder with the files of the literature")
    parser.add_argument("--quick", action="store_true", help="small graphs only")
    given = parser.parse_args()
    sys.exit(0 if run(quick=given.quick, names=tuple(given.names), folder=given.graphs) else 1)
