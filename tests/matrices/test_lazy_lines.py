"""Sums of sparse lines against the same sums in Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.errors import OverflowingCountError
from dyntc_spark.kernels.sparse import from_coordinates
from dyntc_spark.matrices.lazy import sparse_lines

MODULI = (None, (2,), (101, 3), (8388593, 8388587, 67108859))
moduli = st.sampled_from(MODULI)
seeds = st.integers(0, 2**32 - 1)


def draw(rng, shape, modulus, filled=0.4):
    """Draw a stack of lines: the sparse block, and its planes as arrays of Python integers."""
    planes = 1 if modulus is None else len(modulus)
    high = 9 if modulus is None else max(modulus)
    dense = rng.integers(-high, high + 1, (planes, *shape)) * (rng.random(shape) < filled)
    rows, columns = np.nonzero(dense.any(axis=0))
    block = from_coordinates(rows, columns, dense[:, rows, columns], shape, modulus)
    return block, dense.astype(object)


def expect(block, dense, modulus):
    """Compare a block with planes of Python integers, and its form with what a sparse block must be."""
    found = np.zeros((len(block.values), *block.shape), object)
    found[:, block.rows, block.columns] = block.values
    wanted = dense if modulus is None else dense % np.array(modulus, object)[:, None, None]
    assert (found == wanted).all()
    keys = block.rows.astype(np.int64) << 32 | block.columns
    assert (np.diff(keys) > 0).all()
    assert block.values.any(axis=0).all()


def product(a, b):
    return np.stack([x @ y if x.shape[1] else np.zeros((x.shape[0], y.shape[1]), object) for x, y in zip(a, b)])  # noqa: B905


@pytest.mark.long
@given(seeds, moduli)
def test_combine(seed, modulus):
    rng = np.random.default_rng(seed)
    k, t, n = rng.integers(0, 9, 3)
    base, choice, lines = (draw(rng, shape, modulus) for shape in ((k, n), (k, t), (t, n)))
    found = sparse_lines.combine(base[0], choice[0], lines[0], modulus)
    expect(found, base[1] + product(choice[1], lines[1]), modulus)


@pytest.mark.long
@given(seeds, moduli)
def test_substitute(seed, modulus):
    """X = B + C·X, for a strictly triangular C in a shuffled order."""
    rng = np.random.default_rng(seed)
    k, n = rng.integers(1, 8, 2)
    order = rng.permutation(k)
    allowed = np.zeros((k, k), bool)
    for place, line in enumerate(order):
        allowed[line, order[:place]] = True
    base, dense_base = draw(rng, (k, n), modulus)
    _, dense = draw(rng, (k, k), modulus)
    dense = dense * allowed
    rows, columns = np.nonzero(dense.any(axis=0))
    choice = from_coordinates(rows, columns, dense[:, rows, columns].astype(np.int64), (k, k), modulus)
    wanted = dense_base.copy()
    for line in order:
        wanted[:, line] += product(dense[:, [line]], wanted)[:, 0]
    expect(sparse_lines.substitute(base, choice, order, modulus), wanted, modulus)


@given(seeds, moduli)
def test_columns_restrict_and_dot(seed, modulus):
    rng = np.random.default_rng(seed)
    k, n, q = rng.integers(1, 9, 3)
    (left, dense_left), (right, dense_right) = (draw(rng, (k, n), modulus) for _ in range(2))
    ids = rng.integers(n, size=q)
    for asked in (ids, ids[:1], ids[:0]):  # by a pass over the entries, by searches
        expect(sparse_lines.columns_at(left, asked), dense_left[:, :, asked].transpose(0, 2, 1), modulus)
    chosen = np.unique(ids)
    expect(sparse_lines.restrict(left, chosen), dense_left[:, :, chosen], modulus)
    expect(sparse_lines.stacked(left, right), np.concatenate([dense_left, dense_right], axis=1), modulus)
    x, y = rng.integers(k, size=(2, q))
    wanted = (dense_left[:, x] * dense_right[:, y]).sum(axis=2)
    found = sparse_lines.dot(left, right, x, y, modulus)
    assert (found == (wanted if modulus is None else wanted % np.array(modulus, object)[:, None])).all()


def test_residues_add_up_beyond_64_bits():
    """More terms than 63 bits hold of products of the largest residues."""
    p, terms = 67108859, 3000
    full = from_coordinates(np.zeros(terms, int), np.arange(terms), np.full(terms, p - 1), (1, terms), (p,))
    one = from_coordinates(np.arange(terms), np.zeros(terms, int), np.full(terms, p - 1), (terms, 1), (p,))
    none = sparse_lines.nothing(1, 1, 1, (p,))
    assert sparse_lines.combine(none, full, one, (p,)).values.tolist() == [[terms % p]]


@pytest.mark.parametrize("value", [2**31, -(2**31)])
def test_counts_that_do_not_fit_are_refused(value):
    one = from_coordinates([0], [0], [value], (1, 1))
    with pytest.raises(OverflowingCountError, match="Modular"):
        sparse_lines.combine(one, one, one, None)
    with pytest.raises(OverflowingCountError):
        sparse_lines.dot(one, one, np.array([0]), np.array([0]), None)


def test_an_array_that_an_interrupted_kernel_has_used_is_not_lent_again():
    def interrupted():
        with sparse_lines.zeroed(5) as slots:
            slots[2] = 7
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with sparse_lines.zeroed(5) as slots:
        assert not slots.any()
        first = slots.base
    with sparse_lines.zeroed(3) as slots:
        assert slots.base is first
