"""Witness counts: products of 0/1 matrices over the integers, and their exact updates.

For packed matrices a (m by k) and b (k by n) the count at (x, z) is the number
of witnesses y with a[x, y] and b[y, z]; the Boolean product is where it is
positive. Counts are dense integer arrays and always exact: where an integer
type could not hold a result, the functions raise OverflowingCountError.

References
----------
Mula, Kurz and Lemire, "Faster population counts using AVX2 instructions",
Comput. J. 61 (2018): the carry-save adders behind `vector_product`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.errors import OverflowingCountError
from dyntc_spark.kernels.bits import fit, frozen, lowest, pack, popcount, transpose, words_for
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Words

if TYPE_CHECKING:
    from dyntc_spark.kernels.block import Ints

Counts = npt.NDArray[np.int64]


def smallest_dtype(bound: int) -> np.dtype[Any]:
    """Return the narrowest of int16, int32 and int64 that holds the numbers from -``bound`` to ``bound``.

    >>> [smallest_dtype(bound).name for bound in (32767, 32768, 2**40)]
    ['int16', 'int32', 'int64']
    """
    for kind in (np.int16, np.int32, np.int64):
        if bound <= np.iinfo(kind).max:
            return np.dtype(kind)
    raise OverflowingCountError("a bound below 2**63", str(bound), "Split the matrices, or count modulo a prime.")


def product(a: Words, b: Words, columns_of_b: int, dtype: npt.DTypeLike = np.int32) -> Ints:
    """Return counts of witnesses, an m by n array of ``dtype``, for ``a`` (m by k) and ``b`` (k by ``columns_of_b``).

    Cost: one transposition of ``b`` and m n k / 64 word operations.

    >>> product(np.array([[3], [1]], np.uint64), np.array([[1], [3]], np.uint64), 2).tolist()
    [[2, 1], [1, 0]]
    """
    fit(a.shape[1] == words_for(len(b)) and b.shape[1] == words_for(columns_of_b), "m x k and k x n", a, b)
    if len(b) > np.iinfo(np.dtype(dtype)).max:
        raise OverflowingCountError(f"a type that holds {len(b)}", np.dtype(dtype).name, "Use smallest_dtype(k).")
    result = np.empty((len(a), columns_of_b), dtype)
    _common(frozen(a), frozen(transpose(b, columns_of_b)), result)
    return result


def vector_product(x: Words, b: Words, columns: int) -> Counts:
    """Return the counts of `product` for an ``x`` of few rows, without transposing ``b``.

    Cost: for each row of ``x`` about 6 ``count(row)`` n / 64 word operations, and n log k steps at the end.

    >>> vector_product(np.array([[3]], np.uint64), np.array([[1], [3]], np.uint64), 2).tolist()
    [[2, 1]]
    """
    fit(x.shape[1] == words_for(len(b)) and b.shape[1] == words_for(columns), "m x k and k x n", x, b)
    result = np.zeros((len(x), columns), np.int64)
    _add_selected(frozen(x), frozen(b), result)
    return result


def matrix_vector(a: Words, x: Words) -> Counts:
    """Return ``a`` (m by k) times the r columns that are the packed rows of ``x`` (r by k), an m by r array.

    Cost: m r k / 64 word operations.

    >>> matrix_vector(np.array([[3], [1]], np.uint64), np.array([[2]], np.uint64)).tolist()
    [[1], [0]]
    """
    fit(a.shape[1] == x.shape[1], "m x k and r x k", a, x)
    result = np.empty((len(a), len(x)), np.int64)
    _common(frozen(a), frozen(x), result)
    return result


def positive(counts: Ints) -> Words:
    """Return the packed matrix of the places where ``counts`` is positive.

    >>> positive(np.array([[2, 0, 1]])).tolist()
    [[5]]
    """
    return pack(counts > 0)


def integer_product(a: Ints, b: Ints) -> Counts:
    """Return the exact product of two integer (or Boolean) matrices.

    No partial sum exceeds k max|a| max|b|. While that is below 2**24 or 2**53,
    floating-point BLAS computes with integers only and so without rounding;
    below 2**63, 64-bit integers do; beyond it the call raises
    OverflowingCountError. Cost: m n k multiplications, several times slower
    from 2**53 on.

    >>> integer_product(np.array([[2**40, 1]]), np.array([[2**20], [5]])).tolist()
    [[1152921504606846981]]
    """
    fit(a.shape[1] == len(b), "m x k and k x n", a, b)
    bound = len(b) * _largest(a) * _largest(b)
    if bound < 2**53:
        exact = np.float32 if bound < 2**24 else np.float64
        return (a.astype(exact) @ b.astype(exact)).astype(np.int64)
    if bound < 2**63:
        result = np.zeros((len(a), b.shape[1]), np.int64)
        _multiply(frozen(a.astype(np.int64)), frozen(b.astype(np.int64)), result)
        return result
    raise OverflowingCountError(
        "k * max|a| * max|b| below 2**63", str(bound), "Split the matrices, or count modulo a prime."
    )


def _largest(values: Ints) -> int:
    return max(int(values.max()), -int(values.min())) if values.size else 0


# Below: the compiled loops. Their operands are `frozen`, and checked by the functions above.


@compiled
def _common(a: Words, b: Words, result: Ints) -> None:
    """Count the ones that row i of ``a`` and row j of ``b`` share; 64 rows of ``b`` at a time stay in the cache."""
    for first in range(0, b.shape[0], 64):
        for i in range(a.shape[0]):
            for j in range(first, min(first + 64, b.shape[0])):
                total = np.uint64(0)
                for w in range(a.shape[1]):
                    total += popcount(a[i, w] & b[j, w])
                result[i, j] = total


@compiled
def _add_selected(x: Words, b: Words, result: Counts) -> None:
    """Add up the rows of ``b`` that a row of ``x`` selects in bit-sliced counters, one for each column.

    After t rows, ``sums[p]`` and, where t has the bit p, also ``spare[p]`` hold
    ones of weight 2**p. A new row pairs up with the spare of its weight if
    there is one, and their carry goes on to the next weight: the carries of t -> t + 1.
    """
    levels = 1
    while b.shape[0] >> levels - 1:
        levels += 1
    sums, spare = np.empty((levels, b.shape[1]), np.uint64), np.empty((levels, b.shape[1]), np.uint64)
    carry = np.empty(b.shape[1], np.uint64)
    for i in range(x.shape[0]):
        sums[:] = np.uint64(0)
        rows = 0
        for w in range(x.shape[1]):
            word = x[i, w]
            while word:
                carry[:] = b[64 * w + lowest(word)]
                word &= word - np.uint64(1)
                level = 0
                while rows >> level & 1:
                    _full_adder(sums[level], spare[level], carry)
                    level += 1
                spare[level] = carry
                rows += 1
        level = 0
        while rows >> level:
            _add_weighted(result[i], sums[level], level)
            if rows >> level & 1:
                _add_weighted(result[i], spare[level], level)
            level += 1


@compiled
def _full_adder(total: Words, spare: Words, carry: Words) -> None:
    """Add three rows of bits: the low bits of the sums go to ``total``, the high bits to ``carry``."""
    for w in range(len(carry)):
        odd = total[w] ^ spare[w]
        high = (total[w] & spare[w]) | (odd & carry[w])
        total[w] = odd ^ carry[w]
        carry[w] = high


@compiled
def _add_weighted(result: Counts, bits: Words, level: int) -> None:
    for w in range(len(bits)):
        for j in range(64 * w, min(64 * w + 64, len(result))):
            result[j] += np.int64((bits[w] >> np.uint64(j - 64 * w)) & np.uint64(1)) << level


@compiled
def _multiply(a: Counts, b: Counts, result: Counts) -> None:
    """Multiply with tiles of 64 by 512 numbers of ``b``, which stay in the cache for all rows of ``a``."""
    for top in range(0, b.shape[0], 64):
        for left in range(0, b.shape[1], 512):
            tile = b[top : top + 64, left : left + 512]
            for i in range(a.shape[0]):
                row = result[i, left : left + 512]
                for k in range(tile.shape[0]):
                    factor = a[i, top + k]
                    for j in range(len(row)):
                        row[j] += factor * tile[k, j]
