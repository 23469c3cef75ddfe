"""Witnesses of a Boolean product, counted for a few of its lines, and counts that go down.

For Boolean matrices X1 and X2 the witnesses of ``(x, z)`` are the ``y`` with
``X1[x,y] = 1`` and ``X2[y,z] = 1``. ``Witnesses`` counts them for given lines of one
factor against all of the other; ``StampedWitnesses`` counts only those with the
property of section 4.1,

    P(x,y,z): max(LastFlip_1[x,y], LastFlip_2[y,z]) <= max(rows[x], middle[y], columns[z]).

Both read only. ``Decrease`` writes what a deletion took away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Axis, Grid
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING, Ring
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Operation, Where
from dyntc_spark.kernels import bits, codec, counts
from dyntc_spark.kernels.block import Bits, Block, Dense, Ints, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.polynomial.entries import LISTED_CELLS, NOWHERE, STAMP
from dyntc_spark.matrices.polynomial.kernels import Times, retract, slots, stored, writable


@dataclass(frozen=True)
class Witnesses(Operation[Ints]):
    """Lines times a matrix, counted: ``lines · X`` for lying lines, ``X · lines`` for upright ones.

    Of a matrix of counts the positive entries are its ones. The result is a dense
    array, ``count x columns`` or upright ``rows x count``.
    """

    grid: Grid
    lines: Strip
    #: The part of the result that is wanted, by columns or upright by rows; elsewhere it may be anything.
    wanted: range | None = None

    @property
    def where(self) -> Where:
        """Only where the lines are not zero and the result is wanted."""
        far = blocks_of(self.wanted, self.grid.down if self.lines.upright else self.grid.across)
        return Where(far, self.lines.touched) if self.lines.upright else Where(self.lines.touched, far)

    @property
    def report_ring(self) -> Ring:
        """Counts."""
        return COUNTING

    @property
    def by_row(self) -> Strip | None:
        """Lying lines run along the rows of the matrix."""
        return None if self.lines.upright else self.lines

    @property
    def by_column(self) -> Strip | None:
        """Upright lines run along its columns."""
        return self.lines if self.lines.upright else None

    def hollow(self) -> Witnesses:
        """The same without the lines."""
        return replace(self, lines=self.lines.hollow())

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Report this cell's share of the sums."""
        block, lines = cell[self.name], right if self.lines.upright else left
        if block is not None and lines is not None:
            cell.report(cell.bi if self.lines.upright else cell.bj, counted_lines(block, lines, self.lines.upright))

    def collect(self, reports: Mapping[int, Block]) -> Ints:
        """Join the sums."""
        count, upright = self.lines.count, self.lines.upright
        axis = self.grid.down if upright else self.grid.across
        found = np.zeros((axis.length, count) if upright else (count, axis.length), np.int64)
        for key, block in reports.items():
            part = slice(key * axis.step, key * axis.step + axis.extent(key))
            _put(found, (part, slice(None)) if upright else (slice(None), part), block)
        return found


@dataclass(frozen=True)
class StampedWitnesses(Witnesses):
    """Lines of stamps times a matrix of stamps, over the triples with the property.

    The entries of ``lines`` and of the matrix are ``LastFlip``, 0 where there is no
    entry; ``ones`` says that the matrix holds counts, whose positive entries count as
    stamped in the beginning. ``near`` are the times of the lines, ``middle`` and ``far``
    those of the inner index and of the matrix's other side.
    """

    near: Times | None = None
    middle: Times | None = None
    far: Times | None = None
    ones: bool = False

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Count the triples of this cell."""
        block, lines = cell[self.name], right if self.lines.upright else left
        if block is None or lines is None:
            return
        x, y, stamps = COUNTING.coordinates(block)
        flips = np.ones(len(x), STAMP) if self.ones else stamps[0]
        rows, columns, given = COUNTING.coordinates(lines)
        height, width = cell.shape(self.name)
        down, across = cell.bi * self.grid.down.step, cell.bj * self.grid.across.step
        if self.lines.upright:
            inner, start, other, begin = width, across, height, down
            met, ours = slots(y, x, flips, inner), slots(rows, columns, given[0], inner)
        else:
            inner, start, other, begin = height, down, width, across
            met, ours = slots(x, y, flips, inner), slots(columns, rows, given[0], inner)
        found = np.zeros((self.lines.count, other), np.int32)
        middle = _times(self.middle, start, inner)
        retract(found, ours, met, _times(self.near, 0, self.lines.count), middle, _times(self.far, begin, other))
        total = codec.compact(Dense(-(found.T if self.lines.upright else found)[None]))
        cell.report(cell.bi if self.lines.upright else cell.bj, total)

    def hollow(self) -> StampedWitnesses:
        """The same without the lines."""
        return replace(self, lines=self.lines.hollow())


@dataclass(frozen=True)
class ReadLines(Operation[Ints]):
    """The rows (or, upright, the columns) ``ids`` of a matrix of counts, as a dense array at the driver."""

    grid: Grid
    ids: Indices
    upright: bool
    #: The part that is wanted; elsewhere the result is 0.
    wanted: range | None = None

    @property
    def where(self) -> Where:
        """The blocks on the lines, as far as they are wanted."""
        near, far = (self.grid.across, self.grid.down) if self.upright else (self.grid.down, self.grid.across)
        hit = frozenset(np.unique(self.ids // near.step).tolist())
        rest = blocks_of(self.wanted, far)
        return Where(rest, hit) if self.upright else Where(hit, rest)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Report the part of the lines that lies in this cell."""
        del left, right
        key = cell.bi * self.grid.blocks[1] + cell.bj
        inside = self.ids[self._places(cell.bi, cell.bj)] % (self.grid.across if self.upright else self.grid.down).step
        match cell[self.name]:
            case Dense() as block:
                part = block.values[:, :, inside] if self.upright else block.values[:, inside, :]
                cell.report(key, Dense(np.ascontiguousarray(part)))
            case block:
                cell.report(key, (COUNTING.take_columns if self.upright else COUNTING.take_rows)(block, inside))

    def collect(self, reports: Mapping[int, Block]) -> Ints:
        """Join the parts."""
        rows, columns = self.grid.shape
        found = np.zeros((rows, len(self.ids)) if self.upright else (len(self.ids), columns), np.int64)
        for key, block in reports.items():
            bi, bj = divmod(key, self.grid.blocks[1])
            axis, at = (self.grid.down, bi) if self.upright else (self.grid.across, bj)
            part, places = slice(at * axis.step, at * axis.step + axis.extent(at)), self._places(bi, bj)
            _put(found, (part, places) if self.upright else (places, part), block)
        return found

    def _places(self, bi: int, bj: int) -> slice:
        """Which of the ids, which ascend, lie in a block."""
        axis, at = (self.grid.across, bj) if self.upright else (self.grid.down, bi)
        begin, end = np.searchsorted(self.ids, [at * axis.step, (at + 1) * axis.step]).tolist()
        return slice(begin, end)


