"""Every kernel on sparse blocks against its slow twin: a dict from coordinates to a tuple of plane values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark import errors
from dyntc_spark.kernels import sparse, sparse_product
from dyntc_spark.kernels.block import Sparse

quick = settings(deadline=None, max_examples=60)

BOOLEAN, COUNTING = "boolean", "counting"
RINGS = [BOOLEAN, COUNTING, (5,), (2, 67108859), (2147483647, 3, 7)]
SIZES = st.sampled_from([0, 1, 2, 3, 5, 63, 64, 65, 70])


def modulus_of(ring):
    return ring if isinstance(ring, tuple) else None


def planes_of(ring):
    return {BOOLEAN: 0, COUNTING: 1}.get(ring, len(ring))


def reduced(values, ring):
    return tuple(v % p for v, p in zip(values, ring, strict=True)) if isinstance(ring, tuple) else tuple(values)


def summed(entries, ring):
    """The slow twin of from_coordinates: (row, column, values) triples to a dict without zeros."""
    total = {}
    for i, j, values in entries:
        old = total.get((i, j), (0,) * planes_of(ring))
        total[i, j] = reduced([x + y for x, y in zip(old, values, strict=True)], ring)
    return {at: values for at, values in total.items() if ring == BOOLEAN or any(values)}


def twin(block):
    return {
        (int(i), int(j)): tuple(int(v) for v in block.values[:, e])
        for e, (i, j) in enumerate(zip(block.rows, block.columns, strict=True))
    }


def columns_of(values, ring):
    return np.array(values, dtype=np.int64).reshape(-1, planes_of(ring)).T


def made(entries, shape, ring):
    rows, columns = [e[0] for e in entries], [e[1] for e in entries]
    values = (
        None if ring == BOOLEAN else np.array([e[2] for e in entries], dtype=np.int64).reshape(-1, planes_of(ring)).T
    )
    return sparse.from_coordinates(rows, columns, values, shape, modulus_of(ring))


def check(block, expected, shape, ring):
    """Compare with the twin, and look at the invariants of the representation."""
    assert block.shape == shape
    assert twin(block) == expected
    assert block.rows.dtype == block.columns.dtype == np.int32
    assert block.values.shape == (planes_of(ring), block.nnz)
    assert block.values.dtype == (np.int64 if ring == COUNTING else np.int32)
    assert list(twin(block)) == sorted(expected)


@st.composite
def entries_in(draw, shape, ring, most=40):
    if 0 in shape:
        return []
    value = st.integers(-3, 3) if draw(st.booleans()) else st.integers(-(2**31) + 1, 2**31 - 1)
    coordinate = st.tuples(
        st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1), st.tuples(*[value] * planes_of(ring))
    )
    return draw(st.lists(coordinate, min_size=draw(st.sampled_from([0, 8, 25])), max_size=most))


@st.composite
def cases(draw, *kinds):
    """A ring and lists of entries; ``kinds`` gives the shape of each by the letters m, k, n."""
    size = {letter: draw(SIZES) for letter in "mkn"}
    ring = draw(st.sampled_from(RINGS))
    shapes = [(size[kind[0]], size[kind[1]]) for kind in kinds]
    return ring, shapes, [draw(entries_in(shape, ring)) for shape in shapes]


@quick
@given(cases("mn"))
def test_from_coordinates(case):
    ring, (shape,), (entries,) = case
    check(made(entries, shape, ring), summed(entries, ring), shape, ring)


@quick
@given(cases("mn", "mn"), st.sampled_from([1, -1]))
def test_add(case, sign):
    ring, (shape, _), (left, right) = case
    a, b = made(left, shape, ring), made(right, shape, ring)
    if ring == BOOLEAN and sign == -1:
        with pytest.raises(errors.RingMismatchError, match="difference"):
            sparse.add(a, b, sign=-1)
        return
    signed = [(i, j, tuple(sign * v for v in values)) for i, j, values in right]
    check(sparse.add(a, b, modulus_of(ring), sign), summed(left + signed, ring), shape, ring)


@quick
@given(cases("mn", "mn"))
def test_difference_equal(case):
    ring, (shape, _), (left, right) = case
    a, b = made(left, shape, ring), made(right, shape, ring)
    of_a, of_b = twin(a), twin(b)
    check(sparse.difference(a, b), {at: v for at, v in of_a.items() if at not in of_b}, shape, ring)
    assert sparse.equal(a, b) == (of_a == of_b)
    assert sparse.equal(a, made(left[::-1], shape, ring))


def slow_product(left, right, ring):
    terms = [
        (i, j, tuple(x * y for x, y in zip(u, v, strict=True)))
        for (i, k), u in left.items()
        for (h, j), v in right.items()
        if h == k
    ]
    return summed(terms, ring)


@quick
@given(cases("mk", "kn"))
def test_multiply(case):
    ring, (first, second), (left, right) = case
    if ring == COUNTING:  # stay below the overflow bound, which has its own test
        left, right = ([(i, j, (v[0] % 1000 - 500,)) for i, j, v in side] for side in (left, right))
    a, b = made(left, first, ring), made(right, second, ring)
    product = sparse_product.multiply(a, b, modulus_of(ring))
    check(product, slow_product(twin(a), twin(b), ring), (first[0], second[1]), ring)


@quick
@given(cases("mk", "kn"))
def test_multiply_to_counts(case):
    _, (first, second), (left, right) = case
    a, b = made(left, first, BOOLEAN), made(right, second, BOOLEAN)
    ones = [dict.fromkeys(twin(block), (1,)) for block in (a, b)]
    check(sparse_product.multiply_to_counts(a, b), slow_product(*ones, COUNTING), (first[0], second[1]), COUNTING)


@pytest.mark.parametrize("inner", [2, 3, 7, 100])
def test_long_sums_of_large_residues_are_exact(inner):
    prime = 2**31 - 1  # its squares fill 62 bits: int64 holds two terms
    line = sparse.from_coordinates([0] * inner, range(inner), [prime - 1] * inner, (1, inner), (prime,))
    product = sparse_product.multiply(line, sparse.transpose(line), (prime,))
    assert product.values.tolist() == [[inner]]  # (-1) * (-1), inner times


def test_entries_that_are_zero_in_one_plane_only():
    primes = (2, 7)
    entries = [[0, 1], [1, 0]]  # one residue vanishes modulo 2, the other one modulo 7
    diagonal = sparse.from_coordinates([0, 1], [0, 1], entries, (2, 2), primes)
    line = sparse.from_coordinates([0, 0], [0, 1], entries, (1, 2), primes)
    assert twin(sparse_product.multiply(diagonal, diagonal, primes)) == {(0, 0): (0, 1), (1, 1): (1, 0)}
    assert twin(sparse_product.multiply(line, diagonal, primes)) == {(0, 0): (0, 1), (0, 1): (1, 0)}
    swapped = sparse.take_rows(diagonal, [1, 0])
    assert sparse_product.multiply(diagonal, swapped, primes).nnz == 0


def test_counts_multiply_up_to_the_bound_and_narrow_ones_are_widened():
    def single(value):
        return sparse.from_coordinates([0], [0], [value], (1, 1))

    assert sparse_product.multiply(single(2**31), single(2**31)).values.tolist() == [[2**62]]
    with pytest.raises(errors.OverflowingCountError, match=str(2**63)):
        sparse_product.multiply(single(-(2**32)), single(2**31))
    at = np.zeros(1, dtype=np.int32)
    narrow = Sparse((1, 1), at, at, np.array([[100]], dtype=np.int8))
    assert sparse_product.multiply(narrow, narrow).values.tolist() == [[10_000]]
    assert sparse.add(narrow, narrow).values.tolist() == [[200]]


def test_sums_of_counts_are_exact_or_refused():
    large = 2**63 - 1
    assert sparse.from_coordinates([0, 0, 0], [0, 0, 0], [large, -large, large], (1, 1)).values.tolist() == [[large]]
    with pytest.raises(errors.OverflowingCountError):
        sparse.from_coordinates([0, 0], [0, 0], [large, 1], (1, 1))


@quick
@given(cases("mn"))
def test_transpose(case):
    ring, (shape,), (entries,) = case
    block = made(entries, shape, ring)
    turned = sparse.transpose(block)
    check(turned, {(j, i): v for (i, j), v in twin(block).items()}, shape[::-1], ring)
    assert sparse.equal(sparse.transpose(turned), block)


@quick
@given(cases("mn"), st.data())
def test_take(case, data):
    ring, (shape,), (entries,) = case
    block = made(entries, shape, ring)
    of_block = twin(block)
    rows, columns = (data.draw(st.lists(st.integers(0, n - 1), max_size=9) if n else st.just([])) for n in shape)
    by_row = {(k, j): v for k, row in enumerate(rows) for (i, j), v in of_block.items() if i == row}
    check(sparse.take_rows(block, rows), by_row, (len(rows), shape[1]), ring)
    by_column = {(i, k): v for k, column in enumerate(columns) for (i, j), v in of_block.items() if j == column}
    check(sparse.take_columns(block, columns), by_column, (shape[0], len(columns)), ring)


@quick
@given(cases("mn", "mn"), st.data())
def test_set_get_and_clear_entries(case, data):
    ring, (shape, _), (entries, changes) = case
    block = made(entries, shape, ring)
    rows, columns = [c[0] for c in changes], [c[1] for c in changes]
    expected = twin(block)
    if ring == BOOLEAN:
        values = data.draw(st.lists(st.booleans(), min_size=len(changes), max_size=len(changes)))
        for i, j, value in zip(rows, columns, values, strict=True):
            expected.pop((i, j), None)
            if value:
                expected[i, j] = ()
    else:
        values = columns_of([c[2] for c in changes], ring)
        for i, j, value in changes:
            expected.pop((i, j), None)
            if any(reduced(value, ring)):
                expected[i, j] = reduced(value, ring)
    changed = sparse.set_entries(block, rows, columns, values, modulus_of(ring))
    check(changed, expected, shape, ring)

    got = sparse.get_entries(changed, rows, columns)
    if ring == BOOLEAN:
        assert got.tolist() == [at in expected for at in zip(rows, columns, strict=True)]
        check(sparse.set_entries(block, rows, columns), twin(block) | {(i, j): () for i, j, _ in changes}, shape, ring)
    else:
        assert got.shape == (planes_of(ring), len(rows))
        zero = (0,) * planes_of(ring)
        assert [tuple(v) for v in got.T.tolist()] == [expected.get(at, zero) for at in zip(rows, columns, strict=True)]

    cleared = {at: v for at, v in twin(block).items() if at not in set(zip(rows, columns, strict=True))}
    check(sparse.clear_entries(block, rows, columns), cleared, shape, ring)


@quick
@given(cases("mn"))
def test_csr_round_trip(case):
    ring, (shape,), (entries,) = case
    block = made(entries, shape, ring)
    for plane in range(max(1, planes_of(ring))):
        matrix = sparse_product.to_csr(block, plane)
        matrix.check_format(full_check=True)
        one = (ring[plane],) if modulus_of(ring) else ring
        back = sparse_product.from_csr(matrix, modulus_of(one))
        picked = {at: v[plane : plane + 1] for at, v in twin(block).items() if ring == BOOLEAN or v[plane]}
        check(back, picked, shape, one)


def test_sides_up_to_two_to_the_31():
    side = 2**31 - 1
    block = sparse.from_coordinates([side - 1, 0, side - 1], [0, side - 1, side - 1], [1, 2, 3], (side, side))
    assert twin(block) == {(0, side - 1): (2,), (side - 1, 0): (1,), (side - 1, side - 1): (3,)}
    assert sparse.get_entries(block, [side - 1, 5], [side - 1, 5]).tolist() == [[3, 0]]
    assert twin(sparse.take_rows(block, [side - 1])) == {(0, 0): (1,), (0, side - 1): (3,)}


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda one: sparse.from_coordinates([2], [0], None, one.shape), errors.IndexOutsideError, "row"),
        (lambda one: sparse.from_coordinates([0], [-1], None, one.shape), errors.IndexOutsideError, "column"),
        (lambda one: sparse.from_coordinates([0.5], [0], None, one.shape), errors.IndexOutsideError, "float64"),
        (lambda one: sparse.from_coordinates([0, 1], [0], None, one.shape), errors.ShapeMismatchError, "2 and 1"),
        (lambda one: sparse.from_coordinates([0], [0], [1, 2], one.shape), errors.ShapeMismatchError, "1 values"),
        (lambda one: sparse.from_coordinates([0], [0], [0.5], one.shape), errors.EntryValueError, "float64"),
        (lambda one: sparse.from_coordinates([0], [0], [-(2**63)], one.shape), errors.EntryValueError, "9223"),
        (lambda one: sparse.from_coordinates([0], [0], [1], one.shape, (2, 3)), errors.RingMismatchError, "planes"),
        (lambda one: sparse.from_coordinates([0], [0], [1], one.shape, (2**31,)), errors.RingMismatchError, "2147"),
        (lambda one: sparse.from_coordinates([0], [0], [[1], [2]], one.shape), errors.RingMismatchError, "planes"),
        (lambda one: sparse.add(one, sparse.transpose(one)), errors.ShapeMismatchError, "shape"),
        (lambda one: sparse_product.multiply(one, one), errors.ShapeMismatchError, "rows"),
        (lambda one: sparse_product.multiply_to_counts(one, one), errors.RingMismatchError, "Boolean"),
        (lambda one: sparse.set_entries(one, [0], [0]), errors.RingMismatchError, "planes"),
        (lambda one: sparse.take_rows(one, [2]), errors.IndexOutsideError, "row"),
        (lambda one: sparse.take_columns(one, [3]), errors.IndexOutsideError, "column"),
    ],
)
def test_bad_input_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call(sparse.from_coordinates([0], [1], [4], (2, 3)))
