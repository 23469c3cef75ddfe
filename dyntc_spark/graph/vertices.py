"""The vertex table: vertices of any type, numbered from 0 in the order in which they came.

Engines know numbers only. A number stays with its vertex until that is dropped,
which only a vertex without edges can be; then the next new vertex gets it. An
engine has nothing to do for this: to it the number is a vertex without edges
before and after.

A table is a value: to add or to drop vertices makes another one, so that every version
of a graph keeps its own and any number of threads may read them.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.engine import Edges
from dyntc_spark.errors import UnknownVertexError, VertexTypeError
from dyntc_spark.graph.inputs import Ends
from dyntc_spark.graph.kinds import encoded, hashable, taken

#: Where room is made for numbers, one part of so many is for later ones.
SPARE_PART = 4
_NOTHING: Ids = np.zeros(0, np.int64)


class VertexTable:
    """Names of vertices by number, and numbers by name.

    Names lie in slots in the order in which they came; a number points to its slot.

    Tables that grow out of each other share the slots of their numbers, and one index from names to numbers, so that
    a new vertex costs the same however many there are. What a table shares may have vertices that only later tables
    have: their slots are behind those that are filled here, and so they are told apart.

    Examples
    --------
    >>> table = VertexTable()
    >>> edges, names = table.numbered(Ends(pa.array(["a", "b"]), pa.array(["b", "c"])))
    >>> edges.sources, edges.targets, names.to_pylist(), len(table)
    (array([0, 1]), array([1, 2]), ['a', 'b', 'c'], 0)
    >>> table = table.added(names, table.allotted(3))
    >>> table.numbers(pa.array(["c", "d"]))
    array([ 2, -1])
    >>> fewer = table.dropped([1])
    >>> fewer.allotted(2), fewer.names().to_pylist(), table.names().to_pylist()
    (array([1, 3]), ['a', 'c'], ['a', 'b', 'c'])
    """

    __slots__ = ("_extent", "_filled", "_free", "_index", "_shared", "_stored")

    def __init__(
        self,
        stored: tuple[pa.Array, ...] = (),
        shared: Slots | None = None,
        extent: int = 0,
        free: Ids = _NOTHING,
        index: dict[Any, int] | None = None,
    ) -> None:
        self._stored = stored  # parts of the slots; made one when they are read
        self._shared = shared or Slots(_NOTHING, 0)
        self._filled = self._shared.filled  # so many slots are filled here; later tables may fill more
        self._extent = extent
        self._free = free
        self._index = index  # None until it is needed

    @classmethod
    def of(cls, names: pa.Array, numbers: Ids, extent: int) -> VertexTable:
        """Return a table in which vertices have these numbers below ``extent``; the others are free."""
        slots = np.full(extent, -1)
        slots[numbers] = np.arange(len(numbers))
        return cls((names,) if len(names) else (), Slots(slots, len(names)), extent, np.flatnonzero(slots < 0))

    @property
    def kind(self) -> pa.DataType:
        """The type of the vertices; strings as long as there are none."""
        return self._stored[0].type if len(self) else pa.string()

    @property
    def extent(self) -> int:
        """All numbers are below this; those of dropped vertices count."""
        return self._extent

    @property
    def used(self) -> Ids:
        """The numbers that have a vertex, ascending."""
        return np.flatnonzero(self._slots() >= 0)

    def names(self, numbers: npt.ArrayLike | None = None) -> pa.Array:
        """Return the names of some vertices, or of all by their numbers; null for a number that is free."""
        if not len(self):
            return pa.nulls(0 if numbers is None else len(np.asarray(numbers)), self.kind)
        stored = self._stored
        if len(stored) > 1:
            stored = self._stored = (pa.concat_arrays(stored),)
        wanted = self.used if numbers is None else np.asarray(numbers, np.int64)
        slots = self._slots(wanted)
        return stored[0].take(pa.array(slots, mask=slots < 0))

    def numbers(self, names: pa.Array) -> Ids:
        """Return the numbers of vertices; -1 for those that are not there."""
        self.require_kind(names)
        if not len(self):
            return np.full(len(names), -1, np.int64)
        index = self._known()
        found = np.fromiter(map(index.get, hashable(names), repeat(-1)), np.int64, len(names))
        if len(index) > len(self):  # it has vertices of later tables
            found[found >= self.extent] = -1
            found[self._slots(found) < 0] = -1
        return found

    def known_numbers(self, names: pa.Array, *, refuse: bool = True) -> Ids:
        """Return the numbers of vertices; an error names the first that is not there, unless told not to ``refuse``."""
        numbers = self.numbers(names)
        if refuse and len(numbers) and numbers.min() < 0:
            missing = names[int(np.argmin(numbers))].as_py()
            raise UnknownVertexError(
                "a vertex of the graph",
                f"{missing!r}, which the graph does not have",
                "Check its spelling; reaches and query take unknown='false' to answer False.",
            )
        return numbers

    def numbered(self, ends: Ends) -> tuple[Edges, pa.Array]:
        """Return edges as numbers, with the vertices that are not there yet: these count from ``extent`` on."""
        places, different = encoded(pa.concat_arrays([ends.src, ends.dst]))
        numbers = self.numbers(different)
        new = (numbers < 0).nonzero()[0]
        numbers[new] = np.arange(self.extent, self.extent + len(new))
        found = numbers[places]
        return Edges(found[: len(ends)], found[len(ends) :]), taken(different, new)

    def allotted(self, count: int) -> Ids:
        """Return the numbers that so many new vertices are to get: free ones first."""
        if not count:
            return _NOTHING
        more = max(count - len(self._free), 0)
        return np.concatenate([self._free[:count], np.arange(self.extent, self.extent + more)])

    def added(self, names: pa.Array, numbers: Ids) -> VertexTable:
        """Return the table in which new vertices have numbers: those that were allotted to them, or behind all others.

        Costs the new vertices, on the average; all of them where another table has grown out of this one already.
        """
        if not len(names):
            return self
        stored, shared = (self._stored, self._shared) if len(self) else ((), None)  # else of another type, perhaps
        if shared is None or shared.filled > self._filled:
            shared = Slots(self._slots(), self._filled if len(self) else 0)
        reused = np.count_nonzero(numbers < self.extent)  # the first that are free
        extent = self.extent + len(numbers) - reused
        shared.fill(numbers, extent)
        index = self._index
        if index is not None and len(index) == len(self):
            index.update(zip(hashable(names), numbers.tolist(), strict=True))
        else:  # there is none, or another table has added to it already
            index = None
        return VertexTable(_joined((*stored, names)), shared, extent, self._free[reused:], index)

    def dropped(self, numbers: npt.ArrayLike) -> VertexTable:
        """Return the table without some vertices; their numbers are free.

        Slots without a number are cleared when they are the most.
        """
        gone = np.unique(np.asarray(numbers, np.int64))
        index = None
        if self._index is not None and len(self._index) == len(self):
            index = self._index.copy()
            for name in hashable(self.names(gone)):
                del index[name]
        slots = self._slots()
        slots[gone] = -1
        kept, stored, filled = np.flatnonzero(slots >= 0), self._stored, self._filled
        if 2 * len(kept) < filled:
            stored, filled = (self.names(kept),), len(kept)
            slots[kept] = np.arange(len(kept))
        return VertexTable(stored, Slots(slots, filled), self.extent, np.union1d(self._free, gone), index)

    def require_kind(self, names: pa.Array) -> None:
        """Refuse names of another type than the graph's vertices have."""
        if len(names) and len(self) and names.type != self.kind:
            raise VertexTypeError(
                f"vertices of type {self.kind}, as the graph has them",
                f"{names.type}, such as {names[0].as_py()!r}",
                "Convert them first; a struct is given as a dictionary or a Row.",
            )

    def _known(self) -> dict[Any, int]:
        """Return the index; made when it is first needed."""
        index = self._index
        if index is None:
            index = self._index = dict(zip(hashable(self.names()), self.used.tolist(), strict=True))
        return index

    def _slots(self, numbers: Ids | None = None) -> Ids:
        """Return the slots of some numbers, or of all; -1 for a number that is free here."""
        slots = self._shared.by_number
        slots = slots[: self._extent].copy() if numbers is None else slots[numbers]
        slots[slots >= self._filled] = -1
        return slots

    def __len__(self) -> int:
        return self._extent - len(self._free)


class Slots:
    """The slot of each number, -1 for one that is free; with room behind them.

    Only the last of the tables that share them may fill more.
    """

    __slots__ = ("by_number", "filled")

    def __init__(self, by_number: Ids, filled: int) -> None:
        self.by_number = by_number
        self.filled = filled

    def fill(self, numbers: Ids, extent: int) -> None:
        """Let new vertices have the next slots, where all numbers are below ``extent`` from now on."""
        held = self.by_number
        if extent > len(held):
            longer = np.full(extent + extent // SPARE_PART, -1)
            longer[: len(held)] = held
            held = longer
        held[numbers] = np.arange(self.filled, self.filled + len(numbers))
        self.by_number = held  # in one step: other threads read what older tables have of it
        self.filled += len(numbers)


def _joined(parts: tuple[pa.Array, ...]) -> tuple[pa.Array, ...]:
    """Join the last parts as long as they are not shorter than those before them: the lengths halve, at least."""
    while len(parts) > 1 and len(parts[-2]) <= len(parts[-1]):
        parts = (*parts[:-2], pa.concat_arrays(parts[-2:]))
    return parts
