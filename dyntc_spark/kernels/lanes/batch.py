"""Shrink and grow: the words of stripes brought from one graph to the next, each stripe by itself.

A stripe is told *events*: at component ``tail`` something happened that concerns component ``head``. Only
events whose tail has a word in the stripe count there. Words that are read or changed lie in slots until the stripe is
done; then its entries are written anew, with the changed words in them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.ascend import ascend
from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.block import Words
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.lanes.adjacency import Adjacency
from dyntc_spark.kernels.lanes.graph import Graph, Marks, Members
from dyntc_spark.kernels.lanes.stripes import (
    PLAIN,
    Stripes,
    bit_of,
    entries,
    plain_pairs,
    plain_size,
    position,
    revised,
    word_at,
    write_plain,
)
from dyntc_spark.kernels.reach import Flags, Ids, Offsets

#: What an event means. LOOK: the head's word may be too large, or where tail and head are the same, it is to be handed
#: on. COPY: the head starts with the tail's word. JOIN: the tail has become part of the head. EDGE: an edge came.
LOOK, COPY, JOIN, EDGE = range(4)

#: Events that are looked for one by one before a stripe is worked on.
FEW_EVENTS = 8
#: Predecessors that are looked at one by one.
FEW_PREDECESSORS = 16
_ZERO = np.uint64(0)


class Events(NamedTuple):
    """What happened, sorted by ``tails``."""

    tails: Ids  #: numbers as the stripes know them
    heads: Ids  #: numbers as the graph knows them
    kinds: Marks


class Scratch(NamedTuple):
    """Words of one stripe while it is worked on: a slot for each number that was looked at."""

    of: Ids  #: by number: its slot, or -1
    slots: Words  #: a row for each slot: `NUMBER`, `BEFORE`, `WORD`, `DOUBTED`
    heap: Offsets  #: slots that are to be looked at, the highest label first: label and slot
    counts: Offsets  #: `USED`, `QUEUED`, `LOOKED`, `CHANGED`


#: Columns of ``Scratch.slots``: the number, and whether the slot is in the heap; the word as it was; the word as it is;
#: while shrinking, bits that may be lost.
NUMBER, BEFORE, WORD, DOUBTED = range(4)
#: Places in ``Scratch.counts``: slots in use, slots in the heap, words looked at, words changed.
USED, QUEUED, LOOKED, CHANGED = range(4)
_IN_HEAP = np.uint64(1 << 40)


class View(NamedTuple):
    """A stripe that is worked on: its entries, its first lane, how many it has, and those that are left out."""

    firsts: Ids
    words: Words
    first: int
    width: int
    ignored: np.uint64


def scratch(size: int) -> Scratch:
    """Return scratch space for numbers below ``size``; pages that are never written take no memory."""
    return Scratch(
        np.full(size, -1, np.int32),
        np.empty((size, 4), np.uint64),
        np.empty((size, 2), np.int64),
        np.zeros(4, np.int64),
    )


@compiled
def concerned(graph: Graph, numbers: Ids, width: int, budget: int, flags: Flags) -> bool:
    """Mark in ``flags`` the stripes with a lane that reaches one of ``numbers``: a search backwards on the edges.

    Return False, with some marked, when the search has looked at ``budget`` edges: then it is cheaper to look at
    every stripe.
    """
    members, into, marks, stack = graph.members, graph.into, graph.marks, graph.stack
    n = done = looked = 0
    for c in numbers:
        if not marks[c]:
            marks[c] = 1
            stack[n] = c
            n += 1
    while done < n and looked <= budget:
        c = stack[done]
        done += 1
        flags[c // width] = True
        v = members.first[c]
        for _ in range(members.size[c]):
            for place in range(into.starts[v], into.starts[v] + into.lengths[v]):
                d = members.component[into.values[place]]
                if not marks[d]:
                    marks[d] = 1
                    stack[n] = d
                    n += 1
            looked += into.lengths[v] + 1
            v = members.after[v]
    for k in range(n):
        marks[stack[k]] = 0
    return looked <= budget


@compiled
def revise(
    graph: Graph,
    stripes: Stripes,
    which: Ids,
    events: Events,
    ignored: Ids,
    shrinking: bool,
    scratch: Scratch,
    budget: int,
) -> tuple[Ids, Stripes, bool]:
    """Shrink or grow stripes; return those that changed, how they are now, and whether ``budget`` looks were enough.

    ``ignored`` has the lanes, ascending, that are left out: new ones while shrinking, merged ones while growing.
    """
    width, slots, counts = stripes.width, scratch.slots, scratch.counts
    altered, n_altered = np.empty(len(which), np.int32), 0
    starts, lengths = np.empty(len(which), np.int64), np.empty(len(which), np.int32)
    places = np.empty(len(which), np.int64)
    numbers, words = np.empty(256, np.int32), np.empty(256, np.uint64)
    new_firsts, new = np.empty(256, np.int32), np.empty(256, np.uint64)
    n_numbers = n_words = 0
    for s in which:
        if counts[LOOKED] > budget:
            break
        left_out = _lanes(ignored, s * width, width)
        rewritten = left_out != _ZERO and not shrinking
        if not rewritten and not _is_concerned(stripes, s, events):
            continue
        firsts, old = entries(stripes, s)
        view = View(firsts, old, s * width, width, left_out)
        _announce(graph.order.labels, view, events, scratch)
        if shrinking:
            _shrink(graph.members, graph.out, graph.into, graph.order.labels, view, scratch)
        else:
            _grow(graph.members, graph.out, graph.order.labels, view, scratch)
        changed = _changed(view, scratch)
        if len(changed) or rewritten:
            needed = len(firsts) + 2 * len(changed) + 2
            if needed > len(new):
                new_firsts, new = np.empty(2 * needed, np.int32), np.empty(2 * needed, np.uint64)
            values = np.empty(len(changed), np.uint64)
            for k in range(len(changed)):
                values[k] = slots[scratch.of[changed[k]], WORD] & ~bit_of(changed[k], view.first, width)
            count = revised(firsts, old, changed, values, left_out, new_firsts, new)
            pairs = plain_pairs(new_firsts, new, count, width)
            size = count if pairs < 0 else plain_size(pairs, width)
            numbers = _room(numbers, n_numbers, size)
            altered[n_altered], starts[n_altered], lengths[n_altered] = s, n_numbers, size
            if pairs >= 0:
                places[n_altered] = PLAIN
                write_plain(new_firsts, new, count, width, numbers, n_numbers)
            else:
                words = _room(words, n_words, size)
                places[n_altered] = n_words
                numbers[n_numbers : n_numbers + size] = new_firsts[:size]
                words[n_words : n_words + size] = new[:size]
                n_words += size
            n_numbers += size
            n_altered += 1
        for k in range(counts[USED]):
            scratch.of[slots[k, NUMBER]] = -1
        counts[USED] = 0
    made = Stripes(
        starts[:n_altered], lengths[:n_altered], places[:n_altered], numbers[:n_numbers], words[:n_words], width
    )
    return altered[:n_altered], made, counts[LOOKED] <= budget


@compiled
def _room(array: npt.NDArray[Any], used: int, more: int) -> npt.NDArray[Any]:
    """Return the array, or a longer copy with room for so many more."""
    if used + more <= len(array):
        return array
    longer = np.empty(2 * (used + more), array.dtype)
    longer[:used] = array[:used]
    return longer


@compiled
def _lanes(numbers: Ids, first: int, width: int) -> np.uint64:
    """Return the bits of those of ``numbers``, which ascend, that are lanes of a stripe."""
    bits: np.uint64 = _ZERO
    for k in range(np.searchsorted(numbers, first), len(numbers)):
        if numbers[k] >= first + width:
            break
        bits |= bit_of(numbers[k], first, width)
    return bits


@compiled
def _is_concerned(stripes: Stripes, s: int, events: Events) -> bool:
    """Return whether a stripe has a word at the tail of an event; many events are not looked for one by one."""
    found = len(events.tails) > FEW_EVENTS
    for tail in events.tails:
        found = found or tail // stripes.width == s or word_at(stripes, s, tail) != _ZERO
    return found


# Functions from here to `_pull` are called for every word. They take arrays, not tuples of arrays: numba counts
# references to each array of a tuple, which takes longer than the work itself.


@compiled
def _slot(
    of: Ids, slots: Words, counts: Offsets, firsts: Ids, words: Words, lanes: tuple[int, int, np.uint64], number: int
) -> int:
    """Return the slot of a number; its word is read when it has none yet. ``lanes``: first, width, those left out."""
    slot = int(of[number])
    if slot < 0:
        slot = int(counts[USED])
        counts[USED] = slot + 1
        found = position(firsts, 0, len(firsts), number)
        word = words[found - 1] if found else _ZERO
        word = (word | bit_of(number, lanes[0], lanes[1])) & ~lanes[2]
        of[number] = slot
        slots[slot, NUMBER], slots[slot, BEFORE] = number, word
        slots[slot, WORD], slots[slot, DOUBTED] = word, _ZERO
    return slot


@compiled
def _push(slots: Words, heap: Offsets, counts: Offsets, labels: Offsets, slot: int) -> None:
    """Queue a slot, unless it is queued."""
    number = slots[slot, NUMBER]
    if number & _IN_HEAP:
        return
    slots[slot, NUMBER] = number | _IN_HEAP
    label, at = labels[number], counts[QUEUED]
    counts[QUEUED] = at + 1
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent, 0] >= label:
            break
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = label, slot


@compiled
def _pull(slots: Words, heap: Offsets, counts: Offsets) -> int:
    """Take the slot whose number has the highest label."""
    top, size = int(heap[0, 1]), counts[QUEUED] - 1
    counts[QUEUED] = size
    slots[top, NUMBER] &= ~_IN_HEAP
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


@compiled
def _announce(labels: Offsets, view: View, events: Events, scratch: Scratch) -> None:
    """Let the events happen whose tail has a word in the stripe.

    Few events look for their tails among the entries, many events and the entries are walked side by side.
    """
    firsts, words, tails = view.firsts, view.words, events.tails
    few = len(tails) * 8 < len(firsts)
    found = 0  # entries that begin at the tail or before
    scratch.counts[LOOKED] += len(tails)
    for k in range(len(tails)):
        tail = tails[k]
        if few:
            found = position(firsts, 0, len(firsts), tail)
        else:
            while found < len(firsts) and firsts[found] <= tail:
                found += 1
        word = (words[found - 1] if found else _ZERO) | bit_of(tail, view.first, view.width)
        if word & ~view.ignored or scratch.of[tail] >= 0:
            _happen(labels, view, events, k, scratch)


@compiled
def _happen(labels: Offsets, view: View, events: Events, k: int, scratch: Scratch) -> None:
    """Let an event happen."""
    of, slots, heap, counts = scratch.of, scratch.slots, scratch.heap, scratch.counts
    firsts, words, lanes = view.firsts, view.words, (view.first, view.width, view.ignored)
    tail = _slot(of, slots, counts, firsts, words, lanes, events.tails[k])
    word, kind = slots[tail, WORD], events.kinds[k]
    if word == _ZERO:
        return
    head = _slot(of, slots, counts, firsts, words, lanes, events.heads[k])
    if kind == EDGE:
        if word & ~slots[head, WORD]:
            slots[head, WORD] |= word
            _push(slots, heap, counts, labels, head)
        return
    slots[head, DOUBTED] |= word
    _push(slots, heap, counts, labels, head)
    if kind != LOOK:
        slots[head, WORD] |= word
    if kind == JOIN:
        slots[tail, WORD] = _ZERO


@compiled
def _shrink(  # noqa: C901  (look at predecessors, then push successors; one loop for numba)
    members: Members, out: Adjacency, into: Adjacency, labels: Offsets, view: View, scratch: Scratch
) -> None:
    """Take away the bits that no predecessor has, predecessors first, until no successor can have changed.

    Only bits that were lost before can be lost: a word is looked at for these. Predecessors are looked at one by
    one; if these are many, the lanes are followed to the component instead.
    """
    of, slots, heap, counts = scratch.of, scratch.slots, scratch.heap, scratch.counts
    firsts, words, lanes = view.firsts, view.words, (view.first, view.width, view.ignored)
    component, after, first, size = members.component, members.after, members.first, members.size
    starts, lengths, targets = out.starts, out.lengths, out.values
    in_starts, in_lengths, sources = into.starts, into.lengths, into.values
    while counts[QUEUED]:
        slot = _pull(slots, heap, counts)
        d = np.int64(slots[slot, NUMBER])
        lost = slots[slot, DOUBTED] & slots[slot, WORD] & ~bit_of(d, lanes[0], lanes[1])
        slots[slot, DOUBTED] = _ZERO
        left = FEW_PREDECESSORS
        v = first[d]
        for _ in range(size[d]):
            for place in range(in_starts[v], in_starts[v] + in_lengths[v]):
                if lost == _ZERO or left == 0:
                    break
                left -= 1
                c = component[sources[place]]
                if c != d:
                    lost &= ~slots[_slot(of, slots, counts, firsts, words, lanes, c), WORD]
            v = after[v]
        counts[LOOKED] += FEW_PREDECESSORS - left
        if left == 0 and lost:
            lost = _unfounded(members, out, view, scratch, d, lost)
        if lost == _ZERO:
            continue
        slots[slot, WORD] &= ~lost
        v = first[d]
        for _ in range(size[d]):
            for place in range(starts[v], starts[v] + lengths[v]):
                e = component[targets[place]]
                if e != d:
                    next_slot = _slot(of, slots, counts, firsts, words, lanes, e)
                    slots[next_slot, DOUBTED] |= lost
                    _push(slots, heap, counts, labels, next_slot)
            counts[LOOKED] += lengths[v]
            v = after[v]


@compiled
def _unfounded(members: Members, out: Adjacency, view: View, scratch: Scratch, d: int, bits: np.uint64) -> np.uint64:
    """Return those of ``bits`` that no predecessor of ``d`` has, by the edges that leave components with these bits.

    The lanes themselves are tried first: what is needed by most is mostly needed directly.
    """
    of, slots, counts, firsts = scratch.of, scratch.slots, scratch.counts, view.firsts
    component, after, first, size = members.component, members.after, members.first, members.size
    starts, lengths, targets = out.starts, out.lengths, out.values
    left = bits
    while left:
        c = view.first + lowest(left)
        if c != d and _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
            bits &= ~bit_of(c, view.first, view.width)
        left &= left - np.uint64(1)
    for k in range(len(firsts) - 1):
        if bits == _ZERO:
            return bits
        word = view.words[k] & ~view.ignored
        if word & bits:
            for c in range(firsts[k], firsts[k + 1]):
                if of[c] < 0 and _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
                    bits &= ~word
                    break
    for k in range(counts[USED]):
        c = np.int64(slots[k, NUMBER] & ~_IN_HEAP)
        wanted = slots[k, WORD] & bits != _ZERO and c != d
        if wanted and _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
            bits &= ~slots[k, WORD]
    return bits


@compiled
def _leads_to(
    component: Ids,
    after: Ids,
    first: Ids,
    size: Ids,
    starts: Offsets,
    lengths: Ids,
    targets: Ids,
    counts: Offsets,
    c: int,
    d: int,
) -> bool:
    """Return whether an edge leads from one component to another."""
    v = first[c]
    for _ in range(size[c]):
        counts[LOOKED] += lengths[v]
        for place in range(starts[v], starts[v] + lengths[v]):
            if component[targets[place]] == d:
                return True
        v = after[v]
    return False


@compiled
def _grow(members: Members, out: Adjacency, labels: Offsets, view: View, scratch: Scratch) -> None:
    """OR words into successors, predecessors first, until nothing changes."""
    of, slots, heap, counts = scratch.of, scratch.slots, scratch.heap, scratch.counts
    firsts, words, lanes = view.firsts, view.words, (view.first, view.width, view.ignored)
    component, after, first, size = members.component, members.after, members.first, members.size
    starts, lengths, targets = out.starts, out.lengths, out.values
    while counts[QUEUED]:
        slot = _pull(slots, heap, counts)
        d, word = np.int64(slots[slot, NUMBER]), slots[slot, WORD]
        v = first[d]
        for _ in range(size[d]):
            for place in range(starts[v], starts[v] + lengths[v]):
                e = component[targets[place]]
                if e == d:
                    continue
                next_slot = _slot(of, slots, counts, firsts, words, lanes, e)
                if word & ~slots[next_slot, WORD]:
                    slots[next_slot, WORD] |= word
                    _push(slots, heap, counts, labels, next_slot)
            counts[LOOKED] += lengths[v]
            v = after[v]


@compiled
def _changed(view: View, scratch: Scratch) -> Ids:
    """Return the numbers whose words have changed, ascending."""
    slots, counts = scratch.slots, scratch.counts
    found = np.empty(counts[USED], np.int32)
    count = 0
    for k in range(counts[USED]):
        number = np.int64(slots[k, NUMBER])
        own = bit_of(number, view.first, view.width)
        if (slots[k, WORD] | own) != (slots[k, BEFORE] | own):
            found[count] = number
            count += 1
    ascend(found, 0, count)
    counts[CHANGED] += count
    return found[:count]
