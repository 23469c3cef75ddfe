"""The engine ``path_counting`` against path counts in Python integers, in process and on Spark."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.path_counting import PathCounting
from dyntc_spark.errors import CycleError, IndexOutsideError, SessionError, ShapeMismatchError


class Twin:
    """A set of edges, and the paths along them counted from scratch."""

    def __init__(self, vertices, edges=()):
        self.vertices = vertices
        self.edges = set(edges)

    def changed(self, inserted=(), deleted=()):
        return Twin(self.vertices, (self.edges - set(deleted)) | set(inserted))

    def counts(self):
        """M as lists of Python integers, or None if the graph has a cycle."""
        after = [[y for x, y in sorted(self.edges) if x == v] for v in range(self.vertices)]
        rows = {}
        pending = list(range(self.vertices))
        while pending:
            ready = [v for v in pending if all(w in rows for w in after[v])]
            if not ready:
                return None
            for v in ready:
                unit = [int(v == w) for w in range(self.vertices)]
                rows[v] = [sum(column) for column in zip(unit, *(rows[w] for w in after[v]), strict=True)]
            pending = [v for v in pending if v not in rows]
        return [rows[v] for v in range(self.vertices)]


def edges_of(pairs):
    return Edges.of(*zip(*sorted(pairs), strict=True)) if pairs else Edges.of()


def compare(engine, counts, message=""):
    """Every question the engine answers, about every pair."""
    n = len(counts)
    x, y = np.divmod(np.arange(n * n), max(n, 1))
    flat = [number for row in counts for number in row]
    found = engine.count_paths(x, y)
    assert (found.counts, found.exact.all()) == (flat, True), message
    assert engine.query(x, y).tolist() == [number > 0 for number in flat], message
    down, up = engine.descendants(np.arange(n)), engine.ancestors(np.arange(n))
    pairs = [(v, w) for v in range(n) for w in range(n) if counts[v][w]]
    assert list(zip(down.sources.tolist(), down.targets.tolist(), strict=True)) == pairs, message
    turned = sorted(zip(up.targets.tolist(), up.sources.tolist(), strict=True))
    assert turned == sorted((w, v) for v, w in pairs), message
    assert turned == list(zip(up.targets.tolist(), up.sources.tolist(), strict=True)), message


def random_batch(rng, twin):
    """A batch: one edge, edges at one vertex in both directions, or any; cycles and reversals included."""
    n = twin.vertices
    kind = rng.choice(["one", "centre", "any", "reverse"])
    present = sorted(twin.edges)
    dropped = {edge for edge in present if rng.random() < rng.choice([0, 0.1, 0.5])}
    if kind == "one":
        new, dropped = {tuple(rng.integers(n, size=2).tolist())}, set()
    elif kind == "centre":
        v = int(rng.integers(n))
        new = {(int(u), v) for u in rng.integers(n, size=2)} | {(v, int(u)) for u in rng.integers(n, size=2)}
        dropped = {edge for edge in dropped if v in edge}
    elif kind == "reverse":
        dropped = set(present[:: int(rng.integers(1, 4))])
        new = {(y, x) for x, y in dropped}
    else:
        new = {tuple(pair) for pair in rng.integers(n, size=(int(rng.integers(5)), 2)).tolist()}
    new -= twin.edges
    return new, dropped - new


def drive(seed, backend=None, length=30, vertices=None, **options):
    """Run a random script; give how many batches were refused."""
    rng = np.random.default_rng(seed)
    n = vertices or int(rng.integers(1, 11))
    engine, twin = PathCounting(backend, seed=seed, **options), Twin(n)
    engine.init(Edges.of(), n)
    refused = 0
    for number in range(length):
        new, dropped = random_batch(rng, twin)
        after = twin.changed(new, dropped)
        message = f"seed {seed}, batch {number}: +{sorted(new)} -{sorted(dropped)} of {sorted(twin.edges)}"
        if after.counts() is None:
            with pytest.raises(CycleError) as caught:
                engine.apply(edges_of(new), edges_of(dropped))
            cycle = caught.value.cycle
            assert set(zip(cycle, (*cycle[1:], cycle[0]), strict=True)) <= after.edges, message
            refused += 1
        else:
            engine.apply(edges_of(new), edges_of(dropped))
            twin = after
        compare(engine, twin.counts(), message)
    return refused


@pytest.mark.long
@pytest.mark.parametrize("worst_case", [False, True])
@pytest.mark.parametrize("epsilon", [None, 0, 0.6])
@pytest.mark.parametrize("seeds", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_random_scripts_in_process(epsilon, worst_case, seeds):
    refused = sum(drive(seed, epsilon=epsilon, worst_case=worst_case) for seed in range(seeds))
    assert refused > 4 * seeds


def test_random_script_on_spark(spark):
    drive(4, SparkBackend(spark), length=6, vertices=7, epsilon=0.5)


@pytest.mark.long
@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_operations(count):
    """Single edges on a graph that is looked at after every one."""
    rng = np.random.default_rng(17)
    n = 12
    engine, twin = PathCounting(seed=2), Twin(n)
    engine.init(Edges.of(), n)
    done = 0
    while done < count:
        x, y = rng.integers(n, size=2).tolist()
        new, dropped = (set(), {(x, y)}) if (x, y) in twin.edges else ({(x, y)}, set())
        after = twin.changed(new, dropped)
        counts = after.counts()
        if counts is None:
            with pytest.raises(CycleError):
                engine.apply(edges_of(new), edges_of(dropped))
            continue
        engine.apply(edges_of(new), edges_of(dropped))
        twin = after
        done += 1
        a, b = rng.integers(n, size=2)
        assert engine.count_paths([a], [b]).counts == [counts[a][b]], done
        if done % 500 == 0:
            compare(engine, counts, f"operation {done}")


def test_init_from_edges_in_any_order(backend):
    rng = np.random.default_rng(1)
    n = 150  # several stripes on Spark, the last one ragged
    name = rng.permutation(n)
    x, y = np.nonzero(np.triu(rng.random((n, n)) < 0.04, 1))
    edges = Edges(name[x], name[y])
    engine = PathCounting(backend, seed=0)
    engine.init(Edges(np.append(edges.sources, edges.sources[:9]), np.append(edges.targets, edges.targets[:9])), n)
    compare(engine, Twin(n, zip(edges.sources.tolist(), edges.targets.tolist(), strict=True)).counts())
    assert engine.stats()["edges"] == len(edges)


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def backend(request):
    """Return each backend in turn."""
    return LocalBackend() if request.param == "local" else SparkBackend(request.getfixturevalue("spark"))


@pytest.mark.long
def test_hamiltonian_paths_inserted_and_deleted_in_random_order():
    """The script that found most errors of the paper's text."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 9
        order = rng.permutation(n)
        path = list(zip(order[:-1].tolist(), order[1:].tolist(), strict=True))
        engine, twin = PathCounting(seed=seed), Twin(n)
        engine.init(Edges.of(), n)
        for edge in rng.permutation(path).tolist():
            twin = twin.changed([tuple(edge)])
            engine.apply(Edges.of(*[[end] for end in edge]), Edges.of())
            compare(engine, twin.counts())
        for edge in rng.permutation(path).tolist():
            twin = twin.changed(deleted=[tuple(edge)])
            engine.apply(Edges.of(), Edges.of(*[[end] for end in edge]))
            compare(engine, twin.counts())


