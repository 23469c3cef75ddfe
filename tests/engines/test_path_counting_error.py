"""How often "no" is wrong: the bound, the draw, and the observed rate with primes that are far too small."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.path_counting import PathCounting
from dyntc_spark.kernels.primes import is_prime


def ladder(rungs):
    """2^rungs paths from 0 to the last vertex: each rung is passed by one of two ways."""
    low = 3 * np.arange(rungs)
    sources = np.concatenate([low, low, low + 1, low + 2])
    targets = np.concatenate([low + 1, low + 2, low + 3, low + 3])
    return Edges.of(sources, targets), 3 * rungs + 1


def complete(n):
    """Every edge upwards: 2^(d-1) paths over a distance d."""
    return Edges.of(*np.triu_indices(n, 1)), n


def random_dag(n, density, seed):
    rng = np.random.default_rng(seed)
    return Edges.of(*np.nonzero(np.triu(rng.random((n, n)) < density, 1))), n


def exact_counts(edges, n):
    """Path counts in Python integers; the edges lead upwards."""
    rows = np.zeros((n, n), object)
    for v in reversed(range(n)):
        rows[v] = rows[edges.targets[edges.sources == v]].sum(axis=0)
        rows[v, v] = 1
    return rows


def test_observed_rate_of_wrong_no_agrees_with_theory():
    """One random prime of 7 bits a build: each count is hidden as often as primes of 7 bits divide it."""
    primes = [p for p in range(64, 128) if is_prime(p)]
    edges, n = random_dag(40, 0.5, 1)
    counts = exact_counts(edges, n)
    x, y = np.nonzero(counts)
    numbers = counts[x, y]
    hidden = np.stack([(numbers % p == 0).astype(bool) for p in primes])  # [prime, pair]
    rng = np.random.default_rng(123)
    draws = 300
    missed = np.zeros(len(x))
    for _ in range(draws):
        engine = PathCounting(primes=[int(rng.choice(primes))])
        engine.init(edges, n)
        missed += ~engine.query(x, y)
    rates, of_prime = hidden.mean(axis=0), hidden.mean(axis=1)
    assert rates.mean() > 0.005  # tiny primes do hide counts
    assert not missed[rates == 0].any()
    spread = of_prime.std() / math.sqrt(draws)
    assert missed.mean() / draws == pytest.approx(rates.mean(), abs=5 * spread)
    bound = 5 / 3 * math.log(2) * math.log2(max(numbers)) / 2**6  # as in the module's text, for 7 bits
    assert rates.max() <= bound


@pytest.mark.long
def test_yes_is_always_right():
    """Whatever the primes, and after any updates."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        edges, n = random_dag(12, 0.4, seed)
        engine = PathCounting(primes=[2] if seed % 2 else [3, 2])
        engine.init(edges, n)
        present = np.zeros((n, n), bool)
        present[edges.sources, edges.targets] = True
        for _ in range(10):
            x, y = sorted(rng.choice(n, 2, replace=False).tolist())
            one, none = Edges.of([x], [y]), Edges.of()
            engine.apply(*((none, one) if present[x, y] else (one, none)))
            present[x, y] ^= True
            counts = exact_counts(Edges.of(*np.nonzero(present)), n)
            a, b = np.divmod(np.arange(n * n), n)
            found = engine.query(a, b)
            primes = np.array(engine.stats()["primes"])
            assert not (found & (counts.ravel() == 0)).any()
            assert (found == np.array([any(c % p for p in primes.tolist()) for c in counts.ravel()])).all()


def test_number_of_primes():
    """It follows from n, the error probability, and the bits of the largest number of paths."""
    edges, n = ladder(3)

    def primes(**options):
        engine = PathCounting(seed=1, **options)
        engine.init(edges, n)
        return engine.stats()["primes"]

    found = primes()
    assert all(is_prime(p) and p.bit_length() == 23 for p in found)
    room, degree = n + 64, math.ceil(5 / 3 * math.log(2) * 64)
    error = room**2 * (degree / 2**22) ** len(found)
    assert error <= 1e-12 < error * 2**22 / degree
    assert len(primes(error_probability=1e-3)) < len(found) < len(primes(error_probability=1e-40))
    assert primes() == primes()
    assert PathCounting(primes=[7]).stats()["error_probability"] is None


def test_unpredictable_without_a_seed():
    engines = [PathCounting() for _ in range(2)]
    assert engines[0].stats()["primes"] != engines[1].stats()["primes"]


def test_new_primes_when_the_graph_outgrows_the_bound():
    """64 bits at first; a ladder that grows to 2^150 paths asks for more primes, and is answered all the way."""
    edges, n = ladder(150)
    engine = PathCounting(seed=5)
    engine.init(Edges.of(), n)
    few = engine.stats()["primes"]
    for start in range(0, len(edges), 100):
        part = slice(start, start + 100)
        engine.apply(Edges(edges.sources[part], edges.targets[part]), Edges.of())
    stats = engine.stats()
    assert stats["draws_of_primes"] > 1
    assert len(stats["primes"]) >= len(few)
    assert stats["path_bits"] <= stats["path_bits_allowed"]
    assert engine.query([0, n - 1], [n - 1, 0]).tolist() == [True, False]
    counts = exact_counts(edges, n)
    found = engine.count_paths(np.zeros(n, int), np.arange(n))
    product = math.prod(stats["primes"])
    assert found.counts == [int(c) % product for c in counts[0]]
    assert found.exact.tolist() == [math.log2(product) > 151] * n


def test_exact_and_at_least():
    """Exact while the product of the primes is larger than any number that there can be."""
    edges, n = complete(30)
    counts = exact_counts(edges, n)
    engine = PathCounting(primes=[8388593])
    engine.init(edges, n)
    x, y = np.divmod(np.arange(n * n), n)
    found = engine.count_paths(x, y)
    true = [int(c) for c in counts.ravel()]
    assert all(given == c for given, c, exact in zip(found.counts, true, found.exact, strict=True) if exact)
    assert all(given <= c for given, c in zip(found.counts, true, strict=True))
    assert found.exact[x == n - 1].all()
    assert not found.exact[x == 0].any()
    ample = PathCounting(seed=1)
    ample.init(edges, n)
    found = ample.count_paths(x, y)
    assert found.exact.all()
    assert found.counts == true


@pytest.mark.long
def test_numbers_beyond_floating_point():
    """2^1200 paths: no floating point number bounds them, so 2^n does, and none is called exact."""
    edges, n = ladder(1200)
    engine = PathCounting(seed=1)
    engine.init(edges, n)
    stats = engine.stats()
    assert stats["path_bits"] == n
    found = engine.count_paths([0, n - 2], [n - 1, n - 1])
    assert found.exact.tolist() == [False, True]
    assert found.counts == [pow(2, 1200, math.prod(stats["primes"])), 1]
