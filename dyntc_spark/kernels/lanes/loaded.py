"""Stripes made of the runs that were stored of them: the other way than ``runs``, without a look at the graph.

Runs come batch by batch, ascending by their stripes, and within a stripe by their numbers. Nothing is taken on trust
that a kernel relies on: numbers are inside the graph and have members, runs of a stripe do not overlap, bits belong
to lanes that are in use, and exactly the components of several members have a run of their own. Each row is hashed
on the way (``kernels.row_hash``): by the checksum one can tell whether these are the rows that were written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import compiled, inner
from dyntc_spark.kernels.ids import Ids, Offsets, Words
from dyntc_spark.kernels.lanes.arrays import copy
from dyntc_spark.kernels.lanes.build import TOGETHER
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.runs import Runs
from dyntc_spark.kernels.lanes.stripes import PLAIN, Stripes, plain_pairs, plain_size, write_plain
from dyntc_spark.kernels.row_hash import SEED, hash_int, hash_long

_ZERO, _ONE = np.uint64(0), np.uint64(1)
#: What is known between two batches: the stripe at work, its entries, where it ends, and the numbers that it reaches;
#: numbers and words of the stripes before it; runs of a component's own; the most that a stripe of its block
#: reaches, and that of all blocks before.
_STRIPE, _COUNT, _END, _REACHED, _NUMBERS, _WORDS, _OWN, _MOST, _LOOKS = range(9)
#: What came of a batch.
FINE, UNSORTED, WRONG = range(3)


class Loaded(NamedTuple):
    """Stripes made of runs."""

    stripes: Stripes
    used: tuple[int, int]  #: numbers and words in the pools
    reached: int  #: numbers in reach, counted once for stripes that are built together; at least
    checksum: int  #: of the runs


class _Work(NamedTuple):
    stripes: Stripes
    sizes: Ids  #: members of each number
    filled: Ids  #: how many smaller numbers have members
    known: Offsets
    hashes: Words  #: the checksum so far


def loaded(batches: Iterable[Runs], rows: int, members: Members, width: int, count: int) -> Loaded | int:
    """Return the stripes of so many runs, ``count`` with empty ones; `UNSORTED` or `WRONG` where these are not such.

    Examples
    --------
    >>> def ids(*numbers): return np.array(numbers, np.int32)
    >>> runs = Runs(ids(0, 0, 0), ids(1, 4, 2), ids(3, 5, 2), np.array([1, 4, 4], np.uint64))
    >>> members = members_of(ids(0, 1, 2, 2, 3, 4, 5), 8)
    >>> found = loaded([runs], 3, members, 64, 1)
    >>> found.stripes.numbers[: found.used[0]].tolist(), found.used, found.reached
    ([1, 0, 64, 128, 194, 258], (6, 0), 5)
    >>> loaded([Runs(*(column[::-1] for column in runs))], 3, members, 64, 1) == UNSORTED
    True
    """
    filled = np.zeros(len(members.size) + 1, np.int32)
    np.cumsum(members.size > 0, out=filled[1:])
    # A run makes two entries at most, and an entry that is kept as plain keys at most three. Pages that are never
    # written take no memory.
    numbers, words = np.empty(6 * rows + 1, np.int32), np.empty(2 * rows + 1, np.uint64)
    empty = np.zeros(count, np.int64), np.zeros(count, np.int32), np.zeros(count, np.int64)
    known = np.zeros(9, np.int64)
    known[_STRIPE] = -1
    work = _Work(Stripes(*empty, numbers, words, width), members.size, filled, known, np.zeros(1, np.uint64))
    for batch in batches:
        found = _add(work, *batch)
        if found != FINE:
            return found
    _end(*work.stripes, known, count)
    if known[_OWN] != np.count_nonzero(members.size > 1):
        return WRONG
    used = int(known[_NUMBERS]), int(known[_WORDS])
    return Loaded(work.stripes, used, int(known[_LOOKS]), int(work.hashes.view(np.int64)[0]))


@compiled
def members_of(component: Ids, room: int) -> Members:
    """Return the members of components, by the number of the component of each vertex; arrays have this length.

    Examples
    --------
    >>> members_of(np.array([2, 0, 2], np.int32), 4).after.tolist()
    [2, 1, 0, 0]
    """
    made = Members(
        np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room, np.int32)
    )
    last = np.empty(room, np.int32)
    for v in range(len(component)):
        c = component[v]
        made.component[v] = c
        if made.size[c]:
            made.after[last[c]] = v
        else:
            made.first[c] = v
        made.after[v], last[c] = made.first[c], v
        made.size[c] += 1
    return made


@compiled
def _add(work: _Work, stripe: Ids, first: Ids, last: Ids, word: Words) -> int:  # noqa: C901, PLR0911, PLR0912
    """Put runs behind those that are there; return what came of it."""
    stripes, sizes, filled, known, hashes = work
    starts, lengths, places, numbers, words, width = stripes
    at, count, end, reached, own = known[_STRIPE], known[_COUNT], known[_END], known[_REACHED], known[_OWN]
    base, begin, used, seed, total = at * width, known[_NUMBERS], _ZERO, SEED, hashes[0]
    mine, my_words = numbers[begin:], words[known[_WORDS] :]
    if at >= 0:
        used, seed = _lanes(sizes, base, width), hash_int(at, SEED)
    for k in range(len(stripe)):
        s, low, high, bits = np.int64(stripe[k]), np.int64(first[k]), np.int64(last[k]), word[k]
        if s != at:
            if s < at:
                return UNSORTED
            if s >= len(starts):
                return WRONG
            known[_STRIPE], known[_COUNT], known[_REACHED] = at, count, reached
            _end(starts, lengths, places, numbers, words, width, known, s)
            at, base, count, end, reached = s, s * width, np.int64(0), np.int64(0), np.int64(0)
            used, seed = _lanes(sizes, base, width), hash_int(at, SEED)
            mine, my_words = numbers[known[_NUMBERS] :], words[known[_WORDS] :]
        total ^= hash_long(bits, hash_int(high, hash_int(low, seed)))
        if low < 0 or high < low or high >= len(sizes) or bits & ~used or not bits:
            return WRONG
        if low == high and base <= low < base + width and bits == _ONE << np.uint64(low - base):
            if sizes[low] < 2:
                return WRONG
            own += 1
            continue
        if low < end:
            return UNSORTED
        if filled[high + 1] - filled[low] != high - low + 1:
            return WRONG
        for c in range(max(low, base), min(high, base + width - 1) + 1):
            if bits & (_ONE << np.uint64(c - base)):
                return WRONG
        # As two calls of `stripes.put`, each of which takes longer than all of this.
        if count and low == end:
            count -= 2 if count > 1 and my_words[count - 2] == bits else 1
            low = np.int64(mine[count])
        mine[count], my_words[count] = low, bits
        reached, end = reached + high + 1 - first[k], high + 1
        mine[count + 1], my_words[count + 1] = end, _ZERO
        count += 2
    known[_STRIPE], known[_COUNT], known[_END], known[_REACHED], known[_OWN] = at, count, end, reached, own
    hashes[0] = total
    return FINE


@inner
def _lanes(sizes: Ids, base: int, width: int) -> np.uint64:
    """Return the bits of the lanes that are in use in a stripe."""
    found: np.uint64 = _ZERO
    for c in range(base, min(base + width, len(sizes))):
        if sizes[c]:
            found |= _ONE << np.uint64(c - base)
    return found


@compiled
def _end(
    starts: Offsets,
    lengths: Ids,
    places: Offsets,
    numbers: Ids,
    words: Words,
    width: int,
    known: Offsets,
    following: int,
) -> None:
    """Keep the stripe at work in the form that takes less room, and begin with the ``following`` one."""
    s, count, begin, word_begin = known[_STRIPE], known[_COUNT], known[_NUMBERS], known[_WORDS]
    if s >= 0:
        pairs = plain_pairs(numbers, words, begin, word_begin, count, width)
        size = count if pairs < 0 else plain_size(pairs)
        starts[s], lengths[s], places[s] = begin, size, word_begin
        if pairs < 0:
            known[_WORDS] += count
        else:
            places[s] = PLAIN
            firsts = np.empty(count, np.int32)
            copy(numbers, begin, begin + count, firsts, np.int64(0))
            write_plain(firsts, words[word_begin:], count, width, numbers, begin)
        known[_NUMBERS] += size
        known[_MOST] = max(known[_MOST], known[_REACHED])
    if s // TOGETHER != following // TOGETHER or following == len(starts):
        known[_LOOKS] += known[_MOST]
        known[_MOST] = 0
