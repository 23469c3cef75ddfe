"""The engine ``algebraic`` against ``recompute`` and against an inverse in Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.engine import Algebraic
from dyntc_spark.errors import IndexOutsideError, OptionError, SessionError, ShapeMismatchError, SingularMatrixError
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from tests.engines.algebraic_oracle import Pair, as_pairs, inverse_holds
from tests.engines.lanes_oracle import as_edges

NONE = Edges.of()


@pytest.mark.long
@pytest.mark.parametrize("worst_case", [False, True])
@pytest.mark.parametrize("epsilon", [None, 0, 0.6])
@pytest.mark.parametrize("seeds", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_random_scripts(epsilon, worst_case, seeds):
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        pair = Pair(int(rng.integers(1, 20)), seed=seed, epsilon=epsilon, worst_case=worst_case)
        for number in range(25):
            new, gone = pair.random_batch(rng)
            pair.apply(new, gone)
            pair.check(f"seed {seed}, batch {number}: +{sorted(new)} -{sorted(gone)}")
        assert inverse_holds(pair.engine), seed


@pytest.mark.long
@pytest.mark.parametrize("batches", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_batches_without_divergence(batches):
    """About as many edges as vertices: components are born and broken all the time."""
    rng = np.random.default_rng(17)
    pair = Pair(23, seed=2)
    for number in range(batches):
        new, gone = pair.random_batch(rng, 4)
        if len(pair.edges) > 40:
            new = set()
        pair.apply(new, gone)
        x, y = rng.integers(pair.n, size=(2, 40))
        assert np.array_equal(pair.engine.query(x, y), pair.twin.query(x, y)), f"batch {number}: {sorted(pair.edges)}"
        if number % 100 == 0:
            pair.check(f"batch {number}")
            assert inverse_holds(pair.engine)


LARGE = [pytest.param(*case, marks=pytest.mark.slow) for case in ((130, 2.0), (700, 1.4))]


@pytest.mark.long
@pytest.mark.parametrize(("n", "degree"), [(150, 1.5), (90, 4.0), *LARGE])
def test_large_components_are_born_and_broken(n, degree):
    rng = np.random.default_rng(n)
    pairs = {tuple(pair) for pair in rng.integers(n, size=(int(n * degree), 2)).tolist()}
    pair = Pair(n, pairs, seed=1)
    everything, largest = np.arange(n), []
    for number in range(4):
        largest.append(pair.twin.stats()["largest_component"])
        new, gone = pair.random_batch(rng, n // 2)
        pair.apply(new, gone)
        ours, theirs = (side.descendants(everything) for side in (pair.engine, pair.twin))
        assert np.array_equal(ours.sources, theirs.sources), number
        assert np.array_equal(ours.targets, theirs.targets), number
    assert max(largest) > n // 5
    assert len(set(largest)) > 1


@pytest.mark.long
@pytest.mark.parametrize(
    "backend", ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])], indirect=True
)
def test_a_cycle_is_closed_and_opened_by_one_edge(backend):
    n = 80
    chain = [(v, v + 1) for v in range(n - 1)]
    pair = Pair(n, chain, backend, seed=3)
    for new, gone in (([(n - 1, 0)], []), ([], [(n - 1, 0)]), ([(n - 1, 0), (3, 3)], []), ([(40, 0)], [(70, 71)])):
        pair.apply(new, gone)
        pair.check()


@pytest.mark.long
def test_hamiltonian_cycles_inserted_and_deleted_in_random_order():
    """Paths in random order found most errors of the paper's text; here they close."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        order = rng.permutation(9).tolist()
        cycle = list(zip(order, order[1:] + order[:1], strict=True))
        pair = Pair(9, seed=seed)
        for edge in rng.permutation(cycle).tolist():
            pair.apply([tuple(edge)])
            pair.check(f"seed {seed}")
        for edge in rng.permutation(cycle).tolist():
            pair.apply([], [tuple(edge)])
            pair.check(f"seed {seed}")


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def backend(request):
    """Return each backend in turn."""
    return LocalBackend() if request.param == "local" else SparkBackend(request.getfixturevalue("spark"))


