"""A block: one rectangular piece of a matrix, in one of three representations.

A zero block is absent: there is no object for it (``None`` stands in its
place). Otherwise a block is

- ``Bits``: Boolean, packed; bit ``j`` of row ``i`` is
  ``(words[i, j // 64] >> (j % 64)) & 1``, and bits beyond the last column are 0;
- ``Dense``: integers in ``planes`` layers, ``values[plane, row, column]``: one
  layer for counts, one layer a prime for residues;
- ``Sparse``: coordinates of the entries that are not zero, sorted by row and
  then by column, each once, with ``values[plane, entry]``; a Boolean one has
  no planes, because its entries are all 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.ids import Words

Ints: TypeAlias = npt.NDArray[Any]
Shape: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Bits:
    """A Boolean block as packed rows of 64-bit words."""

    shape: Shape
    words: Words


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """An integer block as an array ``values[plane, row, column]``."""

    values: Ints

    @property
    def shape(self) -> Shape:
        """Number of rows and columns."""
        return (int(self.values.shape[1]), int(self.values.shape[2]))


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """A block as sorted coordinates (int32) and ``values[plane, entry]``."""

    shape: Shape
    rows: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    values: Ints

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return len(self.rows)


Block: TypeAlias = Bits | Dense | Sparse
