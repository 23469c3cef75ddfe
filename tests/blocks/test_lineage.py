"""Materialisation: the same results by every strategy, and neither plans, tables nor blocks that pile up."""

from __future__ import annotations

import contextlib
import gc
import io

import numpy as np
import pytest

from dyntc_spark import session
from dyntc_spark.blocks.lineage import ManagedTable
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.errors import OverflowingCountError, SessionError
from tests.blocks.oracle import RESIDUES, Plain, assert_same, lines
from tests.waiting import eventually

pytestmark = pytest.mark.connect

SIZE = 16


def tables(spark, schema="default"):
    names = (row.tableName for row in spark.sql(f"SHOW TABLES IN `{schema}`").collect())
    return sorted(name for name in names if name.startswith("dyntc_"))


@pytest.fixture(params=["local_checkpoint", "parquet"])
def kept(request, spark):
    if request.param == "delta" and not spark.conf.get("spark.sql.extensions", ""):
        pytest.skip("Delta's package or jars are not there, so the session was started without it")
    backend = SparkBackend(spark, request.param, partitions=2)
    yield backend
    backend.close()
    gc.collect()
    assert tables(spark) == []


@pytest.mark.parametrize("kept", ["local_checkpoint", "parquet", "delta"], indirect=True)
def test_the_same_results_by_every_strategy(kept):
    a, b = Plain.random(RESIDUES, (40, 40), 0.1, 1), Plain.random(RESIDUES, (40, 40), 0.1, 2)
    left, right = a.blocks(kept, SIZE), b.blocks(kept, SIZE)
    u, v = lines(RESIDUES, (40, 2), 3), lines(RESIDUES, (2, 40), 4)
    product, expected = left.multiply(right), a.multiply(b)
    assert_same(product, expected)
    updated, expected = product.rank_update(u, v), expected.rank_update(u, v)
    assert_same(updated, expected)
    assert_same(updated.rows([39, 0]), Plain(RESIDUES, expected.layers[:, [39, 0]]))


def test_blocks_last_as_long_as_any_matrix_made_of_them(kept):
    a = Plain.random(COUNTING, (20, 20), 0.2, 1)
    blocks = a.blocks(kept, SIZE)
    total = blocks.add(blocks)  # selected out of a state that nothing refers to any more
    renamed = BlockMatrix(a.blocks(kept, SIZE).state.select({"matrix": "x"}), "x")
    joined = a.blocks(kept, SIZE).state.select({"matrix": "y"}).join(renamed.state)
    del renamed
    for _ in range(2):
        gc.collect()
        blocks.set_entries([0], [0])
    assert_same(total, a.add(a))
    assert_same(BlockMatrix(joined, "x"), a)
    assert_same(BlockMatrix(joined, "y"), a)


def test_a_failure_leaves_the_matrix_as_it_was(kept):
    plain = Plain(COUNTING, np.full((1, 20, 20), 2**40))
    blocks = plain.blocks(kept, SIZE)
    for call in (lambda: blocks.multiply(blocks), lambda: blocks.rank_update([2**62] * 20, [2] * 20)):
        with pytest.raises(OverflowingCountError):
            call()
    assert_same(blocks, plain)
    assert_same(blocks.set_entries([3], [3], [1]), plain.set_entries([3], [3], [1]))


def test_a_failed_write_leaves_no_table(spark, monkeypatch):
    backend = SparkBackend(spark, "parquet")
    blocks = Plain.random(COUNTING, (20, 20), 0.2, 1).blocks(backend, SIZE)
    before = tables(spark)
    assert len(before) == 1
    monkeypatch.setattr("dyntc_spark.blocks.matrix_tasks.transposing", lambda *_: _broken)
    with pytest.raises(SessionError, match="transpose matrix"):
        blocks.transpose()
    assert tables(spark) == before
    assert blocks.nnz() > 0
    backend.close()


def _broken(batches):
    for _ in batches:
        raise RuntimeError
    yield from ()


def test_tables_go_where_the_schema_says(spark):
    spark.sql("CREATE DATABASE `Dyntc_Schema_1`")
    try:
        backend = SparkBackend(spark, "parquet", schema="Dyntc_Schema_1")
        blocks = BlockMatrix.identity(20, size=SIZE, backend=backend)
        assert blocks.nnz() == 20
        assert len(tables(spark, "Dyntc_Schema_1")) == 1
        assert tables(spark) == []
        backend.close()
        assert tables(spark, "Dyntc_Schema_1") == []
    finally:
        spark.sql("DROP DATABASE `Dyntc_Schema_1` CASCADE")


def test_a_strategy_is_closed_twice_and_is_empty_at_first(spark):
    managed = ManagedTable(spark, "parquet")
    managed.close()
    managed.close()
    backend = SparkBackend(spark)
    backend.close()
    assert BlockMatrix.identity(3, backend=backend).nnz() == 3


# --- two hundred updates ---------------------------------------------------------------------


def plan(state):
    """Return the length of the plan, written out."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        state.frame.explain(extended=True)
    return len(text.getvalue())


def updates(backend, count, watch):
    """Update a tiny matrix ``count`` times; ``watch`` looks on after each."""
    n = 20
    matrix, expected = Plain.zeros(COUNTING, (n, n)).blocks(backend, SIZE), np.zeros((n, n), np.int64)
    ones = np.ones(n, np.int64)
    for step in range(count):
        u = np.zeros(n, np.int64)
        u[step % n] = 1
        matrix = matrix.rank_update(u, ones)
        expected[step % n] += 1
        watch(step, matrix)
    assert_same(matrix, Plain(COUNTING, expected[None]))


@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_updates_grow_neither_the_plan_nor_what_is_stored(spark, count):
    backend, lengths, before = SparkBackend(spark, partitions=1), {}, stored(spark)

    def watch(step, matrix):
        if step in {5, count - 1}:
            lengths[step] = plan(matrix.state)

    updates(backend, count, watch)
    assert backend.jobs.total == count + 2  # to build it, each update, to read it
    assert abs(lengths[count - 1] - lengths[5]) < 200, "numbers get longer, the plan does not"
    # Spark's cleaner is one thread of the JVM, which may have much to do for other tests first.
    assert eventually(lambda: stored(spark) <= before + 3), f"{stored(spark)} states are stored, {before} before"


def stored(spark):
    """Return the number of materialised states that Spark still holds; a client of Spark Connect cannot see it."""
    if session.is_connect(spark):
        return 0
    gc.collect()
    spark.sparkContext._jvm.System.gc()
    return spark.sparkContext._jsc.sc().getPersistentRDDs().size()


@pytest.mark.parametrize("count", [6, pytest.param(41, marks=pytest.mark.slow)])
def test_updates_do_not_pile_up_tables(spark, count):
    backend, counts, lengths = SparkBackend(spark, "parquet", partitions=1), [], []

    def watch(step, matrix):
        gc.collect()
        if step % 5 == 0:
            counts.append(len(tables(spark)))
            lengths.append(plan(matrix.state))

    updates(backend, count, watch)
    assert max(counts) <= 3
    assert max(lengths) - min(lengths) < 200
    backend.close()
    assert tables(spark) == []
