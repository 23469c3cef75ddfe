"""Witness counts against numpy's integer products and Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.errors import OverflowingCountError, ShapeMismatchError
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


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeMismatchError):
        counts.product(bits.zeros(1, 65), bits.zeros(64, 1), 1)


def test_smallest_dtype():
    bounds = (0, 2**15 - 1, 2**15, 2**31 - 1, 2**31, 2**63 - 1)
    assert [counts.smallest_dtype(bound).itemsize for bound in bounds] == [2, 2, 4, 4, 8, 8]
    with pytest.raises(OverflowingCountError):
        counts.smallest_dtype(2**63)
