"""Names of vertices in a DataFrame on Spark: the same answers as with names in this process, and no name comes here."""

from __future__ import annotations

import datetime as dt
import random

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis.stateful import rule, run_state_machine_as_test
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark import DynamicClosure, session
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.errors import (
    ContradictionError,
    CycleError,
    InputError,
    MissingColumnError,
    NullEndpointError,
    OptionError,
    RedundantChangeError,
    SessionError,
    UnknownVertexError,
    VertexTypeError,
)
from dyntc_spark.graph.inputs import numbering
from dyntc_spark.graph.vertices import numbered_names
from dyntc_spark.graph.vertices import on_spark as vertices_on_spark
from dyntc_spark.graph.vertices.on_spark import VerticesOnSpark
from tests.graph.oracle import Plain
from tests.graph.test_state_machine import Machine

EDGES = "src string, dst string"
CHANGES = "op string, src string, dst string"


def rows(frame):
    return sorted(map(tuple, frame.collect()))


def on_spark(spark, edges, **options):
    return DynamicClosure.from_edges(spark.createDataFrame(edges, EDGES), names="spark", **options)


@pytest.fixture
def came(spark, monkeypatch):
    """Note the type of every column that comes to this process, but for what the test itself collects."""
    found, frame = [], type(spark.range(1))
    read = frame.toArrow

    def noted(self):
        table = read(self)
        found.extend((name, kind) for name, kind in zip(table.column_names, table.schema.types, strict=True))
        return table

    monkeypatch.setattr(frame, "toArrow", noted)
    return found


def script(seed, steps):
    """Yield batches of changes among a few vertices, of which some are new."""
    draw = random.Random(seed)  # noqa: S311  (no secret)
    for step in range(steps):
        names = [f"v{draw.randrange(8 + step)}" for _ in range(12)]
        edges = zip(names[::2], names[1::2], strict=True)
        yield [(draw.choice(["insert", "insert", "delete"]), *edge) for edge in edges]


def without_contradictions(batch):
    return [(op, *edge) for edge, op in {tuple(edge): op for op, *edge in batch}.items()]


@pytest.mark.usefixtures("_few_functions")
def test_the_same_answers_as_a_plain_search(spark, came):
    start = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("x", "y"), ("a", "b")]
    closure, plain = on_spark(spark, start), Plain(start)
    for step, batch in enumerate(script(5, 2)):
        if step:
            closure.create_views("far")
        changes = without_contradictions(batch)
        before = plain.pairs()
        closure.apply(spark.createDataFrame(changes, CHANGES) if step % 2 else changes)
        plain.apply(changes)
        pairs = plain.pairs()
        assert rows(closure.pairs()) == sorted(pairs)
        assert closure.stats()["pairs"] == len(pairs)
        assert closure.stats()["vertices"] == len(plain.vertices)
        assert {tuple(row)[:3] for row in closure.changes().collect()} == {
            *((*pair, "insert") for pair in pairs - before),
            *((*pair, "delete") for pair in before - pairs),
        }
    assert isinstance(closure._parts.door.now.graph.vertices, VerticesOnSpark)
    assert rows(closure.vertices()) == sorted((name,) for name in plain.vertices)
    assert rows(closure.edges()) == sorted(plain.edges)
    asked = spark.createDataFrame([("a", "d"), ("d", "a"), ("v1", "v2"), ("a", "nobody")], EDGES)
    assert rows(closure.query(asked.limit(3))) == sorted(
        (*pair, pair in pairs) for pair in [("a", "d"), ("d", "a"), ("v1", "v2")]
    )
    assert closure.query(asked).where("reachable IS NULL").count() == 1
    one = spark.createDataFrame([("a",), ("d",)], "vertex string")
    assert rows(closure.descendants(one)) == sorted(pair for pair in pairs if pair[0] in "ad")
    assert rows(closure.ancestors(one)) == sorted((w, v) for v, w in pairs if w in "ad")
    assert rows(closure.descendants("a")) == sorted((w,) for v, w in pairs if v == "a")
    assert rows(spark.table("far_closure").select("src", "dst")) == sorted(pairs)
    assert rows(spark.table("far_edges")) == sorted(plain.edges)
    assert {row.vertex: row.descendants for row in spark.table("far_vertices").collect()} == {
        v: sum(pair[0] == v for pair in pairs) for v in plain.vertices
    }
    assert not [name for name, kind in came if pa.types.is_string(kind) and name not in {"op", "version"}], came
    assert closure.reaches("a", "d") == (("a", "d") in pairs)
    path = closure.explain("a", "d").collect()
    assert [row.hop for row in path] == list(range(1, len(path) + 1))
    assert (path[0].src, path[-1].dst, len(path)) == ("a", "d", plain.distances("a")["d"])
    assert sorted(zip(*(column.to_pylist() for column in closure.arrow.pairs()), strict=True)) == sorted(pairs)


