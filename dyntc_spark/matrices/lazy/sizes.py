"""How large lines of a lazy matrix are, before they are brought to the driver.

The driver knows the bytes of every stripe on Spark. They bound the lines in it, and mostly that bound
is good enough; where it is not, one job counts the entries of each line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.superstep import Cell, Operation
from dyntc_spark.kernels.block import Block, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines
from dyntc_spark.matrices.lazy.layered_state import LayeredState
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.rebuild import BY_COLUMN, BY_ROW


@dataclass(frozen=True)
class Lengths(Operation[Indices]):
    """How many entries each line of a matrix in stripes has, of the first ``count``."""

    grid: Grid
    count: int

    def apply(self, cell: Cell) -> None:
        """Report those of this stripe."""
        self.tell(cell, cell.ring(self.name).coordinates(cell[self.name])[0])

    def tell(self, cell: Cell, rows: npt.NDArray[np.int32]) -> None:
        """Report lengths, given the row of each entry."""
        step = self.grid.down.step
        lengths = np.bincount(rows, minlength=step)
        cell.report(cell.bi, COUNTING.from_coordinates(np.zeros_like(lengths), np.arange(step), lengths, (1, step)))

    def collect(self, reports: Mapping[int, Block]) -> Indices:
        """Put the stripes together."""
        step = self.grid.down.step
        lengths = np.zeros(self.grid.down.blocks * step, np.int64)
        for stripe, block in reports.items():
            _, places, counts = COUNTING.coordinates(block)
            lengths[stripe * step + places] = counts[0]
        return lengths[: self.count]


def lengths(matrix: LazyMatrix, count: int) -> tuple[Indices, Indices]:
    """Return the lengths of the first rows and columns of a lazy matrix without what its buffers hold: one job."""
    by_row, by_column = matrix.state.run(
        *(Lengths(name, matrix.kinds[name].grid, count) for name in (BY_ROW, BY_COLUMN))
    )[1]
    return by_row, by_column


def exceeds(matrix: LazyMatrix, most: int, rows: npt.ArrayLike = (), columns: npt.ArrayLike = ()) -> bool:
    """Whether these rows and columns of M would take more than ``most`` bytes at the driver; never in this process.

    No job while the bytes of the stripes show that they do not, else one.
    """
    state = matrix.state
    if not isinstance(state, LayeredState):
        return False
    sides = [(BY_ROW, np.asarray(rows, np.int64)), (BY_COLUMN, np.asarray(columns, np.int64))]
    entry = entry_bytes(matrix)
    buffered = sum(_buffered(matrix, name, ids) for name, ids in sides)
    if (sum(_stored(matrix, state, name, ids) for name, ids in sides) + buffered) * entry <= most:
        return False
    counted = lengths(matrix, matrix.shape[0])
    exact = sum(int(found[ids].sum()) for found, (_, ids) in zip(counted, sides, strict=True))
    return (exact + buffered) * entry > most


def update_exceeds(matrix: LazyMatrix, most: int, rows: Sparse, columns: Sparse) -> bool:
    """Whether an update made of these lines could take more than ``most`` bytes; never in this process.

    It has as many lines as there are rows or columns, whichever are fewer, and none is longer than all of them united.
    """
    if not isinstance(matrix.state, LayeredState):
        return False
    longest = len(np.unique(rows.columns)) + len(np.unique(columns.columns))
    return min(rows.shape[0], columns.shape[0]) * longest * entry_bytes(matrix) > most


def entry_bytes(matrix: LazyMatrix) -> int:
    """Bytes of an entry of a line at the driver: its place, and a number for each prime."""
    return 8 + 4 * matrix.ring.planes


def _stored(matrix: LazyMatrix, state: LayeredState, name: str, ids: Indices) -> int:
    """Entries that *Lazy* can have in these lines, at most: a dense stripe has no places, only numbers."""
    grid = matrix.kinds[name].grid
    stripes, wanted = np.unique(ids // grid.down.step, return_counts=True)
    held = state.sizes_of(name)[stripes] // (4 * matrix.ring.planes)
    return int(np.minimum(held, wanted * grid.shape[1]).sum())


def _buffered(matrix: LazyMatrix, name: str, ids: Indices) -> int:
    """Entries that the buffers can add to these lines, at most."""
    found, length = 0, matrix.kinds[name].grid.shape[1]
    for buffers in matrix.pending:
        sides: tuple[Sparse, Sparse] = buffers.columns_j, buffers.rows_i
        near, far = sides if name == BY_ROW else sides[::-1]
        chosen = sparse_lines.columns_at(near, ids)
        added = np.bincount(far.rows, minlength=far.shape[0])[chosen.columns]
        found += int(np.minimum(np.bincount(chosen.rows, added, minlength=len(ids)), length).sum())
    return found
