"""Operations on tiles: rectangles of a matrix, wherever the borders of the blocks lie.

A recursive structure keeps the matrices of all nodes of one depth in one matrix of
the whole grid: the nodes own disjoint tiles of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.rings import BOOLEAN, Ring
from dyntc_spark.blocks.superstep import Cell, Operation, Where
from dyntc_spark.kernels import bits, codec
from dyntc_spark.kernels.block import Bits, Block
from dyntc_spark.kernels.ids import Words
from dyntc_spark.matrices.polynomial.kernels import stored, writable
from dyntc_spark.matrices.witness_operations import blocks_of, support


@dataclass(frozen=True)
class Tile:
    """Rows and columns of a grid, each a range."""

    grid: Grid
    rows: range
    columns: range

    @property
    def where(self) -> Where:
        """The cells that it meets."""
        return Where(blocks_of(self.rows, self.grid.down), blocks_of(self.columns, self.grid.across))

    def inside(self, cell: Cell) -> tuple[slice, slice]:
        """The part of a cell that lies in it, by positions inside the cell."""
        return (
            _overlap(self.rows, cell.bi * self.grid.down.step, self.grid.down.extent(cell.bi)),
            _overlap(self.columns, cell.bj * self.grid.across.step, self.grid.across.extent(cell.bj)),
        )

    def part(self, cell: Cell) -> tuple[slice, slice]:
        """The same part, by positions inside the tile."""
        down, across = self.inside(cell)
        top = cell.bi * self.grid.down.step - self.rows.start
        left = cell.bj * self.grid.across.step - self.columns.start
        return slice(down.start + top, down.stop + top), slice(across.start + left, across.stop + left)

    def cut(self, block: Block | None, cell: Cell) -> Block | None:
        """The entries of a Boolean block that lie in the tile, others cleared."""
        if block is None:
            return None
        down, across = self.inside(cell)
        height, width = block.shape
        if (down.start, down.stop, across.start, across.stop) == (0, height, 0, width):
            return block
        dense = codec.densify(block)
        assert isinstance(dense, Bits)  # noqa: S101  (a Boolean block)
        columns = np.zeros((1, width), bool)
        columns[0, across] = True
        words = np.zeros_like(dense.words)
        words[down] = dense.words[down] & bits.pack(columns)
        return codec.compact(Bits(block.shape, words))


@dataclass(frozen=True)
class ReadTile(Operation[Words]):
    """The entries of a tile that are not zero, as packed rows of the tile at the driver."""

    tile: Tile

    @property
    def where(self) -> Where:
        """The cells of the tile."""
        return self.tile.where

    @property
    def report_ring(self) -> Ring:
        """Places."""
        return BOOLEAN

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Report the places of this cell."""
        del left, right
        found = self.tile.cut(support(cell[self.name]), cell)
        cell.report(cell.bi * self.tile.grid.blocks[1] + cell.bj, found)

    def collect(self, reports: Mapping[int, Block]) -> Words:
        """Join the blocks."""
        grid = self.tile.grid
        flags = np.zeros((len(self.tile.rows), len(self.tile.columns)), bool)
        for key, block in reports.items():
            bi, bj = divmod(key, grid.blocks[1])
            rows, columns, _ = BOOLEAN.coordinates(block)
            down, across = bi * grid.down.step - self.tile.rows.start, bj * grid.across.step - self.tile.columns.start
            flags[rows + np.int64(down), columns + np.int64(across)] = True
        return bits.pack(flags)


@dataclass(frozen=True)
class PasteTile(Operation[None]):
    """Set the entries of a tile that are ones of ``words``, packed rows of the tile."""

    tile: Tile
    words: Words

    @property
    def writes(self) -> tuple[str, ...]:
        """The matrix itself."""
        return (self.name,)

    @property
    def fills(self) -> bool:
        """An absent block may become one."""
        return True

    @property
    def where(self) -> Where:
        """The cells of the tile."""
        return self.tile.where

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Set the entries of this cell."""
        del left, right
        down, across = self.tile.part(cell)
        flags = np.zeros(cell.shape(self.name), bool)
        flags[self.tile.inside(cell)] = bits.unpack(self.words[down], len(self.tile.columns))[:, across]
        cell[self.name] = BOOLEAN.add(cell[self.name], codec.compact(Bits(cell.shape(self.name), bits.pack(flags))))


@dataclass(frozen=True)
class CopyTile(Operation[None]):
    """``into += X`` inside a tile; with ``fresh``, ``into`` holds nothing else afterwards."""

    into: str
    tile: Tile
    fresh: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """Both matrices."""
        return (self.name, self.into)

    @property
    def writes(self) -> tuple[str, ...]:
        """The copy."""
        return (self.into,)

    @property
    def where(self) -> Where:
        """The cells of the tile; a fresh copy clears the others."""
        return Where() if self.fresh else self.tile.where

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Copy what lies in this cell."""
        del left, right
        if self.fresh and not self.tile.where.holds(cell.bi, cell.bj):
            cell[self.into] = None
            return
        part = self.tile.cut(cell[self.name], cell)
        cell[self.into] = part if self.fresh else BOOLEAN.add(cell[self.into], part)


@dataclass(frozen=True)
class MergeCounts(Operation[None]):
    """``into += X`` for counts, and ``bits`` is where ``into`` is positive; ``plus`` counts one more inside a tile."""

    into: str
    bits: str
    dtype: np.dtype[Any]
    plus: str | None = None
    tile: Tile | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """The counts and what they are added to."""
        return (self.name, self.into, self.bits, *(() if self.plus is None else (self.plus,)))

    @property
    def writes(self) -> tuple[str, ...]:
        """Counts and bits."""
        return (self.into, self.bits)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Add in this cell."""
        del left, right
        more = cell[self.name]
        one = None
        if self.plus is not None and self.tile is not None and self.tile.where.holds(cell.bi, cell.bj):
            one = self.tile.cut(cell[self.plus], cell)
        if more is None and one is None:
            return
        shape = cell.shape(self.name)
        total = writable(cell[self.into], shape, self.dtype)
        if more is not None:
            total += writable(more, shape, self.dtype)
        if one is not None:
            rows, columns, _ = BOOLEAN.coordinates(one)
            total[rows, columns] += 1
        cell[self.into] = stored(total)
        cell[self.bits] = support(cell[self.into])


def _overlap(ids: range, start: int, length: int) -> slice:
    begin = max(0, ids.start - start)
    return slice(begin, max(begin, min(length, ids.stop - start)))
