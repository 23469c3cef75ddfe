"""Everyday questions as DataFrames and in SQL: the same answers as in this process, on both backends."""

from __future__ import annotations

import networkx as nx
import pytest
from pyspark.errors import PySparkException

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import ClosedError, CycleError, MissingColumnError, OptionError, VertexTypeError
from tests.graph.oracle import Plain

EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "d"), ("d", "d"), ("a", "f"), ("f", "g"), ("g", "d")]
CHANGES = [("delete", "c", "a"), ("insert", "d", "x"), ("insert", "g", "e"), ("delete", "f", "g")]


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def listed(table):
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def expected_changes(closure):
    plain = Plain(EDGES)
    before = plain.pairs()
    plain.apply(CHANGES)
    lost = {(*pair, "delete", closure.version + 1) for pair in before - plain.pairs()}
    return sorted(lost | {(*pair, "insert", closure.version + 1) for pair in plain.pairs() - before})


@pytest.mark.connect
def test_dataframes_have_the_same_answers(spark):
    c = DynamicClosure.from_edges(EDGES, spark)
    asked = {
        "components": (),
        "cycles": (),
        "roots": (),
        "leaves": (),
        "impact": (99,),
        "between": ("a", "d"),
        "common_ancestors": ("d", "g"),
        "common_descendants": ("a", "e"),
        "what_if": (CHANGES,),
    }
    for question, about in asked.items():
        found, same = getattr(c, question)(*about), getattr(c.arrow, question)(*about)
        assert (found.columns, rows(found)) == (same.column_names, listed(same)), question


@pytest.mark.parametrize(
    ("engine", "backend"),
    [
        pytest.param("lanes", "local", marks=pytest.mark.slow),
        ("lanes", "spark"),
        pytest.param("centres", "spark", marks=pytest.mark.slow),
    ],
)
def test_both_backends_and_sql_have_the_same_answers(spark, only_functions, engine, backend):
    only_functions("common_ancestors", "common_descendants", "between", "cycles", "is_acyclic", "what_if")
    c, here = DynamicClosure.from_edges(EDGES, spark, engine, backend), DynamicClosure.from_edges(EDGES)
    for question in ("between", "common_ancestors"):
        assert listed(getattr(c.arrow, question)("a", "d")) == listed(getattr(here.arrow, question)("a", "d"))
    impact = c.arrow.impact(top=2) if engine == "centres" else c.impact(top=2).toArrow()
    assert impact["ancestors"].to_pylist() == [6, 4]
    assert (c.distance("a", "d"), c.distance("d", "a"), c.is_acyclic(), len(c)) == (3, None, False, 7)
    c.create_views("deps")
    told = c.what_if(CHANGES)
    assert (told.columns, rows(told)) == (["src", "dst", "op", "version"], expected_changes(c))
    foreseen = rows(spark.sql(f"FROM deps_what_if(array{tuple(CHANGES)})"))
    assert (rows(spark.table("deps_closure").select("src", "dst")), c.version) == (sorted(Plain(EDGES).pairs()), 0)
    assert rows(spark.sql("SELECT * FROM deps_cycles()")) == listed(here.arrow.cycles())
    for question, (a, b) in {"common_ancestors": ("d", "g"), "common_descendants": ("a", "e")}.items():
        same = getattr(here.arrow, question)(a, b)
        assert rows(spark.sql(f"FROM deps_{question}('{a}', '{b}')")) == listed(same)
    c.apply(CHANGES)
    assert rows(c.changes()) == rows(told)
    assert foreseen == [row[:3] for row in rows(told)]
    after = DynamicClosure.from_edges(c.arrow.edges(), vertices=c.arrow.vertices())
    counted = spark.sql("SELECT vertex, ancestors, descendants FROM deps_vertices")
    assert rows(counted) == listed(after.arrow.impact(top=99))
    together = spark.table("deps_components")
    assert (together.columns, rows(together)) == (["vertex", "component", "size"], listed(c.arrow.components()))
    on_paths = spark.sql("SELECT * FROM deps_between('b', 'x')")
    assert rows(on_paths) == listed(after.arrow.between("b", "x", edges=True))
    assert rows(spark.sql("SELECT * FROM deps_cycles()")) == listed(after.arrow.cycles())
    assert rows(spark.sql("SELECT deps_is_acyclic()")) == [(after.is_acyclic(),)]
    for question, degree in (("roots", "in_degree"), ("leaves", "out_degree")):
        found = spark.table("deps_vertices").where(f"{degree} = 0").select("vertex")
        assert rows(found) == listed(getattr(after.arrow, question)())


def test_what_sql_would_change_of_vertices_of_other_types(spark, only_functions):
    only_functions("cycles", "is_acyclic", "what_if")
    c = DynamicClosure.from_edges([(1, 2), (2, 3), (1, 3)], spark)
    c.create_views("numbers")
    assert rows(spark.sql("SELECT numbers_is_acyclic()")) == [(True,)]
    found = spark.sql(
        "SELECT * FROM numbers_what_if((SELECT array_agg(struct('delete', src, dst)) FROM numbers_edges WHERE dst = 3))"
    )
    assert rows(found) == [(1, 3, "delete"), (2, 3, "delete")]
    assert rows(spark.sql("SELECT * FROM numbers_what_if(NULL)")) == []
    with pytest.raises(PySparkException, match="expected 'insert' or 'delete' in column 'op'; got 'upsert' in row 0"):
        spark.sql("SELECT * FROM numbers_what_if(array(('upsert', 1, 2)))").collect()
    with pytest.raises(PySparkException, match="expected changes of edges between two vertices; got a null"):
        spark.sql("SELECT * FROM numbers_what_if(array(('insert', 1, NULL)))").collect()
    plan = spark.sql("EXPLAIN SELECT vertex FROM numbers_vertices WHERE in_degree = 0").collect()[0][0]
    assert "word" not in plan  # nothing of the closure is counted


