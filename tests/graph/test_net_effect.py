"""The net effect of a batch, against one change after the other; sets of edges, and the vertex table."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.errors import UnknownVertexError, VertexTypeError
from dyntc_spark.graph.changes.net_effect import net_effect, only_used
from dyntc_spark.graph.inputs.read import Ends
from dyntc_spark.graph.vertices.in_process import VertexTable

numbers = st.integers(0, 3)
edges = st.tuples(numbers, numbers)


def as_edges(pairs):
    pairs = list(pairs)
    return Edges.of([v for v, _ in pairs], [w for _, w in pairs])


def as_set(found):
    return set(zip(found.sources.tolist(), found.targets.tolist(), strict=True))


@given(st.sets(edges), st.lists(st.tuples(st.booleans(), edges), max_size=12))
def test_net_effect(present, changes):
    net = net_effect(
        as_edges(edge for _, edge in changes),
        np.array([inserting for inserting, _ in changes], np.bool_),
        EdgeSet.of(as_edges(present)),
    )
    now, redundant = set(present), []
    for inserting, edge in changes:
        redundant.append((edge in now) == inserting)
        now = now | {edge} if inserting else now - {edge}
    assert as_set(net.inserted) == now - present
    assert as_set(net.deleted) == present - now
    assert len(net.inserted) + len(net.deleted) == len(now ^ present)
    assert net.redundant.tolist() == redundant


@given(st.lists(edges), st.sets(edges), st.sets(edges))
def test_sets_of_edges(listed, inserted, deleted):
    before = EdgeSet.of(as_edges(listed))
    after = before.replaced(as_edges(inserted), as_edges(deleted))
    assert as_set(before.edges) == set(listed)
    assert len(before) == len(set(listed))
    assert as_set(after.edges) == set(listed) - deleted | inserted
    assert np.all(np.diff(after.keys) > 0)
    assert as_set(after.minus(before)) == as_set(after.edges) - set(listed)
    offsets, targets = after.adjacency(4)
    assert {(v, w) for v in range(4) for w in targets[offsets[v] : offsets[v + 1]].tolist()} == as_set(after.edges)
    assert as_set(after.leaving(np.array([2, 0]))) == {edge for edge in as_set(after.edges) if edge[0] in {0, 2}}


def test_new_vertices_of_edges_that_do_not_stay_are_not_numbered():
    renumbered, used = only_used(Edges.of([0, 8], [6, 6]), 5)
    assert (renumbered.sources.tolist(), renumbered.targets.tolist(), used.tolist()) == ([0, 6], [5, 5], [1, 3])
    assert len(only_used(Edges.of(), 5)[1]) == 0


@pytest.mark.parametrize("names", [["b", "a", "c"], [7, 3, 5], [0.5, 0.25, 1.0], [b"x", b"y", b""]])
def test_vertices_are_numbered_as_they_come(names):
    table = VertexTable()
    table = table.added(pa.array(names[:2]), table.allotted(2))
    ends = Ends(pa.array([names[1], names[2]]), pa.array([names[2], names[0]]))
    found, new = table.numbered(ends)
    assert (found.sources.tolist(), found.targets.tolist(), new.to_pylist()) == ([1, 2], [2, 0], names[2:])
    assert len(table) == 2
    table = table.added(new, table.allotted(1))
    assert table.names([2, 0]).to_pylist() == [names[2], names[0]]
    assert table.numbers(pa.array(names)).tolist() == [0, 1, 2]


def test_an_empty_table():
    table = VertexTable()
    assert table.numbers(pa.array([1, 2])).tolist() == [-1, -1]
    assert (table.names().to_pylist(), table.kind) == ([], pa.string())


def test_names_that_are_not_there_or_of_another_type():
    table = VertexTable()
    table = table.added(pa.array(["a"]), table.allotted(1))
    with pytest.raises(UnknownVertexError, match="expected a vertex of the graph; got 'x', which the graph"):
        table.known_numbers(pa.array(["a", "x", "y"]))
    assert table.known_numbers(pa.array(["a", "x"]), refuse=False).tolist() == [0, -1]
    with pytest.raises(VertexTypeError, match="vertices of type string, as the graph has them; got int64, such as 4"):
        table.numbers(pa.array([4]))


def test_pairs_won_and_lost_are_counted_when_asked_for():
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("x", "y")])
    first = c.apply([("delete", "c", "a"), ("insert", "c", "x")])
    assert (first.won, first.lost) == (6, 3)
    kept = pickle.loads(pickle.dumps(first))  # noqa: S301  (of this test)
    unasked = c.insert([("y", "z")])
    assert (kept, kept.won, kept.lost) == (first, 6, 3)
    repeated = c.insert([("y", "z")])
    assert (repeated.won, repeated.lost) == (0, 0)
    assert unasked.won is None  # nobody asked before the next batch
    assert c.reset([("q", "r")]).won is None