def test_rank_of_a_batch():
    """One row or column a changed source or target, whichever are fewer; a star in both directions has rank 2."""
    engine = PathCounting(seed=1, epsilon=1)
    engine.init(Edges.of(), 40)

    def rank(inserted, deleted=()):
        before = engine.matrix.rank
        engine.apply(edges_of(inserted), edges_of(deleted))
        return engine.matrix.rank - before

    assert rank([(0, 1)]) == 1
    assert rank([(2, k) for k in range(10, 20)]) == 1
    assert rank([(k, 3) for k in range(10, 20)]) == 1
    assert rank([(k, 9) for k in range(2)] + [(9, k) for k in range(20, 30)]) == 2
    assert rank([], [(k, 9) for k in range(2)] + [(9, k) for k in range(20, 30)]) == 2
    assert rank([(k, k + 20) for k in range(10, 14)]) == 4
    assert rank([(1, 0)], [(0, 1)]) == 2  # a reversal: its deletion, then its insertion


def test_a_cycle_is_refused_before_anything_changes(backend):
    engine = PathCounting(backend, seed=1)
    engine.init(Edges.of([0, 1, 2], [1, 2, 3]), 5)
    twin = Twin(5, [(0, 1), (1, 2), (2, 3)])
    for new, dropped, cycle in (
        ([(3, 0)], [], {0, 1, 2, 3}),
        ([(4, 4)], [], {4}),
        ([(3, 4), (4, 1)], [(0, 1)], {1, 2, 3, 4}),
    ):
        with pytest.raises(CycleError, match=r"the cycle .* → .* Leave one of these edges out") as caught:
            engine.apply(edges_of(new), edges_of(dropped))
        assert set(caught.value.cycle) == cycle
    compare(engine, twin.counts())
    engine.apply(Edges.of([3], [0]), Edges.of([1], [2]))  # the deletion of the same batch opens the cycle
    compare(engine, twin.changed([(3, 0)], [(1, 2)]).counts())
    with pytest.raises(CycleError):
        engine.init(Edges.of([0, 1], [1, 0]), 2)
    compare(engine, twin.changed([(3, 0)], [(1, 2)]).counts())


