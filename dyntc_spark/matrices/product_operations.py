"""Operations on products: what Set and Reset do to ``Prod`` and ``S`` in one cell.

All matrices of a polynomial at one block coordinate sit together, so that ``S``
follows ``Prod`` in the same pass. Every operation is a value that travels to the
cells with O(n) numbers: a row, a column, the times of two boundaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Names, Operation, Slices
from dyntc_spark.blocks.where import NOWHERE, Lines, Places
from dyntc_spark.kernels import bits, codec
from dyntc_spark.kernels.block import Bits, Block, Ints
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.matrices.triples import STAMP, Slots, Times, reveal, slots, stored, support, writable

WHOLE = slice(None), slice(None)


@dataclass(frozen=True)
class Counted(Operation[None]):
    """What the operations of Set share: ``S`` (``total``) counts each entry of ``Prod`` that becomes positive."""

    total: str | None
    dtype: np.dtype[Any]
    total_dtype: np.dtype[Any]
    reads = writes = Names("name", "total")
    fills = True

    def follow(self, cell: Cell, changed: Flags, where: tuple[slice, slice] = WHOLE) -> None:
        """Add 1 to ``S`` at the entries of a part of the cell that became positive."""
        if self.total is not None and changed.any():
            total = writable(cell[self.total], cell.shape(self.total), self.total_dtype)
            total[where] += changed
            cell[self.total] = stored(total)


@dataclass(frozen=True)
class Line(Counted):
    """``Prod[i,:] = line`` (or, upright, ``Prod[:,i] = line``): every triple through ``i`` is revealed.

    A Set only adds triples, so cells where the line is 0 stay as they are.
    """

    place: Lines
    line: Strip
    at = "place"
    by_row = Slices("line", upright=True)
    by_column = Slices("line", upright=False)

    def apply(self, cell: Cell) -> None:
        """Replace this cell's part of the line."""
        part = cell.left if self.line.upright else cell.right
        if part is None:
            return
        prod = writable(cell[self.name], cell.shape(self.name), self.dtype)
        new = writable(part, part.shape, self.dtype)
        at = int(self.place.inside(cell.bi, cell.bj)[1][0])
        here, along = slice(at, at + 1), slice(None)
        inside = (along, here) if self.line.upright else (here, along)
        before = prod[inside] > 0
        prod[inside] = new
        cell[self.name] = stored(prod)
        self.follow(cell, (new > 0) & ~before, inside)


@dataclass(frozen=True)
class Reveal(Counted):
    """Count the triples of some middle indices that the property leaves out: a Set at the middle boundary.

    ``left`` holds ``LastFlip_1[x,y]`` and ``right`` ``LastFlip_2[y,z]``, one slot for
    each ``y`` and 0 where there is no entry; ``rows``, ``middle`` and ``columns`` are the
    boundaries' times.
    """

    grid: Grid
    left: Strip
    right: Strip
    rows: Times | None
    middle: Times
    columns: Times | None
    by_row = Slices("left", upright=True)
    by_column = Slices("right", upright=False)

    def apply(self, cell: Cell) -> None:
        """Count what is new in this cell."""
        left, right = cell.left, cell.right
        if left is None or right is None:
            return
        prod = writable(cell[self.name], cell.shape(self.name), self.dtype)
        changed = reveal(prod, *self._slots(left, right), *self._times(cell))
        cell[self.name] = stored(prod)
        self.follow(cell, changed)

    def _slots(self, left: Block, right: Block) -> tuple[Slots, Slots]:
        x, slots_x, stamps_x = COUNTING.coordinates(left)
        slots_z, z, stamps_z = COUNTING.coordinates(right)
        count = len(self.middle)
        return slots(slots_x, x, stamps_x[0], count), slots(slots_z, z, stamps_z[0], count)

    def _times(self, cell: Cell) -> tuple[Times, Times, Times]:
        rows, columns = cell.shape(self.name)
        down, across = cell.bi * self.grid.down.step, cell.bj * self.grid.across.step
        return (
            np.zeros(rows, STAMP) if self.rows is None else self.rows[down : down + rows],
            self.middle,
            np.zeros(columns, STAMP) if self.columns is None else self.columns[across : across + columns],
        )


