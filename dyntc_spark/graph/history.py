"""Versions of a graph: what it was before a batch and after, and the pairs that differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pyarrow as pa

from dyntc_spark.closure.edge_set import EdgeSet
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.graph.inputs import DELETE, INSERT, Ends
from dyntc_spark.graph.paths import changed_pairs
from dyntc_spark.graph.vertices import VertexTable


@dataclass(frozen=True, slots=True)
class Graph:
    """A version of the graph: its edges, and the table that numbers their ends.

    Versions that grew out of each other share the table, which only grows.
    """

    vertices: VertexTable = field(default_factory=VertexTable)
    edges: EdgeSet = field(default_factory=lambda: EdgeSet.of(Edges.of()))

    def after(self, inserted: Edges, deleted: Edges, names: pa.Array) -> Graph:
        """Give the next version, whose table has these new vertices."""
        edges = self.edges.replaced(inserted, deleted)
        self.vertices.add(names)
        return Graph(self.vertices, edges)

    def named(self, edges: Edges) -> Ends:
        """Give edges or pairs with the names of their ends."""
        return Ends(self.vertices.names(edges.sources), self.vertices.names(edges.targets))


@dataclass(frozen=True, slots=True)
class Tally:
    """How many changes had an effect, and how many had none."""

    inserted: int = 0
    deleted: int = 0
    insertions_ignored: int = 0
    deletions_ignored: int = 0

    def plus(self, **more: int) -> Tally:
        """Add to some of the counts."""
        return replace(self, **{name: getattr(self, name) + count for name, count in more.items()})

    def as_dict(self) -> dict[str, int]:
        """Give the counts by name."""
        return asdict(self)


def changes_between(before: Graph, after: Graph, closure: Engine) -> tuple[Ends, pa.Array]:
    """Give the pairs that differ between two versions, and for each whether it became reachable or unreachable.

    ``closure`` is that of ``after``, and where the two are versions of one graph that differ, its last batch led
    from one to the other: if it remembers what that changed, nothing is worked out again.
    """
    if before.vertices is not after.vertices:
        before, after, closure = _renumbered(before, after)
    if before.edges.keys is after.edges.keys:
        gained = lost = Edges.of()
    else:
        gained, lost = closure.changes() or changed_pairs(before.edges, after.edges, closure)
    sources = np.concatenate([gained.sources, lost.sources])
    targets = np.concatenate([gained.targets, lost.targets])
    op = pa.array(np.repeat([INSERT, DELETE], [len(gained), len(lost)]), pa.string())
    return after.named(Edges(sources, targets)), op


def _renumbered(before: Graph, after: Graph) -> tuple[Graph, Graph, Engine]:
    """Give two versions with tables of their own in the numbers of one, and the closure of the second."""
    table = VertexTable()
    table.add(after.vertices.names())
    edges, names = table.numbered(before.named(before.edges.edges))
    table.add(names)
    closure = Recompute()
    closure.init(after.edges.edges, len(table))
    return Graph(table, EdgeSet.of(edges)), Graph(table, after.edges), closure
