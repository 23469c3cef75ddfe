"""Stripes as they are kept: entries of equal words, or plain keys of pairs, in one pool.

An *entry* is a number and a word: the word holds from this number on, up to the next entry of the stripe. Numbers
before the first entry have the word 0, and the last entry of a stripe that is not empty has the word 0. Twelve bytes
an entry, gaps included. Where that is more than the pairs would take as numbers, a stripe is *plain*: the first
number that it reaches, and then a key for each pair, ascending; four bytes a pair. A key is
``(number - first number) * width + lane``. So the pairs of a number lie together, in this form, too.

The bit of a component in its own stripe is never stored (see the package's header).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest, popcount
from dyntc_spark.kernels.compile import compiled, lean, lean_inner
from dyntc_spark.kernels.ids import Ids, Offsets, Words
from dyntc_spark.kernels.lanes.arrays import copy

#: Lanes of a stripe: the bits of a word.
LANES = 64
ENTRY_BYTES, NUMBER_BYTES = 12, 4
#: ``Stripes.places`` of a plain stripe.
PLAIN = -1
#: ``Stripes.lengths`` of a stripe that is somewhere else; its place is 0. Whoever asks finds it empty.
ABSENT = -1

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_PART = 64  # entries whose pairs are counted without a question
_FEW = 8  # entries that are looked at one by one before a binary search
_MOST_KEYS = 2**31  # keys are below this


class Stripes(NamedTuple):
    """The stripes of one version of a closure; the pools may be shared with other versions."""

    starts: Offsets  #: where each stripe begins in ``numbers``
    lengths: Ids  #: how many numbers it has there, or `ABSENT`
    places: Offsets  #: where its words begin in ``words``; `PLAIN` for a plain stripe
    numbers: Ids  #: pool: the first number of each entry; of a plain stripe its first number, and the keys
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
    word: np.uint64 = plain_word(stripes.numbers, stripes.width, start, length, number) if length else _ZERO
    return word


@lean
def is_outside(stripes: Stripes, s: int, number: int) -> bool:
    """Return whether a number is before the first or behind the last that a stripe reaches: two looks, no search."""
    start, length = stripes.starts[s], np.int64(stripes.lengths[s])
    if length <= 0:
        return True
    first, last = int(stripes.numbers[start]), int(stripes.numbers[start + length - 1])
    if stripes.places[s] >= 0:
        return not first <= number < last
    return number < first or last < (np.int64(number) - first) * stripes.width


@lean
def plain_word(numbers: Ids, width: int, start: int, length: int, number: int) -> np.uint64:
    """Return the word of a number in the plain stripe that begins at ``start``, and is not empty."""
    word: np.uint64 = _ZERO
    key = (np.int64(number) - numbers[start]) * width
    at, end = start + 1 + position(numbers, start + 1, length - 1, key - 1), start + length
    while at < end and numbers[at] < key + width:
        word |= _ONE << np.uint64(numbers[at] - key)
        at += 1
    return word


@lean
def has_plain(numbers: Ids, width: int, start: int, length: int, lane: int, number: int) -> bool:
    """Return whether a lane of the plain stripe that begins at ``start``, and is not empty, reaches a number."""
    key = (np.int64(number) - numbers[start]) * width + lane
    found = position(numbers, start + 1, length - 1, key)
    return found > 0 and int(numbers[start + found]) == key


@lean
def has_bit(stripes: Stripes, s: int, lane: int, number: int) -> bool:
    """Return whether a lane of a stripe reaches a number, which is not its own."""
    start, length, place = stripes.starts[s], np.int64(stripes.lengths[s]), stripes.places[s]
    if place < 0:
        return length > 0 and has_plain(stripes.numbers, stripes.width, start, length, lane, number)
    found = position(stripes.numbers, start, length, number)
    return found > 0 and (stripes.words[place + found - 1] >> np.uint64(lane)) & _ONE != _ZERO


@lean
def number_of(key: int, width: int) -> int:
    """Return the number of a key, less the first number of its stripe."""
    number: int = key >> 6 if width == LANES else key // width
    return number


@compiled
def entries(stripes: Stripes, s: int) -> tuple[Ids, Words]:
    """Return the entries of a stripe, whatever its form: as they are kept, or made of the keys of a plain one."""
    start, length, place = stripes.starts[s], max(np.int64(stripes.lengths[s]), 0), stripes.places[s]
    if place >= 0 or length == 0:
        return stripes.numbers[start : start + length], stripes.words[place : place + length]
    firsts, words = np.empty(2 * length, np.int32), np.empty(2 * length, np.uint64)
    count = _unpacked(stripes.numbers, start, length, stripes.width, firsts, words)
    return firsts[:count], words[:count]


@lean_inner
def _unpacked(numbers: Ids, start: int, length: int, width: int, firsts: Ids, words: Words) -> int:
    """Write the entries of a plain stripe; return how many there are."""
    base, at, end, count = np.int64(numbers[start]), start + 1, start + length, 0
    while at < end:
        number, word = number_of(np.int64(numbers[at]), width), _ZERO
        while at < end and numbers[at] < (number + 1) * width:
            word |= _ONE << np.uint64(numbers[at] - number * width)
            at += 1
        count = put(firsts, words, count, base + number, word)
        count = put(firsts, words, count, base + number + 1, _ZERO)
    return count


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
def plain_size(pairs: int) -> int:
    """Return how many numbers a plain stripe with so many pairs keeps."""
    return pairs + 1 if pairs else 0


@lean
def plain_pairs(firsts: Ids, words: Words, at: int, word_at: int, count: int, width: int) -> int:
    """Return how many pairs a stripe has that takes less room as plain keys; -1 if it does not, or keys get too large.

    Its entries are those from ``at`` and ``word_at`` on.
    """
    if not count or (np.int64(firsts[at + count - 1]) - firsts[at]) * width > _MOST_KEYS:
        return -1
    most = (ENTRY_BYTES * count - 1) // NUMBER_BYTES - 1
    pairs = pairs_upto(firsts, words, at, word_at, count, most)
    return pairs if pairs <= most else -1


@lean
def write_plain(firsts: Ids, words: Words, count: int, width: int, numbers: Ids, begin: int) -> None:
    """Write entries as a plain stripe into ``numbers``, from ``begin`` on."""
    base, at = firsts[0], begin + 1
    numbers[begin] = base
    for k in range(count - 1):
        for number in range(firsts[k] - base, firsts[k + 1] - base):
            word = words[k]
            while word:
                numbers[at] = number * width + lowest(word)
                at += 1
                word &= word - _ONE


@lean
def has_keys(kept: Ids, first: int, last: int, width: int) -> bool:
    """Return whether numbers from ``first`` to ``last`` have keys in a plain stripe, as it is kept."""
    base = int(kept[0])
    return first >= base and (np.int64(last) + 1 - base) * width <= _MOST_KEYS


@lean
def revised_plain(kept: Ids, numbers: Ids, values: Words, width: int, to: Ids, begin: int) -> int:
    """Write a plain stripe in which ``numbers`` (ascending) have ``values``, from ``begin`` on; return how long it is.

    Needs room for ``width`` keys more for each of ``numbers``.
    """
    base, made, done, end = np.int64(kept[0]), begin + 1, np.int64(1), np.int64(len(kept))
    to[begin] = base
    for k in range(len(numbers)):
        key = (numbers[k] - base) * width
        upto = done + position(kept, done, end - done, key - 1)
        copy(kept, done, upto, to, made)
        made, done = made + upto - done, upto
        while done < end and kept[done] < key + width:
            done += 1
        word = values[k]
        while word:
            to[made] = key + lowest(word)
            made += 1
            word &= word - _ONE
    copy(kept, done, end, to, made)
    return plain_size(made + end - done - begin - 1)


@lean
def row(stripes: Stripes, s: int, lane: int, found: Ids) -> int:
    """Write the numbers that a lane reaches, its own left out, ascending; return how many.

    Linear in the entries of the stripe and in the row.
    """
    start, length, place = stripes.starts[s], np.int64(stripes.lengths[s]), stripes.places[s]
    count = 0
    if place < 0:
        for k in range(start + 1, start + length):
            number = number_of(np.int64(stripes.numbers[k]), stripes.width)
            if stripes.numbers[k] == number * stripes.width + lane:
                found[count] = stripes.numbers[start] + number
                count += 1
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
