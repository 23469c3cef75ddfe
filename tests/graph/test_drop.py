"""Vertices without edges: brought along, dropped, and their numbers given to others."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark import DynamicClosure
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.errors import InputError, UnknownVertexError, VertexTypeError
from tests.graph.oracle import Plain


@pytest.fixture(params=sorted(ENGINES))
def closure(request):
    return DynamicClosure.from_edges([("a", "b"), ("b", "c")], engine=request.param, backend="local")


def names(c):
    return c.arrow.vertices()["vertex"].to_pylist()


def test_a_dropped_vertex_is_unknown_and_its_number_is_used_again(closure):
    closure.delete([("b", "c")])
    closure.drop(["c"])
    assert (closure.version, names(closure), closure.stats()["vertices"]) == (2, ["a", "b"], 2)
    assert closure.arrow.changes().num_rows == 0
    with pytest.raises(UnknownVertexError, match="got 'c', which the graph does not have"):
        closure.reaches("a", "c")
    closure.insert([("b", "d"), ("d", "e")])
    assert closure._parts.door.engine.vertices == 4
    assert closure.reaches("a", "e")
    assert not closure.reaches("e", "d")
    assert sorted(names(closure)) == ["a", "b", "d", "e"]


def test_a_vertex_with_edges_is_kept(closure):
    for vertex in ("a", "b", "c"):
        with pytest.raises(InputError, match=f"without edges; got '{vertex}', which has some. Delete its edges"):
            closure.drop([vertex])
    with pytest.raises(UnknownVertexError):
        closure.drop(["x"])
    assert (closure.version, len(names(closure))) == (0, 3)


def test_all_vertices_can_go_and_others_of_another_type_come(closure):
    closure.delete([("a", "b"), ("b", "c")])
    closure.drop(pa.table({"vertex": ["a", "b", "c"]}))
    assert names(closure) == []
    closure.insert([(1, 2)])
    assert closure.reaches(1, 2)
    with pytest.raises(VertexTypeError):
        closure.insert([("a", "b")])


def test_vertices_that_have_no_edge():
    c = DynamicClosure.from_edges([("a", "b")], vertices=["b", "x", "x"])
    assert names(c) == ["a", "b", "x"]
    assert c.reaches("x", "x")
    c.reset([("x", "y")], vertices=["a"])
    assert sorted(names(c)) == ["a", "x", "y"]
    assert names(DynamicClosure.from_edges([], vertices=[1, 2])) == [1, 2]
    with pytest.raises(VertexTypeError, match="vertices of type string, as the vertex is; got int64"):
        DynamicClosure.from_edges([("a", "b")], vertices=[1])


edges = st.tuples(st.integers(0, 5), st.integers(0, 5))


@given(st.lists(st.tuples(st.sampled_from(["insert", "delete", "drop"]), edges), max_size=30))
def test_any_sequence_with_drops(steps):
    c, plain = DynamicClosure.from_edges([(0, 1)], backend="local"), Plain([(0, 1)])
    for op, edge in steps:
        if op == "drop":
            alone = [v for v in plain.vertices if v == edge[0] and not any(v in e for e in plain.edges)]
            c.drop(alone)
            plain.vertices -= set(alone)
        else:
            c.apply([(op, *edge)])
            plain.apply([(op, *edge)])
        assert set(names(c)) == plain.vertices
        pairs = c.arrow.pairs()
        assert set(zip(pairs["src"].to_pylist(), pairs["dst"].to_pylist(), strict=True)) == plain.pairs()
    assert c._parts.door.engine.vertices <= 6
