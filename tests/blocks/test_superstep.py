"""Supersteps: several operations over several matrices of one state, together in one pass and one Spark job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from pyspark.sql import functions

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.operations import (
    ClearEntries,
    Combine,
    CountDifferences,
    CountEntries,
    Gather,
    Lookup,
    RankUpdate,
    SetEntries,
    VectorProduct,
)
from dyntc_spark.blocks.placement import Placement
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Kind, Operation
from dyntc_spark.blocks.where import Lines, Places
from tests.blocks.oracle import Plain, assert_same, lines

SIZE, N = 16, 53


def strip(matrix, array, *, upright):
    axis = matrix.grid.down if upright else matrix.grid.across
    return Strip.from_array(array, axis, matrix.ring, upright=upright)


@pytest.fixture(scope="module")
def plains():
    """Three matrices of one size, the last of them another ring's, and a smaller one."""
    return {
        "a": Plain.random(COUNTING, (N, N), 0.1, 1),
        "b": Plain.random(COUNTING, (N, N), 0.05, 2),
        "c": Plain.random(BOOLEAN, (N, N), 0.1, 3),
        "small": Plain.random(COUNTING, (20, 7), 0.3, 4),
    }


@pytest.fixture(scope="module")
def local_state(plains):
    backend = LocalBackend()
    state = None
    for name, plain in plains.items():
        one = plain.blocks(backend, SIZE).state.select({"matrix": name})
        state = one if state is None else state.join(one)
    return state


@pytest.fixture(scope="module")
def spark_state(spark_backend, local_state):
    """All matrices in one DataFrame."""
    return spark_backend.from_local(local_state)


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def state(request):
    return request.getfixturevalue(f"{request.param}_state")


def matrix(state, name):
    return BlockMatrix(state, name)


@pytest.mark.cluster
def test_results_come_in_the_order_of_the_operations(state, plains):
    a, b, c, small = (matrix(state, name) for name in ("a", "b", "c", "small"))
    after, found = state.run(
        CountEntries("c"),
        Gather("b", b.ring, Lines(b.grid, np.array([50, 3]))),
        Gather("small", small.ring, Lines(small.grid, np.array([6]), upright=True)),
        Lookup("a", a.ring, Places(a.grid, np.array([1, 52]), np.array([1, 52]))),
        CountDifferences("a", "b"),
        VectorProduct("c", c.grid, COUNTING, strip(c, np.ones((1, N), bool), upright=False)),
        CountEntries("small"),
    )
    assert after is state
    assert found[0] == plains["c"].nnz()
    assert_same(found[1], Plain(COUNTING, plains["b"].layers[:, [50, 3]]))
    assert_same(found[2], Plain(COUNTING, plains["small"].layers[:, :, [6]]))
    assert found[3].tolist() == plains["a"].layers[0, [1, 52], [1, 52]].tolist()
    assert found[4] > 0
    assert_same(found[5], Plain(COUNTING, plains["c"].layers.sum(axis=1, keepdims=True)))
    assert found[6] == plains["small"].nnz()


@pytest.mark.cluster
def test_an_operation_sees_what_earlier_ones_wrote_in_its_cell(state, plains):
    a, c, small = (matrix(state, name) for name in ("a", "c", "small"))
    u, v = lines(COUNTING, (N, 2), 5), lines(COUNTING, (2, N), 6)
    update = RankUpdate("a", strip(a, u, upright=True), strip(a, v, upright=False))
    gather = Gather("a", a.ring, Lines(a.grid, np.array([7, 40])))
    put = SetEntries("a", Places(a.grid, np.array([7]), np.array([0])), np.array([[99]]))
    clear = ClearEntries("small", Places(small.grid, np.array([0, 19]), np.array([0, 6])))
    after, found = state.run(
        gather, update, gather, put, gather, Combine("a", "b", "b", -1), CountEntries("b"), CountEntries("c"), clear,
        CountEntries("small"),
    )  # fmt: skip
    updated = plains["a"].rank_update(u, v)
    there = updated.set_entries([7], [0], [99])
    for strips, plain in zip((found[0], found[2], found[4]), (plains["a"], updated, there), strict=True):
        assert_same(strips, Plain(COUNTING, plain.layers[:, [7, 40]]))
    difference = there.subtract(plains["b"])
    assert found[6] == difference.nnz()
    assert found[7] == plains["c"].nnz()
    cleared = plains["small"].clear_entries([0, 19], [0, 6])
    assert found[9] == cleared.nnz()
    expected = {"a": there, "b": difference, "c": plains["c"], "small": cleared}
    for name, plain in expected.items():
        assert_same(matrix(after, name), plain)
    for name, plain in plains.items():
        assert_same(matrix(state, name), plain)
    assert c.nnz() == plains["c"].nnz()


