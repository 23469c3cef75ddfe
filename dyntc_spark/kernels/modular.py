"""Matrices over the field of integers modulo a prime ``p``, exact on float64 BLAS.

A residue matrix is an int32 array with entries in ``[0, p)``. Its centred form
is the float64 array of the same residues in ``(-p/2, p/2]``. A product of two
centred residues is at most ``(p/2)**2`` in absolute value, and float64 holds
every integer up to ``2**53``, so a sum of

    (2**53 - 2**32) / (p/2)**2   products        (512 for a prime of 23 bits)

is exact in any order in which BLAS adds them; ``2**32`` is left for the int32 that
the sum is added to and for the reduction. A product of matrices is therefore
cut into slabs of that many inner indices, and the pass over memory that adds a
slab's result reduces it too. A modulus is at most ``2**26``: below that bound a
product of two residues that are not centred is exact as well.

Wherever residues come in, int32 and int64 arrays of any strides are taken and
their range is checked; int32 in ``[0, p)`` comes out. That ``p`` is prime is
the caller's promise, and only inverses need it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.errors import EntryValueError, ShapeMismatchError
from dyntc_spark.kernels.compile import compiled

Integers: TypeAlias = npt.NDArray[np.signedinteger[Any]]
Residues: TypeAlias = npt.NDArray[np.int32]
Centred: TypeAlias = npt.NDArray[np.float64]
Sign: TypeAlias = Literal[1, -1]

LARGEST_MODULUS = 2**26
SLAB = 512  # inner indices of a slab, at most: a slab of 4096 columns is 16 MiB
TILE = (1024, 4096)  # rows and columns of the result of one BLAS call, at most: 32 MiB
FEW = 3  # rows, columns or inner indices, at most, for which plain loops beat conversion and BLAS


def centred(a: Integers, p: int) -> Centred:
    """Return the residues of ``a`` as float64 in ``(-p/2, p/2]``.

    ``product`` and ``rank_update`` take their factors in this form too, so that
    a block which enters many products is converted once.

    Examples
    --------
    >>> centred(np.array([[0, 1, 3, 4, 6]]), 7)
    array([[ 0.,  1.,  3., -3., -1.]])
    """
    check_entries(p, a)
    return _centred(a, p)


def add(a: Integers, b: Integers, p: int) -> Residues:
    """Return ``a + b`` modulo ``p``, entry by entry.

    Examples
    --------
    >>> add(np.array([1, 6]), np.array([2, 3]), 7)
    array([3, 2], dtype=int32)
    """
    return _plus_multiple(a, 1, b, p)


def subtract(a: Integers, b: Integers, p: int) -> Residues:
    """Return ``a - b`` modulo ``p``, entry by entry."""
    return _plus_multiple(a, -1, b, p)


def product(a: Integers | Centred, b: Integers | Centred, p: int) -> Residues:
    """Return the matrix product ``a @ b`` modulo ``p``.

    A factor is a residue matrix or what ``centred`` made of it. The cost is that
    of the float64 product and, for every slab of inner indices, one pass over the
    result; a product with few rows or few columns reads its large factor once.

    Examples
    --------
    >>> product(np.array([[1, 2], [3, 4]]), np.array([[5], [6]]), 7)
    array([[3],
           [4]], dtype=int32)
    """
    _check_product(a, b)
    out = np.zeros((a.shape[0], b.shape[1]), np.int32)
    rank_update(out, a, b, p)
    return out


def rank_update(m: Residues, u: Integers | Centred, v: Integers | Centred, p: int, sign: Sign = 1) -> None:
    """Add ``sign * (u @ v)`` modulo ``p`` to the int32 matrix ``m``, in place.

    ``u`` and ``v`` are residue matrices or what ``centred`` made of them, so a
    block product that runs over many inner blocks is a sequence of updates of
    one ``m``. Reducing makes the pass that adds a result about half as long again,
    so it is not put off, and ``m`` always holds residues. An update of rank ``k``
    costs ``k`` passes over ``m`` while ``k`` is at most ``FEW``, and beyond that
    the float64 product and one pass a slab.
    ``m`` must not share memory with ``u`` or ``v``.

    Examples
    --------
    >>> m = np.ones((2, 2), np.int32)
    >>> rank_update(m, np.array([[1], [3]]), np.array([[1, 2]]), 7, sign=-1)
    >>> m
    array([[0, 6],
           [5, 2]], dtype=int32)
    """
    _check_product(u, v)
    if m.dtype != np.int32:
        raise EntryValueError("an int32 matrix to update in place", f"{m.dtype}", "Convert it with astype(np.int32).")
    shape = (u.shape[0], v.shape[1])
    if m.shape != shape:
        raise ShapeMismatchError(f"a matrix of shape {shape} to update", f"{m.shape}", "Check the factors.")
    integers = tuple(factor for factor in (u, v) if factor.dtype != np.float64)
    check_entries(p, *integers)
    if u.shape[1] <= FEW:
        for k in range(u.shape[1]):
            _add_outer(m, u[:, k], v[k], sign, p)
    elif min(m.shape) <= FEW and len(integers) == 2:
        _add_tile(m, 0, 0, _thin_product(u, v, p), sign, p)
    else:
        _add_slabs(m, u, v, p, sign)


def check_entries(p: int, *matrices: npt.NDArray[Any]) -> None:
    """Refuse a modulus that is too large, and matrices that are no residues."""
    if not 2 <= p <= LARGEST_MODULUS:
        raise EntryValueError(f"a modulus from 2 to {LARGEST_MODULUS}", f"{p}", "Use several smaller primes.")
    for a in matrices:
        if a.dtype not in {np.dtype(np.int32), np.dtype(np.int64)}:
            raise EntryValueError("residues as int32 or int64", f"{a.dtype}", "Convert them with astype(np.int32).")
        unsigned = a.view(f"u{a.itemsize}")  # a negative entry becomes a huge one
        if a.size and unsigned.max() >= p:
            came = f"{a.flat[unsigned.argmax()]}"
            raise EntryValueError(f"residues from 0 to {p - 1}", came, "Reduce the entries with np.mod.")


def _check_product(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> None:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        remedy = "Columns of the first must be rows of the second."
        raise ShapeMismatchError("two matrices that can be multiplied", f"shapes {a.shape} and {b.shape}", remedy)


def _plus_multiple(a: Integers, factor: int, b: Integers, p: int) -> Residues:
    if a.shape != b.shape:
        raise ShapeMismatchError("two arrays of one shape", f"shapes {a.shape} and {b.shape}", "Cut or pad one.")
    check_entries(p, a, b)
    out = np.array(a, np.int32, order="C")
    add_multiple(out.reshape(-1), float(factor % p), b.reshape(-1), p)
    return out


def _centred(a: Integers, p: int) -> Centred:
    out = np.empty(a.shape)
    _centre(a.reshape(-1), p, out.reshape(-1))
    return out


def _slab_length(p: int) -> int:
    return min(SLAB, (2**53 - 2**32) // (p // 2) ** 2)


def _add_slabs(m: Residues, u: npt.NDArray[Any], v: npt.NDArray[Any], p: int, sign: Sign) -> None:
    """Add the product to ``m`` slab by slab, each slab tile by tile."""
    (rows, columns), (height, width), length = m.shape, TILE, _slab_length(p)
    scratch = np.empty(min(height, rows) * min(width, columns))
    for k in range(0, u.shape[1], length):
        left, right = u[:, k : k + length], v[k : k + length]
        left, right = (slab if slab.dtype == np.float64 else _centred(slab, p) for slab in (left, right))
        for i in range(0, rows, height):
            for j in range(0, columns, width):
                shape = min(height, rows - i), min(width, columns - j)
                tile = scratch[: shape[0] * shape[1]].reshape(shape)
                np.matmul(left[i : i + height], right[:, j : j + width], out=tile)
                _add_tile(m, i, j, tile, sign, p)


def _thin_product(a: npt.NDArray[Any], b: npt.NDArray[Any], p: int) -> Centred:
    """Multiply by plain loops: for at most ``FEW`` rows of ``a``, or columns of ``b``."""
    out = np.zeros((a.shape[0], b.shape[1]), np.int64)
    length = 2**62 // p**2
    if a.shape[0] <= FEW:
        _row_products(np.ascontiguousarray(a), b, p, length, out)
    else:
        _column_products(a, np.ascontiguousarray(b.T), p, length, out)
    return out.astype(np.float64)


@compiled
def reduced(t: float, p: float, reciprocal: float) -> float:
    """Reduce an integer ``|t| <= 2**53 - 2 * p`` into ``[0, p)``.

    The quotient's rounding error is below ``2**53/p * 2**-52 = 2/p``, thus below
    1 for ``p > 2``, and none for ``p = 2``. So the floor is at most one off, its
    product with ``p`` is at most ``2**53``, and the subtraction is exact.
    """
    r: float = t - np.floor(t * reciprocal) * p
    if r < 0:
        r += p
    if r >= p:
        r -= p
    return r


@compiled
def _centre(a: Integers, p: int, out: Centred) -> None:
    half = p // 2
    for i in range(a.size):
        out[i] = a[i] - p if a[i] > half else a[i]


@compiled
def add_multiple(target: npt.NDArray[Any], factor: float, source: npt.NDArray[Any], p: int) -> None:
    """Add ``factor * source`` to ``target``, entry by entry, and reduce: the loop on which all products rest."""
    modulus, reciprocal = float(p), 1.0 / p
    for i in range(source.size):
        target[i] = reduced(target[i] + factor * source[i], modulus, reciprocal)


@compiled
def powers(x: npt.NDArray[Any], exponent: int, p: int, out: npt.NDArray[Any]) -> None:
    """Write a power of each residue to ``out``."""
    modulus, reciprocal = float(p), 1.0 / p
    for i in range(x.size):
        result, square, bits = 1.0, float(x[i]), exponent
        while bits:
            if bits & 1:
                result = reduced(result * square, modulus, reciprocal)
            square = reduced(square * square, modulus, reciprocal)
            bits >>= 1
        out[i] = result


@compiled
def _add_tile(m: Residues, top: int, left: int, tile: Centred, sign: int, p: int) -> None:
    """Add ``sign * tile`` to the part of ``m`` whose first row and column are given."""
    for i in range(tile.shape[0]):
        add_multiple(m[top + i][left : left + tile.shape[1]], float(sign), tile[i], p)


@compiled
def _add_outer(m: Residues, u: npt.NDArray[Any], v: npt.NDArray[Any], sign: int, p: int) -> None:
    """Add ``sign`` times the column ``u`` times the row ``v``."""
    for i in range(u.size):
        if u[i] != 0:
            add_multiple(m[i], float(sign * u[i]), v, p)


@compiled
def _row_products(a: Integers, b: Integers, p: int, length: int, out: npt.NDArray[np.int64]) -> None:
    """Multiply by reading ``b`` once, row after row; a sum of ``length`` products fits int64."""
    for k in range(b.shape[0]):
        source = b[k]
        for i in range(a.shape[0]):
            factor, target = np.int64(a[i, k]), out[i]
            for j in range(source.size):
                target[j] += factor * source[j]
        if k % length == length - 1:
            out %= p
    out %= p


@compiled
def _column_products(a: Integers, b: Integers, p: int, length: int, out: npt.NDArray[np.int64]) -> None:
    """Multiply by reading ``a`` once; ``b`` comes transposed."""
    for i in range(a.shape[0]):
        row = a[i]
        for j in range(b.shape[0]):
            column, total = b[j], np.int64(0)
            for start in range(0, row.size, length):
                left, right = row[start : start + length], column[start : start + length]
                for k in range(left.size):
                    total += np.int64(left[k]) * np.int64(right[k])
                total %= p
            out[i, j] = total
