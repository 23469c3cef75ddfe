"""What a build from scratch leaves: the digraph, its components and their rows as they come out of the kernels."""

from __future__ import annotations

from typing import NamedTuple

from dyntc_spark.closure.components import Components, closed_within
from dyntc_spark.closure.condensed import State
from dyntc_spark.closure.edge_set import EdgeSet, answered
from dyntc_spark.closure.engine import Edges
from dyntc_spark.kernels import reach
from dyntc_spark.kernels.reach import Flags, Ids, Offsets


class Built(NamedTuple):
    """A digraph and its closure as a build leaves them; a batch that changes them needs a `State`."""

    edges: EdgeSet
    parts: Components
    row_offsets: Offsets
    heads: Ids

    @classmethod
    def of(cls, edges: EdgeSet, vertices: int, budget: int | None = None) -> Built:
        """Condense and close a digraph; refuse when the rows outgrow a budget of so many bytes."""
        parts = Components.of(edges, vertices)
        return cls(edges, parts, *closed_within(parts, budget))

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.parts.component)

    @property
    def pairs(self) -> int:
        """Number of pairs of two different vertices of which one reaches the other."""
        return reach.pairs(self.row_offsets, self.heads, self.parts.member_offsets) - self.vertices

    @property
    def numbers(self) -> int:
        """How many numbers all rows have."""
        return len(self.heads)

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def affected(self) -> int:
        """How many vertices a build looks at."""
        return self.vertices

    @property
    def bytes(self) -> int:
        """What is held in memory."""
        return sum(array.nbytes for array in (self.edges.keys, *self.parts, self.row_offsets, self.heads))

    def joined(self, pairs: Edges) -> Flags:
        """Tell for each pair of vertices whether the first reaches the second: a binary search each."""
        found = reach.joined(self.parts.component, self.row_offsets, self.heads, pairs.sources, pairs.targets)
        return answered(found, pairs, self.vertices)

    def state(self) -> State:
        """Give it as batches change it."""
        return State.kept(self.parts, self.row_offsets, self.heads)
