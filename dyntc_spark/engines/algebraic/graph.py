"""The digraph of the algebraic engine: its edges in both directions, and their weights.

Weights are hashes (``kernels.edge_weights``); a vertex has a salt, which is 0 until the edges that
leave it get fresh weights. The graph changes before the matrix does, and back when that fails.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.algebraic.woodbury import Change, signed
from dyntc_spark.engines.certificate import Successors
from dyntc_spark.engines.topology import Adjacency
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.edge_weights import edge_weights
from dyntc_spark.kernels.ids import Indices


class Graph:
    """A digraph whose edges have weights modulo primes.

    Parameters
    ----------
    edges
        Sorted by source and target.
    """

    def __init__(self, edges: Edges, vertices: int) -> None:
        self._forth = Adjacency(edges, vertices)
        self._back = Adjacency(edges.turned, vertices)
        self.salts = np.zeros(vertices, np.uint64)
        self.key = 0

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.salts)

    def __len__(self) -> int:
        return len(self._forth)

    @property
    def edges(self) -> Edges:
        """The edges, sorted."""
        return self._forth.edges()

    @property
    def successors(self) -> Successors:
        """Where the edges of each vertex lead to."""
        return self._forth.successors

    @property
    def predecessors(self) -> Successors:
        """Where they come from."""
        return self._back.successors

    def into(self, targets: Indices) -> Successors:
        """Where the edges of each vertex lead to, of those that lead to one of ``targets``."""
        return Successors.of(_listed(self.predecessors, targets).turned, self.vertices)

    def out_of(self, sources: Indices) -> Successors:
        """Where the edges of each vertex come from, of those that come from one of ``sources``."""
        return Successors.of(_listed(self.successors, sources).turned, self.vertices)

    def has(self, edges: Edges) -> npt.NDArray[np.bool_]:
        """Which of these edges are present."""
        return self._forth.has(edges)

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert edges that are absent, delete edges that are present: the degrees of their ends."""
        self._forth.delete(deleted)
        self._forth.insert(inserted)
        self._back.delete(deleted.turned)
        self._back.insert(inserted.turned)

    def grow(self, vertices: int) -> None:
        """Let there be this many vertices; the new ones have no edges."""
        self._forth.grow(vertices)
        self._back.grow(vertices)
        self.salts = np.append(self.salts, np.zeros(vertices - self.vertices, np.uint64))

    def weights(self, edges: Edges, salts: npt.NDArray[np.uint64], primes: tuple[int, ...]) -> Ints:
        """Return the weights of edges, ``[plane, edge]``."""
        found = edge_weights(edges.sources, edges.targets, salts[edges.sources], self.key, primes)
        return found.astype(np.int64)

    def change(self, inserted: Edges, deleted: Edges, primes: tuple[int, ...]) -> Change:
        """Return the edges of a batch, and by how much their weights change."""
        edges, signs = signed(inserted, deleted)
        return _reduced(edges, self.weights(edges, self.salts, primes) * signs, primes)

    def redrawn(
        self, inserted: Edges, deleted: Edges, salts: npt.NDArray[np.uint64], primes: tuple[int, ...]
    ) -> Change:
        """Return all edges that leave the sources of a batch, and by how much their weights change with other salts.

        The batch is in the graph already.
        """
        after = EdgeSet.of(_listed(self.successors, np.unique(np.append(inserted.sources, deleted.sources))))
        before = after.replaced(inserted=deleted, deleted=inserted)
        edges = after.replaced(inserted=deleted, deleted=Edges.of()).edges
        fresh, old = (self.weights(edges, each, primes) for each in (salts, self.salts))
        more = np.where(after.has(edges), fresh, 0) - np.where(before.has(edges), old, 0)
        return _reduced(edges, more, primes)


def _listed(successors: Successors, vertices: Indices) -> Edges:
    """Return the edges of some vertices, in the direction that they are kept in."""
    starts, degrees, targets = successors
    counts = degrees[vertices]
    places = np.arange(counts.sum()) + np.repeat(starts[vertices] - np.cumsum(counts) + counts, counts)
    return Edges(np.repeat(vertices, counts), targets[places].astype(np.int64))


def _reduced(edges: Edges, weights: Ints, primes: tuple[int, ...]) -> Change:
    return Change(edges, weights % np.array(primes, np.int64)[:, None])
