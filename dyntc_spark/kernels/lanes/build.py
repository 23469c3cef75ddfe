"""Building: the words of eight stripes at a time, in one sweep over what they reach.

Eight neighbouring stripes are 512 sources. Their words lie side by side, a cache line for each component
in reach. Components are taken in topological order from a queue, and each ORs its line into those
of its successors; so a component is looked at once for 512 sources, and nothing is stored before its
words are complete. Then they are read in the order of their numbers, and equal neighbours become entries.
A component that nobody reaches has no line: its own bit is not stored, and it only sets that bit in the lines of its
successors.

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
from dyntc_spark.kernels.lanes.line import LINE, copy_line, differing, or_line, prefetch
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
TOGETHER = LINE
#: Numbers, and words, for which pools have room at first.
LEAST_ROOM = 1024
#: Lanes from one step of fetching what they need to the next.
AHEAD = 8

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_NOWHERE, _ROOT = -1, -2  # no places: a component that is not in reach, and one that no other component reaches


class Plan(NamedTuple):
    """An acyclic graph, with a number for each component; edges lead to smaller indices."""

    offsets: Offsets
    targets: Ids
    numbers: Ids  #: of each index
    indices: Ids  #: of each number; -1 where it is free


class Sweep(NamedTuple):
    """What one sweep reaches: a line of words for each component, by its place."""

    place: Ids  #: by index of component: its place, or `_NOWHERE` where it is not in reach, or `_ROOT`
    reached: Ids  #: numbers in reach
    lines: Words  #: by place: `TOGETHER` words, and one line more; pages that are never written take no memory
    ahead: Queue  #: indices that are still to be taken, the highest first
    ascending: Queue  #: numbers in reach


def new_sweep(plan: Plan) -> Sweep:
    """Return space for sweeps over a graph, one after the other."""
    count = len(plan.numbers)
    return Sweep(
        _places(plan.targets, count),
        np.empty(count, np.int32),
        np.empty((count + 1, TOGETHER), np.uint64),
        new_queue(count),
        new_queue(len(plan.indices)),
    )


@compiled
def _places(targets: Ids, count: int) -> Ids:
    """Return the places of components where nothing is in reach."""
    place = np.full(count, _ROOT, np.int32)
    for d in targets:
        place[d] = _NOWHERE
    return place


def build(plan: Plan, width: int, begin: int, end: int, budget: int, sweep: Sweep | None = None) -> tuple[Stripes, int]:
    """Build the stripes from ``begin`` to ``end``; return them, and how many words were looked at.

    When they do not fit ``budget`` bytes, that is -1, and those that are missing are empty. Who builds several times
    gives the same ``sweep`` each time: fresh memory is slow.
    """
    empty = no_stripes(end - begin, width, np.empty(LEAST_ROOM, np.int32), np.empty(LEAST_ROOM, np.uint64))
    blocks = np.arange(begin, end, TOGETHER)
    made, used, looked = build_into(plan, sweep or new_sweep(plan), empty, (0, 0), begin, blocks, budget)
    return made._replace(numbers=made.numbers[: used[0]], words=made.words[: used[1]]), looked


def no_stripes(count: int, width: int, numbers: Ids, words: Words) -> Stripes:
    """Return so many empty stripes, with pools for what is built."""
    starts, lengths, places = np.zeros(count, np.int64), np.zeros(count, np.int32), np.zeros(count, np.int64)
    return Stripes(starts, lengths, places, numbers, words, width)


@compiled
def build_into(
    plan: Plan, sweep: Sweep, held: Stripes, used: tuple[int, int], first_stripe: int, blocks: Offsets, budget: int
) -> tuple[Stripes, tuple[int, int], int]:
    """Build blocks of stripes as `build` does, among others, of whose pools so much is used already; return that, too.

    ``first_stripe``: the number of the first of ``held``. ``blocks``: the first stripe of each block; a block has
    `TOGETHER` stripes, or as many as there are. The pools that are returned may be longer ones.
    """
    starts, lengths, places, numbers, words, width = held
    end = first_stripe + len(starts)
    counts = np.empty(TOGETHER, np.int64)
    firsts, entry_words = np.empty(LEAST_ROOM, np.int32), np.empty(LEAST_ROOM, np.uint64)
    n_numbers, n_words, looked = np.int64(used[0]), np.int64(used[1]), np.int64(0)
    for block in blocks:
        if ENTRY_BYTES * n_words + NUMBER_BYTES * (n_numbers - n_words) > budget:
            looked = np.int64(-1)
            break
        stop = min(block + TOGETHER, end)
        first, last = block * width, min(stop * width, len(plan.indices))
        n_reached, n_edges = _sweep(plan, sweep, first, last, width)
        looked += n_reached + n_edges
        most = 2 * n_reached + 2  # entries of a stripe
        if len(firsts) < TOGETHER * most:
            firsts, entry_words = np.empty(2 * TOGETHER * most, np.int32), np.empty(2 * TOGETHER * most, np.uint64)
        most = len(firsts) // TOGETHER  # the same in many blocks: memory that was never written is slow
        _entries(plan, sweep, first, last, width, n_reached, firsts, entry_words, counts, most)
        for k in range(stop - block):
            s, n = block - first_stripe + k, counts[k]
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
    return Stripes(starts, lengths, places, numbers, words, width), (n_numbers, n_words), looked


@lean_inner
def _sweep(plan: Plan, sweep: Sweep, first: int, last: int, width: int) -> tuple[int, int]:
    """Close the lanes from ``first`` up to ``last``: a line of words for each component that they reach.

    Return how many lines there are, and how many edges were followed.
    """
    offsets, targets, place = plan.offsets, plan.targets, sweep.place
    bits, upper, top = sweep.ahead
    highest = len(offsets) - 2  # the queue gives the least first, edges lead to smaller indices
    n = n_edges = 0
    for number in range(first, last):
        if number + 2 * AHEAD < last:
            _call(plan, place, number)
        c = np.int64(plan.indices[number])
        if c >= 0:
            stripe, bit = (number - first) // width, _ONE << np.uint64((number - first) % width)
            if place[c] != _ROOT:
                n = _set_bit(plan, sweep, c, stripe, bit, n)
                continue
            n_edges += offsets[c + 1] - offsets[c]
            for at in range(offsets[c], offsets[c + 1]):
                n = _set_bit(plan, sweep, np.int64(targets[at]), stripe, bit, n)
    for level in range(len(top)):
        while top[level]:
            high = (level << 6) + lowest(top[level])
            while upper[high]:
                middle = (high << 6) + lowest(upper[high])
                while bits[middle]:  # further bits may come while one is taken
                    c = highest - ((middle << 6) + lowest(bits[middle]))
                    bits[middle] &= bits[middle] - _ONE
                    n_edges += offsets[c + 1] - offsets[c]
                    n = _hand_on(plan, sweep, c, n)
                upper[high] &= upper[high] - _ONE
            top[level] &= top[level] - _ONE
    return n, n_edges


@lean_inner
def _call(plan: Plan, place: Ids, number: int) -> None:
    """Let the processor bring near what lanes a little further on need: their components lie all over the graph."""
    later, next_one = np.int64(plan.indices[number + 2 * AHEAD]), np.int64(plan.indices[number + AHEAD])
    prefetch(plan.offsets, max(later, 0))
    prefetch(place, max(later, 0))
    prefetch(plan.targets, plan.offsets[max(next_one, 0)])


@lean_inner
def _set_bit(plan: Plan, sweep: Sweep, c: int, stripe: int, bit: np.uint64, n: int) -> int:
    """Set a bit in the line of a component, which may have none yet; return how many lines there are."""
    if sweep.place[c] == _NOWHERE:
        for k in range(TOGETHER):
            sweep.lines[n, k] = _ZERO
        n = _begin(plan, sweep, c, n)
    sweep.lines[sweep.place[c], stripe] |= bit
    return n


@lean_inner
def _begin(plan: Plan, sweep: Sweep, c: int, n: int) -> int:
    """Assign the next place to a component; return how many have one."""
    ahead, ascending = sweep.ahead, sweep.ascending
    sweep.place[c] = n
    prefetch(plan.offsets, c)
    add(ahead.bits, ahead.upper, ahead.top, len(plan.offsets) - 2 - c)
    add(ascending.bits, ascending.upper, ascending.top, np.int64(plan.numbers[c]))
    return n + 1


@lean_inner
def _hand_on(plan: Plan, sweep: Sweep, c: int, n: int) -> int:
    """OR the line of a component into those of its successors; return how many lines there are."""
    offsets, targets, place, lines = plan.offsets, plan.targets, sweep.place, sweep.lines
    mine = np.int64(place[c])
    for at in range(offsets[c], offsets[c + 1]):
        d = np.int64(targets[at])
        line = np.int64(place[d])
        if line == _NOWHERE:
            copy_line(lines, n, mine)
            n = _begin(plan, sweep, d, n)
        else:
            or_line(lines, line, mine)
    return n


@inner
def _entries(
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
    for number in range(first, last):  # own bits are not stored
        lane, c = number - first, np.int64(indices[number])
        if c >= 0 and place[c] != _ROOT:
            lines[place[c], lane // width] &= ~(_ONE << np.uint64(lane % width))
    drain(sweep.ascending.bits, sweep.ascending.upper, sweep.ascending.top, reached)
    now = len(lines) - 1  # the words of all stripes at some number
    for k in range(TOGETHER):
        lines[now, k] = _ZERO
        counts[k] = k * most
    after, live = -1, _ZERO  # live: the stripes whose word is not 0
    for at in range(n_reached):
        number = np.int64(reached[at])
        if number != after and live:
            _end(live, lines[now], after, firsts, words, counts)
            live = _ZERO
        after = number + 1
        c = np.int64(indices[number])
        line = np.int64(place[c])
        place[c] = _NOWHERE
        different: np.uint64 = differing(lines, line, now)
        live |= different
        while different:
            stripe = lowest(different)
            to, word = np.uint64(counts[stripe]), lines[line, stripe]
            lines[now, stripe] = word
            firsts[to], words[to] = number, word
            counts[stripe] += 1
            if not word:
                live &= ~(different & -different)
            different &= different - _ONE
    _end(live, lines[now], after, firsts, words, counts)
    for k in range(TOGETHER):
        counts[k] -= k * most


@lean_inner
def _end(live: np.uint64, now: Words, after: int, firsts: Ids, words: Words, counts: Offsets) -> None:
    """Let the words of some stripes be 0 from ``after`` on."""
    while live:
        stripe = lowest(live)
        to = np.uint64(counts[stripe])
        firsts[to], words[to] = after, _ZERO
        counts[stripe] += 1
        now[stripe] = _ZERO
        live &= live - _ONE
