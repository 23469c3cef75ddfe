"""SQL views: what they show, that they keep up, and whose they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.errors import PySparkRuntimeError

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import IdentifierError, SessionError
from dyntc_spark.graph.tables import relations
from dyntc_spark.graph.tables.views import FUNCTIONS, NAMES, Views, column_comments, statement
from tests.graph.oracle import Plain

pytestmark = pytest.mark.usefixtures("_few_functions")
SQL = Path(__file__).parents[2] / "sql"


@pytest.fixture
def closure(spark):
    made = DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=spark)
    made.create_views("deps")
    return made


def ask(spark, question):
    return sorted(tuple(row) for row in spark.sql(question).collect())


@pytest.mark.connect
def test_the_views(closure, spark):
    assert ask(spark, "SELECT * FROM deps_edges") == [("a", "b"), ("b", "c")]
    assert ask(spark, "SELECT * FROM deps_vertices") == [
        ("a", 1, 0, 2, 0),
        ("b", 1, 1, 1, 1),
        ("c", 0, 1, 0, 2),
    ]
    assert ask(spark, "SELECT src, dst FROM deps_closure") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert ask(spark, "SELECT * FROM deps_changes") == []
    assert ask(spark, "SELECT version, vertices, edges, pairs, inserted, engine, backend FROM deps_stats") == [
        (0, 3, 2, 3, 0, "lanes", "local")
    ]
    assert ask(spark, "SELECT details['components'] FROM deps_stats") == [("3",)]
    assert closure.version == 0


@pytest.mark.connect
def test_views_see_each_update(closure, spark):
    closure.apply([("insert", "c", "a"), ("delete", "a", "b")])
    assert ask(spark, "SELECT src, dst FROM deps_closure") == [("b", "a"), ("b", "c"), ("c", "a")]
    assert ask(spark, "SELECT src, dst, op, version FROM deps_changes") == [
        ("a", "b", "delete", 1),
        ("a", "c", "delete", 1),
        ("b", "a", "insert", 1),
        ("c", "a", "insert", 1),
    ]
    assert ask(spark, "SELECT version, inserted, deleted FROM deps_stats") == [(1, 1, 1)]
    closure.reset([("x", "y")])
    assert ask(spark, "SELECT src, dst FROM deps_closure") == [("x", "y")]
    assert ask(spark, "SELECT vertex FROM deps_vertices") == [("x",), ("y",)]


def test_every_column_has_its_comment_in_the_catalog(closure, spark):
    assert closure.version == 0
    for name in NAMES:
        described = spark.sql(f"DESCRIBE deps_{name}").collect()
        assert {row.col_name: row.comment for row in described} == column_comments(statement(name))
        assert all(row.comment for row in described)


def test_numbers_of_paths_follow_although_no_pair_changes(spark):
    c = DynamicClosure.from_edges([("a", "b"), ("b", "d"), ("a", "d")], spark=spark, engine="path_counting")
    c.create_views("risk")
    assert ask(spark, "SELECT src, dst, paths FROM risk_closure WHERE src = 'a'") == [("a", "b", 1), ("a", "d", 2)]
    c.delete([("a", "d")])
    assert ask(spark, "SELECT src, dst, paths FROM risk_closure WHERE src = 'a'") == [("a", "b", 1), ("a", "d", 1)]


@pytest.mark.parametrize("least", [0, 1 << 30], ids=["all is sent again", "rows above"])
def test_what_lies_above_and_what_is_sent_again_are_the_same(spark, monkeypatch, least):
    monkeypatch.setattr(relations, "LEAST_ABOVE", least)
    random = np.random.default_rng(3)
    c, plain = DynamicClosure.from_edges([(0, 1)], spark=spark), Plain([(0, 1)])
    c.create_views("same")
    for _ in range(3):
        ends = random.integers(7, size=(6, 2)).tolist()
        batch = [("insert" if random.random() < 0.7 else "delete", *edge) for edge in ends]
        c.apply(batch)
        plain.apply(batch)
    alone = sorted(v for v in plain.vertices if not any(v in edge for edge in plain.edges))
    c.drop(alone)
    plain.vertices -= set(alone)
    assert ask(spark, "SELECT src, dst FROM same_closure") == sorted(plain.pairs())
    assert ask(spark, "SELECT * FROM same_edges") == sorted(plain.edges)
    assert ask(spark, "SELECT vertex FROM same_vertices") == sorted((v,) for v in plain.vertices)


@pytest.mark.connect
def test_views_of_a_state_on_spark(spark):
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=spark, engine="lanes", backend="spark")
    c.create_views("far")
    c.apply([("insert", "c", "d"), ("delete", "a", "b")])
    assert ask(spark, "SELECT src, dst FROM far_closure") == [("b", "c"), ("b", "d"), ("c", "d")]
    assert ask(spark, "SELECT vertex, descendants FROM far_vertices") == [("a", 0), ("b", 2), ("c", 1), ("d", 0)]
    assert ask(spark, "SELECT backend FROM far_stats") == [("spark",)]
    c.in_process()
    c.delete([("b", "c")])
    c.on_spark()
    c.insert([("a", "c")])
    c.in_process()
    c.insert([("d", "e")])
    assert ask(spark, "SELECT src, dst FROM far_closure") == [
        ("a", "c"), ("a", "d"), ("a", "e"), ("c", "d"), ("c", "e"), ("d", "e"),
    ]  # fmt: skip


def test_each_view_has_its_file():
    assert {path.stem for path in SQL.glob("*.sql")} == set(NAMES)
    assert all(statement(name).startswith(f"-- <prefix>_{name}: ") for name in NAMES)
    assert {path.stem for path in (SQL / "functions").glob("*.sql")} == set(FUNCTIONS)
    assert all(statement(f"functions/{name}").startswith(f"-- <prefix>_{name}(") for name in FUNCTIONS)


def test_two_closures_do_not_disturb_each_other(closure, spark):
    other = DynamicClosure.from_edges([(1, 2)], spark=spark)
    other.create_views("other")
    closure.insert([("c", "d")])
    other.insert([(2, 3)])
    assert ask(spark, "SELECT * FROM other_edges") == [(1, 2), (2, 3)]
    assert ask(spark, "SELECT count(*) FROM deps_edges") == [(3,)]


def test_whoever_came_last_has_the_name(closure, spark):
    DynamicClosure.from_edges([(1, 2)], spark=spark).create_views("deps")
    closure.insert([("c", "d")])
    assert ask(spark, "SELECT * FROM deps_edges") == [(1, 2)]


def test_a_view_that_was_dropped_does_not_come_back(closure, spark):
    spark.catalog.dropTempView("deps_closure")
    spark.range(2).createOrReplaceTempView("deps_changes")
    closure.insert([("c", "d")])
    assert not spark.catalog.tableExists("deps_closure")
    assert ask(spark, "SELECT * FROM deps_changes") == [(0,), (1,)]
    assert ask(spark, "SELECT count(*) FROM deps_edges") == [(3,)]


def test_a_batch_goes_on_after_the_session_of_the_views_has_gone(closure, monkeypatch):
    monkeypatch.setattr(session, "is_open", lambda _spark: False)
    closure.insert([("c", "d")])
    assert closure.reaches("a", "d")
    assert closure._parts.views.shown == []


def test_views_that_cannot_follow_are_an_error_that_says_that_the_batch_is_done(closure, spark, monkeypatch):
    def refuse(*_arguments):
        raise PySparkRuntimeError(errorClass="NO_ACTIVE_SESSION", messageParameters={})

    monkeypatch.setattr(Views, "refresh", refuse)
    with pytest.raises(SessionError, match=r"brings the views deps_\* up to date; .*The batch itself"):
        closure.insert([("c", "d")])
    assert closure.reaches("a", "d")
    closure.insert([("d", "e")])
    assert (closure.version, closure._parts.views.shown) == (2, [])
    assert spark


@pytest.mark.parametrize("prefix", ["", "1a", "a b", "a-b", "a.b", "a`; DROP", "ä", None, "a" * 101])
def test_names_that_no_view_can_have(prefix):
    with pytest.raises(IdentifierError, match="letters, digits and underscores that does not begin with a digit; got"):
        Views(None, prefix)
