"""Edges, pairs and changes as users hand them in, read into Arrow columns of few types.

Taken are Spark DataFrames (classic or Connect), pandas, pyarrow and other Arrow
tables by their column names (further columns are left alone), and lists of
tuples by position. Whatever cannot be taken is refused here with an error that
names the column, the row (counted from 0) and the remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.errors import (
    ContradictionError,
    InputError,
    MissingColumnError,
    UnknownOperationError,
    VertexTypeError,
)
from dyntc_spark.graph.inputs.spark_columns import collected, from_spark, refuse_odd_names, require_columns, selected
from dyntc_spark.graph.inputs.vertex_types import NAMEABLE, canonical, encoded, refuse_nulls
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.lazy_pyspark import is_frame

#: A Spark DataFrame, a pandas or Arrow table with the columns that are named, or a list of tuples in their order.
Table: TypeAlias = Any
#: A value of any type that can be compared; one type in one graph.
Vertex: TypeAlias = Any

INSERT, DELETE = "insert", "delete"
#: What tools that capture changes call these: SQL, Delta's change data feed, Debezium, Flink, database migration tools.
INSERTIONS = frozenset((INSERT, "i", "c", "r", "add", "create", "update_postimage", "+i", "+u", "+"))
DELETIONS = frozenset((DELETE, "d", "remove", "update_preimage", "-d", "-u", "-"))

#: Types whose columns are canonical as they are.
_PLAIN = {str: pa.string(), int: pa.int64()}
_TAKEN = "a Spark DataFrame, a pandas or Arrow table, or a list of tuples"


@dataclass(frozen=True, slots=True)
class Ends:
    """Two parallel columns of vertices, of one type and without nulls."""

    src: pa.Array
    dst: pa.Array

    def __len__(self) -> int:
        return len(self.src)


def read_ends(data: Table, names: Sequence[str] = ("src", "dst")) -> Ends:
    """Read edges or pairs: the columns called ``names``, or pairs.

    Examples
    --------
    >>> read_ends([("a", "b"), ("b", "c")]).dst.to_pylist()
    ['b', 'c']
    """
    src, dst = read_columns(data, names)
    return as_ends(src, dst, names)


def read_changes(
    data: Table,
    names: Sequence[str] = ("op", "src", "dst"),
    timestamp: str | None = None,
    *,
    ordered: bool = True,
) -> tuple[Ends, npt.NDArray[np.bool_]]:
    """Read changes: the columns called ``names``, or triples; give edges and whether each is inserted.

    They come in the order of their times, where the table has a column ``timestamp``, else in that of the rows. Rows
    of a Spark DataFrame have none: there, and at one time, two changes of an edge are refused unless they agree.
    For a multigraph changes need not be ``ordered``: times are not read, and none contradicts another.

    Examples
    --------
    >>> read_changes([("insert", 1, 2), ("delete", 2, 3)])[1]
    array([ True, False])
    >>> late = pa.table({"op": ["delete", "insert"], "src": [1, 1], "dst": [2, 2], "at": [20, 10]})
    >>> read_changes(late, timestamp="at")[1]
    array([ True, False])
    """
    refuse_odd_names([*names, *([] if timestamp is None else [timestamp])])
    timed = ordered and timestamp is not None and timestamp in column_names(data)
    op, src, dst, *times = read_columns(data, [*names, timestamp] if timestamp is not None and timed else names)
    inserting, ends = insertions(op, names[0]), as_ends(src, dst, names[1:])
    if not ordered or (not times and not is_frame(data)):
        return ends, inserting
    order = in_order(ends, inserting, times, str(timestamp), lambda at: (ends.src[at].as_py(), ends.dst[at].as_py()))
    src, dst = (column.take(pa.array(order)) for column in (ends.src, ends.dst))
    return Ends(src, dst), inserting[order]


def read_vertices(values: Table, name: str) -> pa.Array:
    """Read vertices out of a list, or out of the column ``name`` of a table.

    Examples
    --------
    >>> read_vertices([3, 4], "sources").type
    DataType(int64)
    """
    is_table = is_frame(values) or hasattr(values, "columns")  # of whatever library
    if isinstance(values, str | bytes | dict) or not (is_table or isinstance(values, Iterable)):
        raise InputError(f"a list of vertices in {name!r}", f"the single value {values!r:.80}", "Put it into a list.")
    if is_table:
        (column,) = read_columns(values, [name])
    else:
        arrow = isinstance(values, pa.Array | pa.ChunkedArray)
        column = _column(values.to_pylist() if arrow else _listed(values, f"a list of vertices in {name!r}"), name)
    refuse_nulls(column, name)
    return column


def of_kind(vertices: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Return vertices of this type, or an error that names the argument; an empty list has any type."""
    if len(vertices) and vertices.type != kind:
        raise VertexTypeError(f"{name} of type {kind}, as the vertex is", f"{vertices.type}", "Convert them first.")
    return vertices.cast(kind)


