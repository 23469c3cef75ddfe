"""The rebuild of section 4.2, ``Lazy ← Lazy + Buf_J·Buf_I``, as pieces that can be spread over time.

*Lazy* is kept twice, in stripes of rows and in stripes of columns, so that rows
and columns are both read from few blocks. A piece is the rebuild of one stripe;
its cost is the number of products that it forms. Pieces are independent: all of
them together are one superstep, and the worst-case variant runs a few at a time
on a second copy (states are values: the copies share every stripe that no piece
has touched yet).
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.dynamic.lazy_buffers import Buffers
from dyntc_spark.dynamic.lazy_operations import Fold
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.block import Sparse

BY_ROW, BY_COLUMN = "by_row", "by_column"


class Rebuild:
    """What is left of a rebuild.

    Parameters
    ----------
    state
        The matrix ``by_row`` and its transpose ``by_column``, both in stripes.
    buffers
        The updates to fold in; they must not grow any more.
    """

    def __init__(self, state: State, buffers: Buffers) -> None:
        self.state = state
        self.buffers = buffers
        self._sides = {
            BY_ROW: _Side(state.kinds[BY_ROW], buffers.columns_j, buffers.rows_i),
            BY_COLUMN: _Side(state.kinds[BY_COLUMN], buffers.rows_i, buffers.columns_j),
        }
        self._pieces = [(name, stripe) for name, side in self._sides.items() for stripe in side.stripes]
        self._cost = np.cumsum([cost for side in self._sides.values() for cost in side.costs], dtype=np.int64)
        self._next = 0

    @property
    def done(self) -> bool:
        """Whether every piece has run."""
        return self._next == len(self._pieces)

    @property
    def products(self) -> int:
        """Products that all pieces together form."""
        return int(self._cost[-1]) if len(self._cost) else 0

    @property
    def largest_piece(self) -> int:
        """Products that the most expensive piece forms."""
        return int(np.diff(self._cost, prepend=0).max(initial=0))

    def advance(self, share: float) -> int:
        """Run pieces until this share of the cost is behind us, in one superstep; give the products formed."""
        stop = len(self._pieces)
        if share < 1:
            stop = max(self._next, int(np.searchsorted(self._cost, share * self.products, side="right")))
        chosen, first = self._pieces[self._next : stop], self._next
        if chosen:
            folds = [
                side.fold(name, [stripe for which, stripe in chosen if which == name])
                for name, side in self._sides.items()
            ]
            self.state, _ = self.state.run(*(fold for fold in folds if fold.left.touched))
            self._next = stop
        before, after = (int(self._cost[k - 1]) if k else 0 for k in (first, self._next))
        return after - before


class _Side:
    """One of the two products: ``left``, given as its columns, by stripes of rows; ``right`` whole."""

    def __init__(self, kind: Kind, left: Sparse, right: Sparse) -> None:
        self._kind, self._right = kind, right
        self._left = sparse.transpose(left)  # sorted by row, so that the slice of a stripe is a run of entries
        step = kind.grid.down.step
        self.stripes: list[int] = np.unique(self._left.rows // step).tolist()
        lengths = np.bincount(right.rows, minlength=right.shape[0])
        products = np.bincount(self._left.rows // step, weights=lengths[self._left.columns])
        self.costs: list[float] = products[self.stripes].tolist()

    def fold(self, name: str, stripes: list[int]) -> Fold:
        """Give the operation that rebuilds these stripes."""
        axis, left = self._kind.grid.down, self._left
        slices = {}
        for stripe in stripes:
            top = stripe * axis.step
            begin, end = np.searchsorted(left.rows, [top, top + axis.step])
            shape = axis.extent(stripe), left.shape[1]
            rows = left.rows[begin:end] - np.int32(top)
            slices[stripe] = Sparse(shape, rows, left.columns[begin:end], left.values[:, begin:end])
        return Fold(name, Strip(self._kind.ring, axis, left.shape[1], True, slices), self._right)
