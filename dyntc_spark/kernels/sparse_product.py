"""Products of sparse blocks, through scipy: counts and residues exactly, with a bound before anything is multiplied."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntc_spark.errors import OverflowingCountError, RingMismatchError, ShapeMismatchError
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.sparse import (
    LARGEST_COUNT,
    Modulus,
    add,
    csr,
    from_coordinates,
    largest,
    require_one_ring,
    rows_of,
    select,
)

if TYPE_CHECKING:
    import scipy.sparse as sp


def multiply(a: Sparse, b: Sparse, modulus: Modulus = None) -> Sparse:
    """Return the matrix product ``a b`` over the ring of both, exactly.

    Costs the number of pairs of entries that meet, ``(i, k)`` of ``a`` and
    ``(k, j)`` of ``b``, plus one sort of the result and a pass over the rows.

    Residues are summed in int64; when one row of ``a`` has more entries than
    such a sum can hold, ``a`` is split into parts that it can hold.

    Raises
    ------
    OverflowingCountError
        If a count could pass ``2**63 - 1``, by the bound: largest value of
        ``a`` times largest of ``b`` times the most terms that one entry sums.
    """
    require_one_ring(a, b, modulus)
    _require_inner(a, b)
    if modulus is not None:
        parts = _split_rows(a, LARGEST_COUNT // max(modulus) ** 2)
        return reduce(lambda x, y: add(x, y, modulus), (_multiply_residues(part, b, modulus) for part in parts))
    if len(a.values):
        terms = min(_longest(a.rows), _longest(b.columns))
        bound = largest(a.values) * largest(b.values) * terms
        if bound > LARGEST_COUNT:
            came = f"factors that allow {bound} ({terms} terms an entry)"
            raise OverflowingCountError("a product of counts below 2**63", came, "Count modulo primes instead.")
        return from_csr(to_csr(a).astype(np.int64) @ to_csr(b).astype(np.int64))
    return from_csr(to_csr(a) @ to_csr(b))


def multiply_to_counts(a: Sparse, b: Sparse) -> Sparse:
    """Return, for Boolean blocks, the number of witnesses ``k`` with ``a[i, k]`` and ``b[k, j]``, as one plane.

    Examples
    --------
    >>> a = from_coordinates([0, 0], [0, 1], None, (1, 2))
    >>> multiply_to_counts(a, from_coordinates([0, 1], [0, 0], None, (2, 1))).values.tolist()
    [[2]]
    """
    if len(a.values) or len(b.values):
        came = f"{len(a.values)} and {len(b.values)} planes"
        raise RingMismatchError("two Boolean blocks", came, "Use multiply for blocks with values.")
    _require_inner(a, b)
    return from_csr(to_csr(a).astype(np.int64) @ to_csr(b).astype(np.int64))


def to_csr(block: Sparse, plane: int = 0) -> sp.csr_array[Any, tuple[int, int]]:
    """Return one plane as a scipy matrix, of type bool for a Boolean block; linear, nothing is sorted.

    An entry that is zero in this plane and not in another is stored as a zero.
    """
    return csr(block, block.values[plane] if len(block.values) else np.ones(block.nnz, dtype=np.bool_))


def from_csr(matrix: sp.csr_array[Any, tuple[int, int]], modulus: Modulus = None) -> Sparse:
    """Return the block of a scipy matrix: Boolean if its type is bool, else one plane. The matrix is not changed."""
    rows = rows_of(matrix.indptr)
    columns, data = matrix.indices[: len(rows)], matrix.data[: len(rows)]
    if data.dtype == np.bool_:
        return from_coordinates(rows[data], columns[data], None, matrix.shape)
    return from_coordinates(rows, columns, data, matrix.shape, modulus)


def _multiply_residues(a: Sparse, b: Sparse, modulus: tuple[int, ...]) -> Sparse:
    """Multiply plane by plane, with ``prime`` in place of 0: no sum is 0, so that all planes have one structure."""
    primes = np.array(modulus, dtype=np.int64)[:, np.newaxis]
    left, right = (np.where(block.values == 0, primes, block.values) for block in (a, b))
    products = [csr(a, x) @ csr(b, y) for x, y in zip(left, right, strict=True)]
    values = np.stack([product.data for product in products])
    first = products[0]
    return from_coordinates(rows_of(first.indptr), first.indices, values, (a.shape[0], b.shape[1]), modulus)


def _split_rows(block: Sparse, limit: int) -> list[Sparse]:
    """Write the block as a sum of blocks with at most ``limit`` entries a row."""
    if _longest(block.rows) <= limit:
        return [block]
    part = (np.arange(block.nnz) - np.searchsorted(block.rows, block.rows)) // limit
    return [select(block, part == number) for number in range(int(part.max()) + 1)]


def _longest(lines: Ints) -> int:
    return int(np.bincount(lines).max(initial=0))


def _require_inner(a: Sparse, b: Sparse) -> None:
    if a.shape[1] != b.shape[0]:
        came = f"{a.shape} times {b.shape}"
        raise ShapeMismatchError("as many columns on the left as rows on the right", came, "Check the coordinates.")
