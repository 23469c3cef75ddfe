"""Sets of edges that share their keys, against Python's sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.edges import Edges, EdgeSet
from tests.engines.lanes_oracle import as_edges

pairs = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 2**31 - 2)), max_size=12) | st.sets(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12
)


def as_set(edges):
    return set(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))


@given(pairs, st.lists(st.tuples(pairs, pairs, st.booleans()), max_size=8))
def test_any_sequence_of_changes(start, script):
    found, right = EdgeSet.of(as_edges(start)), start
    versions = []
    for inserted, deleted, look in script:
        versions.append((found, right))
        found, right = found.replaced(as_edges(inserted), as_edges(deleted)), (right - deleted) | inserted
        assert len(found) == len(right)
        asked = as_edges(start | inserted | deleted)
        assert found.has(asked).tolist() == [pair in right for pair in sorted(start | inserted | deleted)]
        if look:
            assert (np.diff(found.keys) > 0).all()
    for version, was in [*versions, (found, right)]:  # each is what it was, whatever became of it since
        assert as_set(version.edges) == was
        assert as_set(version.minus(versions[0][0] if versions else version)) == was - start
        assert as_set(version.leaving(np.array([2, 0]))) == {pair for pair in was if pair[0] in {0, 2}}


def test_nothing_changed_is_the_same_set():
    held = EdgeSet.of(Edges.of([0, 1], [1, 2]))
    assert held.replaced(Edges.of([0], [1]), Edges.of([5], [5])) is held


def test_many_changes_are_brought_in(monkeypatch):
    monkeypatch.setattr("dyntc_spark.edges.LEAST_CHANGES", 10)
    held = EdgeSet.of(Edges.of())
    for v in range(100):
        held = held.replaced(Edges.of([v], [v + 1]), Edges.of([v - 3], [v - 2]) if v > 2 else Edges.of())
        assert sum(map(len, held._parts[1:])) <= 8 * 10
    assert as_set(held.edges) == {(v, v + 1) for v in (97, 98, 99)}