def test_a_cycle_that_residues_do_not_see():
    """Modulo 2 two paths are none: acyclicity must not be read off M."""
    engine = PathCounting(primes=[2])
    engine.init(Edges.of([0, 0, 2, 3], [2, 3, 1, 1]), 4)
    assert engine.query([0], [1]).tolist() == [False]  # wrong, as it may be
    with pytest.raises(CycleError, match="0 → "):
        engine.apply(Edges.of([1], [0]), Edges.of())


def test_what_is_there_or_not_there_changes_nothing():
    engine = PathCounting(seed=1)
    engine.init(Edges.of([0, 1], [1, 2]), 4)
    engine.apply(Edges.of([0, 0, 2, 2], [1, 1, 3, 3]), Edges.of([3, 1], [0, 3]))
    compare(engine, Twin(4, [(0, 1), (1, 2), (2, 3)]).counts())
    engine.apply(Edges.of([0], [1]), Edges.of())
    assert engine.matrix.rank == 1


def test_a_batch_that_fails_half_way_changes_nothing(monkeypatch):
    engine = PathCounting(seed=1)
    twin = Twin(6, [(0, 1), (1, 2), (2, 3)])
    engine.init(edges_of(twin.edges), 6)

    def broken(*_):
        raise SessionError("an executor", "none", "Start one.")

    with monkeypatch.context() as patched:
        patched.setattr(LocalState, "run", broken)
        with pytest.raises(SessionError):
            engine.apply(Edges.of([3, 4], [4, 0]), Edges.of([1], [2]))
    with monkeypatch.context() as patched:
        patched.setattr(type(engine.matrix), "update", broken)
        with pytest.raises(SessionError):
            engine.apply(Edges.of([3, 4], [4, 5]), Edges.of([1], [2]))
    compare(engine, twin.counts())
    engine.apply(Edges.of([3, 4], [4, 5]), Edges.of([1], [2]))
    compare(engine, twin.changed([(3, 4), (4, 5)], [(1, 2)]).counts())


def test_grow(backend):
    engine = PathCounting(backend, seed=1)
    engine.init(Edges.of([0], [1]), 3)
    before = engine.matrix
    for n in (3, 4, 60, 300):  # 300 is beyond the room that Init leaves
        engine.grow(n)
        assert engine.vertices == n
        engine.apply(Edges.of([n - 1], [0]), Edges.of())
        assert engine.count_paths([n - 1, 1, n - 2], [1, n - 1, n - 2]).counts == [1, 0, 1]
        assert (engine.matrix is before) == (n < 100)
    with pytest.raises(ShapeMismatchError, match="at least 300"):
        engine.grow(7)


