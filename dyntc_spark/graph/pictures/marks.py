"""What the last batch changed, as far as a picture shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.version import Difference, Version
from dyntc_spark.kernels.ids import Indices

#: What a batch has changed is worked out for a small picture only if it is remembered, or the graph is small.
FEW_EDGES = 20_000


@dataclass(frozen=True, slots=True)
class Marks:
    """The edges that the last batch inserted and deleted, and how many pairs each vertex won and lost."""

    inserted: Edges
    deleted: Edges
    won: Indices  #: by vertex, how many others it reaches now and did not before
    lost: Indices

    def beside(self, vertex: Indices) -> Indices:
        """Return for each vertex whether the batch inserted or deleted an edge between it and another: 1, or 0."""
        found = np.zeros(len(self.won), np.int64)
        for edges in (self.inserted, self.deleted):
            found[edges.targets[np.isin(edges.sources, vertex)]] = 1
            found[edges.sources[np.isin(edges.targets, vertex)]] = 1
        return found


def of_last_batch(door: Door, *, thorough: bool) -> tuple[Version, Marks]:
    """Return a version with what its batch changed; ``thorough``: even where that has to be worked out.

    Pairs are not counted where the closure is on Spark, and nothing is marked if the batch replaced the graph.
    """

    def remembered(version: Version, closure: Reachability) -> tuple[Version, Difference | None]:
        if closure.backend == "spark" or version.before.origin is not version.graph.origin:
            return version, None
        found = Difference.remembered(version.before, version.graph, closure)
        if found is None and (thorough or len(version.graph.edges) <= FEW_EDGES):
            found = Difference.between(version.before, version.graph, closure)
        return version, found

    version, found = door.ask(remembered)
    return version, _marks(version, found)


def _marks(version: Version, difference: Difference | None) -> Marks:
    before, after, extent = version.before, version.graph, version.graph.vertices.extent
    inserted = deleted = Edges.of()
    if before.origin is after.origin and before.edges is not after.edges:
        inserted, deleted = after.edges.minus(before.edges), before.edges.minus(after.edges)
    pairs = [Edges.of()] * 2 if difference is None else [difference.gained, difference.lost]
    return Marks(inserted, deleted, *(np.bincount(each.sources, minlength=extent) for each in pairs))
