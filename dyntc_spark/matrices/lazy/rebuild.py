"""The rebuild of section 4.2, ``Lazy ← Lazy + Buf_J·Buf_I``, as pieces that can be spread over time.

*Lazy* is kept twice, in stripes of rows and in stripes of columns, so that rows
and columns are both read from few blocks. A piece is the rebuild of one stripe;
its cost is the number of products that it forms. Pieces are independent: all of
them together are one superstep, and the worst-case variant runs a few at a time
on a second copy (states are values: the copies share every stripe that no piece
has touched yet).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Axis, Grid
from dyntc_spark.blocks.local import LocalState
from dyntc_spark.blocks.rings import Ring
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.block import Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy.buffers import Buffers
from dyntc_spark.matrices.lazy.layered_state import LayeredState
from dyntc_spark.matrices.lazy.operations import Fold, widened

BY_ROW, BY_COLUMN = "by_row", "by_column"


def stripes_of(shape: tuple[int, int], height: int, ring: Ring) -> dict[str, Kind]:
    """Return the kinds of a matrix of this shape in stripes of rows, and of columns."""
    return {
        name: Kind(Grid(Axis(down, height), Axis(across, max(1, across))), ring)
        for name, (down, across) in ((BY_ROW, shape), (BY_COLUMN, shape[::-1]))
    }


def grown(state: LocalState, kinds: dict[str, Kind]) -> LocalState:
    """Return a state with zeros appended, so that its matrices are of these kinds."""
    blocks = {
        name: {at: wide for at, block in found.items() if (wide := widened(block, kinds[name].grid.extent(*at)))}
        for name, found in state.blocks.items()
    }
    return LocalState(state.backend, kinds, blocks)


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
        self._sides = (
            _Side(state, BY_ROW, buffers.columns_j, buffers.rows_i),
            _Side(state, BY_COLUMN, buffers.rows_i, buffers.columns_j),
        )
        self._cost = np.cumsum(np.concatenate([side.costs for side in self._sides]))
        # A piece forms its products, and copies what its stripe holds.
        self._weight = self._cost + np.cumsum(np.concatenate([side.held for side in self._sides]))
        self._next = 0

    @property
    def done(self) -> bool:
        """Whether every piece has run."""
        return self._next == len(self._cost)

    @property
    def products(self) -> int:
        """Products that all pieces together form."""
        return int(self._cost[-1]) if len(self._cost) else 0

    def advance(self, share: float) -> int:
        """Run pieces until this share of the work is behind us, in one superstep; return the products formed."""
        first, stop = self._next, len(self._cost)
        if share < 1 and stop:
            stop = max(first, int(np.searchsorted(self._weight, share * self._weight[-1], side="right")))
        if first == stop:
            return 0
        folds, shift = [], 0
        for side in self._sides:
            low, high = (min(max(place - shift, 0), len(side.stripes)) for place in (first, stop))
            shift += len(side.stripes)
            if low < high:
                folds.append(side.fold(low, high))
        self.state, _ = self.state.run(*folds)
        self._next = stop
        return int(self._cost[stop - 1] - (self._cost[first - 1] if first else 0))


class _Side:
    """One of the two products: ``left``, given as its columns, by stripes of rows; ``right`` whole."""

    def __init__(self, state: State, name: str, left: Sparse, right: Sparse) -> None:
        self._name, self._kind, self._right = name, state.kinds[name], right
        self._left = sparse.transpose(left)  # sorted by row, so that the slice of a stripe is a run of entries
        stripe = self._left.rows // np.int32(self._kind.grid.down.step)
        starts = np.flatnonzero(np.diff(stripe, prepend=np.int32(-1)))
        self._bounds = np.append(starts, self._left.nnz)
        self.stripes = stripe[starts]
        products = np.bincount(right.rows, minlength=right.shape[0])[self._left.columns]
        self.costs: Indices = np.diff(np.append(0, np.cumsum(products))[self._bounds])
        self.held = _entries(state, name, self.stripes)

    def fold(self, low: int, high: int) -> Fold:
        """Return the operation that rebuilds the stripes numbered ``low … high - 1`` here."""
        axis, left, slices = self._kind.grid.down, self._left, {}
        for stripe, begin, end in zip(
            self.stripes[low:high].tolist(), self._bounds[low:high], self._bounds[low + 1 : high + 1], strict=True
        ):
            shape = axis.extent(stripe), left.shape[1]
            rows = left.rows[begin:end] - np.int32(stripe * axis.step)
            slices[stripe] = Sparse(shape, rows, left.columns[begin:end], left.values[:, begin:end])
        return Fold(self._name, Strip(self._kind.ring, axis, left.shape[1], True, slices), self._right)


def _entries(state: State, name: str, stripes: npt.NDArray[np.int32]) -> Indices:
    """Entries that these stripes hold, or about as many."""
    if isinstance(state, LayeredState):
        return np.asarray(state.sizes_of(name)[stripes] // (8 + 4 * state.kinds[name].ring.planes))
    assert isinstance(state, LocalState)  # noqa: S101  (there are two backends)
    found = map(state.blocks[name].get, ((stripe, 0) for stripe in stripes.tolist()))
    sizes = (
        0 if block is None else block.nnz if isinstance(block, Sparse) else math.prod(block.shape) for block in found
    )
    return np.fromiter(sizes, np.int64, len(stripes))
