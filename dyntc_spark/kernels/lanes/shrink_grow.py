"""Shrink and grow: the words of one stripe that change, worked out from events.

A stripe is told *events*: at component ``tail`` something happened that concerns component ``head``. Only
events whose tail has a word in the stripe count there. Words that are read or changed lie in slots until the stripe is
done.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.compile import lean_inner
from dyntc_spark.kernels.ids import Ids, Marks, Offsets
from dyntc_spark.kernels.lanes.adjacency import Adjacency
from dyntc_spark.kernels.lanes.graph import Graph, Members
from dyntc_spark.kernels.lanes.slots import (
    COST,
    DOUBTED,
    IN_HEAP,
    LIVE,
    LOOKED,
    NUMBER,
    QUEUED,
    SLOT_COST,
    STRIPE_COST,
    USED,
    WORD,
    Scratch,
    View,
    changed,
    kept_word,
    pull,
    push,
    slot_of,
)
from dyntc_spark.kernels.lanes.stripes import bit_of, number_of

#: What an event means. LOOK: the head's word may be too large, or where tail and head are the same, it is to be handed
#: on. COPY: the head starts with the tail's word. JOIN: the tail has become part of the head. EDGE: an edge came.
LOOK, COPY, JOIN, EDGE = range(4)

#: Predecessors that are looked at one by one; and entries that are passed in the time of a look of a build.
FEW_PREDECESSORS, ENTRIES_A_LOOK = 16, 8
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Events(NamedTuple):
    """What happened, sorted by ``tails``."""

    tails: Ids  #: numbers as the stripes know them
    heads: Ids  #: numbers as the graph knows them
    kinds: Marks


@lean_inner
def changed_words(graph: Graph, view: View, events: Events, shrinking: bool, scratch: Scratch) -> int:
    """Work out the words of a stripe that change; return how many, and leave them in ``scratch``."""
    labels = graph.order.labels
    _announce(labels, view, events, scratch)
    if not scratch.counts[USED]:
        return 0
    if shrinking:
        _shrink(graph.members, graph.out, graph.into, labels, view, scratch)
    else:
        _grow(graph.members, graph.out, labels, view, scratch)
    scratch.counts[COST] += STRIPE_COST
    return changed(view, scratch)


@lean_inner
def _announce(labels: Offsets, view: View, events: Events, scratch: Scratch) -> None:
    """Let the events happen whose tail has a word in the stripe.

    Few events look for their tails among the entries, many events and the entries are walked side by side.
    """
    firsts, words, tails = view.firsts, view.words, events.tails
    few, plain = len(tails) * 8 < len(firsts), len(words) < len(firsts)
    found = np.int64(plain)  # entries that begin at the tail or before; keys of smaller numbers, and one
    scratch.counts[LOOKED] += len(tails)
    scratch.counts[COST] += len(tails)
    for k in range(len(tails)):
        tail, word = np.int64(tails[k]), _ZERO
        if few:
            word = kept_word(firsts, words, view.width, tail)
        elif plain:
            while found < len(firsts) and firsts[found] < (tail - firsts[0]) * view.width:
                found += 1
            if found < len(firsts) and firsts[found] < (tail + 1 - firsts[0]) * view.width:
                word = ~_ZERO  # whichever
        else:
            while found < len(firsts) and firsts[found] <= tail:
                found += 1
            word = words[found - 1] if found else _ZERO
        word |= bit_of(tail, view.first, view.width)
        if word & ~view.ignored or scratch.of[tail] >= 0:
            _happen(labels, view, events, k, scratch)


@lean_inner
def _happen(labels: Offsets, view: View, events: Events, k: int, scratch: Scratch) -> None:
    """Let an event happen."""
    of, slots, live, heap, counts = scratch.of, scratch.slots, scratch.live, scratch.heap, scratch.counts
    firsts, words, lanes = view.firsts, view.words, (view.first, view.width, view.ignored)
    tail = slot_of(of, slots, live, counts, firsts, words, lanes, events.tails[k])
    word, kind = slots[tail, WORD], events.kinds[k]
    if word == _ZERO:
        return
    head = slot_of(of, slots, live, counts, firsts, words, lanes, events.heads[k])
    if kind == EDGE:
        if word & ~slots[head, WORD]:
            slots[head, WORD] |= word
            push(slots, heap, counts, labels, head)
        return
    slots[head, DOUBTED] |= word
    push(slots, heap, counts, labels, head)
    if kind != LOOK:
        if slots[head, WORD] == _ZERO:
            live[counts[LIVE]] = head
            counts[LIVE] += 1
        slots[head, WORD] |= word
    if kind == JOIN:
        slots[tail, WORD] = _ZERO


@lean_inner
def _shrink(  # noqa: C901  (look at predecessors, then push successors; one loop for numba)
    members: Members, out: Adjacency, into: Adjacency, labels: Offsets, view: View, scratch: Scratch
) -> None:
    """Take away the bits that no predecessor has, predecessors first, until no successor can have changed.

    Only bits that were lost before can be lost: a word is looked at for these. Predecessors are looked at one by
    one; if these are many, the lanes are followed to the component instead.
    """
    of, slots, live, heap, counts = scratch.of, scratch.slots, scratch.live, scratch.heap, scratch.counts
    firsts, words, lanes = view.firsts, view.words, (view.first, view.width, view.ignored)
    component, after, first, size = members.component, members.after, members.first, members.size
    starts, lengths, targets = out.starts, out.lengths, out.values
    in_starts, in_lengths, sources = into.starts, into.lengths, into.values
    while counts[QUEUED]:
        slot = pull(slots, heap, counts)
        d = np.int64(slots[slot, NUMBER])
        lost = slots[slot, DOUBTED] & slots[slot, WORD] & ~bit_of(d, lanes[0], lanes[1])
        slots[slot, DOUBTED] = _ZERO
        if lost == _ZERO:
            continue
        if _predecessors(after, first, size, in_lengths, d) > FEW_PREDECESSORS:
            lost = _unfounded(members, out, labels, view, scratch, d, lost)
        else:
            v = first[d]
            for _ in range(size[d]):
                for place in range(in_starts[v], in_starts[v] + in_lengths[v]):
                    if lost == _ZERO:
                        break
                    u = sources[place]
                    c = np.int64(component[u])
                    counts[COST] += 1
                    if c == d or (in_lengths[u] == 0 and not lanes[0] <= c < lanes[0] + lanes[1]):
                        continue  # nobody reaches c, which is no lane here: its word is 0
                    counts[LOOKED] += 1
                    counts[COST] += SLOT_COST
                    lost &= ~slots[slot_of(of, slots, live, counts, firsts, words, lanes, c), WORD]
                v = after[v]
        if lost == _ZERO:
            continue
        slots[slot, WORD] &= ~lost
        v = first[d]
        for _ in range(size[d]):
            for place in range(starts[v], starts[v] + lengths[v]):
                e = component[targets[place]]
                if e != d:
                    next_slot = slot_of(of, slots, live, counts, firsts, words, lanes, e)
                    slots[next_slot, DOUBTED] |= lost
                    push(slots, heap, counts, labels, next_slot)
            counts[LOOKED] += lengths[v]
            counts[COST] += lengths[v] * SLOT_COST
            v = after[v]


@lean_inner
def _predecessors(after: Ids, first: Ids, size: Ids, in_lengths: Ids, d: int) -> int:
    """Return how many edges lead to the members of a component; of many, some number above `FEW_PREDECESSORS`."""
    count, v = 0, first[d]
    for _ in range(size[d]):
        count += in_lengths[v]
        if count > FEW_PREDECESSORS:
            break
        v = after[v]
    return count


@lean_inner
def _unfounded(  # noqa: C901, PLR0912  (the lanes, the entries or keys, then the slots)
    members: Members, out: Adjacency, labels: Offsets, view: View, scratch: Scratch, d: int, bits: np.uint64
) -> np.uint64:
    """Return those of ``bits`` that no predecessor of ``d`` has, by the edges that leave components with these bits.

    The lanes themselves are tried first: what is needed by most is mostly needed directly.
    """
    of, slots, counts, firsts = scratch.of, scratch.slots, scratch.counts, view.firsts
    component, after, first, size = members.component, members.after, members.first, members.size
    starts, lengths, targets = out.starts, out.lengths, out.values
    left, label = bits, labels[d]
    while left:
        c = view.first + lowest(left)
        if c != d and _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
            bits &= ~bit_of(c, view.first, view.width)
        left &= left - _ONE
    plain = len(view.words) < len(firsts)
    counts[COST] += len(firsts) // ENTRIES_A_LOOK
    for k in range(1, len(firsts) if plain else 0):
        c = firsts[0] + number_of(np.int64(firsts[k]), view.width)
        word = bits & (_ONE << np.uint64(firsts[k] - (c - firsts[0]) * view.width))
        wanted = word != _ZERO and labels[c] > label and of[c] < 0
        if wanted and _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
            bits &= ~word
    for k in range(0 if plain else len(firsts) - 1):
        word = view.words[k] & bits  # which has no lane that is left out
        if word:
            for c in range(np.int64(firsts[k]), np.int64(firsts[k + 1])):
                if labels[c] < label or of[c] >= 0:  # edges lead to smaller labels
                    continue
                if _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
                    bits &= ~word
                    break
            if bits == _ZERO:
                return bits
    for k in range(counts[LIVE]):
        slot = scratch.live[k]
        if slots[slot, WORD] & bits:
            c = np.int64(slots[slot, NUMBER] & ~IN_HEAP)
            if labels[c] > label and _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
                bits &= ~slots[slot, WORD]
    return bits


@lean_inner
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
        counts[COST] += lengths[v]
        for place in range(starts[v], starts[v] + lengths[v]):
            if component[targets[place]] == d:
                return True
        v = after[v]
    return False


@lean_inner
def _grow(members: Members, out: Adjacency, labels: Offsets, view: View, scratch: Scratch) -> None:
    """OR words into successors, predecessors first, until nothing changes."""
    of, slots, live, heap, counts = scratch.of, scratch.slots, scratch.live, scratch.heap, scratch.counts
    firsts, words, lanes = view.firsts, view.words, (view.first, view.width, view.ignored)
    component, after, first, size = members.component, members.after, members.first, members.size
    starts, lengths, targets = out.starts, out.lengths, out.values
    while counts[QUEUED]:
        slot = pull(slots, heap, counts)
        d, word = np.int64(slots[slot, NUMBER]), slots[slot, WORD]
        v = first[d]
        for _ in range(size[d]):
            for place in range(starts[v], starts[v] + lengths[v]):
                e = component[targets[place]]
                if e == d:
                    continue
                next_slot = slot_of(of, slots, live, counts, firsts, words, lanes, e)
                if word & ~slots[next_slot, WORD]:
                    slots[next_slot, WORD] |= word
                    push(slots, heap, counts, labels, next_slot)
            counts[LOOKED] += lengths[v]
            counts[COST] += lengths[v] * SLOT_COST
            v = after[v]
