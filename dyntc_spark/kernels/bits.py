"""Boolean matrices as packed words, over the semiring ({0, 1}, or, and).

An r by c matrix is ``words``, a uint64 array of shape (r, ceil(c / 64)): entry
(i, j) is ``(words[i, j // 64] >> (j % 64)) & 1``. Padding, the bits beyond the
last column, is 0 in every operand and in every result. The number of columns
is not stored, so functions that depend on it take it as an argument.

Costs are in word operations: each does 64 entries, and a vector instruction
does 4 or 8 of them.

References
----------
Arlazarov, Dinic, Kronrod and Faradzev, "On economical construction of the
transitive closure of a directed graph", Soviet Math. Dokl. 11 (1970): the
"Method of Four Russians" behind `product`.
Warren, "Hacker's Delight", 2nd ed. (2012), sections 5-1 (`popcount`) and 7-3
(the 64 by 64 step of `transpose`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.errors import IndexOutsideError, ShapeMismatchError
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Words

if TYPE_CHECKING:
    from dyntc_spark.kernels.block import Shape


LINE = 8  # words in a cache line, which is also the widest vector register

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_LOW_HALF = np.uint64(0x00000000FFFFFFFF)
_ODD1, _ODD2, _ODD4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES = np.uint64(0x0101010101010101)


def words_for(columns: int) -> int:
    """Return the number of words in a row of ``columns`` bits.

    >>> [words_for(columns) for columns in (0, 1, 64, 65)]
    [0, 1, 1, 2]
    """
    return (columns + 63) // 64


def zeros(rows: int, columns: int) -> Words:
    """Return the zero matrix of that shape."""
    return np.zeros((rows, words_for(columns)), np.uint64)


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``array`` as kernels read it: contiguous, aligned and read-only; copied only if not the first two.

    Numba compiles a function once for each kind of array it meets, and arrays
    over Arrow buffers are read-only while others are not. With one kind of
    operand there is one compilation, whatever mix of arrays comes.
    """
    view: npt.NDArray[Any] = np.require(array, requirements=["C", "A"]).view()
    view.flags.writeable = False
    return view


def fit(fits: bool, sizes: str, *arrays: npt.NDArray[Any]) -> None:
    """Raise ShapeMismatchError, which names the ``sizes`` that the operands should have, unless ``fits``."""
    if not fits:
        came = ", ".join(str(array.shape) for array in arrays)
        raise ShapeMismatchError(f"operands of sizes {sizes}", f"arrays of shapes {came}", "A word has 64 columns.")


def pack(entries: npt.NDArray[np.bool_]) -> Words:
    """Pack a Boolean array of shape (rows, columns). Cost: one pass over it.

    >>> pack(np.array([[True, False, True], [False, True, False]]))
    array([[5],
           [2]], dtype=uint64)
    """
    rows, columns = entries.shape
    padded = np.zeros((rows, 8 * words_for(columns)), np.uint8)
    padded[:, : (columns + 7) // 8] = np.packbits(entries, axis=1, bitorder="little")
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack(words: Words, columns: int) -> npt.NDArray[np.bool_]:
    """Return the Boolean array of shape (rows, ``columns``) that is packed in ``words``; the inverse of `pack`."""
    octets = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=columns, bitorder="little").view(np.bool_)


def from_coordinates(rows: npt.ArrayLike, columns: npt.ArrayLike, shape: Shape) -> Words:
    """Return the matrix of ``shape`` whose ones are at (``rows[e]``, ``columns[e]``); an entry may come repeatedly.

    >>> from_coordinates([0, 1, 0], [2, 1, 0], (2, 3))
    array([[5],
           [2]], dtype=uint64)
    """
    words = zeros(*shape)
    _set(words, *places(rows, columns, shape))
    return words


