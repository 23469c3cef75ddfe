"""Tasks that compare blocks before and after a batch, and give the pairs that differ.

Blocks of the same stripes meet in one task: the old one first, then the new ones that have some of its stripes. The
exclusive or of the words is what changed. Where components have other members than before, rows of vertices are
compared instead; a vertex whose component has another number has its rows in two places, and is left out here
(``difference`` says who compares it).

What a task holds is a block before and one after, and some pairs at a time, whatever their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.workers import Batches
from dyntc_spark.engines.lanes.in_process import FEW_CHANGED, by_number
from dyntc_spark.engines.lanes.tasks import Overlay, Task
from dyntc_spark.kernels.ids import Flags, Ids, Offsets
from dyntc_spark.kernels.lanes import answers, compare, payload
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.payload import Block
from dyntc_spark.kernels.lanes.stripes import Stripes

#: A block with the first stripe of the old block that it is compared with.
PIECES = "origin int, payload binary"
_PAIRS = 2**20  # that are looked at, or given, at a time


class Comparison(NamedTuple):
    """What tasks need to compare blocks."""

    which: Ids  #: stripes that may have changed
    changed: Ids  #: components with other members than before
    before: Members
    after: Members
    vertices: int
    overlay: Overlay  #: stripes that were newer than the blocks before


def cutting(firsts: Offsets) -> Task:
    """Make the task that cuts blocks where other ones begin, at ``firsts``, the first of which is 0."""

    def task(batches: Batches) -> Batches:
        for batch in batches:
            for each in batch.column("payload"):
                block = Block.decode(each.as_buffer())
                inside = firsts[(firsts > block.first) & (firsts < block.end)]
                ends = [block.first, *inside.tolist(), block.end]
                origins = firsts[np.searchsorted(firsts, ends[:-1], "right") - 1]
                pieces = [_piece(block, begin, end) for begin, end in pairwise(ends)]
                arrays = [pa.array(origins, pa.int32()), pa.array(pieces, pa.binary())]
                yield pa.RecordBatch.from_arrays(arrays, names=["origin", "payload"])

    return task


def comparing(work: Comparison) -> Task:
    """Make the task that gives the pairs that differ, of blocks that are sorted by ``origin`` and ``side``."""

    def task(batches: Batches) -> Batches:
        group: _Group | None = None
        for batch in batches:
            sides = batch.column("side").to_pylist()
            for side, each in zip(sides, batch.column("payload"), strict=True):
                block = Block.decode(each.as_buffer())
                if side == 0:
                    if group is not None:
                        yield from group.rest()
                    group = _Group(work, block)
                elif group is not None:
                    yield from group.compared(block)
        if group is not None:
            yield from group.rest()

    return task


class _Group:
    """An old block, with which new ones are compared."""

    def __init__(self, work: Comparison, block: Block) -> None:
        self._work = work
        self._old = work.overlay.placed(block)
        a, b = np.searchsorted(work.which, [block.first, work.overlay.ends[block.first]])
        self._left: Ids = work.which[a:b]

    def compared(self, block: Block) -> Iterator[pa.RecordBatch]:
        """Compare the stripes of a new block."""
        inside = (self._left >= block.first) & (self._left < block.end)
        which, self._left = self._left[inside], self._left[~inside]
        if len(which):
            yield from _differences(self._work, self._old, block.placed(self._work.overlay.total), which)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Compare the stripes that no new block has, and that are empty now."""
        if len(self._left):
            nothing = payload.absent(self._work.overlay.total, self._old.width)
            yield from _differences(self._work, self._old, nothing, self._left)


def _differences(work: Comparison, old: Stripes, new: Stripes, which: Ids) -> Iterator[pa.RecordBatch]:
    """Compare some stripes with what they were."""
    before, after = Version(work.before, old, work.vertices, 0), Version(work.after, new, work.vertices, 0)
    return _by_rows(work, before, after, which) if len(work.changed) else _by_words(before, after, which)


def _by_words(before: Version, after: Version, which: Ids) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of words that differ; members are the same."""
    offsets, vertices = by_number(after.members, after.vertices)
    width, most = after.stripes.width, max(_PAIRS, after.vertices)
    for s in which.tolist():
        runs = compare.runs(before.stripes, after.stripes, s)
        for words, won in ((runs.won, True), (runs.lost, False)):
            for sources, targets in compare.unfolded(offsets, vertices, s * width, runs, words, most):
                yield _pairs(sources, targets, won=won)


def _by_rows(work: Comparison, before: Version, after: Version, which: Ids) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of vertices whose rows differ and whose component has the same number."""
    width = after.stripes.width
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
    looks = np.cumsum(
        _row_lengths(before, which, component[vertices]) + _row_lengths(after, which, component[vertices])
    )
    for begin, end in payload.portions(looks, _PAIRS):
        for keys, won in zip(answers.compared(before, after, vertices[begin:end]), (True, False), strict=True):
            if len(keys):
                yield _pairs((keys >> 32).astype(np.int32), (keys & (2**32 - 1)).astype(np.int32), won=won)


def _row_lengths(version: Version, which: Ids, lanes: Ids) -> Offsets:
    """Return how many vertices each of ``lanes`` reaches, which are lanes of ``which`` stripes."""
    sizes, first, end = version.members.size, int(which[0]), int(which[-1]) + 1
    before = np.append(0, np.cumsum(sizes, dtype=np.int64))
    found: Offsets = payload.reached_by(version.stripes, first, end, sizes, before)[
        lanes - first * version.stripes.width
    ]
    return found


def _is_same(old: Stripes, new: Stripes, s: int) -> bool:
    """Return whether a stripe is kept in the same way."""
    length = int(old.lengths[s])
    if length != new.lengths[s] or (old.places[s] < 0) != (new.places[s] < 0):
        return False
    pools: list[tuple[Any, Any, Any, Any]] = [(old.numbers, old.starts, new.numbers, new.starts)]
    if old.places[s] >= 0:
        pools.append((old.words, old.places, new.words, new.places))
    return all(np.array_equal(a[at[s] : at[s] + length], b[there[s] : there[s] + length]) for a, at, b, there in pools)


def moved_vertices(before: Members, after: Members, vertices: int) -> Flags:
    """Return for each vertex whether its component has another number than before."""
    found: Flags = before.component[:vertices] != after.component[:vertices]
    return found


def _piece(block: Block, begin: int, end: int) -> bytes:
    which = np.arange(begin - block.first, end - block.first, dtype=np.int32)
    return Block(begin, payload.picked(block.stripes, which)).encode()


def _pairs(sources: Ids, targets: Ids, *, won: bool) -> pa.RecordBatch:
    arrays = [pa.array(sources), pa.array(targets), pa.array(np.full(len(sources), won))]
    return pa.RecordBatch.from_arrays(arrays, names=["src", "dst", "won"])
