"""GraphFrames in and out: with the real library where its jar is there, and by its two tables where it is not.

The jar is named by DYNTC_GRAPHFRAMES_JAR; a Spark that was started with it is needed.
"""

from __future__ import annotations

import builtins
import os
import types

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import SetupError

VERTICES = [("a", "Ada", 36), ("b", "Bob", 30), ("c", "Cay", 29), ("z", "Zoe", 50)]
EDGES = [("a", "b", "follows"), ("b", "c", "likes"), ("b", "c", "knows")]


@pytest.fixture
def tables(spark):
    """What every GraphFrame has: vertices with attributes, one of them alone, and edges, two of them parallel."""
    return types.SimpleNamespace(
        vertices=spark.createDataFrame(VERTICES, "id string, name string, age int"),
        edges=spark.createDataFrame(EDGES, "src string, dst string, relation string"),
    )


@pytest.fixture
def graphframe(tables):
    """A real GraphFrame."""
    graphframes = pytest.importorskip("graphframes", reason="the package graphframes-py is not installed")
    try:
        made = graphframes.GraphFrame(tables.vertices, tables.edges)
        made.inDegrees.collect()
    except Exception as error:  # noqa: BLE001  (whatever a session without the jar says)
        given = os.environ.get("DYNTC_GRAPHFRAMES_JAR")
        pytest.skip(f"the session has no GraphFrames jar (DYNTC_GRAPHFRAMES_JAR={given}): {str(error)[:80]}")
    return made


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def check(made, tables):
    assert made.reaches("a", "c")
    assert made.reaches("z", "z")
    assert made.stats()["edges"] == 2
    made.apply([("insert", "c", "z"), ("delete", "a", "b")])
    edges = made._parts.interop.attributes.of_edges(made.edges())
    assert edges.columns == tables.edges.columns
    assert rows(edges.where("src = 'b'")) == [("b", "c", "knows"), ("b", "c", "likes")]
    assert edges.where("src = 'c'").collect()[0].relation is None
    vertices = made._parts.interop.attributes.of_vertices(made.vertices())
    assert rows(vertices) == VERTICES


def test_attributes_of_vertices_and_edges_are_kept(tables):
    check(DynamicClosure.from_graphframe(tables), tables)


def test_a_graphframe_there_and_back(graphframe):
    made = DynamicClosure.from_graphframe(graphframe)
    check(made, graphframe)
    again = made.to_graphframe()
    assert rows(again.vertices) == VERTICES
    assert again.edges.count() == 3
    pairs = made.to_graphframe(closure=True)
    assert rows(pairs.edges) == [("b", "c"), ("b", "z"), ("c", "z")]
    assert rows(pairs.inDegrees) == [("c", 1), ("z", 2)]


def test_a_closure_of_plain_edges_as_tables(spark):
    made = DynamicClosure.from_edges([(1, 2)], spark=spark)
    assert rows(made._parts.interop.attributes.of_vertices(made.vertices())) == [(1,), (2,)]
    assert made._parts.interop.attributes.of_edges(made.edges()).columns == ["src", "dst"]


def test_without_the_package(tables, monkeypatch):
    made = DynamicClosure.from_graphframe(tables)
    found = builtins.__import__
    monkeypatch.setattr(
        builtins,
        "__import__",
        lambda name, *rest: (_ for _ in ()).throw(ImportError(name)) if name == "graphframes" else found(name, *rest),
    )
    with pytest.raises(SetupError, match=r"the package graphframes-py; got an environment without it.*\[graphframes\]"):
        made.to_graphframe()


def test_without_the_jar(tables, request):
    pytest.importorskip("graphframes", reason="the package graphframes-py is not installed")
    made = DynamicClosure.from_graphframe(tables)
    try:
        request.getfixturevalue("graphframe")
    except pytest.skip.Exception:
        with pytest.raises(SetupError, match="a session that was started with the jar of GraphFrames; got one without"):
            made.to_graphframe().inDegrees.collect()
    else:
        pytest.skip("the session makes GraphFrames: it has the jar, or is a client of Connect, which asks for it later")