def test_vertices_are_dropped_and_numbers_used_again(spark, monkeypatch):
    monkeypatch.setattr(vertices_on_spark, "MOST_PARTS", 2)
    monkeypatch.setattr(vertices_on_spark, "MOST_SENT", 2)
    closure = on_spark(spark, [("a", "b"), ("b", "c")])
    closure.delete(spark.createDataFrame([("b", "c")], EDGES))
    closure.drop(["c"])
    extent = closure._parts.door.now.graph.vertices.extent
    closure.insert(spark.createDataFrame([("b", "d")], EDGES))  # which gets the number of c
    assert closure._parts.door.now.graph.vertices.extent == extent
    for number in range(4):
        closure.insert([(f"n{number}", "a")])
    assert rows(closure.vertices()) == [(name,) for name in ("a", "b", "d", "n0", "n1", "n2", "n3")]
    assert rows(closure.pairs()) == sorted(
        [("a", "b"), ("a", "d"), ("b", "d"), *((f"n{k}", end) for k in range(4) for end in "abd")]
    )
    with pytest.raises(UnknownVertexError, match="'c'"):
        closure.reaches("a", "c")
    closure.reset(spark.createDataFrame([("b", "a"), ("a", "z")], EDGES))
    assert rows(closure.changes().select("src", "dst", "op").where("src < 'n' AND dst <> 'd'")) == [
        ("a", "b", "delete"), ("a", "z", "insert"), ("b", "a", "insert"), ("b", "z", "insert"),
    ]  # fmt: skip
    closure.delete([("b", "a"), ("a", "z")])
    closure.drop(["a", "b", "z"])
    assert not closure._parts.door.now.graph.vertices.on_spark
    closure.insert([(1, 2)])
    assert closure.reaches(1, 2)


def test_numbers_are_the_same_when_names_are_made_again(spark):
    names = spark.createDataFrame([(f"n{k}",) for k in range(200)], "vertex string")
    order = iter([3, 1, 7])  # each time in other tasks, in another order
    kept, count = numbered_names.numbered(SparkBackend(spark), lambda: names.repartition(next(order), F.rand()), 5)
    numbers = rows(kept.frame)
    assert count == len(numbers) == 200
    assert sorted(number for _, number in numbers) == list(range(5, 205))
    kept.restore()
    assert rows(kept.frame) == numbers


@pytest.mark.parametrize("found", [range(21), range(19), [*range(19), 30]])
def test_other_names_are_an_error_and_never_other_numbers(spark, found):
    frames = (spark.createDataFrame([(f"n{k}",) for k in ks], "vertex string") for ks in (range(20), range(20), found))
    kept, _ = numbered_names.numbered(SparkBackend(spark), lambda: next(frames), 0)
    with pytest.raises(SessionError, match="names that differ"):
        kept.restore()
    assert kept.frame.count() == 20


@pytest.mark.connect
def test_the_table_that_the_names_came_from_may_change(spark, tmp_path):
    path = str(tmp_path / "edges")
    spark.createDataFrame([("a", "b")], EDGES).write.parquet(path)
    closure = DynamicClosure.from_edges(spark.read.parquet(path), names="spark")
    spark.createDataFrame([("c", "d")], EDGES).write.mode("overwrite").parquet(path)
    assert rows(closure.pairs()) == [("a", "b")]
    with pytest.raises(SessionError, match="Build the closure again"):
        closure._parts.door.now.graph.vertices._parts[0].names.restore()


def test_auto_is_by_the_number_of_names(spark, monkeypatch):
    edges = spark.createDataFrame([("a", "b"), ("b", "c"), ("c", "d")] * 3, EDGES)
    for most, far in ((3, True), (4, False), (18, False)):
        monkeypatch.setattr(numbering, "MOST_NAMES", most)
        closure = DynamicClosure.from_edges(edges)
        assert closure._parts.door.now.graph.vertices.on_spark == far
        assert closure.stats()["insertions_ignored"] == 6
        assert closure.reaches("a", "d")
    assert not DynamicClosure.from_edges(edges, names="driver")._parts.door.now.graph.vertices.on_spark
    with pytest.raises(OptionError, match="'spark'"):
        DynamicClosure.from_edges(edges, names="here")


KINDS = {
    "bigint": [1, 2, 3, 4],
    "double": [0.5, -0.0, 2.5, 3.5],
    "date": [dt.date(2020, 1, day) for day in (1, 2, 3, 4)],
    "timestamp": [dt.datetime(2020, 1, day, tzinfo=dt.timezone.utc) for day in (1, 2, 3, 4)],
    "array<string>": [["a"], ["a", "b"], [], ["c"]],
    "struct<`a.b`: bigint, c: array<double>>": [(1, [0.5]), (1, [1.5]), (2, []), (3, [0.5])],
}


LONG = [pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if not kind.startswith("struct")]


