"""Modular arithmetic against the same in Python integers (object arrays), where nothing can overflow."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dyntc_spark.errors import EntryValueError, ShapeMismatchError, SingularMatrixError
from dyntc_spark.kernels import modular, modular_solve
from dyntc_spark.kernels.primes import is_prime

# 2, 3, and the largest primes of 17, 23 and 26 bits; 8388587 has an odd half, so that sums of its squares can be odd.
PRIMES = (2, 3, 131071, 8388587, 8388593, 67108859)

primes = st.sampled_from(PRIMES)
sizes = st.integers(0, 40)
seeds = st.integers(0, 2**32 - 1)
layouts = st.sampled_from(("int32", "int64", "columns first", "every other", "read only"))
quick = settings(deadline=None, max_examples=50)


def residues(rng, shape, p, layout="int32"):
    """Draw random residues, half of the time only the extreme ones: 0, 1, p - 1, and those around p/2."""
    extremes = np.array([0, 1, p // 2, (p + 1) // 2 % p, p - 1])
    values = rng.choice(extremes, shape) if rng.random() < 0.5 else rng.integers(0, p, shape)
    if layout == "int64":
        return values
    values = values.astype(np.int32)
    if layout == "columns first":
        return np.asfortranarray(values)
    if layout == "every other":
        return np.repeat(np.repeat(values, 2, axis=0), 2, axis=1)[::2, ::2]
    values.flags.writeable = layout != "read only"
    return values


def slow_product(a, b, p):
    return (a.astype(object) @ b.astype(object)) % p if a.shape[1] else np.zeros((a.shape[0], b.shape[1]), object)


def slow_solve(a, b, p):
    """Gauss-Jordan elimination, one row at a time; None for a singular matrix."""
    n = len(a)
    rows = [[int(x) for x in (*left, *right)] for left, right in zip(a, b, strict=True)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        inverse = pow(rows[k][k], -1, p)
        rows[k] = [x * inverse % p for x in rows[k]]
        for i in set(range(n)) - {k}:
            rows[i] = [(x - rows[i][k] * y) % p for x, y in zip(rows[i], rows[k], strict=True)]
    return np.array([row[n:] for row in rows], object).reshape(b.shape)


def assert_residues(found, wanted):
    assert found.dtype == np.int32
    assert found.shape == wanted.shape
    assert found.tolist() == wanted.tolist()


@contextmanager
def cut_small(**names):
    """Make slabs, tiles or panels so small that small matrices have several."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in names.items():
            patch.setattr(modular_solve if name == "panel" else modular, name.upper(), value)
        yield


def test_the_moduli_are_primes():
    assert all(is_prime(p) for p in PRIMES)


