"""Names of vertices and their numbers: what both kinds of vertex tables have in common.

``vertices`` has the names in this process. ``vertices_on_spark`` has them in a DataFrame, for graphs with more names
than the driver should hold: only numbers come here, unless somebody asks for names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.errors import UnknownVertexError, VertexTypeError
from dyntc_spark.graph.inputs.read import Ends
from dyntc_spark.graph.inputs.vertex_types import taken
from dyntc_spark.kernels.ids import Indices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Names that a table does not have yet: an Arrow column, or what has its ``len``, ``take`` and ``to_pylist``.
NewNames: TypeAlias = Any


class Vertices(Protocol):
    """The vertices of a graph: their names and their numbers. A value: every change makes another one."""

    on_spark: bool  #: whether the names are in a DataFrame, and may be more than the driver should hold

    @property
    def kind(self) -> pa.DataType:
        """The type of the vertices; strings as long as there are none."""

    @property
    def extent(self) -> int:
        """All numbers are below this; those of dropped vertices count."""

    @property
    def used(self) -> Indices:
        """The numbers that have a vertex, ascending."""

    def __len__(self) -> int: ...

    # --- with names of this process --------------------------------------------------------------

    def names(self, numbers: npt.ArrayLike | None = None) -> pa.Array:
        """Bring the names of some vertices here, or of all by their numbers; null for a number that is free."""

    def numbers(self, names: pa.Array) -> Indices:
        """Return the numbers of vertices; -1 for those that are not there."""

    def known_numbers(self, names: pa.Array, *, refuse: bool = True) -> Indices:
        """Return the numbers of vertices; an error names the first that is not there, unless told not to ``refuse``."""

    def numbered(self, ends: Ends) -> tuple[Edges, NewNames]:
        """Return edges as numbers, with the vertices that are not there yet: these count from ``extent`` on."""

    def require_kind(self, kind: pa.DataType, sample: str = "") -> None:
        """Refuse names of another type than the graph's vertices have."""

    # --- with names on Spark ---------------------------------------------------------------------

    def numbered_rows(self, rows: DataFrame, kind: pa.DataType) -> tuple[pa.Table, NewNames]:
        """Return rows with numbers in place of the names in ``src`` and ``dst``, and the new names, as `numbered`."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the table on Spark: ``number``, ``vertex``."""

    def answer(self, spark: SparkSession, table: pa.Table, ends: Sequence[str]) -> DataFrame:
        """Return a table on Spark, with names in place of the numbers in the columns ``ends``."""

    def columns(self, numbers: Indices) -> dict[str, pa.Array]:
        """Return what is known here beside the numbers of vertices: the column ``vertex``, or none."""

    def completed(self, frame: DataFrame) -> DataFrame:
        """Return a table with the column ``number``, and with ``vertex`` if `columns` did not give it."""

    def require_in(self, spark: SparkSession) -> None:
        """Refuse a session that cannot read the names."""

    # --- other tables ----------------------------------------------------------------------------

    def allotted(self, count: int) -> Indices:
        """Return the numbers that ``count`` new vertices get: free ones first."""

    def added(self, names: NewNames, numbers: Indices) -> Vertices:
        """Return the table in which new vertices have numbers: those that were allotted to them, or the next ones."""

    def dropped(self, numbers: npt.ArrayLike) -> Vertices:
        """Return the table without some vertices; their numbers are free."""


def all_known(numbers: Indices, names: pa.Array) -> Indices:
    """Return the numbers of vertices back; an error names the first that has none."""
    if len(numbers) and numbers.min() < 0:
        missing = names[int(np.argmin(numbers))].as_py()
        raise UnknownVertexError(
            "a vertex of the graph",
            f"{missing!r}, which the graph does not have",
            "Check its spelling; reaches and query take unknown='false' to answer False.",
        )
    return numbers


def require_same_kind(kind: pa.DataType, came: pa.DataType, sample: str = "") -> None:
    """Refuse names of another type than ``kind``; ``sample`` describes those that came."""
    if came != kind:
        raise VertexTypeError(
            f"vertices of type {kind}, as the graph has them",
            f"{came}{sample}",
            "For several vertices give a DataFrame, or ask for one at a time."
            if pa.types.is_list(came)
            else "Convert them first; a struct is given as a dictionary or a Row.",
        )


def with_names(vertices: Vertices, table: pa.Table, ends: Sequence[str]) -> pa.Table:
    """Return a table with names in place of the numbers in the columns ``ends``; null stays null."""
    for end in ends:
        column = table.column(end).combine_chunks()
        known = column.drop_null() if column.null_count else column
        names = vertices.names(known.to_numpy())
        if column.null_count:
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            names = names.take(pa.array(np.cumsum(valid) - 1, mask=~valid))
        table = table.set_column(table.column_names.index(end), end, names)
    return table


def names_of(numbers: Indices, known: Callable[[Indices], pa.Array], added: NewNames, new: Indices) -> list[Any]:
    """Return the names of vertices: of the ``new`` ones, which are ``added``, and of those that are ``known``."""
    place = dict(zip(new.tolist(), range(len(new)), strict=True))
    fresh, old = ([n for n in numbers.tolist() if (n in place) is wanted] for wanted in (True, False))
    names = dict(zip(fresh, taken(added, np.array([place[n] for n in fresh])).to_pylist(), strict=True))
    names.update(zip(old, known(np.array(old, np.int64)).to_pylist(), strict=True))
    return [names[number] for number in numbers.tolist()]


def edge_names(edges: Edges, row: int, vertices: Vertices, added: NewNames) -> tuple[Any, Any]:
    """Return the names of an edge's ends, where the ``added`` vertices count from the extent of the table on."""
    ends = np.array([edges.sources[row], edges.targets[row]])
    new = np.arange(vertices.extent, vertices.extent + len(added))
    src, dst = names_of(ends, vertices.names, added, new)
    return src, dst
