"""The vertex table: vertices of any type, numbered from 0 in the order in which they came.

Engines know numbers only. A number is never given to another vertex, so that
edges kept from an earlier version still mean the same.
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


class VertexTable:
    """Names of vertices by number, and numbers by name.

    Examples
    --------
    >>> table = VertexTable()
    >>> edges, names = table.numbered(Ends(pa.array(["a", "b"]), pa.array(["b", "c"])))
    >>> edges.sources, edges.targets, names.to_pylist(), len(table)
    (array([0, 1]), array([1, 2]), ['a', 'b', 'c'], 0)
    >>> table.add(names)
    >>> table.numbers(pa.array(["c", "d"]))
    array([ 2, -1])
    """

    def __init__(self) -> None:
        self._names = pa.array([], pa.null())

    @property
    def kind(self) -> pa.DataType:
        """The type of the vertices; strings as long as there are none."""
        return self._names.type if len(self) else pa.string()

    def names(self, numbers: npt.ArrayLike | None = None) -> pa.Array:
        """Give the names of some vertices, or of all."""
        names = self._names if len(self) else pa.array([], self.kind)
        return names if numbers is None else names.take(pa.array(np.asarray(numbers, np.int64)))

    def numbers(self, names: pa.Array) -> Ids:
        """Give the numbers of vertices; -1 for those that are not there."""
        self.require_kind(names)
        if not len(self):
            return np.full(len(names), -1, np.int64)
        return np.fromiter((self._index.get(name, -1) for name in names.to_pylist()), np.int64, len(names))

    def known_numbers(self, names: pa.Array, *, refuse: bool = True) -> Ids:
        """Give the numbers of vertices; an error names the first that is not there, unless told not to ``refuse``."""
        numbers = self.numbers(names)
        if refuse and len(numbers) and numbers.min() < 0:
            missing = names[int(np.argmin(numbers))].as_py()
            raise UnknownVertexError(
                "a vertex of the graph",
                f"{missing!r}, which no edge has ever had as an end",
                "Check its spelling; reaches and query take unknown='false' to answer False.",
            )
        return numbers

    def numbered(self, ends: Ends) -> tuple[Edges, pa.Array]:
        """Give edges as numbers, with the vertices that are not there yet: they get the numbers from ``len`` on."""
        both = pa.concat_arrays([ends.src, ends.dst]).dictionary_encode()
        numbers = self.numbers(both.dictionary)
        new = numbers < 0
        numbers[new] = np.arange(len(self), len(self) + np.count_nonzero(new))
        places = numbers[both.indices.to_numpy()]
        return Edges(places[: len(ends)], places[len(ends) :]), both.dictionary.filter(pa.array(new))

    def add(self, names: pa.Array) -> None:
        """Number new vertices."""
        if len(names):
            before = len(self)
            self._names = pa.concat_arrays([self._names, names]) if before else names
            if "_index" in self.__dict__:
                self._index.update(zip(names.to_pylist(), range(before, len(self)), strict=True))

    @cached_property
    def _index(self) -> dict[Any, int]:
        return dict(zip(self._names.to_pylist(), range(len(self)), strict=True))

    def require_kind(self, names: pa.Array) -> None:
        """Refuse names of another type than the graph's vertices have."""
        if len(names) and len(self) and names.type != self.kind:
            raise VertexTypeError(
                f"vertices of type {self.kind}, as the graph has them",
                f"{names.type}, such as {names[0].as_py()!r}",
                "Convert them first.",
            )

    def __len__(self) -> int:
        return len(self._names)
