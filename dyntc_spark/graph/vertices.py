"""The vertex table: vertices of any type, numbered from 0 in the order in which they came.

Engines know numbers only. A number stays with its vertex until that is dropped,
which only a vertex without edges can be; then the next new vertex gets it. An
engine has nothing to do for this: to it the number is a vertex without edges
before and after.

A table is a value: to add or to drop vertices makes another one, so that every version
of a graph keeps its own and any number of threads may read them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.engine import Edges
from dyntc_spark.errors import UnknownVertexError, VertexTypeError
from dyntc_spark.graph.inputs import Ends
from dyntc_spark.graph.kinds import encoded, hashable

_NOTHING: Ids = np.zeros(0, np.int64)


class VertexTable:
    """Names of vertices by number, and numbers by name.

    Names lie in slots in the order in which they came; a number points to its slot.

    Tables that grow out of each other share one index from names to numbers. So the index of a table may have
    vertices that only later tables have: their numbers are not in use here, and so they are told apart.

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

    __slots__ = ("_free", "_index", "_slots", "_stored")

    def __init__(
        self,
        stored: tuple[pa.Array, ...] = (),
        slots: Ids = _NOTHING,
        free: Ids = _NOTHING,
        index: dict[Any, int] | None = None,
    ) -> None:
        self._stored = stored  # parts of the slots; made one when they are read
        self._slots = slots  # by number; -1 for a number that is free
        self._free = free
        self._index = index  # None until it is needed

    @classmethod
    def of(cls, names: pa.Array, numbers: Ids, extent: int) -> VertexTable:
        """Give a table in which vertices have these numbers below ``extent``; the others are free."""
        slots = np.full(extent, -1)
        slots[numbers] = np.arange(len(numbers))
        return cls((names,) if len(names) else (), slots, np.flatnonzero(slots < 0))

    @property
    def kind(self) -> pa.DataType:
        """The type of the vertices; strings as long as there are none."""
        return self._stored[0].type if len(self) else pa.string()

    @property
    def extent(self) -> int:
        """All numbers are below this; those of dropped vertices count."""
        return len(self._slots)

    @property
    def used(self) -> Ids:
        """The numbers that have a vertex, ascending."""
        return np.flatnonzero(self._slots >= 0)

    def names(self, numbers: npt.ArrayLike | None = None) -> pa.Array:
        """Give the names of some vertices, or of all by their numbers; null for a number that is free."""
        if not len(self):
            return pa.nulls(0 if numbers is None else len(np.asarray(numbers)), self.kind)
        stored = self._stored
        if len(stored) > 1:
            stored = self._stored = (pa.concat_arrays(stored),)
        wanted = self.used if numbers is None else np.asarray(numbers, np.int64)
        slots = self._slots[wanted]
        return stored[0].take(pa.array(slots, mask=slots < 0))

    def numbers(self, names: pa.Array) -> Ids:
        """Give the numbers of vertices; -1 for those that are not there."""
        self.require_kind(names)
        if not len(self):
            return np.full(len(names), -1, np.int64)
        index = self._known()
        found = np.fromiter((index.get(name, -1) for name in hashable(names)), np.int64, len(names))
        if len(index) > len(self):  # it has vertices of later tables
            found[found >= self.extent] = -1
            found[self._slots[found] < 0] = -1
        return found

    def known_numbers(self, names: pa.Array, *, refuse: bool = True) -> Ids:
        """Give the numbers of vertices; an error names the first that is not there, unless told not to ``refuse``."""
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
        """Give edges as numbers, with the vertices that are not there yet: these count from ``extent`` on."""
        places, different = encoded(pa.concat_arrays([ends.src, ends.dst]))
        numbers = self.numbers(different)
        new = numbers < 0
        numbers[new] = np.arange(self.extent, self.extent + np.count_nonzero(new))
        found = numbers[places]
        return Edges(found[: len(ends)], found[len(ends) :]), different.filter(pa.array(new))

    def allotted(self, count: int) -> Ids:
        """Give the numbers that so many new vertices are to get: free ones first."""
        more = max(count - len(self._free), 0)
        return np.concatenate([self._free[:count], np.arange(self.extent, self.extent + more)])

    def added(self, names: pa.Array, numbers: Ids) -> VertexTable:
        """Return the table in which new vertices have the numbers that were allotted to them."""
        if not len(names):
            return self
        stored = self._stored if len(self) else ()  # else of another type, perhaps
        slot = sum(map(len, stored))
        slots = np.full(max(self.extent, int(numbers.max()) + 1), -1)
        slots[: self.extent] = self._slots
        slots[numbers] = np.arange(slot, slot + len(names))
        index = self._index
        if index is not None and len(index) == len(self):
            index.update(zip(hashable(names), numbers.tolist(), strict=True))
        else:  # there is none, or another table has added to it already
            index = None
        return VertexTable((*stored, names), slots, np.setdiff1d(self._free, numbers), index)

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
        slots = self._slots.copy()
        slots[gone] = -1
        kept, stored = np.flatnonzero(slots >= 0), self._stored
        if 2 * len(kept) < sum(map(len, stored)):
            stored = (self.names(kept),)
            slots[kept] = np.arange(len(kept))
        return VertexTable(stored, slots, np.union1d(self._free, gone), index)

    def require_kind(self, names: pa.Array) -> None:
        """Refuse names of another type than the graph's vertices have."""
        if len(names) and len(self) and names.type != self.kind:
            raise VertexTypeError(
                f"vertices of type {self.kind}, as the graph has them",
                f"{names.type}, such as {names[0].as_py()!r}",
                "Convert them first; a struct is given as a dictionary or a Row.",
            )

    def _known(self) -> dict[Any, int]:
        """Give the index; made when it is first needed."""
        index = self._index
        if index is None:
            index = self._index = dict(zip(hashable(self.names()), self.used.tolist(), strict=True))
        return index

    def __len__(self) -> int:
        return len(self._slots) - len(self._free)
