"""Graphs of other libraries, moving the state, blocks and verification."""

from __future__ import annotations

import builtins

import networkx as nx
import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.errors import InputError, SetupError

#: One engine in every run on Spark, the others where there is time; `lanes` is in this process only.
ON_SPARK = [
    pytest.param(name, marks=[] if name == "lanes" else pytest.mark.slow) for name in sorted(ENGINES) if name != "lanes"
]
EDGES = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("a", "d")]


@pytest.fixture
def closure():
    return DynamicClosure.from_edges(EDGES)


def without(monkeypatch, package):
    found = builtins.__import__

    def look(name, *rest):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", look)


def test_packages_that_are_not_there(closure, monkeypatch):
    for package, method, remedy in (
        ("matplotlib", closure.plot, r"dyntc-spark\[plot\]"),
        ("networkx", closure.to_networkx, "pip install networkx"),
    ):
        with monkeypatch.context() as patch:
            without(patch, package)
            with pytest.raises(SetupError, match=f"the package {package}; got an environment without it.*{remedy}"):
                method()


def test_networkx_there_and_back(closure):
    graph = nx.DiGraph(EDGES)
    graph.add_node("alone")
    made = DynamicClosure.from_networkx(graph)
    assert nx.utils.graphs_equal(made.to_networkx(), graph)
    pairs = {(v, w) for v in graph for w in nx.descendants(graph, v)}
    assert set(made.to_networkx(closure=True).edges) == pairs
    assert DynamicClosure.from_networkx(nx.MultiDiGraph([(1, 2), (1, 2)])).stats()["edges"] == 1
    with pytest.raises(InputError, match=r"a directed graph of NetworkX; got Graph. Call its to_directed"):
        DynamicClosure.from_networkx(nx.Graph([(1, 2)]))
    assert closure.version == 0


@pytest.mark.parametrize("engine", ON_SPARK)
def test_moving_the_state_changes_no_answer(engine, spark):
    acyclic = [("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("x", "y")]
    c = DynamicClosure.from_edges(acyclic, spark=spark, engine=engine, backend="local")
    before = sorted(map(tuple, c.pairs().collect()))
    c.on_spark()
    assert c.stats()["backend"] == "spark"
    assert "on Spark" in repr(c)
    assert sorted(map(tuple, c.pairs().collect())) == before
    c.apply([("delete", "b", "c"), ("insert", "c", "z")])
    assert c.reaches("a", "z")
    assert not c.reaches("b", "c")
    assert [row.dst for row in c.explain("a", "z").orderBy("hop").collect()] == ["d", "c", "z"]
    c.in_process()
    assert c.stats()["backend"] == "local"
    assert c.reaches("a", "z")
    assert not c.reaches("b", "z")


@pytest.mark.parametrize("backend", ["local", "spark"])
@pytest.mark.parametrize("engine", ON_SPARK)
def test_blocks_are_the_matrices_as_they_are_stored(engine, backend, spark):
    found = DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=spark, engine=engine, backend=backend).blocks()
    assert found.columns == ["matrix", "bi", "bj", "codec", "nnz", "bytes", "payload"]
    rows = found.collect()
    assert rows
    assert all(row.bytes == len(row.payload) for row in rows)


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_verify(engine):
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")], engine=engine, backend="local")
    found = c.verify()
    assert found
    assert (found.missing, found.repaired) == ([], False)
    assert found.rows >= 1