def test_what_is_combined_replaces_all_of_what_was_there(state):
    places = np.arange(N)
    full, _ = state.run(
        SetEntries("b", Places(matrix(state, "b").grid, places, places[::-1].copy()), np.ones((1, N), np.int64)),
        Combine("a", "a", "a", -1),
    )
    after, (_, left) = full.run(Combine("a", "a", "b"), CountEntries("b"))
    assert left == 0
    assert matrix(after, "b").nnz() == 0


def test_no_operation_is_no_job(state):
    before = state.backend.jobs.total
    assert state.run() == (state, ())
    assert state.backend.jobs.total == before


@dataclass(frozen=True)
class Seen(Operation[dict]):
    """Reports for each cell that it runs in, under one key for each block row."""

    def apply(self, cell):
        cell.report(cell.bi, COUNTING.from_coordinates([0], [cell.bj], [[1]], (1, 10)))

    def collect(self, reports):
        return {key: COUNTING.coordinates(block)[1].tolist() for key, block in sorted(reports.items())}


def test_reports_of_all_tasks_are_added_up(state, plains):
    _, (cells, small) = state.run(Seen("c"), Seen("small"))
    there = plains["c"].layers[0]
    expected = {
        bi: [bj for bj in range(4) if there[bi * 16 : bi * 16 + 16, bj * 16 : bj * 16 + 16].any()] for bi in range(4)
    }
    assert cells == expected
    assert small == {0: [0], 1: [0]}  # only cells of its own grid


# --- states ----------------------------------------------------------------------------------


@pytest.mark.connect
@pytest.mark.cluster
def test_joined_states_run_together(backend, plains):
    kind = Kind(plains["a"].blocks(LocalBackend(), SIZE).grid, COUNTING)
    one, two = (backend.from_entries(plains[name].entries(), kind, name) for name in ("a", "b"))
    small = plains["small"].blocks(backend, SIZE).state.select({"matrix": "small"})
    before = backend.jobs.total
    joined = one.join(two).join(small)
    assert backend.jobs.total == before
    after, (_, count) = joined.run(Combine("a", "b", "a"), CountEntries("small"))
    assert count == plains["small"].nnz()
    for name, plain in {**plains, "a": plains["a"].add(plains["b"])}.items():
        if name != "c":
            assert_same(matrix(after, name), plain)


def test_select_keeps_and_renames(state, plains):
    chosen = state.select({"small": "x", "a": "y"})
    assert list(chosen.kinds) == ["x", "y"]
    assert_same(matrix(chosen, "x"), plains["small"])
    assert_same(matrix(chosen, "y"), plains["a"])


def test_multiply_keeps_the_other_matrices(state, plains):
    after = state.multiply("a", "b", "product")
    assert set(after.kinds) == {"a", "b", "c", "small", "product"}
    assert_same(matrix(after, "product"), plains["a"].multiply(plains["b"]))
    assert_same(matrix(after, "small"), plains["small"])
    squared = state.select({"c": "c"}).multiply("c", "c", "c")
    assert_same(matrix(squared, "c"), plains["c"].multiply(plains["c"]))


def test_a_product_may_have_cells_that_no_factor_has(backend):
    tall, wide = Plain.random(COUNTING, (53, 9), 0.3, 1), Plain.random(COUNTING, (9, 40), 0.3, 2)
    left, right = (plain.blocks(backend, SIZE).state for plain in (tall, wide))
    after = left.select({"matrix": "tall"}).join(right.select({"matrix": "wide"})).multiply("tall", "wide", "product")
    assert_same(matrix(after, "product"), tall.multiply(wide))
    assert_same(matrix(after, "tall"), tall)
    after.validate()


# --- jobs ------------------------------------------------------------------------------------


