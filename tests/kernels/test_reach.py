"""Reachability kernels against searches that anyone can read."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.kernels import reach


@st.composite
def digraphs(draw):
    n = draw(st.integers(1, 9))
    vertex = st.integers(0, n - 1)
    return n, sorted(draw(st.sets(st.tuples(vertex, vertex), max_size=24)))


def adjacency(n, edges):
    offsets = np.searchsorted([v for v, _ in edges], np.arange(n + 1)).astype(np.int64)
    return offsets, np.array([w for _, w in edges], np.int32)


def reached(n, edges):
    """Search from every vertex."""
    found = []
    for v in range(n):
        seen, pending = {v}, [v]
        while pending:
            u = pending.pop()
            new = {w for x, w in edges if x == u} - seen
            seen |= new
            pending.extend(new)
        found.append(seen)
    return found


@given(digraphs())
def test_components_are_mutually_reachable_and_numbered_backwards(graph):
    n, edges = graph
    component, count = reach.strong_components(*adjacency(n, edges))
    slow = reached(n, edges)
    assert sorted(set(component.tolist())) == list(range(count))
    for v in range(n):
        for w in range(n):
            assert (component[v] == component[w]) == (w in slow[v] and v in slow[w])
    assert all(component[v] >= component[w] for v, w in edges)


#: How rows meet: all as bits, none, or those that turn out to be long.
WAYS = {"bits": {"FEW": 4096}, "numbers": {"FEW": 0, "MANY": 0}, "numbers, then bits": {"FEW": 0, "LONG": 10**6}}


@pytest.mark.parametrize("way", WAYS)
@given(graph=digraphs())
def test_rows_columns_searches_and_members(way, graph):
    n, edges = graph
    offsets, targets = adjacency(n, edges)
    component, count = reach.strong_components(offsets, targets)
    member_offsets, members = reach.grouped(component, count)
    with mock.patch.multiple(reach, **WAYS[way]):
        rows = reach.closed_rows(offsets, targets, component, member_offsets, members)
    slow = reached(n, edges)

    ends, far = reach.spread(component, *rows, member_offsets, members)
    assert [far[a:b].tolist() for a, b in itertools.pairwise(ends)] == [sorted(seen) for seen in slow]

    columns = reach.transposed(*rows)
    ends, far = reach.spread(component, *columns, member_offsets, members)
    ancestors = [[u for u in range(n) if v in slow[u]] for v in range(n)]
    assert [far[a:b].tolist() for a, b in itertools.pairwise(ends)] == ancestors

    v, w = (ends.reshape(-1) for ends in np.meshgrid(np.arange(n), np.arange(n)))
    found = reach.holds(*rows, component[v], component[w])
    assert found.tolist() == [b in slow[a] for a, b in zip(v.tolist(), w.tolist(), strict=True)]

    assert reach.weights(*rows, member_offsets)[component].tolist() == [len(seen) for seen in slow]


@pytest.mark.parametrize("way", WAYS)
def test_a_long_path_needs_no_recursion_and_room_to_grow(way):
    n = 1200
    offsets, targets = np.minimum(np.arange(n + 1), n - 1), np.arange(1, n, dtype=np.int32)
    component, count = reach.strong_components(offsets, targets)
    graph = offsets, targets, component, *reach.grouped(component, count)
    with mock.patch.multiple(reach, **WAYS[way]):
        row_offsets, heads = reach.closed_rows(*graph)
        assert reach.closed_rows(*graph, 1000) is None
        assert reach.closed_rows(*graph, n * (n + 1) // 2) is not None
    assert np.array_equal(component, np.arange(n)[::-1])
    assert np.array_equal(np.diff(row_offsets), np.arange(1, n + 1))
    assert len(heads) == n * (n + 1) // 2
    assert all(np.array_equal(heads[row_offsets[c] : row_offsets[c + 1]], np.arange(c + 1)) for c in (0, 1, 700, n - 1))


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_without_is_a_difference_of_sets(keys, others):
    ascending = [np.array(sorted(chosen), np.int64) for chosen in (keys, others)]
    assert reach.without(*ascending).tolist() == sorted(keys - others)
