"""BlockMatrix on both backends against numpy: making matrices and looking at them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from chispa.dataframe_comparer import assert_df_equality

from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.kernels.block import Dense
from tests.blocks.oracle import RESIDUES, RING_NAMES, RINGS, Plain, assert_same, layered, lines, payloads

SIZE = 16
#: No rows, no columns, one entry, one block and nothing beside it, one block row, several, a block a single line.
DEGENERATE = [(0, 5), (5, 0), (0, 0), (1, 1), (16, 16), (3, 40), (33, 1)]


# --- making ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sparse", "dense", pytest.param("wide", marks=pytest.mark.cluster), "empty"])
def test_from_entries(sample, name):
    plain, blocks = sample(name)
    assert_same(blocks, plain)
    assert blocks.grid.blocks == tuple(-(-side // SIZE) for side in plain.shape)


def test_entries_at_one_place_are_added_up(backend, ring):
    rows, columns, values = [0, 20, 0, 20, 3], [5, 1, 5, 1, 3], [1, 2, 4, -2, 7]
    given = (rows, columns) if ring == BOOLEAN else (rows, columns, values)
    found = BlockMatrix.from_entries(given, (21, 6), ring, size=SIZE, backend=backend)
    plain = Plain.zeros(ring, (21, 6))
    for i, j, value in zip(rows, columns, values, strict=True):
        plain.layers[:, i, j] += 1 if ring == BOOLEAN else value
    assert_same(found, Plain(ring, plain.layers))


@pytest.mark.parametrize("ring", [COUNTING, RESIDUES], ids=["counting", "residues"])
def test_entries_without_values_are_ones(backend, ring):
    found = BlockMatrix.from_entries(([0, 18], [1, 17]), (20, 20), ring, size=SIZE, backend=backend)
    assert found.lookup([(0, 1), (18, 17), (1, 1)]).tolist() == np.array([[1, 1, 0]] * ring.planes).squeeze().tolist()


def test_one_layer_of_values_serves_all_primes(backend):
    values = [6, 7, 8388593]
    found = BlockMatrix.from_entries(([0, 1, 2], [2, 1, 0], values), (3, 3), RESIDUES, size=2, backend=backend)
    assert found.lookup([(0, 2), (1, 1), (2, 0)]).tolist() == [[6, 7, 0], [6, 0, 8388593 % 7]]


@pytest.mark.connect
@pytest.mark.cluster
@pytest.mark.parametrize("ring", RINGS, ids=RING_NAMES)
def test_from_a_dataframe_and_to_one(spark, spark_backend, ring):
    plain = Plain.random(ring, (37, 50), 0.1, seed=4)
    rows, columns = np.nonzero(plain.layers.any(axis=0))
    rows, columns = np.append(rows, rows[:5]), np.append(columns, columns[:5])  # some of them twice
    values = np.random.default_rng(5).integers(-9, 9, len(rows))
    table = {"column": columns.astype(np.int32), "row": rows, "other": rows}
    if ring != BOOLEAN:
        table["value"] = values.astype(np.int16)
    given = spark.createDataFrame(pa.table(table))
    with spark_backend.jobs.watch() as jobs:
        blocks = BlockMatrix.from_entries(given, (37, 50), ring, size=SIZE, backend=spark_backend)
    assert len(jobs) == 1
    expected = Plain.zeros(ring, (37, 50)).layers
    for layer in expected:
        np.add.at(layer, (rows, columns), 1 if ring == BOOLEAN else values)
    expected = Plain(ring, expected)
    assert_same(blocks, expected)

    with spark_backend.jobs.watch() as jobs:
        found = blocks.state.to_dataframe(blocks.name)
    assert jobs == []
    at = np.nonzero(expected.layers.any(axis=0))
    wanted = {"row": at[0], "column": at[1]}
    if ring.modulus:
        wanted["values"] = pa.array(expected.layers[:, at[0], at[1]].T.tolist(), pa.list_(pa.int64()))
    elif ring.planes:
        wanted["value"] = expected.layers[0, at[0], at[1]]
    assert_df_equality(found, spark.createDataFrame(pa.table(wanted)), ignore_row_order=True, ignore_nullable=True)


def test_a_boolean_dataframe_may_have_a_column_of_true(spark, spark_backend):
    given = spark.createDataFrame([(3, 17, True), (3, 17, True)], "row long, column long, value boolean")
    found = BlockMatrix.from_entries(given, (4, 18), size=SIZE, backend=spark_backend)
    assert found.to_entries().rows.tolist(), found.to_entries().columns.tolist() == ([3], [17])


def test_an_empty_dataframe(spark, spark_backend):
    given = spark.createDataFrame([], "row long, column long")
    assert BlockMatrix.from_entries(given, (20, 20), size=SIZE, backend=spark_backend).nnz() == 0


def test_from_blocks(sample, backend, ring):
    plain, blocks = sample("sparse")
    rows = [(bi, bj, payload) for (bi, bj), payload in payloads(blocks).items()]
    again = BlockMatrix.from_blocks(reversed(rows), plain.shape, ring, size=SIZE, backend=backend)
    assert_same(again, plain)


def test_from_a_dataframe_of_blocks(spark, spark_backend, sample, ring):
    plain, blocks = sample("sparse")
    rows = [(bi, bj, payload) for (bi, bj), payload in payloads(blocks).items()]
    given = spark.createDataFrame(rows, "bi int, bj int, payload binary")
    again = BlockMatrix.from_blocks(given, plain.shape, ring, size=SIZE, backend=spark_backend)
    assert_same(again, plain)


def test_a_stored_block_of_zeros_is_zero(backend):
    zeros = Plain.zeros(COUNTING, (5, 5)).blocks(backend, SIZE)
    stored = COUNTING.encode(Dense(np.zeros((1, 5, 5), np.int64)))
    none = BlockMatrix.from_blocks([(0, 0, stored)], (5, 5), COUNTING, size=SIZE, backend=backend)
    assert zeros.equals(none)
    assert none.equals(zeros)
    assert none.nnz() == 0


@pytest.mark.parametrize("n", [0, 1, 35])
def test_identity(backend, ring, n):
    found = BlockMatrix.identity(n, ring, size=SIZE, backend=backend)
    assert_same(found, Plain(ring, np.broadcast_to(np.eye(n, dtype=np.int64), (max(ring.planes, 1), n, n))))


# --- looking ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param("sparse", marks=pytest.mark.cluster), "dense"])
def test_rows_and_columns(sample, name):
    (plain, blocks), ids = sample(name), [52, 0, 17, 0]
    rows, columns = blocks.rows(ids), blocks.columns(ids)
    assert (rows.count, rows.upright, columns.count, columns.upright) == (len(ids), False, len(ids), True)
    assert_same(rows, Plain(plain.ring, plain.layers[:, ids, :]))
    assert_same(columns, Plain(plain.ring, plain.layers[:, :, ids]))


def test_rows_of_nothing_and_no_rows(sample):
    plain, blocks = sample("empty")
    assert_same(blocks.rows([4, 52]), Plain(plain.ring, plain.layers[:, [4, 52], :]))
    none = sample("dense")[1].columns([])
    assert (none.count, none.touched) == (0, frozenset())


def test_rows_and_columns_of_a_rectangle(sample):
    plain, blocks = sample("wide")
    assert_same(blocks.rows([22, 1]), Plain(plain.ring, plain.layers[:, [22, 1], :]))
    assert_same(blocks.columns(48), Plain(plain.ring, plain.layers[:, :, [48]]))


@pytest.mark.parametrize("name", ["wide", "empty"])
def test_lookup(sample, name):
    plain, blocks = sample(name)
    draw = np.random.default_rng(6)
    pairs = np.stack([draw.integers(0, side, 200) for side in plain.shape], axis=1)
    pairs = np.concatenate([pairs, pairs[:3]])
    found = blocks.lookup(pairs)
    np.testing.assert_array_equal(found, Plain(plain.ring, plain.layers[:, pairs[:, :1], pairs[:, 1:]]).array()[..., 0])
    assert found.dtype.kind == ("b" if plain.ring == BOOLEAN else "i")


def test_lookup_of_one_pair_and_of_none(sample):
    plain, blocks = sample("dense")
    expected = plain.layers[:, 4, 52]
    np.testing.assert_array_equal(np.ravel(blocks.lookup((4, 52))), expected)
    assert blocks.lookup([]).shape == ((plain.ring.planes, 0) if plain.ring.modulus else (0,))


@pytest.mark.parametrize("name", ["sparse", "empty"])
def test_nnz(sample, name):
    plain, blocks = sample(name)
    assert blocks.nnz() == plain.nnz()


def test_equals(backend, sample):
    plain, blocks = sample("sparse")
    again = plain.blocks(backend, SIZE)
    assert blocks.equals(again)
    assert not sample("empty")[1].equals(blocks)
    rows, columns = np.nonzero(plain.layers.any(axis=0))
    assert not blocks.equals(blocks.clear_entries(rows[:1], columns[:1]))


@pytest.mark.parametrize("name", ["sparse", "dense"])
def test_validate_says_nothing_when_all_is_well(sample, name):
    sample(name)[1].validate()


def test_stored_bytes(sample):
    _, blocks = sample("sparse")
    assert blocks.state.stored_bytes(blocks.name) == sum(len(payload) for payload in payloads(blocks).values())
    _, empty = sample("empty")
    assert empty.state.stored_bytes(empty.name) == 0


def test_the_name_of_a_matrix_says_what_it_is(sample, backend):
    _, blocks = sample("wide")
    where = "in process" if backend.jobs.total == 0 else "on Spark"
    assert repr(blocks) == f"BlockMatrix(23 x 53 in blocks of 16 x 16, {blocks.ring}, {where})"


def test_looking_starts_no_job_in_this_process(local_backend):
    blocks = Plain.random(COUNTING, (20, 20), 0.3, 1).blocks(local_backend, SIZE)
    blocks.multiply(blocks).nnz()
    assert local_backend.jobs.total == 0


# --- shapes at the edge ----------------------------------------------------------------------


@pytest.mark.parametrize("case", range(len(DEGENERATE)), ids=[f"{rows}x{columns}" for rows, columns in DEGENERATE])
def test_every_method_at_the_edge(local_backend, case):
    at_the_edge(local_backend, case)


@pytest.mark.parametrize("case", [0, 6, *(pytest.param(case, marks=pytest.mark.slow) for case in range(1, 6))])
def test_every_method_at_the_edge_on_spark(spark_backend, case):
    at_the_edge(spark_backend, case)


def at_the_edge(backend, case):
    """Call every method of a matrix that has hardly any rows or columns."""
    shape, ring = DEGENERATE[case], RINGS[case % 3]
    plain = Plain.random(ring, shape, 0.5, seed=case)
    blocks = plain.blocks(backend, SIZE)
    turned = blocks.transpose()
    assert_same(turned, plain.transpose())
    assert_same(blocks.multiply(turned), plain.multiply(plain.transpose()))
    assert_same(blocks.add(blocks), plain.add(plain))
    assert blocks.subtract(blocks).nnz() == 0
    rows, columns = (np.arange(min(side, 2)) for side in shape)
    assert_same(blocks.rows(rows), Plain(ring, plain.layers[:, rows, :]))
    assert_same(blocks.columns(columns), Plain(ring, plain.layers[:, :, columns]))
    u, v = lines(ring, (shape[0], 2), case, 0.9), lines(ring, (2, shape[1]), case + 1, 0.9)
    updated, expected = blocks.rank_update(u, v), plain.rank_update(u, v)
    assert_same(updated, expected)
    if plain.layers.size:
        assert_same(updated.clear_entries([0], [0]), expected.clear_entries([0], [0]))
        assert_same(updated.set_entries([0], [0]), expected.set_entries([0], [0]))
    assert_same(blocks.left_multiply(u.swapaxes(-1, -2)), Plain(ring, layered(ring, u.swapaxes(-1, -2)) @ plain.layers))
    updated.validate()
