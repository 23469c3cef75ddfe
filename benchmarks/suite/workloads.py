"""Workloads: a graph, groups of batches that change it one after the other, and questions at the end.

Insertions are drawn from a reserve of edges of the same kind as the graph's, and deleted edges go there. So a
closure keeps its character however long a script is, and a graph without cycles stays one. All follows from the seed.

=================  ===========================================================================================
``debian``         the dependencies of Debian's packages and the changes that security updates made
``debian-x10``     ten copies of it, joined by fifty random links
``random-1.0``     a random digraph with as many edges a vertex; 1 is the threshold of the giant component
``lineage``        tables in layers, each made of three tables of the layer before
``groups``         members in groups in groups with grants; some groups contain one another; mostly revocations
``dense``          an acyclic graph that has a quarter of all edges that it could have
``recent``         an acyclic graph with long rows; what a batch inserts, the next one deletes
=================  ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.packages import Packages
from dyntc_spark.edges import Edges

Batch = tuple[Edges, Edges]  #: what is inserted, what is deleted
#: The share of insertions in a script.
SCRIPTS = {"insert-heavy": 0.9, "mixed": 0.5, "delete-heavy": 0.1}
RECENT = "recent"  #: a script of its own: a batch inserts edges, and deletes those that the one before has inserted
TRIED = 10  #: changes of the batch that is only tried, at the end
SEED = 20_26


@dataclass(frozen=True)
class Group:
    """Batches of one size and kind; the first one is to warm up."""

    script: str
    size: int
    batches: tuple[Batch, ...]

    @property
    def name(self) -> str:
        return f"{self.script}/{self.size}"


@dataclass(frozen=True)
class Workload:
    """A graph and what happens to it."""

    name: str
    vertices: int
    edges: Edges
    groups: tuple[Group, ...]
    questions: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    acyclic: bool
    largest_component: int
    trial: Batch = (Edges.of(), Edges.of())  #: what would it change, after all groups?

    def save(self, path: Path) -> None:
        """Write it to a file, from which every system reads the same."""
        batches = [batch for group in self.groups for batch in group.batches]
        parts = [self.edges, *(part for batch in (*batches, self.trial) for part in batch)]
        arrays = {f"{side}{k}": getattr(part, side) for k, part in enumerate(parts) for side in ("sources", "targets")}
        about = [(group.script, group.size, len(group.batches)) for group in self.groups]
        facts = np.array([self.vertices, self.acyclic, self.largest_component])
        np.savez(
            path, name=self.name, facts=facts, groups=np.array(about, dtype="U32"), q=np.stack(self.questions), **arrays
        )

    @classmethod
    def load(cls, path: Path) -> Workload:
        """Read it from a file."""
        with np.load(path) as file:
            count = sum(name.startswith("sources") for name in file.files)
            parts = iter([Edges(file[f"sources{k}"], file[f"targets{k}"]) for k in range(count)])
            edges = next(parts)
            groups = tuple(
                Group(str(script), int(size), tuple((next(parts), next(parts)) for _ in range(int(batches))))
                for script, size, batches in file["groups"]
            )
            vertices, acyclic, largest = (int(fact) for fact in file["facts"])
            trial = next(parts), next(parts)
            return cls(str(file["name"]), vertices, edges, groups, tuple(file["q"]), bool(acyclic), largest, trial)


@dataclass(frozen=True)
class Graph:
    """Edges at the start, and a reserve of others of the same kind."""

    vertices: int
    edges: Edges
    reserve: Edges


def made(
    name: str,
    graph: Graph,
    repeats: Mapping[int, int],
    scripts: tuple[str, ...],
    *,
    real: Batch | None = None,
    questions: int = 100_000,
) -> Workload:
    """Make a workload: the ``real`` batch back and forth if there is one, then scripts with ever larger batches."""
    rng = np.random.default_rng(SEED)
    groups, drawn = [], _Drawn(graph, rng)
    if real is not None:
        back = real[1], real[0]
        groups.append(Group("real", len(real[0]) + len(real[1]), (real, back) * 3))
    for script in scripts:
        for size, times in repeats.items():
            if size <= len(graph.edges) // 2:
                batches = drawn.recent(size, times + 1) if script == RECENT else drawn.of(script, size, times + 1)
                groups.append(Group(script, size, tuple(batches)))
    (trial,) = drawn.of("mixed", min(TRIED, len(graph.edges) // 2), 1)
    every = Edges(
        *(
            np.concatenate([getattr(part, side) for part in (graph.edges, graph.reserve, *(real or ()))])
            for side in ("sources", "targets")
        )
    )
    largest = _largest_component(every, graph.vertices)
    loops = bool((every.sources == every.targets).any())
    asked = rng.integers(graph.vertices, size=(2, questions))
    return Workload(
        name,
        graph.vertices,
        graph.edges,
        tuple(groups),
        (asked[0], asked[1]),
        largest == 1 and not loops,
        largest,
        trial,
    )


def replaced(
    numbers: npt.NDArray[np.int64], new: npt.NDArray[np.int64], gone: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return ascending numbers without those that are gone, which were there, and with new ones, which were not."""
    kept = np.delete(numbers, np.searchsorted(numbers, gone))
    new = np.sort(new)
    return np.insert(kept, np.searchsorted(kept, new), new)


