"""Witnesses of a Boolean product, counted for a few of its lines.

For Boolean matrices X1 and X2 the witnesses of ``(x, z)`` are the ``y`` with
``X1[x,y] = 1`` and ``X2[y,z] = 1``. ``Witnesses`` counts them for given lines of one
factor against all of the other; ``StampedWitnesses`` counts only those with the
property of section 4.1,

    P(x,y,z): max(LastFlip_1[x,y], LastFlip_2[y,z]) <= max(rows[x], middle[y], columns[z]).

Both read only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Operation, Slices
from dyntc_spark.blocks.where import Lines, Tile
from dyntc_spark.kernels import bits, codec, counts
from dyntc_spark.kernels.block import Bits, Block, Dense, Ints, Sparse
from dyntc_spark.matrices.triples import STAMP, Times, slots, support, witnesses


@dataclass(frozen=True)
class Witnesses(Operation[Ints]):
    """Lines times a matrix, counted: ``lines · X`` for lying lines, ``X · lines`` for upright ones.

    Of a matrix of counts the positive entries are its ones. The result is a dense
    array, ``count x columns`` or upright ``rows x count``.
    """

    #: The part of the matrix whose sums are wanted; outside it the result may be anything.
    wanted: Tile
    lines: Strip
    at = "wanted"
    by_row = Slices("lines", upright=False)
    by_column = Slices("lines", upright=True)

    def apply(self, cell: Cell) -> None:
        """Report this cell's share of the sums."""
        block, lines = cell[self.name], cell.right if self.lines.upright else cell.left
        if block is not None and lines is not None:
            cell.report(cell.bi if self.lines.upright else cell.bj, counted_lines(block, lines, self.lines.upright))

    def collect(self, reports: Mapping[int, Block]) -> Ints:
        """Join the sums."""
        count, upright = self.lines.count, self.lines.upright
        axis = self.wanted.grid.down if upright else self.wanted.grid.across
        found = np.zeros((axis.length, count) if upright else (count, axis.length), np.int64)
        for key, block in reports.items():
            part = axis.part(key)
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

    def apply(self, cell: Cell) -> None:
        """Count the triples of this cell."""
        block, lines = cell[self.name], cell.right if self.lines.upright else cell.left
        if block is None or lines is None:
            return
        x, y, stamps = COUNTING.coordinates(block)
        flips = np.ones(len(x), STAMP) if self.ones else stamps[0]
        rows, columns, given = COUNTING.coordinates(lines)
        height, width = cell.shape(self.name)
        grid = self.wanted.grid
        down, across = cell.bi * grid.down.step, cell.bj * grid.across.step
        if self.lines.upright:
            inner, start, other, begin = width, across, height, down
            met, ours = slots(y, x, flips, inner), slots(rows, columns, given[0], inner)
        else:
            inner, start, other, begin = height, down, width, across
            met, ours = slots(x, y, flips, inner), slots(columns, rows, given[0], inner)
        shape, near = (self.lines.count, other), _times(self.near, 0, self.lines.count)
        middle, far = _times(self.middle, start, inner), _times(self.far, begin, other)
        found = witnesses(shape, ours, met, near, middle, far)
        total = codec.compact(Dense((found.T if self.lines.upright else found)[None]))
        cell.report(cell.bi if self.lines.upright else cell.bj, total)


@dataclass(frozen=True)
class ReadLines(Operation[Ints]):
    """Rows or columns of a matrix of counts, which ascend, as a dense array at the driver; 0 outside their span."""

    lines: Lines
    at = "lines"

    def apply(self, cell: Cell) -> None:
        """Report the part of the lines that lies in this cell."""
        upright, inside = self.lines.upright, self.lines.inside(cell.bi, cell.bj)[1]
        key = cell.bi * self.lines.grid.blocks[1] + cell.bj
        match cell[self.name]:
            case Dense() as block:
                part = block.values[:, :, inside] if upright else block.values[:, inside, :]
                cell.report(key, Dense(np.ascontiguousarray(part)))
            case block:
                cell.report(key, (COUNTING.take_columns if upright else COUNTING.take_rows)(block, inside))

    def collect(self, reports: Mapping[int, Block]) -> Ints:
        """Join the parts."""
        grid, upright, count = self.lines.grid, self.lines.upright, len(self.lines.ids)
        found = np.zeros((grid.shape[0], count) if upright else (count, grid.shape[1]), np.int64)
        for key, block in reports.items():
            bi, bj = divmod(key, grid.blocks[1])
            places = self.lines.inside(bi, bj)[0]
            here = slice(int(places[0]), int(places[-1]) + 1)  # the ids ascend
            _put(found, (grid.down.part(bi), here) if upright else (here, grid.across.part(bj)), block)
        return found


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


def _put(found: Ints, where: tuple[slice, slice], block: Block) -> None:
    """Write a block of counts into a part of an array of zeros."""
    if isinstance(block, Dense):
        found[where] = block.values[0]
    elif isinstance(block, Sparse):
        found[where][block.rows, block.columns] = block.values[0]


def _times(times: Times | None, start: int, length: int) -> Times:
    return np.zeros(length, STAMP) if times is None else times[start : start + length].astype(STAMP, copy=False)
