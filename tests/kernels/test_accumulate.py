"""Accumulators against a plain sum: sparse and dense operands in any order, and the step from sparse to dense."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dyntc_spark.errors import OverflowingCountError
from dyntc_spark.kernels import bits, codec
from dyntc_spark.kernels.accumulate import BitAccumulator, CountAccumulator, ResidueAccumulator
from dyntc_spark.kernels.block import Bits, Dense, Sparse

PRIMES = (8388593, 7)
LARGEST = 2**63 - 1
quick = settings(deadline=None, max_examples=80)

SIZES = st.sampled_from([1, 2, 3, 17, 63, 64, 65, 70])
DENSITIES = st.sampled_from([0.0, 0.01, 0.05, 0.2, 0.9])
SIGNS = st.sampled_from([1, -1])


class Ring:
    """What the three accumulators differ in: the operands, and what becomes of a sum."""

    def __init__(self, name):
        self.name = name
        self.planes = {"bits": 1, "counts": 1, "witnesses": 1, "residues": 2}[name]

    def accumulator(self, shape):
        if self.name == "bits":
            return BitAccumulator(shape)
        return ResidueAccumulator(shape, PRIMES) if self.name == "residues" else CountAccumulator(shape)

    def layers(self, shape, density, draw):
        there = draw.random(shape) < density
        if self.name in {"bits", "witnesses"}:
            return there[None].astype(np.int64)
        return self.reduced(draw.integers(-3, 4, (self.planes, *shape)) * there)

    def reduced(self, layers):
        if self.name == "bits":
            return (layers > 0).astype(np.int64)
        return layers % np.array(PRIMES)[:, None, None] if self.name == "residues" else layers

    def block(self, layers, form):
        boolean = self.name in {"bits", "witnesses"}
        dense = Bits(layers.shape[1:], bits.pack(layers[0] > 0)) if boolean else Dense(layers)
        return codec.sparsify(dense) if form == "sparse" else dense


def layers_of(block, ring, shape):
    """What a result says, after checking that it keeps the rules of its representation."""
    layers = np.zeros((ring.planes, *shape), np.int64)
    if block is None:
        return layers
    code, key = {"bits": (codec.BOOLEAN, 0), "residues": (codec.MODULAR, codec.fingerprint(PRIMES))}.get(
        ring.name, (codec.COUNTING, 0)
    )
    block = codec.decode(codec.encode(block, code, key))
    if isinstance(block, Bits):
        layers[0] = bits.unpack(block.words, shape[1])
    elif isinstance(block, Dense):
        layers[:] = block.values
    else:
        layers[:, block.rows, block.columns] = block.values if len(block.values) else 1
    return layers


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["block", "product"]), SIGNS, DENSITIES, DENSITIES, st.sampled_from(["sparse", "dense"]),
        st.sampled_from(["sparse", "dense"]), SIZES,
    ),
    max_size=8,
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", ["bits", "counts", "residues"])
@quick
@given(shape=st.tuples(SIZES, SIZES), steps=STEPS, seed=st.integers(0, 2**32 - 1))
@example(shape=(70, 70), steps=[("block", -1, 0.05, 0.05, "sparse", "sparse", 1)], seed=1)
@example(shape=(70, 70), steps=[("product", -1, 0.01, 0.01, "sparse", "sparse", 70)], seed=1)
@example(
    shape=(70, 70),
    steps=[("block", 1, 0.9, 0, "dense", "dense", 1), ("product", -1, *[0.05] * 2, "dense", "sparse", 70)],
    seed=1,
)
def test_any_sum(name, shape, steps, seed):
    ring, draw = Ring(name), np.random.default_rng(seed)
    total, expected = ring.accumulator(shape), np.zeros((ring.planes, *shape), np.int64)
    for what, sign, density, other, form, other_form, inner in steps:
        if what == "block":
            layers = ring.layers(shape, density, draw)
            block = ring.block(layers, form)
            total.add(block) if sign == 1 else total.subtract(block)
        else:
            a, b = ring.layers((shape[0], inner), density, draw), ring.layers((inner, shape[1]), other, draw)
            total.add_product(ring.block(a, form), ring.block(b, other_form), sign)
            layers = ring.reduced(a @ b)
        expected = ring.reduced(expected + sign * layers)
    np.testing.assert_array_equal(layers_of(total.block(), ring, shape), expected)


@quick
@given(shape=st.tuples(SIZES, SIZES), steps=STEPS, seed=st.integers(0, 2**32 - 1))
def test_witnesses_of_boolean_products(shape, steps, seed):
    ring, draw = Ring("witnesses"), np.random.default_rng(seed)
    total, expected = CountAccumulator(shape), np.zeros((1, *shape), np.int64)
    for _, sign, density, other, form, other_form, inner in steps:
        a, b = ring.layers((shape[0], inner), density, draw), ring.layers((inner, shape[1]), other, draw)
        total.add_product(ring.block(a, form), ring.block(b, other_form), sign)
        expected += sign * (a @ b)
    np.testing.assert_array_equal(layers_of(total.block(), ring, shape), expected)


@pytest.mark.parametrize("forms", [("sparse", "dense"), ("dense", "sparse"), ("sparse", "sparse"), ("dense", "dense")])
def test_a_boolean_factor_times_a_counted_one(forms):
    draw = np.random.default_rng(3)
    a, b = Ring("witnesses").layers((9, 5), 0.5, draw), Ring("counts").layers((5, 70), 0.5, draw)
    total = CountAccumulator((9, 70))
    total.add_product(Ring("witnesses").block(a, forms[0]), Ring("counts").block(b, forms[1]))
    np.testing.assert_array_equal(layers_of(total.block(), Ring("counts"), (9, 70)), a @ b)


@pytest.mark.parametrize("name", ["bits", "counts", "residues"])
def test_nothing_and_what_vanishes_is_absent(name):
    ring, shape = Ring(name), (70, 33)
    assert ring.accumulator(shape).block() is None
    for form in ("sparse", "dense"):
        total, block = ring.accumulator(shape), ring.block(ring.layers(shape, 0.2, np.random.default_rng(1)), form)
        total.add(block)
        total.subtract(block)
        assert total.block() is None


@pytest.mark.parametrize("name", ["bits", "counts", "residues"])
def test_sparse_stays_sparse_and_is_compacted_when_full(name):
    ring, shape = Ring(name), (64, 64)
    total = ring.accumulator(shape)
    for seed in range(3):
        total.add(ring.block(ring.layers(shape, 0.002, np.random.default_rng(seed)), "sparse"))
    assert not total._is_dense
    assert isinstance(total.block(), Sparse)
    for seed in range(40):
        total.add(ring.block(ring.layers(shape, 0.05, np.random.default_rng(seed)), "sparse"))
    assert total._is_dense
    assert isinstance(total.block(), Bits | Dense)


@pytest.mark.parametrize("name", ["bits", "counts", "residues"])
def test_a_product_of_sparse_blocks_with_few_terms_stays_sparse(name):
    ring, eye = Ring(name), np.eye(64, dtype=np.int64)[None]
    block = ring.block(np.repeat(eye, ring.planes, axis=0), "sparse")
    total = ring.accumulator((64, 64))
    total.add_product(block, block)
    assert isinstance(total.block(), Sparse)


@pytest.mark.parametrize("name", ["bits", "counts", "residues"])
def test_operands_are_left_as_they_are(name):
    ring, draw = Ring(name), np.random.default_rng(7)
    layers = ring.layers((20, 20), 0.5, draw)
    operand = ring.block(layers, "dense")
    for sign in (1, -1):
        total = ring.accumulator((20, 20))
        total.add(operand)
        total.add(operand) if sign == 1 else total.subtract(operand)
        total.add_product(operand, operand, sign)
        total.block()
        np.testing.assert_array_equal(layers_of(operand, ring, (20, 20)), layers)


# --- counts that do not fit ------------------------------------------------------------------


def counted(values, form):
    return Ring("counts").block(np.asarray(values, np.int64)[None], form)


@pytest.mark.parametrize("forms", [("sparse", "sparse"), ("sparse", "dense"), ("dense", "sparse"), ("dense", "dense")])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_that_does_not_fit_is_refused(forms, sign):
    first, second = (counted([[0, 2**62], [0, 1]], form) for form in forms)
    total = CountAccumulator((2, 2))

    def run():
        for block in (first, second, second):
            total.add(block) if sign == 1 else total.subtract(block)
            total.block()

    with pytest.raises(OverflowingCountError, match=r"expected .*got .*modulo primes"):
        run()


@pytest.mark.parametrize("forms", [("sparse", "sparse"), ("sparse", "dense"), ("dense", "sparse"), ("dense", "dense")])
def test_the_largest_count_fits(forms):
    total = CountAccumulator((2, 2))
    total.add(counted([[0, LARGEST - 1], [-LARGEST, 0]], forms[0]))
    total.add(counted([[0, 1], [0, 0]], forms[1]))
    expected = [[[0, LARGEST], [-LARGEST, 0]]]
    assert layers_of(total.block(), Ring("counts"), (2, 2)).tolist() == expected


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_large_counts_at_different_places_do_not_overflow(form):
    total = CountAccumulator((2, 2))
    total.add(counted([[LARGEST, 0], [0, 0]], form))
    total.add(counted([[0, LARGEST], [0, 0]], form))
    total.subtract(counted([[1, 0], [LARGEST, 0]], form))
    assert layers_of(total.block(), Ring("counts"), (2, 2)).tolist() == [[[LARGEST - 1, LARGEST], [-LARGEST, 0]]]


@pytest.mark.parametrize("forms", [("sparse", "sparse"), ("sparse", "dense"), ("dense", "sparse"), ("dense", "dense")])
def test_a_product_that_does_not_fit_is_refused(forms):
    a, b = (counted([[2**40, 1], [0, 1]], form) for form in forms)
    with pytest.raises(OverflowingCountError):
        CountAccumulator((2, 2)).add_product(a, b)


def test_products_that_do_not_fit_together_are_refused():
    a = counted(np.full((4, 4), 2**30), "dense")
    total = CountAccumulator((4, 4))
    total.add_product(a, a)
    assert layers_of(total.block(), Ring("counts"), (4, 4)).max() == 2**62
    with pytest.raises(OverflowingCountError):
        total.add_product(a, a)


def test_a_block_of_another_ring_is_a_mistake_of_the_caller():
    boolean, integer = Ring("bits").block(np.ones((1, 3, 3), np.int64), "dense"), counted(np.ones((3, 3)), "dense")
    with pytest.raises(TypeError, match="a Boolean block was expected"):
        BitAccumulator((3, 3)).add(integer)
    with pytest.raises(TypeError, match="a Boolean block was expected"):
        BitAccumulator((3, 3)).add_product(integer, boolean)
