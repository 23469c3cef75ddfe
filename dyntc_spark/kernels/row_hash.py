"""A checksum of rows of numbers that Spark works out in the same way: ``bit_xor(xxhash64(a, b, c))``.

The hash of a row goes from column to column (XXH64 of one number, with the hash so far as its seed; the first seed is
42); an array counts as its elements one after the other. The checksum is the exclusive or over all rows, so their
order says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.compile import compiled, inner
from dyntc_spark.kernels.ids import Ids, Offsets, Words

#: What the hash of a row begins with.
SEED = np.uint64(42)
_P1, _P2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
_P3, _P4, _P5 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)
_LOW = np.int64(0xFFFFFFFF)
_Number = TypeVar("_Number", bound=np.generic)
_WORD, _4, _8, _29, _32, _33 = (np.uint64(bits) for bits in (64, 4, 8, 29, 32, 33))


def row_hashes(columns: Sequence[npt.NDArray[np.int32 | np.int64]]) -> Words:
    """Return the hash of each row; the columns are integers of 4 or of 8 bytes.

    Examples
    --------
    >>> row_hashes([np.array([1], np.int32), np.array([2], np.int64)]).view(np.int64)
    array([2360248972619621018])
    """
    found = np.full(len(columns[0]), SEED)
    for column in map(frozen, columns):
        if column.dtype.itemsize == 8:
            _hash_longs(found, column.view(np.uint64))
        else:
            _hash_ints(found, cast("Ids", column))
    return found


def with_lists(hashes: Words, offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32]) -> Words:
    """Return the hashes of rows with a further column, of arrays: row k has ``items[offsets[k]:offsets[k + 1]]``."""
    found: Words = hashes.copy()
    _hash_lists(found, offsets, frozen(items))
    return found


def checksum(hashes: Words) -> int:
    """Return the checksum of rows as a signed number of 8 bytes.

    Examples
    --------
    >>> checksum(np.array([3, 5], np.uint64))
    6
    """
    return int(np.bitwise_xor.reduce(hashes).astype(np.uint64).view(np.int64))


def frozen(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return a read-only array, as Arrow gives them: a kernel is compiled for one kind only."""
    found: npt.NDArray[_Number] = np.ascontiguousarray(array).view()
    found.flags.writeable = False
    return found


@inner
def _rotated(x: np.uint64, bits: int) -> np.uint64:
    left = np.uint64(bits)
    turned: np.uint64 = (x << left) | (x >> (_WORD - left))
    return turned


@inner
def _mixed(x: np.uint64) -> np.uint64:
    x = (x ^ (x >> _33)) * _P2
    x = (x ^ (x >> _29)) * _P3
    x ^= x >> _32
    return x


@inner
def hash_int(value: int, seed: np.uint64) -> np.uint64:
    """Return the hash of a row so far, with a number of 4 bytes."""
    x = (seed + _P5 + _4) ^ (np.uint64(np.int64(value) & _LOW) * _P1)
    return _mixed(_rotated(x, 23) * _P2 + _P3)


@inner
def hash_long(value: np.uint64, seed: np.uint64) -> np.uint64:
    """Return the hash of a row so far, with a number of 8 bytes."""
    x = (seed + _P5 + _8) ^ (_rotated(value * _P2, 31) * _P1)
    return _mixed(_rotated(x, 27) * _P1 + _P4)


@compiled
def _hash_ints(hashes: Words, column: Ids) -> None:
    for row in range(len(hashes)):
        hashes[row] = hash_int(column[row], hashes[row])


@compiled
def _hash_longs(hashes: Words, column: Words) -> None:
    for row in range(len(hashes)):
        hashes[row] = hash_long(column[row], hashes[row])


@compiled
def _hash_lists(hashes: Words, offsets: Offsets, items: Ids) -> None:
    for row in range(len(hashes)):
        found = hashes[row]
        for place in range(offsets[row], offsets[row + 1]):
            found = hash_int(items[place], found)
        hashes[row] = found
