"""The closure of a deterministic engine on Spark, row by row, worked out by tasks where its blocks are.

The engines keep the closure as matrices of bits or counts in square blocks: entry ``(x, y)`` of a part
stands for the pair ``(down + x, across + y)`` where it is positive. The blocks of one block row meet in
one task, which unites the parts to rows. Only what is asked for travels: the rows themselves stay a
DataFrame, and the driver gets one number for each block row, or one pair for each row that lacks something.

A task holds one block row at a time, ``step x n`` flags, and hands rows on a million flags at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.columns import ROWS
from dyntc_spark.blocks.lineage import looking
from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.spark import SparkState
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.blocks.workers import Batches
from dyntc_spark.edges import Edges
from dyntc_spark.engines.certificate import Successors
from dyntc_spark.kernels import centre_records, missing_pairs
from dyntc_spark.kernels.ids import Flags, Words
from dyntc_spark.matrices.triples import support

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Turns some whole rows of the closure, from a vertex on, into what a task hands on.
Tell: TypeAlias = Callable[[int, Flags], pa.RecordBatch | None]

AT_A_TIME = 2**20  #: flags that are listed at a time


class Part(NamedTuple):
    """A matrix whose positive entries ``(x, y)`` stand for the pairs ``(down + x, across + y)``."""

    name: str
    down: int = 0
    across: int = 0


class Joined(NamedTuple):
    """Pairs beside the parts: ``(x, y)`` where row x of ``into`` and row y of ``out`` share a bit."""

    into: Words
    out: Words


@dataclass(frozen=True)
class ClosureRows:
    """The rows of a closure whose blocks are on Spark.

    Parameters
    ----------
    state
        Holds the parts.
    parts
        The matrices that the closure is the union of.
    vertices
        How many there are; the matrices may be larger.
    joined
        Further pairs, which travel with each task.
    """

    state: SparkState
    parts: tuple[Part, ...]
    vertices: int
    joined: Joined | None = None

    def frame(self, *, look: bool = False) -> DataFrame:
        """Return ``number int`` and ``reached array<int>``, sorted, the vertex itself included; starts no job.

        With ``look`` one job looks first whether Spark has the blocks, and ``LostBlocksError`` is raised where not.
        """
        if look:
            self.state.backend.collect("look for blocks", looking(self.state.kept))
        return self._told(_listed, ROWS)

    def pairs(self) -> int:
        """Count the pairs of two different vertices: one job."""
        return self.state.backend.total("count pairs", self._told(_counted, "pairs bigint"), "pairs") - self.vertices

    def missing(self, successors: Successors) -> Edges:
        """Return a pair for each row that lacks a successor of something that it holds: one job."""
        lacking = self._told(_lacking(successors), "source bigint, target bigint")
        found = self.state.backend.collect("certify", lacking)
        return Edges.of(found.column("source").to_numpy(), found.column("target").to_numpy())

    def _told(self, tell: Tell, schema: str) -> DataFrame:
        """Return what ``tell`` makes of the rows, all of a block row in one task."""
        names = dict.fromkeys(part.name for part in self.parts)
        kinds = {name: self.state.kinds[name] for name in names}
        cells = self.state.select({name: name for name in names}).frame  # type: ignore[attr-defined]
        parts = max(1, min(self.state.backend.parallelism, max(kind.grid.blocks[0] for kind in kinds.values())))
        together = cells.repartition(parts, "bi").sortWithinPartitions("bi")
        task = _uniting(kinds, self.parts, self.vertices, self.joined, tell)
        found: DataFrame = together.mapInArrow(task, schema)
        return found


def _uniting(
    kinds: dict[str, Kind], parts: tuple[Part, ...], vertices: int, joined: Joined | None, tell: Tell
) -> Callable[[Batches], Batches]:
    """Make the task: cells in, those of a block row one after the other; what is told of its rows out."""

    def task(batches: Batches) -> Batches:
        at, rows = -1, dict[int, Flags]()
        for batch in batches:
            columns = {name: batch.column(name) for name in batch.schema.names}
            places = zip(columns["bi"].to_pylist(), columns["bj"].to_pylist(), strict=True)
            for place, (bi, bj) in enumerate(places):
                if bi != at:
                    yield from _told(rows, joined, tell)
                    at, rows = bi, {}
                for part in parts:
                    _unite(rows, part, kinds[part.name], vertices, (bi, bj), columns[part.name][place])
        yield from _told(rows, joined, tell)

    return task


def _told(rows: dict[int, Flags], joined: Joined | None, tell: Tell) -> Batches:
    """Yield what is told of the rows of a block row, whose parts are united."""
    for first, flags in rows.items():
        numbers = np.arange(first, first + len(flags))
        flags[np.arange(len(flags)), numbers] = True
        if joined is not None:
            centre_records.meet_all(joined.into, joined.out, numbers, flags)
        step = max(1, AT_A_TIME // flags.shape[1])
        for start in range(0, len(flags), step):
            if (batch := tell(first + start, flags[start : start + step])) is not None:
                yield batch


def _unite(
    rows: dict[int, Flags], part: Part, kind: Kind, vertices: int, at: tuple[int, int], payload: pa.BinaryScalar
) -> None:
    """Add a block of a part to the rows that it belongs to; these are keyed by their first vertex."""
    grid, (bi, bj) = kind.grid, at
    if not grid.holds(bi, bj):
        return
    first, left = part.down + bi * grid.down.step, part.across + bj * grid.across.step
    height = min(grid.down.extent(bi), vertices - first)
    if height <= 0:
        return
    if first not in rows:
        rows[first] = np.zeros((height, vertices), np.bool_)
    if payload.is_valid:
        x, y, _ = BOOLEAN.coordinates(support(kind.ring.decode(payload.as_buffer())))
        inside = (x < height) & (y < vertices - left)
        rows[first][x[inside], left + y[inside]] = True


def _listed(first: int, flags: Flags) -> pa.RecordBatch:
    """Rows as lists."""
    ends = np.append(0, np.cumsum(np.count_nonzero(flags, axis=1))).astype(np.int32)
    reached = pa.ListArray.from_arrays(pa.array(ends), pa.array(np.nonzero(flags)[1].astype(np.int32)))
    numbers = pa.array(np.arange(first, first + len(flags), dtype=np.int32))
    return pa.RecordBatch.from_arrays([numbers, reached], names=["number", "reached"])


def _counted(first: int, flags: Flags) -> pa.RecordBatch:
    """How many pairs there are in some rows."""
    del first
    return pa.RecordBatch.from_arrays([pa.array([np.count_nonzero(flags)], pa.int64())], names=["pairs"])


def _lacking(successors: Successors) -> Tell:
    """Make what tells which rows are not closed under the edges."""

    def tell(first: int, flags: Flags) -> pa.RecordBatch | None:
        numbers = np.arange(first, first + len(flags))
        ends = np.append(0, np.cumsum(np.count_nonzero(flags, axis=1)))
        members = np.nonzero(flags)[1].astype(np.int32)
        marks = np.zeros(flags.shape[1] + 1, np.int64)
        found = missing_pairs.missing(numbers, ends, members, *successors, marks)
        if not len(found[0]):
            return None
        return pa.RecordBatch.from_arrays([pa.array(side) for side in found], names=["source", "target"])

    return tell
