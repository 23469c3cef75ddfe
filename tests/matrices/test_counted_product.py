"""What a counted product loses: by places and by lines, with stamps and without, against counting again."""

import numpy as np
import pytest

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.blocks.where import Places, Tile
from dyntc_spark.matrices import counted_product
from dyntc_spark.matrices.bundle import Bundle, run_bundled
from dyntc_spark.matrices.counted_product import CountedProduct, Entries, Factor, Last, TooManyLinesError
from dyntc_spark.matrices.product_operations import Decrease, Positive

N, SIZE = 11, 4
GRID = Grid.square(N, N, SIZE)
SQUARE = CountedProduct("N", Tile(GRID), Factor("A", GRID), Factor("A", GRID), np.dtype(np.int16))


def state_of(**matrices):
    backend, state = LocalBackend(), None
    for name, array in matrices.items():
        boolean = array.dtype == bool
        places = np.nonzero(array)
        entries = places if boolean else (*places, array[places])
        made = backend.from_entries(entries, Kind(GRID, BOOLEAN if boolean else COUNTING), name)
        state = made if state is None else state.join(made)
    return state


def array_of(state, name):
    rows, columns, values = state.entries(name)
    found = np.zeros((N, N), np.int64)
    found[rows, columns] = values
    return found


def gone_of(x, rng, share):
    gone = x & (rng.random(x.shape) < share)
    return gone, Entries.of(*np.nonzero(gone))


@pytest.mark.parametrize("seed", range(12))
def test_without_stamps(seed, monkeypatch):
    """A tile of a product, with a summand of degree 1, loses exactly what counting again says."""
    rng = np.random.default_rng(seed)
    x1, x2, one = (rng.random((N, N)) < 0.35 for _ in range(3))
    rows, columns = range(2, 9), range(5, N)
    inside = np.zeros((N, N), bool)
    inside[rows.start : rows.stop, columns.start : columns.stop] = True
    one &= inside
    x1[[0, 1, 9, 10]] = False
    x2[:, :5] = False
    count = x1.astype(int) @ x2.astype(int) + one
    d1, first = gone_of(x1, rng, (0, 0.1, 0.5, 1)[seed % 4])
    d2, second = gone_of(x2, rng, (0.3, 0, 0.1, 1)[seed % 4])
    d3, extra = gone_of(one, rng, 0.4)
    after = (x1 & ~d1).astype(int) @ (x2 & ~d2).astype(int) + (one & ~d3)
    state = state_of(A=x1, B=x2, N=count, V=count > 0)
    tile, factors = Tile(GRID, rows, columns), (Factor("A", GRID), Factor("B", GRID))
    product = CountedProduct("N", tile, *factors, np.dtype(np.int16), bits="V")
    lost = product.lost(first, second, extra)
    for bytes_a_place in (0, 24, 10**9):  # by places, by either, by lines
        monkeypatch.setattr(counted_product, "PLACE_BYTES", bytes_a_place)
        loss = lost.answer(iter(state.run(*lost.operations())[1]))
        zero = np.zeros((N, N), bool)
        zero[loss.gone.rows, loss.gone.columns] = True
        assert np.array_equal(zero, (count > 0) & (after == 0))
        assert len(loss.gone.rows) == zero.sum()
        written = state.run(*loss.writes)[0]
        assert np.array_equal(array_of(written, "N"), after)
        assert np.array_equal(array_of(written, "V") > 0, after > 0)


