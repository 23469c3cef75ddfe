"""The graphs on which `benchmarks.lanes` measures, their batches, and what should be reached on each.

Packages of Debian and copies of them, members in groups, tables in layers, random digraphs below, at and above the
threshold of the giant component, grids, trees, and graphs of the literature. The files of these are not part of the
project: Parquet with the columns ``src`` and ``dst``, named ``usroads.parquet``, ``fe_ocean.parquet`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.suite import workloads
from dyntc_spark.edges import Edges

SEED, QUESTIONS = 5, 100_000
MOST_PAIRS_AS_ROWS = 2 * 10**8  # sorted rows take four bytes for each
WIDE = "an edge that gives 48,666 packages a pair each"
NONE, SIDES = Edges.of(), ("sources", "targets")


@dataclass(frozen=True)
class Graph:
    """A digraph, its batches by name (insertions, deletions), and what others know about it."""

    vertices: int
    edges: Edges
    batches: Mapping[str, tuple[Edges, Edges]]
    rows: bool = True  #: whether sorted rows of it fit into memory
    pairs: int | None = None  #: by others' count

    def save(self, path: Path) -> None:
        """Write what a worker needs."""
        rng = np.random.default_rng(SEED)
        arrays = {
            f"{kind} {name}": _stacked(part)
            for name, batch in self.batches.items()
            for kind, part in zip(("inserted", "deleted"), batch, strict=True)
        }
        questions = rng.integers(0, self.vertices, (2, QUESTIONS))
        np.savez(path, vertices=np.array(self.vertices), edges=_stacked(self.edges), questions=questions, **arrays)


@dataclass(frozen=True)
class Target:
    """What lanes should reach."""

    times: Mapping[str, float] = field(default_factory=dict)  #: so many times as fast as the engine before, by phase
    most: Mapping[str, float] = field(default_factory=dict)  #: so many seconds by phase, bytes a pair, bytes in all


def _stacked(edges: Edges) -> npt.NDArray[np.int64]:
    return np.stack([edges.sources, edges.targets])


def _first(edges: Edges, count: int) -> Edges:
    return Edges(edges.sources[:count], edges.targets[:count])


def random_batches(edges: Edges, *sizes: int) -> dict[str, tuple[Edges, Edges]]:
    """Return batches that delete so many edges each, drawn at random."""
    rng = np.random.default_rng(SEED)
    found = {}
    for size in sizes:
        chosen = rng.permutation(len(edges))[:size]
        found[f"batch of {size:,}"] = NONE, Edges(edges.sources[chosen], edges.targets[chosen])
    return found


def _plain(vertices: int, edges: Edges, *, rows: bool = True, pairs: int | None = None) -> Graph:
    return Graph(vertices, edges, random_batches(edges, 100), rows, pairs)


def grid(k: int, *, rows: bool = True) -> Graph:
    """Return k by k squares, with edges to the right and down."""
    places = np.arange((k + 1) ** 2).reshape(k + 1, k + 1)
    sources = np.concatenate([places[:-1].ravel(), places[:, :-1].ravel()])
    targets = np.concatenate([places[1:].ravel(), places[:, 1:].ravel()])
    ways = (k + 1) * (k + 2) // 2
    return _plain((k + 1) ** 2, Edges.of(sources, targets), rows=rows, pairs=ways * ways - (k + 1) ** 2)


def layered(layers: int, width: int) -> Graph:
    """Return layers with three edges from each vertex to the next one."""
    sources = np.repeat(np.arange((layers - 1) * width), 3)
    rng = np.random.default_rng(1)
    targets = (sources // width + 1) * width + rng.integers(0, width, len(sources))
    keys = np.unique(sources * layers * width + targets)
    return _plain(layers * width, Edges.of(*np.divmod(keys, layers * width)))


def small() -> Graph:
    """Return a graph with some cycles and batches that make and break others, to warm up."""
    edges = layered(5, 400).edges
    up, down = Edges.of(np.arange(1_600, 1_640), np.arange(40)), Edges.of(np.arange(40), np.arange(1_600, 1_640))
    cyclic = Edges(*(np.concatenate([getattr(part, side) for part in (edges, up, down)]) for side in SIDES))
    ring = Edges.of(np.arange(1_700, 1_900), np.roll(np.arange(1_700, 1_900), -1))
    batches = {"rings": (ring, up), **random_batches(cyclic, 1, 10, 100, 1_000)}
    return Graph(2_000, cyclic, batches)


def tree(height: int, children: tuple[int, int], *, leaves: float = 0, seed: int = 2, rows: bool = True) -> Graph:
    """Return a tree in which each inner vertex has a random number of children, from the first to the last.

    A share of the vertices above the last level, ``leaves``, has no children. A vertex has as many ancestors as its
    depth, so the sum of depths is the number of pairs.
    """
    rng, level, count, pairs = np.random.default_rng(seed), np.zeros(1, np.int64), 1, 0
    sources, targets = [], []
    for depth in range(1, height + 1):
        inner = level[rng.random(len(level)) >= leaves] if leaves and depth > 1 else level
        sources.append(np.repeat(inner, rng.integers(children[0], children[1] + 1, len(inner))))
        level = np.arange(count, count + len(sources[-1]))
        targets.append(level)
        count, pairs = count + len(level), pairs + depth * len(level)
    return _plain(count, Edges.of(np.concatenate(sources), np.concatenate(targets)), rows=rows, pairs=pairs)


def random_digraph(vertices: int, degree: float) -> Graph:
    """Return a digraph with so many random edges a vertex; from one on it has a giant component."""
    rng = np.random.default_rng(3)
    keys = np.unique(rng.integers(0, vertices**2, int(vertices * degree)))
    return _plain(vertices, Edges.of(*np.divmod(keys, vertices)))


def of_the_suite(make: Callable[[], workloads.Graph]) -> Graph:
    """Return a graph of the suite; its batches take edges of the reserve in and others out."""
    graph = make()
    batches = random_batches(graph.edges, 100)
    size = min(50, len(graph.reserve))
    out, new = batches["batch of 100"][1], graph.reserve
    batches["batch of 100, half of it new"] = _first(new, size), _first(out, size)
    return Graph(graph.vertices, graph.edges, batches)


def debian(copies: int = 1) -> Graph:
    """Return the dependencies of Debian's packages, with the changes that security updates made.

    The wide edge leads from the package that most depend on to one that nobody knows.
    """
    graph, real = workloads.debian(copies)
    popular = int(np.bincount(graph.edges.targets).argmax())
    known = np.zeros(graph.vertices, bool)
    known[graph.edges.sources] = known[graph.edges.targets] = True
    wide = Edges.of([popular], [int(known.argmin())])
    batches = {"batch of 660": real, **random_batches(graph.edges, 10_000), WIDE: (wide, NONE)}
    return Graph(graph.vertices, graph.edges, batches)


QUESTION = {"one question": 3e-6}
#: By name: how the graph is made, and what lanes should reach on it.
GRAPHS: dict[str, tuple[Callable[[], Graph], Target]] = {
    "debian": (
        debian,
        Target(
            {"build": 1.5, "delete": 3, "batch of 660": 1.5, "batch of 10,000": 3, WIDE: 50},
            {"bytes a pair": 1.0} | QUESTION,
        ),
    ),
    "debian10": (
        partial(debian, 10),
        Target({"build": 1.5, "delete": 3, "batch of 660": 1.5, WIDE: 50}, {"bytes a pair": 1.0}),
    ),
    "layered": (
        partial(layered, 16, 512),
        Target({"build": 5, "delete": 50, "batch of 100": 10}, {"bytes a pair": 0.25} | QUESTION),
    ),
    "groups": (partial(of_the_suite, partial(workloads.groups, 40_000)), Target()),
    "lineage": (partial(of_the_suite, partial(workloads.lineage, 8_192)), Target()),
    "random0.5": (partial(random_digraph, 100_000, 0.5), Target()),
    "random1.0": (partial(random_digraph, 100_000, 1.0), Target()),
    "random1.5": (partial(random_digraph, 20_000, 1.5), Target()),
    "grid150": (partial(grid, 150), Target({"build": 20, "delete": 100}, {"bytes a pair": 0.16} | QUESTION)),
    "grid250": (
        partial(grid, 250, rows=False),
        Target(most={"bytes a pair": 0.15, "build": 1, "delete": 5e-3, "peak of memory, built": 500e6}),
    ),
    "tree9": (partial(tree, 9, (2, 6)), Target(most={"bytes a pair": 1.5})),
    "tree12": (
        partial(tree, 12, (2, 5), seed=76, rows=False),
        Target(most={"bytes a pair": 1.5, "build": 4, "delete": 1e-3}),
    ),
}
QUICK = ("layered", "groups")
#: Files of the literature, with published numbers of pairs; that of gnutella31 has the 14,149 vertices on cycles, too.
LITERATURE: dict[str, tuple[int | None, Target]] = {
    "usroads": (
        871_365_688,
        Target(most={"bytes a pair": 0.02, "build": 0.3, "delete": 5e-3, "slowest delete": 50e-3}),
    ),
    "fe_ocean": (1_669_750_513, Target(most={"bytes a pair": 0.1, "build": 1.5, "delete": 3e-3})),
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
    return _plain(len(names), edges, rows=pairs is None or pairs < MOST_PAIRS_AS_ROWS, pairs=pairs)
