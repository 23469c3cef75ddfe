"""SQL views: what they show, that they keep up, and whose they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import IdentifierError
from dyntc_spark.graph.views import NAMES, Views, column_comments, statement

SQL = Path(__file__).parents[2] / "sql"


@pytest.fixture
def closure(spark):
    made = DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=spark)
    made.create_views("deps")
    return made


def ask(spark, question):
    return sorted(tuple(row) for row in spark.sql(question).collect())


def test_the_five_views(closure, spark):
    assert ask(spark, "SELECT * FROM deps_edges") == [("a", "b"), ("b", "c")]
    assert ask(spark, "SELECT * FROM deps_vertices") == [("a", 1, 0, 2), ("b", 1, 1, 1), ("c", 0, 1, 0)]
    assert ask(spark, "SELECT * FROM deps_closure") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert ask(spark, "SELECT * FROM deps_changes") == []
    assert ask(spark, "SELECT version, vertices, edges, pairs, inserted, engine, backend FROM deps_stats") == [
        (0, 3, 2, 3, 0, "refresh", "local")
    ]
    assert ask(spark, "SELECT details['components'] FROM deps_stats") == [("3",)]
    assert closure.version == 0


def test_views_see_each_update(closure, spark):
    closure.apply([("insert", "c", "a"), ("delete", "a", "b")])
    assert ask(spark, "SELECT * FROM deps_closure") == [("b", "a"), ("b", "c"), ("c", "a")]
    assert ask(spark, "SELECT src, dst, op, version FROM deps_changes") == [
        ("a", "b", "delete", 1),
        ("a", "c", "delete", 1),
        ("b", "a", "insert", 1),
        ("c", "a", "insert", 1),
    ]
    assert ask(spark, "SELECT version, inserted, deleted FROM deps_stats") == [(1, 1, 1)]
    closure.reset([("x", "y")])
    assert ask(spark, "SELECT * FROM deps_closure") == [("x", "y")]
    assert ask(spark, "SELECT vertex FROM deps_vertices") == [("x",), ("y",)]


def test_every_column_has_its_comment_in_the_catalog(closure, spark):
    assert closure.version == 0
    for name in NAMES:
        described = spark.sql(f"DESCRIBE deps_{name}").collect()
        assert {row.col_name: row.comment for row in described} == column_comments(statement(name))
        assert all(row.comment for row in described)


def test_each_view_has_its_file():
    assert {path.stem for path in SQL.glob("*.sql")} == set(NAMES)
    assert all(statement(name).startswith(f"-- <prefix>_{name}: ") for name in NAMES)


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
    monkeypatch.setattr(session, "_is_open", lambda _spark: False)
    closure.insert([("c", "d")])
    assert closure.reaches("a", "d")
    assert closure._views == []


@pytest.mark.parametrize("prefix", ["", "1a", "a b", "a-b", "a.b", "a`; DROP", "ä", None, "a" * 101])
def test_names_that_no_view_can_have(prefix):
    with pytest.raises(IdentifierError, match="letters, digits and underscores that does not begin with a digit; got"):
        Views(None, prefix)
