"""A set of small integers that is taken in ascending order, a few nanoseconds each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.compile import inner, lean
from dyntc_spark.kernels.ids import Ids, Words

_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Queue(NamedTuple):
    """A bit for each integer, and two levels that say where bits are."""

    bits: Words
    upper: Words
    top: Words


@inner
def new_queue(size: int) -> Queue:
    """Return an empty set of integers below ``size``."""
    return Queue(
        np.zeros((size >> 6) + 1, np.uint64),
        np.zeros((size >> 12) + 1, np.uint64),
        np.zeros((size >> 18) + 1, np.uint64),
    )


@lean
def add(bits: Words, upper: Words, top: Words, value: int) -> None:
    """Add an integer. Takes the arrays one by one: see `slots`."""
    bits[value >> 6] |= _ONE << np.uint64(value & 63)
    upper[value >> 12] |= _ONE << np.uint64((value >> 6) & 63)
    top[value >> 18] |= _ONE << np.uint64((value >> 12) & 63)


@lean
def drain(bits: Words, upper: Words, top: Words, found: Ids) -> int:
    """Remove all integers, and write them in ascending order; return how many there are.

    Examples
    --------
    >>> queue, found = new_queue(100), np.empty(3, np.int32)
    >>> for value in (70, 5, 69):
    ...     add(*queue, value)
    >>> drain(*queue, found), found
    (3, array([ 5, 69, 70], dtype=int32))
    """
    count = 0
    for k in range(len(top)):
        while top[k]:
            high = (k << 6) + lowest(top[k])
            top[k] &= top[k] - _ONE
            while upper[high]:
                middle = (high << 6) + lowest(upper[high])
                upper[high] &= upper[high] - _ONE
                word = bits[middle]
                bits[middle] = _ZERO
                while word:
                    found[count] = (middle << 6) + lowest(word)
                    word &= word - _ONE
                    count += 1
    return count
