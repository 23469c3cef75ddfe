"""Stripes on Spark: what is read, what is written, and what is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.blocks import columns
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.operations import CountEntries
from dyntc_spark.blocks.rings import COUNTING, Modular
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.errors import OverflowingCountError
from dyntc_spark.matrices.lazy import layered_state
from dyntc_spark.matrices.lazy.frame import reached_frame
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.workers import Keys

N, HEIGHT = 90, 8  # twelve stripes, the last one ragged


def diagonal(backend, ring=COUNTING, **options):
    matrix = LazyMatrix((N, N), ring, backend=backend, height=HEIGHT, **options)
    matrix.init((range(N), range(N), [3] * N))
    return matrix, 3 * np.eye(N, dtype=int)


def change(matrix, dense, rows, columns):
    """Add 1 where ``rows`` and ``columns`` meet."""
    j, i = np.zeros(N, int), np.zeros(N, int)
    j[rows], i[columns] = 1, 1
    matrix.update(j, i)
    dense += np.outer(j, i)


@pytest.mark.cluster
def test_a_rebuild_writes_the_touched_stripes_only(spark):
    matrix, dense = diagonal(SparkBackend(spark))
    change(matrix, dense, [1, 50], [30])
    base = matrix.state.layers[0].kept
    matrix.rebuild()
    old, new = matrix.state.layers
    assert old.kept is base
    assert old.keys.tolist() == sorted({*range(24)} - {0, 6, 15})
    assert sorted(row.key for row in new.kept.frame.collect()) == new.keys.tolist() == [0, 6, 15]
    assert (matrix.rows(range(N)) == dense).all()
    assert (matrix.columns(range(N)) == dense).all()


def test_a_share_of_a_spread_rebuild_writes_its_own_stripes(spark):
    """The base is never copied, neither at once nor share by share."""
    matrix, dense = diagonal(SparkBackend(spark), epsilon=0.35, worst_case=True)
    base, seen = matrix.state.layers[0].kept, {}
    for k in range(3 * matrix.capacity):
        change(matrix, dense, [8 * (k % 4)], [40 + 8 * (k % 4)])
        state = matrix.state if matrix._rebuild is None else matrix._rebuild.state
        assert state.layers[0].kept is base
        for layer in state.layers[1:]:
            if layer.kept not in seen:
                seen[layer.kept] = [row.key for row in layer.kept.frame.select("key").collect()]
    assert matrix.stats()["rebuilds"] >= 1
    assert {key for keys in seen.values() for key in keys} == {0, 1, 2, 3} | {12 + k for k in (5, 6, 7, 8)}
    assert (matrix.rows(range(N)) == dense).all()


def test_long_lists_of_keys_are_named_by_runs(spark, monkeypatch):
    monkeypatch.setattr(columns, "LONG_LIST", 3)
    matrix, dense = diagonal(SparkBackend(spark))
    change(matrix, dense, [17, 41, 89], [0])
    matrix.rebuild()
    assert (matrix.rows(range(N)) == dense).all()
    assert (matrix.rows(range(5, 70)) == dense[5:70]).all()


def test_layers_shrink_geometrically(spark):
    """A new layer absorbs those that are not larger; nothing is lost on the way."""
    rng = np.random.default_rng(2)
    matrix, dense = diagonal(SparkBackend(spark))
    for _ in range(6):
        change(matrix, dense, rng.integers(N, size=2), rng.integers(N, size=2))
        matrix.rebuild()
        alive = [int(matrix.state.sizes[layer.keys].sum()) for layer in matrix.state.layers]
        assert len(alive) <= 1 + np.log2(sum(alive) / min(alive))
    assert (matrix.rows(range(N)) == dense).all()
    change(matrix, dense, range(N), range(N))
    matrix.rebuild()
    assert len(matrix.state.layers) == 1
    assert (matrix.columns(range(N)) == dense).all()
    matrix.state.validate()


def test_layers_in_tables(spark):
    backend = SparkBackend(spark, "parquet")
    matrix, dense = diagonal(backend)
    for k in (3, 50):
        change(matrix, dense, [k], [k + 1, k + 9])
        matrix.rebuild()
    assert (matrix.rows(range(N)) == dense).all()
    backend.close()


def test_sizes_are_those_of_the_payloads(spark):
    matrix, dense = diagonal(SparkBackend(spark))
    change(matrix, dense, range(40), range(40))
    matrix.rebuild()
    for name, first in (("by_row", 0), ("by_column", 12)):
        found = {row.bi: len(row.payload) for row in matrix.state.stripes(name).collect()}
        assert found == {bi: int(matrix.state.sizes[first + bi]) for bi in range(12)}


@pytest.mark.parametrize("near", [pytest.param(0, marks=pytest.mark.cluster), 2**30])
def test_near_and_far_reads_agree(spark, monkeypatch, near):
    """What is small is read at the driver, what is large in the workers."""
    monkeypatch.setattr(layered_state, "NEAR_BYTES", near)
    rng = np.random.default_rng(3)
    matrix, dense = diagonal(SparkBackend(spark))
    change(matrix, dense, rng.integers(N, size=9), rng.integers(N, size=9))
    matrix.rebuild()
    rows, columns = matrix.gather(rows=[3, 88, 3], columns=[0, 41])
    assert (matrix._array(rows) == dense[[3, 88, 3]]).all()
    assert (matrix._array(columns) == dense[:, [0, 41]].T).all()
    pairs = rng.integers(N, size=(20, 2))
    assert (matrix.lookup(pairs) == dense[pairs[:, 0], pairs[:, 1]]).all()
    assert matrix.state.run(CountEntries("by_row"), CountEntries("by_column"))[1] == (np.count_nonzero(dense),) * 2


def test_absent_stripes_are_not_asked_for(spark):
    backend = SparkBackend(spark)
    matrix = LazyMatrix((N, N), backend=backend, height=HEIGHT)
    matrix.init(([0], [0]))
    with backend.jobs.watch() as jobs:
        assert not matrix.rows([50]).any()
    assert jobs == []
    with backend.jobs.watch() as jobs:
        assert matrix.rows([0, 50]).sum() == 1
    assert len(jobs) == 1


def test_strips_that_are_too_large_to_travel_with_the_operation(spark):
    matrix, dense = diagonal(SparkBackend(spark, joined_bytes=0))
    change(matrix, dense, range(0, N, 5), range(0, N, 3))
    matrix.rebuild()
    assert (matrix.rows(range(N)) == dense).all()


def test_an_error_in_a_worker_is_ours_and_changes_nothing(spark):
    matrix = LazyMatrix((N, N), backend=SparkBackend(spark), height=HEIGHT)
    matrix.init((range(N), range(N), [2**61] * N))
    matrix.update(np.full(N, 2**31), np.full(N, 2**31))
    with pytest.raises(OverflowingCountError):
        matrix.rebuild()
    assert matrix.rank == 1
    assert matrix.state.stored_bytes("by_row") > 0


@pytest.mark.cluster
def test_moved_there_and_back(spark):
    """Buffers and a rebuild under way go along; the two matrices go their own ways."""
    rng = np.random.default_rng(8)
    ring = Modular((101, 8388593))
    for worst_case in (False, True):
        matrix, dense = diagonal(LocalBackend(), ring, epsilon=0.35, worst_case=worst_case)
        for _ in range(6):
            change(matrix, dense, rng.integers(N, size=4), rng.integers(N, size=4))
        far = matrix.moved(SparkBackend(spark))
        assert far.moved(SparkBackend(spark)) is far
        assert matrix.moved(LocalBackend()) is matrix
        before = dense.copy()
        change(far, dense, [1, 2], [3])
        near = far.moved(LocalBackend())
        for each, wanted in ((matrix, before), (far, dense), (near, dense)):
            shown = np.stack([wanted % p for p in ring.primes])
            assert (each.rows(range(N)) == shown).all()
            assert (each.columns(range(N)) == shown).all()


def test_rows_as_a_dataframe(spark):
    rng = np.random.default_rng(9)
    matrix, dense = diagonal(SparkBackend(spark))
    change(matrix, dense, [1, 60], rng.integers(N, size=5))
    matrix.rebuild()
    change(matrix, dense, [2, 60], rng.integers(N, size=5))
    found = {row.number: row.reached for row in reached_frame(matrix, N - 3).collect()}
    assert found == {v: np.flatnonzero(dense[v]).tolist() for v in range(N - 3)}


def test_keys():
    keys = Keys.of(LazyMatrix((20, 9), height=4).kinds)
    assert keys.count == 8
    assert [keys.locate(key) for key in (0, 4, 5, 7)] == [
        ("by_row", 0), ("by_row", 4), ("by_column", 0), ("by_column", 2),
    ]  # fmt: skip
