"""The vertex table: vertices of any type, numbered from 0 in the order in which they came.

Engines know numbers only. A number stays with its vertex until that is dropped,
which only a vertex without edges can be; then the next new vertex gets it. An
engine has nothing to do for this: to it the number is a vertex without edges
before and after.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.engine import Edges
from dyntc_spark.errors import UnknownVertexError, VertexTypeError
from dyntc_spark.graph.inputs import Ends
from dyntc_spark.graph.kinds import encoded, hashable


class VertexTable:
    """Names of vertices by number, and numbers by name.

    Names lie in slots in the order in which they came; a number points to its slot.

    Examples
    --------
    >>> table = VertexTable()
    >>> edges, names = table.numbered(Ends(pa.array(["a", "b"]), pa.array(["b", "c"])))
    >>> edges.sources, edges.targets, names.to_pylist(), len(table)
    (array([0, 1]), array([1, 2]), ['a', 'b', 'c'], 0)
    >>> table.add(names, table.allotted(3))
    >>> table.numbers(pa.array(["c", "d"]))
    array([ 2, -1])
    >>> table.drop([1])
    >>> table.allotted(2), table.names().to_pylist()
    (array([1, 3]), ['a', 'c'])
    """

    def __init__(self) -> None:
        self._stored: list[pa.Array] = []  # parts of the slots; made one when they are read
        self._slots = np.zeros(0, np.int64)  # by number; -1 for a number that is free
        self._free: Ids = np.zeros(0, np.int64)

    @classmethod
    def of(cls, names: pa.Array, numbers: Ids, extent: int) -> VertexTable:
        """Give a table in which vertices have these numbers below ``extent``; the others are free."""
        table = cls()
        table._slots = np.full(extent, -1)
        table._slots[numbers] = np.arange(len(numbers))
        table._free = np.flatnonzero(table._slots < 0)
        table._stored = [names] if len(names) else []
        return table

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
        if len(self._stored) > 1:
            self._stored = [pa.concat_arrays(self._stored)]
        wanted = self.used if numbers is None else np.asarray(numbers, np.int64)
        slots = self._slots[wanted]
        return self._stored[0].take(pa.array(slots, mask=slots < 0))

    def numbers(self, names: pa.Array) -> Ids:
        """Give the numbers of vertices; -1 for those that are not there."""
        self.require_kind(names)
        if not len(self):
            return np.full(len(names), -1, np.int64)
        return np.fromiter((self._index.get(name, -1) for name in hashable(names)), np.int64, len(names))

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

    def add(self, names: pa.Array, numbers: Ids) -> None:
        """Let new vertices have numbers that were allotted to them."""
        if not len(names):
            return
        if not len(self):
            self._stored = []  # of another type, perhaps
        slot = sum(map(len, self._stored))
        extra = int(numbers.max()) + 1 - self.extent
        if extra > 0:
            self._slots = np.append(self._slots, np.full(extra, -1))
        self._slots[numbers] = np.arange(slot, slot + len(names))
        self._free = np.setdiff1d(self._free, numbers)
        self._stored = [*self._stored, names]
        if "_index" in self.__dict__:
            self._index.update(zip(hashable(names), numbers.tolist(), strict=True))

    def drop(self, numbers: npt.ArrayLike) -> None:
        """Let vertices go; their numbers are free. Slots without a number are cleared when they are the most."""
        gone = np.unique(np.asarray(numbers, np.int64))
        for name in hashable(self.names(gone)):
            self._index.pop(name)
        self._slots[gone] = -1
        self._free = np.union1d(self._free, gone)
        kept = self.used
        if 2 * len(kept) < sum(map(len, self._stored)):
            self._stored = [self.names(kept)]
            self._slots[kept] = np.arange(len(kept))

    def require_kind(self, names: pa.Array) -> None:
        """Refuse names of another type than the graph's vertices have."""
        if len(names) and len(self) and names.type != self.kind:
            raise VertexTypeError(
                f"vertices of type {self.kind}, as the graph has them",
                f"{names.type}, such as {names[0].as_py()!r}",
                "Convert them first; a struct is given as a dictionary or a Row.",
            )

    @cached_property
    def _index(self) -> dict[Any, int]:
        return dict(zip(hashable(self.names()), self.used.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self._slots) - len(self._free)