@quick
@given(primes, st.integers(0, 2**53), st.sampled_from((1, -1)), st.integers(-1, 1))
@example(3, 2**53, 1, 1)
@example(3, 2**53, -1, -1)
def test_reduced_around_multiples_of_the_modulus(p, size, sign, offset):
    t = sign * (min(size, 2**53 - 3 * p) // p * p) + offset
    assert modular.reduced(float(t), float(p), 1.0 / p) == t % p


@quick
@given(primes, sizes, sizes, seeds, layouts)
def test_centred(p, rows, columns, seed, layout):
    a = residues(np.random.default_rng(seed), (rows, columns), p, layout)
    found = modular.centred(a, p)
    assert found.dtype == np.float64
    assert np.all((-p < 2 * found) & (2 * found <= p))
    assert (found % p).tolist() == a.tolist()


@quick
@given(primes, sizes, sizes, seeds, layouts)
def test_entry_by_entry(p, rows, columns, seed, layout):
    rng = np.random.default_rng(seed)
    a, b = residues(rng, (rows, columns), p, layout), residues(rng, (rows, columns), p)
    exact_a, exact_b = a.astype(object), b.astype(object)
    assert_residues(modular.add(a, b, p), (exact_a + exact_b) % p)
    assert_residues(modular.subtract(a, b, p), (exact_a - exact_b) % p)


@quick
@given(primes, sizes, seeds, st.integers(0, 2**63 - 1))
def test_powers(p, size, seed, exponent):
    x = residues(np.random.default_rng(seed), size, p)
    wanted = [pow(int(value), exponent, p) for value in x]
    found = np.empty(len(x), np.int32)
    modular.powers(x, exponent, p, found)
    assert found.tolist() == wanted


@quick
@given(primes, st.tuples(sizes, sizes, sizes), seeds, layouts, layouts, st.booleans())
@example(8388593, (0, 5, 5), 0, "int32", "int32", False)
@example(8388593, (5, 0, 5), 0, "int32", "int32", False)
@example(8388593, (5, 5, 0), 0, "int32", "int32", True)
def test_product(p, shape, seed, left_layout, right_layout, convert):
    (rows, inner, columns), rng = shape, np.random.default_rng(seed)
    a, b = residues(rng, (rows, inner), p, left_layout), residues(rng, (inner, columns), p, right_layout)
    wanted = slow_product(a, b, p)
    factors = (modular.centred(a, p), modular.centred(b, p)) if convert else (a, b)
    assert_residues(modular.product(*factors, p), wanted)
    with cut_small(slab=16, tile=(7, 11)):
        assert_residues(modular.product(*factors, p), wanted)


@quick
@given(primes, st.tuples(sizes, st.integers(0, 12), sizes), seeds, layouts, st.sampled_from((1, -1)), st.booleans())
def test_rank_update(p, shape, seed, layout, sign, strided):
    (rows, inner, columns), rng = shape, np.random.default_rng(seed)
    u, v = residues(rng, (rows, inner), p, layout), residues(rng, (inner, columns), p, layout)
    m = residues(rng, (rows, columns), p, "every other" if strided else "int32")
    wanted = (m.astype(object) + sign * slow_product(u, v, p)) % p
    with cut_small(slab=5, tile=(7, 11)):
        modular.rank_update(m, u, v, p, sign)
    assert_residues(m, wanted)


@pytest.mark.long
@pytest.mark.parametrize("p", PRIMES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 9), (9, 2), (9, 5)])
def test_worst_sums_at_the_borders_of_slabs(p, shape):
    """All products have one sign and the largest size, over inner dimensions around the slab length."""
    rows, columns = shape
    length = modular._slab_length(p)
    assert length >= 1
    assert length * (p // 2) ** 2 + 2**32 <= 2**53
    for inner in (length - 1, length, length + 1, 2 * length + 1, 8 * length + 3, 2500):
        for x, y in [(p // 2, p // 2), (p // 2, (p + 1) // 2 % p), (p - 1, p - 1), ((p + 1) // 2 % p, p - 1)]:
            a, b = np.full((rows, inner), x, np.int32), np.full((inner, columns), y, np.int32)
            wanted = np.full(shape, inner * x * y % p)
            assert_residues(modular.product(a, b, p), wanted)
            m = np.full(shape, p - 1, np.int32)
            modular.rank_update(m, modular.centred(a, p), modular.centred(b, p), p, -1)
            assert_residues(m, (p - 1 - wanted) % p)


def test_one_slab_too_long_would_be_wrong():
    """Without the cut into slabs the worst sums come out wrong: the tests above can see a missing reduction."""
    p, inner = 8388587, 1025
    a = np.full((4, inner), p // 2, np.int32)
    wanted = np.full((4, 4), inner * (p // 2) ** 2 % p)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modular, "_slab_length", lambda _: inner)
        assert modular.product(a, a.T, p).tolist() != wanted.tolist()
    assert_residues(modular.product(a, a.T, p), wanted)


@pytest.mark.long
@pytest.mark.parametrize("p", [8388593, 67108859])
@pytest.mark.parametrize("shape", [(1, 70000, 2), (2, 70000, 1), (4, 3000, 600), (300, 40, 300)])
def test_long_and_wide_products(p, shape):
    rows, inner, columns = shape
    rng = np.random.default_rng(5)
    a, b = residues(rng, (rows, inner), p), residues(rng, (inner, columns), p)
    assert_residues(modular.product(a, b, p), slow_product(a, b, p))


@pytest.mark.parametrize("p", PRIMES)
def test_many_updates_make_one_block_product(p):
    rng = np.random.default_rng(7)
    a, b = residues(rng, (20, 180), p), residues(rng, (180, 30), p)
    m = np.zeros((20, 30), np.int32)
    for k in range(0, 180, 60):
        modular.rank_update(m, modular.centred(a[:, k : k + 60], p), modular.centred(b[k : k + 60], p), p)
    assert_residues(m, slow_product(a, b, p))


@settings(deadline=None, max_examples=80)
@given(primes, st.integers(0, 24), st.integers(0, 6), st.integers(1, 9), seeds, st.booleans())
def test_solve(p, n, right_sides, panel, seed, shuffled):
    """A shuffled triangle is invertible and needs pivots; a matrix of extreme residues is often singular."""
    rng = np.random.default_rng(seed)
    a, b = residues(rng, (n, n), p), residues(rng, (n, right_sides), p)
    if shuffled:
        np.fill_diagonal(a, 1)
        a = np.triu(a)[rng.permutation(n)]
    wanted = slow_solve(a, b, p)
    with cut_small(panel=panel):
        if wanted is None:
            with pytest.raises(SingularMatrixError):
                modular_solve.solve(a, b, p)
        else:
            assert_residues(modular_solve.solve(a, b, p), wanted)
            assert_residues(modular_solve.inverse(a, p), slow_solve(a, np.eye(n, dtype=int), p))


@pytest.mark.parametrize("p", PRIMES[2:])
def test_inverse_over_several_panels(p):
    a = np.random.default_rng(3).integers(0, p, (150, 150), dtype=np.int32)
    a[:70, :70] = 0  # the first 70 pivots lie elsewhere
    found = modular_solve.inverse(a, p)
    assert_residues(modular.product(a, found, p), np.eye(150, dtype=int))
    assert_residues(modular.product(found, a, p), np.eye(150, dtype=int))


def test_operands_are_left_alone():
    p, rng = 131071, np.random.default_rng(1)
    a, b = rng.integers(0, p, (9, 9)), rng.integers(0, p, (9, 9))
    before = a.tolist(), b.tolist()
    for function in (modular.add, modular.subtract, modular.product, modular_solve.solve):
        function(a, b, p)
    assert (a.tolist(), b.tolist()) == before


def test_a_singular_matrix_is_refused_with_its_first_dependent_column():
    a = np.array([[1, 2, 3], [2, 4, 5], [3, 6, 1]])
    with pytest.raises(SingularMatrixError, match="column 1 depends on the columns before it"):
        modular_solve.solve(a, a, 7)


@pytest.mark.parametrize(
    ("a", "p"),
    [
        (np.array([[1, 7]]), 7),
        (np.array([[-1, 2]], np.int32), 7),
        (np.array([[2**40, 2]]), 7),
        (np.array([[1, 2]], np.uint32), 7),
        (np.array([[0, 0]]), 1),
        (np.array([[0, 0]]), 2**26 + 1),
    ],
)
def test_what_is_no_residue_is_refused(a, p):
    zeros = np.zeros((2, 2), np.int32)
    calls = [
        lambda: modular.centred(a, p),
        lambda: modular.add(a, a, p),
        lambda: modular.product(a, zeros, p),
        lambda: modular.rank_update(zeros, a.T, a, p),
        lambda: modular_solve.solve(zeros, a.T, p),
    ]
    for call in calls:
        with pytest.raises(EntryValueError):
            call()


def test_other_bad_arguments_are_refused():
    two, three = np.zeros((2, 2), np.int32), np.zeros((3, 3), np.int32)
    with pytest.raises(EntryValueError, match="int32 matrix"):
        modular.rank_update(two.astype(np.int64), two, two, 7)
    calls = [
        lambda: modular.add(two, three, 7),
        lambda: modular.product(two, three, 7),
        lambda: modular.product(two, two[0], 7),
        lambda: modular.rank_update(three, two, two, 7),
        lambda: modular_solve.solve(two, three, 7),
        lambda: modular_solve.solve(two, two[0], 7),
        lambda: modular_solve.inverse(two[:1], 7),
    ]
    for call in calls:
        with pytest.raises(ShapeMismatchError):
            call()
