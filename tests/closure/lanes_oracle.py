"""The closure by a search from every vertex, and what an engine must say about it."""

from __future__ import annotations

import random

import numpy as np

from dyntc_spark.closure.engine import Edges


def drawing(seed):
    """Draw the same again for the same seed."""
    return random.Random(seed)  # noqa: S311  (nothing secret)


def as_edges(pairs):
    return Edges.of([v for v, _ in sorted(pairs)], [w for _, w in sorted(pairs)])


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
