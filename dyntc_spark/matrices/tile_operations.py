"""Operations on tiles: rectangles of a matrix, which need not follow the borders of the blocks.

A recursive structure keeps the matrices of all nodes of one depth in one matrix of
the whole grid: the nodes own disjoint tiles of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.superstep import Cell, Names, Operation
from dyntc_spark.blocks.where import Tile
from dyntc_spark.kernels import bits, codec
from dyntc_spark.kernels.block import Bits, Block
from dyntc_spark.kernels.ids import Words
from dyntc_spark.matrices.counted_product import CountedProduct, init_product
from dyntc_spark.matrices.triples import stored, support, writable


@dataclass(frozen=True)
class ReadTile(Operation[Words]):
    """The entries of a tile that are not zero, as packed rows of the tile at the driver."""

    tile: Tile

    at = "tile"
    report_ring = BOOLEAN

    def apply(self, cell: Cell) -> None:
        """Report the places of this cell."""
        found = cut(support(cell[self.name]), self.tile, cell)
        cell.report(cell.bi * self.tile.grid.blocks[1] + cell.bj, found)

    def collect(self, reports: Mapping[int, Block]) -> Words:
        """Join the blocks."""
        grid = self.tile.grid
        down, across = self.tile.spans
        flags = np.zeros((len(down), len(across)), bool)
        for key, block in reports.items():
            bi, bj = divmod(key, grid.blocks[1])
            rows, columns, _ = BOOLEAN.coordinates(block)
            top, left = bi * grid.down.step - down.start, bj * grid.across.step - across.start
            flags[rows + np.int64(top), columns + np.int64(left)] = True
        return bits.pack(flags)


@dataclass(frozen=True)
class PasteTile(Operation[None]):
    """Set the entries of a tile that are ones of ``words``, packed rows of the tile."""

    tile: Tile
    words: Words

    writes = Names("name")
    fills = True
    at = "tile"

    def apply(self, cell: Cell) -> None:
        """Set the entries of this cell."""
        down, across = self.tile.part(cell.bi, cell.bj)
        flags = np.zeros(cell.shape(self.name), bool)
        words = bits.unpack(self.words[down], len(self.tile.spans[1]))
        flags[self.tile.inside(cell.bi, cell.bj)] = words[:, across]
        cell[self.name] = BOOLEAN.add(cell[self.name], codec.compact(Bits(cell.shape(self.name), bits.pack(flags))))


@dataclass(frozen=True)
class CopyTile(Operation[None]):
    """``into += X`` inside a tile."""

    into: str
    tile: Tile
    at = "tile"
    reads = Names("name", "into")
    writes = Names("into")

    def apply(self, cell: Cell) -> None:
        """Copy what lies in this cell."""
        cell[self.into] = BOOLEAN.add(cell[self.into], cut(cell[self.name], self.tile, cell))


@dataclass(frozen=True)
class CutTile(Operation[None]):
    """``into = X`` inside a tile, and 0 elsewhere."""

    into: str
    tile: Tile
    reads = Names("name", "into")
    writes = Names("into")

    def apply(self, cell: Cell) -> None:
        """Copy what lies in this cell, clear the others."""
        inside = self.tile.where.holds(cell.bi, cell.bj)
        cell[self.into] = cut(cell[self.name], self.tile, cell) if inside else None


@dataclass(frozen=True)
class MergeCounts(Operation[None]):
    """``into += X`` for counts, and ``bits`` is where ``into`` is positive; ``plus`` counts one more inside a tile."""

    into: str
    bits: str
    dtype: np.dtype[Any]
    plus: str | None = None
    tile: Tile | None = None

    reads = Names("name", "into", "bits", "plus")
    writes = Names("into", "bits")

    def apply(self, cell: Cell) -> None:
        """Add in this cell."""
        more = cell[self.name]
        one = None
        if self.plus is not None and self.tile is not None and self.tile.where.holds(cell.bi, cell.bj):
            one = cut(cell[self.plus], self.tile, cell)
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


def init_tile(
    state: State, product: CountedProduct, inner: range, factors: tuple[str, str], plus: str | None = None
) -> State:
    """Init of a counted product in its tile, over the inner indices ``inner``: two supersteps and a multiplication.

    ``factors`` are matrices to lay the factors out in; ``plus`` is a summand of degree 1, which counts one.
    """
    tile, names = product.tile, {name: name for name in state.kinds}
    assert product.first is not None and product.bits is not None  # noqa: PT018, S101  (of a tree of products)
    left, right = factors
    state, _ = state.run(
        CutTile(product.first.name, left, Tile(tile.grid, tile.rows, inner)),
        CutTile(product.second.name, right, Tile(tile.grid, inner, tile.columns)),
    )
    state = init_product(state, factors, "product")
    merge = MergeCounts("product", product.name, product.bits, product.dtype, plus, tile if plus else None)
    return state.run(merge)[0].select(names)


def cut(block: Block | None, tile: Tile, cell: Cell) -> Block | None:
    """Return the entries of a Boolean block that lie in a tile, others cleared."""
    if block is None:
        return None
    down, across = tile.inside(cell.bi, cell.bj)
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
