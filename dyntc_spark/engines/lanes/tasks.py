"""What Spark's workers do with blocks of stripes: build, read and revise them, give their runs, unfold rows.

Each function here makes a function of Arrow batches that holds nothing but values, so that Spark can ship it: once
for a job, whatever the number of its rows. A row is a block, ``first`` and ``payload`` (``kernels.lanes.payload``),
and what a task tells the driver stands in ``reports``. Our own errors do not fail a task: they are
reported, and the driver raises them. What a task answers from one block (`Telling`) the driver can ask, too, of a
block that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.block_table import BLOCKS_TYPE
from dyntc_spark.blocks.workers import REPORT, REPORT_TYPE, Batches, error_row
from dyntc_spark.engines.lanes.build import UNBOUNDED
from dyntc_spark.engines.lanes.in_process import by_number, showing
from dyntc_spark.engines.lanes.runs import run_batch
from dyntc_spark.errors import DyntcError
from dyntc_spark.kernels.ids import Flags, Ids, Offsets
from dyntc_spark.kernels.lanes import answers, build, certificate, payload
from dyntc_spark.kernels.lanes.answers import Version, Weights
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.payload import Block
from dyntc_spark.kernels.lanes.stripes import Stripes

#: The columns of blocks that come out of a task; ``origin`` is the first stripe of the block that one was made of.
STRIPES = f"first int, origin int, payload binary, reports {REPORT}"
#: Reports: of each stripe of a block its bytes, and its pairs of vertices of different components; words that were
#: looked at by a build, and by a shrink and a grow; words changed.
SIZES, PAIRS, BUILT, LOOKED, CHANGED = range(5)
_BATCH = 2**20  # numbers in a batch of unfolded rows, or in an answer
_LANES = 64  # whose rows are in one answer
Task: TypeAlias = Callable[[Batches], Batches]
#: What is to be told of a block: answers under keys.
Telling: TypeAlias = Callable[[Block], Iterator[tuple[int, bytes]]]
Row: TypeAlias = Callable[[dict[str, Any]], Iterator[pa.RecordBatch]]


class Overlay(NamedTuple):
    """Stripes that replace those of blocks: ``which`` of them, ascending, and where each block ends."""

    which: Ids
    made: Stripes
    ends: dict[int, int]  #: by the first stripe of a block: the one after the last that belongs to it
    total: int  #: how many stripes there are

    def placed(self, block: Block) -> Stripes:
        """Return the stripes that belong to a block as they are now, all others absent."""
        end = self.ends[block.first]
        held = block.placed(self.total)
        held.lengths[block.end : end] = 0  # it was written when there were fewer
        a, b = np.searchsorted(self.which, [block.first, end])
        if a == b:
            return held
        more = payload.picked(self.made, np.arange(a, b, dtype=np.int32))
        return payload.overlaid(held, self.which[a:b], more)


def building(plan: build.Plan, sizes: Ids, width: int, size: int, ranges: Sequence[tuple[int, int]]) -> Task:
    """Make the task that builds ranges of stripes, and gives blocks of about ``size`` bytes.

    A row has the place of one of ``ranges``: its first stripe, and the one after its last. Components have ``sizes``,
    by which pairs are counted. The task holds some blocks at a time, and a line of eight words for each component that
    their lanes reach.
    """

    def start() -> Row:
        weights, sweep = answers.weights(sizes), build.new_sweep(plan)

        def run(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
            origin, end = ranges[row["id"]]
            begin, step = origin, 4 * build.TOGETHER
            while begin < end:
                stop = min(begin + step, end)
                made, looks = build.build(plan, width, begin, stop, UNBOUNDED, sweep)
                for block in Block(begin, made).cut(size):
                    yield _block(block, origin, weights, (BUILT, looks))
                    looks = 0
                taken = max(int(payload.byte_sizes(made).sum()), 1)
                fits = 4 * size * (stop - begin) // taken // build.TOGETHER * build.TOGETHER
                begin, step = stop, min(max(fits, build.TOGETHER), 4 * step)

        return run

    return each_row(start)


def telling(tell: Telling) -> Task:
    """Make the task that tells something of each block."""

    def run(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        for key, found in tell(Block.decode(row["payload"])):
            yield answer(key, found)

    return each_row(lambda: run)


def reading(wanted: Ids) -> Telling:
    """Tell the stripes ``wanted``, which ascend, under their place among these."""

    def tell(block: Block) -> Iterator[tuple[int, bytes]]:
        a, b = np.searchsorted(wanted, [block.first, block.end]).tolist()
        if a < b:
            yield a, Block(a, payload.picked(block.stripes, wanted[a:b] - np.int32(block.first))).encode()

    return tell


def asking(rows: Ids, columns: Ids) -> Telling:
    """Tell whether component ``rows[q]``, ascending, reaches ``columns[q]``, a byte each."""

    def tell(block: Block) -> Iterator[tuple[int, bytes]]:
        first, a, b = _lanes_of(block, rows)
        if a < b:
            yield a, payload.has_each(block.stripes, rows[a:b] - first, columns[a:b]).tobytes()

    return tell


def listing(lanes: Ids, most: int) -> Telling:
    """Tell what each of ``lanes``, ascending, reaches, some lanes at a time; all numbers are below ``most``.

    An answer has how many lanes it is about, how much each of them reaches, and what.
    """

    def tell(block: Block) -> Iterator[tuple[int, bytes]]:
        first, a, b = _lanes_of(block, lanes)
        for begin in range(a, b, _LANES):
            some = lanes[begin : min(begin + _LANES, b)]
            offsets, found = payload.rows_of(block.stripes, some - first, most)
            yield begin, np.concatenate([[len(some)], np.diff(offsets), found]).astype(np.int32).tobytes()

    return tell


def _lanes_of(block: Block, lanes: Ids) -> tuple[np.int32, int, int]:
    """Return the first lane of a block, and from where to where the ascending ``lanes`` are in it."""
    width = block.stripes.width
    a, b = np.searchsorted(lanes, [block.first * width, block.end * width]).tolist()
    return np.int32(block.first * width), a, b


def holding(numbers: Ids, overlay: Overlay) -> Task:
    """Make the task that gives lanes that reach one of ``numbers``: the place of the number, and the lane."""

    def run(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        block = Block.decode(row["payload"])
        held = overlay.placed(block)
        step = max(1, _BATCH // ((overlay.ends[block.first] - block.first) * held.width))
        for begin in range(0, len(numbers), step):
            which, lanes = payload.columns_of(held, numbers[begin : begin + step])
            if len(which):
                yield answer(block.first, (which + np.int32(begin)).tobytes() + lanes.tobytes())

    return each_row(lambda: run)


def certifying(plan: build.Plan, overlay: Overlay) -> Task:
    """Make the task that gives how many words have a bit too many, and keys of pairs of components that are missing."""

    def start() -> Row:
        space = certificate.new_space(plan)

        def run(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
            missing, extra = certificate.wrong(plan, overlay.placed(block := Block.decode(row["payload"])), space)
            if len(missing) or extra:
                yield answer(block.first, np.append(extra, missing).astype(np.int64).tobytes())

        return run

    return each_row(start)


def running(several: Ids, overlay: Overlay) -> Task:
    """Make the task that gives the runs of each block: a few bytes for each entry, whatever it stands for.

    ``several`` are the components of two or more members.
    """

    def task(batches: Batches) -> Batches:
        for batch in batches:
            for each in batch.column("payload"):
                block = Block.decode(each.as_buffer())
                which = np.arange(block.first, overlay.ends[block.first], dtype=np.int32)
                yield run_batch(overlay.placed(block), which, several)

    return task


def unfolding(members: Members, overlay: Overlay, vertices: int, wanted: Flags | None = None) -> Task:
    """Make the task that gives a row of vertices for each vertex, or for those that are ``wanted``."""

    def task(batches: Batches) -> Batches:
        before, every = by_number(members, vertices)
        for batch in batches:
            for each in batch.column("payload"):
                block = Block.decode(each.as_buffer())
                version, end = Version(members, overlay.placed(block), vertices, 0), overlay.ends[block.first]
                width, most = version.stripes.width, len(members.size)
                counts = payload.reached_by(version.stripes, block.first, end, members.size, before)
                inside = every[before[min(block.first * width, most)] : before[min(end * width, most)]]
                if wanted is not None:
                    inside = inside[wanted[inside]]
                lengths = counts[members.component[inside] - block.first * width]
                yield from _unfolded(version, inside, np.cumsum(lengths))

    return task


def _unfolded(version: Version, vertices: Ids, ends: Offsets) -> Iterator[pa.RecordBatch]:
    """Yield vertices with what they reach, in batches; ``ends`` says where each list ends, one behind the other."""
    for begin, end in payload.portions(ends, _BATCH):
        offsets, found = answers.lists(version, vertices[begin:end], True)
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(found))
        yield pa.RecordBatch.from_arrays([pa.array(vertices[begin:end]), lists], names=["number", "reached"])


def exhibiting(firsts: Offsets, overlay: Overlay) -> Task:
    """Make the task that shows blocks, which begin at ``firsts``, as those of the matrix ``stripes``."""

    def task(batches: Batches) -> Batches:
        for batch in batches:
            rows = []
            for each in batch.column("payload"):
                block = Block.decode(each.as_buffer())
                which = np.arange(block.first, overlay.ends[block.first], dtype=np.int32)
                now = Block(block.first, payload.picked(overlay.placed(block), which))
                rows.append(showing("stripes", int(np.searchsorted(firsts, block.first)), now))
            yield pa.RecordBatch.from_pylist(rows, BLOCKS_TYPE)

    return task


def written(
    stripes: Stripes, first: int, end: int, size: int, weights: Weights, reports: tuple[tuple[int, int], ...]
) -> Iterator[pa.RecordBatch]:
    """Yield the stripes of a block, cut again where it has more than twice ``size`` bytes."""
    block = Block(first, payload.picked(stripes, np.arange(first, end, dtype=np.int32)))
    taken = int(payload.byte_sizes(block.stripes).sum())
    for part in block.cut(size if taken > 2 * size else taken):
        yield _block(part, first, weights, *reports)
        reports = ()


def each_row(start: Callable[[], Row]) -> Task:
    """Make a task that runs a function on each row; ``start`` makes this function, once a task."""

    def task(batches: Batches) -> Batches:
        run = None
        try:
            for batch in batches:
                for place in range(batch.num_rows):
                    run = run or start()
                    values = {name: batch.column(name)[place] for name in batch.schema.names if name != "reports"}
                    yield from run({name: _value(value) for name, value in values.items()})
        except DyntcError as error:
            yield _batch(None, None, None, [error_row(error)])

    return task


def _value(scalar: pa.Scalar) -> Any:  # noqa: ANN401  (a number or a buffer)
    return scalar.as_buffer() if pa.types.is_binary(scalar.type) else scalar.as_py()


def _block(block: Block, origin: int, weights: Weights, *counts: tuple[int, int]) -> pa.RecordBatch:
    """Return a block, the bytes and the pairs of its stripes, and counts."""
    pairs = answers.stripe_pairs(block.stripes, weights, first=block.first)
    each = (SIZES, payload.byte_sizes(block.stripes)), (PAIRS, pairs)
    reports = [{"operation": what, "key": block.first, "payload": found.tobytes()} for what, found in each]
    reports += [{"operation": what, "key": count, "payload": None} for what, count in counts]
    return _batch(block.first, origin, block.encode(), reports)


def answer(first: int, found: bytes) -> pa.RecordBatch:
    """Return bytes under a key."""
    return _batch(first, None, found, None)


def _binary(value: bytes) -> pa.BinaryArray:
    """Return an array of one value, which is not copied: a block is about a MiB."""
    ends = np.array([0, len(value)], np.int32)
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(value)])


def _batch(first: int | None, origin: int | None, found: bytes | None, reports: list[Any] | None) -> pa.RecordBatch:
    arrays = [
        pa.array([first], pa.int32()),
        pa.array([origin], pa.int32()),
        pa.nulls(1, pa.binary()) if found is None else _binary(found),
        pa.array([reports], REPORT_TYPE),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=["first", "origin", "payload", "reports"])
