"""Rows of ``(I - W)⁻¹ - I`` modulo primes, each by one sweep over what its vertex reaches.

``W`` holds the weights of a digraph's edges. The vertices stand in a topological order of the
components: an edge leads to a higher place, or stays in the run of places that its component
takes. The row of ``s`` is the sum of the weights of all walks from ``s``: starting with 1 at
``s``, each vertex hands what it has got, times the weight of the edge, on to its successors.
A component hands on after all before it have: what has come in, times the inverse of its own
block ``I - W``. So a row costs the edges below its vertex, whatever ``n`` is; the vertices that
still have to hand on are bits in words, lowest first, and nothing is sorted.

Rows do not need each other, so that each task of a cluster makes its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Floats, Ids, Offsets, Words

LIMIT = 2**62  # sums are reduced beyond it
_ONE = np.uint64(1)


class Ordered(NamedTuple):
    """A digraph by places in a topological order of its components."""

    place: Ids  #: of each vertex
    vertex: Ids  #: at each place
    offsets: Offsets  #: edges by the place of their source
    targets: Ids  #: places
    weights: Ints  #: ``[edge, plane]``
    first: Ids  #: where the run of a place's component begins
    last: Ids  #: where it ends
    block: Offsets  #: where the component's inverse begins in ``inverses``; -1 where it is 1
    inverses: Ints  #: ``[entry, plane]``, blocks one behind the other, by rows


class Scratch(NamedTuple):
    """What the sweeps write on and leave at zero: sums, and sets of places and of vertices as bits."""

    sums: Offsets  #: ``[place, plane]``
    pending: Words
    pending_words: Words  #: which words of ``pending`` are not 0
    reached: Words
    reached_words: Words

    @classmethod
    def of(cls, vertices: int, planes: int) -> Scratch:
        """Return clean ones."""
        sets = [np.zeros(vertices // step + 1, np.uint64) for step in (64, 64 * 64, 64, 64 * 64)]
        return cls(np.zeros((vertices, planes), np.int64), *sets)


def sweep_rows(
    graph: Ordered, first: int, last: int, primes: tuple[int, ...], scratch: Scratch
) -> tuple[Ids, Ids, Ints]:
    """Return rows (from 0), columns and residues of the vertices ``first … last - 1``, sorted."""
    moduli = np.array(primes, np.int64)
    return _sweep(*graph, first, last, moduli, 1.0 / moduli, *scratch)


@compiled
def reduced(total: int, p: int, reciprocal: float) -> int:
    """Reduce ``0 <= total < 2**63``: the quotient in floating point is one off at most."""
    rest: int = total - np.int64(total * reciprocal) * p
    if rest < 0:
        rest += p
    elif rest >= p:
        rest -= p
    return rest


@compiled
def insert(number: int, bits: Words, words: Words) -> None:
    """Put a number into a set."""
    bits[number >> 6] |= _ONE << np.uint64(number & 63)
    words[number >> 12] |= _ONE << np.uint64((number >> 6) & 63)


@compiled
def pop(from_word: int, bits: Words, words: Words) -> int:
    """Take the lowest number out of a set, none of which is in a word of words before ``from_word``; -1 if empty."""
    for top in range(from_word, len(words)):
        while words[top]:
            word = (top << 6) + lowest(words[top])
            if bits[word]:
                number: int = (word << 6) + lowest(bits[word])
                bits[word] &= bits[word] - _ONE
                return number
            words[top] &= words[top] - _ONE
    return -1


@compiled
def drain(bits: Words, words: Words, out: Ids) -> int:
    """Take all numbers out of a set, ascending; return how many there were."""
    count = 0
    for top in range(len(words)):
        filled = words[top]
        words[top] = 0
        while filled:
            word = (top << 6) + lowest(filled)
            filled &= filled - _ONE
            numbers = bits[word]
            bits[word] = 0
            while numbers:
                out[count] = (word << 6) + lowest(numbers)
                numbers &= numbers - _ONE
                count += 1
    return count


@compiled
def _hand_on(
    v: int, begin: int, end: int, offsets: Offsets, targets: Ids, weights: Ints, primes: Offsets, sums: Offsets,
    pending: Words, pending_words: Words,
) -> None:  # fmt: skip
    """Add what is at ``v`` to its successors outside the places from ``begin`` to ``end``."""
    for e in range(offsets[v], offsets[v + 1]):
        w = targets[e]
        if begin <= w < end:
            continue
        if sums[w, 0] == 0:  # else it is in the set
            insert(w, pending, pending_words)
        for plane in range(len(primes)):
            total = sums[w, plane] + sums[v, plane] * np.int64(weights[e, plane])
            if total >= LIMIT:
                total %= primes[plane]  # a division, which is never done ahead of time
            sums[w, plane] = total


@compiled
def _pass_component(
    begin: int, end: int, at: int, inverses: Ints, primes: Offsets, reciprocals: Floats, sums: Offsets, room: Offsets
) -> None:
    """Multiply what has come into a component by its inverse."""
    size = end - begin
    room[:size] = 0
    for i in range(size):
        for plane in range(len(primes)):
            factor = reduced(sums[begin + i, plane], primes[plane], reciprocals[plane])
            if factor == 0:
                continue
            row = at + i * size
            for j in range(size):
                total = room[j, plane] + factor * np.int64(inverses[row + j, plane])
                if total >= LIMIT:
                    total %= primes[plane]
                room[j, plane] = total
    for j in range(size):
        for plane in range(len(primes)):
            sums[begin + j, plane] = reduced(room[j, plane], primes[plane], reciprocals[plane])


@compiled
def _sweep(  # noqa: C901, PLR0912  (a search, and a sorted copy of what it found)
    place: Ids, vertex: Ids, offsets: Offsets, targets: Ids, weights: Ints, firsts: Ids, lasts: Ids, blocks: Offsets,
    inverses: Ints, first: int, last: int, primes: Offsets, reciprocals: Floats,
    sums: Offsets, pending: Words, pending_words: Words, reached: Words, reached_words: Words,
) -> tuple[Ids, Ids, Ints]:  # fmt: skip
    planes, capacity, used, largest = len(primes), 1024, 0, 0
    rows, columns = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    values = np.empty((planes, capacity), np.int32)
    for k in range(len(blocks)):
        if blocks[k] >= 0:
            largest = max(largest, lasts[k] - firsts[k])
    room, found = np.empty((largest, planes), np.int64), np.empty(len(place), np.int32)
    for s in range(first, last):
        start, count = place[s], 0
        for plane in range(planes):
            sums[start, plane] = 1
        insert(start, pending, pending_words)
        v = pop(start >> 12, pending, pending_words)
        while v >= 0:
            begin, end = v, v + 1
            if blocks[v] >= 0:
                begin, end = firsts[v], lasts[v]
                _pass_component(begin, end, blocks[v], inverses, primes, reciprocals, sums, room)
                for w in range(begin, end):
                    pending[w >> 6] &= ~(_ONE << np.uint64(w & 63))
            else:
                for plane in range(planes):
                    sums[v, plane] = reduced(sums[v, plane], primes[plane], reciprocals[plane])
            for u in range(begin, end):
                _hand_on(
                    u, begin, end, offsets, targets, weights, primes, sums, pending, pending_words
                )  # fmt: skip
                insert(vertex[u], reached, reached_words)
            count += end - begin
            v = pop(v >> 12, pending, pending_words)
        if used + count > capacity:
            capacity = 2 * (used + count)
            wider_rows, wider_columns = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
            wider_values = np.empty((planes, capacity), np.int32)
            wider_rows[:used], wider_columns[:used] = rows[:used], columns[:used]
            wider_values[:, :used] = values[:, :used]
            rows, columns, values = wider_rows, wider_columns, wider_values
        for w in found[: drain(reached, reached_words, found)]:
            at, some = place[w], False
            for plane in range(planes):
                value = sums[at, plane]
                if w == s:
                    value = value - 1 if value else primes[plane] - 1
                values[plane, used] = value
                some = some or value != 0
                sums[at, plane] = 0
            rows[used], columns[used] = s - first, w
            used += some
        pending_words[:] = 0
    return rows[:used].copy(), columns[:used].copy(), values[:, :used].copy()