def test_moved_and_shown(spark):
    """The same answers on both backends, in the middle of a script; rows and blocks as DataFrames."""
    twin = Twin(70, [(k, k + 1) for k in range(68)])
    near = PathCounting(seed=1)
    near.init(edges_of(twin.edges), 70)
    near.apply(Edges.of([3], [69]), Edges.of([10], [11]))
    twin = twin.changed([(3, 69)], [(10, 11)])
    assert near.backend == "local"
    assert near.moved(LocalBackend()) is near
    assert near.rows(spark) is None
    far = near.moved(SparkBackend(spark))
    assert far.backend == "spark"
    assert far.moved(SparkBackend(spark)) is far
    far.apply(Edges.of([69], [20]), Edges.of())
    after = twin.changed([(69, 20)])
    compare(near, twin.counts(), "where it was")
    for engine in (far, far.moved(LocalBackend())):
        compare(engine, after.counts(), engine.backend)
        names = {row.matrix: row.nnz for row in engine.blocks(spark).select("matrix", "nnz").collect()}
        assert set(names) == {"by_row", "by_column", "buf_i", "buf_j"}
    found = {row.number: row.reached for row in far.rows(spark).collect()}
    assert found == {v: [w for w in range(70) if counts[w]] for v, counts in enumerate(after.counts())}


def test_verify(backend):
    """A certificate where all is right; fresh primes where one hides a pair."""
    twin = Twin(6, [(0, 2), (0, 3), (2, 1), (3, 1), (1, 4)])
    good, bad = PathCounting(backend, seed=1), PathCounting(backend, primes=[2])
    for engine in (good, bad):
        engine.init(edges_of(twin.edges), 6)
        engine.apply(Edges.of([4], [5]), Edges.of())
    twin = twin.changed([(4, 5)])
    found = good.verify()
    assert (found.holds, found.repaired, found.rows, len(found.missing)) == (True, False, 6, 0)
    assert bad.query([0], [1]).tolist() == [False]
    found = bad.verify()
    assert (found.holds, found.repaired) == (True, True)
    missing = zip(found.missing.sources.tolist(), found.missing.targets.tolist(), strict=True)
    assert set(missing) <= {(0, 1), (0, 4), (0, 5)}
    assert len(found.missing)
    compare(bad, twin.counts())
    assert not bad.verify().repaired


def test_jobs(spark):
    """One gather a batch, whatever its shape; one question, one job."""
    backend = SparkBackend(spark)
    engine = PathCounting(backend, seed=1, epsilon=1)

    def jobs(action):
        with backend.jobs.watch() as noted:
            action()
        return len(noted)

    assert jobs(lambda: engine.init(Edges.of([0, 1], [1, 2]), 200)) == 1
    assert jobs(lambda: engine.apply(Edges.of([3], [4]), Edges.of())) == 1
    assert jobs(lambda: engine.apply(Edges.of(range(100, 150), range(150, 200)), Edges.of([0], [1]))) == 1
    assert jobs(lambda: engine.apply(Edges.of([1], [0]), Edges.of([3], [4]))) == 1
    with backend.jobs.watch() as noted, pytest.raises(CycleError):
        engine.apply(Edges.of([2], [1]), Edges.of())
    assert noted == []
    assert jobs(lambda: engine.query([1, 100], [0, 150])) == 1
    assert jobs(lambda: engine.descendants(range(50))) == 1
    assert jobs(lambda: engine.ancestors(range(50))) == 1
    assert jobs(engine.matrix.rebuild) == 1
    assert engine.count_paths([1, 1], [0, 2]).counts == [1, 1]


def test_bad_input():
    engine = PathCounting()
    with pytest.raises(IndexOutsideError, match="vertex numbers"):
        engine.init(Edges.of([0], [5]), 3)
    engine.init(Edges.of([0], [1]), 3)
    with pytest.raises(IndexOutsideError, match="from 0 to 2"):
        engine.apply(Edges.of([0], [3]), Edges.of())
    with pytest.raises(IndexOutsideError, match="got -1"):
        engine.query([0], [-1])
    with pytest.raises(ShapeMismatchError, match="2 and 1"):
        engine.query([0, 1], [1])
    compare(engine, Twin(3, [(0, 1)]).counts())


def test_no_vertices():
    engine = PathCounting()
    engine.init(Edges.of(), 0)
    engine.apply(Edges.of(), Edges.of())
    assert len(engine.query([], [])) == 0
    assert len(engine.descendants([])) == 0
