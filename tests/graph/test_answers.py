"""DynamicClosure on Spark: input and answers as DataFrames, on classic Spark and on Connect."""

from __future__ import annotations

import datetime as dt
import decimal

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import (
    MissingColumnError,
    NullEndpointError,
    SessionError,
    UnknownVertexError,
    UnreachableError,
)
from tests.graph.oracle import Plain

EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "d"), ("d", "d")]


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


@pytest.fixture
def closure(spark):
    return DynamicClosure.from_edges(EDGES, spark=spark)


@pytest.mark.connect
def test_the_whole_closure(closure):
    plain = Plain(EDGES)
    assert closure.pairs().columns == ["src", "dst"]
    assert rows(closure.pairs()) == sorted(plain.pairs())
    assert rows(closure.pairs(reflexive=True)) == sorted(plain.pairs() | {(v, v) for v in "abcde"})
    assert rows(closure.edges()) == sorted(EDGES)
    assert rows(closure.vertices()) == [(v,) for v in "abcde"]


def test_one_vertex(closure):
    assert rows(closure.descendants("a")) == [("b",), ("c",), ("d",)]
    assert rows(closure.descendants("a", reflexive=True)) == [("a",), ("b",), ("c",), ("d",)]
    assert rows(closure.ancestors("d")) == [("a",), ("b",), ("c",), ("e",)]
    assert rows(closure.ancestors("e", reflexive=True)) == [("e",)]
    assert rows(closure.ancestors("e")) == []
    for question in (closure.descendants, closure.ancestors):
        with pytest.raises(UnknownVertexError, match="'x'"):
            question("x")


@pytest.mark.connect
def test_many_pairs(closure, spark):
    asked = spark.createDataFrame([("a", "d"), ("d", "a"), ("e", "e")], "src string, dst string")
    assert rows(closure.query(asked)) == [("a", "d", True), ("d", "a", False), ("e", "e", True)]
    assert closure.query([("a", "d")]).dtypes == [("src", "string"), ("dst", "string"), ("reachable", "boolean")]
    assert rows(closure.query([("a", "x"), ("x", "x")], unknown="false")) == [("a", "x", False), ("x", "x", False)]
    assert rows(closure.query([])) == []
    with pytest.raises(UnknownVertexError, match="'x'"):
        closure.query([("a", "x")])


def test_a_witness(closure):
    assert rows(closure.explain("b", "d")) == [(1, "b", "c"), (2, "c", "d")]
    assert rows(closure.explain("b", "b")) == []
    with pytest.raises(UnreachableError, match="got 'd' and 'a', which no path joins in this direction"):
        closure.explain("d", "a")
    with pytest.raises(UnknownVertexError, match="'x'"):
        closure.explain("a", "x")


@pytest.mark.connect
def test_witnesses_for_many_pairs(closure, spark):
    asked = spark.createDataFrame([("b", "d"), ("d", "a"), ("e", "e")], "begin string, end string")
    answer = closure.explain(asked, src="begin", dst="end")
    assert answer.columns == ["src", "dst", "reachable", "hop", "hop_src", "hop_dst"]
    assert [tuple(row) for row in answer.orderBy("src", "hop").collect()] == [
        ("b", "d", True, 1, "b", "c"),
        ("b", "d", True, 2, "c", "d"),
        ("d", "a", False, None, None, None),
        ("e", "e", True, None, None, None),
    ]
    assert rows(closure.explain([])) == []
    with pytest.raises(MissingColumnError, match=r"no 'src' among.*For one pair: explain\(a, b\)"):
        closure.explain(asked)
    with pytest.raises(UnknownVertexError, match="'x'"):
        closure.explain([("a", "x")])


def test_columns_by_other_names(spark):
    edges = spark.createDataFrame([(1, 2), (2, 3)], "parent int, child int")
    named = {"src": "parent", "dst": "child"}
    c = DynamicClosure.from_edges(edges, **named)
    assert rows(c.query(edges, **named)) == [(1, 2, True), (2, 3, True)]
    c.delete(edges.limit(1), **named)
    c.insert(spark.createDataFrame([(1, 3)], "parent int, child int"), **named)
    changes = spark.createDataFrame([("insert", 3, 4)], "what string, parent int, child int")
    c.apply(changes, op="what", **named)
    assert c.reaches(1, 4)
    c.reset(edges, **named)
    assert rows(c.edges()) == [(1, 2), (2, 3)]
    with pytest.raises(MissingColumnError, match="the columns parent, kid, each once; got no 'kid' among"):
        c.insert(edges, src="parent", dst="kid")
    with pytest.raises(NullEndpointError, match="column 'child'; got null in row 0"):
        c.insert(spark.createDataFrame([(1, None)], "parent int, child int"), **named)