@dataclass(frozen=True)
class Decrease(Operation[None]):
    """``X[rows[q], columns[q]] -= amounts[q]`` for distinct places, in the type that the counts have."""

    grid: Grid
    rows: Indices
    columns: Indices
    amounts: Ints
    dtype: np.dtype[Any]
    bits: str | None = None  #: a Boolean matrix of where it is positive, which follows

    @property
    def reads(self) -> tuple[str, ...]:
        """The counts, and the bits that follow them."""
        return (self.name,) if self.bits is None else (self.name, self.bits)

    @property
    def writes(self) -> tuple[str, ...]:
        """The same."""
        return self.reads

    @property
    def where(self) -> Where:
        """The cells that hold one of the places, or where they are many their block rows and columns."""
        if len(self._places) <= LISTED_CELLS:
            return Where(cells=frozenset(self._places))
        return Where(*(frozenset(side) for side in zip(*self._places, strict=True)))

    @cached_property
    def _places(self) -> dict[tuple[int, int], Indices]:
        return self.grid.by_cell(self.rows, self.columns)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Take away what lies in this cell."""
        del left, right
        chosen = self._places.get((cell.bi, cell.bj), NOWHERE)
        if not len(chosen):
            return
        rows, columns = self.rows[chosen] % self.grid.down.step, self.columns[chosen] % self.grid.across.step
        array = writable(cell[self.name], cell.shape(self.name), self.dtype)
        array[rows, columns] -= self.amounts[chosen].astype(self.dtype)
        if self.bits is not None:
            gone = array[rows, columns] == 0
            cell[self.bits] = BOOLEAN.clear(cell[self.bits], rows[gone], columns[gone])
        cell[self.name] = stored(array)


def support(block: Block | None) -> Block | None:
    """Return where a block is positive, as a Boolean block."""
    match block:
        case Dense():
            return codec.compact(Bits(block.shape, counts.positive(block.values[0])))
        case Sparse():
            return Sparse(block.shape, block.rows, block.columns, np.zeros((0, block.nnz), np.int32))
    return block


def counted_lines(block: Block, lines: Block, upright: bool) -> Block | None:
    """Count the witnesses of a few lines against one block."""
    held = support(block)
    if held is None:
        return None
    if isinstance(held, Sparse):
        return COUNTING.multiply(held, lines) if upright else COUNTING.multiply(lines, held)
    words, few = codec.densify(held), codec.densify(lines)
    assert isinstance(words, Bits)  # noqa: S101  (support gives Boolean blocks)
    assert isinstance(few, Bits)  # noqa: S101  (and lines are Boolean)
    if upright:
        found = counts.matrix_vector(words.words, bits.transpose(few.words, few.shape[1]))
    elif len(few.words) <= 16:
        found = counts.vector_product(few.words, words.words, words.shape[1])
    else:
        found = counts.product(few.words, words.words, words.shape[1])
    return Dense(found.astype(counts.smallest_dtype(max(block.shape)))[None])


def blocks_of(ids: range | None, axis: Axis) -> frozenset[int] | None:
    """The blocks of a side that a range of indices meets; None for all of them."""
    if ids is None:
        return None
    return frozenset(range(ids.start // axis.step, -(-ids.stop // axis.step))) if len(ids) else frozenset()


def _put(found: Ints, where: tuple[slice, slice], block: Block) -> None:
    """Write a block of counts into a part of an array of zeros."""
    if isinstance(block, Dense):
        found[where] = block.values[0]
    elif isinstance(block, Sparse):
        found[where][block.rows, block.columns] = block.values[0]


def _times(times: Times | None, start: int, length: int) -> Times:
    return np.zeros(length, STAMP) if times is None else times[start : start + length].astype(STAMP, copy=False)
