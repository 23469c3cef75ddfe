"""Building: the words of eight stripes at a time, in one sweep over what they reach.

Eight neighbouring stripes are 512 sources. Their words lie side by side, a cache line for each component
in reach. Components are taken in topological order from a queue, and each ORs its line into those
of its successors; so a component is looked at once for 512 sources, and nothing is stored before its
words are complete. Then they are read in the order of their numbers, and equal neighbours become entries.

Ranges of stripes are independent: threads build them side by side, and so can the tasks of a cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.compile import compiled, inner, lean_inner
from dyntc_spark.kernels.ids import Ids, Offsets, Words
from dyntc_spark.kernels.lanes.arrays import copy, room
from dyntc_spark.kernels.lanes.bit_queue import Queue, add, drain, new_queue
from dyntc_spark.kernels.lanes.stripes import (
    ENTRY_BYTES,
    NUMBER_BYTES,
    PLAIN,
    Stripes,
    plain_pairs,
    plain_size,
    write_plain,
)

#: Stripes that are built side by side: their words fill a cache line.
TOGETHER = 8

_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Plan(NamedTuple):
    """An acyclic graph, with a number for each component; edges lead to smaller indices."""

    offsets: Offsets
    targets: Ids
    numbers: Ids  #: of each index
    indices: Ids  #: of each number; -1 where it is free


class Sweep(NamedTuple):
    """What one sweep reaches: a line of words for each component, by its place."""

    place: Ids  #: by index of component: its place, -1 where it is not in reach
    reached: Ids  #: by place: the index
    lines: Words  #: by place: `TOGETHER` words; pages that are never written take no memory
    ahead: Queue  #: indices that are still to be taken, the highest first
    ascending: Queue  #: numbers in reach


def build(plan: Plan, width: int, begin: int, end: int, budget: int) -> tuple[Stripes, int]:
    """Build the stripes from ``begin`` to ``end``; return them, and how many words were looked at.

    When they do not fit ``budget`` bytes, that is -1, and those that are missing are empty.
    """
    count = len(plan.numbers)
    sweep = Sweep(
        np.full(count, -1, np.int32),
        np.empty(count, np.int32),
        np.empty((count, TOGETHER), np.uint64),
        new_queue(count),
        new_queue(len(plan.indices)),
    )
    return _build(plan, sweep, width, begin, end, budget)


@compiled
def _build(plan: Plan, sweep: Sweep, width: int, begin: int, end: int, budget: int) -> tuple[Stripes, int]:
    starts, lengths = np.zeros(end - begin, np.int64), np.zeros(end - begin, np.int32)
    places = np.zeros(end - begin, np.int64)
    numbers, words = np.empty(1024, np.int32), np.empty(1024, np.uint64)
    counts = np.empty(TOGETHER, np.int64)
    firsts, entry_words = np.empty(1024, np.int32), np.empty(1024, np.uint64)
    n_numbers = n_words = looked = np.int64(0)
    for block in range(begin, end, TOGETHER):
        if ENTRY_BYTES * n_words + NUMBER_BYTES * (n_numbers - n_words) > budget:
            looked = np.int64(-1)
            break
        stop = min(block + TOGETHER, end)
        first, last = block * width, min(stop * width, len(plan.indices))
        n_reached, n_edges = _sweep(plan, sweep, first, last, width)
        looked += n_reached + n_edges
        most = 2 * n_reached + 2  # entries of a stripe
        firsts, entry_words = (
            room(firsts, np.int64(0), TOGETHER * most),
            room(entry_words, np.int64(0), TOGETHER * most),
        )
        _entries(plan, sweep, first, last, width, n_reached, firsts, entry_words, counts, most)
        for k in range(stop - block):
            s, n = block - begin + k, counts[k]
            mine, my_words = firsts[k * most : (k + 1) * most], entry_words[k * most : (k + 1) * most]
            pairs = plain_pairs(firsts, entry_words, k * most, k * most, n, width)
            size = n if pairs < 0 else plain_size(pairs)
            numbers, words = room(numbers, n_numbers, size), room(words, n_words, size)
            starts[s], lengths[s], places[s] = n_numbers, size, n_words
            if pairs >= 0:
                places[s] = PLAIN
                write_plain(mine, my_words, n, width, numbers, n_numbers)
            else:
                copy(mine, np.int64(0), n, numbers, n_numbers)
                copy(my_words, np.int64(0), n, words, n_words)
                n_words += n
            n_numbers += size
    return Stripes(starts, lengths, places, numbers[:n_numbers], words[:n_words], width), looked


@lean_inner
def _sweep(plan: Plan, sweep: Sweep, first: int, last: int, width: int) -> tuple[int, int]:
    """Close the lanes from ``first`` up to ``last``: a line of words for each component that they reach.

    Return how many lines there are, and how many edges were followed.
    """
    offsets, targets, place, reached, lines = plan.offsets, plan.targets, sweep.place, sweep.reached, sweep.lines
    bits, upper, top = sweep.ahead
    highest = len(offsets) - 2  # the queue gives the least first, edges lead to smaller indices
    n = n_edges = 0
    for number in range(first, last):
        c = np.int64(plan.indices[number])
        if c < 0:
            continue
        place[c], reached[n] = n, c
        for k in range(TOGETHER):
            lines[n, k] = _ZERO
        lane = number - first
        lines[n, lane // width] = _ONE << np.uint64(lane % width)
        add(bits, upper, top, highest - c)
        n += 1
    for level in range(len(top)):
        while top[level]:
            high = (level << 6) + lowest(top[level])
            while upper[high]:
                middle = (high << 6) + lowest(upper[high])
                while bits[middle]:  # further bits may come while one is taken
                    c = highest - ((middle << 6) + lowest(bits[middle]))
                    bits[middle] &= bits[middle] - _ONE
                    n_edges += offsets[c + 1] - offsets[c]
                    n = _hand_on(offsets, targets, place, reached, lines, bits, upper, top, c, n)
                upper[high] &= upper[high] - _ONE
            top[level] &= top[level] - _ONE
    return n, n_edges


@lean_inner
def _hand_on(
    offsets: Offsets,
    targets: Ids,
    place: Ids,
    reached: Ids,
    lines: Words,
    bits: Words,
    upper: Words,
    top: Words,
    c: int,
    n: int,
) -> int:
    """OR the line of a component into those of its successors; return how many lines there are."""
    mine = np.int64(place[c])  # its words in registers: for all that LLVM knows, lines may overlap
    word0, word1, word2, word3 = lines[mine, 0], lines[mine, 1], lines[mine, 2], lines[mine, 3]
    word4, word5, word6, word7 = lines[mine, 4], lines[mine, 5], lines[mine, 6], lines[mine, 7]
    for at in range(offsets[c], offsets[c + 1]):
        d = np.int64(targets[at])
        line = np.int64(place[d])
        if line < 0:
            line = n
            place[d], reached[n] = n, d
            n += 1
            add(bits, upper, top, len(offsets) - 2 - d)
            lines[line, 0], lines[line, 1], lines[line, 2], lines[line, 3] = word0, word1, word2, word3
            lines[line, 4], lines[line, 5], lines[line, 6], lines[line, 7] = word4, word5, word6, word7
        else:
            lines[line, 0] |= word0
            lines[line, 1] |= word1
            lines[line, 2] |= word2
            lines[line, 3] |= word3
            lines[line, 4] |= word4
            lines[line, 5] |= word5
            lines[line, 6] |= word6
            lines[line, 7] |= word7
    return n


@inner
def _entries(  # noqa: C901  (for eight stripes at a time)
    plan: Plan,
    sweep: Sweep,
    first: int,
    last: int,
    width: int,
    n_reached: int,
    firsts: Ids,
    words: Words,
    counts: Offsets,
    most: int,
) -> None:
    """Make entries of the lines, those of stripe k from ``k * most`` on, and leave ``sweep`` clean."""
    place, reached, lines, indices = sweep.place, sweep.reached, sweep.lines, plan.indices
    bits, upper, top = sweep.ascending
    for number in range(first, last):  # own bits are not stored
        lane, c = number - first, indices[number]
        if c >= 0:
            lines[place[c], lane // width] &= ~(_ONE << np.uint64(lane % width))
    for k in range(n_reached):
        add(bits, upper, top, np.int64(plan.numbers[reached[k]]))
    drain(bits, upper, top, reached)
    now = np.zeros(TOGETHER, np.uint64)
    for k in range(TOGETHER):
        counts[k] = 0
    after = -1
    for at in range(n_reached):
        number = np.int64(reached[at])
        if number != after:
            _end(now, after, firsts, words, counts, most)
        after = number + 1
        c = indices[number]
        line = np.int64(place[c])
        place[c] = -1
        changed = _ZERO
        for k in range(TOGETHER):
            changed |= lines[line, k] ^ now[k]
        if not changed:
            continue
        different = _ZERO
        for k in range(TOGETHER):
            different |= np.uint64(lines[line, k] != now[k]) << np.uint64(k)
        while different:
            stripe = lowest(different)
            different &= different - _ONE
            now[stripe] = lines[line, stripe]
            to = stripe * most + counts[stripe]
            firsts[to], words[to] = number, now[stripe]
            counts[stripe] += 1
    _end(now, after, firsts, words, counts, most)


@lean_inner
def _end(now: Words, after: int, firsts: Ids, words: Words, counts: Offsets, most: int) -> None:
    """Let the words of all stripes be 0 from ``after`` on."""
    for k in range(TOGETHER):
        if now[k]:
            to = k * most + counts[k]
            firsts[to], words[to] = after, _ZERO
            counts[k] += 1
            now[k] = _ZERO
