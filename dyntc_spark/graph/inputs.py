"""Edges, pairs and changes as users hand them in, read into Arrow columns of few types.

Taken are Spark DataFrames (classic or Connect), pandas, pyarrow and other Arrow
tables by their column names (further columns are left alone), and lists of
tuples by position. Whatever cannot be taken is refused here with an error that
names the column, the row (counted from 0) and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from dyntc_spark.errors import InputError, MissingColumnError, UnknownOperationError, VertexTypeError
from dyntc_spark.graph.kinds import NAMEABLE, canonical, refuse_nulls

INSERT, DELETE = "insert", "delete"

_TAKEN = "a Spark DataFrame, a pandas or Arrow table, or a list of tuples"


@dataclass(frozen=True, slots=True)
class Ends:
    """Two parallel columns of vertices, of one type and without nulls."""

    src: pa.Array
    dst: pa.Array

    def __len__(self) -> int:
        return len(self.src)


def read_ends(data: Any, names: Sequence[str] = ("src", "dst")) -> Ends:  # noqa: ANN401  (tables of several libraries)
    """Read edges or pairs: the columns called ``names``, or pairs.

    Examples
    --------
    >>> read_ends([("a", "b"), ("b", "c")]).dst.to_pylist()
    ['b', 'c']
    """
    src, dst = _columns(data, names)
    return _ends(src, dst, names)


def read_changes(
    data: Any,  # noqa: ANN401  (tables of several libraries)
    names: Sequence[str] = ("op", "src", "dst"),
) -> tuple[Ends, npt.NDArray[np.bool_]]:
    """Read changes: the columns called ``names``, or triples; give edges and whether each is inserted.

    Examples
    --------
    >>> read_changes([("insert", 1, 2), ("delete", 2, 3)])[1]
    array([ True, False])
    """
    op, src, dst = _columns(data, names)
    if not pa.types.is_string(op.type):  # no rows, nulls only, or values that are no strings
        op = pa.array([None if value is None else str(value) for value in op.to_pylist()], pa.string())
    wrong = pc.index(pc.is_in(op, value_set=pa.array([INSERT, DELETE])), False).as_py()
    if wrong >= 0:
        raise UnknownOperationError(
            f"{INSERT!r} or {DELETE!r} in column {names[0]!r}",
            f"{op[wrong].as_py()!r} in row {wrong}",
            "Mind the case.",
        )
    return _ends(src, dst, names[1:]), pc.equal(op, INSERT).to_numpy(zero_copy_only=False)


def read_vertices(values: Any, name: str) -> pa.Array:  # noqa: ANN401  (tables of several libraries)
    """Read vertices out of a list, or out of the column ``name`` of a table.

    Examples
    --------
    >>> read_vertices([3, 4], "sources").type
    DataType(int64)
    """
    if isinstance(values, str | bytes | dict):
        raise InputError(f"a list of vertices in {name!r}", f"the single value {values!r}", "Put it into a list.")
    if hasattr(values, "columns"):  # a table, of whatever library
        (column,) = _columns(values, [name])
    else:
        column = _column(values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values), name)
    refuse_nulls(column, name)
    return column


def _ends(src: pa.Array, dst: pa.Array, names: Sequence[str]) -> Ends:
    for column, name in zip((src, dst), names, strict=True):
        refuse_nulls(column, name)
    if src.type != dst.type:
        raise VertexTypeError(
            f"vertices of one type in the columns {names[0]!r} and {names[1]!r}",
            f"{src.type} and {dst.type}",
            "Cast one of them.",
        )
    return Ends(src, dst)


# --- columns of every kind of table ----------------------------------------------------------


def _columns(data: Any, names: Sequence[str]) -> list[pa.Array]:  # noqa: ANN401  (tables of several libraries)
    """Give the columns called ``names``, in canonical types."""
    if isinstance(data, DataFrame):
        _require(data.columns, names)
        return _of_table(data.select(*names).toArrow(), names)
    if type(data).__module__.partition(".")[0] == "pandas":
        _require(getattr(data, "columns", ()), names)
        return [_of_series(data[name], name) for name in names]
    if hasattr(data, "__arrow_c_stream__"):
        try:
            table = pa.table(data)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(_TAKEN, f"{type(data).__name__}, which is no table: {error}", "Make it one.") from error
        _require(table.column_names, names)
        return _of_table(table, names)
    if isinstance(data, str | bytes | dict) or not isinstance(data, Iterable):
        raise InputError(_TAKEN, f"{type(data).__name__}", f"Its columns are {', '.join(names)}.")
    return _of_rows(list(data), names)


def _require(found: Iterable[Any], names: Sequence[str]) -> None:
    columns = list(found)
    for name in names:
        if columns.count(name) != 1:
            raise MissingColumnError(
                f"the columns {', '.join(names)}, each once",
                f"{columns.count(name) or 'no'} {name!r} among {columns}",
                "Name them with src=, dst= and op=, or rename them; other columns do no harm.",
            )


def _of_table(table: pa.Table, names: Sequence[str]) -> list[pa.Array]:
    columns = (table.column(name) for name in names)
    return [
        canonical(column.combine_chunks() if column.num_chunks else pa.array([], column.type), name)
        for column, name in zip(columns, names, strict=True)
    ]


def _of_series(series: Any, name: str) -> pa.Array:  # noqa: ANN401  (pandas, which need not be installed)
    if series.dtype == object:
        return _column([None if null else value for value, null in zip(series, series.isna(), strict=True)], name)
    array = pa.array(series, from_pandas=True)
    return canonical(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array, name)


def _of_rows(rows: list[Any], names: Sequence[str]) -> list[pa.Array]:
    for number, row in enumerate(rows):
        try:
            fits = len(row) == len(names) and not isinstance(row, str | bytes | dict)
        except TypeError:
            fits = False
        if not fits:
            raise MissingColumnError(
                f"{len(names)} values in every row: {', '.join(names)}", f"{row!r} in row {number}", "Give tuples."
            )
    return [_column([row[place] for row in rows], name) for place, name in enumerate(names)]


def _column(listed: list[Any], name: str) -> pa.Array:
    """Make a column of Python values, all of one kind: Arrow alone would turn integers into floats beside floats."""
    values = [_named_fields(value) for value in listed]
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


def _array(values: list[Any], name: str) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)  # NaN is null
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise VertexTypeError(
            f"values that Arrow knows in column {name!r}", f"{type(values[0]).__name__}: {error}", NAMEABLE
        ) from error


def _named_fields(value: Any) -> Any:  # noqa: ANN401  (any value)
    """Give a Row of Spark or a named tuple as the dictionary that Arrow reads as a struct; other values as they are."""
    if not isinstance(value, tuple):
        return value
    names = getattr(value, "__fields__", getattr(value, "_fields", None))
    return value if names is None else dict(zip(names, map(_named_fields, value), strict=True))


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