def test_numbers_of_paths_where_they_are_counted(spark):
    diamond = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    c = DynamicClosure.from_edges(diamond, spark=spark, engine="path_counting")
    answer = c.query([("a", "d"), ("d", "a"), ("b", "b"), ("a", "x")], unknown="false")
    assert answer.dtypes[-1] == ("paths", "decimal(38,0)")
    assert [tuple(row) for row in answer.collect()] == [
        ("a", "d", True, 2),
        ("d", "a", False, 0),
        ("b", "b", True, 1),
        ("a", "x", False, None),
    ]


@pytest.mark.connect
def test_changes(closure, spark):
    assert rows(closure.changes()) == []
    changes = [("delete", "c", "a"), ("insert", "d", "f")]
    closure.apply(spark.createDataFrame(changes, "op string, src string, dst string"))
    assert rows(closure.changes()) == sorted(
        [(v, "f", "insert", 1) for v in "abcde"]
        + [("b", "a", "delete", 1), ("c", "a", "delete", 1), ("c", "b", "delete", 1)]
    )
    copy = DynamicClosure.from_edges(Plain(EDGES).pairs(), spark=spark)
    copy.apply(closure.changes())
    assert rows(copy.edges()) == rows(closure.pairs())


@pytest.mark.parametrize(
    ("edges", "kind"),
    [
        ([(1, 2), (2, 3)], "bigint"),
        ([(0.5, 1.0), (1.0, 2.5)], "double"),
        ([(b"a", b"b"), (b"b", b"c")], "binary"),
        ([(decimal.Decimal("1.5"), decimal.Decimal("2.5"))], "decimal(38,1)"),
        ([(dt.date(2024, 1, day), dt.date(2024, 1, day + 1)) for day in (1, 2)], "date"),
        ([(dt.datetime(2024, 1, day), dt.datetime(2024, 1, day + 1)) for day in (1, 2)], "timestamp_ntz"),  # noqa: DTZ001
    ],
)
def test_vertices_of_other_types(spark, edges, kind):
    closure = DynamicClosure.from_edges(edges, spark=spark)
    assert [found for _, found in closure.pairs().dtypes] == [kind, kind]
    assert rows(closure.pairs()) == sorted(Plain(edges).pairs())
    again = DynamicClosure.from_edges(closure.edges())
    assert again.edges().dtypes == closure.edges().dtypes
    assert again.reaches(edges[0][0], edges[-1][1])


def test_instants_come_back_as_instants(spark):
    noon = [dt.datetime(2024, 1, day, 12, tzinfo=dt.timezone.utc) for day in (1, 2)]
    closure = DynamicClosure.from_edges(spark.createDataFrame([tuple(noon)], "src timestamp, dst timestamp"))
    assert closure.reaches(*noon)
    assert closure.pairs().dtypes == [("src", "timestamp"), ("dst", "timestamp")]
    closure.insert(closure.edges(), strict=False)
    assert closure.stats()["insertions_ignored"] == 1


@pytest.mark.connect
def test_a_closure_without_edges(spark):
    closure = DynamicClosure.from_edges([], spark=spark)
    answers = [closure.pairs(), closure.edges(), closure.vertices(), closure.changes(), closure.pairs(reflexive=True)]
    assert [rows(answer) for answer in answers] == [[]] * 5


@pytest.mark.connect
def test_the_session_of_the_edges_or_the_active_one(spark):
    frame = spark.createDataFrame(EDGES, "src string, dst string")
    assert rows(DynamicClosure.from_edges(frame).edges()) == sorted(EDGES)
    assert rows(DynamicClosure.from_edges(EDGES).edges()) == sorted(EDGES)


@pytest.mark.connect
def test_a_session_that_was_stopped(closure, monkeypatch):
    monkeypatch.setattr(session, "is_open", lambda _spark: False)
    assert closure.reaches("a", "d")
    with pytest.raises(SessionError, match="expected an open Spark session; got one that has been stopped"):
        closure.pairs()