def test_rank_of_a_batch():
    """One row or column a changed source or target, whichever are fewer; a star in both directions has rank 2."""
    engine = Algebraic(seed=1, epsilon=1)
    engine.init(NONE, 60)

    def rank(inserted, deleted=()):
        before = engine.matrix.rank
        engine.apply(as_edges(inserted), as_edges(deleted))
        return engine.matrix.rank - before

    assert rank([(0, 1)]) == 1
    assert rank([(2, k) for k in range(10, 20)]) == 1
    assert rank([(k, 3) for k in range(10, 20)]) == 1
    star = [(k, 9) for k in range(20, 30)] + [(9, k) for k in range(25, 40)]
    assert rank(star) == 2
    assert rank([], star) == 2
    assert rank([(k, k + 20) for k in range(10, 14)]) == 4
    assert rank([(1, 0)], [(0, 1)]) == 2
    assert rank([(1, 0)], []) == 0


@pytest.mark.long
def test_singular_systems_get_fresh_weights_then_a_rebuild():
    """Modulo tiny primes every few systems are singular; the invariant and every "yes" stay right all the same."""
    singular = redraws = builds = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pair = Pair(12, seed=seed, primes=[3, 5], verify=False)
        for number in range(25):
            new, gone = pair.random_batch(rng, 3)
            for side in (pair.engine, pair.twin):
                side.apply(as_edges(new), as_edges(gone - new))
            pair.edges = (pair.edges - (gone - new)) | new
            assert inverse_holds(pair.engine), (seed, number)
            x, y = np.divmod(np.arange(144), 12)
            assert not (pair.engine.query(x, y) & ~pair.twin.query(x, y)).any(), (seed, number)
        stats = pair.engine.stats()
        singular, redraws, builds = (
            a + stats[b] for a, b in ((singular, "singular"), (redraws, "redraws"), (builds, "builds"))
        )
    assert singular > 20
    assert redraws > 10
    assert builds > 12


def test_primes_that_cannot_do():
    engine = Algebraic(primes=[2], verify=False)
    engine.init(Edges.of([0], [1]), 2)
    with pytest.raises(SingularMatrixError, match="larger primes"):
        engine.apply(Edges.of([1], [0]), NONE)  # the one weight modulo 2 is 1, and 1 - 1·1 = 0
    assert engine.query([0, 1], [1, 0]).tolist() == [True, False]
    assert as_pairs(engine.edges) == [(0, 1)]


def test_what_is_there_or_not_there_changes_nothing():
    pair = Pair(4, [(0, 1), (1, 2)], seed=1)
    pair.apply([(0, 1)], [(3, 0)])
    assert pair.engine.matrix.rank == 0
    assert [len(side) for side in pair.engine.changes()] == [0, 0]
    pair.engine.apply(Edges.of([0, 0, 2, 2], [1, 1, 3, 3]), Edges.of([3, 1], [0, 3]))
    pair.twin.apply(Edges.of([2], [3]), NONE)
    pair.edges.add((2, 3))
    pair.check()


@pytest.mark.parametrize("broken_name", ["gather", "update"])
def test_a_batch_that_fails_half_way_changes_nothing(monkeypatch, broken_name):
    pair = Pair(6, [(0, 1), (1, 2), (2, 0)], seed=1)

    def broken(*_, **__):
        raise SessionError("an executor", "none", "Start one.")

    with monkeypatch.context() as patched:
        patched.setattr(LazyMatrix, broken_name, broken)
        with pytest.raises(SessionError):
            pair.engine.apply(Edges.of([3, 4], [4, 0]), Edges.of([1], [2]))
    pair.check()
    pair.apply([(3, 4), (4, 0)], [(1, 2)])
    pair.check()


@pytest.mark.usefixtures("short_reach")
def test_a_build_that_fails_in_the_end_changes_nothing(monkeypatch):
    """A batch that has to build, and then cannot tell what it has changed."""
    cycle, others = many_changes(np.random.default_rng(8), 31)
    pair = Pair(31, cycle, seed=1)
    pair.engine._build_seconds = 0.0

    def broken(*_):
        raise SessionError("an executor", "none", "Start one.")

    with monkeypatch.context() as patched:
        patched.setattr("dyntc_spark.engines.algebraic.engine.compared", broken)
        with pytest.raises(SessionError):
            pair.engine.apply(as_edges(others), as_edges(cycle[::2]))
    pair.check()
    pair.apply(others, cycle[::2])
    pair.check()


