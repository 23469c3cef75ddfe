"""A set of small integers that is taken in ascending order, a few nanoseconds each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.block import Words
from dyntc_spark.kernels.compile import compiled

_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Queue(NamedTuple):
    """A bit for each integer, and two levels that say where bits are."""

    bits: Words
    upper: Words
    top: Words


def new_queue(size: int) -> Queue:
    """Return an empty set of integers below ``size``."""
    return Queue(*(np.zeros((size >> shift) + 1, np.uint64) for shift in (6, 12, 18)))


@compiled
def add(queue: Queue, value: int) -> None:
    """Add an integer."""
    queue.bits[value >> 6] |= _ONE << np.uint64(value & 63)
    queue.upper[value >> 12] |= _ONE << np.uint64((value >> 6) & 63)
    queue.top[value >> 18] |= _ONE << np.uint64((value >> 12) & 63)


@compiled
def take(queue: Queue, level: int) -> tuple[int, int]:
    """Remove the least integer; return it, or -1, and where to look next (``level``, 0 at first).

    Integers that are added between two calls must not be below the last one that was taken.
    """
    while level < len(queue.top):
        if queue.top[level] == _ZERO:
            level += 1
            continue
        high = (level << 6) + lowest(queue.top[level])
        if queue.upper[high] == _ZERO:
            queue.top[level] &= queue.top[level] - _ONE
            continue
        middle = (high << 6) + lowest(queue.upper[high])
        if queue.bits[middle] == _ZERO:
            queue.upper[high] &= queue.upper[high] - _ONE
            continue
        value = (middle << 6) + lowest(queue.bits[middle])
        queue.bits[middle] &= queue.bits[middle] - _ONE
        return value, level
    return -1, level
