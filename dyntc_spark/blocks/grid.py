"""The grid: how the index set of a matrix is cut into blocks.

A matrix of ``rows`` x ``columns`` entries is cut into blocks of ``height`` x
``width`` entries; the last row and the last column of blocks are ragged. Block
``(bi, bj)`` holds the entries ``(i, j)`` with ``i // height == bi`` and
``j // width == bj``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.errors import IndexOutsideError, ShapeMismatchError
from dyntc_spark.kernels.ids import Indices

#: (block number, positions in the request, ids inside that block), one for each block that is hit
Cut = tuple[int, Indices, Indices]


@dataclass(frozen=True, slots=True)
class Axis:
    """One side of a grid: ``length`` indices in runs of ``step``."""

    length: int
    step: int

    def __post_init__(self) -> None:
        numbers = isinstance(self.length, int | np.integer) and isinstance(self.step, int | np.integer)
        if not numbers or self.length < 0 or self.step < 1:
            raise ShapeMismatchError(
                "a length of at least 0 and blocks of at least 1",
                f"length {self.length!r} and blocks of {self.step!r}",
                "Give the matrix's own size and a positive block size, as integers.",
            )

    @property
    def blocks(self) -> int:
        """Number of blocks along this side."""
        return -(-self.length // self.step)

    def extent(self, block: int) -> int:
        """Number of indices in ``block``; the last one may be shorter."""
        return min(self.step, self.length - block * self.step)

    def part(self, block: int) -> slice:
        """The indices in ``block``."""
        return slice(block * self.step, block * self.step + self.extent(block))

    def ids(self, ids: npt.ArrayLike, what: str) -> Indices:
        """Return ``ids`` as an array, refused when one of them is not on this side."""
        array = np.atleast_1d(as_array(ids))
        if array.size == 0:
            return np.zeros(0, np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise IndexOutsideError(
                f"{what} numbers as a list of integers",
                f"an array of {array.dtype} with {array.ndim} dimensions",
                "Pass positions, counted from 0.",
            )
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= self.length:
            raise IndexOutsideError(
                f"{what} numbers from 0 to {self.length - 1}",
                f"{low if low < 0 else high}",
                "Check the shape that the matrix was made with.",
            )
        return array.astype(np.int64, copy=False)

    def cut(self, ids: Indices) -> Iterator[Cut]:
        """Split ``ids`` by the block that holds them."""
        blocks = ids // self.step
        order = np.argsort(blocks, kind="stable")
        ends = np.flatnonzero(np.diff(blocks[order])) + 1
        for positions in np.split(order, ends) if ids.size else ():
            block = int(blocks[positions[0]])
            yield block, positions, ids[positions] - block * self.step


@dataclass(frozen=True, slots=True)
class Grid:
    """How a matrix is cut into blocks.

    Examples
    --------
    >>> grid = Grid.square(10, 7, size=4)
    >>> grid.blocks, grid.extent(2, 1)
    ((3, 2), (2, 3))
    """

    down: Axis
    across: Axis

    @classmethod
    def square(cls, rows: int, columns: int, size: int) -> Grid:
        """Cut ``rows`` x ``columns`` into blocks of ``size`` x ``size``."""
        return cls(Axis(rows, size), Axis(columns, size))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns of the matrix."""
        return self.down.length, self.across.length

    @property
    def blocks(self) -> tuple[int, int]:
        """Number of block rows and block columns."""
        return self.down.blocks, self.across.blocks

    @property
    def transposed(self) -> Grid:
        """The grid of the transposed matrix."""
        return Grid(self.across, self.down)

    def extent(self, bi: int, bj: int) -> tuple[int, int]:
        """Shape of block ``(bi, bj)``."""
        return self.down.extent(bi), self.across.extent(bj)

    def holds(self, bi: int, bj: int) -> bool:
        """Whether ``(bi, bj)`` is a block of this grid."""
        return 0 <= bi < self.down.blocks and 0 <= bj < self.across.blocks

    def by_cell(self, rows: Indices, columns: Indices) -> dict[tuple[int, int], Indices]:
        """Positions of the given places, in their order, by the block that holds them."""
        if not len(rows):
            return {}
        wide = self.blocks[1]
        cells = rows // self.down.step * wide + columns // self.across.step
        order = np.argsort(cells, kind="stable")
        ends = np.flatnonzero(np.diff(cells[order])) + 1
        groups = np.split(order, ends)
        return {(int(cells[group[0]]) // wide, int(cells[group[0]]) % wide): group for group in groups}

    def product(self, other: Grid) -> Grid:
        """Grid of the product of a matrix on this grid with one on ``other``."""
        if self.across != other.down:
            raise ShapeMismatchError(
                f"a right factor of {self.across.length} rows in blocks of {self.across.step}",
                f"{other.down.length} rows in blocks of {other.down.step}",
                "The inner sizes and the block sizes of the two factors must agree.",
            )
        return Grid(self.down, other.across)

    def require_same(self, other: Grid) -> None:
        """Refuse ``other`` unless it cuts the same shape in the same way."""
        if self != other:
            raise ShapeMismatchError(
                f"{self}", f"{other}", "Both matrices need the same shape and the same block size."
            )

    def __str__(self) -> str:
        return f"{self.shape[0]} x {self.shape[1]} in blocks of {self.down.step} x {self.across.step}"


def as_array(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return ``values`` as an array; refuse lists of lists that are not equally long."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ShapeMismatchError("lists that make an array", f"{error}", "Make them equally long.") from error


def block_size(length: int, entry_bits: int) -> int:
    """Side of square blocks whose dense payload is about half a mebibyte to two, a multiple of 64.

    Parameters
    ----------
    length
        The longer side of the matrix.
    entry_bits
        Bits of one dense entry, added up over the matrices that share a block coordinate.

    Examples
    --------
    >>> block_size(100_000, 1), block_size(100_000, 32), block_size(100, 1)
    (2048, 512, 128)
    """
    side = 1 << int(math.log2(math.sqrt(8 * 2**20 / entry_bits)))
    return min(side, max(64, -(-length // 64) * 64))