def insertions(op: pa.Array, name: str) -> npt.NDArray[np.bool_]:
    """Return for each operation whether it is an insertion; refuse those that are unknown."""
    if not pa.types.is_string(op.type):  # no rows, nulls only, or values that are no strings
        op = pa.array([None if value is None else str(value) for value in op.to_pylist()], pa.string())
    places, different = encoded(op.fill_null("") if op.null_count else op)
    words = [word.strip().lower() for word in different.to_pylist()]
    unknown = [place for place, word in enumerate(words) if word not in INSERTIONS | DELETIONS]
    if unknown:  # the first of them is in the first of the rows
        row = int(np.argmax(places == unknown[0]))
        raise UnknownOperationError(
            f"{INSERT!r} or {DELETE!r} in column {name!r}",
            f"{op[row].as_py()!r} in row {row}",
            "In a tuple it comes first. Also taken are add and remove, I and D, c and d, +I and -D, update_preimage "
            "and update_postimage. An update of an edge is two rows: a deletion of the old edge and an insertion of "
            "the new one.",
        )
    return np.array([word in INSERTIONS for word in words], np.bool_)[places]


def as_ends(src: pa.Array, dst: pa.Array, names: Sequence[str]) -> Ends:
    """Return two columns, called ``names``, as edges or pairs; refuse nulls, and two types."""
    for column, name in zip((src, dst), names, strict=True):
        refuse_nulls(column, name)
    if src.type != dst.type:
        raise VertexTypeError(
            f"vertices of one type in the columns {names[0]!r} and {names[1]!r}",
            f"{src.type} and {dst.type}",
            "Cast one of them.",
        )
    return Ends(src, dst)


def _moments(times: Sequence[pa.Array], rows: int, name: str) -> tuple[Indices, Indices]:
    """Return the order of rows by their times, and for each row in this order which of the different times it has."""
    if not times or not rows:
        return np.arange(rows), np.zeros(rows, np.int64)
    (column,) = times
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise InputError(f"a time in every row of column {name!r}", f"null in row {row}", "Repair these rows first.")
    if pa.types.is_nested(column.type):
        raise InputError(f"times in column {name!r}", f"{column.type}", "Name another column with timestamp=.")
    order = pc.sort_indices(column).to_numpy()
    ranks = encoded(column)[0][order]
    return order.astype(np.int64), np.cumsum(np.diff(ranks, prepend=ranks[0]) != 0)


def in_order(
    ends: Ends,
    inserting: npt.NDArray[np.bool_],
    times: Sequence[pa.Array],
    timestamp: str,
    edge: Callable[[int], tuple[Any, Any]],
) -> Indices:
    """Return the rows in the order of their times, where there are any.

    An edge that is inserted and deleted at one moment is an error, which names it: ``edge`` names it by its row.
    """
    rows, moments = _moments(times, len(ends), timestamp)
    places, different = encoded(pa.concat_arrays([ends.src, ends.dst]))
    keys = (places[: len(ends)] * len(different) + places[len(ends) :])[rows]
    order = np.lexsort((moments, keys))
    same, insertion = (np.diff(keys[order]) == 0) & (np.diff(moments[order]) == 0), inserting[rows[order]]
    wrong = np.flatnonzero(same & (insertion[1:] != insertion[:-1]))
    if len(wrong):
        at, other = sorted(rows[order[wrong[0] : wrong[0] + 2]].tolist())
        raise ContradictionError(
            "one change of an edge, or times that tell which is the last",
            f"an insertion and a deletion of {edge(at)!r} in the rows {[at, other]}",
            "Add a column of times and name it with timestamp=, or leave one of the rows out.",
        )
    return rows


# --- columns of every kind of table ----------------------------------------------------------


def read_columns(data: Table, names: Sequence[str]) -> list[pa.Array]:
    """Return the columns called ``names``, in canonical types."""
    refuse_odd_names(names)
    if is_frame(data):
        with from_spark(data):
            require_columns(data.columns, names)
            found = collected(selected(data, names))
        return _of_table(found, names)
    if type(data).__module__.partition(".")[0] == "pandas":
        require_columns(getattr(data, "columns", ()), names)
        return [_of_series(data[name], name) for name in names]
    if hasattr(data, "__arrow_c_stream__"):
        try:
            table = pa.table(data)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(_TAKEN, f"{type(data).__name__}, which is no table: {error}", "Make it one.") from error
        require_columns(table.column_names, names)
        return _of_table(table, names)
    refuse_other_kinds(data, names)
    return _of_rows(_listed(data, _TAKEN), names)


