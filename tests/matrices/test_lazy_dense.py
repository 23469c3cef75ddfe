"""Dense combinations of lines against the sparse ones."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.kernels import sparse
from dyntc_spark.matrices.lazy import dense_lines, sparse_lines

PRIMES = (67108859, 8388593)


def lines(rng, count, columns, length, share):
    """Residues at some of the ``columns``, some of them zero modulo one prime."""
    places = np.argwhere(rng.random((count, len(columns))) < share)
    values = rng.integers(1, PRIMES[1], size=(2, len(places)))
    values[0, ::5] = 0
    return sparse.from_coordinates(places[:, 0], columns[places[:, 1]], values, (count, length), PRIMES)


@pytest.mark.parametrize("tile", [1, 50, 2**21])
def test_dense_sums_are_the_sparse_ones(monkeypatch, tile):
    rng = np.random.default_rng(tile)
    base = lines(rng, 37, np.arange(0, 90, 2), 100, 0.4)
    columns = np.sort(rng.permutation(100)[:31])
    added = lines(rng, 9, columns, 100, 0.7)
    choice = lines(rng, 37, np.arange(9), 9, 0.8)
    choice = sparse.take_rows(choice, np.where(np.arange(37) % 4, np.arange(37), 36 - np.arange(37)))
    some = choice.rows % 5 > 0  # some rows do not change
    choice = type(choice)(choice.shape, choice.rows[some], choice.columns[some], choice.values[:, some])
    wanted = sparse_lines.combine(base, choice, added, PRIMES)
    monkeypatch.setattr(dense_lines, "MANY_PRODUCTS", 1)
    monkeypatch.setattr(dense_lines, "TILE", tile)
    assert dense_lines.heavy(choice, added, PRIMES).tolist() == list(range(9))
    found = sparse_lines.combine(base, choice, added, PRIMES)
    for ours, theirs in zip(
        (found.rows, found.columns, found.values), (wanted.rows, wanted.columns, wanted.values), strict=True
    ):
        assert np.array_equal(ours, theirs)
    gone = sparse_lines.combine(
        wanted,
        type(choice)(
            choice.shape, choice.rows, choice.columns, np.array(PRIMES)[:, None] * (choice.values > 0) - choice.values
        ),
        added,
        PRIMES,
    )
    assert sparse.equal(gone, base)


def test_few_or_scattered_products_stay_sparse():
    rng = np.random.default_rng(1)
    few = lines(rng, 5, np.arange(9), 20, 0.5)
    assert not len(dense_lines.heavy(lines(rng, 8, np.arange(5), 5, 1), few, PRIMES))
    assert not len(dense_lines.heavy(lines(rng, 8, np.arange(5), 5, 1), few, None))


def test_long_lines_are_told_from_short_ones(monkeypatch):
    """Five lines that fill a hundred columns, and fifty with two entries each."""
    monkeypatch.setattr(dense_lines, "MANY_PRODUCTS", 1)
    rng = np.random.default_rng(1)
    both = sparse_lines.stacked(lines(rng, 5, np.arange(100), 500, 0.9), lines(rng, 50, np.arange(500), 500, 0.004))
    base, choice = lines(rng, 40, np.arange(500), 500, 0.05), lines(rng, 40, np.arange(55), 55, 0.6)
    assert dense_lines.heavy(choice, both, PRIMES).tolist() == [0, 1, 2, 3, 4]
    found = sparse_lines.combine(base, choice, both, PRIMES)
    monkeypatch.setattr(dense_lines, "MANY_PRODUCTS", 2**40)
    assert sparse.equal(found, sparse_lines.combine(base, choice, both, PRIMES))
