"""Questions to a version of a closure in lanes: pairs, rows, columns, sizes, and rows that differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.bits import lowest, popcount
from dyntc_spark.kernels.compile import compiled, lean, lean_inner
from dyntc_spark.kernels.ids import Flags, Ids, Offsets, Words
from dyntc_spark.kernels.lanes.arrays import copy, room
from dyntc_spark.kernels.lanes.bit_queue import add, drain, new_queue
from dyntc_spark.kernels.lanes.columns import Columns, every
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.line import LINE, NUMBERS, below, having, prefetch
from dyntc_spark.kernels.lanes.stripes import (
    LANES,
    PLAIN,
    Stripes,
    entries,
    has_plain,
    is_outside,
    position,
    row,
    word_at,
)

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_LOW, _HIGHEST = 2**32 - 1, 2**31 - 1
_NEAR = 256  # entries that are brought near while the row before is listed
_FEW = 64  # vertices that are sorted by comparing each with all others
_NO_COLUMNS = Columns(np.zeros((1, 1), np.uint64), 31)  # for rows


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
            found[q] = length > 0 and has_plain(numbers, width, start, length, lane, d)
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
def _chosen_row(version: Version, c: int, numbers: Ids) -> int:
    """Do what `_row` does, eight entries at a time: a processor cannot guess which of them have a lane."""
    stripes, width = version.stripes, version.stripes.width
    s, bit = c // width, _ONE << np.uint64(c % width)
    start, place, words, count = stripes.starts[s], stripes.places[s], stripes.words, 0
    if place == PLAIN:
        return _row(version, c, numbers)
    end = np.int64(stripes.lengths[s]) - 1  # the last has no lane
    for part in range(0, end, LANES):
        chosen = _ZERO
        if place + part + LANES <= len(words):  # words of other stripes are looked at, too
            for k in range(0, LANES, LINE):
                chosen |= having(words, place + part + k, bit) << np.uint64(k)
        else:
            for k in range(min(LANES, end - part)):
                chosen |= np.uint64(words[place + part + k] & bit != _ZERO) << np.uint64(k)
        if end - part < LANES:
            chosen &= (_ONE << np.uint64(end - part)) - _ONE
        while chosen:
            at = start + part + lowest(chosen)
            chosen &= chosen - _ONE
            for number in range(stripes.numbers[at], stripes.numbers[at + 1]):
                numbers[count] = number
                count += 1
    numbers[count] = c
    return count + 1


@lean_inner
def _call(stripes: Stripes, c: int) -> None:
    """Let the processor bring near the entries that have the row of a component, as far as they are few."""
    s = c // stripes.width
    start, place = stripes.starts[s], stripes.places[s]
    if place != PLAIN:
        for k in range(0, min(np.int64(stripes.lengths[s]), _NEAR), LINE):
            prefetch(stripes.words, place + k)
            prefetch(stripes.numbers, start + k)


@lean_inner
def _write_few(members: Members, numbers: Ids, count: int, few: Ids, found: Ids, begin: int) -> int:
    """Write the members of some components, ascending; return how many there are, or -1 if more than `_FEW`.

    Each is put where it belongs: behind those that are below it, which are counted sixteen at a time.
    """
    size = np.int64(0)
    for k in range(count):
        if size + members.size[numbers[k]] > _FEW:
            return -1
        size = _append(members, numbers[k], few, size)
    for k in range(size, size + NUMBERS):
        few[k] = _HIGHEST
    for k in range(size):
        place = begin
        for at in range(0, size, NUMBERS):
            place += below(few, at, few[k])
        found[place] = few[k]
    written: int = size
    return written


@lean_inner
def _column(version: Version, columns: Columns, d: int, numbers: Ids) -> int:
    """Write the components that reach a component, itself included; return how many.

    A look at every stripe that ``columns`` names.
    """
    stripes, count, width = version.stripes, 0, version.stripes.width
    block = d >> columns.shift
    for k in range(columns.bits.shape[1]):
        some = columns.bits[block, k]
        while some:
            s = (k << 6) + lowest(some)
            some &= some - _ONE
            if s >= len(stripes.starts) or is_outside(stripes, s, d):
                continue
            word = word_at(stripes, s, d)
            while word:
                numbers[count] = s * width + lowest(word)
                count += 1
                word &= word - _ONE
    numbers[count] = d
    return count + 1


def lists(version: Version, vertices: Ids, forwards: bool, columns: Columns | None = None) -> tuple[Offsets, Ids]:
    """Return for each of ``vertices`` what it reaches, or what reaches it, ascending, as offsets and vertices.

    Without an index, all stripes are looked at for what reaches a vertex.
    """
    if columns is None:
        columns = _NO_COLUMNS if forwards else every(version.stripes)
    return _lists(version, vertices, forwards, columns)


@compiled
def _lists(version: Version, vertices: Ids, forwards: bool, columns: Columns) -> tuple[Offsets, Ids]:
    """Return the lists; vertices of one component that follow each other are worked out once."""
    component = version.members.component
    bits, upper, top = new_queue(len(component))
    offsets, found = np.zeros(len(vertices) + 1, np.int64), np.empty(max(64, 8 * len(vertices)), np.int32)
    numbers, few = np.empty(len(component) + 1, np.int32), np.empty(_FEW + NUMBERS, np.int32)
    for q in range(len(vertices)):
        c, begin = np.int64(component[vertices[q]]), offsets[q]
        if forwards and q + 1 < len(vertices):
            _call(version.stripes, np.int64(component[vertices[q + 1]]))
        if q and component[vertices[q - 1]] == c:
            size = begin - offsets[q - 1]
            found = room(found, begin, size)
            copy(found, offsets[q - 1], begin, found, begin)
        else:
            count = _chosen_row(version, c, numbers) if forwards else _column(version, columns, c, numbers)
            found = room(found, begin, _FEW)
            size = _write_few(version.members, numbers, count, few, found, begin)
            if size < 0:
                size = _queue_members(version.members, numbers, count, bits, upper, top)
                found = room(found, begin, size)
                drain(bits, upper, top, found[begin:])
        offsets[q + 1] = begin + size
    return offsets, found[: offsets[-1]]


def spread(near: Ids, offsets: Offsets, far: Ids) -> tuple[Offsets, Offsets]:
    """Return each of ``near`` as often as its part of ``far`` is long, and ``far``."""
    sources, targets = np.empty(len(far), np.int64), np.empty(len(far), np.int64)  # numpy asks for large pages
    _spread(near, offsets, far, sources, targets)
    return sources, targets


@lean
def _spread(near: Ids, offsets: Offsets, far: Ids, sources: Offsets, targets: Offsets) -> None:
    for q in range(len(near)):
        for k in range(offsets[q], offsets[q + 1]):
            sources[k], targets[k] = near[q], far[k]


def unfolded(members: Members, vertices: Ids, numbers: Ids, offsets: Offsets, found: Ids) -> tuple[Offsets, Ids]:
    """Return lists of vertices, as `lists` does, where ``found`` has lists of components for ``numbers``, ascending.

    A component is in no list of its own, and is added.
    """
    return _unfolded(members, vertices, numbers, offsets, found)


@compiled
def _unfolded(members: Members, vertices: Ids, numbers: Ids, offsets: Offsets, found: Ids) -> tuple[Offsets, Ids]:
    bits, upper, top = new_queue(len(members.size))
    places, total = np.empty(len(vertices), np.int64), 0
    for q in range(len(vertices)):
        places[q] = np.searchsorted(numbers, members.component[vertices[q]])
        total += members.size[numbers[places[q]]]
        for k in range(offsets[places[q]], offsets[places[q] + 1]):
            total += members.size[found[k]]
    ends, listed = np.zeros(len(vertices) + 1, np.int64), np.empty(total, np.int32)
    for q in range(len(vertices)):
        place, begin = places[q], ends[q]
        size = _queue_members(members, numbers[place:], 1, bits, upper, top)
        count = offsets[place + 1] - offsets[place]
        size += _queue_members(members, found[offsets[place] :], count, bits, upper, top)
        drain(bits, upper, top, listed[begin:])
        ends[q + 1] = begin + size
    return ends, listed


@lean_inner
def _queue_members(members: Members, numbers: Ids, count: int, bits: Words, upper: Words, top: Words) -> int:
    """Add the members of some components to a queue; return how many there are."""
    first, after, sizes, total = members.first, members.after, members.size, 0
    for k in range(count):
        size = np.int64(sizes[numbers[k]])
        v = np.int64(first[numbers[k]])
        add(bits, upper, top, v)
        for _ in range(1, size):
            v = np.int64(after[v])
            add(bits, upper, top, v)
        total += size
    return total


def pairs(version: Version) -> int:
    """Return how many pairs of different vertices there are of which one reaches the other: a pass over the entries."""
    sizes = version.members.size
    return pairs_within(sizes) + int(stripe_pairs(version.stripes, weights(sizes)).sum())


def pairs_within(sizes: Ids) -> int:
    """Return how many pairs of different vertices of the same component there are, where components have ``sizes``."""
    wide = sizes.astype(np.int64)
    return int((wide * (wide - 1)).sum())


class Weights(NamedTuple):
    """How many vertices components have."""

    sizes: Ids
    before: Offsets  #: for each number how many vertices are in components with smaller ones


def weights(sizes: Ids) -> Weights:
    """Return the weights of components that have ``sizes``."""
    before = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=before[1:])
    return Weights(sizes, before)


def stripe_pairs(stripes: Stripes, weights: Weights, which: Ids | None = None, first: int = 0) -> Offsets:
    """Return how many pairs of vertices of different components each stripe has.

    ``which``: the stripes that count, by default all. ``first``: the number of the first of ``stripes``.
    """
    if which is None:
        which = np.arange(len(stripes.starts), dtype=np.int32)
    return _stripe_pairs(stripes, weights, which, first)


@compiled
def _stripe_pairs(stripes: Stripes, weights: Weights, which: Ids, first: int) -> Offsets:
    found, width = np.zeros(len(which), np.int64), stripes.width
    for place in range(len(which)):
        s = np.int64(which[place])
        lane = (first + s) * width
        single = several = _ZERO  # lanes of one vertex, and of more
        for k in range(min(width, len(weights.sizes) - lane)):
            if weights.sizes[lane + k] == 1:
                single |= _ONE << np.uint64(k)
            elif weights.sizes[lane + k] > 1:
                several |= _ONE << np.uint64(k)
        firsts, words = entries(stripes, s)
        for k in range(len(firsts) - 1):
            lanes, word = np.int64(popcount(words[k] & single)), words[k] & several
            while word:
                lanes += weights.sizes[lane + lowest(word)]
                word &= word - _ONE
            found[place] += lanes * (weights.before[firsts[k + 1]] - weights.before[firsts[k]])
    return found


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