def refuse_other_kinds(data: Table, names: Sequence[str]) -> None:
    """Refuse what is no table and no list, and say how to make one of it."""
    if isinstance(data, dict):
        remedy = (
            "Of columns make a table: pyarrow.table(columns). Of neighbours make a list: "
            "[(a, b) for a, found in neighbours.items() for b in found]."
        )
    elif hasattr(data, "adj") and hasattr(data, "edges"):  # of networkx, which need not be installed
        remedy = "Use DynamicClosure.from_networkx(graph), or pass list(graph.edges)."
    elif isinstance(data, str | bytes) or not isinstance(data, Iterable):
        remedy = f"Its columns are {', '.join(names)}."
    else:
        return
    raise InputError(_TAKEN, f"{type(data).__name__}", remedy)


def column_names(data: Table) -> list[Any]:
    """Return the names of a table's columns; a list of tuples has none."""
    if is_frame(data):
        with from_spark(data):
            return list(data.columns)
    named = getattr(data, "column_names", None)  # Arrow's
    return list(named if isinstance(named, list) else getattr(data, "columns", ()))


def _listed(values: Iterable[Any], expected: str) -> list[Any]:
    try:
        return list(values)
    except TypeError as error:  # an array without dimensions, say
        raise InputError(expected, f"{type(values).__name__}: {error}", "Put it into a list.") from error


def _of_table(table: pa.Table, names: Sequence[str]) -> list[pa.Array]:
    return [canonical(_joined(table.column(name), name), name) for name in names]


def _joined(column: pa.ChunkedArray, name: str) -> pa.Array:
    try:
        return column.combine_chunks() if column.num_chunks else pa.array([], column.type)
    except pa.ArrowException as error:  # unions, say
        raise VertexTypeError(f"values that Arrow joins in column {name!r}", f"{column.type}", NAMEABLE) from error


def _of_series(series: Any, name: str) -> pa.Array:  # noqa: ANN401  (pandas, which need not be installed)
    if series.dtype == object:
        try:
            nulls = series.isna()
        except ArithmeticError as error:  # a signalling NaN
            raise VertexTypeError(f"values in column {name!r}", f"{error!r}", NAMEABLE) from error
        return _column([None if null else value for value, null in zip(series, nulls, strict=True)], name)
    array = _array(series, name)
    return canonical(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array, name)


def _of_rows(rows: list[Any], names: Sequence[str]) -> list[pa.Array]:
    for number, row in enumerate(rows):
        try:
            fits = len(row) == len(names) and not isinstance(row, str | bytes | dict)
        except TypeError:
            fits = False
        if not fits:
            remedy = "Make a table of the dictionaries: pyarrow.Table.from_pylist(rows)."
            raise MissingColumnError(
                f"{len(names)} values in every row: {', '.join(names)}",
                f"{row!r} in row {number}",
                remedy if isinstance(row, dict) else "Give a list of such tuples, also if there is only one.",
            )
    return [_column([row[place] for row in rows], name) for place, name in enumerate(names)]


def _column(listed: list[Any], name: str) -> pa.Array:
    """Make a column of Python values, all of one kind: Arrow alone would turn integers into floats beside floats."""
    plain = _plain(listed)
    if plain is not None:
        return plain
    values = [_readable(value) for value in listed]
    samples = {type(value): value for value in reversed(values) if not _is_null(value)}
    kinds = {kind: canonical(_array([sample], name), name).type for kind, sample in samples.items()}
    if len(set(kinds.values())) > 1:
        firsts = ((row, value) for row, value in enumerate(values) if not _is_null(value))
        (_, first), *others = firsts
        row, other = next(at for at in others if kinds[type(at[1])] != kinds[type(first)])
        raise VertexTypeError(
            f"values of one type in column {name!r}, such as {first!r}", f"{other!r} in row {row}", "Convert them."
        )
    return canonical(_array(values, name), name)


def _plain(values: list[Any]) -> pa.Array | None:
    """Make a column of texts alone, or of integers; None where these are anything else, or no column can hold them."""
    kinds = set(map(type, values))
    kind = _PLAIN.get(kinds.pop()) if len(kinds) == 1 else None
    if kind is None:
        return None
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, ValueError):  # numbers that are too long, halves of characters
        return None


def _array(values: Any, name: str) -> pa.Array:  # noqa: ANN401  (a list, or a series of pandas)
    try:
        return pa.array(values, from_pandas=True)  # NaN is null
    except (pa.ArrowException, ArithmeticError, ValueError, TypeError) as error:
        came = getattr(values, "dtype", type(next(iter(values), None)).__name__)
        remedy = "Integers have 64 bits: write longer ones as text." if isinstance(error, OverflowError) else NAMEABLE
        raise VertexTypeError(
            f"values that Arrow knows in column {name!r}", f"{came}: {error!s:.200}", remedy
        ) from error


def _readable(value: Any) -> Any:  # noqa: ANN401  (any value)
    """Return a value as Arrow reads it: a Row of Spark or a named tuple as a dictionary, a UUID as its text."""
    if isinstance(value, UUID):
        return str(value)
    if not isinstance(value, tuple):
        return value
    names = getattr(value, "__fields__", getattr(value, "_fields", None))
    return value if names is None else dict(zip(names, map(_readable, value), strict=True))


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
