"""The kernels of the algebraic engine, each against a slow twin in Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.blocks.rings import Modular
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.algebraic.build import Parts
from dyntc_spark.engines.algebraic.solve import LargeSystem, solved
from dyntc_spark.engines.algebraic.sweep import WeightedGraph
from dyntc_spark.errors import SingularMatrixError
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.edge_weights import edge_weights
from dyntc_spark.kernels.merge import merged_rows, transposed
from dyntc_spark.kernels.sweep import sweep_rows

PRIMES = (67108859, 8388593)  # the largest of 26 and of 23 bits


def inverse(matrix, p):
    """Gauss and Jordan; None if there is none."""
    n = len(matrix)
    both = [[int(x) % p for x in row] + [int(i == k) for k in range(n)] for i, row in enumerate(matrix)]
    for c in range(n):
        pivot = next((r for r in range(c, n) if both[r][c]), None)
        if pivot is None:
            return None
        both[c], both[pivot] = both[pivot], both[c]
        scale = pow(both[c][c], -1, p)
        both[c] = [x * scale % p for x in both[c]]
        for r in range(n):
            if r != c and both[r][c]:
                both[r] = [(x - both[r][c] * y) % p for x, y in zip(both[r], both[c], strict=True)]
    return np.array([row[n:] for row in both], object)


def random_edges(rng, n, degree):
    return EdgeSet.of(Edges.of(*rng.integers(n, size=(2, int(n * degree))))).edges


def wanted_rows(edges, n, key):
    weights = edge_weights(edges.sources, edges.targets, np.zeros(len(edges), np.uint64), key, PRIMES)
    found = []
    for plane, p in enumerate(PRIMES):
        w = np.zeros((n, n), object)
        w[edges.sources, edges.targets] = weights[plane].tolist()
        one = np.eye(n, dtype=int).astype(object)
        found.append((inverse(one - w, p) - one) % p)
    return np.stack(found)


def dense(n, rows, columns, values):
    found = np.zeros((len(values), n, n), object)
    found[:, rows, columns] = values
    return found


@pytest.mark.long
@pytest.mark.parametrize("degree", [0.5, 1.0, 1.6, 4.0])
def test_sweep_and_merge_give_the_inverse(degree):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 70))
        edges = random_edges(rng, n, degree)
        parts = Parts.of(edges, n)
        graph = WeightedGraph.of(parts.swept, parts.component, PRIMES, 17 + seed)
        wanted = wanted_rows(parts.swept, n, 17 + seed)
        assert (dense(n, *sweep_rows(graph.forth, 0, n, PRIMES, graph.scratch)) == wanted).all(), seed
        turned = dense(n, *sweep_rows(graph.back, 0, n, PRIMES, graph.scratch))
        assert (turned == wanted.transpose(0, 2, 1)).all(), seed
        first, last = n // 3, n // 2 + 1
        part = dense(n, *sweep_rows(graph.forth, first, last, PRIMES, graph.scratch))
        assert (part[:, : last - first] == wanted[:, first:last]).all(), seed
        assert not any(side.any() for side in graph.scratch), "the scratch is left clean"
        begins, ids, values = merged_rows(graph.forth, PRIMES)
        rows = np.repeat(np.arange(n), np.diff(begins))
        assert (dense(n, rows, ids, values) == wanted).all(), seed
        begins, ids, values = transposed(begins, ids, values)
        assert (dense(n, np.repeat(np.arange(n), np.diff(begins)), ids, values) == wanted.transpose(0, 2, 1)).all()


def test_many_terms_at_one_vertex():
    """Two thousand products of 52 bits for each entry: sums are reduced on the way."""
    n = 2002
    middle = np.arange(1, n - 1)
    edges = Edges.of(np.append(np.zeros_like(middle), middle), np.append(middle, np.full_like(middle, n - 1)))
    edges = EdgeSet.of(edges).edges
    graph = WeightedGraph.of(edges, Parts.of(edges, n).component, PRIMES, 5)
    weights = edge_weights(edges.sources, edges.targets, np.zeros(len(edges), np.uint64), 5, PRIMES).astype(object)
    one, two = weights[:, : len(middle)], weights[:, len(middle) :]
    wanted = (one * two).sum(axis=1) % np.array(PRIMES, object)
    rows, columns, values = sweep_rows(graph.forth, 0, 1, PRIMES, graph.scratch)
    assert columns[-1] == n - 1
    assert values[:, -1].tolist() == wanted.tolist()
    begins, ids, residues = merged_rows(graph.forth, PRIMES)
    assert ids[begins[1] - 1] == n - 1
    assert residues[:, begins[1] - 1].tolist() == wanted.tolist()
    assert not rows.any()


def test_large_components_are_cut_where_few_edges_close_them():
    n = 300
    chain = Edges.of(range(n), [*range(1, n), 0])
    parts = Parts.of(EdgeSet.of(chain).edges, n)
    assert (len(parts.late), parts.largest, len(np.unique(parts.component))) == (1, n, n)
    rng = np.random.default_rng(1)
    two = EdgeSet.of(Edges.of(*rng.integers(n, size=(2, 6 * n)))).edges
    parts = Parts.of(two, n)
    assert parts.largest > n // 2
    assert len(parts.swept) + len(parts.late) == len(two)


def test_weights_are_spread_and_follow_the_salt():
    x, y = (side.ravel() for side in np.meshgrid(np.arange(60), np.arange(60)))
    zero = np.zeros(len(x), np.uint64)
    found = edge_weights(x, y, zero, 3, (101, *PRIMES))
    assert found.min() == 1
    assert (found < np.array([101, *PRIMES])[:, None]).all()
    counts = np.bincount(found[0], minlength=101)[1:]
    assert abs(counts - 36).max() < 36  # a mean of 36 each, six standard deviations
    assert np.array_equal(found, edge_weights(x, y, zero, 3, (101, *PRIMES)))
    for other in (edge_weights(x, y, zero, 4, PRIMES), edge_weights(x, y, zero + np.uint64(1), 3, PRIMES)):
        assert (other == found[1:]).mean() < 0.01


@pytest.mark.long
@pytest.mark.parametrize(("size", "density"), [(1, 1.0), (9, 0.1), (30, 0.05), (40, 0.5), (150, 0.05), (150, 0.01)])
def test_solved(size, density):
    rng = np.random.default_rng(size)
    ring, width = Modular(PRIMES), 50
    b = rng.integers(1, PRIMES[1], size=(2, size, size)) * (rng.random((size, size)) < density)
    y = rng.integers(1, PRIMES[1], size=(2, size, width)) * (rng.random((size, width)) < 0.3)

    def as_sparse(layers):
        rows, columns = np.nonzero(layers.any(axis=0))
        return sparse.from_coordinates(rows, columns, layers[:, rows, columns], layers.shape[1:], ring.modulus)

    found = solved(as_sparse(y), as_sparse(b), ring)
    for plane, p in enumerate(PRIMES):
        x = np.zeros((size, width), object)
        x[found.rows, found.columns] = found.values[plane].tolist()
        assert ((y[plane].astype(object) + b[plane].astype(object) @ x - x) % p == 0).all()


def test_systems_without_a_solution_or_too_large():
    ring = Modular((7,))
    right = sparse.from_coordinates([0], [2], [[1]], (1, 3), ring.modulus)
    with pytest.raises(SingularMatrixError):
        solved(right, sparse.from_coordinates([0], [0], [[1]], (1, 1), ring.modulus), ring)
    size = 100
    everywhere = np.divmod(np.arange(size**2), size)
    full = sparse.from_coordinates(*everywhere, np.full((1, size**2), 2), (size, size), ring.modulus)
    many = sparse.from_coordinates([0], [2], [[1]], (size, 3), ring.modulus)
    with pytest.raises(LargeSystem) as large:
        solved(many, full, ring, most=size - 1)
    assert large.value.lines == size
    assert large.value.seconds > 0
