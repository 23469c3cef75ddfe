"""The vertex table with names on Spark: a DataFrame ``vertex``, ``number``, of which only numbers come to the driver.

How a name gets its number, and keeps it when Spark loses blocks, is in ``numbered_names``.

Vertices that batches bring are further parts. Those of a DataFrame are numbered and kept in
the same way; those that this process gives are sent with each question. A part never changes: numbers that are dropped
are left out of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.blocks.columns import with_no_reports
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.errors import InputError, LostBlocksError, SessionError
from dyntc_spark.graph.inputs.read import Ends
from dyntc_spark.graph.inputs.vertex_types import encoded, taken
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.vertices.in_process import VertexTable
from dyntc_spark.graph.vertices.names import NewNames, Vertices, all_known, require_same_kind
from dyntc_spark.graph.vertices.numbered_names import KeptNames, Names, SentNames, checked, numbered
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.lazy_pyspark import F, sql
from dyntc_spark.session import is_connect, is_open

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Names that this process gives are one part, up to this many.
MOST_SENT = 10_000
#: More parts than this are put together: the last one with those before it that are not four times as large.
MOST_PARTS = 8
#: An answer of so few rows comes in the order of its rows.
FEW_ROWS = 10_000

_NOTHING: Indices = np.zeros(0, np.int64)
_Answer = TypeVar("_Answer")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of the table, ``vertex`` and ``number``, but for those of the numbers that are ``gone``."""

    names: Names
    rows: int
    gone: Indices = field(default_factory=lambda: _NOTHING)

    @classmethod
    def sent(cls, spark: SparkSession, table: pa.Table) -> Part:
        """Return rows of this process."""
        return cls(SentNames(spark, table), table.num_rows)

    def frame(self) -> DataFrame:
        """Return the rows."""
        found = self.names.frame
        if not len(self.gone):
            return found
        return found.join(F.broadcast(_numbers(found.sparkSession, self.gone)), "number", "left_anti")


@dataclass(frozen=True, slots=True)
class NamesOnSpark:
    """New names on Spark: ``places`` of the vertices that count from ``first`` on."""

    part: Part
    first: int
    places: Indices

    def __len__(self) -> int:
        return len(self.places)

    def take(self, places: pa.Array) -> NamesOnSpark:
        """Return some of them."""
        return replace(self, places=self.places[places.to_numpy()])

    def __getitem__(self, which: slice) -> NamesOnSpark:
        return replace(self, places=self.places[which])

    def to_pylist(self) -> list[object]:
        """Bring the names here: one job."""
        found = VerticesOnSpark(self.part.names.frame.sparkSession, pa.null(), (self.part,), self.first)
        return list(found.names(self.first + self.places).to_pylist())