@pytest.mark.connect
@pytest.mark.parametrize("kind", ["struct<`a.b`: bigint, c: array<double>>", *LONG])
def test_vertices_of_every_type(spark, kind):
    a, b, c, d = KINDS[kind]
    edges = spark.createDataFrame([(a, b), (b, c)], f"src {kind}, dst {kind}")
    here, far = (DynamicClosure.from_edges(edges, names=names) for names in ("driver", "spark"))
    more = spark.createDataFrame([(c, d)], f"src {kind}, dst {kind}")
    for closure in (here, far):
        closure.insert(more)
    assert rows(here.pairs()) == rows(far.pairs())
    ends = here.arrow.edges().sort_by("src") if kind in {"double", "bigint"} else here.arrow.edges()
    assert far.arrow.query(ends)["reachable"].to_pylist() == [True] * 3


def test_what_is_refused_leaves_the_closure_as_it_was(spark, tmp_path):
    closure = on_spark(spark, [("a", "b"), ("b", "c")])
    batch = lambda *changes: spark.createDataFrame([*changes], CHANGES)  # noqa: E731
    edge = lambda *edges: spark.createDataFrame([*edges], EDGES)  # noqa: E731
    for error, message, call in (
        (NullEndpointError, "'src'", lambda: closure.insert(edge(("a", "b"), (None, "b")))),
        (VertexTypeError, "string", lambda: closure.insert(spark.range(2).selectExpr("id AS src", "id AS dst"))),
        (VertexTypeError, "src", lambda: closure.insert(spark.sql("SELECT 1 AS src, 'a' AS dst"))),
        (MissingColumnError, "'dst'", lambda: closure.insert(edge(("a", "b")).drop("dst"))),
        (ContradictionError, r"\('new', 'b'\)",
         lambda: closure.apply(batch(("insert", "new", "b"), ("delete", "new", "b")))),
        (RedundantChangeError, r"\('b', 'c'\)", lambda: closure.insert(edge(("b", "c")), strict=True)),
        (InputError, "DIVIDE_BY_ZERO",
         lambda: closure.insert(spark.range(3).selectExpr("string(1 / (id - 1)) AS src", "'a' AS dst"))),
        (VertexTypeError, "string", lambda: closure.reset(spark.range(2).selectExpr("id AS src", "id AS dst"))),
        (OptionError, "names='driver'", lambda: closure.save(str(tmp_path / "place"))),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            call()
    assert closure.version == 0
    assert rows(closure.pairs()) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert closure.insert(edge(("q", "r")).limit(0)).version == 0
    late = spark.createDataFrame([("delete", "a", "z", 2), ("insert", "a", "z", 1)], f"{CHANGES}, timestamp int")
    closure.apply(late)
    assert rows(closure.vertices()) == [("a",), ("b",), ("c",)]


def test_another_engine_names_its_cycle(spark):
    closure = on_spark(spark, [("a", "b"), ("b", "c")], engine="path_counting")
    with pytest.raises(CycleError) as refused:
        closure.insert(spark.createDataFrame([("c", "n"), ("n", "a")], EDGES))
    assert set(refused.value.cycle) == {"a", "b", "c", "n"}
    assert closure.arrow.query([("a", "c")])["paths"].to_pylist() == [1]


@pytest.mark.connect
def test_another_session_of_connect_is_refused(spark):
    if not session.is_connect(spark):
        pytest.skip("classic Spark joins DataFrames of all its sessions")
    closure = on_spark(spark, [("a", "b")])
    other = spark.cloneSession()
    with pytest.raises(SessionError, match="names of the vertices"):
        closure.query(other.createDataFrame([("a", "b")], EDGES))
    with pytest.raises(SessionError, match="names of the vertices"):
        closure.use(other)


def test_names_come_in_the_order_of_the_numbers(spark):
    vertices = on_spark(spark, [("a", "b"), ("b", "c")])._parts.door.now.graph.vertices
    names = vertices.names([2, 0, 2, 1])
    assert names[0] == names[2]
    assert vertices.numbers(names).tolist() == [2, 0, 2, 1]
    assert vertices.numbers(pa.array(["nobody"])).tolist() == [-1]
    assert np.array_equal(vertices.used, np.arange(3))


@pytest.mark.slow
def test_any_sequence_of_operations(spark):
    """The state machine of names in this process, with names on Spark; batches come as rows and as DataFrames."""

    class OnSpark(Machine):
        engine = "lanes"

        def made(self, start):
            return DynamicClosure.from_edges(start, spark, self.engine, "local", names="spark")

        def answered(self, pairs):
            return self.closure.arrow.query(pairs)["reachable"].to_pylist()

        @rule(data=st.data())
        def apply_a_dataframe(self, data):
            ends = st.sampled_from("abcdefg")
            edges = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=5, unique=True))
            batch = [(data.draw(st.sampled_from(["insert", "delete"])), *edge) for edge in edges]
            self.both(self.closure.apply, spark.createDataFrame(batch, CHANGES), batch)

    run_state_machine_as_test(OnSpark, settings=settings(max_examples=4, stateful_step_count=5, deadline=None))
