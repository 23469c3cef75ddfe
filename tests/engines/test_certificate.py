"""The certificate: what it finds, that it makes the algebraic engine exact, and that repairs are counted."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.engine import Algebraic
from dyntc_spark.engines.certificate import Successors, certify
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute

NONE = Edges.of()


def random_digraph(rng, n, degree):
    return Edges.of(*np.unique(rng.integers(n, size=(int(n * degree), 2)), axis=0).T)


def exact(edges, n):
    engine = Recompute()
    engine.init(edges, n)
    return engine


@pytest.mark.parametrize("engine", [Recompute, Lanes, lambda: Algebraic(seed=1)])
def test_a_right_closure_is_certified(engine):
    rng = np.random.default_rng(1)
    for n, degree in ((1, 0), (40, 0.9), (40, 1.5), (151, 1.2)):
        edges = random_digraph(rng, n, degree)
        made = engine()
        made.init(edges, n)
        found = certify(made.descendants, Successors.of(edges, n), chunk=37)
        assert found.holds
        assert found.rows == n
        some = np.unique(rng.integers(n, size=5))
        assert certify(made.descendants, Successors.of(edges, n), some).rows == len(some)


def test_every_pair_that_is_left_out_is_found():
    """Without any one pair, the row of its source is not closed, or lacks its own vertex's successor."""
    rng = np.random.default_rng(2)
    n = 14
    edges = random_digraph(rng, n, 1.2)
    rows = exact(edges, n).descendants(np.arange(n))
    pairs = set(zip(rows.sources.tolist(), rows.targets.tolist(), strict=True))
    successors = Successors.of(edges, n)
    for x, y in sorted(pairs):
        if x == y:
            continue

        def without(vertices, lost=(x, y)):
            kept = sorted(pair for pair in pairs - {lost} if pair[0] in set(vertices.tolist()))
            return Edges.of([v for v, _ in kept], [w for _, w in kept])

        found = certify(without, successors)
        assert (found.missing.sources.tolist(), found.missing.targets.tolist()) == ([x], [y])
        assert not found.holds
        assert certify(without, successors, np.setdiff1d(np.arange(n), [x])).holds


def drive(seed, batches, n=25, **options):
    """Run random batches with tiny primes; give the numbers of wrong answers and of repairs, and the engine."""
    rng = np.random.default_rng(seed)
    engine, twin = Algebraic(seed=seed, **options), Recompute()
    edges = random_digraph(rng, n, 1.3)
    for side in (engine, twin):
        side.init(edges, n)
    x, y = np.divmod(np.arange(n * n), n)
    wrong = int((engine.query(x, y) != twin.query(x, y)).sum())
    for _ in range(batches):
        present = twin.edges
        some = rng.permutation(len(present))[:3]
        gone = Edges(present.sources[some], present.targets[some])
        new = Edges.of(*rng.integers(n, size=(2, 3)))
        for side in (engine, twin):
            side.apply(new, gone)
        ours, theirs = engine.query(x, y), twin.query(x, y)
        assert not (ours & ~theirs).any(), f"a wrong yes, seed {seed}"
        wrong += int((ours != theirs).sum())
    return wrong, engine


@pytest.mark.long
def test_wrong_answers_appear_without_verification_and_never_with_it():
    wrong = repairs = 0
    for seed in range(6):
        without, _ = drive(seed, 10, primes=[11], verify=False)
        wrong += without
        verified, engine = drive(seed, 10, primes=[11])
        assert verified == 0, seed
        repairs += engine.stats()["repairs"]
        assert len(engine.primes) > 1  # a repair adds a prime of full length
    assert wrong > 100
    assert repairs >= 6


@pytest.mark.long
def test_batches_are_repaired_too():
    """A prime of 8 bits hides some pair after a few batches, not at once."""
    repairs = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        engine = Algebraic(seed=seed, primes=[131])
        engine.init(NONE, 30)
        assert engine.stats()["repairs"] == 0
        twin = exact(NONE, 30)
        for _ in range(12):
            new = Edges.of(*rng.integers(30, size=(2, 4)))
            for side in (engine, twin):
                side.apply(new, NONE)
            x, y = np.divmod(np.arange(900), 30)
            assert np.array_equal(engine.query(x, y), twin.query(x, y)), seed
        repairs += engine.stats()["repairs"]
    assert repairs > 3


def test_verify_repairs_what_was_not_verified():
    repaired = 0
    for seed in range(8):
        _, engine = drive(seed, 3, primes=[5], verify=False)
        n = engine.vertices
        twin = exact(engine.edges, n)
        x, y = np.divmod(np.arange(n * n), n)
        wrong = (engine.query(x, y) != twin.query(x, y)).any()
        found = engine.verify()
        assert wrong == found.repaired == (len(found.missing) > 0)
        assert found.holds
        assert twin.query(found.missing.sources, found.missing.targets).all()
        assert np.array_equal(engine.query(x, y), twin.query(x, y)), seed
        assert (engine.stats()["repairs"] > 0) == found.repaired
        repaired += found.repaired
    assert repaired > 3


def test_rows_of_touched_lines_only():
    engine = Algebraic(seed=1)
    chain = Edges.of(range(299), range(1, 300))
    engine.init(chain, 300)
    before = engine.stats()["certified_rows"]
    engine.apply(NONE, Edges.of([3], [4]))  # four rows reach it, 296 columns are reached
    assert engine.stats()["certified_rows"] - before == 4
    before = engine.stats()["certified_rows"]
    engine.apply(NONE, Edges.of([297], [298]))  # two columns are reached from it
    assert engine.stats()["certified_rows"] - before == 2
    assert engine.stats()["touched"] == 2


def test_unverified_primes_are_enough_for_the_error_probability():
    def primes(**options):
        engine = Algebraic(seed=1, **options)
        engine.init(Edges.of([0], [1]), 1000)
        return len(engine.primes)

    room = -(-(1000 + 1000 // 16 + 64) // 64) * 64  # whole stripes
    for error in (1e-3, 1e-12, 1e-40):
        count = primes(verify=False, error_probability=error)
        chance = room**2 * (room / 2**25) ** count
        assert chance <= error < chance * 2**25 / room
    assert primes() == 2
    assert Algebraic().stats()["error_probability"] == 0
    assert Algebraic(verify=False).stats()["error_probability"] == 1e-12


def test_on_spark(spark):
    rng = np.random.default_rng(5)
    n = 150  # several stripes, the last one ragged
    edges = random_digraph(rng, n, 1.3)
    engine = Algebraic(SparkBackend(spark), seed=1, primes=[13], verify=False)
    engine.init(edges, n)
    x, y = np.divmod(np.arange(n * n), n)
    twin = exact(edges, n)
    assert (engine.query(x, y) != twin.query(x, y)).any()
    found = engine.verify()
    assert found.repaired
    assert np.array_equal(engine.query(x, y), twin.query(x, y))
    verified = Algebraic(SparkBackend(spark), seed=1, primes=[13])
    verified.init(edges, n)
    assert np.array_equal(verified.query(x, y), twin.query(x, y))
    new = Edges.of(*rng.integers(n, size=(2, 9)))
    for side in (verified, twin):
        side.apply(new, Edges(edges.sources[:9], edges.targets[:9]))
    assert np.array_equal(verified.query(x, y), twin.query(x, y))
    assert verified.verify().holds
