"""Grids, strips and rings by themselves: what the matrices are made of."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.blocks.grid import Axis, Grid, block_size
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING, Modular
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.where import Places
from dyntc_spark.errors import EntryValueError, IndexOutsideError, RingMismatchError, ShapeMismatchError
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.block import Bits, Dense, Sparse
from tests.blocks.oracle import RESIDUES, RING_NAMES, RINGS, Plain, shown

AXES = st.builds(Axis, st.integers(0, 50), st.integers(1, 20))


# --- grids -----------------------------------------------------------------------------------


@given(axis=AXES)
def test_the_blocks_of_an_axis_cover_it(axis):
    extents = [axis.extent(block) for block in range(axis.blocks)]
    assert sum(extents) == axis.length
    assert all(extent == axis.step for extent in extents[:-1])
    assert all(0 < extent <= axis.step for extent in extents)


@given(axis=AXES, data=st.data())
def test_ids_are_cut_by_their_block(axis, data):
    ids = data.draw(st.lists(st.integers(0, axis.length - 1), max_size=30)) if axis.length else []
    array, seen = axis.ids(ids, "row"), {}
    assert array.dtype == np.int64
    blocks = []
    for block, positions, inside in axis.cut(array):
        blocks.append(block)
        assert ((inside >= 0) & (inside < axis.extent(block))).all()
        assert (np.diff(positions) > 0).all(), "the order of the request is kept"
        seen |= dict(zip(positions.tolist(), (inside + block * axis.step).tolist(), strict=True))
    assert blocks == sorted(set(blocks))
    assert [seen[place] for place in range(len(ids))] == ids


@pytest.mark.parametrize("ids", [3, np.uint8(3), [3], np.array([3], np.uint64), (3,)])
def test_ids_of_any_integer_type(ids):
    assert Axis(4, 2).ids(ids, "row").tolist() == [3]


@pytest.mark.parametrize(("length", "step"), [(-1, 4), (4, 0), (4, -1), (2.0, 4), (4, None), ("4", 4)])
def test_an_axis_that_cannot_be(length, step):
    with pytest.raises(ShapeMismatchError, match=r"at least 0 and blocks of at least 1; got .*Give the matrix"):
        Axis(length, step)


def test_a_grid():
    grid = Grid.square(50, 33, 16)
    assert (grid.shape, grid.blocks, grid.extent(3, 2)) == ((50, 33), (4, 3), (2, 1))
    assert grid.transposed == Grid.square(33, 50, 16)
    assert grid.product(Grid.square(33, 5, 16)) == Grid.square(50, 5, 16)
    assert [grid.holds(*at) for at in ((3, 2), (4, 0), (0, 3), (-1, 0))] == [True, False, False, False]
    assert str(grid) == "50 x 33 in blocks of 16 x 16"
    with pytest.raises(ShapeMismatchError, match=r"a right factor of 33 rows in blocks of 16; got 33 rows in blocks"):
        grid.product(Grid.square(33, 33, 8))
    with pytest.raises(ShapeMismatchError, match="same shape and the same block size"):
        grid.require_same(grid.transposed)


def test_an_empty_grid():
    grid = Grid.square(0, 5, 16)
    assert grid.blocks == (0, 1)
    with pytest.raises(IndexOutsideError, match="row numbers from 0 to -1; got 0"):
        grid.down.ids([0], "row")


@pytest.mark.parametrize("bits", [1, 32, 64, 96, 320])
@pytest.mark.parametrize("length", [0, 1, 64, 65, 1000, 10**6])
def test_the_size_of_blocks(length, bits):
    side = block_size(length, bits)
    assert side % 64 == 0
    assert side >= 64
    assert side * side * bits / 8 <= 2 * 2**20
    assert side <= max(64, length + 63)
    if length == 10**6:
        assert side * side * bits / 8 >= 2**17


# --- strips ----------------------------------------------------------------------------------


@given(ring=st.sampled_from(RINGS), length=st.integers(0, 40), count=st.integers(0, 4), upright=st.booleans(),
       density=st.sampled_from([0.0, 0.1, 0.9]), seed=st.integers(0, 99))  # fmt: skip
def test_a_strip_gives_back_the_array_it_was_made_of(ring, length, count, upright, density, seed):
    axis, shape = Axis(length, 16), (length, count) if upright else (count, length)
    plain = Plain.random(ring, shape, density, seed)
    strip = Strip.from_array(plain.array(), axis, ring, upright=upright)
    found = strip.array()
    np.testing.assert_array_equal(found, plain.array())
    assert found.dtype.kind == ("b" if ring == BOOLEAN else "i")
    along = plain.layers.any(axis=(0, 2) if upright else (0, 1))
    assert strip.touched == {int(i) // 16 for i in np.flatnonzero(along)}, "slices that are zero are absent"
    again = Strip.from_coordinates(strip.coordinates(), axis, count, ring, upright)
    np.testing.assert_array_equal(again.array(), found)
    hollow = strip.hollow()
    assert (hollow.touched, hollow.stored_bytes) == (strip.touched, 0)
    assert strip.stored_bytes == sum(len(ring.encode(piece)) for piece in strip.slices.values())


def test_one_line_may_be_flat():
    for upright, shape in ((True, (5, 1)), (False, (1, 5))):
        strip = Strip.from_array([0, 3, 0, 0, -1], Axis(5, 2), COUNTING, upright=upright)
        assert strip.array().tolist() == np.reshape([0, 3, 0, 0, -1], shape).tolist()


def test_layers_of_truth_values():
    layers = np.array([[[True, False, True]], [[True, True, False]]])
    strip = Strip.from_array(layers, Axis(3, 2), RESIDUES, upright=False)
    np.testing.assert_array_equal(strip.array(), layers.astype(int))


@pytest.mark.parametrize(
    ("array", "ring", "error"),
    [
        ([0, 1], COUNTING, ShapeMismatchError),
        (1, COUNTING, ShapeMismatchError),
        ([[1], [2, 3]], COUNTING, ShapeMismatchError),
        (np.ones((2, 1, 3), int), COUNTING, ShapeMismatchError),
        (np.ones((3, 1, 3), int), RESIDUES, ShapeMismatchError),
        ([0.5, 0, 0], COUNTING, EntryValueError),
        ([2, 0, 0], BOOLEAN, EntryValueError),
        (["a", "", ""], BOOLEAN, EntryValueError),
    ],
)
def test_arrays_that_make_no_strip(array, ring, error):
    with pytest.raises(error, match=r"expected .*; got .*\."):
        Strip.from_array(array, Axis(3, 2), ring, upright=False)


# --- rings -----------------------------------------------------------------------------------

BLOCKS = [(0.0, "none"), (0.015, "sparse"), (0.9, "dense")]


def blocks_of(ring, seed):
    """Zero, sparse and dense blocks of 20 x 70, each with its layers."""
    for density, name in BLOCKS:
        plain = Plain.random(ring, (20, 70), density, seed)
        rows, columns, *values = plain.entries()
        given_values = ring.values(*values or [None], len(rows))
        yield name, plain, ring.from_coordinates(rows, columns, given_values if ring.planes else None, (20, 70))


def layers_of(ring, block):
    layers = np.zeros((max(ring.planes, 1), 20, 70), np.int64)
    rows, columns, values = ring.coordinates(block)
    layers[:, rows, columns] = values if ring.planes else 1
    return layers


@pytest.mark.parametrize("ring", RINGS, ids=RING_NAMES)
def test_sums_of_blocks_in_any_representation(ring):
    for _, x, a in blocks_of(ring, 1):
        for _, y, b in blocks_of(ring, 2):
            np.testing.assert_array_equal(layers_of(ring, ring.add(a, b)), x.add(y).layers)
            np.testing.assert_array_equal(layers_of(ring, ring.subtract(a, b)), x.subtract(y).layers)
            assert ring.equal(a, b) == np.array_equal(x.layers, y.layers)
        assert ring.equal(a, a)
        assert ring.subtract(a, a) is None
        assert ring.nnz(a) == x.nnz()


@pytest.mark.parametrize("ring", RINGS, ids=RING_NAMES)
def test_representations_and_payloads(ring):
    kinds = {name: type(block) for name, _, block in blocks_of(ring, 1)}
    assert kinds == {"none": type(None), "sparse": Sparse, "dense": Dense if ring.planes else Bits}
    for _, plain, block in blocks_of(ring, 1):
        again = ring.decode(ring.encode(block))
        assert ring.equal(block, again)
        if block is not None:
            other = codec.sparsify(block) if not isinstance(block, Sparse) else codec.densify(block)
            assert ring.equal(block, other)
            assert ring.equal(other, block)
            np.testing.assert_array_equal(layers_of(ring, other), plain.layers)


@pytest.mark.parametrize("ring", RINGS, ids=RING_NAMES)
def test_lines_and_entries_of_blocks(ring):
    rows, columns = [19, 0, 0], [69, 3, 3, 64]
    for _, plain, block in blocks_of(ring, 1):
        taken = ring.take_rows(block, rows)
        found = np.zeros((max(ring.planes, 1), 3, 70), np.int64)
        i, j, values = ring.coordinates(taken)
        found[:, i, j] = values if ring.planes else 1
        np.testing.assert_array_equal(found, plain.layers[:, rows])
        taken = ring.take_columns(block, columns)
        found = np.zeros((max(ring.planes, 1), 20, 4), np.int64)
        i, j, values = ring.coordinates(taken)
        found[:, i, j] = values if ring.planes else 1
        np.testing.assert_array_equal(found, plain.layers[:, :, columns])
        got = ring.get(block, [3, 4], [5, 6])
        np.testing.assert_array_equal(np.atleast_2d(got), plain.layers[:, [3, 4], [5, 6]])
        changed = ring.put(block, [3, 3], [5, 5], ring.values([1, 1], 2), (20, 70))
        np.testing.assert_array_equal(layers_of(ring, changed), plain.set_entries([3], [5]).layers)
        cleared = ring.clear(changed, [3, 4], [5, 5])
        np.testing.assert_array_equal(layers_of(ring, cleared), plain.clear_entries([3, 4], [5, 5]).layers)
        np.testing.assert_array_equal(layers_of(ring, block), plain.layers)


def test_rings_are_values():
    assert Modular((7, 5)) == Modular((7, 5)) != Modular((5, 7))
    assert len({BOOLEAN, COUNTING, Modular((7,)), Modular((7,))}) == 3
    for ring in RINGS:
        assert pickle.loads(pickle.dumps(ring)) == ring  # noqa: S301  (our own)
        ring.require(pickle.loads(pickle.dumps(ring)))  # noqa: S301
    with pytest.raises(RingMismatchError, match="the Boolean ring; got one over the counting ring"):
        BOOLEAN.require(COUNTING)
    assert [str(ring) for ring in RINGS] == [
        "the Boolean ring", "the counting ring", "the integers modulo 8388593, 7",
    ]  # fmt: skip


def test_residues_are_reduced():
    assert RESIDUES.values([-1, 8388593, 7], 3).tolist() == [[8388592, 0, 7], [6, 8388593 % 7, 0]]
    assert RESIDUES.values([[1], [-1]], 1).tolist() == [[1], [6]]
    assert shown(RESIDUES, RESIDUES.values(None, 2)[:, None]).tolist() == [[[1, 1]], [[1, 1]]]


def test_places_know_their_cells():
    places = Places(Grid.square(5, 7, 3), np.array([0, 4, 1]), np.array([6, 0, 6]))
    assert places.where.cells == {(0, 2), (1, 0)}
    assert [side.tolist() for side in places.inside(0, 2)] == [[0, 2], [0, 1], [0, 0]]