class _Drawn:
    """Draws batches: deletions from what is there, insertions from what is not."""

    def __init__(self, graph: Graph, rng: np.random.Generator) -> None:
        self._n, self._rng = graph.vertices, rng
        codes = (part.sources * self._n + part.targets for part in (graph.edges, graph.reserve))
        self._there, self._reserve = (np.unique(part) for part in codes)
        self._reserve = np.setdiff1d(self._reserve, self._there)

    def of(self, script: str, size: int, count: int) -> Iterator[Batch]:
        """Yield batches with the script's share of insertions."""
        for _ in range(count):
            gone = min(int(size * (1 - SCRIPTS[script]) + self._rng.random()), len(self._there))
            deleted = self._rng.choice(self._there, gone, replace=False)
            inserted = self._rng.choice(self._reserve, min(size - gone, len(self._reserve)), replace=False)
            yield self._batch(inserted, deleted)

    def recent(self, size: int, count: int) -> Iterator[Batch]:
        """Yield batches that insert edges and delete those that the batch before has inserted."""
        last = np.zeros(0, np.int64)
        for _ in range(count):
            inserted = self._rng.choice(self._reserve, min(size, len(self._reserve)), replace=False)
            yield self._batch(inserted, last)
            last = inserted

    def _batch(self, inserted: npt.NDArray[np.int64], deleted: npt.NDArray[np.int64]) -> Batch:
        self._there = replaced(self._there, inserted, deleted)
        self._reserve = replaced(self._reserve, deleted, inserted)
        return self._edges(inserted), self._edges(deleted)

    def _edges(self, codes: npt.NDArray[np.int64]) -> Edges:
        return Edges(codes // self._n, codes % self._n)


def _largest_component(edges: Edges, vertices: int) -> int:
    import scipy.sparse as sp  # noqa: PLC0415  (systems that read a workload don't need it)
    from scipy.sparse import csgraph  # noqa: PLC0415

    matrix = sp.csr_array((np.ones(len(edges), bool), (edges.sources, edges.targets)), shape=(vertices, vertices))
    return int(np.bincount(csgraph.connected_components(matrix, connection="strong")[1]).max())


# --- graphs ------------------------------------------------------------------------------------


def debian(copies: int = 1, part: int | None = None) -> tuple[Graph, Batch]:
    """Return the packages in so many copies, and the real changes to one of these.

    ``part`` keeps so many packages only: those that security updates changed and what they depend on, nearest first.
    """
    packages = Packages.load()
    if part is not None:
        packages = _near_changes(packages, part)
    packages = packages.copies(copies)
    n = packages.vertices
    there = np.unique(packages.edges.sources * n + packages.edges.targets)
    inserted, deleted = (one.sources * n + one.targets for one in (packages.inserted, packages.deleted))
    inserted, deleted = np.setdiff1d(inserted, there), np.intersect1d(deleted, there)
    start, new, gone = (Edges(codes // n, codes % n) for codes in (there, inserted, deleted))
    return Graph(n, start, Edges.of()), (new, gone)


def _near_changes(packages: Packages, part: int) -> Packages:
    order = np.unique(np.concatenate([packages.inserted.sources, packages.deleted.sources]))
    while len(order) < part:  # once more what those depend on
        further = packages.edges.targets[np.isin(packages.edges.sources, order)]
        new = np.setdiff1d(further, order)
        if not len(new):
            new = np.setdiff1d(np.arange(packages.vertices), order)
        order = np.append(order, new)
    order = np.sort(order[:part])
    kept = []
    for edges in (packages.edges, packages.inserted, packages.deleted):
        inside = np.isin(edges.sources, order) & np.isin(edges.targets, order)
        kept.append(Edges(*(np.searchsorted(order, side[inside]) for side in (edges.sources, edges.targets))))
    return Packages(part, *kept)


def random_digraph(n: int, degree: float) -> Graph:
    """Return a digraph with ``degree`` edges a vertex at random; the reserve is half as many again."""
    rng = np.random.default_rng((SEED, n, int(100 * degree)))
    return _parted(rng, n, *rng.integers(n, size=(2, int(1.5 * degree * n))), start=int(degree * n))


def lineage(n: int, layers: int = 16, sources: int = 3) -> Graph:
    """Return tables in layers: an edge leads from a table to one that it is made of, in the next layer."""
    rng = np.random.default_rng((SEED, n, layers))
    width = n // layers
    tails = np.repeat(np.arange((layers - 1) * width), sources + 1)
    # Most inputs are near: a pipeline reads what its own subject area has.
    heads = (tails // width + 1) * width + (tails % width + rng.geometric(0.2, len(tails))) % width
    return _parted(rng, n, tails, heads, start=sources * (layers - 1) * width)


def groups(n: int) -> Graph:
    """Return memberships: 3 of 4 vertices are members, the others groups in groups, some of them in cycles."""
    rng = np.random.default_rng((SEED, n))
    count = n // 4
    inner = np.arange(1, count)
    up = np.stack([inner, inner - 1 - rng.integers(np.minimum(inner, 20))])  # in an older group that is near
    mutual = up[::-1, rng.choice(count - 1, count // 50, replace=False)]  # the outer group is in the inner one, too
    members = np.repeat(np.arange(count, n), 2)
    joined = np.stack([members, rng.integers(count, size=len(members))])
    every = np.concatenate([up, mutual, joined], axis=1)
    return _parted(rng, n, *every, start=int(0.9 * every.shape[1]))


def dense(n: int) -> Graph:
    """Return an acyclic graph with a quarter of all edges that it could have, and a reserve of a quarter."""
    rng = np.random.default_rng((SEED, n, 4))
    tails, heads = np.triu_indices(n, 1)
    return _parted(rng, n, tails, heads, start=len(tails) // 4, most=len(tails) // 2)


def long_rows(n: int) -> Graph:
    """Return an acyclic graph with eight edges a vertex, to any later ones: a vertex reaches most of these."""
    rng = np.random.default_rng((SEED, n, 5))
    tails, heads = np.sort(rng.integers(n, size=(2, 12 * n)), axis=0)
    return _parted(rng, n, tails, heads, start=8 * n)


def _parted(
    rng: np.random.Generator,
    n: int,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    start: int,
    most: int | None = None,
) -> Graph:
    """Part edges at random into those at the start and a reserve; loops and repetitions are left out."""
    u, v = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
    codes = rng.permutation(np.unique((u * n + v)[u != v]))[:most]
    return Graph(n, *(Edges(part // n, part % n) for part in (codes[:start], codes[start:])))