def test_an_init_that_fails_changes_nothing(monkeypatch):
    pair = Pair(6, [(0, 1), (1, 2), (2, 0)], seed=1)

    def broken(*_, **__):
        raise SessionError("an executor", "none", "Start one.")

    with monkeypatch.context() as patched:
        patched.setattr(LocalState, "run", broken)
        with pytest.raises(SessionError):
            pair.engine.init(Edges.of([3], [4]), 9)
    pair.check()


@pytest.mark.long
def test_growth_appends_stripes_and_builds_nothing(backend):
    """200 and 500 are beyond the room that a build leaves, and that the growth before leaves."""
    pair = Pair(3, [(0, 1), (1, 0)], backend, seed=1, epsilon=0.1)  # every update folds those before it
    rooms = set()
    for n in (3, 4, 60, 200, 500) if pair.engine.backend == "local" else (3, 200):
        for side in (pair.engine, pair.twin):
            side.grow(n)
        pair.n = n
        pair.apply([(n - 1, 0), (1, n - 1)])
        pair.apply([(n - 2, n - 1)], [(n - 1, 0)])
        rooms.add(pair.engine.matrix.shape)
        sample = np.array([0, 1, n - 2, n - 1])
        assert as_pairs(pair.engine.descendants(sample)) == as_pairs(pair.twin.descendants(sample))
        assert as_pairs(pair.engine.ancestors(sample)) == as_pairs(pair.twin.ancestors(sample))
        assert pair.engine.query([0, n - 2], [n - 1, n - 1]).tolist() == [True, True]
    assert len(rooms) == (3 if pair.engine.backend == "local" else 2)
    assert pair.engine.stats()["builds"] == 1
    pair.engine.matrix.state.validate()
    assert pair.engine.verify().holds
    assert inverse_holds(pair.engine)
    with pytest.raises(ShapeMismatchError, match=f"at least {n}"):
        pair.engine.grow(7)


@pytest.mark.long
def test_growth_without_a_certificate_draws_the_primes_that_it_needs():
    engine = Algebraic(seed=1, verify=False)
    engine.init(Edges.of([0], [1]), 2)
    few = len(engine.primes)
    engine.grow(300)
    assert engine.stats()["builds"] == 1 + (len(engine.primes) > few)
    engine.grow(20_000)
    assert len(engine.primes) > few
    assert engine.query([0, 19_999], [1, 0]).tolist() == [True, False]


@pytest.fixture
def short_reach(monkeypatch):
    monkeypatch.setattr("dyntc_spark.engines.algebraic.engine.REACH", 5)


def many_changes(rng, n):
    """A component of all vertices falls apart at many of them, and comes back."""
    cycle = [(v, (v + 1) % n) for v in range(n)]
    return cycle, [(int(x), int(y)) for x, y in rng.integers(n, size=(n, 2))]


@pytest.mark.long
@pytest.mark.usefixtures("short_reach")
@pytest.mark.parametrize("build_seconds", [0.0, 1e9])
def test_batches_beyond_the_reach_are_split_or_built_whichever_is_faster(build_seconds):
    rng = np.random.default_rng(8)
    n = 31
    cycle, others = many_changes(rng, n)
    pair = Pair(n, cycle, seed=1)
    for new, gone in ((others, cycle[::2]), (cycle[::2], others), (others, [])):
        pair.engine._build_seconds = build_seconds
        pair.apply(new, gone)
        pair.check()
        assert inverse_holds(pair.engine)
    stats = pair.engine.stats()
    split, built = stats["splits"], stats["rebuilt_batches"]
    assert (split > 1, built, stats["builds"]) == (True, 0, 1) if build_seconds else (split, built > 1) == (0, True)


def test_a_batch_within_the_reach_is_one_update():
    rng = np.random.default_rng(8)
    cycle, others = many_changes(rng, 31)
    pair = Pair(31, cycle, seed=1)
    pair.apply(others, cycle[::2])
    stats = pair.engine.stats()
    assert (stats["splits"], stats["rebuilt_batches"], stats["builds"]) == (0, 0, 1)


