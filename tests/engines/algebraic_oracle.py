"""What the tests of the engine ``algebraic`` compare it with: ``recompute``, and an inverse in Python integers."""

from __future__ import annotations

import numpy as np

from dyntc_spark.engines.algebraic.engine import Algebraic
from dyntc_spark.engines.recompute import Recompute
from tests.engines.lanes_oracle import as_edges


def as_pairs(edges):
    return list(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))


def inverse_holds(engine):
    """Whether ``(I - W)·M = I`` modulo each prime, in Python integers: the invariant of the engine."""
    n, edges = engine.vertices, engine.edges
    weights = engine._graph.weights(edges, engine._graph.salts, engine.primes)
    residues = engine.matrix.rows(np.arange(n))[:, :, :n]
    for plane, p in enumerate(engine.primes):
        w = np.zeros((n, n), object)
        w[edges.sources, edges.targets] = weights[plane].tolist()
        one = np.eye(n, dtype=int).astype(object)
        if ((one - w) @ (residues[plane].astype(object) + one) % p != one).any():
            return False
    return True


class Pair:
    """The engine and its slow twin."""

    def __init__(self, n, edges=(), backend=None, **options):
        self.engine, self.twin, self.n = Algebraic(backend, **options), Recompute(), n
        self.edges = set(edges)
        for side in (self.engine, self.twin):
            side.init(as_edges(self.edges), n)

    def apply(self, inserted=(), deleted=()):
        deleted = set(deleted) - set(inserted)
        before = set(as_pairs(self.twin.descendants(np.arange(self.n))))
        for side in (self.engine, self.twin):
            side.apply(as_edges(inserted), as_edges(deleted))
        self.edges = (self.edges - deleted) | set(inserted)
        after, found = set(as_pairs(self.twin.descendants(np.arange(self.n)))), self.engine.changes()
        assert as_pairs(found[0]) == sorted(after - before)
        assert as_pairs(found[1]) == sorted(before - after)

    def random_batch(self, rng, most=5):
        """One edge, edges at one vertex in both directions, or any; some of those present go."""
        present = sorted(self.edges)
        gone = {present[k] for k in rng.permutation(len(present))[: rng.integers(most + 1)]}
        if rng.random() < 0.3:
            v = int(rng.integers(self.n))
            new = {(int(u), v) for u in rng.integers(self.n, size=3)} | {
                (v, int(u)) for u in rng.integers(self.n, size=3)
            }
        else:
            new = {tuple(pair) for pair in rng.integers(self.n, size=(rng.integers(most + 1), 2)).tolist()}
        return new, gone

    def check(self, about=""):
        n = self.n
        x, y = np.divmod(np.arange(n * n), max(n, 1))
        everything = np.arange(n)
        about = f"{about}: {sorted(self.edges)} {self.engine.stats()}"
        assert np.array_equal(self.engine.query(x, y), self.twin.query(x, y)), about
        for question in ("descendants", "ancestors"):
            ours, theirs = (getattr(side, question)(everything) for side in (self.engine, self.twin))
            assert as_pairs(ours) == as_pairs(theirs), about
        assert self.engine.vertices == n
        assert as_pairs(self.engine.edges) == sorted(self.edges)
