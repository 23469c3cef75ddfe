"""Reachability kernels against searches that anyone can read."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.kernels import components


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
    component, count = components.strong_components(*adjacency(n, edges))
    slow = reached(n, edges)
    assert sorted(set(component.tolist())) == list(range(count))
    for v in range(n):
        for w in range(n):
            assert (component[v] == component[w]) == (w in slow[v] and v in slow[w])
    assert all(component[v] >= component[w] for v, w in edges)


@given(digraphs())
def test_members_contracted_and_transposed_edges(graph):
    n, edges = graph
    offsets, targets = adjacency(n, edges)
    component, count = components.strong_components(offsets, targets)
    member_offsets, members = components.grouped(component, count)
    groups = [members[a:b].tolist() for a, b in itertools.pairwise(member_offsets)]
    assert groups == [[v for v in range(n) if component[v] == c] for c in range(count)]

    after, first = components.ring(member_offsets, members)
    for c, group in enumerate(groups):
        v, seen = first[c], []
        for _ in group:
            seen.append(v)
            v = after[v]
        assert v == first[c]
        assert sorted(seen) == group

    ends, heads = components.contracted(offsets, targets, component, member_offsets, members)
    found = [(c, d) for c, (a, b) in enumerate(itertools.pairwise(ends)) for d in heads[a:b].tolist()]
    assert len(found) == len(set(found))
    assert set(found) == {(component[v], component[w]) for v, w in edges if component[v] != component[w]}

    ends, sources = components.transposed(offsets, targets)
    found = [sources[a:b].tolist() for a, b in itertools.pairwise(ends)]
    assert found == [[v for v, w in edges if w == x] for x in range(n)]


def test_a_long_path_needs_no_recursion():
    n = 1200
    component, count = components.strong_components(
        np.minimum(np.arange(n + 1), n - 1), np.arange(1, n, dtype=np.int32)
    )
    assert count == n
    assert np.array_equal(component, np.arange(n)[::-1])


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_without_is_a_difference_of_sets(keys, others):
    ascending = [np.array(sorted(chosen), np.int64) for chosen in (keys, others)]
    assert components.without(*ascending).tolist() == sorted(keys - others)