@dataclass(frozen=True)
class Decrease(Operation[None]):
    """``X[rows[q], columns[q]] -= amounts[q]`` for distinct places, in the type that the counts have."""

    places: Places
    amounts: Ints
    dtype: np.dtype[Any]
    bits: str | None = None  #: a Boolean matrix of where it is positive, which follows
    at = "places"
    reads = writes = Names("name", "bits")

    def apply(self, cell: Cell) -> None:
        """Take away what lies in this cell."""
        chosen, rows, columns = self.places.inside(cell.bi, cell.bj)
        if not len(chosen):
            return
        array = writable(cell[self.name], cell.shape(self.name), self.dtype)
        array[rows, columns] -= self.amounts[chosen].astype(self.dtype)
        if self.bits is not None:
            gone = array[rows, columns] == 0
            cell[self.bits] = BOOLEAN.clear(cell[self.bits], rows[gone], columns[gone])
        cell[self.name] = stored(array)


@dataclass(frozen=True)
class DecreaseLines(Operation[None]):
    """Take ``amounts[e]`` from line ``e`` of some lines of a matrix of counts."""

    lines: Lines
    amounts: Ints
    bits: str | None = None  #: a Boolean matrix of where it is positive, which follows
    at = "lines"
    reads = writes = Names("name", "bits")

    def apply(self, cell: Cell) -> None:
        """Take away what lies in this cell."""
        lines, axis, before = self.lines, self.lines.far, cell[self.name]
        assert lines.span is not None  # noqa: S101  (of losses)
        chosen, ids = lines.inside(cell.bi, cell.bj)
        other = (cell.bi if lines.upright else cell.bj) * axis.step
        first, last = max(lines.span.start, other), min(lines.span.stop, other + axis.step)
        part = self.amounts[chosen, first - lines.span.start : last - lines.span.start]
        if before is None or not part.any():
            return
        span, shape = slice(first - other, last - other), cell.shape(self.name)
        array = writable(before, shape, self.amounts.dtype)
        view = array.T if lines.upright else array
        rest = view[ids, span] - part
        view[ids, span] = rest
        cell[self.name] = stored(array)
        follows = None if self.bits is None else cell[self.bits]
        if self.bits is None or follows is None:
            return
        gone = np.zeros(shape, bool)
        (gone.T if lines.upright else gone)[ids, span] = (rest == 0) & (part > 0)
        held = codec.densify(follows)
        assert isinstance(held, Bits)  # noqa: S101  (a Boolean matrix)
        cell[self.bits] = codec.compact(Bits(shape, held.words & ~bits.pack(gone)))


@dataclass(frozen=True)
class Positive(Operation[None]):
    """``into = (name > 0)``: where a product or ``S`` is positive, as bits."""

    into: str

    reads = Names("name", "into")
    writes = Names("into")

    def apply(self, cell: Cell) -> None:
        """Compare this cell's counts with 0."""
        cell[self.into] = support(cell[self.name])


@dataclass(frozen=True)
class Vanished(Operation[tuple[Indices, Indices]]):
    """Entries that are positive in one matrix and 0 in another, ``after``."""

    after: str
    grid: Grid

    reads = Names("name", "after")
    report_ring = BOOLEAN

    def apply(self, cell: Cell) -> None:
        """Report the entries of this cell."""
        shape = cell.shape(self.name)
        before, after = (writable(cell[name], shape, np.int64) for name in self.reads)
        cell.report(cell.bi * self.grid.blocks[1] + cell.bj, _places_of((before > 0) & (after == 0)))

    def collect(self, reports: Mapping[int, Block]) -> tuple[Indices, Indices]:
        """Rows and columns."""
        return _gathered(self.grid, reports)


def _places_of(flags: Flags) -> Block | None:
    """Return an array of Booleans as a block to report."""
    rows, columns = np.nonzero(flags)
    return BOOLEAN.from_coordinates(rows, columns, None, (flags.shape[0], flags.shape[1]))


def _gathered(grid: Grid, blocks: Mapping[int, Block]) -> tuple[Indices, Indices]:
    """Return rows and columns of the entries that the cells ``bi * width + bj`` reported."""
    found = [(NOWHERE, NOWHERE)]
    for key, block in blocks.items():
        bi, bj = divmod(key, grid.blocks[1])
        rows, columns, _ = BOOLEAN.coordinates(block)
        found.append((rows + np.int64(bi * grid.down.step), columns + np.int64(bj * grid.across.step)))
    down, across = (np.concatenate(side) for side in zip(*found, strict=True))
    return down, across
