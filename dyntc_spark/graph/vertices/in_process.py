"""The vertex table with names in this process: numbered from 0 in the order in which they came.

Engines know numbers only. A number stays with its vertex until that is dropped,
which only a vertex without edges can be; then the next new vertex gets it. An
engine has nothing to do for this: to it the number is a vertex without edges
before and after.

A table is a value: to add or to drop vertices makes another one, so that every version
of a graph keeps its own and any number of threads may read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.graph.inputs.read import Ends, read_ends
from dyntc_spark.graph.inputs.vertex_types import encoded, hashable, taken
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.vertices.names import all_known, require_same_kind, with_names
from dyntc_spark.kernels.ids import Indices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: When room is made for numbers, one part of this many is for later ones.
SPARE_PART = 4
_NOTHING: Indices = np.zeros(0, np.int64)


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
    on_spark = False

    def __init__(
        self,
        stored: tuple[pa.Array, ...] = (),
        shared: Slots | None = None,
        extent: int = 0,
        free: Indices = _NOTHING,
        index: dict[Any, int] | None = None,
    ) -> None:
        self._stored = stored  # parts of the slots; made one when they are read
        self._shared = shared or Slots(_NOTHING, 0)
        self._filled = self._shared.filled  # so many slots are filled here; later tables may fill more
        self._extent = extent
        self._free = free
        self._index = index  # None until it is needed

    @classmethod
    def of(cls, names: pa.Array, numbers: Indices, extent: int) -> VertexTable:
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
    def used(self) -> Indices:
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

    def numbers(self, names: pa.Array) -> Indices:
        """Return the numbers of vertices; -1 for those that are not there."""
        if len(names):
            self.require_kind(names.type, f", such as {names[0].as_py()!r}")
        if not len(self):
            return np.full(len(names), -1, np.int64)
        index = self._known()
        found = np.fromiter(map(index.get, hashable(names), repeat(-1)), np.int64, len(names))
        if len(index) > len(self):  # it has vertices of later tables
            found[found >= self._extent] = -1
            found[self._slots(found) < 0] = -1
        return found

    def known_numbers(self, names: pa.Array, *, refuse: bool = True) -> Indices:
        """Return the numbers of vertices; an error names the first that is not there, unless told not to ``refuse``."""
        numbers = self.numbers(names)
        return all_known(numbers, names) if refuse else numbers

    def numbered(self, ends: Ends) -> tuple[Edges, pa.Array]:
        """Return edges as numbers, with the vertices that are not there yet: these count from ``extent`` on."""
        places, different = encoded(pa.concat_arrays([ends.src, ends.dst]))
        numbers = self.numbers(different)
        new = (numbers < 0).nonzero()[0]
        numbers[new] = np.arange(self._extent, self._extent + len(new))
        found = numbers[places]
        return Edges(found[: len(ends)], found[len(ends) :]), taken(different, new)

    def allotted(self, count: int) -> Indices:
        """Return the numbers that ``count`` new vertices get: free ones first."""
        if not count:
            return _NOTHING
        more = max(count - len(self._free), 0)
        return np.concatenate([self._free[:count], np.arange(self._extent, self._extent + more)])

    def added(self, names: pa.Array, numbers: Indices) -> VertexTable:
        """Return the table in which new vertices have numbers: those that were allotted to them, or behind all others.

        Costs the new vertices, on the average; all of them where another table has grown out of this one already.
        """
        if not len(names):
            return self
        stored, shared = (self._stored, self._shared) if len(self) else ((), None)  # else of another type, perhaps
        if shared is None or shared.filled > self._filled:
            shared = Slots(self._slots(), self._filled if len(self) else 0)
        reused = int(np.count_nonzero(numbers < self._extent))  # the first that are free
        extent = self._extent + len(numbers) - reused
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
        return VertexTable(stored, Slots(slots, filled), self._extent, np.union1d(self._free, gone), index)

    def require_kind(self, kind: pa.DataType, sample: str = "") -> None:
        """Refuse names of another type than the graph's vertices have."""
        if len(self):
            require_same_kind(self.kind, kind, sample)

    def numbered_rows(self, rows: DataFrame, kind: pa.DataType) -> tuple[pa.Table, pa.Array]:
        """Bring rows here, and return them with numbers in place of the names in ``src`` and ``dst``."""
        del kind
        table = rows.toArrow()
        edges, new = self.numbered(read_ends(table))
        for end, numbers in (("src", edges.sources), ("dst", edges.targets)):
            table = table.set_column(table.column_names.index(end), end, pa.array(numbers))
        return table, new

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the table on Spark: ``number``, ``vertex``."""
        numbers = self.used
        return frame(spark, pa.table({"number": pa.array(numbers.astype(np.int32)), "vertex": self.names(numbers)}))

    def answer(self, spark: SparkSession, table: pa.Table, ends: Sequence[str]) -> DataFrame:
        """Return a table on Spark, with names in place of the numbers in the columns ``ends``."""
        return frame(spark, with_names(self, table, ends))

    def columns(self, numbers: Indices) -> dict[str, pa.Array]:
        """Return the names of vertices as the column ``vertex``."""
        return {"vertex": self.names(numbers)}

    def completed(self, frame: DataFrame) -> DataFrame:
        """Return a table as it is: it has the names."""
        return frame

    def require_in(self, spark: SparkSession) -> None:
        """Take any session: names are sent to it."""

    def _known(self) -> dict[Any, int]:
        """Return the index; made when it is first needed."""
        index = self._index
        if index is None:
            index = self._index = dict(zip(hashable(self.names()), self.used.tolist(), strict=True))
        return index

    def _slots(self, numbers: Indices | None = None) -> Indices:
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

    def __init__(self, by_number: Indices, filled: int) -> None:
        self.by_number = by_number
        self.filled = filled

    def fill(self, numbers: Indices, extent: int) -> None:
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
