"""Where an operation has work to do: places, lines and rectangles of a matrix, and the cells that they meet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dyntc_spark.blocks.grid import Axis, Grid
from dyntc_spark.kernels.ids import Indices

LISTED_CELLS = 1024  # a longer list would be slower to go through than the cells themselves
NOWHERE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Where:
    """Some cells; None stands for all."""

    rows: frozenset[int] | None = None
    columns: frozenset[int] | None = None
    cells: frozenset[tuple[int, int]] | None = None

    def holds(self, bi: int, bj: int) -> bool:
        """Whether the cell ``(bi, bj)`` is among them."""
        return (
            (self.rows is None or bi in self.rows)
            and (self.columns is None or bj in self.columns)
            and (self.cells is None or (bi, bj) in self.cells)
        )

    def within(self, rows: frozenset[int] | None, columns: frozenset[int] | None) -> Where:
        """Return those that lie in these block rows and block columns."""
        return Where(_both(self.rows, rows), _both(self.columns, columns), self.cells)


@dataclass(frozen=True)
class Places:
    """Entries of a matrix, at positions ``(rows[q], columns[q])``."""

    grid: Grid
    rows: Indices
    columns: Indices

    def distinct(self) -> Places:
        """Each of the places once, sorted."""
        width = max(1, self.grid.across.length)
        rows, columns = np.divmod(np.unique(self.rows * width + self.columns), width)
        return Places(self.grid, rows, columns)

    @cached_property
    def where(self) -> Where:
        """The cells that hold an entry, or where they are many the block rows and columns."""
        if len(self._by_cell) <= LISTED_CELLS:
            return Where(cells=frozenset(self._by_cell))
        return Where(*(frozenset(side) for side in zip(*self._by_cell, strict=True)))

    @cached_property
    def _by_cell(self) -> dict[tuple[int, int], Indices]:
        return self.grid.by_cell(self.rows, self.columns)

    def inside(self, bi: int, bj: int) -> tuple[Indices, Indices, Indices]:
        """Return which entries lie in a cell, and their rows and columns there."""
        chosen = self._by_cell.get((bi, bj), NOWHERE)
        return chosen, self.rows[chosen] % self.grid.down.step, self.columns[chosen] % self.grid.across.step


@dataclass(frozen=True)
class Lines:
    """The rows (or, upright, the columns) ``ids`` of a matrix, of each the part ``span`` (None for all of it)."""

    grid: Grid
    ids: Indices
    upright: bool = False
    span: range | None = None

    @property
    def near(self) -> Axis:
        """The side of the grid that the lines are numbered along."""
        return self.grid.across if self.upright else self.grid.down

    @property
    def far(self) -> Axis:
        """The side of the grid that the lines run along."""
        return self.grid.down if self.upright else self.grid.across

    @cached_property
    def where(self) -> Where:
        """The cells on the lines."""
        hit, rest = frozenset(self._by_block), blocks_of(self.span, self.far)
        return Where(rest, hit) if self.upright else Where(hit, rest)

    @cached_property
    def _by_block(self) -> dict[int, tuple[Indices, Indices]]:
        return {block: (places, inside) for block, places, inside in self.near.cut(self.ids)}

    def inside(self, bi: int, bj: int) -> tuple[Indices, Indices]:
        """Return which lines meet a cell, and their numbers there."""
        return self._by_block.get(bj if self.upright else bi, (NOWHERE, NOWHERE))


@dataclass(frozen=True)
class Tile:
    """A rectangle of a matrix: rows and columns, each a range (None for all)."""

    grid: Grid
    rows: range | None = None
    columns: range | None = None

    @cached_property
    def where(self) -> Where:
        """The cells that it meets."""
        return Where(blocks_of(self.rows, self.grid.down), blocks_of(self.columns, self.grid.across))

    @property
    def spans(self) -> tuple[range, range]:
        """Its rows and columns."""
        down, across = self.grid.shape
        return (
            range(down) if self.rows is None else self.rows,
            range(across) if self.columns is None else self.columns,
        )

    def inside(self, bi: int, bj: int) -> tuple[slice, slice]:
        """The part of a cell that lies in it, by positions inside the cell."""
        rows, columns = self.spans
        return _overlap(rows, self.grid.down, bi), _overlap(columns, self.grid.across, bj)

    def part(self, bi: int, bj: int) -> tuple[slice, slice]:
        """The same part, by positions inside the tile."""
        (down, across), (rows, columns) = self.inside(bi, bj), self.spans
        top = bi * self.grid.down.step - rows.start
        left = bj * self.grid.across.step - columns.start
        return slice(down.start + top, down.stop + top), slice(across.start + left, across.stop + left)


def blocks_of(ids: range | None, axis: Axis) -> frozenset[int] | None:
    """Return the blocks of a side that a range of indices meets; None for all of them."""
    if ids is None:
        return None
    return frozenset(range(ids.start // axis.step, -(-ids.stop // axis.step))) if len(ids) else frozenset()


def _both(some: frozenset[int] | None, others: frozenset[int] | None) -> frozenset[int] | None:
    if some is None or others is None:
        return others if some is None else some
    return some & others


def _overlap(ids: range, axis: Axis, block: int) -> slice:
    start = block * axis.step
    begin = max(0, ids.start - start)
    return slice(begin, max(begin, min(axis.extent(block), ids.stop - start)))
