"""Vertices as they are stored: by Spark's type, in columns that Delta takes whatever the vertices are called.

Delta takes neither intervals nor every name of a struct's field. An interval is stored
as its microseconds, and fields are called ``_0``, ``_1`` and so on; what the type really is
stands beside each commit, as JSON.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.graph.inputs.vertex_types import canonical

_PLAIN: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "interval": pa.duration("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_NAMES = {kind: name for name, kind in _PLAIN.items()}
_DEEPEST = 50


def kind_text(kind: pa.DataType) -> str:
    """Return a type of vertices as text.

    Examples
    --------
    >>> kind_text(pa.struct([("shop", pa.int64()), ("items", pa.list_(pa.string()))]))
    '{"struct": [["shop", "bigint"], ["items", {"array": "string"}]]}'
    """
    return json.dumps(_described(kind))


def kind_of(text: str) -> pa.DataType:
    """Return the type that a text is about, or refuse what is none.

    Examples
    --------
    >>> kind_of('{"decimal": 2}')
    Decimal128Type(decimal128(38, 2))
    """
    try:
        return _read(json.loads(text), 0)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DamagedBlockError("a type of vertices", f"{text!r:.200}", "Use another copy of the location.") from error


def to_storage(column: pa.Array) -> pa.Array:
    """Return vertices, of which none is null, as they are stored.

    Examples
    --------
    >>> to_storage(pa.array([{"a b": 1}])).type
    StructType(struct<_0: int64>)
    """
    kind = column.type
    if pa.types.is_struct(kind):
        parts = [to_storage(part) for part in column.flatten()]
        return pa.StructArray.from_arrays(parts, [f"_{place}" for place in range(len(parts))])
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(_ends(column), to_storage(column.flatten()))
    return column.cast(pa.int64()) if pa.types.is_duration(kind) else column


def from_storage(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """Return stored vertices in their own type; an error when they are of another one."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks else pa.array([], column.type)
    found = canonical(column, "vertex")
    try:
        return _restored(found, kind)
    except (pa.ArrowException, ValueError) as error:
        raise DamagedBlockError(f"vertices of type {kind}", f"{found.type}", "Use another copy.") from error


def _restored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.null_count:
        raise ValueError
    if pa.types.is_struct(kind):
        parts = [_restored(part, field.type) for part, field in zip(column.flatten(), kind, strict=True)]
        return pa.StructArray.from_arrays(parts, [field.name for field in kind])
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(_ends(column), _restored(column.flatten(), kind.value_type))
    if pa.types.is_duration(kind):
        return column.cast(pa.int64()).cast(kind)
    if column.type != kind:
        raise ValueError
    return column


def _ends(column: pa.Array) -> pa.Array:
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))


def _described(kind: pa.DataType) -> Any:  # noqa: ANN401  (whatever JSON can hold)
    if pa.types.is_struct(kind):
        return {"struct": [[field.name, _described(field.type)] for field in kind]}
    if pa.types.is_list(kind):
        return {"array": _described(kind.value_type)}
    if pa.types.is_decimal(kind):
        return {"decimal": kind.scale}
    return _NAMES[kind]


def _read(found: Any, depth: int) -> pa.DataType:  # noqa: ANN401  (whatever JSON can hold)
    if isinstance(found, str):
        return _PLAIN[found]
    if not isinstance(found, dict) or len(found) != 1 or depth > _DEEPEST:
        raise TypeError
    ((word, inner),) = found.items()
    if word == "struct":
        return pa.struct([(str(name), _read(each, depth + 1)) for name, each in inner])
    if word == "array":
        return pa.list_(_read(inner, depth + 1))
    if word == "decimal" and 0 <= int(inner) <= 38:
        return pa.decimal128(38, int(inner))
    raise ValueError
