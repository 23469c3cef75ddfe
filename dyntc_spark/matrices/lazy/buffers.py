"""Buf_J and Buf_I of section 4.2: the updates that are not in *Lazy* yet.

The paper holds ``n x n^ε`` and ``n^ε x n`` integers. Here a column of *Buf_J* and a
row of *Buf_I* are sparse lines at the driver: an update costs the ancestors and
the descendants that it touches, and not ``n``.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.blocks.rings import Ring
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines


def bytes_of(lines: Sparse) -> int:
    """Bytes of the entries of lines."""
    return lines.nnz * (8 + lines.values.itemsize * len(lines.values))


class Stack:
    """A stack of sparse lines that grows: appending costs the entries appended."""

    def __init__(self, length: int, ring: Ring) -> None:
        self._entries = sparse_lines.nothing(0, length, ring.planes, ring.modulus)
        self._room = self._entries
        self._used = 0

    @property
    def lines(self) -> Sparse:
        """All lines, as views that later lines leave alone."""
        return self._entries

    @property
    def stored_bytes(self) -> int:
        """Bytes of the entries."""
        return bytes_of(self._entries)

    def append(self, lines: Sparse) -> None:
        """Put lines behind those that are there."""
        count, used = self._entries.shape[0], self._used + lines.nnz
        if used > self._room.nnz:
            more = 2 * used - self._room.nnz
            self._room = Sparse(
                self._room.shape,
                np.append(self._room.rows, np.zeros(more, np.int32)),
                np.append(self._room.columns, np.zeros(more, np.int32)),
                np.pad(self._room.values, ((0, 0), (0, more))),
            )
        new, room = slice(self._used, used), self._room
        room.rows[new], room.columns[new], room.values[:, new] = lines.rows + count, lines.columns, lines.values
        shape = count + lines.shape[0], lines.shape[1]
        self._entries = Sparse(shape, room.rows[:used], room.columns[:used], room.values[:, :used])
        self._used = used

    def grow(self, length: int) -> None:
        """Let the lines have more entries."""
        entries = self._entries
        self._entries = Sparse((entries.shape[0], length), entries.rows, entries.columns, entries.values)


class Buffers:
    """The pair (Buf_J⟨t⟩, Buf_I⟨t⟩): what ``Lazy`` lacks is their product.

    Parameters
    ----------
    shape
        Of the matrix.
    ring
        Of its entries.
    """

    def __init__(self, shape: tuple[int, int], ring: Ring) -> None:
        self._j, self._i = Stack(shape[0], ring), Stack(shape[1], ring)
        self._modulus = ring.modulus

    @property
    def rank(self) -> int:
        """The paper's ``t``: columns of Buf_J, rows of Buf_I."""
        return self._j.lines.shape[0]

    @property
    def stored_bytes(self) -> int:
        """Bytes of both."""
        return self._j.stored_bytes + self._i.stored_bytes

    @property
    def columns_j(self) -> Sparse:
        """The columns of Buf_J, as a stack of ``t`` lines."""
        return self._j.lines

    @property
    def rows_i(self) -> Sparse:
        """The rows of Buf_I."""
        return self._i.lines

    def append(self, columns: Sparse, rows: Sparse) -> None:
        """Store columns ``J`` and as many rows ``I``."""
        self._j.append(columns)
        self._i.append(rows)

    def grow(self, shape: tuple[int, int]) -> None:
        """Let the matrix be larger."""
        self._j.grow(shape[0])
        self._i.grow(shape[1])

    def add_rows(self, lazy: Sparse, ids: Indices) -> Sparse:
        """Return the rows ``ids`` of ``Lazy + Buf_J·Buf_I`` from those of ``Lazy``."""
        return sparse_lines.combine(lazy, sparse_lines.columns_at(self.columns_j, ids), self.rows_i, self._modulus)

    def add_columns(self, lazy: Sparse, ids: Indices) -> Sparse:
        """Return the columns ``ids`` of ``Lazy + Buf_J·Buf_I`` from those of ``Lazy``."""
        return sparse_lines.combine(lazy, sparse_lines.columns_at(self.rows_i, ids), self.columns_j, self._modulus)

    def entries(self, rows: Indices, columns: Indices) -> Ints:
        """Return the inner products of Lookup: ``values[plane, q]`` at ``(rows[q], columns[q])``."""
        left, x = np.unique(rows, return_inverse=True)
        right, y = np.unique(columns, return_inverse=True)
        found = sparse_lines.columns_at(self.columns_j, left), sparse_lines.columns_at(self.rows_i, right)
        return sparse_lines.dot(*found, x, y, self._modulus)
