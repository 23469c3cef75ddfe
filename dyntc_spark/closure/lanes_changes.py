"""What a batch changed that was worked on where the blocks are: blocks before and after, compared by tasks.

Blocks after a batch know of which block they were made (``origin``), so those of one origin meet in one task. A vertex
whose component has another number than before has its rows in two places: these rows are brought here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark.closure.lanes_blocks import Blocks
from dyntc_spark.closure.lanes_tasks import STRIPES, Overlay, Task, answer, each_row
from dyntc_spark.kernels.lanes import answers, payload
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.payload import Block
from dyntc_spark.kernels.lanes.stripes import Stripes
from dyntc_spark.kernels.reach import Ids, Offsets

#: Components with other members, up to which lanes are asked whether they reach one of them.
FEW_CHANGED = 64
_VERTICES = 64  # that are compared at a time
_NO_KEYS = np.zeros(0, np.int64)


class Comparison(NamedTuple):
    """What tasks need to compare blocks."""

    which: Ids  #: stripes that may have changed
    changed: Ids  #: components with other members than before
    before: Members
    after: Members
    vertices: int
    overlay: Overlay  #: stripes that were newer than the blocks before


def compared(old: Blocks, new: Blocks, work: Comparison) -> tuple[Offsets, Offsets]:
    """Return the keys of the pairs that are new and of those that are gone: one job.

    Where members are others, pairs of vertices whose component has another number are left out.
    """
    firsts = old.touched(work.which)
    begins, ends = firsts, np.array([old.ends[first] for first in firsts.tolist()])
    inside = np.searchsorted(begins, new.firsts, "right") - 1
    made = new.firsts[(inside >= 0) & (new.firsts < ends[np.maximum(inside, 0)])]
    before = old.frame(firsts).select(F.col("first").alias("origin"), F.lit(0).alias("side"), "payload")
    after = new.frame(made).select("origin", F.lit(1).alias("side"), "payload")
    both = before.unionAll(after).repartition(old.backend.parallelism, "origin").sortWithinPartitions("origin", "side")
    table = old.backend.collect("compare stripes", both.mapInArrow(comparing(work), STRIPES))
    return _keys(new.answers(table))


def comparing(work: Comparison) -> Task:
    """Make the task that compares blocks, those of one origin one behind the other, the old one first."""

    def start() -> Any:  # noqa: ANN401  (a function of rows, with what it holds)
        old: list[Stripes] = []

        def run(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
            block = Block.decode(row["payload"])
            if row["side"] == 0:
                old[:] = [work.overlay.placed(block)]
                return
            for won, lost in _differences(work, old[0], block):
                if len(won) or len(lost):
                    yield answer(block.first, np.concatenate([[len(won)], won, lost]).astype(np.int64).tobytes())

        return run

    return each_row(start)


def _differences(work: Comparison, old: Stripes, block: Block) -> Iterator[tuple[Offsets, Offsets]]:
    """Compare the stripes of a block with what they were, some at a time."""
    total, width = work.overlay.total, old.width
    before = Version(work.before, old, work.vertices, 0)
    after = Version(work.after, block.placed(total), work.vertices, 0)
    a, b = np.searchsorted(work.which, [block.first, block.end])
    which: Ids = work.which[a:b]
    if not len(work.changed):
        for k in range(len(which)):
            yield answers.xor(before, after, which[k : k + 1])
        return
    lanes = (which[:, None] * width + np.arange(width, dtype=np.int32)).ravel()
    if len(work.changed) <= FEW_CHANGED:
        reaching = [payload.columns_of(version.stripes, work.changed)[1] for version in (before, after)]
        other = [s for s in which.tolist() if not _is_same(before.stripes, after.stripes, s)]
        lanes = lanes[np.isin(lanes // width, other) | np.isin(lanes, np.concatenate([*reaching, work.changed]))]
    inside = np.zeros(len(work.after.size) + width, np.bool_)
    inside[lanes] = True
    component = work.after.component[: work.vertices]
    stays = inside[component] & (component == work.before.component[: work.vertices])
    vertices = np.flatnonzero(stays).astype(np.int32)
    for begin in range(0, len(vertices), _VERTICES):
        yield answers.compared(before, after, vertices[begin : begin + _VERTICES])


def _is_same(old: Stripes, new: Stripes, s: int) -> bool:
    """Return whether a stripe is kept in the same way."""
    length = int(old.lengths[s])
    if length != new.lengths[s] or (old.places[s] < 0) != (new.places[s] < 0):
        return False
    pools: list[tuple[Any, Any, Any, Any]] = [(old.numbers, old.starts, new.numbers, new.starts)]
    if old.places[s] >= 0:
        pools.append((old.words, old.places, new.words, new.places))
    return all(np.array_equal(a[at[s] : at[s] + length], b[there[s] : there[s] + length]) for a, at, b, there in pools)


def _keys(told: list[tuple[int, pa.Buffer]]) -> tuple[Offsets, Offsets]:
    won, lost = [_NO_KEYS], [_NO_KEYS]
    for _, each in told:
        found = np.frombuffer(each, np.int64)
        won.append(found[1 : 1 + found[0]])
        lost.append(found[1 + found[0] :])
    return np.sort(np.concatenate(won)), np.sort(np.concatenate(lost))
