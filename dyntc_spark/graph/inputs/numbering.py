"""Edges and changes as users hand them in, brought to numbers: where their names are, there they are numbered.

A table of this process is read here. A DataFrame is brought here too, unless its names are more than the driver should
hold, or those of the graph are on Spark already: then joins number it, and only numbers come here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.errors import OptionError, VertexTypeError
from dyntc_spark.graph.inputs.read import (
    Ends,
    Table,
    in_order,
    insertions,
    of_kind,
    read_changes,
    read_ends,
    read_vertices,
)
from dyntc_spark.graph.inputs.spark_columns import column_kinds, from_spark, quoted, selected
from dyntc_spark.graph.inputs.vertex_types import encoded
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.vertices.in_process import VertexTable
from dyntc_spark.graph.vertices.names import NewNames, Vertices, edge_names
from dyntc_spark.graph.vertices.numbered_names import canonical_column
from dyntc_spark.graph.vertices.on_spark import VerticesOnSpark
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.lazy_pyspark import is_frame
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Names of a DataFrame that are more than this are numbered on Spark and stay there.
MOST_NAMES = 10**7
#: Where names can be.
PLACES = ("auto", "driver", "spark")


@dataclass(frozen=True, slots=True)
class FirstGraph:
    """A graph to begin with, in numbers."""

    vertices: Vertices
    edges: Edges  #: in any order, with repetitions


class Changes(Protocol):
    """Changes that were read, to be numbered by the table of the version that they change."""

    @property
    def is_empty(self) -> bool:
        """Whether there are none, as far as that is known without a job."""

    def numbered(self, vertices: Vertices) -> tuple[Edges, Flags, NewNames]:
        """Return edges, whether each is inserted, and the vertices that are not there yet, as `Vertices.numbered`."""


@dataclass(frozen=True, slots=True)
class ChangesHere:
    """Changes in this process."""

    ends: Ends
    inserting: Flags

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not len(self.ends)

    def numbered(self, vertices: Vertices) -> tuple[Edges, Flags, NewNames]:
        """Return the changes in numbers."""
        edges, new = vertices.numbered(self.ends)
        return edges, self.inserting, new


@dataclass(frozen=True, slots=True)
class ChangesOnSpark:
    """Changes in a DataFrame: ``src``, ``dst``, and where these differ ``op`` and perhaps ``at``."""

    rows: DataFrame
    kind: pa.DataType
    inserting: bool | None  #: None: see the column ``op``
    op: str  #: what that was called
    timestamp: str
    ordered: bool = True  #: whether it matters which change of an edge is the last
    is_empty = False

    def numbered(self, vertices: Vertices) -> tuple[Edges, Flags, NewNames]:
        """Return the changes in numbers: jobs of Spark."""
        with from_spark(self.rows):
            table, new = vertices.numbered_rows(self.rows, self.kind)
        edges = _edges(table)
        if self.inserting is not None:
            return edges, np.full(len(edges), self.inserting), new
        inserting = insertions(_column(table, "op"), self.op)
        if not self.ordered:
            return edges, inserting, new
        times = [_column(table, "at")] if "at" in table.column_names else []
        ends = Ends(pa.array(edges.sources), pa.array(edges.targets))
        order = in_order(ends, inserting, times, self.timestamp, lambda row: edge_names(edges, row, vertices, new))
        return edges.where(order), inserting[order], new


def read_edges(vertices: Vertices, data: Table, names: Sequence[str], *, inserting: bool) -> Changes:
    """Read edges that are all to be inserted, or all to be deleted."""
    if vertices.on_spark and is_frame(data):
        rows, kind = _rows(data, names)
        return ChangesOnSpark(rows, kind, inserting, "", "")
    ends = read_ends(data, names)
    return ChangesHere(ends, np.full(len(ends), inserting))


def read_batch(
    vertices: Vertices,
    data: Table,
    names: Sequence[str],
    timestamp: str,
    *,
    ordered: bool,
) -> Changes:
    """Read changes; see `read_changes`."""
    if not (vertices.on_spark and is_frame(data)):
        return ChangesHere(*read_changes(data, names, timestamp, ordered=ordered))
    op, *ends = names
    more = {op: "op", **({timestamp: "at"} if ordered and timestamp in data.columns else {})}
    rows, kind = _rows(data, ends, more)
    return ChangesOnSpark(rows, kind, None, op, timestamp, ordered)


def read_first_graph(
    edges: Table,
    further: Table,
    columns: Sequence[str],
    names: str,
    spark: SparkSession | None,
) -> FirstGraph:
    """Read a graph to begin with and number its vertices, where ``names`` says: see `PLACES`.

    A DataFrame is counted first: one job, which reads no column.
    """
    if names not in PLACES:
        known = ", ".join(map(repr, PLACES))
        raise OptionError(f"names={known}", f"{names!r:.80}", "Leave it out to have it chosen.")
    if is_frame(edges) and (names == "spark" or (names == "auto" and _may_be_many(edges))):
        return _first_graph_on_spark(*_rows(edges, columns), further, MOST_NAMES if names == "auto" else 0)
    ends = read_ends(edges, columns)
    if names == "spark" and len(ends):
        rows = frame(session_for(spark), pa.table({"src": ends.src, "dst": ends.dst}))
        return _first_graph_on_spark(rows, ends.src.type, further, 0)
    more = read_vertices(further, "vertex")
    table = VertexTable()
    numbers, found = table.numbered(ends)
    found = _united(found, more)
    return FirstGraph(table.added(found, np.arange(len(found))), numbers)


def united(table: Vertices, other: Vertices) -> tuple[Vertices, Indices]:
    """Return a table that has the vertices of both, and for each number of ``other`` the number there.

    The vertices of the first keep their numbers. It is a new table: other threads may use the first.
    """
    place = np.full(other.extent, -1)
    used = other.used
    if not (table.on_spark or other.on_spark):
        own = VertexTable.of(table.names(), table.used, table.extent)
        names = other.names()
        numbers, new = own.numbered(Ends(names, names))
        place[used] = numbers.sources
        return own.added(new, np.arange(own.extent, own.extent + len(new))), place
    (spark, *_) = (each.spark for each in (table, other) if isinstance(each, VerticesOnSpark))
    base = VerticesOnSpark.of(table, spark)
    rows = other.frame(spark).selectExpr("number", "vertex AS src", "vertex AS dst")
    found, added = base.numbered_rows(rows, other.kind)
    place[found.column("number").to_numpy()] = found.column("src").to_numpy()
    return base.added(added, np.arange(base.extent, base.extent + len(added))), place


def _may_be_many(edges: DataFrame) -> bool:
    with from_spark(edges):
        return 2 * edges.count() > MOST_NAMES


def _first_graph_on_spark(rows: DataFrame, kind: pa.DataType, further: Table, most_here: int) -> FirstGraph:
    """Number a graph on Spark; names that are no more than ``most_here`` come here in the end."""
    table = VerticesOnSpark(rows.sparkSession, kind)
    with from_spark(rows):
        found, new = table.numbered_rows(rows, kind, _further(further, kind, rows))
    numbered = table.added(new, np.arange(len(new)))
    if len(new) > most_here:
        return FirstGraph(numbered, _edges(found))
    return FirstGraph(VertexTable.of(numbered.names(), numbered.used, numbered.extent), _edges(found))


def _rows(data: DataFrame, ends: Sequence[str], more: dict[str, str] | None = None) -> tuple[DataFrame, pa.DataType]:
    """Return a DataFrame with ``src`` and ``dst`` in their canonical type, and with other columns as they are."""
    first, second = column_kinds(data, ends)
    if first != second:
        raise VertexTypeError(
            f"vertices of one type in the columns {ends[0]!r} and {ends[1]!r}", f"{first} and {second}", "Cast one."
        )
    found = selected(data, [*ends, *(more or {})])
    columns = [canonical_column(name, first).alias(as_name) for name, as_name in zip(ends, ("src", "dst"), strict=True)]
    return found.select(*columns, *(found[quoted(name)].alias(called) for name, called in (more or {}).items())), first


def _further(vertices: Iterable[Any] | DataFrame, kind: pa.DataType, rows: DataFrame) -> DataFrame | None:
    """Return vertices that need not have an edge as a DataFrame beside ``rows``; None where there are none."""
    if is_frame(vertices):
        (came,) = column_kinds(vertices, ["vertex"])
        if came != kind:
            raise VertexTypeError(f"vertices of type {kind}, as the edges have them", f"{came}", "Cast them first.")
        return vertices.select(canonical_column("vertex", kind).alias("vertex"))
    listed = of_kind(read_vertices(vertices, "vertex"), kind, "vertices")
    return frame(rows.sparkSession, pa.table({"vertex": listed})) if len(listed) else None


def _edges(table: pa.Table) -> Edges:
    return Edges.of(table.column("src").to_numpy(), table.column("dst").to_numpy())


def _column(table: pa.Table, name: str) -> pa.Array:
    return table.column(name).combine_chunks()


def _united(names: pa.Array, further: pa.Array) -> pa.Array:
    """Add to the vertices those of ``further`` that are not among them."""
    if not len(further):
        return names
    if not len(names):
        return encoded(further)[1]
    return encoded(pa.concat_arrays([names, of_kind(further, names.type, "vertices")]))[1]