def coordinates(words: Words) -> tuple[Ids, Ids]:
    """Return the rows and columns of the ones, sorted by row and then by column.

    Cost: two passes over the words and one step for each one.

    >>> rows, columns = coordinates(np.array([[5], [2]], np.uint64))
    >>> rows.tolist(), columns.tolist()
    ([0, 0, 1], [0, 2, 1])
    """
    ones = count(words)
    rows, columns = np.empty(ones, np.int32), np.empty(ones, np.int32)
    _coordinates(frozen(words), rows, columns)
    return rows, columns


def difference(a: Words, b: Words) -> Words:
    """Return the matrix of the entries that are in ``a`` and not in ``b``."""
    fit(a.shape == b.shape, "m x n and m x n", a, b)
    result: Words = ~b
    result &= a
    return result


def count(words: Words) -> int:
    """Return the number of ones. Cost: one word operation a word.

    >>> count(np.array([[5], [2]], np.uint64))
    3
    """
    return int(_count(frozen(words)))


def transpose(words: Words, columns: int) -> Words:
    """Return the transpose: ``columns`` rows, with a bit for each row of ``words``.

    Cost: 6 rounds of exchanges in each 64 by 64 square, with about 3 word operations for each word.

    >>> transpose(np.array([[5], [2]], np.uint64), 3).ravel().tolist()
    [1, 2, 1]
    """
    result = zeros(columns, len(words))
    _transpose(frozen(words), result)
    return result


def take_rows(words: Words, ids: npt.ArrayLike) -> Words:
    """Return the matrix whose row e is row ``ids[e]`` of ``words``."""
    return np.take(words, _inside(ids, len(words), "row"), axis=0)


def take_columns(words: Words, columns: int, ids: npt.ArrayLike) -> Words:
    """Return the matrix whose column e is column ``ids[e]`` of ``words``, which has ``columns`` columns.

    Cost: one step for each bit of the result when few columns are taken; else two transpositions.

    >>> take_columns(np.array([[5], [2]], np.uint64), 3, [1, 0, 2, 1]).ravel().tolist()
    [6, 9]
    """
    chosen = _inside(ids, columns, "column")
    if 6 * len(chosen) > columns:  # measured: where the two ways take the same time
        return transpose(take_rows(transpose(words, columns), chosen), len(words))
    result = zeros(len(words), len(chosen))
    _take_columns(frozen(words), chosen, result)
    return result


def set_bits(words: Words, rows: npt.ArrayLike, columns: npt.ArrayLike) -> None:
    """Make the entries (``rows[e]``, ``columns[e]``) 1, in place; the caller keeps out of the padding."""
    _set(words, *places(rows, columns, _capacity(words)))


def clear_bits(words: Words, rows: npt.ArrayLike, columns: npt.ArrayLike) -> None:
    """Make the entries (``rows[e]``, ``columns[e]``) 0, in place."""
    _clear(words, *places(rows, columns, _capacity(words)))


