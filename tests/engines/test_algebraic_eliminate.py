"""Block elimination against an inverse in Python integers, and the engine with components that are inverted by it."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.rings import Modular
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.algebraic import build as algebraic_build
from dyntc_spark.engines.algebraic.build import Parts
from dyntc_spark.engines.algebraic.eliminate import inverted, through
from dyntc_spark.engines.algebraic.engine import Algebraic
from dyntc_spark.errors import SingularMatrixError
from dyntc_spark.kernels import sparse
from tests.engines.algebraic_oracle import Pair, inverse_holds
from tests.engines.test_algebraic_kernels import PRIMES, inverse

RING = Modular(PRIMES)


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def backend(request):
    return LocalBackend() if request.param == "local" else SparkBackend(request.getfixturevalue("spark"))


def as_sparse(layers):
    rows, columns = np.nonzero(layers.any(axis=0))
    return sparse.from_coordinates(rows, columns, layers[:, rows, columns], layers.shape[1:], RING.modulus)


def as_layers(lines):
    found = np.zeros((len(PRIMES), *lines.shape), object)
    found[:, lines.rows, lines.columns] = lines.values
    return found


def weights(rng, n, degree):
    """Random weights of some edges of a component, and of a cycle through all vertices."""
    found = np.zeros((len(PRIMES), n, n), np.int64)
    places = np.append(rng.integers(n, size=(2, int(n * degree))), [np.arange(n), (np.arange(n) + 1) % n], axis=1)
    for plane, p in enumerate(PRIMES):
        found[plane, places[0], places[1]] = rng.integers(1, p, size=places.shape[1])
    return found


def right_inverse(n, height, backend):
    """Whether the inverse of a random matrix is the one in Python integers."""
    w = weights(np.random.default_rng(n), n, 2) if n else np.zeros((len(PRIMES), 0, 0), np.int64)
    unit = np.eye(n, dtype=np.int64)
    state = inverted(as_sparse((unit - w) % np.array(PRIMES)[:, None, None]), RING, backend, height)
    rows, columns, values = state.entries("matrix")
    found = np.zeros((len(PRIMES), n, n), object)
    found[:, rows, columns] = values
    return all((found[plane] == inverse(unit - w[plane], p)).all() for plane, p in enumerate(PRIMES)) if n else True


@pytest.mark.parametrize(("n", "height"), [(23, 5), (16, 4), (7, 9), (1, 3), (0, 3)])
def test_inverted(n, height):
    assert right_inverse(n, height, LocalBackend())


def test_inverted_on_spark(spark):
    """One job takes the matrix there, one brings the first lines, three eliminate, and one brings it back."""
    backend = SparkBackend(spark)
    with backend.jobs.watch() as jobs:
        assert right_inverse(23, 8, backend)
    assert len(jobs) == 6


def test_no_inverse():
    with pytest.raises(SingularMatrixError):
        inverted(as_sparse(np.ones((2, 6, 6), np.int64)), RING, LocalBackend(), 2)


def test_through(backend):
    """A component of every other vertex, whose rows lead beyond it."""
    n, length = 11, 40
    rng = np.random.default_rng(3)
    ids, w = np.arange(0, 2 * n, 2), weights(rng, n, 1)
    v = np.zeros((len(PRIMES), n, length), np.int64)
    v[:, :, 25:] = rng.integers(PRIMES[1], size=(len(PRIMES), n, 15)) * (rng.random((n, 15)) < 0.3)
    v[:, np.arange(n), ids] = 1
    found = as_layers(through(as_sparse(w), ids, as_sparse(v), RING, backend, height=4))
    unit = np.eye(n, dtype=np.int64)
    for plane, p in enumerate(PRIMES):
        wanted = (inverse(unit - w[plane], p) - unit) @ v[plane].astype(object) % p
        assert (found[plane] == wanted).all()


@pytest.fixture
def low(monkeypatch):
    monkeypatch.setattr(algebraic_build, "ELIMINATED", 30)
    monkeypatch.setattr(algebraic_build, "LARGE", 20)


def two_components(rng, n=150, sizes=(45, 70)):
    """Two components of so many vertices, one below the other, and vertices above, between and below them."""
    first, second = rng.permutation(n)[: sizes[0]], rng.permutation(n)
    second = np.setdiff1d(second, first)[: sizes[1]]
    pairs = [rng.choice(part, size=(6 * len(part), 2)) for part in (first, second)]
    rest = np.setdiff1d(np.arange(n), np.append(first, second))
    ends = [(rest[:12], first), (first, rest[12:20]), (rest[12:20], second), (second, rest[20:])]
    pairs += [np.stack([rng.choice(x, 20), rng.choice(y, 20)], axis=1) for x, y in ends]
    return {tuple(pair) for pair in np.concatenate(pairs).tolist()}


@pytest.mark.long
@pytest.mark.usefixtures("low")
def test_the_engine_inverts_large_components():
    edges = two_components(np.random.default_rng(7))
    parts = Parts.of(EdgeSet.of(Edges.of(*np.array(sorted(edges)).T)).edges, 150)
    assert len(parts.large) == 2
    pair = Pair(150, edges, seed=5)
    pair.check()
    assert inverse_holds(pair.engine)
    reached = len(pair.twin.descendants(np.arange(150)))
    assert reached - (150 - 45 - 70) - 9 < pair.engine.stats()["entries"] <= reached  # N has no 1 where no cycle is
    pair.apply([(0, 149), (149, 3)], sorted(edges)[:7])
    pair.check()


@pytest.mark.usefixtures("low")
@pytest.mark.parametrize(("n", "sizes"), [(110, (33, 45)), pytest.param(150, (45, 70), marks=pytest.mark.slow)])
def test_both_backends_come_to_the_same_matrix(spark, n, sizes):
    edges = Edges.of(*np.array(sorted(two_components(np.random.default_rng(7), n, sizes))).T)
    assert len(Parts.of(EdgeSet.of(edges).edges, n).large) == 2
    found = []
    for backend in (LocalBackend(), SparkBackend(spark)):
        engine = Algebraic(backend, seed=5)
        engine.init(edges, n)
        found.append(engine.matrix.entries())
    for ours, theirs in zip(*found, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.slow
def test_a_component_of_thousands():
    """Every vertex reaches every vertex; the certificate says so."""
    rng = np.random.default_rng(2)
    n = 3000
    edges = EdgeSet.of(
        Edges.of(*np.append(rng.integers(n, size=(2, 3 * n)), [np.arange(n), (np.arange(n) + 1) % n], 1))
    ).edges
    engine = Algebraic(seed=1)
    engine.init(edges, n)
    assert engine.stats()["entries"] > n * (n - 1)
    assert engine.query(*rng.integers(n, size=(2, 1000))).all()
    assert engine.stats()["builds"] == 1
