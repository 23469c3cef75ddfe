"""Closures inside section 6's division: what it asks of them, and those that are closed again as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.blocks.state import Backend
from dyntc_spark.kernels.bits import pack, unpack
from dyntc_spark.kernels.leaf_closure import closed

Flags = npt.NDArray[np.bool_]
Pairs = tuple[Ids, Ids]


class SubClosure(ABC):
    """A closure under Init*, Set*, LazySet* and Reset*, with X and Y at the driver."""

    x: Flags
    y: Flags

    @abstractmethod
    def init(self, x: Flags) -> None:
        """Init*."""

    @abstractmethod
    def set(self, i: int, row: Flags, column: Flags) -> Pairs:
        """Set*: row and column i of X grow; give what is new in Y."""

    @abstractmethod
    def lazy_set(self, entries: Pairs) -> None:
        """LazySet*: X grows anywhere, Y stays as it is."""

    @abstractmethod
    def reset(self, entries: Pairs) -> Pairs:
        """Reset*: X shrinks anywhere; give what goes from Y."""

    @abstractmethod
    def copy(self) -> SubClosure:
        """A copy that later updates of this one do not reach."""

    @property
    def bytes(self) -> int:
        """What is held at the driver."""
        return int(self.x.nbytes + self.y.nbytes)

    def moved(self, backend: Backend) -> SubClosure:
        """A copy whose matrices are on another backend."""
        del backend
        return self.copy()


class Leaf(SubClosure):
    """A closure that is worked out again as a whole, by one process.

    Entries that came by LazySet* are seen from the next Set* on; a Reset* shows none.
    """

    def __init__(self, size: int) -> None:
        self.init(np.zeros((size, size), bool))

    def init(self, x: Flags) -> None:
        """Init*."""
        self.x, self.seen = x.copy(), x.copy()
        self.y = _closure(self.seen)

    def set(self, i: int, row: Flags, column: Flags) -> Pairs:
        """Set*."""
        self.x[i] |= row
        self.x[:, i] |= column
        before, self.seen = self.y, self.x.copy()
        self.y = _closure(self.seen)
        return places_of(self.y & ~before)

    def lazy_set(self, entries: Pairs) -> None:
        """LazySet*."""
        self.x[entries] = True

    def reset(self, entries: Pairs) -> Pairs:
        """Reset*."""
        self.x[entries] = False
        self.seen[entries] = False
        before, self.y = self.y, _closure(self.seen)
        return places_of(before & ~self.y)

    def copy(self) -> Leaf:
        """A copy."""
        other = Leaf(0)
        other.x, other.seen, other.y = self.x.copy(), self.seen.copy(), self.y
        return other


def places_of(flags: Flags) -> Pairs:
    """Rows and columns of the ones."""
    rows, columns = np.nonzero(flags)
    return rows, columns


def _closure(x: Flags) -> Flags:
    return unpack(closed(pack(x)), len(x))