@pytest.fixture
def asked(spark):
    return spark.createDataFrame(
        [(1, "a", "d"), (2, "d", "a"), (3, "a", "x"), (4, None, "a"), (5, "e", "e"), (1, "a", "d")],
        "id int, begin string, end string",
    )


@pytest.mark.connect
@pytest.mark.parametrize(("engine", "backend"), [("lanes", "local"), ("lanes", "spark"), ("algebraic", "local")])
def test_distances_of_a_dataframe(spark, asked, engine, backend):
    c = DynamicClosure.from_edges(EDGES, spark, engine, backend)
    answer = c.distance(asked, src="begin", dst="end")
    assert answer.dtypes == [("id", "int"), ("begin", "string"), ("end", "string"), ("distance", "int")]
    c.apply(CHANGES)  # the answer stays at the version at which it was made
    assert sorted((row.id, row.distance) for row in answer.where("distance IS NOT NULL").collect()) == [
        (1, 3),
        (1, 3),
        (5, 0),
    ]
    assert sorted(row.id for row in answer.where("distance IS NULL").collect()) == [2, 3, 4]
    assert rows(c.distance([("a", "d")])) == [("a", "d", 3)]


def test_distances_that_are_refused(spark, asked):
    c = DynamicClosure.from_edges(EDGES, spark)
    named = c.distance(asked.where("id = 3"), src="begin", dst="end", unknown="raise")
    with pytest.raises(PySparkException, match="expected a vertex of the graph; got 'x' in column 'end'"):
        named.collect()
    with pytest.raises(VertexTypeError, match="int64 in column 'id'"):
        c.distance(asked.selectExpr("bigint(id) AS id", "end"), src="id", dst="end")
    with pytest.raises(MissingColumnError, match="'distance' that is free"):
        c.distance(asked.withColumnRenamed("id", "distance"), src="begin", dst="end")
    with pytest.raises(MissingColumnError, match=r"no 'src' among.*For one pair: distance\(a, b\)"):
        c.distance(asked)
    with pytest.raises(OptionError, match="unknown='null'"):
        c.distance(asked, src="begin", dst="end", unknown="maybe")


def test_a_bulk_question_is_lazy_and_brings_nothing_here(spark, job_count):
    graph = [(n, n + 1) for n in range(300)] + [(n, n + 7) for n in range(0, 280, 3)]
    pairs = spark.range(300).selectExpr("id AS src", "299 - id AS dst")
    plain = nx.DiGraph(graph)
    lengths = {(n, 299 - n): nx.shortest_path_length(plain, n, 299 - n) for n in range(150)}
    for backend in ("local", "spark"):
        c = DynamicClosure.from_edges(graph, spark, backend=backend)
        with job_count() as jobs:
            distances, paths = c.distance(pairs), c.explain(pairs)
        assert jobs.started == 0
        found = {(row.src, row.dst): row.distance for row in distances.collect()}
        assert found == dict.fromkeys(((n, 299 - n) for n in range(300)), None) | lengths
        hops = paths.where("hop IS NOT NULL").groupBy("src", "dst").count().collect()
        assert {(row.src, row.dst): row["count"] for row in hops} == lengths
        ends = paths.selectExpr("hop_src", "hop_dst").dropna().distinct().collect()
        assert all(plain.has_edge(*edge) for edge in ends)


@pytest.mark.connect
def test_a_bulk_explanation_is_refused_with_the_vertex(spark, asked):
    c = DynamicClosure.from_edges(EDGES, spark)
    for row, came in ((3, "'x' in column 'end'"), (4, "null in column 'begin'")):
        answer = c.explain(asked.where(f"id = {row}"), src="begin", dst="end")
        with pytest.raises(PySparkException, match=f"expected a vertex of the graph; got {came}"):
            answer.collect()


def test_what_if_on_spark_names_a_cycle_and_leaves_all_as_it_was(spark):
    c = DynamicClosure.from_edges([(1, 2), (2, 3)], spark, "path_counting", "spark")
    with pytest.raises(CycleError, match=r"3 → 1 → 2 → 3|1 → 2 → 3 → 1|2 → 3 → 1 → 2"):
        c.what_if([("insert", 3, 1)])
    assert rows(c.what_if([("insert", 3, 9)])) == [(1, 9, "insert", 1), (2, 9, "insert", 1), (3, 9, "insert", 1)]
    assert (c.version, len(c), rows(c.pairs())) == (0, 3, [(1, 2), (1, 3), (2, 3)])


@pytest.mark.connect
def test_a_closure_on_spark_is_closed(spark):
    with DynamicClosure.from_edges(EDGES, spark, backend="spark") as c:
        known = c.pairs()
        assert ("a", "d") in c
    with pytest.raises(ClosedError):
        c.pairs()
    assert rows(known) == sorted(Plain(EDGES).pairs())
