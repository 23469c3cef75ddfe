"""Labelled edges and changes as users hand them in: what `inputs.read` reads, with a column of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dyntc_spark.errors import InputError, MissingColumnError
from dyntc_spark.graph.inputs.read import Ends, as_ends, column_names, in_order, insertions, read_columns
from dyntc_spark.graph.inputs.spark_columns import refuse_odd_names
from dyntc_spark.graph.inputs.vertex_types import encoded
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.lazy_pyspark import is_frame


@dataclass(frozen=True, slots=True)
class Rows:
    """Changes of labelled edges, in the order in which they count."""

    ends: Ends
    label: Indices  #: for each row the place of its label
    labels: list[str]  #: each once
    inserting: Flags

    def __len__(self) -> int:
        return len(self.ends)

    def named(self, row: int) -> tuple[Any, Any, str]:
        """Return the edge of a row: source, target, label."""
        return self.ends.src[row].as_py(), self.ends.dst[row].as_py(), self.labels[self.label[row]]


def read_edges(data: Any, names: Sequence[str], *, inserting: bool) -> Rows:  # noqa: ANN401  (tables of several libraries)
    """Read labelled edges that are all to be inserted, or all to be deleted.

    Examples
    --------
    >>> rows = read_edges([("anna", "staff", "member"), ("staff", "wiki", "viewer")], ("src", "dst", "label"),
    ...                   inserting=True)
    >>> rows.labels, rows.named(1)
    (['member', 'viewer'], ('staff', 'wiki', 'viewer'))
    """
    src, dst, label = _columns(data, names)
    ends = as_ends(src, dst, names[:2])
    return Rows(ends, *places_of(label, names[2]), np.full(len(ends), inserting))


def read_changes(data: Any, names: Sequence[str], timestamp: str) -> Rows:  # noqa: ANN401
    """Read changes of labelled edges: the columns called ``names``, in the order ``op``, ``src``, ``dst``, ``label``.

    They come in the order that `dyntc_spark.graph.inputs.read.read_changes` says.
    """
    refuse_odd_names([*names, timestamp])
    timed = [timestamp] if timestamp in column_names(data) else []
    op, src, dst, label, *times = _columns(data, [*names, *timed])
    ends, inserting = as_ends(src, dst, names[1:3]), insertions(op, names[0])
    read = Rows(ends, *places_of(label, names[3]), inserting)
    if not times and not is_frame(data):
        return read
    places, different = encoded(pa.concat_arrays([ends.src, ends.dst]))
    pairs = places[: len(ends)] * len(different) + places[len(ends) :]
    edges = Ends(pa.array(pairs), pa.array(read.label))  # to be told apart, no more
    order = in_order(edges, inserting, times, timestamp, lambda row: read.named(row)[:2])
    src, dst = (column.take(pa.array(order)) for column in (ends.src, ends.dst))
    return Rows(Ends(src, dst), read.label[order], read.labels, inserting[order])


def _columns(data: Any, names: Sequence[str]) -> list[pa.Array]:  # noqa: ANN401
    """Return the columns called ``names``; where one is missing, the error says how labels are named, too."""
    try:
        return read_columns(data, names)
    except MissingColumnError as error:
        remedy = "Give tuples of these, or name the columns with src=, dst=, label= and op=; others do no harm."
        raise MissingColumnError(error.expected, error.came, remedy) from error


def places_of(column: pa.Array, name: str) -> tuple[Indices, list[str]]:
    """Return the places of labels, and the labels; refuse what is no text, or empty."""
    if not pa.types.is_string(column.type) and not pa.types.is_null(column.type):
        raise InputError(f"text in column {name!r}, which has the labels", f"{column.type}", "Cast it to text.")
    places, different = encoded(column.cast(pa.string()))
    labels = different.to_pylist()
    for place, label in enumerate(labels):
        if not label:
            row = int(np.argmax(places == place))
            raise InputError(
                f"a label in every row of column {name!r}", f"{label!r} in row {row}", "Repair these rows."
            )
    return places, labels
