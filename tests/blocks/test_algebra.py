"""BlockMatrix on both backends against numpy: sums, products, updates."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.errors import OverflowingCountError
from tests.blocks.oracle import RING_NAMES, RINGS, Plain, assert_same, layered, lines

SIZE = 16


@pytest.mark.parametrize("names", [("sparse", "dense"), ("empty", "sparse")])
def test_add_and_subtract(sample, names):
    (a, left), (b, right) = map(sample, names)
    assert_same(left.add(right), a.add(b))
    assert_same(left.subtract(right), a.subtract(b))


def test_sums_that_vanish_are_absent(sample, backend):
    plain, blocks = sample("dense")
    again = plain.blocks(backend, SIZE)
    for nothing in (blocks.subtract(again), blocks.subtract(blocks)):
        assert nothing.state.stored_bytes(nothing.name) == 0


def test_transpose(sample):
    plain, blocks = sample("wide")
    assert_same(blocks.transpose(), plain.transpose())


@pytest.mark.parametrize(
    "names", [("sparse", "sparse"), pytest.param(("wide", "dense"), marks=pytest.mark.cluster), ("empty", "sparse")]
)
def test_multiply(sample, names):
    (a, left), (b, right) = map(sample, names)
    assert_same(left.multiply(right), a.multiply(b))


def test_multiply_by_itself_and_by_its_transpose(sample):
    plain, blocks = sample("sparse")
    assert_same(blocks.multiply(blocks), plain.multiply(plain))
    plain, blocks = sample("wide")
    assert_same(blocks.transpose().multiply(blocks), plain.transpose().multiply(plain))


@pytest.mark.parametrize("ring", [BOOLEAN], ids=["boolean"])
@pytest.mark.parametrize("names", [("sparse", "sparse"), ("wide", "dense")])
def test_multiply_with_counts(sample, names):
    (a, left), (b, right) = map(sample, names)
    assert_same(left.multiply(right, counts=True), a.multiply(b, counts=True))


def test_products_that_vanish_are_absent(backend):
    signs = np.where(np.arange(20) % 2, -1, 1)
    row = Plain(COUNTING, np.ones((1, 1, 20))).blocks(backend, SIZE)
    column = Plain(COUNTING, signs.reshape(1, 20, 1)).blocks(backend, SIZE)
    product = row.multiply(column)
    assert product.nnz() == 0
    assert product.state.stored_bytes(product.name) == 0


@pytest.mark.parametrize("exponent", [0, 1, 5])
def test_power(sample, exponent):
    plain, blocks = sample("sparse")
    assert_same(blocks.power(exponent), plain.power(exponent))


def test_counts_that_do_not_fit(backend):
    plain = Plain(COUNTING, np.full((1, 20, 20), 2**31))
    blocks = plain.blocks(backend, SIZE)
    with pytest.raises(OverflowingCountError, match=r"expected .* got .* modulo"):
        blocks.multiply(blocks)
    assert_same(blocks, plain)


# --- lines times a matrix --------------------------------------------------------------------


def test_left_and_right_multiply(sample, ring):
    plain, blocks = sample("wide")
    left, right = lines(ring, (3, plain.shape[0]), 1), lines(ring, (plain.shape[1], 3), 2)
    assert_same(blocks.left_multiply(left), Plain(ring, layered(ring, left) @ plain.layers))
    assert_same(blocks.right_multiply(right), Plain(ring, plain.layers @ layered(ring, right)))


def test_one_line_and_lines_of_the_matrix_itself(sample, ring):
    plain, blocks = sample("dense")
    line = lines(ring, (1, 53), 3)
    single = line[:, 0] if ring.modulus else line[0]
    if not ring.modulus:
        assert_same(blocks.left_multiply(single), Plain(ring, layered(ring, line) @ plain.layers))
        assert_same(blocks.right_multiply(single), Plain(ring, plain.layers @ layered(ring, line).swapaxes(1, 2)))
    own = blocks.rows([5, 40])
    assert_same(blocks.left_multiply(own), Plain(ring, plain.layers[:, [5, 40]] @ plain.layers))
    assert_same(blocks.left_multiply(np.zeros((2, 53), np.int64)), Plain.zeros(ring, (2, 53)))


@pytest.mark.parametrize("ring", [BOOLEAN], ids=["boolean"])
@pytest.mark.parametrize("name", ["sparse", "dense"])
def test_witnesses_of_lines(sample, ring, name):
    plain, blocks = sample(name)
    left, right = lines(ring, (3, 53), 1), lines(ring, (53, 3), 2)
    assert_same(blocks.left_multiply(left, counts=True), Plain(COUNTING, layered(ring, left) @ plain.layers))
    assert_same(blocks.right_multiply(right, counts=True), Plain(COUNTING, plain.layers @ layered(ring, right)))


# --- updates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "k"), [("wide", 1), ("empty", 3), pytest.param("dense", 20, marks=pytest.mark.cluster)]
)
def test_rank_update(sample, ring, name, k):
    plain, blocks = sample(name)
    u, v = lines(ring, (plain.shape[0], k), 4), lines(ring, (k, plain.shape[1]), 5)
    updated, expected = blocks.rank_update(u, v), plain.rank_update(u, v)
    assert_same(updated, expected)
    if ring != BOOLEAN:
        assert updated.rank_update(u, v, -1).equals(blocks)


@pytest.mark.parametrize("ring", [COUNTING, RINGS[2]], ids=RING_NAMES[1:])
def test_an_update_that_only_subtracts(sample, ring):
    _, blocks = sample("empty")
    u, v = lines(ring, (53, 1), 6, 0.1), lines(ring, (1, 53), 7, 0.1)
    assert_same(blocks.rank_update(u, v, -1), Plain.zeros(ring, (53, 53)).rank_update(u, v, -1))


def test_an_update_in_one_corner_and_one_that_is_zero(sample, ring):
    plain, blocks = sample("sparse")
    u, v = np.zeros((53, 1), np.int64), np.zeros((1, 53), np.int64)
    u[52], v[0, 0] = 1, 1
    given = np.broadcast_to(u, (2, 53, 1)) if ring.modulus else u
    assert_same(
        blocks.rank_update(given, v), plain.rank_update(given, np.broadcast_to(v, (2, 1, 53)) if ring.modulus else v)
    )
    assert_same(blocks.rank_update(u * 0, v), plain)


def test_an_update_with_rows_and_columns_of_the_matrix(sample, ring):
    plain, blocks = sample("sparse")
    expected = Plain(ring, plain.layers + plain.layers[:, :, [3, 50]] @ plain.layers[:, [20, 4], :])
    assert_same(blocks.rank_update(blocks.columns([3, 50]), blocks.rows([20, 4])), expected)


@pytest.mark.parametrize("name", ["sparse", "dense"])
def test_set_and_clear_entries(sample, ring, name):
    plain, blocks = sample(name)
    draw = np.random.default_rng(8)
    rows, columns = draw.integers(0, 53, 40), draw.integers(0, 53, 40)
    values = None if ring == BOOLEAN else draw.integers(-3, 4, 40)
    rows[-1], columns[-1] = rows[0], columns[0]  # named twice: the last counts
    assert_same(blocks.set_entries(rows, columns, values), plain.set_entries(rows, columns, values))
    assert_same(blocks.clear_entries(rows, columns), plain.clear_entries(rows, columns))


def test_set_entries_of_nothing(sample):
    plain, blocks = sample("empty")
    assert_same(blocks.set_entries([50, 0], [50, 20]), plain.set_entries([50, 0], [50, 20]))


def test_nothing_to_set(sample):
    plain, blocks = sample("sparse")
    assert_same(blocks.set_entries([], []), plain)
    assert_same(blocks.clear_entries([], []), plain)


def test_clearing_all_leaves_nothing_stored(sample):
    plain, blocks = sample("sparse")
    rows, columns = np.nonzero(plain.layers.any(axis=0))
    cleared = blocks.clear_entries(rows, columns)
    assert cleared.equals(sample("empty")[1])
    assert cleared.state.stored_bytes(cleared.name) == 0


def test_a_matrix_is_a_value(backend):
    first = BlockMatrix.from_entries(([0], [1]), (20, 20), size=SIZE, backend=backend)
    second = first.set_entries([1], [2])
    second.clear_entries([0], [1])
    assert first.nnz() == 1
    assert second.nnz() == 2
