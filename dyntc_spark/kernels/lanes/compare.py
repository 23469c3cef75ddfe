"""The words of two versions of a stripe: where they differ, and the pairs of vertices that this stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.compile import compiled, inner, lean_inner
from dyntc_spark.kernels.ids import Flags, Ids, Offsets, Words
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.arrays import room
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.stripes import LANES, Stripes, entries, word_at

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_NONE = 2**31 - 1  # above every number


def xor(old: Version, new: Version, altered: Ids) -> tuple[Offsets, Offsets]:
    """Return the keys of the pairs that are new and of those that are gone, where all components are as they were.

    A pass over the old and the new entries of the stripes that were altered.
    """
    won, lost = _xor(old, new, altered)
    return np.sort(won), np.sort(lost)


@compiled
def _xor(old: Version, new: Version, altered: Ids) -> tuple[Offsets, Offsets]:
    won, lost, ends = np.empty(64, np.int64), np.empty(64, np.int64), np.zeros(2, np.int64)
    for stripe in altered:
        s = np.int64(stripe)
        begins, upto, more, less = _runs(old.stripes, new.stripes, s)
        for k in range(len(begins)):
            won = _unfold(new.members, s * new.stripes.width, more[k], begins[k], upto[k], won, ends[:1])
            lost = _unfold(new.members, s * new.stripes.width, less[k], begins[k], upto[k], lost, ends[1:])
    return won[: ends[0]], lost[: ends[1]]


def counts(old: Version, new: Version, altered: Ids) -> tuple[int, int]:
    """Return how many keys `xor` would return: the same pass, and no pair is unfolded."""
    before = np.append(0, np.cumsum(new.members.size, dtype=np.int64))
    won, lost = _counts(old.stripes, new.stripes, before, altered)
    return int(won), int(lost)


@compiled
def _counts(old: Stripes, new: Stripes, before: Offsets, altered: Ids) -> tuple[int, int]:
    won = lost = 0
    for stripe in altered:
        s = np.int64(stripe)
        begins, upto, more, less = _runs(old, new, s)
        for k in range(len(begins)):
            reached = before[upto[k]] - before[begins[k]]
            won += reached * _weight(before, s * new.width, more[k])
            lost += reached * _weight(before, s * new.width, less[k])
    return won, lost


@inner
def _weight(before: Offsets, lane: int, word: np.uint64) -> int:
    """Return how many vertices the components have that a word stands for."""
    total = 0
    while word:
        c = lane + lowest(word)
        word &= word - _ONE
        total += before[c + 1] - before[c]
    return total


class Runs(NamedTuple):
    """Where two versions of a stripe differ: from ``begins[k]`` on, before ``ends[k]``, by these bits."""

    begins: Ids
    ends: Ids
    won: Words  #: bits that only the new words have
    lost: Words  #: bits that only the old words have


def runs(old: Stripes, new: Stripes, s: int) -> Runs:
    """Return where a stripe differs from what it was: a pass over the old and the new entries."""
    return Runs(*_runs(old, new, s))


@compiled
def _runs(old: Stripes, new: Stripes, s: int) -> tuple[Ids, Ids, Words, Words]:
    firsts, words = entries(old, s)
    new_firsts, new_words = entries(new, s)
    count, new_count = len(firsts), len(new_firsts)
    begins, ends = np.empty(count + new_count, np.int32), np.empty(count + new_count, np.int32)
    won, lost = np.empty(count + new_count, np.uint64), np.empty(count + new_count, np.uint64)
    k = m = found = 0
    before = after = _ZERO
    while k < count or m < new_count:
        begin = min(firsts[k] if k < count else _NONE, new_firsts[m] if m < new_count else _NONE)
        if k < count and firsts[k] == begin:
            before = words[k]
            k += 1
        if m < new_count and new_firsts[m] == begin:
            after = new_words[m]
            m += 1
        if before != after:
            begins[found] = begin
            ends[found] = min(firsts[k] if k < count else _NONE, new_firsts[m] if m < new_count else _NONE)
            won[found], lost[found] = after & ~before, before & ~after
            found += 1
    return begins[:found], ends[:found], won[:found], lost[:found]


def unfolded(
    before: Offsets, vertices: Ids, lane: int, runs: Runs, words: Words, most: int
) -> Iterator[tuple[Ids, Ids]]:
    """Yield the pairs of vertices that words stand for, some at a time.

    Parameters
    ----------
    before, vertices
        For each component how many vertices are in those with smaller numbers, and the vertices in this order.
    lane
        The component of the first bit.
    runs, words
        Each of ``words`` holds in the run in the same place.
    most
        Pairs that are yielded at a time; at least as many as there are vertices.
    """
    cursor = np.zeros(3, np.int64)
    while cursor[0] < len(words):
        sources, targets = np.empty(most, np.int32), np.empty(most, np.int32)
        count = _unfold_some(before, vertices, lane, runs.begins, runs.ends, words, cursor, sources, targets)
        if count:
            yield sources[:count], targets[:count]


@compiled
def _unfold_some(
    before: Offsets,
    vertices: Ids,
    lane: int,
    begins: Ids,
    ends: Ids,
    words: Words,
    cursor: Offsets,
    sources: Ids,
    targets: Ids,
) -> int:
    """Write pairs from ``cursor`` on (a run, a bit of its word, a member of that component) while there is room."""
    run, bit, member = cursor[0], cursor[1], cursor[2]
    count = 0
    while run < len(words):
        begin, end = before[begins[run]], before[ends[run]]
        while bit < LANES and words[run] >> np.uint64(bit):
            first, last = before[lane + bit], before[lane + bit + 1]
            while (words[run] >> np.uint64(bit)) & _ONE and first + member < last:
                if count + end - begin > len(sources):
                    cursor[0], cursor[1], cursor[2] = run, bit, member
                    return count
                for k in range(begin, end):
                    sources[count], targets[count] = vertices[first + member], vertices[k]
                    count += 1
                member += 1
            bit, member = bit + 1, 0
        run, bit = run + 1, 0
    cursor[0] = run
    return count


@inner
def _unfold(
    members: Members, lane: int, word: np.uint64, begin: int, end: int, keys: Offsets, used: Offsets
) -> Offsets:
    """Append the keys of the pairs of vertices that a word stands for at the numbers from ``begin`` to ``end``."""
    while word:
        c = lane + lowest(word)
        word &= word - _ONE
        for d in range(begin, end):
            keys = room(keys, used[0], np.int64(members.size[c]) * members.size[d])
            u = members.first[c]
            for _ in range(members.size[c]):
                v = members.first[d]
                for _ in range(members.size[d]):
                    keys[used[0]] = (np.int64(u) << 32) | v
                    used[0] += 1
                    v = members.after[v]
                u = members.after[u]
    return keys


def sources(old: Version, new: Version, altered: Ids, changed: Ids) -> Ids:
    """Return the vertices that may reach others than before: lanes of altered stripes, and what reaches ``changed``."""
    return np.flatnonzero(_sources(old, new, altered, changed)).astype(np.int32)


@compiled
def _sources(old: Version, new: Version, altered: Ids, changed: Ids) -> Flags:
    width = new.stripes.width
    found = np.zeros(new.vertices, np.bool_)
    for stripe in altered:
        s = np.int64(stripe)
        for version in (old, new):
            for c in range(s * width, min((s + 1) * width, len(version.members.size))):
                _mark(version, c, found)
    for number in changed:
        d = np.int64(number)
        for version in (old, new):
            _mark(version, d, found)
            for s in range(len(version.stripes.starts)):
                word = word_at(version.stripes, s, d)
                while word:
                    _mark(version, s * width + lowest(word), found)
                    word &= word - _ONE
    return found


@lean_inner
def _mark(version: Version, c: int, found: Flags) -> None:
    v = version.members.first[c]
    for _ in range(version.members.size[c]):
        if v < len(found):
            found[v] = True
        v = version.members.after[v]