def get_bits(words: Words, rows: npt.ArrayLike, columns: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return the entries (``rows[e]``, ``columns[e]``).

    >>> get_bits(np.array([[5], [2]], np.uint64), [0, 1], [2, 2])
    array([ True, False])
    """
    i, j = places(rows, columns, _capacity(words))
    result = np.empty(len(i), np.bool_)
    _get(frozen(words), i, j, result)
    return result


def _inside(ids: npt.ArrayLike, size: int, axis: str) -> Ids:
    """Return ``ids`` as a kernel reads them, once it is sure that they are numbers of the ``size`` rows or columns."""
    numbers = np.asarray(ids)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
        came = f"numbers from {numbers.min()} to {numbers.max()}"
        raise IndexOutsideError(f"{axis} numbers below {size}", came, "Count from 0 at the edge of the block.")
    return frozen(numbers.astype(np.int32, copy=False))


def _capacity(words: Words) -> Shape:
    return len(words), 64 * words.shape[1]


def places(rows: npt.ArrayLike, columns: npt.ArrayLike, shape: Shape) -> tuple[Ids, Ids]:
    """Return places as kernels read them; refuse those outside the shape."""
    i, j = _inside(rows, shape[0], "row"), _inside(columns, shape[1], "column")
    fit(i.shape == j.shape, "e and e", i, j)
    return i, j


# Below: the compiled loops. Their operands are `frozen`, and checked by the functions above.
# Constants are uint64 because in numba a uint64 and a signed literal do not make a uint64.


@compiled
def popcount(word: np.uint64) -> np.uint64:
    """Return the number of ones in a word; LLVM knows this form and emits the (vector) instruction for it."""
    word -= (word >> _ONE) & _ODD1
    word = (word & _ODD2) + ((word >> np.uint64(2)) & _ODD2)
    word = (word + (word >> np.uint64(4))) & _ODD4
    ones: np.uint64 = (word * _BYTES) >> np.uint64(56)
    return ones


@compiled
def lowest(word: np.uint64) -> np.int64:
    """Return the position of the lowest one of a word that is not 0."""
    position: np.int64 = np.int64(popcount(~word & (word - _ONE)))
    return position


@compiled
def _count(words: Words) -> np.uint64:
    total: np.uint64 = _ZERO
    for word in words.flat:
        total += popcount(word)
    return total


@compiled
def _set(words: Words, rows: Ids, columns: Ids) -> None:
    for e in range(len(rows)):
        words[rows[e], columns[e] // 64] |= _ONE << np.uint64(columns[e] % 64)


@compiled
def _clear(words: Words, rows: Ids, columns: Ids) -> None:
    for e in range(len(rows)):
        words[rows[e], columns[e] // 64] &= ~(_ONE << np.uint64(columns[e] % 64))


@compiled
def _get(words: Words, rows: Ids, columns: Ids, result: npt.NDArray[np.bool_]) -> None:
    for e in range(len(rows)):
        result[e] = (words[rows[e], columns[e] // 64] >> np.uint64(columns[e] % 64)) & _ONE


@compiled
def _coordinates(words: Words, rows: Ids, columns: Ids) -> None:
    entry = 0
    for i in range(words.shape[0]):
        for w in range(words.shape[1]):
            word = words[i, w]
            while word:
                rows[entry] = i
                columns[entry] = 64 * w + lowest(word)
                entry += 1
                word &= word - _ONE


@compiled
def _transpose(words: Words, result: Words) -> None:
    """Transpose squares of 64 by 64 bits, as many side by side as a cache line has words."""
    rows, width = words.shape
    squares = np.empty((64, LINE), np.uint64)
    for top in range(0, rows, 64):
        for left in range(0, width, LINE):
            height, span = min(64, rows - top), min(LINE, width - left)
            squares[:] = _ZERO
            squares[:height, :span] = words[top : top + height, left : left + span]
            _transpose_squares(squares)
            for s in range(span):
                first = 64 * (left + s)
                for r in range(min(64, result.shape[0] - first)):
                    result[first + r, top // 64] = squares[r, s]


@compiled
def _transpose_squares(squares: Words) -> None:
    """Exchange the two off-diagonal quarters of each square, then those of its quarters, and so on."""
    half, mask = 32, _LOW_HALF
    while half:
        shift = np.uint64(half)
        for r in range(64):
            if not r & half:
                for s in range(LINE):
                    swap = ((squares[r, s] >> shift) ^ squares[r + half, s]) & mask
                    squares[r, s] ^= swap << shift
                    squares[r + half, s] ^= swap
        half //= 2
        mask ^= mask << np.uint64(half)


@compiled
def _take_columns(words: Words, ids: Ids, result: Words) -> None:
    for i in range(words.shape[0]):
        for e in range(len(ids)):
            bit = (words[i, ids[e] // 64] >> np.uint64(ids[e] % 64)) & _ONE
            result[i, e // 64] |= bit << np.uint64(e % 64)
