"""``DynamicClosure`` with the engine ``path_counting``: acyclic graphs, and cycles refused by name."""

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import CycleError

EDGES = [("a", "b"), ("b", "c"), ("a", "d")]


@pytest.fixture
def closure():
    return DynamicClosure.from_edges(EDGES, engine="path_counting")


def test_answers(closure):
    assert closure.reaches("a", "c")
    assert not closure.reaches("c", "a")
    closure.apply([("delete", "b", "c"), ("insert", "d", "e")])
    assert not closure.reaches("a", "c")
    assert closure.reaches("a", "e")
    assert closure.stats()["pairs"] == 4


def test_a_batch_that_closes_a_cycle_is_refused_and_the_cycle_is_named(closure):
    with pytest.raises(CycleError, match="leave the graph acyclic; got the cycle") as seen:
        closure.insert([("c", "new"), ("new", "a")])
    assert set(seen.value.cycle) == {"a", "b", "c", "new"}
    assert closure.version == 0
    assert closure.reaches("a", "c")
    closure.insert([("c", "other")])
    assert closure.reaches("a", "other")


def test_a_graph_with_a_cycle_is_refused_and_the_cycle_is_named():
    with pytest.raises(CycleError) as seen:
        DynamicClosure.from_edges([*EDGES, ("c", "b")], engine="path_counting")
    assert set(seen.value.cycle) == {"b", "c"}


def test_a_loop_is_a_cycle(closure):
    with pytest.raises(CycleError, match="the cycle a → a"):
        closure.insert([("a", "a")])