@pytest.mark.parametrize("seed", range(9))
def test_with_stamps(seed):
    """Only triples with the property count."""
    rng = np.random.default_rng(seed)
    f1, f2 = (np.where(rng.random((N, N)) < 0.4, rng.integers(1, 9, (N, N)), 0) for _ in range(2))
    vectors = [rng.integers(0, 9, N).astype(np.int32) for _ in range(3)]
    last = Last(*(vector if (seed >> k) % 2 else None for k, vector in enumerate(vectors)))
    rows, middle, columns = (np.zeros(N, np.int32) if side is None else side for side in last)

    def counted(a, b):
        there = (a > 0)[:, :, None] & (b > 0)[None]
        flips = np.maximum(a[:, :, None], b[None])
        reached = np.maximum(np.maximum(rows[:, None, None], middle[None, :, None]), columns[None, None, :])
        return (there & (flips <= reached)).sum(axis=1)

    d1 = (f1 > 0) & (rng.random((N, N)) < 0.3)
    d2 = (f2 > 0) & (rng.random((N, N)) < 0.3)
    before, after = counted(f1, f2), counted(np.where(d1, 0, f1), np.where(d2, 0, f2))
    state = state_of(A=f1, B=f2, N=before)
    first, second = (Entries.of(*np.nonzero(d), f[np.nonzero(d)]) for d, f in ((d1, f1), (d2, f2)))
    factors = Factor("A", GRID, stamps=True), Factor("B", GRID, stamps=True)
    product = CountedProduct("N", Tile(GRID), *factors, np.dtype(np.int16), last)
    lost = product.lost(first, second, also=("A",))
    loss = lost.answer(iter(state.run(*lost.operations())[1]))
    zero = np.zeros((N, N), bool)
    zero[loss.gone.rows, loss.gone.columns] = True
    assert np.array_equal(zero, (before > 0) & (after == 0))
    assert np.array_equal(loss.read.get("A", np.zeros(0)), f1[loss.gone.rows, loss.gone.columns])
    assert np.array_equal(array_of(state.run(*loss.writes)[0], "N"), after)


def test_too_many_lines_are_refused():
    gone = Entries.of(np.arange(3), np.arange(3))
    with pytest.raises(TooManyLinesError):
        SQUARE.lost(gone, gone, budget=6 * N - 1)
    assert SQUARE.lost(gone, gone, budget=6 * N).numbers == 6 * N


def test_a_bundle_does_what_its_operations_do():
    rng = np.random.default_rng(3)
    count = rng.integers(0, 4, (N, N))
    x = rng.random((N, N)) < 0.4
    state = state_of(A=x, N=count, V=count > 0, W=np.zeros((N, N), bool))
    places = np.nonzero(count == 1)
    ones = np.ones(len(places[0]), np.int64)
    gone = Entries.of(np.array([1, 10]), np.array([3, 9]))
    operations = [
        Decrease("N", Places(GRID, *places), ones, np.dtype(np.int16), "V"),
        Positive("N", "W"),
        *SQUARE.lost(gone, gone).operations(),
    ]
    one_by_one, results = state.run(*operations)
    together, (bundled,) = state.run(Bundle.of(operations, state.kinds))
    for name in state.kinds:
        assert np.array_equal(array_of(one_by_one, name), array_of(together, name)), name
    assert all(np.array_equal(a, b) for a, b in zip(results[2:], bundled[2:], strict=True))
    assert array_of(together, "W").sum() == (count > 1).sum()


def test_bundles_reach_the_cells_of_all_matrices():
    """Where no grid has the cells of all others, one bundle would leave some out."""
    kinds = {"tall": Kind(Grid.square(9, 2, 4), COUNTING), "wide": Kind(Grid.square(2, 9, 4), COUNTING)}
    backend, places = LocalBackend(), {"tall": ([8, 0], [1, 0]), "wide": ([1, 0], [8, 0])}
    state = backend.from_entries((*places["tall"], [5, 5]), kinds["tall"], "tall")
    state = state.join(backend.from_entries((*places["wide"], [7, 7]), kinds["wide"], "wide"))
    operations = [
        Decrease(name, Places(kinds[name].grid, *map(np.array, at)), np.array([1, 2]), np.dtype(np.int8))
        for name, at in places.items()
    ]
    after, results = run_bundled(state, operations)
    assert results == (None, None)
    assert sorted(after.entries("tall").values.tolist()) == [3, 4]
    assert sorted(after.entries("wide").values.tolist()) == [5, 6]
