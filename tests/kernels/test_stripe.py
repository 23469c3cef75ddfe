"""Stripes of rows and their stored form; parts of a condensation closed apart, against the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels import reach, stripe, subgraph
from dyntc_spark.kernels.stripe import HEADER_SIZE, Stripe

lists = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6).map(sorted), max_size=9)


def striped(first, rows):
    lengths = np.array([len(row) for row in rows], np.int32)
    return Stripe.of(first, lengths, np.array([x for row in rows for x in row], np.int32))


def as_lists(held):
    return [held.heads[a:b].tolist() for a, b in zip(held.offsets[:-1], held.offsets[1:], strict=True)]


@given(lists, st.integers(0, 2**31 - 20))
def test_what_is_stored_comes_back(rows, first):
    held = striped(first, rows)
    payload = held.encode()
    back = Stripe.decode(payload)
    assert (back.first, as_lists(back)) == (first, rows)
    assert len(payload) == HEADER_SIZE + 4 * (len(rows) + len(held.heads))


@given(lists, st.data())
def test_any_damage_is_refused(rows, data):
    payload = bytearray(striped(3, rows).encode())
    place = data.draw(st.integers(0, len(payload) - 1))
    payload[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedBlockError):
        Stripe.decode(bytes(payload))
    with pytest.raises(DamagedBlockError):
        Stripe.decode(bytes(payload[: data.draw(st.integers(0, len(payload) - 1))]))


@given(lists, st.integers(1, 9))
def test_cut_into_stripes(rows, numbers):
    parts = list(striped(10, rows).cut(numbers))
    assert [row for part in parts for row in as_lists(part)] == rows
    assert [part.first for part in parts] == (10 + np.cumsum([0, *(part.rows for part in parts)])[:-1]).tolist()
    assert all(len(part.heads) < 2 * numbers or max(map(len, as_lists(part))) > numbers // 2 for part in parts)


@given(lists, st.dictionaries(st.integers(0, 12), st.lists(st.integers(0, 99), max_size=4).map(sorted), max_size=6))
def test_replaced_rows(rows, others):
    numbers = np.array(sorted(others), np.int32) + 5
    new = striped(0, [others[k] for k in sorted(others)])
    found = as_lists(striped(5, rows).replaced(numbers.astype(np.int32), new.offsets, new.heads))
    right = rows + [[]] * (max([len(rows), *(k + 1 for k in others)]) - len(rows))
    assert found == [others.get(k, row) for k, row in enumerate(right)]


@given(lists)
def test_rows_that_hold_a_number(rows):
    rows = [[x % 10 for x in row] for row in rows]
    held = striped(0, rows)
    wanted = np.zeros(10, bool)
    wanted[[2, 3]] = True
    found = set(zip(*(side.tolist() for side in stripe.holders(held.offsets, held.heads, wanted)), strict=True))
    assert found == {(r, x) for r, row in enumerate(rows) for x in row if x in {2, 3}}


@pytest.mark.parametrize("step", [0, 10**9], ids=["by search", "by merging"])
@pytest.mark.parametrize("ranges", [1, 3, 7])
@pytest.mark.parametrize("density", [0.5, 1.5, 4])
def test_ranges_closed_apart_are_the_whole(monkeypatch, step, ranges, density):
    monkeypatch.setattr(subgraph, "SEARCH_STEP", step)
    rng, n = np.random.default_rng(ranges), 101
    tails, heads = np.sort(rng.integers(n, size=(2, int(density * n))), axis=0)[::-1]
    order = np.lexsort((heads, tails))
    offsets, targets = np.searchsorted(tails[order], np.arange(n + 1)), heads[order].astype(np.int32)
    component, count = reach.strong_components(offsets, targets)
    grouped = reach.grouped(component, count)
    right = Stripe(0, *reach.closed_rows(offsets, targets, component, *grouped))
    found = []
    for part in subgraph.cut(*subgraph.contracted(offsets, targets, component, *grouped), ranges):
        ends, local = part.rows()
        found += as_lists(Stripe(0, ends, part.nodes[local]))
    assert found == as_lists(right)


def test_rows_are_given_up_when_they_are_too_many():
    n = 50
    offsets, targets = np.minimum(np.arange(n + 1), n - 1), np.arange(1, n, dtype=np.int32)
    component, count = reach.strong_components(offsets, targets)
    grouped = reach.grouped(component, count)
    assert reach.closed_rows(offsets, targets, component, *grouped, 1000) is None
    assert reach.closed_rows(offsets, targets, component, *grouped, n * (n + 1) // 2) is not None
