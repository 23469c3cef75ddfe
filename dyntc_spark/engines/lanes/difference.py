"""What a batch changed, as a DataFrame that tasks work out where the stripes are, and as keys in this process.

A `Change` has the closure before a batch and the one after it. Both are values, whatever comes later:

- worked on in this process: the stripes that matter are sent to tasks, which unfold the pairs;
- worked on where the blocks are: each new block knows of which block it was made (``origin``);
- built with the same numbers: new blocks are cut where the old ones begin;
- built with other numbers: the rows of all vertices are compared (``row_changes``).

A vertex whose component has another number than before has its rows in two blocks. Only such rows are unfolded
and compared by Spark, in all cases but the last.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from dyntc_spark.blocks.columns import ROWS
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.engines.lanes import in_process, tasks
from dyntc_spark.engines.lanes.blocks import table_of
from dyntc_spark.engines.lanes.changes import PIECES, Comparison, comparing, cutting, moved_vertices
from dyntc_spark.engines.lanes.in_process import APART, HERE, OTHER_NUMBERS, Change, Closure, compared_stripes
from dyntc_spark.engines.lanes.on_spark import OnSpark
from dyntc_spark.engines.lanes.tasks import Overlay
from dyntc_spark.engines.row_changes import CHANGED, nothing_changed, rows_compared
from dyntc_spark.kernels.ids import Flags, Ids, Offsets
from dyntc_spark.kernels.lanes import answers, compare, payload
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.payload import Block
from dyntc_spark.kernels.lanes.stripes import Stripes
from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Side(NamedTuple):
    """The blocks of a version, and what is newer than these."""

    version: Version
    frame: DataFrame  #: ``first``, ``origin``, ``payload``
    overlay: Overlay

    def rows(self, wanted: Flags | None) -> DataFrame:
        """Return the rows of some vertices, by default all."""
        task = tasks.unfolding(self.version.members, self.overlay, self.version.vertices, wanted)
        return self.frame.mapInArrow(task, ROWS)


def changed(change: Change, backend: SparkBackend) -> DataFrame:
    """Return the pairs that a batch changed: the columns `CHANGED`. No job."""
    before, after = change.before.version, change.after.version
    which = compared_stripes(change) if _at_hand(change) else change.altered
    if not after.vertices or (not len(which) and change.made != OTHER_NUMBERS):
        return nothing_changed(backend.spark)
    if change.made == OTHER_NUMBERS:
        return rows_compared(*(_whole(closure, backend).rows(None) for closure in (change.before, change.after)))
    moved = moved_vertices(before.members, after.members, after.vertices)
    old, new, pieces = _sides(change, which, backend)
    work = Comparison(which, change.changed, before.members, after.members, after.vertices, old.overlay)
    sides = (
        old.frame.select(F.col("first").alias("origin"), F.lit(0).alias("side"), "payload"),
        pieces.select("origin", F.lit(1).alias("side"), "payload"),
    )
    both = sides[0].unionAll(sides[1]).repartition(backend.parallelism, "origin").sortWithinPartitions("origin", "side")
    found = both.mapInArrow(comparing(work), CHANGED)
    return found.unionAll(rows_compared(old.rows(moved), new.rows(moved))) if moved.any() else found


def collected(change: Change) -> tuple[Offsets, Offsets]:
    """Return the keys of the pairs that a batch made reachable, and of those that it made unreachable, ascending.

    No job where the stripes are at hand, else one.
    """
    before, after = change.before.version, change.after.version
    if not _at_hand(change):
        backend = cast("OnSpark", change.after.place).stored.backend
        table = backend.collect("compare stripes", changed(change, backend))
        ends = [table.column(name).to_numpy().astype(np.int64) for name in ("src", "dst")]
        keys, won = (ends[0] << 32) | ends[1], table.column("won").to_numpy()
        return np.sort(keys[won]), np.sort(keys[~won])
    if change.made == OTHER_NUMBERS:
        return answers.compared(before, after, np.arange(after.vertices, dtype=np.int32))
    if len(change.changed):
        return answers.compared(before, after, compare.sources(before, after, change.altered, change.changed))
    return compare.xor(before, after, change.altered)


def counted(change: Change) -> tuple[int, int] | None:
    """Return how many pairs `collected` would return; None where only a job could tell.

    Where no component has other members, no pair is unfolded.
    """
    if not _at_hand(change):
        return None
    if change.made == OTHER_NUMBERS or len(change.changed):
        won, lost = collected(change)
        return len(won), len(lost)
    return compare.counts(change.before.version, change.after.version, change.altered)


def more_pairs(change: Change) -> int:
    """Return how many pairs more there are after a batch: on Spark no job."""
    were, are = (closure.place.pairs(closure.version) for closure in (change.before, change.after))
    return are - were


def lean(change: Change) -> Change:
    """Return a change; one that was made in this process without the stripes that need not be compared."""
    if change.made == OTHER_NUMBERS or change.before.place.backend != "local":
        return change
    which = compared_stripes(change)
    before, after = (
        Closure(closure.version._replace(stripes=_only(closure.version.stripes, which)), closure.place)
        for closure in (change.before, change.after)
    )
    return change._replace(before=before, after=after, altered=which)


def _at_hand(change: Change) -> bool:
    """Return whether all that is to be compared is in this process."""
    return change.made == HERE or change.before.place.backend == "local"


def _sides(change: Change, which: Ids, backend: SparkBackend) -> tuple[Side, Side, DataFrame]:
    """Return the blocks to be compared, old and new ones, and these in pieces that lie within their ``origin``."""
    if _at_hand(change):
        old, new = _sent(change.before.version, change.after.version, which, backend)
    elif change.made == APART:
        old, new = _apart(change, which)
    else:
        old, new = _whole(change.before, backend), _whole(change.after, backend)
        return old, new, new.frame.mapInArrow(cutting(np.array(sorted(old.overlay.ends))), PIECES)
    return old, new, new.frame


def _apart(change: Change, which: Ids) -> tuple[Side, Side]:
    """Return the blocks that a batch has worked on where they are."""
    (before, place), (after, new_place) = change.before, change.after
    old, new = cast("OnSpark", place), cast("OnSpark", new_place)
    firsts, ends = old.stored.touched(which), old.stored.ends
    inside = np.searchsorted(firsts, new.stored.firsts, "right") - 1
    upto = np.array([ends[first] for first in firsts.tolist()])
    made = new.stored.firsts[(inside >= 0) & (new.stored.firsts < upto[np.maximum(inside, 0)])]
    return (
        Side(before, old.stored.layers.rows(firsts), old.newer(before)),
        Side(after, new.stored.layers.rows(made), new.newer(after)),
    )


def _whole(closure: Closure, backend: SparkBackend) -> Side:
    """Return all blocks of a closure that has vertices."""
    version, place = closure
    if place.backend == "local":
        every = np.arange(len(version.stripes.starts), dtype=np.int32)
        return _sent(version, version, every, backend)[0]
    frame, overlay = cast("OnSpark", place).blocks_now(version)
    return Side(version, cast("DataFrame", frame), overlay)


def _sent(before: Version, after: Version, which: Ids, backend: SparkBackend) -> tuple[Side, Side]:
    """Send stripes of two versions, which are at hand, as blocks that begin at the same stripes."""
    old, new = _only(before.stripes, which), _only(after.stripes, which)
    sizes = payload.byte_sizes(old) + payload.byte_sizes(new)
    firsts = np.flatnonzero(np.diff((np.cumsum(sizes) - sizes) // in_process.BLOCK_BYTES, prepend=-1))
    ends = dict(pairwise([*firsts.tolist(), len(sizes)]))
    overlay = Overlay(which[:0], payload.picked(old, which[:0]), ends, len(sizes))

    def side(version: Version, held: Stripes) -> Side:
        ranges = (np.arange(*bounds, dtype=np.int32) for bounds in ends.items())
        blocks = [Block(int(part[0]), payload.picked(held, part)) for part in ranges]
        return Side(version, backend.spark.createDataFrame(table_of(blocks)), overlay)

    return side(before, old), side(after, new)


def _only(stripes: Stripes, which: Ids) -> Stripes:
    """Return the stripes ``which`` in pools of their own, and all others empty."""
    nothing = payload.absent(len(stripes.starts), stripes.width)
    nothing.lengths[:] = 0
    return payload.overlaid(nothing, which, payload.picked(stripes, which))
