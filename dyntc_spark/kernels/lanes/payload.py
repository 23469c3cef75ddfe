"""Blocks of stripes: consecutive stripes as one payload of bytes, and questions to the stripes of some blocks.

All little endian:

======  =====  ==============================================
offset  bytes  field
======  =====  ==============================================
0       4      magic, ``DTCL``
4       4      format version, 2
8       4      first stripe
12      4      stripes
16      8      numbers in all stripes
24      8      words in all stripes
32      4      lanes of a stripe
36      4      CRC-32 of the 36 bytes before it and the body
======  =====  ==============================================

The body has the words (8 bytes each), how many numbers each stripe has (4), the numbers (4), and for each stripe
a byte: 1 where it is plain. The stripes lie one behind the other, without gaps (`stripes` has what they mean).

Where some stripes are at hand and others are in other blocks, these are `ABSENT`. A stripe has the
same place in the arrays everywhere, so that every kernel works on any selection of stripes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.header import Header
from dyntc_spark.kernels.ids import Flags, Ids, Offsets
from dyntc_spark.kernels.lanes.arrays import copy
from dyntc_spark.kernels.lanes.stripes import (
    ABSENT,
    ENTRY_BYTES,
    NUMBER_BYTES,
    PLAIN,
    Stripes,
    entries,
    has_bit,
    pairs_upto,
    plain_pairs,
    plain_size,
    put,
    row,
    word_at,
    write_plain,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

HEADER = Header(b"DTCL", 2, struct.Struct("<4sIIIQQI"), "Read the block from another copy, or build the closure again.")
HEADER_SIZE = HEADER.size
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Block(NamedTuple):
    """Consecutive stripes, without gaps in their pools."""

    first: int
    stripes: Stripes

    @property
    def end(self) -> int:
        """The stripe after the last."""
        return self.first + len(self.stripes.starts)

    def encode(self) -> bytes:
        """Return the stored form.

        >>> row = np.array([1, 2], np.int32)
        >>> plain = Stripes(np.array([0]), row[1:], np.array([PLAIN]), row, np.zeros(0, np.uint64), 1)
        >>> Block.decode(Block(7, plain).encode()).first
        7
        """
        held = self.stripes
        fields = [self.first, len(held.starts), len(held.numbers), len(held.words), held.width]
        body = [
            np.ascontiguousarray(held.words, "<u8").view(np.uint8).data,
            np.ascontiguousarray(held.lengths, "<i4").view(np.uint8).data,
            np.ascontiguousarray(held.numbers, "<i4").view(np.uint8).data,
            (held.places == PLAIN).view(np.uint8).data,
        ]
        return HEADER.sealed(fields, *body)

    @classmethod
    def decode(cls, payload: Buffer) -> Block:
        """Return a copy of what was encoded, or refuse what is damaged."""
        view, (first, count, numbers, words, width) = HEADER.opened(payload, _body_size)
        at = HEADER_SIZE
        kept_words = np.frombuffer(view, "<u8", words, at).astype(np.uint64)
        lengths = np.frombuffer(view, "<i4", count, at + 8 * words).astype(np.int32)
        kept = np.frombuffer(view, "<i4", numbers, at + 8 * words + 4 * count).astype(np.int32)
        plain = np.frombuffer(view, np.uint8, count, view.nbytes - count) != 0
        in_words = np.where(plain, 0, lengths)
        filled = lengths.min(initial=0) >= 0 and lengths.sum(dtype=np.int64) == numbers
        HEADER.require(bool(filled and in_words.sum(dtype=np.int64) == words), "stripes that fill the block", "others")
        starts, places = _before(lengths), _before(in_words)
        places[plain] = PLAIN
        return cls(first, Stripes(starts, lengths, places, kept, kept_words, width))

    def cut(self, size: int) -> Iterator[Block]:
        """Cut into blocks of about ``size`` bytes; a stripe that is larger is a block of its own."""
        for begin, end in portions(np.cumsum(byte_sizes(self.stripes)), size):
            yield Block(self.first + begin, picked(self.stripes, np.arange(begin, end, dtype=np.int32)))

    def placed(self, total: int) -> Stripes:
        """Return the stripes in arrays for ``total`` of them, the others absent."""
        return overlaid(absent(total, self.stripes.width), np.arange(self.first, self.end), self.stripes)


def portions(ends: Offsets, most: int) -> Iterator[tuple[int, int]]:
    """Cut things that lie one behind the other, and end at ``ends``, into portions of at most ``most``, or of one.

    >>> list(portions(np.array([3, 5, 20, 22]), 6))
    [(0, 2), (2, 3), (3, 4)]
    """
    begin = 0
    while begin < len(ends):
        upto = (ends[begin - 1] if begin else 0) + most
        end = max(begin + 1, int(np.searchsorted(ends, upto, "right")))
        yield begin, end
        begin = end


def absent(total: int, width: int) -> Stripes:
    """Return so many stripes of which none is at hand."""
    starts, lengths = np.zeros(total, np.int64), np.full(total, ABSENT, np.int32)
    return Stripes(starts, lengths, np.zeros(total, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint64), width)


def overlaid(stripes: Stripes, which: Ids | Offsets, made: Stripes) -> Stripes:
    """Return the stripes with ``made`` in the places ``which``, in pools of their own."""
    starts, lengths, places = stripes.starts.copy(), stripes.lengths.copy(), stripes.places.copy()
    starts[which], lengths[which] = made.starts + len(stripes.numbers), made.lengths
    places[which] = np.where(made.places == PLAIN, PLAIN, made.places + len(stripes.words))
    numbers, words = np.append(stripes.numbers, made.numbers), np.append(stripes.words, made.words)
    return Stripes(starts, lengths, places, numbers, words, stripes.width)


def without(stripes: Stripes, which: Ids | Flags) -> Stripes:
    """Return the stripes without some, which are absent then; the pools stay as they are."""
    starts, lengths, places = stripes.starts.copy(), stripes.lengths.copy(), stripes.places.copy()
    starts[which], lengths[which], places[which] = 0, ABSENT, 0
    return stripes._replace(starts=starts, lengths=lengths, places=places)


def byte_sizes(stripes: Stripes) -> Offsets:
    """Return how many bytes each stripe takes; 0 for those that are absent."""
    each = np.where(stripes.places == PLAIN, NUMBER_BYTES, ENTRY_BYTES)
    sizes: Offsets = np.maximum(stripes.lengths, 0) * each.astype(np.int64)
    return sizes


def of_lists(offsets: Offsets, values: Ids, width: int) -> Stripes:
    """Return stripes in which each lane reaches a list of numbers.

    >>> held = of_lists(np.array([0, 2, 2, 3]), np.array([4, 7, 9], np.int32), width=2)
    >>> held.numbers.tolist(), held.lengths.tolist()
    ([4, 0, 6, 9, 0], [3, 2])
    """
    lanes = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((lanes, values, lanes // width))
    ends = np.searchsorted(lanes, np.arange(0, len(offsets) - 1 + width, width))
    return _of_pairs(ends, values[order], (lanes % width)[order], width)


@compiled
def _of_pairs(ends: Offsets, values: Ids, lanes: Offsets, width: int) -> Stripes:
    """Return stripes of pairs that are sorted by their numbers in each stripe."""
    count, most = len(ends) - 1, len(values)
    starts, lengths = np.zeros(count, np.int64), np.zeros(count, np.int32)
    places = np.zeros(count, np.int64)
    numbers, words = np.empty(2 * most, np.int32), np.empty(2 * most, np.uint64)
    firsts, entry_words = np.empty(2 * most, np.int32), np.empty(2 * most, np.uint64)
    n_numbers = n_words = np.int64(0)
    for s in range(count):
        n, k = np.int64(0), ends[s]
        while k < ends[s + 1]:
            number, word = np.int64(values[k]), _ZERO
            while k < ends[s + 1] and values[k] == number:
                word |= _ONE << np.uint64(lanes[k])
                k += 1
            n = put(firsts, entry_words, n, number, word)
            n = put(firsts, entry_words, n, number + 1, _ZERO)
        starts[s], places[s] = n_numbers, n_words
        lengths[s] = n
        pairs = plain_pairs(firsts, entry_words, np.int64(0), np.int64(0), n, width)
        if pairs >= 0:
            places[s], lengths[s] = PLAIN, plain_size(pairs)
            write_plain(firsts, entry_words, n, width, numbers, n_numbers)
        else:
            copy(firsts, np.int64(0), n, numbers, n_numbers)
            copy(entry_words, np.int64(0), n, words, n_words)
            n_words += n
        n_numbers += lengths[s]
    return Stripes(starts, lengths, places, numbers[:n_numbers], words[:n_words], width)


@compiled
def picked(stripes: Stripes, which: Ids) -> Stripes:
    """Return some of the stripes, one behind the other, without gaps; absent ones are empty."""
    count = len(which)
    starts, lengths = np.empty(count, np.int64), np.empty(count, np.int32)
    places = np.empty(count, np.int64)
    end = word_end = 0
    for k in range(count):
        s = which[k]
        length = max(stripes.lengths[s], 0)
        starts[k], lengths[k], places[k] = end, length, PLAIN
        end += length
        if stripes.places[s] >= 0:
            places[k] = word_end
            word_end += length
    numbers, words = np.empty(end, np.int32), np.empty(word_end, np.uint64)
    for k in range(count):
        begin, length, place = stripes.starts[which[k]], np.int64(lengths[k]), stripes.places[which[k]]
        numbers[starts[k] : starts[k] + length] = stripes.numbers[begin : begin + length]
        if place >= 0:
            words[places[k] : places[k] + length] = stripes.words[place : place + length]
    return Stripes(starts, lengths, places, numbers, words, stripes.width)


@compiled
def has_each(stripes: Stripes, rows: Ids, columns: Ids) -> Flags:
    """Return for each ``q`` whether component ``rows[q]`` reaches ``columns[q]``, another one."""
    found = np.empty(len(rows), np.bool_)
    for q in range(len(rows)):
        found[q] = has_bit(stripes, rows[q] // stripes.width, rows[q] % stripes.width, columns[q])
    return found


@compiled
def rows_of(stripes: Stripes, lanes: Ids, most: int) -> tuple[Offsets, Ids]:
    """Return what each of ``lanes`` reaches but itself, ascending, as offsets and numbers below ``most``."""
    offsets, found = np.zeros(len(lanes) + 1, np.int64), np.empty(1024, np.int32)
    one = np.empty(most, np.int32)
    for k in range(len(lanes)):
        begin, size = offsets[k], row(stripes, lanes[k] // stripes.width, lanes[k] % stripes.width, one)
        if begin + size > len(found):
            longer = np.empty(2 * (begin + size), np.int32)
            longer[:begin] = found[:begin]
            found = longer
        found[begin : begin + size] = one[:size]
        offsets[k + 1] = begin + size
    return offsets, found[: offsets[-1]]


@compiled
def columns_of(stripes: Stripes, numbers: Ids) -> tuple[Ids, Ids]:
    """Return the lanes that reach one of ``numbers`` but are not it, each with the place of that number."""
    count, size = 0, 0
    for s in range(len(stripes.starts)):
        for number in numbers if stripes.lengths[s] > 0 else numbers[:0]:
            word = word_at(stripes, s, number)
            while word:
                size += 1
                word &= word - _ONE
    which, lanes = np.empty(size, np.int32), np.empty(size, np.int32)
    for s in range(len(stripes.starts)):
        if stripes.lengths[s] > 0:
            for k in range(len(numbers)):
                word = word_at(stripes, s, numbers[k])
                while word:
                    which[count], lanes[count] = k, s * stripes.width + lowest(word)
                    count += 1
                    word &= word - _ONE
    return which, lanes


@compiled
def held_pairs(stripes: Stripes) -> int:
    """Return how many pairs of components the stripes hold."""
    total = 0
    for s in range(len(stripes.starts)):
        start, length, place = stripes.starts[s], np.int64(stripes.lengths[s]), stripes.places[s]
        if length > 0 and place >= 0:
            total += pairs_upto(stripes.numbers, stripes.words, start, place, length, np.int64(2**62))
        elif length > 0:
            total += length - 1
    return total


@compiled
def reached_by(stripes: Stripes, begin: int, end: int, sizes: Ids, before: Offsets) -> Offsets:
    """Return how many vertices each lane of the stripes from ``begin`` to ``end`` reaches, its own included.

    Components have ``sizes``; ``before`` has for each number how many vertices are in components with smaller ones.
    """
    width = stripes.width
    found = np.zeros((end - begin) * width, np.int64)
    for s in range(begin, end):
        first = (s - begin) * width
        for lane in range(min(width, len(sizes) - s * width)):
            found[first + lane] = sizes[s * width + lane]
        firsts, words = entries(stripes, s)
        for k in range(len(firsts) - 1):
            word, more = words[k], before[firsts[k + 1]] - before[firsts[k]]
            while word:
                found[first + lowest(word)] += more
                word &= word - _ONE
    return found


def _body_size(_: int, count: int, numbers: int, words: int, __: int) -> int:
    """Return the bytes of a body by the fields of its header."""
    return 8 * words + 4 * (count + numbers) + count


def _before(lengths: Ids) -> Offsets:
    """Return where parts of these lengths begin that lie one behind the other."""
    ends = np.cumsum(lengths, dtype=np.int64)
    starts: Offsets = ends - lengths
    return starts
