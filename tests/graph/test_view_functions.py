"""SQL functions over the views of a closure."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkNotImplementedError

from dyntc_spark import DynamicClosure


def ask(spark, question):
    return sorted(tuple(row) for row in spark.sql(question).collect())


@pytest.mark.connect
def test_functions_see_each_update(spark):
    closure = DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=spark)
    closure.create_views("deps")
    assert ask(spark, "SELECT * FROM deps_descendants('a')") == [("b",), ("c",)]
    closure.apply([("insert", "c", "d"), ("delete", "a", "b"), ("insert", "a", "c")])
    assert ask(spark, "SELECT * FROM deps_ancestors('d')") == [("a",), ("b",), ("c",)]
    assert ask(spark, "SELECT * FROM deps_path('a', 'd')") == [(1, "a", "c"), (2, "c", "d")]
    assert ask(spark, "SELECT * FROM deps_path('d', 'a')") == []
    assert ask(spark, "SELECT distance FROM deps_distance('a', 'd')") == [(2,)]
    assert ask(spark, "SELECT distance FROM deps_distance('d', 'a')") == [(None,)]
    assert ask(spark, "SELECT distance FROM deps_distance('b', 'b')") == [(0,)]
    assert [tuple(row) for row in spark.sql("SELECT * FROM deps_impact(2)").collect()] == [("d", 3, 0), ("c", 2, 1)]
    assert spark.sql("SELECT * FROM deps_impact()").count() == 4
    assert ask(spark, "SELECT e.src, d.vertex FROM deps_edges AS e, LATERAL deps_descendants(e.dst) AS d") == [
        ("a", "d"),
        ("b", "d"),
    ]


def test_functions_follow_the_type_of_the_vertices(spark, only_functions):
    only_functions("descendants", "between", "path")
    c = DynamicClosure.from_edges([], spark=spark)
    c.create_views("later")
    assert ask(spark, "SELECT * FROM later_descendants('a')") == []
    c.insert([(1, 2), (2, 3)])
    assert ask(spark, "SELECT * FROM later_path(1, 3)") == [(1, 1, 2), (2, 2, 3)]


@pytest.mark.connect
def test_a_session_without_functions_has_the_views(spark, monkeypatch, caplog):
    def refuse(*_arguments):
        raise PySparkNotImplementedError(errorClass="NOT_IMPLEMENTED", messageParameters={"feature": "udf"})

    monkeypatch.setattr(type(spark.udf), "register", refuse)
    DynamicClosure.from_edges([(1, 2)], spark=spark).create_views("plain")
    assert "takes no table functions; plain_* has the views only" in caplog.text
    assert ask(spark, "SELECT * FROM plain_edges") == [(1, 2)]
