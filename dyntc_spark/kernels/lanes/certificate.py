"""The certificate of a closure in lanes: every word is what its predecessors ask for.

On an acyclic condensation the equations of the package's header have one solution. So it is enough to
look whether they hold: each word contains those of its predecessors (nothing is missing), and has no bit but
its own and theirs (nothing is there without a path). One pass over the words, times the edges that leave them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.compile import compiled, inner
from dyntc_spark.kernels.ids import Ids, Offsets, Words
from dyntc_spark.kernels.lanes.build import Plan
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.stripes import Stripes, bit_of, entries

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_LOW = 2**32 - 1


class Space(NamedTuple):
    """Two words for each number, 0 between two stripes: the one that is kept, and the one that is asked for."""

    kept: Words
    asked: Words


def new_space(plan: Plan) -> Space:
    """Return space for the stripes of a graph, one after the other."""
    return Space(np.zeros(len(plan.indices), np.uint64), np.zeros(len(plan.indices), np.uint64))


def named(missing: Offsets, members: Members) -> Offsets:
    """Return pairs of components, as keys, as pairs of vertices of these."""
    first = members.first.astype(np.int64)
    found: Offsets = (first[missing >> 32] << 32) | first[missing & _LOW]
    return found


@compiled
def wrong(plan: Plan, stripes: Stripes, space: Space) -> tuple[Offsets, int]:
    """Return keys of missing pairs of components, one at least for each wrong lane, and how many words say too much.

    Stripes that are absent are left out.
    """
    width, held = stripes.width, 0
    for length in stripes.lengths:
        held += length >= 0
    missing, n_missing, extra = np.empty(held * width, np.int64), np.int64(0), 0
    for s in range(len(stripes.starts)):
        if stripes.lengths[s] < 0:  # it is somewhere else
            continue
        firsts, words = entries(stripes, s)
        begin, end = s * width, min((s + 1) * width, len(plan.indices))
        _spread(plan, space, firsts, words, begin, end)
        lacking = _ZERO
        for k in range(len(firsts) - 1):
            for number in _span(firsts, words, k):
                lacking, n_missing = _ask(plan, space, number, begin, lacking, missing, n_missing)
        for number in range(begin, end):
            lacking, n_missing = _ask(plan, space, number, begin, lacking, missing, n_missing)
        extra += _clear(space, firsts, words, begin, end)
    return missing[:n_missing], extra


@inner
def _span(firsts: Ids, words: Words, k: int) -> range:
    """Return the numbers of an entry; none where its word is 0, for these may be most of all."""
    return range(np.int64(firsts[k]), np.int64(firsts[k + 1] if words[k] else firsts[k]))


@inner
def _spread(plan: Plan, space: Space, firsts: Ids, words: Words, begin: int, end: int) -> None:
    """Put the words of a stripe, and the own bits of its lanes, into their places."""
    kept, asked = space
    for k in range(len(firsts) - 1):
        for number in _span(firsts, words, k):
            kept[number] = words[k]
    for number in range(begin, end):
        if plan.indices[number] >= 0:
            own = bit_of(number, begin, end - begin)
            kept[number] |= own
            asked[number] = own


@inner
def _clear(space: Space, firsts: Ids, words: Words, begin: int, end: int) -> int:
    """Make all words 0; return how many have a bit that nobody asked for."""
    kept, asked = space
    extra = 0
    for k in range(len(firsts) - 1):
        for number in _span(firsts, words, k):
            extra += kept[number] & ~asked[number] != _ZERO
            kept[number] = asked[number] = _ZERO
    for number in range(begin, end):
        kept[number] = asked[number] = _ZERO
    return extra


@inner
def _ask(
    plan: Plan, space: Space, number: int, begin: int, lacking: np.uint64, missing: Offsets, n_missing: int
) -> tuple[np.uint64, int]:
    """Ask for the word of a component at its successors; note a pair for each lane that lacks its first one.

    Return the lanes that lack some by now, and how many pairs are noted. ``begin`` is the first lane.
    """
    kept, asked = space
    index, word = np.int64(plan.indices[number]), kept[number]
    if index < 0 or not word:
        return lacking, n_missing
    for place in range(plan.offsets[index], plan.offsets[index + 1]):
        after = np.int64(plan.numbers[plan.targets[place]])
        if kept[after]:  # else it is missing altogether, and not among those that are made 0 again
            asked[after] |= word
        bits = word & ~kept[after] & ~lacking
        lacking |= bits
        while bits:
            missing[n_missing] = ((begin + lowest(bits)) << 32) | after
            n_missing += 1
            bits &= bits - _ONE
    return lacking, n_missing