def supersteps(state, plains):
    a, b = matrix(state, "a"), matrix(state, "b")
    update = RankUpdate("a", *(strip(a, lines(COUNTING, shape, 5), upright=up) for shape, up in
                               (((N, 2), True), ((2, N), False))))  # fmt: skip
    ids = np.array([3, 30])
    gathers = [Gather(m.name, m.ring, Lines(m.grid, ids, up)) for m in (a, b) for up in (False, True)]
    return {
        "gather rows and columns of two matrices": lambda: state.run(*gathers),
        "rank update": lambda: state.run(update),
        "update and gather": lambda: state.run(update, *gathers),
        "lookup": lambda: a.lookup([(0, 0), (52, 52)]),
        "nnz": a.nnz,
        "add of two matrices of one state": lambda: a.add(b),
        "equality of two matrices of one state": lambda: a.equals(b),
        "set entries": lambda: a.set_entries([0], [0]),
        "transpose": a.transpose,
        "entries": a.to_entries,
        "vector": lambda: a.left_multiply(plains["a"].layers[0, :1]),
        "bytes": lambda: state.stored_bytes("a"),
    }


NAMES = [
    "gather rows and columns of two matrices", "rank update", "update and gather", "lookup", "nnz",
    "add of two matrices of one state", "equality of two matrices of one state", "set entries", "transpose", "entries",
    "vector", "bytes",
]  # fmt: skip


@pytest.mark.parametrize("what", NAMES)
def test_a_superstep_is_one_job(spark_state, plains, what):
    step = supersteps(spark_state, plains)[what]
    with spark_state.backend.jobs.watch() as noted:
        step()
    assert len(noted) == 1


@pytest.mark.parametrize("what", NAMES)
def test_a_superstep_is_one_job_of_spark(spark_state, plains, job_count, what):
    step = supersteps(spark_state, plains)[what]
    with job_count() as jobs:
        step()
    # A sum over all rows ends in a shuffle, which adaptive execution runs as a job before the last one.
    assert jobs.started <= (2 if what == "bytes" else 1)


def test_a_product_and_a_sum_of_two_states_are_one_job_each(spark_state, job_count):
    a, b = matrix(spark_state, "a"), matrix(spark_state.select({"b": "b"}), "b")
    with spark_state.backend.jobs.watch() as noted, job_count() as jobs:
        a.multiply(a)
    assert len(noted) == 1
    assert jobs.started <= 2
    with spark_state.backend.jobs.watch() as noted, job_count() as jobs:
        a.add(b)
    assert len(noted) == 1
    assert jobs.started <= 3  # each side's shuffle and the result's


def test_watchers_may_be_nested(local_backend):
    counter = type(local_backend.jobs)()
    with counter.watch() as outer:
        with counter.watch() as inner:
            pass
        counter.note("one")
    counter.note("two")
    assert (outer, inner, counter.total) == (["one"], [], 2)


# --- how strips and cells travel -------------------------------------------------------------


@pytest.fixture
def script(plains):
    """Run updates and reads that use strips; give all that comes out."""

    def run(backend, local_state):
        state = backend.from_local(local_state)
        a, c = matrix(state, "a"), matrix(state, "c")
        u, v = lines(COUNTING, (N, 2), 5), lines(COUNTING, (2, N), 6)
        zero = strip(a, np.zeros((2, N), np.int64), upright=False)
        after, found = state.run(
            RankUpdate("a", strip(a, u, upright=True), strip(a, v, upright=False)),
            RankUpdate("b", strip(a, u, upright=True), zero),
            VectorProduct("c", c.grid, COUNTING, strip(c, np.ones((3, N), bool), upright=False)),
            Gather("a", a.ring, Lines(a.grid, np.array([9]), upright=True)),
        )
        right = matrix(after, "b").right_multiply(plains["a"].layers[0, :, :2])
        product = matrix(after, "a").multiply(matrix(after, "b"))
        return [*(matrix(after, name).to_entries() for name in plains), *(found[i].array() for i in (2, 3)),
                right.array(), product.to_entries()]  # fmt: skip

    return run


def assert_equal_results(found, expected):
    for one, other in zip(found, expected, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_large_strips_go_through_a_broadcast_join(spark, local_state, script):
    expected = script(SparkBackend(spark), local_state)
    assert_equal_results(script(SparkBackend(spark, joined_bytes=0), local_state), expected)


def test_spark_4_0_has_no_arrow_udfs(spark_backend, local_state, script, monkeypatch):
    expected = script(spark_backend, local_state)
    monkeypatch.delattr(functions, "arrow_udf")
    assert_equal_results(script(spark_backend, local_state), expected)


def test_spark_4_0_has_no_partition_ids(spark_backend, local_state, script, monkeypatch):
    def route(self, frame):
        return frame.repartition(self.parts, "part")

    expected = script(spark_backend, local_state)
    monkeypatch.setattr(Placement, "route", route)
    assert_equal_results(script(spark_backend, local_state), expected)
