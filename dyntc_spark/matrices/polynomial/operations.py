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
from dyntc_spark.blocks.where import NOWHERE, Lines
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.block import Bits, Block, Dense, Sparse
from dyntc_spark.kernels.counts import positive, smallest_dtype
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.matrices.polynomial.entries import STAMP
from dyntc_spark.matrices.polynomial.kernels import Slots, Times, retract, reveal, slots, stored, writable

WHOLE = slice(None), slice(None)


@dataclass(frozen=True)
class Counted(Operation[Any]):
    """What the writes to a ``Prod`` share: ``S`` (``total``) follows each entry that becomes positive or 0."""

    total: str | None
    dtype: np.dtype[Any]
    total_dtype: np.dtype[Any]

    reads = writes = Names("name", "total")
    fills = True

    def follow(self, cell: Cell, changed: Flags, sign: int, where: tuple[slice, slice] = WHOLE) -> Flags:
        """Add ``sign`` to ``S`` at the changed entries of a part of the cell; give those that became 0."""
        if self.total is None or not changed.any():
            return np.zeros_like(changed)
        total = writable(cell[self.total], cell.shape(self.total), self.total_dtype)
        part = total[where]
        (np.add if sign > 0 else np.subtract)(part, changed, out=part)
        cell[self.total] = stored(total)
        vanished: Flags = changed & (part == 0)
        return vanished


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
        self.follow(cell, (new > 0) & ~before, 1, inside)


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
        self.follow(cell, changed, 1)

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
class Retract(Reveal):
    """Take away the counted triples of entries that go; the result is what became 0.

    First the entries of ``Prod``, if it ``tells`` them, then those of ``S``. The
    entries that go are those of ``left``, or of ``right`` if ``second``; the other
    side holds the entries that they meet.
    """

    second: bool
    tells: bool

    fills = False
    report_ring = BOOLEAN

    def apply(self, cell: Cell) -> None:
        """Take away what this cell counted."""
        left, right = cell.left, cell.right
        if left is None or right is None or cell[self.name] is None:
            return
        prod = writable(cell[self.name], cell.shape(self.name), self.dtype)
        x, z = self._slots(left, right)
        rows, middle, columns = self._times(cell)
        if self.second:
            changed = retract(prod.T, z, x, columns, middle, rows).T
        else:
            changed = retract(prod, x, z, rows, middle, columns)
        cell[self.name] = stored(prod)
        key = cell.bi * self.grid.blocks[1] + cell.bj
        cell.report(2 * key, _places_of(changed) if self.tells else None)
        cell.report(2 * key + 1, _places_of(self.follow(cell, changed, -1)))

    def collect(self, reports: Mapping[int, Block]) -> tuple[tuple[Indices, Indices], tuple[Indices, Indices]]:
        """Rows and columns of the entries of ``Prod`` and of ``S`` that became 0."""
        prod, total = ({key // 2: block for key, block in reports.items() if key % 2 == side} for side in (0, 1))
        return _gathered(self.grid, prod), _gathered(self.grid, total)


@dataclass(frozen=True)
class Positive(Operation[None]):
    """``into = (name > 0)``: where a product or ``S`` is positive, as bits."""

    into: str

    reads = Names("name", "into")
    writes = Names("into")

    def apply(self, cell: Cell) -> None:
        """Compare this cell's counts with 0."""
        cell[self.into] = _truth(cell[self.name])


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


def count_dtype(bound: int) -> np.dtype[Any]:
    """Return the narrowest type that holds counts up to ``bound``.

    >>> [count_dtype(bound).name for bound in (100, 1000, 100_000)]
    ['int8', 'int16', 'int32']
    """
    return np.dtype(np.int8) if bound <= 127 else smallest_dtype(bound)


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


def _truth(block: Block | None) -> Block | None:
    if isinstance(block, Sparse):
        return BOOLEAN.from_coordinates(block.rows, block.columns, None, block.shape)
    return codec.compact(Bits(block.shape, positive(block.values[0]))) if isinstance(block, Dense) else None
