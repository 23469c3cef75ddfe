"""Packed Boolean matrices against numpy's Boolean arrays and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.errors import IndexOutsideError, ShapeMismatchError
from dyntc_spark.kernels import bit_product, bits

thorough = settings(deadline=None, max_examples=50)
sizes = st.one_of(st.sampled_from([0, 1, 63, 64, 65, 128]), st.integers(0, 200))
seeds = st.integers(0, 2**32 - 1)
densities = st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0])


def random_bool(seed, rows, columns, density=0.3):
    return np.random.default_rng(seed).random((rows, columns)) < density


def random_places(seed, rows, columns):
    """Places in a matrix, some of them repeated; none where the matrix has no entry."""
    rng = np.random.default_rng(seed)
    entries = int(rng.integers(0, 100)) if rows and columns else 0
    return rng.integers(0, max(rows, 1), entries), rng.integers(0, max(columns, 1), entries)


def slow_product(a, b):
    result = np.zeros((len(a), b.shape[1]), bool)
    for x, y in zip(*np.nonzero(a), strict=True):
        result[x] |= b[y]
    return result


def check(words, expected):
    """Compare all bits, padding included, with the plain matrix."""
    assert words.dtype == np.uint64
    rows, columns = expected.shape
    assert words.shape == (rows, bits.words_for(columns))
    padded = np.zeros((rows, 64 * words.shape[1]), bool)
    padded[:, :columns] = expected
    plain = [[bool(int(word) >> p & 1) for word in row for p in range(64)] for row in words]
    assert np.array_equal(np.array(plain, bool).reshape(padded.shape), padded)


def read_only(words):
    """The same matrix as an unaligned, read-only view of a buffer, as it comes out of Arrow."""
    return np.frombuffer(b"\0" + words.tobytes(), np.uint64, words.size, 1).reshape(words.shape)


@given(seeds, sizes, sizes)
@thorough
def test_pack_and_unpack(seed, rows, columns):
    plain = random_bool(seed, rows, columns)
    words = bits.pack(plain)
    check(words, plain)
    for source in (words, read_only(words)):
        back = bits.unpack(source, columns)
        assert back.dtype == np.bool_
        assert np.array_equal(back, plain)
    check(bits.pack(plain.T), plain.T)
    check(bits.zeros(rows, columns), np.zeros((rows, columns), bool))


@given(seeds, sizes, sizes, densities)
@thorough
def test_coordinates_and_count(seed, rows, columns, density):
    plain = random_bool(seed, rows, columns, density)
    words = bits.pack(plain)
    i, j = bits.coordinates(words)
    assert i.dtype == j.dtype == np.int32
    assert np.array_equal((i, j), np.nonzero(plain))
    assert bits.count(words) == plain.sum()
    assert bits.count(words[:, ::2]) == bits.count(words[:, ::2].copy())
    check(bits.from_coordinates(np.tile(i, 2), np.tile(j, 2), plain.shape), plain)


@given(seeds, sizes, sizes)
@thorough
def test_elementwise(seed, rows, columns):
    x, y = random_bool(seed, rows, columns), random_bool(seed + 1, rows, columns)
    a, b = bits.pack(x), bits.pack(y)
    check(bits.difference(a, b), x & ~y)
    check(a, x)
    check(b, y)


@given(seeds, st.integers(0, 700) | sizes, sizes)
@thorough
def test_transpose(seed, rows, columns):
    plain = random_bool(seed, rows, columns)
    check(bits.transpose(bits.pack(plain), columns), plain.T)
    check(bits.transpose(bits.pack(plain.T), rows), plain)


@given(seeds, sizes, sizes, sizes)
@thorough
def test_take(seed, rows, columns, taken):
    plain = random_bool(seed, rows, columns)
    words = bits.pack(plain)
    rng = np.random.default_rng(seed)
    i = rng.integers(0, max(rows, 1), taken if rows else 0)
    check(bits.take_rows(words, i), plain[i])
    j = rng.integers(0, max(columns, 1), taken if columns else 0)
    for chosen in (j, j[: columns // 7]):
        check(bits.take_columns(words, columns, chosen), plain[:, chosen])


@pytest.mark.long
@given(seeds, sizes | st.just(600), st.just(1) | sizes, sizes | st.integers(500, 700), densities)
@thorough
def test_product(seed, m, k, n, density):
    x, y, z = random_bool(seed, m, k, density), random_bool(seed + 1, k, n, 0.05), random_bool(seed + 2, m, n, 0.1)
    a, b, into = bits.pack(x), bits.pack(y), bits.pack(z)
    expected = slow_product(x, y)
    bit_product.union_product(into, read_only(a), read_only(b))
    check(into, expected | z)
    bit_product.union_product(into, a, b)
    check(into, expected | z)
    check(a, x)
    check(b, y)


@pytest.mark.parametrize("way", [bit_product._union_by_ones, bit_product._union_by_tables])
@given(seeds, sizes, sizes, sizes)
@thorough
def test_both_ways_of_the_product(way, seed, m, k, n):
    x, y, z = random_bool(seed, m, k), random_bool(seed + 1, k, n, 0.05), random_bool(seed + 2, m, n, 0.1)
    a, into = bits.pack(x), bits.pack(z)
    way(into, bits.frozen(a.T if way is bit_product._union_by_tables else a), bits.frozen(bits.pack(y)))
    check(into, slow_product(x, y) | z)


def test_product_of_several_panels():
    x, y = random_bool(0, bit_product.PANEL + 70, 70, 0.5), random_bool(1, 70, 130, 0.1)
    found = bits.zeros(len(x), 130)
    bit_product.union_product(found, bits.pack(x), bits.pack(y))
    assert np.array_equal(bits.unpack(found, 130), x @ y)


@pytest.mark.parametrize("density", [0.01, 0.5])
def test_union_product_reads_its_operands_before_it_writes(density):
    plain = random_bool(0, 600, 600, density)
    words = bits.pack(plain)
    bit_product.union_product(words, words, words)
    check(words, plain | slow_product(plain, plain))


@given(seeds, sizes, sizes, sizes)
@thorough
def test_union_rows(seed, m, k, n):
    y, z = random_bool(seed, k, n), random_bool(seed + 1, m, n)
    rows, columns = random_places(seed, m, k)
    into = bits.pack(z)
    bit_product.union_rows(into, rows, columns, bits.pack(y))
    for i, j in zip(rows, columns, strict=True):
        z[i] |= y[j]
    check(into, z)


@given(seeds, sizes, sizes)
@thorough
def test_single_bits(seed, rows, columns):
    plain = random_bool(seed, rows, columns)
    words = bits.pack(plain)
    i, j = random_places(seed, rows, columns)
    assert np.array_equal(bits.get_bits(words, i, j), plain[i, j])
    bits.set_bits(words, i, j)
    plain[i, j] = True
    check(words, plain)
    i, j = random_places(seed + 1, rows, columns)
    bits.clear_bits(words, i, j)
    plain[i, j] = False
    check(words, plain)


@pytest.mark.parametrize("number", [-1, 70])
def test_numbers_outside_are_refused(number):
    words = bits.zeros(70, 70)
    for call in (
        lambda: bits.from_coordinates([number], [0], (70, 70)),
        lambda: bits.from_coordinates([0], [number], (70, 70)),
        lambda: bits.take_rows(words, [number]),
        lambda: bits.take_columns(words, 70, [number]),
        lambda: bit_product.union_rows(words, [number], [0], words),
        lambda: bit_product.union_rows(words, [0], [number], words),
        lambda: bits.set_bits(words, [number], [0]),
        lambda: bits.get_bits(words, [0], [number + 58 if number > 0 else number]),
    ):
        with pytest.raises(IndexOutsideError):
            call()
    assert bits.count(words) == 0


def test_shapes_that_do_not_fit_are_refused():
    a, b = bits.zeros(3, 70), bits.zeros(3, 3)
    for call in (
        lambda: bits.difference(a, b),
        lambda: bit_product.union_product(a, b, b),
        lambda: bit_product.union_rows(a, [0], [0], b),
        lambda: bits.set_bits(a, [0, 1], [0]),
    ):
        with pytest.raises(ShapeMismatchError):
            call()
