"""Entries, order and numbering of lanes, each against a plain twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.kernels.lanes import adjacency, arrays, bit_queue, numbering, order, stripes

NUMBERS = 40
words = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 2**63, 2**64 - 1]), min_size=NUMBERS, max_size=NUMBERS)


def entries_of(dense):
    firsts, held = np.empty(2 * len(dense) + 2, np.int32), np.empty(2 * len(dense) + 2, np.uint64)
    count = 0
    for number, word in enumerate([*dense, 0]):
        count = stripes.put(firsts, held, count, number, np.uint64(word))
    return firsts[:count], held[:count]


def stripe_of(dense, plain):
    firsts, held = entries_of(dense)
    if not plain:
        zero = np.zeros(1, np.int64)
        return stripes.Stripes(zero, np.array([len(firsts)], np.int32), zero, firsts, held, 64)
    pairs = sum(int(word).bit_count() for word in dense)
    size = stripes.plain_size(pairs)
    numbers = np.zeros(size, np.int32)
    if size:
        stripes.write_plain(firsts, held, len(firsts), 64, numbers, 0)
    return stripes.Stripes(
        np.zeros(1, np.int64),
        np.array([size], np.int32),
        np.array([stripes.PLAIN]),
        numbers,
        np.zeros(0, np.uint64),
        64,
    )


@given(words, st.booleans())
def test_a_stripe_says_its_words_in_both_forms(dense, plain):
    stripe = stripe_of(dense, plain)
    assert [int(stripes.word_at(stripe, 0, number)) for number in range(NUMBERS)] == dense
    for lane in (0, 1, 63):
        row = np.empty(NUMBERS, np.int32)
        count = stripes.row(stripe, 0, lane, row)
        expected = [number for number, word in enumerate(dense) if word >> lane & 1]
        assert row[:count].tolist() == expected
        assert [number for number in range(NUMBERS) if stripes.has_bit(stripe, 0, lane, number)] == expected
    firsts, held = stripes.entries(stripe, 0)
    assert firsts.tolist() == entries_of(dense)[0].tolist()
    assert held.tolist() == entries_of(dense)[1].tolist()


@given(
    words, st.dictionaries(st.integers(0, NUMBERS - 1), st.sampled_from([0, 1, 2, 2**63])), st.sampled_from([0, 1, 3])
)
def test_revised_entries_are_those_of_the_revised_words(dense, changes, clear):
    changes = {number: word & ~clear for number, word in changes.items()}
    expected = [changes.get(number, word & ~clear) for number, word in enumerate(dense)]
    firsts, held = entries_of(dense)
    room = len(firsts) + 2 * len(changes) + 2
    to, to_words = np.empty(room, np.int32), np.empty(room, np.uint64)
    numbers = np.array(sorted(changes), np.int32)
    values = np.array([changes[number] for number in sorted(changes)], np.uint64)
    count = stripes.revised(firsts, held, numbers, values, np.uint64(clear), to, to_words)
    assert to[:count].tolist() == entries_of(expected)[0].tolist()
    assert to_words[:count].tolist() == entries_of(expected)[1].tolist()


@given(words)
def test_a_stripe_is_plain_where_that_is_smaller(dense):
    firsts, held = entries_of(dense)
    pairs = sum(int(word).bit_count() for word in dense)
    smaller = 4 * stripes.plain_size(pairs) < 12 * len(firsts)
    assert stripes.plain_pairs(firsts, held, 0, 0, len(firsts), 64) == (pairs if smaller else -1)


def test_a_stripe_whose_keys_would_be_too_large_is_not_plain():
    """Keys of 31 bits: with 64 lanes, numbers that are less than 2**25 apart."""
    held = np.array([1, 0, 2**63, 0], np.uint64)
    for last, pairs in ((2**25 - 1, 2), (2**25, -1)):
        firsts = np.array([7, 8, 7 + last, 8 + last], np.int32)
        assert stripes.plain_pairs(firsts, held, 0, 0, 4, 64) == pairs
    kept = np.empty(3, np.int32)
    firsts = np.array([7, 8, 6 + 2**25, 7 + 2**25], np.int32)
    stripes.write_plain(firsts, held, 4, 64, kept, 0)
    assert kept.tolist() == [7, 0, 2**31 - 1]
    stripe = stripes.Stripes(np.zeros(1, np.int64), np.array([3], np.int32), np.array([-1]), kept, held[:0], 64)
    assert stripes.entries(stripe, 0)[0].tolist() == firsts.tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(10, 29), max_size=5, unique=True)), max_size=12))
def test_an_order_is_a_list_with_ascending_labels(moves):
    kept = order.ordered(np.arange(10, dtype=np.int32), 30)
    expected = list(range(10))
    for anchor, nodes in moves:
        for node in nodes:
            if node in expected:
                order.remove(kept, node)
                expected.remove(node)
        order.put_below(kept, anchor, np.array(nodes, np.int32)) if nodes else None
        place = expected.index(anchor)
        expected[place:place] = nodes[::-1]
    listed, at = [], kept.ends[0]
    while at >= 0:
        listed.append(int(at))
        at = kept.above[at]
    assert listed == expected
    assert (np.diff(kept.labels[listed]) > 0).all()


def test_labels_are_given_anew_when_a_gap_is_used_up():
    kept = order.ordered(np.arange(2, dtype=np.int32), 102)
    for node in range(2, 102):
        order.put_below(kept, 1, np.array([node], np.int32))
    expected = [0, *range(2, 102), 1]
    assert np.argsort(kept.labels, kind="stable").tolist() == expected


@given(
    st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))
)
def test_adjacency_inserts_and_deletes(start, change):
    def keys(pairs):
        return np.array(sorted((u << 32) | v for u, v in pairs), np.int64)

    offsets = np.searchsorted(keys(start), np.arange(9, dtype=np.int64) << 32)
    rows = adjacency.adjacency(offsets, (keys(start) & 0xFFFFFFFF).astype(np.int32), 8)
    gone, new = start & change, change - start
    adjacency.delete(rows, keys(gone), np.zeros(8, np.int8))
    needed = int(rows.used[0]) + adjacency.reserve(rows, keys(new))
    rows = adjacency.moved(rows, needed, 8)
    rows = adjacency.moved(rows, int(rows.used[0]) + adjacency.reserve(rows, keys(new)), 8)
    for u, v in sorted(new):
        adjacency.insert(rows, u, v)
    assert sorted(adjacency.keys_in(rows).tolist()) == keys((start - gone) | new).tolist()


@given(st.sets(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=60))
def test_a_tree_cover_numbers_every_component_once(pairs):
    edges = sorted((max(pair), min(pair)) for pair in pairs if pair[0] != pair[1])
    edges = sorted(set(edges))
    offsets = np.searchsorted([u for u, _ in edges], np.arange(21)).astype(np.int64)
    found = numbering.tree_cover(offsets, np.array([v for _, v in edges], np.int32))
    assert sorted(found.tolist()) == list(range(20))


@given(st.sets(st.integers(0, 300_000), max_size=200))
def test_a_queue_gives_integers_in_order(values):
    queue = bit_queue.new_queue(300_001)
    for value in values:
        bit_queue.add(*queue, value)
    found = np.empty(len(values), np.int32)
    assert bit_queue.drain(*queue, found) == len(values)
    assert found.tolist() == sorted(values)
    assert not any(level.any() for level in queue)


def test_an_array_gets_longer_only_where_it_has_no_room():
    array = np.arange(3)
    assert arrays.room(array, 2, 1) is array
    longer = arrays.room(array, 3, 4)
    assert longer[:3].tolist() == [0, 1, 2]
    assert len(longer) >= 7


def test_an_absent_stripe_has_no_words():
    held = np.array([0], np.int64), np.array([stripes.ABSENT], np.int32), np.array([0], np.int64)
    absent = stripes.Stripes(*held, np.zeros(9, np.int32), np.ones(9, np.uint64), 64)
    assert stripes.position(absent.numbers, 0, stripes.ABSENT, 3) == 0
    assert stripes.word_at(absent, 0, 3) == 0
    assert not stripes.has_bit(absent, 0, 0, 3)
