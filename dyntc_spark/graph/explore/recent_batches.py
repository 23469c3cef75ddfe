"""What the last batches changed: edges and pairs, by the numbers of the current graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.errors import VersionError
from dyntc_spark.graph.changes.difference_on_spark import DifferenceOnSpark
from dyntc_spark.graph.questions.paths import changed_pairs
from dyntc_spark.graph.version import Difference, Graph, Version, renumbered
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Of larger graphs, only the last batch is looked at.
MOST_EDGES = 1_000_000

#: Returns an older version of the graph; None where it is not kept.
Older: TypeAlias = Callable[[int], Graph | None]
#: Returns the pairs that became reachable, and those that became unreachable, among ascending vertices.
Among: TypeAlias = Callable[[Indices], tuple[Edges, Edges]]


@dataclass(frozen=True, slots=True)
class Recent:
    """A batch. Ends that are no vertices any more have the number -1."""

    version: int
    inserted: Edges
    deleted: Edges
    won: int  #: how many pairs it made reachable
    lost: int
    among: Among


def recent(
    version: Version, closure: Reachability, older: Older, most: int, session: Callable[[], SparkSession]
) -> Iterator[Recent]:
    """Return the last batches, the last first, as far as they are known: in memory the last one only."""
    after, on_spark = version.graph, closure.backend == "spark"
    if on_spark or len(after.edges) > MOST_EDGES:
        most = min(most, 1)
    for number in range(version.number, max(version.number - most, 0), -1):
        known = number == version.number and version.before.edges is not after.edges
        before = version.before if known else None if on_spark else _older(older, number - 1)
        if before is None:
            return
        if known and before.origin is after.origin:
            edges = after.edges.minus(before.edges), before.edges.minus(after.edges)
            if on_spark:
                yield _on_spark(number, *edges, DifferenceOnSpark.between(before, after, closure, session()))
            else:
                found = Difference.between(before, after, closure)
                yield _here(number, *edges, found.gained, found.lost)
        elif not on_spark:
            yield _worked_out(number, before, after, version.graph)
        after = before


def _older(older: Older, version: int) -> Graph | None:
    try:
        return older(version)
    except VersionError:  # it has been removed
        return None


def _worked_out(number: int, before: Graph, after: Graph, now: Graph) -> Recent:
    """Compare two versions with different numberings; both closures are built for it."""
    before, after = renumbered(before, after)
    closure = Recompute()
    closure.init(after.edges.edges, after.vertices.extent)
    found = [after.edges.minus(before.edges), before.edges.minus(after.edges)]
    found += changed_pairs(before.edges, after.edges, closure)
    numbers = np.full(after.vertices.extent, -1, np.int64)
    used = after.vertices.used
    numbers[used] = now.vertices.known_numbers(after.vertices.names(used), refuse=False)
    return _here(number, *(Edges(numbers[edges.sources], numbers[edges.targets]) for edges in found))


def _here(number: int, inserted: Edges, deleted: Edges, won: Edges, lost: Edges) -> Recent:
    def among(vertices: Indices) -> tuple[Edges, Edges]:
        return within(won, vertices), within(lost, vertices)

    return Recent(number, inserted, deleted, len(won), len(lost), among)


def _on_spark(number: int, inserted: Edges, deleted: Edges, changed: DifferenceOnSpark | None) -> Recent:
    """Return a batch whose pairs are on Spark: one job counts them, another one brings those of the page here."""
    if changed is None:
        return _here(number, inserted, deleted, Edges.of(), Edges.of())
    pairs = changed.numbers
    counts = {row.won: row["count"] for row in pairs.groupBy("won").count().collect()}

    def among(vertices: Indices) -> tuple[Edges, Edges]:
        wanted = vertices.tolist()
        kept = DifferenceOnSpark(
            changed.graph, pairs.where(F.col("src").isin(wanted) & F.col("dst").isin(wanted)), changed.hold
        )
        found = kept.collected()
        return found.gained, found.lost

    return Recent(number, inserted, deleted, counts.get(True, 0), counts.get(False, 0), among)


def within(edges: Edges, vertices: Indices) -> Edges:
    """Return the edges or pairs whose ends are both among ``vertices``."""
    kept = np.isin(edges.sources, vertices) & np.isin(edges.targets, vertices)
    return Edges(edges.sources[kept], edges.targets[kept])
