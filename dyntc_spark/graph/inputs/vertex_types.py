"""Types of vertices: which can name a vertex, each kind in one canonical form.

Spark compares numbers, strings, booleans, binary, dates, time stamps, intervals,
and arrays and structs of these. A UUID is taken as its text. One type stands for each kind (64 bits for all
integers, microseconds for all time stamps and so on), so that equal vertices are
equal in whichever table they come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.errors import NullEndpointError, VertexTypeError
from dyntc_spark.kernels.ids import Indices

NAMEABLE = (
    "Strings, numbers, booleans, binary, dates, time stamps, intervals, and arrays and structs of these "
    "can name vertices; cast the others."
)
#: The most digits of a decimal number.
DIGITS = 38
#: So few values are told apart sooner by Python than by Arrow.
FEW = 32
#: Arrays and structs lie in each other so deep at most.
DEEPEST = 40


def canonical(column: pa.Array, name: str, depth: int = 0) -> pa.Array:
    """Return a column in the one type of its kind; errors call it ``name``.

    Examples
    --------
    >>> canonical(pa.array([1, 2], pa.uint8()), "src").type, canonical(pa.array(["a"]).dictionary_encode(), "src").type
    (DataType(int64), DataType(string))
    >>> canonical(pa.array([{"shop": 1, "item": "x"}]), "src").type
    StructType(struct<shop: int64, item: string>)
    """
    if depth > DEEPEST:
        raise VertexTypeError(f"vertices of at most {DEEPEST} arrays and structs in each other", "more", NAMEABLE)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if getattr(column.type, "extension_name", None) == "arrow.uuid":  # Spark has no such type: their text
        column = pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    if pa.types.is_struct(column.type) and column.type.num_fields:
        fields = [
            canonical(child, f"{name}.{field.name}", depth + 1) for child, field in zip(*_parts(column), strict=True)
        ]
        names = [field.name for field in column.type]
        return pa.StructArray.from_arrays(fields, names, mask=column.is_null())
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        values = canonical(column.flatten(), f"{name}[]", depth + 1)
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(ends), values, mask=column.is_null())
    wanted = next((make(column.type) for fits, make in _CANONICAL if fits(column.type)), None)
    if wanted is None or (pa.types.is_decimal(wanted) and wanted.scale > DIGITS):
        raise VertexTypeError(f"vertices that can be compared in column {name!r}", f"{column.type}", NAMEABLE)
    try:
        column = column.cast(wanted)
        if pa.types.is_string(wanted):
            column.validate(full=True)  # Arrow takes any bytes for text that it is given beside some
    except pa.ArrowException as error:
        raise VertexTypeError(f"{wanted} in column {name!r}", f"{column.type}: {error}", "Cast it first.") from error
    _refuse_far_times(column, name)
    if pa.types.is_floating(wanted):  # NaN names nothing, and 0.0 is -0.0
        column = pc.add(pc.if_else(pc.is_nan(column), None, column), 0.0)
    return column


def _refuse_far_times(column: pa.Array, name: str) -> None:
    """Refuse dates and time stamps that neither Python nor Spark has."""
    if pa.types.is_timestamp(column.type):
        bounds, numbers = _STAMPS, column.cast(pa.int64())
    elif pa.types.is_date(column.type):
        bounds, numbers = _DATES, column.cast(pa.int32())
    else:
        return
    found = pc.min_max(numbers).as_py()
    if found["min"] is not None and not bounds[0] <= found["min"] <= found["max"] <= bounds[1]:
        raise VertexTypeError(f"years from 1 to 9999 in column {name!r}", "others", "Correct these rows first.")


def refuse_nulls(column: pa.Array, name: str) -> None:
    """Raise the error that names the first row without a vertex, or with one that lacks a part."""
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise NullEndpointError(
            f"a vertex in every row of column {name!r}",
            f"null in row {row} ({column.null_count} in all)",
            "Drop or repair these rows first; NaN counts as null.",
        )
    if pa.types.is_struct(column.type):
        for child, field in zip(*_parts(column), strict=True):
            refuse_nulls(child, f"{name}.{field.name}")
    elif pa.types.is_list(column.type):
        refuse_nulls(column.flatten(), f"{name}[]")


def hashable(column: pa.Array) -> list[Any]:
    """Return the values as Python's, structs and arrays as tuples: equal values are equal keys of a dictionary.

    Examples
    --------
    >>> hashable(pa.array([{"shop": 1, "items": ["x", "y"]}]))
    [(1, ('x', 'y'))]
    """
    if pa.types.is_struct(column.type):
        return list(zip(*(hashable(child) for child in _parts(column)[0]), strict=True))
    if pa.types.is_list(column.type):
        values = hashable(column.flatten())
        ends = np.cumsum(pc.list_value_length(column).to_numpy()).tolist()
        return [tuple(values[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]
    found: list[Any] = column.to_pylist()
    return found


def encoded(column: pa.Array) -> tuple[Indices, pa.Array]:
    """Return the different values of a column in the order of their first rows, and for each row the place among them.

    Examples
    --------
    >>> places, values = encoded(pa.array([["a"], ["b"], ["a"]]))
    >>> places, values.to_pylist()
    (array([0, 1, 0]), [['a'], ['b']])
    """
    if len(column) > FEW and not pa.types.is_nested(column.type):
        coded = column.dictionary_encode()
        return coded.indices.to_numpy().astype(np.int64), coded.dictionary
    seen: dict[Any, int] = {}
    places = np.array([seen.setdefault(key, len(seen)) for key in hashable(column)], np.int64)
    return places, column if len(seen) == len(column) else taken(column, np.unique(places, return_index=True)[1])


def taken(column: pa.Array, rows: Indices) -> pa.Array:
    """Return some rows of a column; to take none is a view, for Arrow's functions take long to call."""
    return column.take(pa.array(rows)) if len(rows) else column[:0]


