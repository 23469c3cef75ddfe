"""Building: the words of eight stripes at a time, in one sweep over what they reach.

Eight neighbouring stripes are 512 sources. Their words lie side by side, a cache line for each component
in reach. Components are taken in topological order from a queue, and each ORs its line into those
of its successors; so a component is looked at once for 512 sources, and nothing is stored before its
words are complete. Then they are read in the order of their numbers, and equal neighbours become entries.

Ranges of stripes are independent: threads build them side by side, and so can the tasks of a cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.block import Words
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.lanes.stripes import (
    ENTRY_BYTES,
    NUMBER_BYTES,
    PLAIN,
    Stripes,
    plain_pairs,
    plain_size,
    write_plain,
)
from dyntc_spark.kernels.reach import Ids, Offsets

#: Stripes that are built side by side: their words fill a cache line.
TOGETHER = 8

_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Plan(NamedTuple):
    """An acyclic graph, with a number for each component; edges lead to smaller indices."""

    offsets: Offsets
    targets: Ids
    numbers: Ids  #: of each index
    indices: Ids  #: of each number; -1 where it is free


class Queue(NamedTuple):
    """A set of small integers that is taken in ascending order: bits, and two levels that say where these are."""

    bits: Words
    upper: Words
    top: Words


class Found(NamedTuple):
    """Entries of the stripes that are built together."""

    firsts: Ids
    words: Words
    counts: Offsets


@compiled
def new_queue(size: int) -> Queue:
    """Return an empty set of integers below ``size``."""
    return Queue(
        np.zeros((size >> 6) + 1, np.uint64),
        np.zeros((size >> 12) + 1, np.uint64),
        np.zeros((size >> 18) + 1, np.uint64),
    )


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


@compiled
def build(plan: Plan, width: int, begin: int, end: int, budget: int) -> tuple[Stripes, int]:
    """Build the stripes from ``begin`` to ``end``; return them, and how many words were looked at.

    When they do not fit ``budget`` bytes, that is -1, and those that are missing are empty.
    """
    count, end_number = len(plan.numbers), len(plan.indices)
    stripes = Stripes(
        np.zeros(end - begin, np.int64),
        np.zeros(end - begin, np.int32),
        np.zeros(end - begin, np.int64),
        np.empty(1024, np.int32),
        np.empty(1024, np.uint64),
        width,
    )
    numbers, words = stripes.numbers, stripes.words
    place = np.full(count, -1, np.int32)
    lines = np.empty((1024, TOGETHER), np.uint64)
    reached = np.empty(count, np.int32)
    ahead, ascending = new_queue(count), new_queue(end_number)
    found = _new_found(1024)
    n_numbers = n_words = 0
    looked = 0
    for block in range(begin, end, TOGETHER):
        if ENTRY_BYTES * n_words + NUMBER_BYTES * (n_numbers - n_words) > budget:
            looked = -1
            break
        stop = min(block + TOGETHER, end)
        lanes = (block * width, min(stop * width, end_number), width)
        lines, n_reached, n_edges = _sweep(plan, lanes, place, lines, ahead, reached)
        looked += n_reached + n_edges
        if found.firsts.shape[1] < 2 * n_reached + 2:
            found = _new_found(4 * n_reached + 2)
        _entries(plan, lanes, reached[:n_reached], place, lines, ascending, found)
        for k in range(stop - block):
            s, n = block - begin + k, found.counts[k]
            firsts, entry_words = found.firsts[k], found.words[k]
            pairs = plain_pairs(firsts, entry_words, n, width)
            size = n if pairs < 0 else plain_size(pairs, width)
            if n_numbers + size > len(numbers):
                numbers = _longer(numbers, n_numbers, n_numbers + size)
            if n_words + size > len(words):
                words = _longer(words, n_words, n_words + size)
            stripes.starts[s], stripes.lengths[s], stripes.places[s] = n_numbers, size, n_words
            if pairs >= 0:
                stripes.places[s] = PLAIN
                write_plain(firsts, entry_words, n, width, numbers, n_numbers)
            else:
                numbers[n_numbers : n_numbers + n] = firsts[:n]
                words[n_words : n_words + n] = entry_words[:n]
                n_words += n
            n_numbers += size
    return Stripes(
        stripes.starts, stripes.lengths, stripes.places, numbers[:n_numbers].copy(), words[:n_words].copy(), width
    ), looked


@compiled
def _sweep(  # noqa: C901  (the sources, then what they reach)
    plan: Plan, lanes: tuple[int, int, int], place: Ids, lines: Words, ahead: Queue, reached: Ids
) -> tuple[Words, int, int]:
    """Close ``lanes``, from the first up to the last, so many to a stripe: a line of words for what they reach.

    Return the lines, how many there are, and how many edges were followed.
    """
    first, last, width = lanes
    offsets, targets = plan.offsets, plan.targets
    highest = len(offsets) - 2  # the queue takes the least first, edges lead to smaller indices
    n = n_edges = 0
    for number in range(first, last):
        c = plan.indices[number]
        if c < 0:
            continue
        if n == len(lines):
            lines = _longer_lines(lines)
        place[c], reached[n] = n, c
        for k in range(TOGETHER):
            lines[n, k] = _ZERO
        lane = number - first
        lines[n, lane // width] = _ONE << np.uint64(lane % width)
        add(ahead, highest - c)
        n += 1
    level = 0
    while True:
        taken, level = take(ahead, level)
        if taken < 0:
            return lines, n, n_edges
        c = highest - taken
        mine = place[c]
        n_edges += offsets[c + 1] - offsets[c]
        for at in range(offsets[c], offsets[c + 1]):
            d = targets[at]
            theirs = place[d]
            if theirs < 0:
                if n == len(lines):
                    lines = _longer_lines(lines)
                place[d], reached[n] = n, d
                for k in range(TOGETHER):
                    lines[n, k] = lines[mine, k]
                add(ahead, highest - d)
                n += 1
            else:
                for k in range(TOGETHER):
                    lines[theirs, k] |= lines[mine, k]


@compiled
def _entries(  # noqa: C901  (for eight stripes at a time)
    plan: Plan, lanes: tuple[int, int, int], reached: Ids, place: Ids, lines: Words, ascending: Queue, found: Found
) -> None:
    """Make entries of the lines of components that were reached, and leave ``place`` clean."""
    first, last, width = lanes
    for number in range(first, last):  # own bits are not stored
        lane, c = number - first, plan.indices[number]
        if c >= 0:
            lines[place[c], lane // width] &= ~(_ONE << np.uint64(lane % width))
    for c in reached:
        add(ascending, plan.numbers[c])
    words = np.zeros(TOGETHER, np.uint64)
    found.counts[:] = 0
    before, level = -1, 0
    while True:
        number, level = take(ascending, level)
        if number != before + 1:
            for k in range(TOGETHER):
                if words[k]:
                    _append(found, k, before + 1, _ZERO)
                    words[k] = _ZERO
        if number < 0:
            break
        before = number
        line = place[plan.indices[number]]
        for k in range(TOGETHER):
            if lines[line, k] != words[k]:
                words[k] = lines[line, k]
                _append(found, k, number, words[k])
    for c in reached:
        place[c] = -1


@compiled
def _append(found: Found, k: int, number: int, word: np.uint64) -> None:
    n = found.counts[k]
    found.firsts[k, n], found.words[k, n] = number, word
    found.counts[k] = n + 1


@compiled
def _new_found(size: int) -> Found:
    return Found(
        np.empty((TOGETHER, size), np.int32), np.empty((TOGETHER, size), np.uint64), np.zeros(TOGETHER, np.int64)
    )


@compiled
def _longer_lines(lines: Words) -> Words:
    longer = np.empty((2 * len(lines), TOGETHER), np.uint64)
    longer[: len(lines)] = lines
    return longer


@compiled
def _longer(array: npt.NDArray[Any], used: int, least: int) -> npt.NDArray[Any]:
    longer = np.empty(max(least, 2 * len(array)), array.dtype)
    longer[:used] = array[:used]
    return longer
