"""Closures inside section 6's division: what it asks of them, and those that are closed again as a whole.

X and Y of a leaf are kept at the driver, which needs every change of Y for the polynomials around it. A small
leaf is closed there in less time than a job takes to start; a larger one travels to one task, which closes it
and sends Y back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.superstep import Cell, Kind, Operation
from dyntc_spark.engines.transfer import transferred
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.bits import pack, unpack
from dyntc_spark.kernels.block import Bits, Block
from dyntc_spark.kernels.ids import Flags, Indices, Words
from dyntc_spark.kernels.leaf_closure import closed

Pairs = tuple[Indices, Indices]
CLOSED_HERE = (
    2048  # vertices of a leaf that the driver closes by itself: some ten milliseconds, where a job takes hundreds
)
PLACE = "leaf"


class SubClosure(ABC):
    """A closure under Init*, Set*, LazySet* and Reset*, with X and Y at the driver."""

    x: Flags
    y: Flags

    @abstractmethod
    def init(self, x: Flags) -> None:
        """Init*."""

    @abstractmethod
    def set(self, i: int, row: Flags, column: Flags) -> Pairs:
        """Set*: row and column i of X grow; return what is new in Y."""

    @abstractmethod
    def lazy_set(self, entries: Pairs) -> None:
        """LazySet*: X grows anywhere, Y stays as it is."""

    @abstractmethod
    def reset(self, entries: Pairs) -> Pairs:
        """Reset*: X shrinks anywhere; return what goes from Y."""

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

    Parameters
    ----------
    size
        Number of vertices.
    backend
        Where a leaf of more than ``CLOSED_HERE`` vertices is closed: one job each time.
    """

    def __init__(self, size: int, backend: Backend) -> None:
        self.x = self.seen = self.y = np.zeros((size, size), bool)
        self.backend = backend
        self.place: State | None = None

    def init(self, x: Flags) -> None:
        """Init*."""
        self.x, self.seen = x.copy(), x.copy()
        self.y = self._closure()

    def set(self, i: int, row: Flags, column: Flags) -> Pairs:
        """Set*."""
        self.x[i] |= row
        self.x[:, i] |= column
        before, self.seen = self.y, self.x.copy()
        self.y = self._closure()
        return places_of(self.y & ~before)

    def lazy_set(self, entries: Pairs) -> None:
        """LazySet*."""
        self.x[entries] = True

    def reset(self, entries: Pairs) -> Pairs:
        """Reset*."""
        self.x[entries] = False
        self.seen[entries] = False
        before, self.y = self.y, self._closure()
        return places_of(before & ~self.y)

    def copy(self) -> Leaf:
        """A copy."""
        other = Leaf(0, self.backend)
        other.x, other.seen, other.y, other.place = self.x.copy(), self.seen.copy(), self.y, self.place
        return other

    def moved(self, backend: Backend) -> Leaf:
        """A copy that is closed elsewhere."""
        other = self.copy()
        other.backend, other.place = backend, None
        return other

    def _closure(self) -> Flags:
        size = len(self.seen)
        if size <= CLOSED_HERE:
            return unpack(closed(pack(self.seen)), size)
        if self.place is None:
            kinds = {PLACE: Kind(Grid.square(1, 1, 1), BOOLEAN)}
            self.place = transferred(LocalState(LocalBackend(), kinds, {PLACE: {}}), self.backend)
        return unpack(self.place.run(CloseLeaf(PLACE, pack(self.seen)))[1][0], size)


@dataclass(frozen=True)
class CloseLeaf(Operation[Words]):
    """Close a digraph whose packed rows travel along: one cell, hence one task; the result is packed rows, too."""

    words: Words

    fills = True

    report_ring = BOOLEAN

    def apply(self, cell: Cell) -> None:
        """Close it and send it back."""
        cell.report(0, codec.compact(Bits((len(self.words), len(self.words)), closed(self.words))))

    def collect(self, reports: Mapping[int, Block]) -> Words:
        """The packed rows."""
        dense = codec.densify(reports[0])
        assert isinstance(dense, Bits)  # noqa: S101  (a Boolean block)
        return dense.words


def places_of(flags: Flags) -> Pairs:
    """Rows and columns of the ones."""
    rows, columns = np.nonzero(flags)
    return rows, columns
