"""Questions of a DataFrame: lazy joins that keep its rows and columns, against a search from every vertex."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark import DynamicClosure, session
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.errors import MissingColumnError, OptionError, VertexTypeError
from dyntc_spark.graph.inputs.spark_columns import column_kinds
from dyntc_spark.graph.tables.frames import frame
from tests.graph.oracle import Plain

EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "d")]


@pytest.fixture
def closure(spark):
    return DynamicClosure.from_edges(EDGES, spark=spark)


def rows(frame):
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def drawn(seed, n, count, *, acyclic=False):
    """Draw edges, some of them on a large ring unless the graph is to be acyclic."""
    ends = np.random.default_rng(seed).integers(n, size=(count, 2))
    ends = np.sort(ends, axis=1)[ends[:, 0] != ends[:, 1]] if acyclic else ends
    ring = [] if acyclic else [(v, v + 1) for v in range(10)] + [(10, 0)]
    return [*map(tuple, ends.tolist()), *ring]


def require_right(spark, closure, plain):
    """Require all answers to be those of a search; questions come twice, and some have unknown vertices."""
    pairs, known = plain.pairs(), plain.vertices
    some = [int(v) for v in np.random.default_rng(7).choice(sorted(known), 12)] + [-1, None]
    asked = [(u, v) for u in some for v in some] * 2
    questions = spark.createDataFrame(asked, "src int, dst int")
    expected = [(u, v, u == v or (u, v) in pairs if {u, v} <= known else None) for u, v in asked]
    answer = closure.query(questions)
    assert rows(answer.select("src", "dst", "reachable")) == sorted(expected, key=repr)
    vertices = spark.createDataFrame([(v,) for v in some], "vertex bigint")
    for turned, question in ((False, closure.descendants), (True, closure.ancestors)):
        found = [(u, w) if not turned else (w, u) for u, w in pairs]
        expected = [(v, w) for v in some if v in known for u, w in found if u == v]
        expected += [(v, None) for v in some if v not in known]
        assert rows(question(vertices)) == sorted(expected, key=repr)
    return pairs


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine(spark, engine):
    plain = Plain(drawn(3, 40, 45, acyclic=engine == "path_counting"))
    closure = DynamicClosure.from_edges(sorted(plain.edges), spark=spark, engine=engine)
    require_right(spark, closure, plain)


@pytest.mark.parametrize("backend", ["local", "spark"])
@pytest.mark.usefixtures("_few_functions")
def test_words_with_all_bits_and_batches(spark, backend):
    plain = Plain(drawn(4, 100, 115))
    closure = DynamicClosure.from_edges(sorted(plain.edges), spark=spark, engine="lanes", backend=backend)
    pairs = require_right(spark, closure, plain)
    runs = closure._parts.tables.tables().runs
    assert runs.where("word < 0").count() > 0  # the highest bit
    assert rows(closure.pairs()) == sorted(pairs, key=repr)
    old = closure.pairs()
    batch = [("delete", *edge) for edge in sorted(plain.edges)[:20]] + [("insert", 90, 3), ("insert", 3, 999)]
    closure.apply(batch)
    plain.apply(batch)
    require_right(spark, closure, plain)
    assert old.count() == len(pairs)  # of the version at which it was made
    closure.create_views("bits")
    found = {row.vertex: row.descendants for row in spark.table("bits_vertices").collect()}
    assert found == {v: len(plain.distances(v)) - 1 for v in plain.vertices}


def test_a_vertex_itself(closure, spark):
    asked = spark.createDataFrame([("a", 1), ("d", 2), ("x", 3)], "vertex string, k int")
    below = [("a", 1, v) for v in "abcd"] + [("d", 2, "d")]
    above = [("a", 1, v) for v in "abc"] + [("d", 2, v) for v in "abcde"]
    assert rows(closure.descendants(asked, reflexive=True)) == sorted([*below, ("x", 3, None)], key=repr)
    assert rows(closure.ancestors(asked, reflexive=True, unknown="false")) == above


@pytest.mark.connect
def test_columns_stay_whatever_they_are_called(closure, spark):
    names = ["a.b", "sr`c", "d st", "number", "s", "q", "{x}", "vertex", "stripe", "component", "n'; --"]
    asked = spark.createDataFrame([(1, "a", "d", *range(8))] * 2, names)
    answer = closure.query(asked, src="sr`c", dst="d st")
    assert answer.columns == [*names, "reachable"]
    assert rows(answer) == [(1, "a", "d", *range(8), True)] * 2
    found = closure.ancestors(asked, column="d st")
    assert found.columns == [*names, "ancestor"]
    assert rows(found) == sorted([(1, "a", "d", *range(8), v) for v in "abce"] * 2)


def test_names_that_come_twice(closure, spark):
    asked = spark.sql("SELECT 'a' AS src, 1 AS k, 2 AS k, 'd' AS dst")
    assert closure.query(asked).columns == ["src", "k", "k", "dst", "reachable"]
    assert rows(closure.query(asked)) == [("a", 1, 2, "d", True)]


@pytest.mark.connect
def test_vertices_that_the_graph_does_not_have(closure, spark):
    asked = spark.createDataFrame([("a", "x"), ("x", "x"), (None, "a"), ("a", "e")], "src string, dst string")
    assert [row[2] for row in rows(closure.query(asked))] == [False, None, None, None]
    assert [row[2] for row in rows(closure.query(asked, unknown="false"))] == [False] * 4
    said = r"expected a vertex of the graph; got 'x' in column 'dst', which the graph does not have"
    with pytest.raises(PySparkException, match=said):
        closure.query(asked.limit(1), unknown="raise").collect()
    assert rows(closure.query(asked.where("dst = 'e'"), unknown="raise")) == [("a", "e", False)]
    with pytest.raises(PySparkException, match="got null in column 'src'"):
        closure.descendants(asked.where("src IS NULL"), column="src", unknown="raise").collect()
    for question in (closure.query, lambda rows, unknown: closure.ancestors(rows, column="src", unknown=unknown)):
        with pytest.raises(OptionError, match="unknown='null', unknown='false' or unknown='raise'; got 'no'"):
            question(asked, unknown="no")
    with pytest.raises(OptionError, match="unknown='raise' or unknown='false'; got 'null'"):
        closure.query([("a", "x")], unknown="null")


def test_what_cannot_be_asked(closure, spark):
    asked = spark.sql("SELECT 'a' AS src, 'd' AS dst, true AS Reachable, 7 AS number, 'x' AS descendant")
    with pytest.raises(MissingColumnError, match="a name 'reachable' that is free for the answer; got a column 'Reach"):
        closure.query(asked)
    with pytest.raises(MissingColumnError, match="a name 'descendant' that is free"):
        closure.descendants(asked, column="src")
    with pytest.raises(MissingColumnError, match="the columns vertex, each once; got no 'vertex' among"):
        closure.ancestors(asked)
    with pytest.raises(
        VertexTypeError, match="vertices of type string, as the graph has them; got int64 in column 'num"
    ):
        closure.query(asked.drop("Reachable"), src="number")


@pytest.mark.connect
def test_nothing(closure, spark):
    empty = spark.createDataFrame([], "src string, dst string, k int")
    assert closure.query(empty).dtypes == [("src", "string"), ("dst", "string"), ("k", "int"), ("reachable", "boolean")]
    assert rows(closure.query(empty)) == rows(closure.descendants(empty, column="src")) == []
    nobody = DynamicClosure.from_edges([], spark=spark)
    asked = spark.createDataFrame([(1, 2)], "src int, dst int")
    assert rows(nobody.query(asked)) == [(1, 2, None)]
    assert rows(nobody.ancestors(asked, column="dst")) == [(1, 2, None)]


@pytest.mark.parametrize("backend", ["local", "spark"])
def test_numbers_of_paths(spark, backend):
    diamond = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    closure = DynamicClosure.from_edges(diamond, spark=spark, engine="path_counting", backend=backend)
    asked = spark.createDataFrame([("a", "d"), ("d", "a"), ("b", "b"), ("a", "x")], "src string, dst string")
    answer = closure.query(asked)
    assert answer.dtypes[-1] == ("paths", "decimal(38,0)")
    found = {(row.src, row.dst): (row.reachable, row.paths) for row in answer.collect()}
    assert found == {("a", "d"): (True, 2), ("d", "a"): (False, 0), ("b", "b"): (True, 1), ("a", "x"): (None, None)}
    with pytest.raises(MissingColumnError, match="a name 'paths' that is free"):
        closure.query(asked.withColumn("paths", F.lit(1)))
    closure.apply([("insert", "a", "d"), ("delete", "c", "d"), ("insert", "d", "e")])
    assert sorted(closure.query([("a", "d"), ("a", "e")]).collect()) == [("a", "d", True, 2), ("a", "e", True, 2)]
    found = {(row.src, row.dst): (row.reachable, row.paths) for row in closure.query(asked).collect()}
    assert found == {("a", "d"): (True, 2), ("d", "a"): (False, 0), ("b", "b"): (True, 1), ("a", "x"): (None, None)}


@pytest.mark.parametrize("backend", ["local", "spark"])
def test_numbers_of_paths_with_many_digits(spark, backend):
    """A chain of diamonds: 2^k paths. Where so many begin that the primes do not tell them apart, they are null."""
    chain = [edge for k in range(140) for m in (1, 2) for edge in ((3 * k, 3 * k + m), (3 * k + m, 3 * k + 3))]
    closure = DynamicClosure.from_edges(chain, spark=spark, engine="path_counting", backend=backend)
    asked = spark.createDataFrame([(0, 3), (180, 183), (180, 420), (270, 420)], "src long, dst long")
    found = {(row.src, row.dst): row.paths for row in closure.query(asked).collect()}
    assert found == {(0, 3): None, (180, 183): 2, (180, 420): 2**80, (270, 420): 2**50}


def test_making_an_answer_starts_no_job(spark):
    if session.is_connect(spark):
        pytest.skip("a client does not see jobs")
    here = DynamicClosure.from_edges(drawn(5, 30, 40), spark=spark)
    there = DynamicClosure.from_edges(drawn(5, 30, 40), spark=spark, backend="spark")
    asked = spark.range(40).selectExpr("id AS src", "39 - id AS dst", "id AS vertex")
    context = spark.sparkContext
    for closure, looks in ((here, 0), (there, 4)):  # of which each looks whether the blocks are there
        context.setJobGroup("making", "making")
        before = len(context.statusTracker().getJobIdsForGroup("making"))
        made = [closure.query(asked), closure.descendants(asked), closure.ancestors(asked), closure.pairs()]
        assert len(context.statusTracker().getJobIdsForGroup("making")) - before <= looks
        context.setLocalProperty("spark.jobGroup.id", None)
        assert len(made) == 4


@pytest.mark.usefixtures("_few_functions")
def test_runs_are_sent_once_for_a_version(closure, spark, monkeypatch):
    sent = []
    monkeypatch.setattr(
        "dyntc_spark.graph.tables.relations.frame", lambda session, table: sent.append(table) or frame(session, table)
    )
    asked = spark.createDataFrame([("a", "d")], "src string, dst string")
    assert [rows(closure.query(asked)) for _ in range(2)] == [[("a", "d", True)]] * 2
    assert [table.column_names[0] for table in sent] == ["number", "stripe"]
    closure.create_views("once")
    assert len(sent) == 2


@pytest.mark.connect
def test_time_stamps_name_vertices_of_a_dataframe(spark):
    asked = spark.sql("SELECT timestamp'2020-01-01 00:00:00' AS src, array(timestamp'2020-01-01 00:00:00') AS dst")
    stamp = pa.timestamp("us", "UTC")
    assert column_kinds(asked, ["src", "dst"]) == [stamp, pa.list_(stamp)]