def spark_type(kind: pa.DataType) -> str:
    """Return Spark's name of a type; left to itself, Spark reads a time stamp without zone in the session's zone.

    Examples
    --------
    >>> spark_type(pa.list_(pa.int32())), spark_type(pa.timestamp("us")), spark_type(pa.decimal128(38, 2))
    ('array<int>', 'timestamp_ntz', 'decimal(38,2)')
    >>> spark_type(pa.struct([("shop", pa.int64()), ("item", pa.string())]))
    'struct<`shop`:bigint,`item`:string>'
    """
    if pa.types.is_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields = (f"`{field.name.replace('`', '``')}`:{spark_type(field.type)}" for field in kind)
        return f"struct<{','.join(fields)}>"
    if pa.types.is_map(kind):
        return f"map<{spark_type(kind.key_type)},{spark_type(kind.item_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _SPARK_TYPES[kind]


def _parts(column: pa.Array) -> tuple[list[pa.Array], list[pa.Field]]:
    """Return the fields of a struct column: their values, null where the struct is, and their names and types."""
    return column.flatten(), list(column.type)


#: From the year 1 to the year 9999: days, and microseconds.
_DATES = (-719_162, 2_932_896)
_STAMPS = (86_400_000_000 * _DATES[0], 86_400_000_000 * (_DATES[1] + 1) - 1)

_SPARK_TYPES = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.duration("us"): "interval day to second",
}

_CANONICAL: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], pa.DataType]]] = [
    (pa.types.is_null, lambda kind: kind),
    (pa.types.is_boolean, lambda kind: kind),
    (pa.types.is_integer, lambda _kind: pa.int64()),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), lambda _kind: pa.string()),
    (pa.types.is_string_view, lambda _kind: pa.string()),
    (pa.types.is_floating, lambda _kind: pa.float64()),
    (pa.types.is_decimal, lambda kind: pa.decimal128(DIGITS, max(kind.scale, 0))),
    (pa.types.is_date, lambda _kind: pa.date32()),
    (pa.types.is_timestamp, lambda kind: pa.timestamp("us", kind.tz and "UTC")),
    (pa.types.is_duration, lambda _kind: pa.duration("us")),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), lambda _kind: pa.binary()),
    (pa.types.is_fixed_size_binary, lambda _kind: pa.binary()),
]
