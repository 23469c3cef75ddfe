"""What Init* and Set* of section 5 do in one cell of one level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Names, Operation, Slices
from dyntc_spark.kernels import bits, codec
from dyntc_spark.kernels.block import Bits, Block, Ints
from dyntc_spark.kernels.ids import Words
from dyntc_spark.matrices.triples import STAMP, stored, support, writable


@dataclass(frozen=True)
class Outer(Operation[None]):
    """An operation on the entries of an outer product ``left ⊗ right`` of two Boolean vectors."""

    left: Strip
    right: Strip
    by_row = Slices("left", upright=True)
    by_column = Slices("right", upright=False)
    fills = True


@dataclass(frozen=True)
class Exchange(Outer):
    """``C += newL ⊗ newR - oldL ⊗ oldR`` with ``oldL ⊆ newL`` and ``oldR ⊆ newR``; the strips hold (new, old)."""

    dtype: np.dtype[Any]

    writes = Names("name")

    def apply(self, cell: Cell) -> None:
        """Add what is new in this cell."""
        left, right = cell.left, cell.right
        if left is None or right is None:
            return
        new_left, old_left = _lines(left, upright=True)
        new_right, old_right = _lines(right, upright=False)
        fresh, stale = new_left & ~old_left, new_left & old_left
        array = writable(cell[self.name], cell.shape(self.name), self.dtype)
        array[np.ix_(fresh, new_right)] += 1
        array[np.ix_(stale, new_right & ~old_right)] += 1
        cell[self.name] = stored(array)


@dataclass(frozen=True)
class Raise(Outer):
    """``V += left ⊗ right``, and the stamps of the entries that were 0."""

    flips: str
    time: int

    reads = writes = Names("name", "flips")

    def apply(self, cell: Cell) -> None:
        """Set and stamp the entries of this cell that were 0."""
        left, right = cell.left, cell.right
        if left is None or right is None:
            return
        rows, columns = np.flatnonzero(_lines(left, upright=True)[0]), _lines(right, upright=False)[0]
        before, shape = cell[self.name], cell.shape(self.name)
        words = _writable_words(before, shape)
        flags = bits.unpack(words[rows], shape[1])
        new = columns[None, :] & ~flags
        if not new.any():
            return
        stamps = writable(cell[self.flips], shape, STAMP)
        part = stamps[rows]
        part[new] = self.time
        stamps[rows] = part
        words[rows] |= bits.pack(columns[None, :])
        cell[self.name] = codec.compact(Bits(shape, words))
        cell[self.flips] = stored(stamps)


@dataclass(frozen=True)
class Halfway(Operation[None]):
    """After ``L = V · V``: ``R = L``, the stamps of V, and where L is positive; ``name`` is L."""

    other: str
    flips: str
    matrix: str
    positive: str
    time: int
    dtype: np.dtype[Any]

    reads = Names("name", "matrix", "other", "flips", "positive")
    writes = Names("name", "other", "flips", "positive")

    def apply(self, cell: Cell) -> None:
        """Copy, stamp and compare in this cell."""
        shape = cell.shape(self.name)
        cell[self.positive] = support(cell[self.name])
        cell[self.name] = cell[self.other] = stored(writable(cell[self.name], shape, self.dtype))
        rows, columns, _ = BOOLEAN.coordinates(cell[self.matrix])
        stamps = np.zeros(shape, STAMP)
        stamps[rows, columns] = self.time
        cell[self.flips] = stored(stamps)


@dataclass(frozen=True)
class Passed(Operation[None]):
    """After ``C = [L > 0] · [R > 0]``: the next level's V is where C is positive; ``name`` is C."""

    into: str
    positive: str
    dtype: np.dtype[Any]

    reads = writes = Names("name", "into", "positive")

    def apply(self, cell: Cell) -> None:
        """Compare the counts of this cell with 0."""
        cell[self.into] = support(cell[self.name])
        cell[self.name] = stored(writable(cell[self.name], cell.shape(self.name), self.dtype))
        cell[self.positive] = None


def _lines(block: Block, *, upright: bool) -> Ints:
    """The lines of a Boolean slice, one below the other."""
    rows, columns, _ = BOOLEAN.coordinates(block)
    flags = np.zeros(block.shape, bool)
    flags[rows, columns] = True
    return flags.T if upright else flags


def _writable_words(block: Block | None, shape: tuple[int, int]) -> Words:
    if block is None:
        return bits.zeros(*shape)
    dense = codec.densify(block)
    assert isinstance(dense, Bits)  # noqa: S101  (V is Boolean)
    words: Words = dense.words.copy()
    return words
