"""The graphs that papers on transitive closure measure, and what was published about them.

The Spark-based Datalog systems (BigDatalog, RaSQL) generate theirs: grids, random trees and random digraphs G(n, p). A
grid is the same everywhere. The others are drawn here, so that only their sizes are like the published ones.
Other graphs are files of edges, which are no part of this project (`benchmarks.lanes_graphs.LITERATURE`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numba
import numpy as np

from benchmarks.lanes_graphs import LITERATURE, Graph, grid, literature, tree
from dyntc_spark.edges import Edges

SEED = 7
#: Inner vertices of the published trees have 2 to 6 children; with this share of leaves ours are about as large.
CHILDREN, LEAVES = (2, 6), 3 / 8
SOURCES = {
    "BigDatalog": "A. Shkapsky et al., Big Data Analytics with Datalog Queries on Spark, SIGMOD 2016",
    "MNMGDatalog": "github.com/harp-lab/MNMGDatalog, which also has the counts of the files and the seconds of Slog",
}


@dataclass(frozen=True)
class Published:
    """What somebody else took for the same closure."""

    system: str
    hardware: str
    seconds: float
    source: str = "MNMGDatalog"

    def __str__(self) -> str:
        return f"{self.seconds:g} s ({self.system}, {self.hardware})"


def _gpus(one: float, many: float, *slog: float) -> tuple[Published, ...]:
    """Return the figures of MNMGDatalog on one GPU and on 32, and of Slog on 32 cores and on 1,024."""
    found = [Published("MNMGDatalog", "1 A100", one), Published("MNMGDatalog", "32 A100", many)]
    cores = zip(("32 cores", "1,024 cores"), slog, strict=False)
    return (*found, *(Published("Slog", hardware, seconds) for hardware, seconds in cores))


#: By graph: seconds that others published.
SECONDS: dict[str, tuple[Published, ...]] = {
    "usroads": _gpus(75.2, 1.74, 180, 11.1),
    "fe_ocean": _gpus(71.8, 2.05, 683, 28.5),
    "gnutella31": _gpus(9.87, 0.77, 316, 10.6),
    "sf_cedge": _gpus(2.16, 0.35),
}
#: By graph: pairs that others published, for what is generated in the same way everywhere.
PAIRS = {"grid150": 131_675_775, "grid250": 1_000_140_875}


def gnp(vertices: int, p: float) -> Graph:
    """Return a digraph that has each edge between two vertices with probability ``p``."""
    rng = np.random.default_rng((SEED, vertices))
    count = rng.binomial(vertices * (vertices - 1), p)
    keys = np.zeros(0, np.int64)
    while len(keys) < count:  # any set of so many is as likely as any other
        more = rng.integers(0, vertices * (vertices - 1), count - len(keys) + 1_000)
        keys = np.unique(np.append(keys, more))
    sources, others = np.divmod(rng.permutation(keys)[:count], vertices - 1)
    return Graph(vertices, Edges.of(sources, others + (others >= sources)), {})


#: What is generated, by name: grids of k by k squares, trees of a height, G(n, p) with p = 0.001 unless it says 0.01.
GENERATED: dict[str, Callable[[], Graph]] = {
    "grid150": partial(grid, 150),
    "grid250": partial(grid, 250),
    "tree11": partial(tree, 11, CHILDREN, leaves=LEAVES),
    "tree17": partial(tree, 17, CHILDREN, leaves=LEAVES),
    "g10k": partial(gnp, 10_000, 0.001),
    "g10k-0.01": partial(gnp, 10_000, 0.01),
    "g20k": partial(gnp, 20_000, 0.001),
    "g40k": partial(gnp, 40_000, 0.001),
    "g80k": partial(gnp, 80_000, 0.001),
}
#: Small ones of the same kinds, which take a moment.
QUICK: dict[str, Callable[[], Graph]] = {
    "grid20": partial(grid, 20),
    "tree5": partial(tree, 5, CHILDREN, leaves=LEAVES),
    "g400": partial(gnp, 400, 0.006),
}
FILES = tuple(LITERATURE)


def made(name: str, folder: Path | None) -> Graph:
    """Return a graph of a name: generated, or read from the folder."""
    make = {**GENERATED, **QUICK}.get(name)
    return make() if make else literature(folder or Path(), name)


def checked_by(name: str, graph: Graph) -> str:
    """Return what the number of pairs is compared with: the count that others published, a formula, or a search."""
    if name in FILES or name in PAIRS:
        return "a search" if graph.pairs is None else "the published count"
    return "a search" if graph.pairs is None else "a formula"


def on_cycles(edges: Edges, vertices: int) -> int:
    """Return how many vertices are on a cycle: Datalog has the pair (v, v) of these, and we leave it out."""
    component = _components(edges, vertices)
    several = np.bincount(component)[component] > 1
    several[edges.sources[edges.sources == edges.targets]] = True
    return int(np.count_nonzero(several))


def counted(edges: Edges, vertices: int) -> int:
    """Count the pairs of different vertices: scipy's components, and a search from each. Nothing is shared with us."""
    component = _components(edges, vertices)
    sizes = np.bincount(component, minlength=1)
    tails, heads = component[edges.sources].astype(np.int64), component[edges.targets]
    keys = np.unique((tails * len(sizes) + heads)[tails != heads])
    tails, heads = np.divmod(keys, len(sizes))
    starts = np.searchsorted(tails, np.arange(len(sizes) + 1))
    return int(_searched(starts, heads, sizes)) - vertices


def _components(edges: Edges, vertices: int):
    from scipy.sparse import csgraph, csr_array  # noqa: PLC0415  (workers that do not count need it not)

    matrix = csr_array((np.ones(len(edges), np.int8), (edges.sources, edges.targets)), shape=(vertices, vertices))
    return csgraph.connected_components(matrix, connection="strong")[1]


@numba.njit(cache=True)
def _searched(starts, heads, sizes):
    """Sum up, over all components, their size times the sizes of all that they reach, themselves included."""
    n = len(sizes)
    seen, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    pairs = 0
    for root in range(n):
        seen[root], queue[0], length, at, reached = root, root, 1, 0, sizes[root]
        while at < length:
            v = queue[at]
            at += 1
            for e in range(starts[v], starts[v + 1]):
                if seen[heads[e]] != root:
                    seen[heads[e]] = root
                    queue[length] = heads[e]
                    length += 1
                    reached += sizes[heads[e]]
        pairs += sizes[root] * reached
    return pairs
