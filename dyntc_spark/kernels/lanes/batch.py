"""Shrink and grow: the words of stripes brought from one graph to the next, each stripe by itself.

A stripe is told *events*: at component ``tail`` something happened that concerns component ``head``. Only
events whose tail has a word in the stripe count there. Words that are read or changed lie in slots until the stripe is
done; then its entries are written anew, with the changed words in them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.block import Words
from dyntc_spark.kernels.compile import compiled, inner, lean, lean_inner
from dyntc_spark.kernels.lanes.adjacency import Adjacency
from dyntc_spark.kernels.lanes.arrays import copy, room
from dyntc_spark.kernels.lanes.graph import Graph, Marks, Members
from dyntc_spark.kernels.lanes.slots import (
    COST,
    DOUBTED,
    IN_HEAP,
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
    pull,
    push,
    slot_of,
)
from dyntc_spark.kernels.lanes.stripes import (
    ENTRY_BYTES,
    NUMBER_BYTES,
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
#: Edges that a search backwards may look at, for each stripe and event: about as long as it takes to look there.
LOOKS_A_STRIPE = 16
#: Predecessors that are looked at one by one.
FEW_PREDECESSORS = 16
_ZERO = np.uint64(0)


class Events(NamedTuple):
    """What happened, sorted by ``tails``."""

    tails: Ids  #: numbers as the stripes know them
    heads: Ids  #: numbers as the graph knows them
    kinds: Marks


@lean
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
def revise(  # noqa: C901, PLR0915  (which stripes, their words, and where they are written)
    graph: Graph,
    stripes: Stripes,
    numbers: Ids,
    events: Events,
    ignored: Ids,
    shrinking: bool,
    scratch: Scratch,
    budget: int,
    used: tuple[int, int],
) -> tuple[Ids, Stripes, bool, bool]:
    """Shrink or grow stripes; return those that changed, how they are now, and two more things.

    These are whether ``budget`` was enough, and whether the stripes are in the pools of the others, behind the
    first ``used`` numbers and words. Where the pools have no room, they are in pools of their own.

    Only stripes that reach one of ``numbers`` can change. ``ignored`` has the lanes, ascending, that are left out: new
    ones while shrinking, merged ones while growing.
    """
    width, total, counts = stripes.width, len(stripes.starts), scratch.counts
    flags, present = np.zeros(total, np.bool_), 0
    for s in range(total):
        present += stripes.lengths[s] >= 0
    looks = present * LOOKS_A_STRIPE * min(len(events.tails), 2 * FEW_EVENTS)
    is_known = concerned(graph, numbers, width, looks, flags)
    altered, lengths = np.empty(present, np.int32), np.empty(present, np.int32)
    starts, places = np.empty(present, np.int64), np.empty(present, np.int64)
    pool, words, in_place = stripes.numbers, stripes.words, True
    n_pool, n_words = used
    n_altered = next_ignored = 0
    for s in range(total):
        left_out = _ZERO
        while next_ignored < len(ignored) and ignored[next_ignored] < (s + 1) * width:
            left_out |= bit_of(np.int64(ignored[next_ignored]), s * width, width)
            next_ignored += 1
        rewritten = left_out != _ZERO and not shrinking
        if stripes.lengths[s] < 0:  # it is somewhere else
            continue
        if not rewritten and not (flags[s] if is_known else _is_concerned(stripes, s, events)):
            continue
        if counts[COST] > budget:
            break
        firsts, old = entries(stripes, s, scratch.spread)
        view = View(firsts, old, s * width, width, left_out)
        count = _changed_words(graph, view, events, shrinking, scratch)
        if not count and not rewritten:
            continue
        most = len(firsts) + 2 * count + 2
        most_numbers = most * ENTRY_BYTES // NUMBER_BYTES  # if it is plain
        if in_place and (n_pool + most_numbers > len(pool) or n_words + most > len(words)):
            in_place = False
            pool, words = _tail(pool, used[0], n_pool, most_numbers), _tail(words, used[1], n_words, most)
            n_pool, n_words = n_pool - used[0], n_words - used[1]
            for k in range(n_altered):
                starts[k] -= used[0]
                places[k] -= used[1] if places[k] >= 0 else 0
        elif not in_place:
            pool, words = room(pool, n_pool, most_numbers), room(words, n_words, most)
        altered[n_altered], starts[n_altered], places[n_altered] = s, n_pool, n_words
        size = _write(view, scratch, count, pool, words, n_pool, n_words)
        pairs = plain_pairs(pool, words, n_pool, n_words, size, width)
        if pairs >= 0:
            places[n_altered] = PLAIN
            new_firsts, new = pool[n_pool : n_pool + size].copy(), words[n_words : n_words + size]
            size = plain_size(pairs, width)
            write_plain(new_firsts, new, len(new_firsts), width, pool, n_pool)
        else:
            n_words += size
        lengths[n_altered] = size
        n_pool += size
        n_altered += 1
    made = Stripes(starts[:n_altered], lengths[:n_altered], places[:n_altered], pool[:n_pool], words[:n_words], width)
    return altered[:n_altered], made, counts[COST] <= budget, in_place


@inner
def _tail(pool: npt.NDArray[Any], begin: int, end: int, more: int) -> npt.NDArray[Any]:
    """Return a copy of a part of a pool, with room for more."""
    found = np.empty(2 * (end - begin + more), pool.dtype)
    copy(pool, begin, end, found, np.int64(0))
    return found


@lean_inner
def _changed_words(graph: Graph, view: View, events: Events, shrinking: bool, scratch: Scratch) -> int:
    """Work out the words of a stripe that change; return how many, and leave them in ``scratch``."""
    labels = graph.order.labels
    _announce(labels, view, events, scratch)
    if shrinking:
        _shrink(graph.members, graph.out, graph.into, labels, view, scratch)
    else:
        _grow(graph.members, graph.out, labels, view, scratch)
    scratch.counts[COST] += STRIPE_COST
    return changed(view, scratch)


@lean_inner
def _write(view: View, scratch: Scratch, count: int, pool: Ids, words: Words, at: int, word_at: int) -> int:
    """Write the entries of a stripe with ``count`` changed words to the pools; return how many there are."""
    size = revised(
        view.firsts,
        view.words,
        scratch.numbers[:count],
        scratch.values[:count],
        view.ignored,
        pool[at:],
        words[word_at:],
    )
    scratch.counts[COST] += size // 2
    return size


@lean_inner
def _is_concerned(stripes: Stripes, s: int, events: Events) -> bool:
    """Return whether a stripe has a word at the tail of an event; many events are not looked for one by one."""
    found = len(events.tails) > FEW_EVENTS
    for tail in events.tails:
        found = found or tail // stripes.width == s or word_at(stripes, s, np.int64(tail)) != _ZERO
    return found


@lean_inner
def _announce(labels: Offsets, view: View, events: Events, scratch: Scratch) -> None:
    """Let the events happen whose tail has a word in the stripe.

    Few events look for their tails among the entries, many events and the entries are walked side by side.
    """
    firsts, words, tails = view.firsts, view.words, events.tails
    few = len(tails) * 8 < len(firsts)
    found = np.int64(0)  # entries that begin at the tail or before
    scratch.counts[LOOKED] += len(tails)
    scratch.counts[COST] += len(tails)
    for k in range(len(tails)):
        tail = tails[k]
        if few:
            found = position(firsts, np.int64(0), len(firsts), np.int64(tail))
        else:
            while found < len(firsts) and firsts[found] <= tail:
                found += 1
        word = (words[found - 1] if found else _ZERO) | bit_of(np.int64(tail), view.first, view.width)
        if word & ~view.ignored or scratch.of[tail] >= 0:
            _happen(labels, view, events, k, scratch)


@lean_inner
def _happen(labels: Offsets, view: View, events: Events, k: int, scratch: Scratch) -> None:
    """Let an event happen."""
    of, slots, heap, counts = scratch.of, scratch.slots, scratch.heap, scratch.counts
    firsts, words, lanes = view.firsts, view.words, (view.first, view.width, view.ignored)
    tail = slot_of(of, slots, counts, firsts, words, lanes, events.tails[k])
    word, kind = slots[tail, WORD], events.kinds[k]
    if word == _ZERO:
        return
    head = slot_of(of, slots, counts, firsts, words, lanes, events.heads[k])
    if kind == EDGE:
        if word & ~slots[head, WORD]:
            slots[head, WORD] |= word
            push(slots, heap, counts, labels, head)
        return
    slots[head, DOUBTED] |= word
    push(slots, heap, counts, labels, head)
    if kind != LOOK:
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
    of, slots, heap, counts = scratch.of, scratch.slots, scratch.heap, scratch.counts
    firsts, words, lanes = view.firsts, view.words, (view.first, view.width, view.ignored)
    component, after, first, size = members.component, members.after, members.first, members.size
    starts, lengths, targets = out.starts, out.lengths, out.values
    in_starts, in_lengths, sources = into.starts, into.lengths, into.values
    while counts[QUEUED]:
        slot = pull(slots, heap, counts)
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
                    lost &= ~slots[slot_of(of, slots, counts, firsts, words, lanes, c), WORD]
            v = after[v]
        counts[LOOKED] += FEW_PREDECESSORS - left
        counts[COST] += (FEW_PREDECESSORS - left) * SLOT_COST
        if left == 0 and lost:
            lost = _unfounded(members, out, labels, view, scratch, d, lost)
        if lost == _ZERO:
            continue
        slots[slot, WORD] &= ~lost
        v = first[d]
        for _ in range(size[d]):
            for place in range(starts[v], starts[v] + lengths[v]):
                e = component[targets[place]]
                if e != d:
                    next_slot = slot_of(of, slots, counts, firsts, words, lanes, e)
                    slots[next_slot, DOUBTED] |= lost
                    push(slots, heap, counts, labels, next_slot)
            counts[LOOKED] += lengths[v]
            counts[COST] += lengths[v] * SLOT_COST
            v = after[v]


@lean_inner
def _unfounded(  # noqa: C901  (the lanes, the entries, then the slots)
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
        left &= left - np.uint64(1)
    for k in range(len(firsts) - 1):
        if bits == _ZERO:
            return bits
        word = view.words[k] & ~view.ignored
        if word & bits:
            for c in range(np.int64(firsts[k]), np.int64(firsts[k + 1])):
                if of[c] >= 0 or labels[c] < label:  # edges lead to smaller labels
                    continue
                if _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
                    bits &= ~word
                    break
    for k in range(counts[USED]):
        c = np.int64(slots[k, NUMBER] & ~IN_HEAP)
        wanted = slots[k, WORD] & bits != _ZERO and labels[c] > label
        if wanted and _leads_to(component, after, first, size, starts, lengths, targets, counts, c, d):
            bits &= ~slots[k, WORD]
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
    of, slots, heap, counts = scratch.of, scratch.slots, scratch.heap, scratch.counts
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
                next_slot = slot_of(of, slots, counts, firsts, words, lanes, e)
                if word & ~slots[next_slot, WORD]:
                    slots[next_slot, WORD] |= word
                    push(slots, heap, counts, labels, next_slot)
            counts[LOOKED] += lengths[v]
            counts[COST] += lengths[v] * SLOT_COST
            v = after[v]
