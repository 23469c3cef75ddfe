"""The matrix of a closure, in small: how full each part of it is, and whose rows and columns are the fullest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyntc_spark.edges import Edges
from dyntc_spark.engines.abilities import CountsReached, reach_counts
from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.pictures.condensation import Condensation
from dyntc_spark.graph.pictures.labels import label
from dyntc_spark.graph.version import Graph
from dyntc_spark.kernels.ids import Indices

SAMPLE = 1024
NAMED = 6  # rows, and as many columns
LONGEST = 20
#: Names are at least this share of the side apart.
APART = 0.06
#: Where the engine has to unfold all pairs to count them, rows are named up to this many vertices.
FEW = 10_000


@dataclass(frozen=True, slots=True)
class Named:
    """A vertex beside its row or column."""

    place: float  #: from 0 to 1, in a topological order
    beside: float  #: where there is room for the name
    label: str
    count: int  #: how many others it reaches, for a row; for a column, how many reach it


@dataclass(frozen=True, slots=True)
class Matrix:
    """How full each part of a closure's matrix is, from 0 to 1; vertices are in a topological order."""

    full: npt.NDArray[np.float64]
    vertices: int
    rows: list[Named]
    columns: list[Named]
    pairs: int | None = None  #: how many are reachable, where that was counted

    @property
    def about(self) -> str:
        """What the sides of the matrix are."""
        counted = "" if self.pairs is None else f"{self.pairs:,} pairs of "
        return f"{counted}{self.vertices:,} vertices, each before those that it reaches"


def matrix(graph: Graph, condensed: Condensation, closure: Reachability, parts: int) -> Matrix:
    """Return the matrix in this many parts, or fewer for a small graph."""
    order = np.argsort(-condensed.component, kind="stable")
    rows: list[Named] = []
    columns: list[Named] = []
    pairs = None
    if closure.backend == "local" and (isinstance(closure, CountsReached) or len(order) <= FEW):
        below, above = reach_counts(closure, condensed.vertices)
        rows, columns = (_heaviest(graph, condensed, order, counts) for counts in (below, above))
        pairs = int(below.sum())
    return Matrix(density(condensed, closure, parts), len(order), rows, columns, pairs)


def density(condensed: Condensation, closure: Reachability, parts: int) -> npt.NDArray[np.float64]:
    """Return how full each part is, from a sample of the rows, evenly spaced."""
    n = len(condensed.vertices)
    parts = max(1, min(parts, n))
    if not n:
        return np.zeros((1, 1))
    order = np.argsort(-condensed.component, kind="stable")
    place = np.zeros(int(condensed.vertices.max()) + 1, np.int64)
    place[condensed.vertices[order]] = np.arange(n)
    sample = condensed.vertices[order][np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))]
    found: Edges = closure.descendants(sample)
    row, column = place[found.sources] * parts // n, place[found.targets] * parts // n
    full = np.bincount(row * parts + column, minlength=parts * parts).reshape(parts, parts)
    widths = np.bincount(np.arange(n) * parts // n, minlength=parts)
    sampled = np.bincount(place[sample] * parts // n, minlength=parts)
    return np.asarray(full / np.maximum(np.outer(sampled, widths), 1))


def _heaviest(graph: Graph, condensed: Condensation, order: Indices, counts: Indices) -> list[Named]:
    """Return the vertices with the highest counts, in their order."""
    places = np.empty(len(order), np.float64)
    places[order] = (np.arange(len(order)) + 0.5) / len(order)
    chosen = [at for at in np.argsort(-counts, kind="stable")[:NAMED].tolist() if counts[at]]
    chosen.sort(key=lambda at: places[at])
    names = graph.vertices.names(condensed.vertices[chosen]).to_pylist()
    beside = _apart([float(places[at]) for at in chosen])
    return [
        Named(float(places[at]), free, label(name, LONGEST), int(counts[at]))
        for at, free, name in zip(chosen, beside, names, strict=True)
    ]


def _apart(places: list[float]) -> list[float]:
    """Return ascending places from 0 to 1 a little moved, so that names fit there.

    Examples
    --------
    >>> [round(place, 2) for place in _apart([0.2, 0.97, 0.98, 0.99])]
    [0.2, 0.88, 0.94, 1.0]
    """
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + APART) if found else place)
    last = 1.0
    for at in reversed(range(len(found))):
        found[at] = min(found[at], last)
        last = found[at] - APART
    return found
