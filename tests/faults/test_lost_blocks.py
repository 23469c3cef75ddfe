"""Spark lets every block go that it has kept, as the loss of all executors would: each operation makes it good."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.engines.lanes import on_spark
from dyntc_spark.errors import LostBlocksError
from dyntc_spark.graph import surviving
from tests.blocks.oracle import Plain as Matrix
from tests.store.closures import pairs, recomputed

EDGES = [(v, v + k) for v in range(40) for k in (1, 5)]
ACTS = {
    "update": lambda c: c.apply([("delete", 10, 11), ("insert", 3, 39), ("insert", 75, 2)]),
    "rebuild": lambda c: c.reset([*EDGES, (80, 0)]),
    "question": pairs,
    "certificate": lambda c: c.verify(),
    "move": lambda c: c.in_process(),
}


@pytest.fixture
def lose(spark):
    """Let go of everything that was kept."""
    if session.is_connect(spark):
        pytest.skip("a client of Spark Connect cannot see what the server keeps")
    context = spark.sparkContext._jsc.sc()

    def lost():
        kept = list(context.getPersistentRDDs().keys().mkString(",").split(","))
        for number in filter(None, kept):
            context.unpersistRDD(int(number), True)
        return len(kept)

    return lost


def check(spark, lose, engine, act):
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine=engine, backend="spark")
    assert lose()
    ACTS[act](c)
    assert pairs(c) == recomputed(c)
    assert c.verify()
    c.apply([("delete", 20, 21), ("insert", 90, 1)])
    assert pairs(c) == recomputed(c)
    return c.stats()["details"]["losses"]


def test_what_is_lost_is_built_again(spark, lose, caplog):
    assert check(spark, lose, "path_counting", "update") >= 1
    assert "built again from its edges: a loss of Checkpoint block rdd_" in caplog.text


@pytest.mark.usefixtures("_few_functions")
def test_spark_makes_good_what_lanes_lose(spark, lose, monkeypatch):
    """Also what a batch has made of older blocks. Whatever was handed out before is whole, too."""
    monkeypatch.setattr(on_spark, "HAND_BYTES", 0)
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine="lanes", backend="spark")
    c.create_views("lost")
    first, count = c.pairs(), len(recomputed(c))
    c.apply([("delete", 10, 11), ("insert", 3, 39)])
    second = c.pairs()
    lose()
    assert c.verify()
    assert (first.count(), second.count()) == (count, len(recomputed(c)))
    lose()
    c.insert([(44, 0)])
    lose()
    assert spark.table("lost_closure").count() == c.pairs().count() == len(recomputed(c))
    assert c.stats()["details"]["losses"] == 0


def test_names_on_spark_that_are_lost_get_their_numbers_again(spark, lose, caplog):
    named = lambda edges: spark.createDataFrame([(f"v{a}", f"v{b}") for a, b in edges], "src string, dst string")  # noqa: E731
    c = DynamicClosure.from_edges(named(EDGES), names="spark")
    c.insert(named([(44, 90), (90, 91)]))
    vertices = c._parts.door.now.graph.vertices
    numbers = sorted(map(tuple, vertices.frame(spark).collect()))
    assert lose() >= 2
    assert c.reaches("v0", "v91")
    assert "Names of vertices are made again" in caplog.text
    assert sorted(map(tuple, vertices.frame(spark).collect())) == numbers
    lose()
    assert c.pairs().count() == c.stats()["pairs"]
    lose()
    c.apply(named([(91, 92), (0, 1)]).selectExpr("if(src = 'v0', 'delete', 'insert') AS op", "*"))
    assert c.reaches("v44", "v92")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lanes", "recompute", "algebraic", "centres", "logarithmic", "path_counting"])
def test_dataframes_of_every_engine_after_a_loss(spark, lose, engine):
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine=engine, backend="spark")
    lose()
    assert c.pairs().count() == len(recomputed(c))
    lose()
    c.create_views("lost")
    assert spark.table("lost_closure").count() == len(recomputed(c))
    assert c.stats()["details"]["losses"] == (0 if engine in {"lanes", "recompute"} else 2)


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("engine", ["lanes", "recompute", "algebraic", "centres", "logarithmic", "path_counting"])
def test_every_engine_and_operation(spark, lose, engine, act):
    check(spark, lose, engine, act)


def test_changes_after_a_loss(spark, lose, monkeypatch):
    """Blocks before and after a batch are lost: Spark makes both again."""
    monkeypatch.setattr(on_spark, "HAND_BYTES", 0)
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine="lanes", backend="spark")
    before = recomputed(c)
    c.apply([("delete", 10, 11), ("insert", 3, 39), ("insert", 75, 2)])
    lose()
    found = {(row.src, row.dst, row.op) for row in c.changes().collect()}
    after = recomputed(c)
    assert found == {(*p, "insert") for p in after - before} | {(*p, "delete") for p in before - after}
    assert c.stats()["details"]["losses"] == 0


@pytest.mark.slow
def test_views_of_a_state_that_was_lost(spark, lose):
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine="lanes", backend="spark")
    c.create_views("lost")
    lose()
    c.verify()
    assert spark.table("lost_closure").count() == len(recomputed(c))
    assert c.pairs().count() == len(recomputed(c))


def test_losses_that_do_not_end(spark, lose, monkeypatch):
    monkeypatch.setattr(surviving, "MOST_LOSSES", 2)
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine="path_counting", backend="spark")
    real = c._parts.door.engine.init

    def init(*arguments):
        real(*arguments)
        lose()

    lose()
    monkeypatch.setattr(c._parts.door.engine, "init", init)
    with pytest.raises(LostBlocksError, match="An executor that held them is gone"):
        c.verify()
    monkeypatch.undo()
    assert c.verify()
    assert pairs(c) == recomputed(c)


def test_a_matrix_says_what_is_lost(spark, lose):
    """A matrix alone has no edges to be built from."""
    blocks = Matrix.random(COUNTING, (40, 40), 0.2, 1).blocks(SparkBackend(spark), 16)
    lose()
    with pytest.raises(LostBlocksError, match="'multiply matrix by matrix' reads; got a loss of Checkpoint block rdd_"):
        blocks.multiply(blocks)
    assert BlockMatrix.identity(3, backend=SparkBackend(spark)).nnz() == 3
