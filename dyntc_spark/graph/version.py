"""Versions of a graph: what it was before a batch and after, and the pairs that differ."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.abilities import changes_of
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.graph.changes.copies import Copies
from dyntc_spark.graph.inputs.numbering import united
from dyntc_spark.graph.inputs.read import DELETE, INSERT, Ends
from dyntc_spark.graph.questions.paths import changed_pairs
from dyntc_spark.graph.vertices.in_process import VertexTable
from dyntc_spark.graph.vertices.names import NewNames, Vertices
from dyntc_spark.kernels.ids import Indices


@dataclass(frozen=True, slots=True)
class Graph:
    """A version of the graph: its edges, and the table that numbers their ends. An immutable value."""

    vertices: Vertices = field(default_factory=VertexTable)
    edges: EdgeSet = field(default_factory=lambda: EdgeSet.of(Edges.of()))
    #: The same in graphs that grew out of each other, where a vertex keeps its number as long as it is there.
    origin: object = field(default_factory=object)
    #: Of each edge of a multigraph, beyond the first; None: the graph has each edge once.
    copies: Copies | None = None

    @property
    def size(self) -> int:
        """How many edges there are, in a multigraph with all their copies."""
        return len(self.edges) + (self.copies.total if self.copies else 0)

    def counts(self, edges: Edges) -> Indices:
        """Return how many copies there are of each of some edges that are there."""
        return 1 + self.copies.beyond(edges) if self.copies else np.ones(len(edges), np.int64)

    def begun(self, edges: Edges, names: pa.Array) -> Graph:
        """Return the first version with edges, in any order and with repetitions; its vertices are ``names``."""
        return replace(self, vertices=self.vertices.added(names, np.arange(len(names))), edges=EdgeSet.of(edges))

    def after(
        self, inserted: Edges, deleted: Edges, names: NewNames, numbers: Indices, counts: Indices | None = None
    ) -> Graph:
        """Return the next version, whose table has these new vertices.

        ``counts``, of a multigraph: how many copies there are from now on of the edges that are inserted, some of which
        may have been there.
        """
        edges, copies = self.edges.replaced(inserted, deleted), self.copies
        if copies is not None and counts is not None:
            copies = copies.replaced(deleted, np.zeros(len(deleted), np.int64)).replaced(inserted, counts - 1)
        return replace(self, vertices=self.vertices.added(names, numbers), edges=edges, copies=copies)

    def without(self, numbers: Indices) -> Graph:
        """Return the next version, whose table lacks these vertices; they have no edges."""
        return replace(self, vertices=self.vertices.dropped(numbers))

    def named(self, edges: Edges) -> Ends:
        """Return edges or pairs with the names of their ends."""
        return Ends(self.vertices.names(edges.sources), self.vertices.names(edges.targets))


@dataclass(frozen=True, slots=True)
class Tally:
    """How many changes had an effect, and how many had none."""

    inserted: int = 0
    deleted: int = 0
    insertions_ignored: int = 0
    deletions_ignored: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.inserted + other.inserted,
            self.deleted + other.deleted,
            self.insertions_ignored + other.insertions_ignored,
            self.deletions_ignored + other.deletions_ignored,
        )

    @property
    def ignored(self) -> int:
        """How many had no effect."""
        return self.insertions_ignored + self.deletions_ignored

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a closure, but for the closure itself: a value, from which any number of threads may answer."""

    graph: Graph = field(default_factory=Graph)
    before: Graph = field(default_factory=Graph)  #: what its batch has changed
    number: int = 0
    tally: Tally = field(default_factory=Tally)  #: of all batches
    last: Tally = field(default_factory=Tally)  #: of the last one
    engine: str = ""  #: the name of the engine at work
    backend: str = ""  #: where its state is

    def next(self, graph: Graph, last: Tally) -> Version:
        """Return the version that follows, with the counts of the batch that leads to it."""
        return Version(graph, self.graph, self.number + 1, self.tally + last, last, self.engine, self.backend)

    def __str__(self) -> str:
        sizes = f"{counted(len(self.graph.vertices), 'vertex', 'vertices')}, {counted(len(self.graph.edges), 'edge')}"
        place = "in process" if self.backend == "local" else "on Spark"
        return f"{sizes}; engine {self.engine!r} {place}, version {self.number}"


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number with what is counted.

    Examples
    --------
    >>> counted(1, "edge"), counted(64047, "vertex", "vertices")
    ('1 edge', '64,047 vertices')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


@dataclass(frozen=True, slots=True)
class Difference:
    """The pairs that became reachable from one version to the next, and those that became unreachable."""

    graph: Graph  #: whose numbers these are
    gained: Edges
    lost: Edges

    @classmethod
    def between(cls, before: Graph, after: Graph, closure: Reachability) -> Difference:
        """Compare two versions, where ``closure`` is that of ``after``, in this process.

        Where the two are versions of one graph that differ, its last batch led from one to the other: if it
        remembers what that changed, nothing is worked out again; else the closure before is built again.
        """
        known = cls.remembered(before, after, closure)
        if known is not None:
            return known
        if before.origin is not after.origin:
            before, after = renumbered(before, after)
            closure = Recompute()
            closure.init(after.edges.edges, after.vertices.extent)
        return cls(after, *changed_pairs(before.edges, after.edges, closure))

    @classmethod
    def remembered(cls, before: Graph, after: Graph, closure: Reachability) -> Difference | None:
        """Compare two versions if that takes no work; else return None."""
        if before.origin is not after.origin:
            return None
        if before.edges is after.edges:
            return cls(after, Edges.of(), Edges.of())
        found = changes_of(closure)
        return None if found is None else cls(after, *found)

    @property
    def rows(self) -> Indices:
        """The vertices whose descendants differ."""
        return np.unique(np.concatenate([self.gained.sources, self.lost.sources]))

    def named(self) -> tuple[Ends, pa.Array]:
        """Return the pairs with the names of their ends, and for each whether it was inserted or deleted."""
        pairs, op = self.changed()
        return self.graph.named(pairs), op

    def changed(self) -> tuple[Edges, pa.Array]:
        """Return the pairs, and for each whether it was inserted or deleted."""
        gained, lost = self.gained, self.lost
        sources = np.concatenate([gained.sources, lost.sources])
        targets = np.concatenate([gained.targets, lost.targets])
        op = pa.array(np.repeat([INSERT, DELETE], [len(gained), len(lost)]), pa.string())
        return Edges(sources, targets), op


def renumbered(before: Graph, after: Graph) -> tuple[Graph, Graph]:
    """Return two versions with different tables in the numbers of one table; those of the second stay."""
    table, numbers = united(after.vertices, before.vertices)
    edges = before.edges.edges
    edges = Edges(numbers[edges.sources], numbers[edges.targets])
    return Graph(table, EdgeSet.of(edges)), Graph(table, after.edges)
