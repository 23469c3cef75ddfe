"""Witness counts against numpy's integer products and Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.errors import EntryValueError, OverflowingCountError, ShapeMismatchError
from dyntc_spark.kernels import bits, counts

thorough = settings(deadline=None, max_examples=50)
sizes = st.one_of(st.sampled_from([0, 1, 63, 64, 65, 128]), st.integers(0, 200))
small = st.integers(0, 9)
seeds = st.integers(0, 2**32 - 1)
widths = st.sampled_from([np.int16, np.int32, np.int64])


def random_bool(seed, rows, columns, density=0.4):
    return np.random.default_rng(seed).random((rows, columns)) < density


def exact(a, b):
    """The product in Python's integers."""
    return a.astype(object) @ b.astype(object) if a.shape[1] else np.zeros((len(a), b.shape[1]), object)


def check(result, expected, dtype=np.int64):
    assert result.dtype == dtype
    assert np.array_equal(result, expected)


@given(seeds, sizes, sizes, sizes, widths)
@thorough
def test_products_of_bits(seed, m, k, n, dtype):
    x, y = random_bool(seed, m, k), random_bool(seed + 1, k, n)
    a, b = bits.pack(x), bits.pack(y)
    expected = x.astype(np.int64) @ y
    check(counts.product(a, b, n, dtype), expected, dtype)
    check(counts.vector_product(a, b, n), expected)
    check(counts.matrix_vector(a, bits.pack(y.T)), expected)


@pytest.mark.parametrize("k", [1, 2, 3, 255, 256, 1023, 1024, 1025])
def test_full_counters(k):
    ones, column = bits.pack(np.ones((2, k), bool)), bits.pack(np.ones((k, 70), bool))
    check(counts.vector_product(ones, column, 70), np.full((2, 70), k))


def test_product_refuses_a_type_that_is_too_narrow():
    a, b = bits.zeros(1, 40000), bits.zeros(40000, 1)
    assert counts.product(a, b, 1).dtype == np.int32
    with pytest.raises(OverflowingCountError, match="int16"):
        counts.product(a, b, 1, np.int16)


@given(seeds, sizes, sizes, widths)
@thorough
def test_positive(seed, rows, columns, dtype):
    values = np.random.default_rng(seed).integers(-2, 3, (rows, columns)).astype(dtype)
    words = counts.positive(values)
    assert np.array_equal(words, bits.pack(values > 0))


@given(seeds, small, small, small, st.sampled_from([1, 2**10, 2**24, 2**26, 2**29, 2**31, 2**40]))
@thorough
def test_integer_product(seed, m, k, n, size):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-size, size + 1, (m, k)), rng.integers(-size, size + 1, (k, n))
    bound = k * max(abs(a).max(initial=0).item() * abs(b).max(initial=0).item(), 0)
    if bound < 2**63:
        check(counts.integer_product(a, b), exact(a, b))
    else:
        with pytest.raises(OverflowingCountError):
            counts.integer_product(a, b)


@given(seeds, sizes, sizes, st.integers(500, 600), st.booleans())
@settings(deadline=None, max_examples=10)
def test_integer_product_in_tiles(seed, m, k, n, large):
    rng = np.random.default_rng(seed)
    size = 2**26 if large else 100
    a, b = rng.integers(-size, size + 1, (m, k)), rng.integers(-size, size + 1, (k, n))
    check(counts.integer_product(a, b), a @ b)


@pytest.mark.parametrize("edge", [2**24, 2**53])
def test_integer_product_does_not_round_at_the_edges(edge):
    a = np.array([[edge - 1, 1], [edge, 1], [edge + 1, 1]])
    b = np.array([[1], [1]])
    check(counts.integer_product(a, b), [[edge], [edge + 1], [edge + 2]])
    check(counts.integer_product(a[:1, :1], b[:1]), [[edge - 1]])


def test_integer_product_takes_the_least_integer():
    least = np.array([[np.iinfo(np.int64).min]])
    with pytest.raises(OverflowingCountError):
        counts.integer_product(least, np.array([[1]]))
    check(counts.integer_product(least, np.array([[0]])), [[0]])


@given(seeds, sizes, small, sizes, widths, st.sampled_from([1, -1]), st.booleans())
@thorough
def test_rank_update(seed, m, k, n, dtype, sign, boolean):
    rng = np.random.default_rng(seed)
    u, v = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n))
    if boolean:
        u, v = u > 1, v > 0
    values = rng.integers(-1000, 1000, (m, n)).astype(dtype)
    expected = values + sign * exact(u, v)
    counts.rank_update(values, u, v, sign)
    check(values, expected, dtype)


@given(seeds, st.integers(1, 300), st.integers(1, 3), st.integers(1, 9), widths, st.sampled_from([1, -1]))
@thorough
def test_rank_update_at_the_edges_of_the_type(seed, m, k, n, dtype, sign):
    """Values near both ends of the range: either all sums fit, or nothing changes."""
    rng = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    values = np.full((m, n), limits.max - 1, dtype)
    values[rng.random((m, n)) < 0.5] = limits.min + 1
    u = np.where(rng.random((m, k)) < 1 / m, rng.choice([-1, 1], (m, k)), 0)
    v = rng.integers(-1, 2, (k, n))
    before, expected = values.copy(), values.astype(object) + sign * exact(u, v)
    if expected.min() >= limits.min and expected.max() <= limits.max:
        counts.rank_update(values, u, v, sign)
        check(values, expected, dtype)
    else:
        with pytest.raises(OverflowingCountError):
            counts.rank_update(values, u, v, sign)
        check(values, before, dtype)


@pytest.mark.parametrize("sign", [1, -1])
def test_rank_update_takes_earlier_panels_back(sign):
    n = 2**14  # a panel has 64 rows of this length
    values = np.full((200, n), -sign * 32767, np.int16)
    values[199, 5] = 0
    before = values.copy()
    with pytest.raises(OverflowingCountError, match="32767"):
        counts.rank_update(values, np.full((200, 1), 65534), np.ones((1, n), np.int8), sign)
    check(values, before, np.int16)


def test_rank_update_refuses_other_signs_and_shapes():
    values, one = np.zeros((1, 1), np.int32), np.ones((1, 1), np.int32)
    with pytest.raises(EntryValueError):
        counts.rank_update(values, one, one, 2)
    with pytest.raises(ShapeMismatchError):
        counts.rank_update(values, one, np.ones((1, 2), np.int32), 1)
    with pytest.raises(ShapeMismatchError):
        counts.product(bits.zeros(1, 65), bits.zeros(64, 1), 1)


def test_smallest_dtype():
    bounds = (0, 2**15 - 1, 2**15, 2**31 - 1, 2**31, 2**63 - 1)
    assert [counts.smallest_dtype(bound).itemsize for bound in bounds] == [2, 2, 4, 4, 8, 8]
    with pytest.raises(OverflowingCountError):
        counts.smallest_dtype(2**63)
