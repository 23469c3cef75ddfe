"""What one change of one edge costs in the graph layer, whatever the size of the graph: counts, no seconds."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.graph.vertices.in_process import VertexTable
from dyntc_spark.kernels.plain_first import compiling_all

#: Functions of Python that the graph layer may call for a change of one edge, those of numpy and pyarrow among them.
MOST_CALLS = 205
SIZE = 100_000


@pytest.fixture(scope="module", params=[str, int])
def closure(request):
    """A star with an edge at each ray, and how its vertices are named; some changes are made already."""
    name = request.param
    sources = [*range(1, SIZE, 2), *[SIZE] * (SIZE // 2)]
    targets = [*range(2, SIZE + 1, 2), *range(1, SIZE, 2)]
    targets[SIZE // 2 - 1] = 0
    table = pa.table({"src": list(map(name, sources)), "dst": list(map(name, targets))})
    closure = DynamicClosure.from_edges(table, engine="lanes", backend="local")
    with compiling_all():  # what is interpreted calls functions of Python
        for v in range(1, 41, 2):
            closure.delete([(name(v), name(v + 1))])
            closure.insert([(name(v), name(v + 1))])
            closure.insert([(name(v), name(2 * SIZE + v))])
        for act in changes(closure, name).values():
            act()
        yield closure, name


def changes(closure, name):
    """Return changes of one edge, each with an effect; the last brings a new vertex."""
    edge, ray, new = (name(7), name(8)), (name(SIZE), name(71)), (name(9), name(3 * SIZE + closure.version))
    return {
        "delete": lambda: closure.delete([edge]),
        "insert": lambda: closure.insert([edge]),
        "delete at the star": lambda: closure.delete([ray]),
        "apply at the star": lambda: closure.apply([("insert", *ray)]),
        "insert with a new vertex": lambda: closure.insert([new]),
    }


@pytest.mark.long
def test_calls_of_python(closure):
    found, within = {}, 0

    def called(frame, event, _argument):
        nonlocal within  # the engine
        if frame.f_code in {Lanes.apply.__code__, Lanes.grow.__code__} and event in {"call", "return"}:
            within += 1 if event == "call" else -1
        found[change] += event == "call" and not within

    for change, act in changes(*closure).items():
        found[change] = 0
        before = closure[0].version
        sys.setprofile(called)
        try:
            act()
        finally:
            sys.setprofile(None)
        assert closure[0].version == before + 1
    assert max(found.values()) <= MOST_CALLS, found


def test_nothing_as_large_as_the_graph_is_made(closure):
    peaks = {}
    for change, act in changes(*closure).items():
        tracemalloc.start()
        act()
        peaks[change] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert max(peaks.values()) < SIZE, peaks  # a byte for each vertex


def test_the_changes_of_a_set_of_edges_are_few():
    """However many changes there were, a set has few beside the array that it shares; each set stays as it is."""
    held = EdgeSet.of(Edges(np.zeros(SIZE, np.int64), np.arange(SIZE)))
    most = 0
    for v in range(6000):
        held = held.replaced(Edges.of([1], [v]), Edges.of([0], [v]))
        most = max(most, sum(map(len, held._parts[1:])))
    assert (len(held), held.has(Edges.of([0, 0, 1], [5999, 6000, 5999])).tolist()) == (SIZE, [False, True, True])
    assert most <= 8 * np.sqrt(SIZE) + 2


def test_the_parts_of_a_table_of_vertices_are_few():
    table = VertexTable()
    for v in range(500):
        table = table.added(pa.array([v]), table.allotted(1))
        assert len(table._stored) <= 10
    assert table.numbers(pa.array([0, 499, 500])).tolist() == [0, 499, -1]
    assert table.names().to_pylist() == list(range(500))
