"""What a lazy matrix does to its blocks: read lines, read entries, and fold the buffers in.

A lazy matrix is kept in stripes: a block is ``height`` whole rows. Reports go
under the number of their stripe, so that nothing is merged on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dyntc_spark.blocks.rings import Ring
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Names, Operation, OwnRing, Result, Slices
from dyntc_spark.blocks.where import Lines
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.block import Block, Dense, Ints, Shape, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines


def widened(block: Block | None, shape: Shape) -> Block | None:
    """Return a stripe that was written before the matrix grew with the shape that it has now."""
    if block is None or block.shape == shape:
        return block
    if isinstance(block, Sparse):
        return Sparse(shape, block.rows, block.columns, block.values)
    assert isinstance(block, Dense)  # noqa: S101  (of a ring of integers)
    more = [(0, new - old) for new, old in zip(shape, block.shape, strict=True)]
    return Dense(np.pad(block.values, [(0, 0), *more]))


@dataclass(frozen=True)
class Reading(Operation[Result]):
    """What is asked of some rows of a matrix in stripes, of each in its own stripe only."""

    ring: Ring
    lines: Lines
    at = "lines"
    report_ring = OwnRing()

    def block(self, cell: Cell) -> Block | None:
        """The stripe in a cell."""
        return widened(cell[self.name], cell.shape(self.name))


@dataclass(frozen=True)
class ReadLines(Reading[Sparse]):
    """Rows of a matrix in stripes, in the order asked for, as a stack of lines at the driver."""

    def apply(self, cell: Cell) -> None:
        """Report the lines that lie in this stripe."""
        inside = self.lines.inside(cell.bi, 0)[1].astype(np.int32)  # as the rows of a block are: nothing is converted
        cell.report(cell.bi, self.ring.take_rows(self.block(cell), inside))

    def collect(self, reports: Mapping[int, Block]) -> Sparse:
        """Put the lines in the order asked for."""
        modulus, shape = self.ring.modulus, (len(self.lines.ids), self.lines.far.length)
        parts = []
        for stripe, block in sorted(reports.items()):
            rows, columns, values = self.ring.coordinates(block)
            parts.append((self.lines.inside(stripe, 0)[0][rows], columns, values))
        if not parts:
            return sparse_lines.nothing(*shape, self.ring.planes, modulus)
        rows, columns, values = (np.concatenate(side, axis=-1) for side in zip(*parts, strict=True))
        if (np.diff(self.lines.ids) < 0).any():  # else the stripes are in the order asked for
            order = np.argsort(rows, kind="stable")
            rows, columns, values = rows[order], columns[order], values[:, order]
        kind = np.int64 if modulus is None else np.int32
        return Sparse(shape, rows.astype(np.int32), columns, values.astype(kind, copy=False))


@dataclass(frozen=True)
class ReadEntries(Reading[Ints]):
    """Entries ``columns[q]`` of some rows of a matrix in stripes: ``values[plane, q]``."""

    columns: Indices

    def apply(self, cell: Cell) -> None:
        """Report the entries of this stripe that are not zero, as one line of all places in it."""
        places, inside = self.lines.inside(cell.bi, 0)
        found = self.ring.get(self.block(cell), inside, self.columns[places])
        hit = np.flatnonzero(found.any(axis=0))
        shape = (1, len(places))
        cell.report(cell.bi, self.ring.from_coordinates(np.zeros_like(hit), hit, found[:, hit], shape))

    def collect(self, reports: Mapping[int, Block]) -> Ints:
        """Put the answers in the order of the questions."""
        out = np.zeros((self.ring.planes, len(self.lines.ids)), np.int64)
        for stripe, block in reports.items():
            _, columns, values = self.ring.coordinates(block)
            out[:, self.lines.inside(stripe, 0)[0][columns]] = values
        return out


@dataclass(frozen=True)
class Fold(Operation[None]):
    """``Lazy += left · right``: the rebuild, in the stripes where ``left`` has entries.

    ``left`` is upright and cut along the stripes, so that a stripe gets its own
    slice; ``right`` is short (no more lines than the buffers hold) and goes whole
    to every task.
    """

    left: Strip
    right: Sparse

    writes = Names("name")
    fills = True
    by_row = Slices("left", upright=True)

    def apply(self, cell: Cell) -> None:
        """Add this stripe's part of the product: line by line where it is sparse, else as dense blocks."""
        left = cell.left
        if left is None:
            return
        ring, shape = cell.ring(self.name), cell.shape(self.name)
        before = widened(cell[self.name], shape)
        if before is None:
            before = sparse_lines.nothing(*shape, ring.planes, ring.modulus)
        if isinstance(before, Sparse):
            cell[self.name] = codec.compact(
                sparse_lines.combine(_wide(before, ring), codec.sparsify(left), self.right, ring.modulus)
            )
        else:
            cell[self.name] = ring.rank_update(before, left, self.right, shape)


def _wide(block: Sparse, ring: Ring) -> Sparse:
    """Return counts in 64 bits, residues in 32."""
    kind = np.int32 if ring.modulus else np.int64
    return Sparse(block.shape, block.rows, block.columns, block.values.astype(kind, copy=False))
