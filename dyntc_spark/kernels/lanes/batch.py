"""Stripes brought from one graph to the next: which are concerned, and where they are written.

A stripe shrinks and grows by itself (`shrink_grow`). Then its entries, or the keys of a plain stripe, are written
anew, with the changed words in them, behind the other stripes.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.compile import compiled, lean, lean_inner
from dyntc_spark.kernels.ids import Flags, Ids, Words
from dyntc_spark.kernels.lanes.graph import Graph
from dyntc_spark.kernels.lanes.shrink_grow import Events, changed_words
from dyntc_spark.kernels.lanes.slots import CHANGED, COST, LOOKED, Scratch, View
from dyntc_spark.kernels.lanes.stripes import (
    ENTRY_BYTES,
    NUMBER_BYTES,
    PLAIN,
    Stripes,
    bit_of,
    entries,
    has_keys,
    plain_pairs,
    plain_size,
    revised,
    revised_plain,
    write_plain,
)

#: Words of a plain stripe that change one by one; where there are more, it is unfolded.
FEW_WORDS = 8
#: Edges that a search backwards may look at, for each stripe and event: about as long as it takes to look there; and
#: events that count.
LOOKS_A_STRIPE, MOST_EVENTS = 16, 16
#: Stripes from which on a sample is tried before all are worked on; how many it has, about; and one of so many at most.
MANY_STRIPES, SAMPLES, SAMPLE_PART = 32, 8, 16
_ZERO, _ONE = np.uint64(0), np.uint64(1)


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
def revise(  # noqa: C901, PLR0912, PLR0915  (which stripes, their words, and where they are written)
    graph: Graph,
    stripes: Stripes,
    numbers: Ids,
    events: Events,
    ignored: Ids,
    shrinking: bool,
    scratch: Scratch,
    budget: int,
    begin: int,
    used: tuple[int, int],
) -> tuple[Ids, Stripes, tuple[int, int, int, int, int]]:
    """Shrink or grow the stripes from ``begin`` on; return those that changed, and all stripes as they are then.

    They are written to the pools, behind the first ``used`` numbers and words. Also returned: where these end then;
    the stripe before which the work stopped, which is none when all are done; and, where it stopped because the
    pools are full, room for how many numbers and words that stripe needs. If these are 0, ``budget`` is used up, or
    a sample of the stripes says that it will be.

    Only stripes that reach one of ``numbers`` can change. ``ignored`` has the lanes, ascending, that are left out: new
    ones while shrinking, merged ones while growing.
    """
    width, total, counts = stripes.width, len(stripes.starts), scratch.counts
    flags = np.zeros(total, np.bool_)
    left = max(budget - counts[COST], 0)
    hopeless = begin == 0 and _least_cost(stripes, numbers, events, flags) > left
    present = 0 if hopeless else _mark_concerned(graph, stripes, numbers, events, begin, flags)
    if hopeless or (begin == 0 and _sampled(graph, stripes, events, shrinking, scratch, flags, present) > left):
        return np.empty(0, np.int32), stripes, (used[0], used[1], 0, np.int64(0), np.int64(0))
    present += len(ignored)
    altered, lengths = np.empty(present, np.int32), np.empty(present, np.int32)
    starts, places = np.empty(present, np.int64), np.empty(present, np.int64)
    pool, words = stripes.numbers, stripes.words
    n_pool, n_words = used
    n_altered = next_ignored = 0
    stop, wanted, wanted_words = total, np.int64(0), np.int64(0)
    for s in range(begin, total):
        left_out = _ZERO
        while next_ignored < len(ignored) and ignored[next_ignored] < (s + 1) * width:
            left_out |= bit_of(np.int64(ignored[next_ignored]), s * width, width)
            next_ignored += 1
        rewritten = left_out != _ZERO and not shrinking
        if stripes.lengths[s] < 0:  # it is somewhere else
            continue
        if not rewritten and not flags[s]:
            continue
        if counts[COST] > budget:
            stop = s
            break
        start, length = stripes.starts[s], np.int64(stripes.lengths[s])
        plain = stripes.places[s] == PLAIN and length > 0 and left_out == _ZERO
        firsts, old = (pool[start : start + length], words[:0]) if plain else entries(stripes, s)
        view = View(firsts, old, s * width, width, left_out)
        looked, known = counts[LOOKED], counts[CHANGED]
        count = changed_words(graph, view, events, shrinking, scratch)
        if not count and not rewritten:
            continue
        if plain and (count > FEW_WORDS or not has_keys(firsts, scratch.numbers[0], scratch.numbers[count - 1], width)):
            plain = False
            firsts, old = entries(stripes, s)
            view = View(firsts, old, s * width, width, left_out)
        most = np.int64(0) if plain else len(firsts) + 2 * count + 2  # entries
        most_numbers = length + count * width if plain else most * ENTRY_BYTES // NUMBER_BYTES  # if they become plain
        if n_pool + most_numbers > len(pool) or n_words + most > len(words):
            stop, wanted, wanted_words = s, most_numbers, most
            counts[LOOKED], counts[CHANGED] = looked, known  # it will be done again
            break
        altered[n_altered], starts[n_altered], places[n_altered] = s, n_pool, n_words
        if plain:
            places[n_altered] = PLAIN
            size = revised_plain(firsts, scratch.numbers[:count], scratch.values[:count], width, pool, n_pool)
        else:
            size = _write(view, scratch, count, pool, words, n_pool, n_words)
            pairs = plain_pairs(pool, words, n_pool, n_words, size, width)
            if pairs >= 0:
                places[n_altered] = PLAIN
                new_firsts, new = pool[n_pool : n_pool + size].copy(), words[n_words : n_words + size]
                size = plain_size(pairs)
                write_plain(new_firsts, new, len(new_firsts), width, pool, n_pool)
            else:
                n_words += size
        lengths[n_altered] = size
        n_pool += size
        n_altered += 1
    made = stripes
    if n_altered:
        made = Stripes(stripes.starts.copy(), stripes.lengths.copy(), stripes.places.copy(), pool, words, width)
        for k in range(n_altered):
            s = np.int64(altered[k])
            made.starts[s], made.lengths[s], made.places[s] = starts[k], lengths[k], places[k]
    return altered[:n_altered], made, (n_pool, n_words, stop, wanted, wanted_words)


@lean_inner
def _least_cost(stripes: Stripes, numbers: Ids, events: Events, flags: Flags) -> int:
    """Return what it takes, at least, to tell the events to the stripes that have one of ``numbers`` as a lane.

    Marks these stripes, if they are here.
    """
    count = 0
    for c in numbers:
        s = c // stripes.width
        if stripes.lengths[s] >= 0 and not flags[s]:
            flags[s] = True
            count += 1
    return count * len(events.tails)


@lean_inner
def _mark_concerned(graph: Graph, stripes: Stripes, numbers: Ids, events: Events, begin: int, flags: Flags) -> int:
    """Mark the stripes from ``begin`` on that may change, of those that are here; return how many they are.

    All of them, when the search backwards takes longer than a look at each.
    """
    total, present = len(stripes.starts), 0
    for s in range(begin, total):
        present += stripes.lengths[s] >= 0
    looks = present * LOOKS_A_STRIPE * min(len(events.tails), MOST_EVENTS)
    is_known, count = concerned(graph, numbers, stripes.width, looks, flags), 0
    for s in range(begin, total):
        here = stripes.lengths[s] >= 0
        flags[s] = here and (flags[s] or not is_known)  # whoever works on a stripe sees what happens there
        count += flags[s]
    return count


@lean_inner
def _sampled(
    graph: Graph, stripes: Stripes, events: Events, shrinking: bool, scratch: Scratch, flags: Flags, count: int
) -> int:
    """Return what the work on ``count`` stripes takes, about, by a sample of them; 0 where they are few."""
    if count < MANY_STRIPES:
        return 0
    counts, width, step, seen = scratch.counts, stripes.width, max(count // SAMPLES, SAMPLE_PART), 0
    cost, looked, known = counts[COST], counts[LOOKED], counts[CHANGED]
    for s in range(len(flags)):
        seen += flags[s]
        if flags[s] and seen % step == step // 2:
            start, length, place = stripes.starts[s], np.int64(stripes.lengths[s]), stripes.places[s]
            words = stripes.words[place : place + length] if place != PLAIN else stripes.words[:0]
            view = View(stripes.numbers[start : start + length], words, s * width, width, _ZERO)
            changed_words(graph, view, events, shrinking, scratch)
    taken: int = (counts[COST] - cost) * step
    counts[COST], counts[LOOKED], counts[CHANGED] = cost, looked, known
    return taken


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
