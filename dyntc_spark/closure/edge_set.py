"""The edges of a digraph as a set: one sorted array of keys ``source * 2**32 + target``.

A set is a value: a batch makes a new one, so that a batch that fails leaves the
old one as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.engine import Edges
from dyntc_spark.kernels.reach import without

#: Vertices are numbered below this.
MOST_VERTICES = 2**31 - 1
_LOW = 2**32 - 1


def keys_of(edges: Edges) -> Ids:
    """Give the key of each edge; keys ascend as the pairs (source, target) do."""
    keys: Ids = (edges.sources << 32) | edges.targets
    return keys


def edges_of(keys: Ids) -> Edges:
    """Give the edges that have these keys."""
    return Edges(keys >> 32, keys & _LOW)


def distinct(keys: Ids) -> Ids:
    """Give each key once, ascending."""
    ascending = np.sort(keys)
    return ascending[np.flatnonzero(np.diff(ascending, prepend=-1))]


@dataclass(frozen=True, slots=True)
class EdgeSet:
    """A set of edges.

    Examples
    --------
    >>> triangle = EdgeSet.of(Edges.of([2, 0, 1, 0], [0, 1, 2, 1]))
    >>> len(triangle), triangle.has(Edges.of([0, 0], [1, 2]))
    (3, array([ True, False]))
    >>> triangle.replaced(inserted=Edges.of([0], [2]), deleted=Edges.of([0], [1])).edges.targets
    array([2, 2, 0])
    """

    #: Ascending, each once.
    keys: Ids

    @classmethod
    def of(cls, edges: Edges) -> EdgeSet:
        """Make a set of edges in any order, with repetitions."""
        return cls(distinct(keys_of(edges)))

    @property
    def edges(self) -> Edges:
        """The edges, sorted by source and target."""
        return edges_of(self.keys)

    def has(self, edges: Edges) -> npt.NDArray[np.bool_]:
        """Tell for each edge whether it is in the set."""
        keys = keys_of(edges)
        if not len(self):
            return np.zeros(len(keys), np.bool_)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
        found: npt.NDArray[np.bool_] = self.keys[places] == keys
        return found

    def replaced(self, inserted: Edges, deleted: Edges) -> EdgeSet:
        """Give the set without ``deleted`` and with ``inserted``: linear in the set, without sorting it again."""
        kept = self.keys
        if len(deleted):
            kept = without(kept, distinct(keys_of(deleted)))
        if len(inserted):
            new = without(distinct(keys_of(inserted)), kept)
            kept = np.insert(kept, np.searchsorted(kept, new), new)
        return EdgeSet(kept)

    def minus(self, other: EdgeSet) -> Edges:
        """Give the edges that ``other`` does not have."""
        return edges_of(without(self.keys, other.keys))

    def adjacency(self, vertices: int) -> tuple[Ids, npt.NDArray[np.int32]]:
        """Give the edges of vertex ``v`` as ``targets[offsets[v]:offsets[v + 1]]``, for all vertices."""
        firsts = np.arange(vertices + 1, dtype=np.int64) << 32
        return np.searchsorted(self.keys, firsts), (self.keys & _LOW).astype(np.int32)

    def leaving(self, sources: Ids) -> Edges:
        """Give the edges that leave ``sources``, in the order of these."""
        begins = np.searchsorted(self.keys, sources << 32)
        counts = np.searchsorted(self.keys, (sources + 1) << 32) - begins
        starts = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(begins - starts, counts)
        return edges_of(self.keys[places])

    def __len__(self) -> int:
        return len(self.keys)