def test_bad_input():
    engine = Algebraic()
    with pytest.raises(IndexOutsideError, match="vertex numbers"):
        engine.init(Edges.of([0], [5]), 3)
    engine.init(Edges.of([0], [1]), 3)
    with pytest.raises(IndexOutsideError, match="from 0 to 2"):
        engine.apply(Edges.of([0], [3]), NONE)
    with pytest.raises(IndexOutsideError, match="got -1"):
        engine.query([0], [-1])
    with pytest.raises(ShapeMismatchError, match="2 and 1"):
        engine.query([0, 1], [1])
    with pytest.raises(OptionError, match="error probability"):
        Algebraic(error_probability=0)
    assert as_pairs(engine.descendants([0])) == [(0, 0), (0, 1)]


def test_no_vertices():
    engine = Algebraic()
    engine.init(NONE, 0)
    engine.apply(NONE, NONE)
    assert len(engine.query([], [])) == 0
    assert len(engine.descendants([])) == 0
    assert engine.verify().holds


class Script(RuleBasedStateMachine):
    """Batches, growth and new starts, against recomputation."""

    pairs = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=6)

    @initialize(n=st.integers(0, 8), edges=pairs, seed=st.integers(0, 99), verify=st.booleans())
    def start(self, n, edges, seed, verify):
        self.pair = Pair(n, {(x, y) for x, y in edges if max(x, y) < n}, seed=seed, verify=verify)

    @rule(inserted=pairs, deleted=pairs)
    def apply(self, inserted, deleted):
        n = self.pair.n
        inside = [{(x, y) for x, y in pairs if max(x, y) < n} for pairs in (inserted, deleted)]
        self.pair.apply(*inside)

    @rule(extra=st.sampled_from([1, 2, 70]))
    def grow(self, extra):
        self.pair.n = min(12, self.pair.n + extra)
        for side in (self.pair.engine, self.pair.twin):
            side.grow(self.pair.n)

    @rule()
    def fold(self):
        self.pair.engine.matrix.rebuild()

    @invariant()
    def agree(self):
        self.pair.check()

    @invariant()
    def invertible(self):
        assert inverse_holds(self.pair.engine)


TestScript = pytest.mark.long(Script.TestCase)
TestScript.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


def test_jobs(spark):
    """One gather a batch, whatever its shape, and one job for its certificate; one question, one job."""
    backend = SparkBackend(spark)
    engine = Algebraic(backend, seed=1, epsilon=1, verify=False)

    def jobs(action):
        with backend.jobs.watch() as noted:
            action()
        return len(noted)

    assert jobs(lambda: engine.init(Edges.of([0, 1, 2], [1, 2, 0]), 200)) == 1
    assert jobs(lambda: engine.apply(Edges.of([3], [4]), NONE)) == 1
    assert jobs(lambda: engine.apply(Edges.of(range(100, 150), range(150, 200)), Edges.of([0], [1]))) == 1
    assert jobs(lambda: engine.apply(Edges.of([1, 4], [0, 3]), Edges.of([3], [4]))) == 1
    assert jobs(lambda: engine.query([1, 100], [0, 150])) == 1
    assert jobs(lambda: engine.descendants(range(50))) == 1
    assert jobs(lambda: engine.ancestors(range(50))) == 1
    assert jobs(engine.changes) == 1
    assert jobs(engine.matrix.rebuild) == 1
    assert jobs(engine.verify) == 1
    verified = Algebraic(backend, seed=1, epsilon=1)
    assert jobs(lambda: verified.init(Edges.of([0, 1, 2], [1, 2, 0]), 200)) == 2
    assert jobs(lambda: verified.apply(Edges.of([3], [4]), Edges.of([0], [1]))) == 2
    assert verified.query([3, 0, 1], [4, 1, 0]).tolist() == [True, False, True]


@pytest.mark.cluster
def test_random_script_on_spark(spark):
    rng = np.random.default_rng(4)
    pair = Pair(9, backend=SparkBackend(spark), seed=4, epsilon=0.6)
    for number in range(10):
        new, gone = pair.random_batch(rng)
        pair.apply(new, gone)
        x, y = np.divmod(np.arange(81), 9)
        assert np.array_equal(pair.engine.query(x, y), pair.twin.query(x, y)), f"batch {number}: {sorted(pair.edges)}"
    pair.check()
