"""Edges of a digraph as numbers, and sets of them: sorted keys ``source * 2**32 + target``.

A set is a value: a batch makes a new one, so that a batch that fails leaves the
old one as it was, and any number of threads may read one. Sets share most of their
keys, so that a small batch costs little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Axis
from dyntc_spark.errors import IndexOutsideError, ShapeMismatchError
from dyntc_spark.kernels import edge_keys
from dyntc_spark.kernels.components import without
from dyntc_spark.kernels.ids import Flags, Indices

#: Vertices are numbered below this.
MOST_VERTICES = 2**31 - 1
#: How many changes are noted, at least, before a pass over a set brings them in.
LEAST_CHANGES = 1024
#: Keys from which on they are sorted by their ends, where there are not many more vertices than these.
MANY_KEYS = 1 << 12
_LOW = 2**32 - 1
_NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges as two parallel arrays of vertex numbers."""

    sources: Indices
    targets: Indices

    @classmethod
    def of(cls, sources: npt.ArrayLike = (), targets: npt.ArrayLike = ()) -> Edges:
        """Return two lists of vertex numbers as edges."""
        return cls(np.asarray(sources, np.int64).reshape(-1), np.asarray(targets, np.int64).reshape(-1))

    def where(self, chosen: Flags | Indices) -> Edges:
        """Return some of the edges: those whose flag is set, or those at these places."""
        return Edges(self.sources[chosen], self.targets[chosen])

    @property
    def turned(self) -> Edges:
        """The edges in the other direction."""
        return Edges(self.targets, self.sources)

    @classmethod
    def joined(cls, parts: Iterable[Edges]) -> Edges:
        """Return several lists of edges one behind the other."""
        ends = zip(*((part.sources, part.targets) for part in parts), strict=True)
        return cls.of(*(np.concatenate(side) for side in ends))

    def __len__(self) -> int:
        return len(self.sources)


def keys_of(edges: Edges) -> Indices:
    """Return the key of each edge; keys ascend as the pairs (source, target) do."""
    keys: Indices = (edges.sources << 32) | edges.targets
    return keys


def edges_of(keys: Indices) -> Edges:
    """Return the edges that have these keys."""
    return Edges(keys >> 32, keys & _LOW)


def distinct(keys: Indices) -> Indices:
    """Return each key once, ascending."""
    if len(keys) < 2:
        return keys
    vertices = 1 + int(max(keys.max() >> 32, (keys & _LOW).max())) if len(keys) >= MANY_KEYS else MOST_VERTICES
    ascending = edge_keys.ascending(keys, vertices) if vertices <= 4 * len(keys) else np.sort(keys)
    first = np.ones(len(keys), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first]


def checked(edges: Edges, vertices: int) -> Edges:
    """Return the edges back; refuse those with an end that is no vertex, or without one."""
    if not 0 <= vertices <= MOST_VERTICES:
        raise IndexOutsideError(f"from 0 to {MOST_VERTICES} vertices", f"{vertices}", "Cut the graph into parts.")
    if len(edges.sources) != len(edges.targets):
        came = f"{len(edges.sources)} and {len(edges.targets)}"
        raise ShapeMismatchError("as many sources as targets", came, "Pass parallel lists.")
    if not len(edges):
        return Edges.of()
    axis = Axis(vertices, 1)
    return Edges(axis.ids(edges.sources, "vertex"), axis.ids(edges.targets, "vertex"))


def effect(inserted: Edges, deleted: Edges, vertices: int, has: Callable[[Edges], Flags]) -> tuple[Edges, Edges]:
    """Return a batch sorted, each edge once, without what changes nothing; an edge on both sides is inserted."""
    new, gone = (EdgeSet.of(checked(edges, vertices)) for edges in (inserted, deleted))
    inserted, deleted = new.edges, gone.minus(new)
    return inserted.where(~has(inserted)), deleted.where(has(deleted))


def answered(found: Flags, pairs: Edges, vertices: int) -> Flags:
    """Return answers about pairs back; refuse the pairs where a kernel gave none, for some end is no vertex."""
    if len(found) != len(pairs):
        checked(pairs, vertices)
    return found


