"""The lazy matrix of section 4.2 against M kept in Python integers, in process and on Spark."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING, Modular
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.errors import (
    EntryValueError,
    IndexOutsideError,
    OverflowingCountError,
    RingMismatchError,
    SessionError,
    ShapeMismatchError,
)
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix

RINGS = {"counts": COUNTING, "one prime": Modular((101,)), "primes": Modular((2, 8388593, 67108859))}


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def backend(request):
    """Return each backend in turn."""
    if request.param == "local":
        return LocalBackend()
    return SparkBackend(request.getfixturevalue("spark"))


class Twin:
    """M as an array of Python integers."""

    def __init__(self, shape, ring):
        self.ring = ring
        self.values = np.zeros(shape, object)

    def init(self, dense):
        self.values = dense.astype(object)

    def update(self, columns, rows):
        self.values = self.values + columns.astype(object) @ rows.astype(object)

    @property
    def shown(self):
        """Counts, or residues with a layer for each prime."""
        if self.ring.modulus is None:
            return self.values
        return np.stack([self.values % p for p in self.ring.modulus])


def matrix_and_twin(shape, ring, rng, **options):
    matrix, twin = LazyMatrix(shape, ring, **options), Twin(shape, ring)
    restart(matrix, twin, rng)
    return matrix, twin


def restart(matrix, twin, rng):
    dense = rng.integers(-5, 6, matrix.shape) * (rng.random(matrix.shape) < 0.4)
    rows, columns = np.nonzero(dense)
    matrix.init((rows, columns, dense[rows, columns]))
    twin.init(dense)


def step(matrix, twin, rng, rank=1):
    n, m = matrix.shape
    columns = rng.integers(-4, 5, (n, rank)) * (rng.random((n, rank)) < 0.5)
    rows = rng.integers(-4, 5, (rank, m)) * (rng.random((rank, m)) < 0.5)
    matrix.update(columns, rows)
    twin.update(columns, rows)


def compare(matrix, twin, rng):
    n, m = matrix.shape
    pairs = np.stack([rng.integers(n, size=5), rng.integers(m, size=5)], axis=1)
    assert (matrix.lookup(pairs) == twin.shown[..., pairs[:, 0], pairs[:, 1]]).all()
    rows, columns = rng.integers(n, size=3), rng.integers(m, size=2)
    assert (matrix.rows(rows) == twin.shown[..., rows, :]).all()
    assert (matrix.columns(columns) == twin.shown[..., columns]).all()


@pytest.mark.long
@pytest.mark.parametrize("ring", RINGS.values(), ids=RINGS)
@pytest.mark.parametrize("worst_case", [False, True])
@pytest.mark.parametrize("epsilon", [None, 0, 0.5, 1])
def test_random_updates_in_process(ring, worst_case, epsilon):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        shape = tuple(int(side) for side in rng.integers(1, 40, 2))
        height = int(rng.choice([7, 16, 64]))
        matrix, twin = matrix_and_twin(shape, ring, rng, epsilon=epsilon, worst_case=worst_case, height=height)
        for _ in range(30):
            if rng.random() < 0.03:
                restart(matrix, twin, rng)
            step(matrix, twin, rng, int(rng.choice([0, 1, 1, 1, 2, 7])))
            compare(matrix, twin, rng)
        found = matrix.entries()
        dense = np.zeros_like(twin.shown)
        dense[..., found.rows, found.columns] = found.values
        assert (dense == twin.shown).all()


@pytest.mark.parametrize("worst_case", [False, True])
def test_random_updates_on_spark(spark, worst_case):
    rng = np.random.default_rng(3)
    backend = SparkBackend(spark)
    options = {"backend": backend, "epsilon": 0.3, "worst_case": worst_case, "height": 16}
    matrix, twin = matrix_and_twin((45, 37), RINGS["primes"], rng, **options)
    for rank in (1, 2, 1, 5):
        step(matrix, twin, rng, rank)
        compare(matrix, twin, rng)
    matrix.rebuild()
    compare(matrix, twin, rng)


@pytest.mark.long
@pytest.mark.parametrize("ring", RINGS.values(), ids=RINGS)
@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_updates(ring, count):
    rng = np.random.default_rng(11)
    matrix, twin = matrix_and_twin((23, 23), ring, rng, epsilon=0.6)
    for number in range(count):
        if number % 500 == 0:
            restart(matrix, twin, rng)  # exact counts grow by some bits each time
        x, y, sign = rng.integers(23), rng.integers(23), rng.choice([-1, 1])
        columns, rows = np.zeros((23, 1), int), np.zeros((1, 23), int)
        columns[rng.integers(23, size=3), 0], rows[0, rng.integers(23, size=3)] = sign, rng.integers(-3, 4, 3)
        matrix.update(columns, rows)
        twin.update(columns, rows)
        assert (matrix.lookup([(x, y)])[..., 0] == twin.shown[..., x, y]).all(), number
    compare(matrix, twin, rng)


def test_the_printed_update_loses_the_pair_that_fills_the_buffers():
    """Erratum 9: Update lines 6 to 8 rebuild and store nothing."""

    class Printed(LazyMatrix):
        def update(self, columns, rows):
            if self.rank < self.capacity:
                super().update(columns, rows)
            else:
                self.rebuild()

    printed, ours = Printed((4, 4), epsilon=0.5), LazyMatrix((4, 4), epsilon=0.5)
    for matrix in (printed, ours):
        for k in range(4):
            matrix.update(np.eye(4, dtype=int)[k], np.ones(4, int))
    assert ours.rows([0, 1, 2, 3]).tolist() == [[1] * 4] * 4
    assert printed.rows([0, 1, 2, 3]).tolist() == [[1] * 4, [1] * 4, [0] * 4, [1] * 4]


def test_a_rebuild_at_full_buffers_and_not_before():
    matrix = LazyMatrix((100, 100), epsilon=0.5)
    ranks = []
    for _ in range(21):
        matrix.update(np.arange(100), np.ones(100, int))
        ranks.append((matrix.rank, matrix.stats()["rebuilds"]))
    assert ranks == [((k - 1) % 10 + 1, (k - 1) // 10) for k in range(1, 22)]


def test_a_budget_of_bytes():
    """Lines of 100 entries, of 16 bytes each: three updates fit 10,000 bytes."""
    matrix = LazyMatrix((100, 100), epsilon=1, budget=10_000)
    for _ in range(7):
        matrix.update(np.ones(100, int), np.ones(100, int))
    assert (matrix.rank, matrix.stats()["rebuilds"]) == (1, 2)
    assert matrix.lookup([(3, 4)]).tolist() == [7]


def test_epsilon_follows_measured_costs():
    matrix = LazyMatrix((300, 300))
    assert matrix.stats()["epsilon"] == pytest.approx(0.575, abs=0.01)
    costs = matrix._costs
    costs.rebuilding = 4.0  # seconds, after a period in which reading cost a quarter of that
    costs.note_reading(1.0)
    costs.close_period(rank=10)
    assert matrix.capacity == 20
    costs.rebuilding = 1e-9
    costs.note_reading(1.0)
    costs.close_period(rank=10)
    assert matrix.capacity == int(300**0.25)


@pytest.mark.long
@pytest.mark.parametrize("order", ["same", "random"])
def test_worst_case_bounds_the_work_of_every_update(order):
    """No update forms more products than its share of a rebuild and one piece beyond it."""
    n, capacity = 400, 20
    rng = np.random.default_rng(5)
    matrix, twin = LazyMatrix((n, n), epsilon=0.5, worst_case=True, height=4), Twin((n, n), COUNTING)
    ordinary = LazyMatrix((n, n), epsilon=0.5, height=4)
    assert matrix.capacity == capacity
    work, largest = [], []
    for _ in range(10 * capacity):
        columns = np.ones((n, 1), int) if order == "same" else (rng.random((n, 1)) < 0.5).astype(int)
        rows = np.ones((1, n), int)
        for each in (matrix, ordinary, twin):
            each.update(columns, rows)
        work.append(matrix.stats()["products_last_update"])
        largest.append(ordinary.stats()["products_last_update"])
    assert (matrix.rows(range(n)) == twin.values).all()
    rebuild = 2 * capacity * n * n  # by row and by column
    assert max(largest) >= rebuild / 3
    shares = 0.9 * capacity  # none at the update that freezes the buffers, all done when the next are 95 % full
    assert max(work) <= rebuild / shares + capacity * 4 * n
    assert sum(work) == pytest.approx(sum(largest), rel=0.15)
    assert matrix.stats()["rebuilds"] >= 8


def test_a_failed_rebuild_changes_nothing(monkeypatch):
    for worst_case in (False, True):
        rng = np.random.default_rng(2)
        matrix, twin = matrix_and_twin((30, 30), COUNTING, rng, epsilon=0.4, worst_case=worst_case, height=4)
        for _ in range(matrix.capacity + worst_case):  # when spread, the update that freezes does no more
            step(matrix, twin, rng)
        with monkeypatch.context() as patched:
            patched.setattr(LocalState, "run", _broken(LocalState.run))
            for _ in range(3):
                with pytest.raises(SessionError):
                    matrix.update(np.ones(30, int), np.ones(30, int))
        compare(matrix, twin, rng)
        for _ in range(20):
            step(matrix, twin, rng)
            compare(matrix, twin, rng)


def _broken(run):
    def fail_to_write(state, *operations):
        if any(operation.writes for operation in operations):
            raise SessionError("an executor", "none", "Start one.")
        return run(state, *operations)

    return fail_to_write


def test_sparse_updates_touch_only_their_stripes():
    matrix = LazyMatrix((1000, 1000), height=10)
    matrix.init()
    columns, rows = np.zeros(1000, int), np.zeros(1000, int)
    columns[[3, 555]], rows[777] = 1, 2
    matrix.update(columns, rows)
    matrix.rebuild()
    blocks = matrix.state.blocks
    assert (sorted(blocks["by_row"]), sorted(blocks["by_column"])) == ([(0, 0), (55, 0)], [(77, 0)])


def test_dense_blocks():
    """An update that fills the matrix makes its blocks dense; later ones go on from there."""
    rng = np.random.default_rng(1)
    for ring in RINGS.values():
        matrix, twin = matrix_and_twin((70, 70), ring, rng, epsilon=0.3)
        for _ in range(6):
            columns, rows = rng.integers(1, 5, (70, 2)), rng.integers(1, 5, (2, 70))
            matrix.update(columns, rows)
            twin.update(columns, rows)
            compare(matrix, twin, rng)
        matrix.rebuild()
        compare(matrix, twin, rng)


def test_jobs(spark, job_count):
    """One job for all rows and columns, none for an update that fits, one more for a rebuild."""
    rng = np.random.default_rng(4)
    backend = SparkBackend(spark)
    matrix = LazyMatrix((90, 90), RINGS["primes"], backend=backend, epsilon=0.3, height=16)

    def jobs(action):
        with backend.jobs.watch() as noted, job_count() as counted:
            action()
        assert counted.started == len(noted)
        return len(noted)

    twin = Twin((90, 90), matrix.ring)
    restart(matrix, twin, rng)
    assert backend.jobs.total == 1
    assert matrix.capacity == 3
    assert [jobs(lambda: step(matrix, twin, rng)) for _ in range(5)] == [0, 0, 0, 1, 0]
    assert jobs(lambda: matrix.gather(rows=range(0, 90, 7), columns=range(50))) == 1
    assert jobs(lambda: matrix.lookup([(1, 2), (80, 3)])) == 1
    assert jobs(matrix.rebuild) == 1
    assert jobs(matrix.rebuild) == 0
    compare(matrix, twin, rng)


def test_init_from_a_dataframe(spark):
    rng = np.random.default_rng(6)
    backend = SparkBackend(spark)
    rows, columns = rng.integers(50, size=90), rng.integers(33, size=90)
    values = rng.integers(-9, 9, 90)
    dense = np.zeros((50, 33), int)
    np.add.at(dense, (rows, columns), values)
    triples = list(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True))
    for ring in (COUNTING, RINGS["primes"]):
        matrix, twin = LazyMatrix((50, 33), ring, backend=backend, height=16, epsilon=0.2), Twin((50, 33), ring)
        matrix.init(spark.createDataFrame(triples, "row int, column bigint, value smallint"))
        twin.init(dense)
        for rank in (0, 2, 3):
            step(matrix, twin, rng, rank)
            compare(matrix, twin, rng)
    with pytest.raises(SessionError, match="SparkBackend"):
        LazyMatrix((5, 5)).init(spark.range(3))
    with pytest.raises(EntryValueError, match="row"):
        matrix.init(spark.range(3))
    compare(matrix, twin, rng)


def test_bad_input(backend):
    matrix = LazyMatrix((4, 6), backend=backend)
    with pytest.raises(RingMismatchError, match="COUNTING"):
        LazyMatrix((4, 4), BOOLEAN)
    with pytest.raises(EntryValueError, match="epsilon"):
        LazyMatrix((4, 4), epsilon=2)
    with pytest.raises(ShapeMismatchError, match="lines of 6 entries"):
        matrix.update(np.ones(4, int), np.ones(4, int))
    with pytest.raises(ShapeMismatchError, match="2 and 3"):
        matrix.update(np.ones((4, 2), int), np.ones((3, 6), int))
    with pytest.raises(EntryValueError, match="integer"):
        matrix.update(np.ones(4), np.ones(6, int))
    with pytest.raises(ShapeMismatchError, match=r"pairs \(row, column\)"):
        matrix.lookup([1, 2, 3])
    with pytest.raises(IndexOutsideError, match="column numbers from 0 to 5"):
        matrix.columns([6])
    matrix.update(np.ones(4, int), np.full(6, 2**40))
    matrix.update(np.full(4, 2**40), np.full(6, 2**40))
    with pytest.raises(OverflowingCountError):
        matrix.lookup([(0, 0)])


def test_empty_matrix():
    matrix = LazyMatrix((0, 0))
    matrix.update(np.zeros((0, 1), int), np.zeros((1, 0), int))
    assert len(matrix.entries().rows) == 0
