"""Slots and a heap: the words of one stripe while it is worked on.

A word that is read or changed lies in a slot until the stripe is done. Slots that are to be looked at wait in a heap,
the highest label of the topological order first.

Functions that are called for every word take arrays, not tuples of arrays: numba counts
references to each array of a tuple, which takes longer than the work itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import lean_inner
from dyntc_spark.kernels.ids import Ids, Offsets, Words
from dyntc_spark.kernels.lanes.bit_queue import Queue, add, drain, new_queue
from dyntc_spark.kernels.lanes.stripes import bit_of, plain_word, position

_ZERO = np.uint64(0)


class Scratch(NamedTuple):
    """A slot for each number that was looked at."""

    of: Ids  #: by number: its slot, or -1
    slots: Words  #: a row for each slot: `NUMBER`, `BEFORE`, `WORD`, `DOUBTED`
    heap: Offsets  #: slots that are to be looked at, the highest label first: label and slot
    counts: Offsets  #: `USED`, `LIVE`, `QUEUED`, `LOOKED`, `CHANGED`, `COST`
    live: Ids  #: the first so many are slots whose words were not 0 at first, or got a bit by an event
    changed: Queue  #: numbers whose words have changed; empty between two calls
    numbers: Ids  #: what `changed` found: the numbers, ascending
    values: Words  #: and their words


#: Columns of ``Scratch.slots``: the number, and whether the slot is in the heap; the word as it was; the word as it is;
#: while shrinking, bits that may be lost.
NUMBER, BEFORE, WORD, DOUBTED = range(4)
#: Places in ``Scratch.counts``: slots in use, those in ``live``, those in the heap, words looked at, words changed, and
#: what it took, in looks of a build.
USED, LIVE, QUEUED, LOOKED, CHANGED, COST = range(6)
#: What it takes to look at a word in a slot, and to begin with a stripe, in looks of a build (about 12 ns).
SLOT_COST, STRIPE_COST = 6, 80
IN_HEAP = np.uint64(1 << 40)


class View(NamedTuple):
    """A stripe that is worked on."""

    firsts: Ids  #: the numbers of its entries; a plain stripe as it is kept
    words: Words  #: the words of its entries; a plain stripe has none
    first: int  #: its first lane
    width: int  #: how many lanes it has
    ignored: np.uint64  #: lanes that are left out


def scratch(size: int) -> Scratch:
    """Return scratch space for numbers below ``size``; pages that are never written take no memory."""
    return Scratch(
        np.full(size, -1, np.int32),
        np.empty((size, 4), np.uint64),
        np.empty((size, 2), np.int64),
        np.zeros(6, np.int64),
        np.empty(size, np.int32),
        new_queue(size),
        np.empty(size, np.int32),
        np.empty(size, np.uint64),
    )


@lean_inner
def kept_word(firsts: Ids, words: Words, width: int, number: int) -> np.uint64:
    """Return the word of a number in a stripe that is worked on, as it was before: a binary search."""
    if len(words) < len(firsts):
        return plain_word(firsts, width, np.int64(0), len(firsts), number)
    found = position(firsts, np.int64(0), len(firsts), number)
    word: np.uint64 = words[found - 1] if found else _ZERO
    return word


@lean_inner
def slot_of(
    of: Ids,
    slots: Words,
    live: Ids,
    counts: Offsets,
    firsts: Ids,
    words: Words,
    lanes: tuple[int, int, np.uint64],
    number: int,
) -> int:
    """Return the slot of a number; its word is read when it has none yet. ``lanes``: first, width, those left out."""
    slot = int(of[number])
    if slot < 0:
        slot = int(counts[USED])
        counts[USED] = slot + 1
        word = kept_word(firsts, words, lanes[1], np.int64(number))
        word = (word | bit_of(np.int64(number), lanes[0], lanes[1])) & ~lanes[2]
        of[number] = slot
        slots[slot, NUMBER], slots[slot, BEFORE] = number, word
        slots[slot, WORD], slots[slot, DOUBTED] = word, _ZERO
        live[counts[LIVE]] = slot
        counts[LIVE] += word != _ZERO
    return slot


@lean_inner
def push(slots: Words, heap: Offsets, counts: Offsets, labels: Offsets, slot: int) -> None:
    """Queue a slot, unless it is queued."""
    number = slots[slot, NUMBER]
    if number & IN_HEAP:
        return
    slots[slot, NUMBER] = number | IN_HEAP
    label, at = labels[number], counts[QUEUED]
    counts[QUEUED] = at + 1
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent, 0] >= label:
            break
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = label, slot


@lean_inner
def pull(slots: Words, heap: Offsets, counts: Offsets) -> int:
    """Take the slot whose number has the highest label."""
    top, size = int(heap[0, 1]), counts[QUEUED] - 1
    counts[QUEUED] = size
    slots[top, NUMBER] &= ~IN_HEAP
    label, slot, at = heap[size, 0], heap[size, 1], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1, 0] > heap[child, 0]:
            child += 1
        if heap[child, 0] <= label:
            break
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at = child
    heap[at, 0], heap[at, 1] = label, slot
    return top


@lean_inner
def changed(view: View, scratch: Scratch) -> int:
    """Write the numbers whose words have changed, ascending, and these words; return how many, and clear all slots.

    The words are without the bits that are not stored.
    """
    of, slots, counts, numbers, values = scratch.of, scratch.slots, scratch.counts, scratch.numbers, scratch.values
    bits, upper, top = scratch.changed
    count, used = 0, counts[USED]
    for k in range(used):
        number = np.int64(slots[k, NUMBER])
        own = bit_of(number, view.first, view.width)
        if (slots[k, WORD] | own) != (slots[k, BEFORE] | own):
            add(bits, upper, top, number)
            count += 1
    if count:
        drain(bits, upper, top, numbers)
    for k in range(count):
        number = np.int64(numbers[k])
        values[k] = slots[of[number], WORD] & ~bit_of(number, view.first, view.width)
    for k in range(used):
        of[slots[k, NUMBER]] = -1
    counts[USED] = counts[LIVE] = 0
    counts[CHANGED] += count
    return count