class EdgeSet:
    """A set of edges.

    The keys are a sorted array that many sets share, and what was inserted and deleted since: two short ones.
    The three are one tuple, which is only ever replaced as a whole, by another one with the same edges.

    Parameters
    ----------
    keys
        Of the edges, ascending, each once.

    Examples
    --------
    >>> triangle = EdgeSet.of(Edges.of([2, 0, 1, 0], [0, 1, 2, 1]))
    >>> len(triangle), triangle.has(Edges.of([0, 0], [1, 2]))
    (3, array([ True, False]))
    >>> triangle.replaced(inserted=Edges.of([0], [2]), deleted=Edges.of([0], [1])).edges.targets
    array([2, 2, 0])
    """

    __slots__ = ("_parts",)

    def __init__(self, keys: Indices, added: Indices = _NOTHING, gone: Indices = _NOTHING) -> None:
        self._parts = keys, added, gone

    @classmethod
    def of(cls, edges: Edges) -> EdgeSet:
        """Make a set of edges in any order, with repetitions."""
        return cls.of_keys(keys_of(edges))

    @classmethod
    def of_keys(cls, keys: Indices) -> EdgeSet:
        """Make a set of the edges that have these keys, in any order, with repetitions."""
        return cls(keys if (keys[1:] > keys[:-1]).all() else distinct(keys))

    @property
    def parts(self) -> tuple[Indices, Indices, Indices]:
        """The parts, as ``kernels.edge_keys`` takes them: keys that are shared, what was added since, what is gone."""
        return self._parts

    @property
    def keys(self) -> Indices:
        """The keys, ascending, each once: a pass over the set when it was changed since this was last asked."""
        keys, added, gone = self._parts
        if len(added) or len(gone):
            kept = without(keys, gone)
            keys = np.insert(kept, np.searchsorted(kept, added), added)
            self._parts = keys, _NOTHING, _NOTHING
        return keys

    @property
    def edges(self) -> Edges:
        """The edges, sorted by source and target."""
        return edges_of(self.keys)

    def has(self, edges: Edges) -> npt.NDArray[np.bool_]:
        """Return for each edge whether it is in the set: a binary search."""
        found: npt.NDArray[np.bool_] = edge_keys.among(*self._parts, keys_of(edges))
        return found

    def replaced(self, inserted: Edges, deleted: Edges) -> EdgeSet:
        """Return the set without ``deleted`` and with ``inserted``, itself when it is the same.

        Costs a search for each change, and the changes since the last pass over the set: these are
        few, for there is such a pass when they are more than a small multiple of the root of its size.
        """
        base, added, gone = self._parts
        new, lost = distinct(keys_of(inserted)), distinct(keys_of(deleted))
        added, gone, changes = edge_keys.replaced(base, added, gone, new, lost)
        if not changes:
            return self
        changed = EdgeSet(base, added, gone)
        if len(added) + len(gone) > max(LEAST_CHANGES, 8 * math.isqrt(len(base))):
            changed.keys  # noqa: B018  (makes the pass)
        return changed

    def minus(self, other: EdgeSet) -> Edges:
        """Return the edges that ``other`` does not have."""
        return edges_of(without(self.keys, other.keys))

    def adjacency(self, vertices: int) -> tuple[Indices, npt.NDArray[np.int32]]:
        """Return the edges of vertex ``v`` as ``targets[offsets[v]:offsets[v + 1]]``, for all vertices."""
        return edge_keys.adjacency(self.keys, vertices)

    def leaving(self, sources: Indices) -> Edges:
        """Return the edges that leave ``sources``, in the order of these."""
        begins = np.searchsorted(self.keys, sources << 32)
        counts = np.searchsorted(self.keys, (sources + 1) << 32) - begins
        starts = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(begins - starts, counts)
        return edges_of(self.keys[places])

    def entering(self, target: int) -> Edges:
        """Return the edges that enter a vertex: a pass over the set."""
        return edges_of(self.keys[self.keys.astype(np.int32) == target])  # the lower half of a key is the target

    def __len__(self) -> int:
        base, added, gone = self._parts
        return len(base) + len(added) - len(gone)
