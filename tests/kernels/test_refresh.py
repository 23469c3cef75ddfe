"""Kernels of pools and of the engine ``refresh`` against sets that anyone can read."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.kernels import pool, refresh, refresh_rows

rows_of_sets = st.lists(st.sets(st.integers(0, 30), max_size=8), min_size=1, max_size=9)


def pooled(sets, room=0):
    lengths = np.array([len(numbers) for numbers in sets], np.int32)
    ends = np.cumsum(lengths, dtype=np.int64)
    numbers = [x for row in sets for x in sorted(row)]
    return pool.Rows(ends - lengths, lengths, np.array(numbers + [0] * room, np.int32)), len(numbers)


def as_sets(rows):
    return [
        rows.values[start : start + length].tolist() for start, length in zip(rows.starts, rows.lengths, strict=True)
    ]


def keys(pairs):
    return np.array(sorted((row << 32) + number for row, number in pairs), np.int64)


@st.composite
def revisions(draw):
    sets = draw(rows_of_sets)
    changes = st.sets(st.tuples(st.integers(0, len(sets) - 1), st.integers(0, 30)), max_size=12)
    return sets, draw(changes), draw(changes)


@given(revisions())
def test_rows_are_revised_and_compacted(revision):
    sets, inserted, deleted = revision
    rows, used = pooled(sets, room=300)
    touched = np.array(sorted({row for row, _ in inserted | deleted}), np.int32)
    starts, lengths = pool.revised(rows, used, touched, keys(inserted), keys(deleted))
    assert as_sets(rows) == [sorted(row) for row in sets]  # not before they are assigned

    wanted = [
        sorted({x for x in row if (r, x) not in deleted} | {x for at, x in inserted if at == r})
        for r, row in enumerate(sets)
    ]
    holes = rows.starts[touched], rows.lengths[touched]
    rows.starts[touched], rows.lengths[touched] = starts, lengths
    assert as_sets(rows) == wanted
    end = pool.settle(rows, used, touched, *holes)
    assert as_sets(rows) == wanted
    assert end <= used + lengths.sum()
    assert end == used or any(lengths > holes[1])
    end = pool.compact(rows, end)
    assert end == sum(len(row) for row in wanted)
    assert as_sets(rows) == wanted
    assert pool.keys(rows).tolist() == [(r << 32) + x for r, row in enumerate(wanted) for x in row]
    which, numbers = np.divmod(np.arange(31 * len(sets), dtype=np.int32), 31)
    found = pool.holds_each(rows, which, numbers)
    assert found.tolist() == [x in wanted[r] for r, x in zip(which, numbers, strict=True)]


@given(rows_of_sets, st.lists(st.integers(0, 8), max_size=3), st.integers(0, 10))
def test_ancestors_are_searched_for_until_there_are_too_many(sets, tails, limit):
    n = len(sets)
    sets, tails = [{x % n for x in row} for row in sets], [tail % n for tail in tails]
    rows, _ = pooled(sets)
    place = np.full(n, -1, np.int32)
    found = refresh.ancestors(rows, np.array(tails, np.int32), place, limit).tolist()
    slow, pending = set(tails), list(tails)
    while pending:
        new = sets[pending.pop()] - slow
        slow |= new
        pending.extend(new)
    assert set(found) == slow if len(slow) <= limit else limit < len(set(found)) <= max(limit + 1, len(set(tails)))
    assert len(set(found)) == len(found)
    assert [place[v] for v in found] == list(range(len(found)))
    assert np.count_nonzero(place >= 0) == len(found)


@given(rows_of_sets, st.sets(st.integers(0, 30), max_size=8), st.booleans())
def test_a_row_is_the_union_of_others_whatever_it_is_made_from(sets, base, with_room):
    """The row at hand saves sorting; it decides nothing."""
    sets = [row | {31 + r} for r, row in enumerate(sets)]  # row r belongs to component 31 + r
    own = 40
    rows, used = pooled([*sets, base], room=100)
    numbers = np.arange(31, 31 + len(sets), dtype=np.int32)
    order = np.sort((rows.lengths[:-1].astype(np.int64) << 32) + np.arange(len(sets)))
    marks, found = np.full(41, 7 * with_room, np.int32), np.empty(41, np.int32)
    count = refresh_rows._collect(own, rows.values, order, rows.starts, numbers, marks, 8, found)
    wanted = _closed(order, sets, own)
    assert set(found[:count].tolist()) == wanted
    graph = _only(rows, size=np.arange(1, 42, dtype=np.int32))
    kept, new, more = refresh_rows._write(graph, rows.starts[-1], rows.lengths[-1], found[:count], used, marks, 8)
    assert (kept, new) == (len(base & wanted), len(wanted - base))
    assert more == sum(x + 1 for x in wanted) - sum(x + 1 for x in base)
    assert rows.values[used : used + kept + new].tolist() == sorted(wanted)


def _closed(order, sets, own):
    """The union as it is read: the longest row first, and none whose component is there."""
    union = {own}
    for key in order[::-1]:
        if 31 + (key & 0xFFFFFFFF) not in union:
            union |= sets[key & 0xFFFFFFFF]
    return union


def _only(rows, size):
    none, numbers = np.zeros(0, np.int32), np.zeros(0, np.int64)
    edges = pool.Rows(numbers, none, none)
    return refresh.Condensed(none, none, none, size, none, numbers, rows, edges, edges)


def test_members_of_a_component_are_a_ring():
    after, first = refresh.ring(np.array([0, 3, 4]), np.array([0, 2, 3, 1], np.int32))
    assert first.tolist() == [0, 1]
    assert [int(after[v]) for v in (0, 2, 3, 1)] == [2, 3, 0, 1]
