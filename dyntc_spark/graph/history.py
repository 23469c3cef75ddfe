"""Versions of a graph: what it was before a batch and after, and the pairs that differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.edge_set import EdgeSet
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.graph.inputs import DELETE, INSERT, Ends
from dyntc_spark.graph.paths import changed_pairs
from dyntc_spark.graph.vertices import VertexTable


@dataclass(frozen=True, slots=True)
class Graph:
    """A version of the graph: its edges, and the table that numbers their ends.

    Versions that grew out of each other share the table: a vertex that one of them has an edge at keeps its number.
    """

    vertices: VertexTable = field(default_factory=VertexTable)
    edges: EdgeSet = field(default_factory=lambda: EdgeSet.of(Edges.of()))

    def begun(self, edges: Edges, names: pa.Array) -> Graph:
        """Give the first version with edges, in any order and with repetitions; its vertices are ``names``."""
        self.vertices.add(names, np.arange(len(names)))
        return Graph(self.vertices, EdgeSet.of(edges))

    def after(self, inserted: Edges, deleted: Edges, names: pa.Array, numbers: Ids) -> Graph:
        """Give the next version, whose table has these new vertices."""
        edges = self.edges.replaced(inserted, deleted)
        self.vertices.add(names, numbers)
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


@dataclass(frozen=True, slots=True)
class Difference:
    """The pairs that became reachable from one version to the next, and those that became unreachable."""

    graph: Graph  #: whose numbers these are
    gained: Edges
    lost: Edges

    @classmethod
    def between(cls, before: Graph, after: Graph, closure: Engine) -> Difference:
        """Compare two versions, where ``closure`` is that of ``after``.

        Where the two are versions of one graph that differ, its last batch led from one to the other: if it
        remembers what that changed, nothing is worked out again.
        """
        if before.vertices is not after.vertices:
            before, after, closure = _renumbered(before, after)
        if before.edges is after.edges:
            return cls(after, Edges.of(), Edges.of())
        return cls(after, *(closure.changes() or changed_pairs(before.edges, after.edges, closure)))

    @property
    def rows(self) -> Ids:
        """The vertices that reach others now than before."""
        return np.unique(np.concatenate([self.gained.sources, self.lost.sources]))

    def named(self) -> tuple[Ends, pa.Array]:
        """Give the pairs with the names of their ends, and for each whether it was inserted or deleted."""
        gained, lost = self.gained, self.lost
        sources = np.concatenate([gained.sources, lost.sources])
        targets = np.concatenate([gained.targets, lost.targets])
        op = pa.array(np.repeat([INSERT, DELETE], [len(gained), len(lost)]), pa.string())
        return self.graph.named(Edges(sources, targets)), op


def _renumbered(before: Graph, after: Graph) -> tuple[Graph, Graph, Engine]:
    """Give two versions with tables of their own in the numbers of one, and the closure of the second."""
    table = VertexTable()
    table.add(after.vertices.names(), after.vertices.used)
    edges, names = table.numbered(before.named(before.edges.edges))
    numbers = np.arange(table.extent, table.extent + len(names))
    table.add(names, numbers)
    closure = Recompute()
    closure.init(after.edges.edges, table.extent)
    return Graph(table, EdgeSet.of(edges)), Graph(table, after.edges), closure
