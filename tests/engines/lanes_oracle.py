"""What an engine must say about a graph: the closure by a search from every vertex, and by powers of a matrix."""

from __future__ import annotations

import random

import numpy as np

from dyntc_spark.edges import Edges


def drawing(seed):
    """Draw the same again for the same seed."""
    return random.Random(seed)  # noqa: S311  (nothing secret)


def as_edges(pairs):
    return Edges.of([v for v, _ in sorted(pairs)], [w for _, w in sorted(pairs)])


def alike(a, b):
    return np.array_equal(a.sources, b.sources) and np.array_equal(a.targets, b.targets)


def as_pairs(edges):
    return set(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))


def reached(edges, n):
    """Every pair that a path joins."""
    steps = {v: [] for v in range(n)}
    for v, w in edges:
        steps[v].append(w)
    found = set()
    for v in range(n):
        seen, pending = {v}, [v]
        while pending:
            for w in steps[pending.pop()]:
                if w not in seen:
                    seen.add(w)
                    pending.append(w)
        found |= {(v, w) for w in seen}
    return found


def require_right(engine, edges, n, before=None):
    """Require every answer of an engine to be that of the graph; return the pairs, for the next call's ``before``."""
    expected = reached(edges, n)
    every = np.arange(n)
    assert as_pairs(engine.descendants(every)) == expected
    assert as_pairs(engine.ancestors(every)) == expected
    asked = np.divmod(np.arange(n * n), max(n, 1))
    answers = engine.query(*asked).tolist()
    assert {
        pair for pair, yes in zip(zip(*(ends.tolist() for ends in asked), strict=True), answers, strict=True) if yes
    } == expected
    assert engine.stats()["pairs"] == len(expected) - n
    assert engine.stats()["edges"] == len(edges)
    assert as_pairs(engine.edges) == set(edges)
    certificate = engine.verify()
    assert certificate.holds
    assert not certificate.repaired
    changes = engine.changes()
    if before is not None and changes is not None:
        assert as_pairs(changes[0]) == expected - before
        assert as_pairs(changes[1]) == before - expected
    return expected


def unfolded(runs, component, width):
    """Every pair of vertices that runs stand for, and each vertex with itself; no pair twice."""
    pairs = [
        (u, v)
        for u, c in enumerate(component)
        for stripe, first, last, word in runs
        if stripe == c // width and (word % 2**64) >> (c % width) & 1
        for v, d in enumerate(component)
        if first <= d <= last and u != v
    ]
    assert len(pairs) == len(set(pairs))
    return set(pairs) | {(v, v) for v in range(len(component))}


def powers(edges):
    """The closure of a Boolean matrix, by squaring it until nothing is new."""
    closed = edges | np.eye(len(edges), dtype=bool)
    while True:
        further = (closed.astype(np.float32) @ closed.astype(np.float32)) > 0
        if np.array_equal(further, closed):
            return closed
        closed = further


class Watched:
    """An engine beside the matrices of its graph and its closure; every answer is compared after every batch.

    Parameters
    ----------
    engine
        The engine.
    edges
        The edges at the beginning, as a square Boolean matrix.
    """

    def __init__(self, engine, edges):
        self.engine, self.edges, self.batches = engine, edges.copy(), 0
        engine.init(Edges.of(*np.nonzero(edges)), len(edges))
        self.closed = powers(edges)
        self._require()

    @property
    def vertices(self):
        return len(self.edges)

    def insert(self, *pairs):
        self.apply(pairs, ())

    def delete(self, *pairs):
        self.apply((), pairs)

    def apply(self, inserted, deleted):
        """Insert and delete pairs; what is there already, or is not, is left out, as the graph layer does."""
        new, gone = (np.zeros_like(self.edges) for _ in range(2))
        for matrix, pairs in ((new, inserted), (gone, deleted)):
            for pair in pairs:
                matrix[pair] = True
        new, gone = new & ~self.edges, gone & self.edges & ~new
        self.engine.apply(Edges.of(*np.nonzero(new)), Edges.of(*np.nonzero(gone)))
        self.edges = (self.edges | new) & ~gone
        before, self.closed = self.closed, powers(self.edges)
        self.batches += 1
        self._require()
        came, went = (self._matrix(part) for part in self.engine.changes())
        assert np.array_equal(came, self.closed & ~before)
        assert np.array_equal(went, before & ~self.closed)

    def grow(self, vertices):
        """Add vertices without edges."""
        more = (0, vertices - self.vertices)
        self.edges = np.pad(self.edges, (more, more))
        self.engine.grow(vertices)
        self.closed = powers(self.edges)
        self._require()

    def _matrix(self, pairs):
        found = np.zeros_like(self.edges)
        found[pairs.sources, pairs.targets] = True
        assert np.count_nonzero(found) == len(pairs)
        return found

    def _require(self):
        """Require all answers to be right."""
        engine, n = self.engine, self.vertices
        every, stats = np.arange(n), engine.stats()
        assert np.array_equal(self._matrix(engine.descendants(every)), self.closed)
        assert np.array_equal(self._matrix(engine.ancestors(every)), self.closed)
        assert np.array_equal(engine.query(*np.divmod(np.arange(n * n), max(n, 1))), self.closed.ravel())
        assert np.array_equal(self._matrix(engine.edges), self.edges)
        assert (stats["vertices"], stats["edges"]) == (n, np.count_nonzero(self.edges))
        assert stats["pairs"] == np.count_nonzero(self.closed) - n
        both = self.closed & self.closed.T
        assert stats["components"] == len(np.unique(both, axis=0))
        assert stats["largest_component"] == both.sum(axis=0).max(initial=0)
        certificate = engine.verify()
        assert certificate.holds
        assert not certificate.repaired
