"""Stripes as they are kept: entries of equal words, or lists of plain numbers, in one pool.

An *entry* is a number and a word: the word holds from this number on, up to the next entry of the stripe. Numbers
before the first entry have the word 0, and the last entry of a stripe that is not empty has the word 0. Twelve bytes
an entry, gaps included. Where that is more than the pairs would take as numbers, a stripe is *plain*:
where the list of each lane ends, and then the lists, ascending; four bytes a pair.

The bit of a component in its own stripe is never stored (see the package's header).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest, popcount
from dyntc_spark.kernels.block import Words
from dyntc_spark.kernels.compile import compiled, lean, lean_inner
from dyntc_spark.kernels.lanes.arrays import copy
from dyntc_spark.kernels.lanes.bit_queue import Queue, add, drain, new_queue
from dyntc_spark.kernels.reach import Ids, Offsets

#: Lanes of a stripe: the bits of a word.
LANES = 64
ENTRY_BYTES, NUMBER_BYTES = 12, 4
#: ``Stripes.places`` of a stripe that keeps plain numbers.
PLAIN = -1
#: ``Stripes.lengths`` of a stripe that is somewhere else; its place is 0. Whoever asks finds it empty.
ABSENT = -1

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_PART = 64  # entries whose pairs are counted without a question
_FEW = 8  # entries that are looked at one by one before a binary search


class Stripes(NamedTuple):
    """The stripes of one version of a closure; the pools may be shared with other versions."""

    starts: Offsets  #: where each stripe begins in ``numbers``
    lengths: Ids  #: how many numbers it has there, or `ABSENT`
    places: Offsets  #: where its words begin in ``words``; `PLAIN` for a stripe of plain numbers
    numbers: Ids  #: pool: the first number of each entry; of a plain stripe where lists end, and the lists
    words: Words  #: pool: the word of each entry
    width: int  #: lanes of a stripe


@lean
def bit_of(number: int, first: int, width: int) -> np.uint64:
    """Return the bit of a number in the stripe whose lanes begin with ``first``; 0 if it is in another stripe."""
    bit: np.uint64 = _ONE << np.uint64(number - first) if first <= number < first + width else _ZERO
    return bit


@lean
def position(numbers: Ids, start: int, length: int, number: int) -> int:
    """Return how many of the ascending ``numbers[start : start + length]`` are at most ``number``."""
    low, left, one = np.uint64(start), np.uint64(max(length, 0)), np.uint64(1)  # without a sign: see `arrays.copy`
    while left:
        half = left >> one
        if numbers[low + half] <= number:  # a branch: a processor that guesses loads ahead
            low += half + one
            left -= half + one
        else:
            left = half
    found: int = np.int64(low) - start
    return found


@lean
def word_at(stripes: Stripes, s: int, number: int) -> np.uint64:
    """Return the stored word of a number in a stripe: a binary search."""
    start, length, place = stripes.starts[s], np.int64(stripes.lengths[s]), stripes.places[s]
    if place >= 0:
        found = position(stripes.numbers, start, length, number)
        kept: np.uint64 = stripes.words[place + found - 1] if found else _ZERO
        return kept
    word: np.uint64 = _ZERO
    if length:
        for lane in range(stripes.width):
            if has_plain(stripes.numbers, stripes.width, start, lane, number):
                word |= _ONE << np.uint64(lane)
    return word


@lean
def has_plain(numbers: Ids, width: int, start: int, lane: int, number: int) -> bool:
    """Return whether the list of a lane, in the plain stripe that begins at ``start``, has a number."""
    heads = start + width
    begin = np.int64(numbers[start + lane - 1]) if lane else 0
    size = np.int64(numbers[start + lane]) - begin
    found = position(numbers, heads + begin, size, number)
    return found > 0 and numbers[heads + begin + found - 1] == number


@lean
def has_bit(stripes: Stripes, s: int, lane: int, number: int) -> bool:
    """Return whether a lane of a stripe reaches a number, which is not its own."""
    start, length, place = stripes.starts[s], np.int64(stripes.lengths[s]), stripes.places[s]
    if place < 0:
        return length > 0 and has_plain(stripes.numbers, stripes.width, start, lane, number)
    found = position(stripes.numbers, start, length, number)
    return found > 0 and (stripes.words[place + found - 1] >> np.uint64(lane)) & _ONE != _ZERO


class Spread(NamedTuple):
    """Scratch space in which the lists of a plain stripe become words."""

    words: Words  #: by number: 0 between two calls
    queue: Queue  #: numbers with a word; empty between two calls


def spread(size: int) -> Spread:
    """Return scratch space for numbers below ``size``; pages that are never written take no memory."""
    return Spread(np.zeros(size, np.uint64), new_queue(size))


@compiled
def entries(stripes: Stripes, s: int, scratch: Spread) -> tuple[Ids, Words]:
    """Return the entries of a stripe, whatever its form: as they are kept, or made of plain numbers."""
    start, length, place = stripes.starts[s], max(np.int64(stripes.lengths[s]), 0), stripes.places[s]
    if place >= 0 or length == 0:
        return stripes.numbers[start : start + length], stripes.words[place : place + length]
    numbers, firsts, words = np.empty(length, np.int32), np.empty(2 * length, np.int32), np.empty(2 * length, np.uint64)
    bits, upper, top = scratch.queue
    heads, lane = start + stripes.width, 0
    for k in range(length - stripes.width):
        while stripes.numbers[start + lane] <= k:
            lane += 1
        number = np.int64(stripes.numbers[heads + k])
        add(bits, upper, top, number)
        scratch.words[number] |= _ONE << np.uint64(lane)
    count = np.int64(0)
    for k in range(drain(bits, upper, top, numbers)):
        number = np.int64(numbers[k])
        count = put(firsts, words, count, number, scratch.words[number])
        count = put(firsts, words, count, number + 1, _ZERO)
        scratch.words[number] = _ZERO
    return firsts[:count], words[:count]


@lean
def put(firsts: Ids, words: Words, count: int, number: int, word: np.uint64) -> int:
    """Let ``word`` hold from ``number`` on, which is not before the last entry; return how many entries there are.

    Examples
    --------
    >>> firsts, words = np.zeros(4, np.int32), np.zeros(4, np.uint64)
    >>> count = 0
    >>> for number, word in ((3, 1), (4, 1), (7, 5), (7, 1), (9, 0)):
    ...     count = put(firsts, words, count, number, np.uint64(word))
    >>> firsts[:count].tolist(), words[:count].tolist()
    ([3, 9], [1, 0])
    """
    if count and firsts[count - 1] == number:
        count -= 1
    if word == (words[count - 1] if count else _ZERO):
        return count
    firsts[count], words[count] = number, word
    return count + 1


@lean
def revised(firsts: Ids, words: Words, numbers: Ids, values: Words, clear: np.uint64, to: Ids, to_words: Words) -> int:
    """Write entries in which ``numbers`` (ascending) have ``values`` and no word a bit of ``clear``; return how many.

    Needs room for two entries more for each of ``numbers``. What lies between these is copied as it is.
    """
    made = done = np.int64(0)
    word, count = _ZERO, len(firsts)
    for k in range(len(numbers)):
        number = np.int64(numbers[k])
        upto = done
        while upto < count and upto < done + _FEW and firsts[upto] <= number:
            upto += 1
        if upto == done + _FEW:
            upto += position(firsts, upto, count - upto, number)
        if upto > done:
            made = _copy(firsts, words, done, upto, clear, to, to_words, made)
            done, word = upto, words[upto - 1] & ~clear
        made = put(to, to_words, made, number, values[k])
        made = put(to, to_words, made, number + 1, word)
    return _copy(firsts, words, done, count, clear, to, to_words, made)


@lean_inner
def _copy(
    firsts: Ids, words: Words, begin: int, end: int, clear: np.uint64, to: Ids, to_words: Words, made: int
) -> int:
    """Append the entries from ``begin`` to ``end``; return how many there are then."""
    if clear:
        for k in range(begin, end):
            made = put(to, to_words, made, np.int64(firsts[k]), words[k] & ~clear)
        return made
    if begin < end:  # the first may belong to the last entry that was made, the others cannot
        made = put(to, to_words, made, np.int64(firsts[begin]), words[begin])
        copy(firsts, begin + 1, end, to, made)
        copy(words, begin + 1, end, to_words, made)
        made += end - begin - 1
    return made


@lean
def pairs_upto(firsts: Ids, words: Words, at: int, word_at: int, count: int, most: int) -> int:
    """Return the number of pairs in the entries from ``at`` and ``word_at`` on, or some number above ``most``."""
    total, done = 0, 0
    while done < count - 1 and total <= most:
        stop = min(done + _PART, count - 1)
        begin, words_begin, one = np.uint64(at + done), np.uint64(word_at + done), np.uint64(1)  # see `arrays.copy`
        for k in range(np.uint64(stop - done)):
            total += np.int64(popcount(words[words_begin + k])) * (firsts[begin + k + one] - firsts[begin + k])
        done = stop
    return total


@lean
def plain_size(pairs: int, width: int) -> int:
    """Return how many numbers a plain stripe with so many pairs keeps."""
    return width + pairs if pairs else 0


@lean
def plain_pairs(firsts: Ids, words: Words, at: int, word_at: int, count: int, width: int) -> int:
    """Return how many pairs a stripe has that takes less room as plain numbers; -1 if it does not.

    Its entries are those from ``at`` and ``word_at`` on.
    """
    most = (ENTRY_BYTES * count - 1) // NUMBER_BYTES - width
    pairs = pairs_upto(firsts, words, at, word_at, count, most) if most >= 0 else 0
    return pairs if pairs <= most else -1


@compiled
def write_plain(firsts: Ids, words: Words, count: int, width: int, numbers: Ids, begin: int) -> None:
    """Write entries as a plain stripe into ``numbers``, from ``begin`` on."""
    ends = np.zeros(width + 1, np.int64)
    for k in range(count - 1):
        word = words[k]
        while word:
            ends[lowest(word) + 1] += firsts[k + 1] - firsts[k]
            word &= word - _ONE
    for lane in range(width):
        ends[lane + 1] += ends[lane]
        numbers[begin + lane] = ends[lane + 1]
    heads = begin + width
    for k in range(count - 1):
        word = words[k]
        while word:
            bit = lowest(word)
            word &= word - _ONE
            for number in range(firsts[k], firsts[k + 1]):
                numbers[heads + ends[bit]] = number
                ends[bit] += 1


@lean
def row(stripes: Stripes, s: int, lane: int, found: Ids) -> int:
    """Write the numbers that a lane reaches, its own left out, ascending; return how many.

    Linear in the entries of the stripe and in the row.
    """
    start, length, place = stripes.starts[s], np.int64(stripes.lengths[s]), stripes.places[s]
    count = 0
    if place < 0:
        if length:
            heads = start + stripes.width
            begin = np.int64(stripes.numbers[start + lane - 1]) if lane else 0
            count = int(stripes.numbers[start + lane]) - begin
            copy(stripes.numbers, heads + begin, heads + begin + count, found, np.int64(0))
        return count
    bit = _ONE << np.uint64(lane)
    for k in range(length - 1):
        if stripes.words[place + k] & bit:
            for number in range(stripes.numbers[start + k], stripes.numbers[start + k + 1]):
                found[count] = number
                count += 1
    return count


@compiled
def compacted(stripes: Stripes, numbers: Ids, words: Words) -> Stripes:
    """Copy the stripes to the beginning of other pools, without what no stripe uses."""
    starts, places = np.empty_like(stripes.starts), np.empty_like(stripes.places)
    end = word_end = np.int64(0)
    for s in range(len(starts)):
        begin, length, place = stripes.starts[s], max(np.int64(stripes.lengths[s]), 0), stripes.places[s]
        starts[s], places[s] = end, place
        copy(stripes.numbers, begin, begin + length, numbers, end)
        end += length
        if place >= 0:
            places[s] = word_end
            copy(stripes.words, place, place + length, words, word_end)
            word_end += length
    return Stripes(starts, stripes.lengths.copy(), places, numbers, words, stripes.width)


@compiled
def sizes(stripes: Stripes) -> tuple[int, int]:
    """Return how many numbers and how many words the stripes have; those that are absent count nothing."""
    numbers = words = 0
    for s in range(len(stripes.starts)):
        length = max(np.int64(stripes.lengths[s]), 0)
        numbers += length
        if stripes.places[s] >= 0:
            words += length
    return numbers, words