class VerticesOnSpark:
    """Names of vertices by number, and numbers by name, on Spark.

    Parameters
    ----------
    spark
        The session that has the names.
    kind
        Their type.
    parts
        Where they are.
    extent, free
        All numbers are below ``extent``; ``free`` ones, ascending, have no name.
    """

    on_spark = True

    def __init__(
        self,
        spark: SparkSession,
        kind: pa.DataType,
        parts: tuple[Part, ...] = (),
        extent: int = 0,
        free: Indices = _NOTHING,
    ) -> None:
        self.spark = spark
        self._kind, self._parts, self._extent, self._free = kind, parts, extent, free

    @classmethod
    def of(cls, table: Vertices, spark: SparkSession) -> VerticesOnSpark:
        """Return the vertices of any table as a table on Spark, with the same numbers."""
        if isinstance(table, VerticesOnSpark):
            return table
        used = table.used
        part = Part.sent(spark, pa.table({"vertex": table.names(used), "number": pa.array(used, pa.int32())}))
        free = np.setdiff1d(np.arange(table.extent), used)
        return cls(spark, table.kind, (part,) if part.rows else (), table.extent, free)

    @property
    def kind(self) -> pa.DataType:
        """The type of the vertices."""
        return self._kind

    @property
    def extent(self) -> int:
        """All numbers are below this; those of dropped vertices count."""
        return self._extent

    @property
    def used(self) -> Indices:
        """The numbers that have a vertex, ascending."""
        return np.setdiff1d(np.arange(self._extent), self._free, assume_unique=True)

    def __len__(self) -> int:
        return self._extent - len(self._free)

    # --- with names of this process --------------------------------------------------------------

    def names(self, numbers: npt.ArrayLike | None = None) -> pa.Array:
        """Bring the names of some vertices here, or of all by their numbers: one job."""
        wanted = self.used if numbers is None else np.asarray(numbers, np.int64)
        if not len(wanted):
            return pa.array([], self.kind)
        different, rows = np.unique(wanted, return_inverse=True)

        def asked() -> DataFrame:
            names = self._frame()
            return names if numbers is None else names.join(F.broadcast(_numbers(self.spark, different)), "number")

        found = self._collected("names of vertices", asked)
        place = np.full(len(different), -1)
        place[np.searchsorted(different, found.column("number").to_numpy())] = np.arange(found.num_rows)
        places = place[rows]
        return found.column("vertex").combine_chunks().take(pa.array(places, mask=places < 0))

    def numbers(self, names: pa.Array) -> Indices:
        """Return the numbers of vertices; -1 for those that are not there: one job."""
        numbers = np.full(len(names), -1)
        if len(names):
            self.require_kind(names.type, f", such as {names[0].as_py()!r}")
            asked = frame(self.spark, pa.table({"place": pa.array(np.arange(len(names))), "vertex": names}))
            table = self._collected(
                "numbers of vertices",
                lambda: self._frame().join(F.broadcast(asked), "vertex").select("place", "number"),
            )
            numbers[table.column("place").to_numpy()] = table.column("number").to_numpy()
        return numbers

    def known_numbers(self, names: pa.Array, *, refuse: bool = True) -> Indices:
        """Return the numbers of vertices; an error names the first that is not there, unless told not to ``refuse``."""
        numbers = self.numbers(names)
        return all_known(numbers, names) if refuse else numbers

    def numbered(self, ends: Ends) -> tuple[Edges, NewNames]:
        """Return edges as numbers, with the vertices that are not there yet: these count from ``extent`` on."""
        places, different = encoded(pa.concat_arrays([ends.src, ends.dst]))
        numbers = self.numbers(different)
        new = (numbers < 0).nonzero()[0]
        numbers[new] = np.arange(self.extent, self.extent + len(new))
        found = numbers[places]
        return Edges(found[: len(ends)], found[len(ends) :]), taken(different, new)

    def require_kind(self, kind: pa.DataType, sample: str = "") -> None:
        """Refuse names of another type than the graph's vertices have."""
        require_same_kind(self.kind, kind, sample)

    # --- with names on Spark ---------------------------------------------------------------------

    def numbered_rows(
        self, rows: DataFrame, kind: pa.DataType, further: DataFrame | None = None
    ) -> tuple[pa.Table, NewNames]:
        """Return rows with numbers in place of the names in ``src`` and ``dst``, and the new names, as `numbered`.

        ``further``: names in the column ``vertex``, which are to be among the new ones, too.
        """
        return self._surviving(lambda: self._numbered_rows(rows, kind, further))

    def _numbered_rows(
        self, given: DataFrame, kind: pa.DataType, further: DataFrame | None
    ) -> tuple[pa.Table, NewNames]:
        backend = SparkBackend(self.spark)
        held, _ = backend.persist("rows to number", with_no_reports(given))
        rows = held.frame  # persisted as long as it is held, which is until this returns
        count = checked(backend, rows, kind)
        if count:
            self.require_kind(kind)
        if further is not None:
            checked(backend, further, kind)

        def names() -> DataFrame:
            ends = [rows.select(F.col(end).alias("vertex")) for end in ("src", "dst")]
            found = reduce(sql.DataFrame.unionAll, [*ends, *([] if further is None else [further])]).distinct()
            return found.join(self._frame(), "vertex", "left_anti") if self._parts else found

        kept, many = numbered(backend, names, self.extent, tuple(part.names for part in self._parts))
        table = self._frame() if kept is None else self._frame().unionByName(kept.frame)
        found = rows
        for end in ("src", "dst"):
            named = table.select(F.col("vertex").alias(end), F.col("number").alias(f"dyntc_{end}"))
            found = found.join(named, end).drop(end).withColumnRenamed(f"dyntc_{end}", end)
        told = backend.collect("numbers of rows", found.select(*given.columns))
        if told.num_rows != count:
            raise InputError(
                "a DataFrame that gives the same rows whenever it is worked out",
                f"{count} rows and then {told.num_rows} of which both ends were there before",
                "Write it to a table first, and read that.",
            )
        if kept is None:
            return told, pa.array([], self.kind)
        return told, NamesOnSpark(Part(kept, many), self.extent, np.arange(many))

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the table on Spark: ``number``, ``vertex``; a small job looks first whether Spark has it."""
        self.require_in(spark)
        self._surviving(self._look)
        return self._frame()

    def _look(self) -> None:
        for part in self._parts:
            part.names.look()

    def _frame(self) -> DataFrame:
        if not self._parts:
            return frame(self.spark, pa.table({"number": pa.array([], pa.int32()), "vertex": pa.array([], self.kind)}))
        return reduce(sql.DataFrame.unionByName, (part.frame().select("number", "vertex") for part in self._parts))

    def answer(self, spark: SparkSession, table: pa.Table, ends: Sequence[str]) -> DataFrame:
        """Return a table on Spark, with names in place of the numbers in the columns ``ends``."""
        if not ends:
            return frame(spark, table)
        found = frame(spark, table.append_column("dyntc_row", pa.array(np.arange(table.num_rows))))
        names = self.frame(spark)
        for end in ends:
            named = names.select(F.col("number").alias(end), F.col("vertex").alias(f"dyntc_{end}"))
            how = "left" if table.column(end).null_count else "inner"
            found = found.join(named, end, how).drop(end).withColumnRenamed(f"dyntc_{end}", end)
        if table.num_rows <= FEW_ROWS:
            found = found.orderBy("dyntc_row")
        return found.select(*table.column_names)

    def columns(self, numbers: Indices) -> dict[str, pa.Array]:
        """Return nothing: the names are not here."""
        del numbers
        return {}

    def completed(self, frame: DataFrame) -> DataFrame:
        """Return a table that has the column ``number`` with ``vertex``."""
        return frame.join(self.frame(frame.sparkSession), "number")

    def require_in(self, spark: SparkSession) -> None:
        """Refuse a session that cannot read the names: another one of Spark Connect, or one after they were lost."""
        if spark is self.spark or (not is_connect(spark) and not is_connect(self.spark) and is_open(self.spark)):
            return
        raise SessionError(
            "the session that has the names of the vertices",
            "another one" if is_open(self.spark) else "another one, after the first was stopped and they were lost",
            "Use the first one, or build the closure again: from_edges(..., names='driver') has names in this process.",
        )

    # --- other tables ----------------------------------------------------------------------------

    def allotted(self, count: int) -> Indices:
        """Return the numbers that ``count`` new vertices get: free ones first."""
        more = max(count - len(self._free), 0)
        return np.concatenate([self._free[:count], np.arange(self.extent, self.extent + more)])

    def added(self, names: NewNames, numbers: Indices) -> VerticesOnSpark:
        """Return the table in which new vertices have numbers: those that were allotted to them, or the next ones."""
        if not len(names):
            return self
        if isinstance(names, NamesOnSpark):
            parts = self._put_together((*self._parts, self._renumbered(names, numbers)))
        else:
            parts = self._with(pa.table({"vertex": names, "number": pa.array(numbers, pa.int32())}))
        reused = int(np.count_nonzero(numbers < self.extent))
        extent = self.extent + len(numbers) - reused
        return VerticesOnSpark(self.spark, self.kind, parts, extent, self._free[reused:])

    def dropped(self, numbers: npt.ArrayLike) -> Vertices:
        """Return the table without some vertices; their numbers are free. One without any is in this process."""
        gone = np.unique(np.asarray(numbers, np.int64))
        free = np.union1d(self._free, gone)
        if len(free) == self.extent:
            return VertexTable.of(pa.array([], self.kind), _NOTHING, self.extent)
        parts = tuple(replace(part, gone=np.union1d(part.gone, gone)) for part in self._parts)
        return VerticesOnSpark(self.spark, self.kind, parts, self.extent, free)

    def _renumbered(self, names: NamesOnSpark, numbers: Indices) -> Part:
        """Return the rows of new names with the numbers that they are to have."""
        given = names.first + names.places
        if len(given) == names.part.rows and np.array_equal(given, numbers):
            return names.part
        pairs = pa.table({"number": pa.array(given, pa.int32()), "dyntc_number": pa.array(numbers, pa.int32())})

        def made() -> DataFrame:
            found = names.part.frame().join(frame(self.spark, pairs), "number")
            return found.select("vertex", F.col("dyntc_number").alias("number"))

        return Part(KeptNames(SparkBackend(self.spark), made, (names.part.names,)), len(numbers))

    def _with(self, table: pa.Table) -> tuple[Part, ...]:
        """Return the parts with some rows of this process, which join those that were the last to come from here."""
        *parts, last = self._parts
        if not isinstance(last.names, SentNames) or last.rows + table.num_rows > MOST_SENT:
            return self._put_together((*parts, last, Part.sent(self.spark, table)))
        here = last.names.table
        kept = here.filter(pc.invert(pc.is_in(here.column("number"), pa.array(last.gone, pa.int32()))))
        return (*parts, Part.sent(self.spark, pa.concat_tables([kept, table]).combine_chunks()))

    def _put_together(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """Return the same parts, the last of them as one when they are too many."""
        if len(parts) <= MOST_PARTS:
            return parts
        at, rows = len(parts) - 2, parts[-1].rows + parts[-2].rows
        while at and parts[at - 1].rows <= 4 * rows:
            at, rows = at - 1, rows + parts[at - 1].rows
        joined = parts[at:]

        def made() -> DataFrame:
            return reduce(sql.DataFrame.unionByName, (each.frame().select("vertex", "number") for each in joined))

        kept = KeptNames(SparkBackend(self.spark), made, tuple(each.names for each in joined))
        return (*parts[:at], Part(kept, rows))

    def _collected(self, description: str, found: Callable[[], DataFrame]) -> pa.Table:
        return self._surviving(lambda: SparkBackend(self.spark).collect(description, found()))

    def _surviving(self, act: Callable[[], _Answer]) -> _Answer:
        """Do something, and once more where Spark had lost names, after they were made again."""
        try:
            return act()
        except LostBlocksError as error:
            _log.warning("Names of vertices are made again: %s", error.came)
            for part in self._parts:
                part.names.restore()
            return act()


def _numbers(spark: SparkSession, numbers: Indices) -> DataFrame:
    return frame(spark, pa.table({"number": pa.array(numbers, pa.int32())}))
