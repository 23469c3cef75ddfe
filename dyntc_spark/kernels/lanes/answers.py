"""Questions to a version of a closure in lanes: pairs, rows, columns, sizes, and what a batch changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.block import Words
from dyntc_spark.kernels.compile import compiled, inner, lean, lean_inner
from dyntc_spark.kernels.lanes.arrays import copy, room
from dyntc_spark.kernels.lanes.bit_queue import Queue, add, drain, new_queue
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.stripes import (
    LANES,
    PLAIN,
    Spread,
    Stripes,
    entries,
    has_plain,
    position,
    row,
    spread,
    word_at,
)
from dyntc_spark.kernels.reach import Flags, Ids, Offsets

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_NONE = 2**31 - 1  # above every number


class Version(NamedTuple):
    """A closure as it was after some batch; nobody changes it."""

    members: Members
    stripes: Stripes
    vertices: int  #: how many there are; arrays by vertex may be longer
    edges: int


def joined(version: Version, sources: Offsets, targets: Offsets) -> Flags:
    """Return for each pair of vertices whether the first reaches the second: a binary search each.

    Empty when an end is no vertex, or when there are not as many sources as targets.
    """
    found = np.empty(len(sources), np.bool_)
    component, vertices = version.members.component, version.vertices
    return found if _joined(component, *version.stripes, vertices, sources, targets, found) else found[:0]


@lean
def _joined(
    component: Ids,
    starts: Offsets,
    lengths: Ids,
    places: Offsets,
    numbers: Ids,
    words: Words,
    width: int,
    vertices: int,
    sources: Offsets,
    targets: Offsets,
    found: Flags,
) -> bool:
    """Answer questions; return whether all ends are vertices.

    Takes the arrays of a version one by one: handing over tuples takes longer than to answer one question.
    """
    if len(sources) != len(targets):
        return False
    for q in range(len(sources)):
        u, v = sources[q], targets[q]
        if not (0 <= u < vertices and 0 <= v < vertices):
            return False
        c, d = np.int64(component[u]), component[v]
        s = c >> 6 if width == LANES else c // width
        lane, start, length = c - s * width, starts[s], np.int64(lengths[s])
        if c == d:
            found[q] = True
        elif places[s] == PLAIN:
            found[q] = length > 0 and has_plain(numbers, width, start, lane, d)
        else:
            before = position(numbers, start, length, d)
            word = words[places[s] + before - 1] if before else _ZERO
            found[q] = (word >> np.uint64(lane)) & _ONE != _ZERO
    return True


@lean_inner
def _append(members: Members, c: int, found: Ids, end: int) -> int:
    """Write the members of a component; return where they end."""
    v = members.first[c]
    for _ in range(members.size[c]):
        found[end] = v
        end += 1
        v = members.after[v]
    return end


@lean_inner
def _row(version: Version, c: int, numbers: Ids) -> int:
    """Write the components that a component reaches, itself included; return how many."""
    width = version.stripes.width
    count = row(version.stripes, c // width, c % width, numbers)
    numbers[count] = c
    return count + 1


@lean_inner
def _column(version: Version, d: int, numbers: Ids) -> int:
    """Write the components that reach a component, itself included; return how many: a look at every stripe."""
    stripes, count, width = version.stripes, 0, version.stripes.width
    for s in range(len(stripes.starts)):
        start, length = stripes.starts[s], stripes.lengths[s]
        if length == 0 or (
            stripes.places[s] == PLAIN and not _occurs(stripes.numbers, start + width, start + length, d)
        ):
            continue
        word = word_at(stripes, s, d)
        while word:
            numbers[count] = s * width + lowest(word)
            count += 1
            word &= word - _ONE
    numbers[count] = d
    return count + 1


@lean_inner
def _occurs(numbers: Ids, begin: int, end: int, number: int) -> bool:
    """Return whether a number is in a part of an array: a loop for vector instructions, hence without a break."""
    count = 0
    for k in range(begin, end):
        count += numbers[k] == np.int32(number)
    return count > 0


def lists(version: Version, vertices: Ids, forwards: bool) -> tuple[Offsets, Ids]:
    """Return for each of ``vertices`` what it reaches, or what reaches it, ascending, as offsets and vertices."""
    return _lists(version, vertices, forwards, new_queue(len(version.members.size)))


@compiled
def _lists(version: Version, vertices: Ids, forwards: bool, queue: Queue) -> tuple[Offsets, Ids]:
    """Return the lists; vertices of one component that follow each other are worked out once."""
    component, bits, upper, top = version.members.component, queue.bits, queue.upper, queue.top
    offsets, found = np.zeros(len(vertices) + 1, np.int64), np.empty(max(16, len(vertices)), np.int32)
    numbers = np.empty(len(component) + 1, np.int32)
    for q in range(len(vertices)):
        c, begin = np.int64(component[vertices[q]]), offsets[q]
        if q and component[vertices[q - 1]] == c:
            size = begin - offsets[q - 1]
            found = room(found, begin, size)
            copy(found, offsets[q - 1], begin, found, begin)
        else:
            count = _row(version, c, numbers) if forwards else _column(version, c, numbers)
            size = _queue_members(version.members, numbers, count, bits, upper, top)
            found = room(found, begin, size)
            drain(bits, upper, top, found[begin:])
        offsets[q + 1] = begin + size
    return offsets, found[: offsets[-1]]


@lean_inner
def _queue_members(members: Members, numbers: Ids, count: int, bits: Words, upper: Words, top: Words) -> int:
    """Add the members of some components to a queue; return how many there are."""
    first, after, sizes, total = members.first, members.after, members.size, 0
    for k in range(count):
        size = np.int64(sizes[numbers[k]])
        v = np.int64(first[numbers[k]])
        for _ in range(size):
            add(bits, upper, top, v)
            v = np.int64(after[v])
        total += size
    return total


def pairs(version: Version) -> int:
    """Return how many pairs of different vertices there are of which one reaches the other: a pass over the entries."""
    sizes = version.members.size.astype(np.int64)
    return int((sizes * (sizes - 1)).sum()) + pairs_between(version.stripes, version.members.size)


def pairs_between(stripes: Stripes, sizes: Ids) -> int:
    """Return how many pairs of vertices of different components the stripes have, where components have ``sizes``."""
    before = np.zeros(len(sizes) + 1, np.int64)  # members of all smaller numbers
    np.cumsum(sizes, out=before[1:])
    return _pairs_between(stripes, sizes, before, spread(len(sizes)))


@compiled
def _pairs_between(stripes: Stripes, sizes: Ids, before: Offsets, scratch: Spread) -> int:
    total = 0
    for s in range(len(stripes.starts)):
        firsts, words = entries(stripes, s, scratch)
        for k in range(len(firsts) - 1):
            word, lanes = words[k], 0
            while word:
                lanes += sizes[s * stripes.width + lowest(word)]
                word &= word - _ONE
            total += lanes * (before[firsts[k + 1]] - before[firsts[k]])
    return total


def xor(old: Version, new: Version, altered: Ids) -> tuple[Offsets, Offsets]:
    """Return the keys of the pairs that are new and of those that are gone, where all components are as they were.

    A pass over the old and the new entries of the stripes that were altered.
    """
    won, lost = _xor(old, new, altered, spread(len(new.members.size)))
    return np.sort(won), np.sort(lost)


@compiled
def _xor(old: Version, new: Version, altered: Ids, scratch: Spread) -> tuple[Offsets, Offsets]:
    won, lost, ends = np.empty(64, np.int64), np.empty(64, np.int64), np.zeros(2, np.int64)
    for stripe in altered:
        s = np.int64(stripe)
        firsts, words = entries(old.stripes, s, scratch)
        new_firsts, new_words = entries(new.stripes, s, scratch)
        count, new_count = len(firsts), len(new_firsts)
        k = m = 0
        before = after = _ZERO
        while k < count or m < new_count:
            begin = min(firsts[k] if k < count else _NONE, new_firsts[m] if m < new_count else _NONE)
            if k < count and firsts[k] == begin:
                before = words[k]
                k += 1
            if m < new_count and new_firsts[m] == begin:
                after = new_words[m]
                m += 1
            if before == after:
                continue
            end = min(firsts[k] if k < count else _NONE, new_firsts[m] if m < new_count else _NONE)
            won = _unfold(new.members, s * new.stripes.width, after & ~before, begin, end, won, ends[:1])
            lost = _unfold(new.members, s * new.stripes.width, before & ~after, begin, end, lost, ends[1:])
    return won[: ends[0]], lost[: ends[1]]


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


def compared(old: Version, new: Version, vertices: Ids) -> tuple[Offsets, Offsets]:
    """Return the keys of the pairs that are new and of those that are gone, by the rows of ``vertices``."""
    won, lost = _compared(old, new, vertices)
    return np.sort(won), np.sort(lost)


@compiled
def _compared(old: Version, new: Version, vertices: Ids) -> tuple[Offsets, Offsets]:
    won, lost = np.empty(64, np.int64), np.empty(64, np.int64)
    n_won = n_lost = np.int64(0)
    size = len(new.members.size)
    numbers, row_old, row_new = np.empty(size + 1, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    marks = np.full(size, -1, np.int32)
    for u in vertices:
        n_old = n_new = np.int64(0)
        if u < old.vertices:
            for k in range(_row(old, np.int64(old.members.component[u]), numbers)):
                n_old = _append(old.members, numbers[k], row_old, n_old)
        else:
            row_old[0], n_old = u, np.int64(1)
        for k in range(_row(new, np.int64(new.members.component[u]), numbers)):
            n_new = _append(new.members, numbers[k], row_new, n_new)
        won, lost = room(won, n_won, n_new), room(lost, n_lost, n_old)
        for v in row_old[:n_old]:
            marks[v] = u
        for v in row_new[:n_new]:
            if marks[v] != u:
                won[n_won] = (np.int64(u) << 32) | v
                n_won += 1
            marks[v] = -1
        for v in row_old[:n_old]:
            if marks[v] == u:
                lost[n_lost] = (np.int64(u) << 32) | v
                n_lost += 1
    return won[:n_won], lost[:n_lost]
