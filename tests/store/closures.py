"""Closures at a location, and what can be asked of them."""

from __future__ import annotations

from dyntc_spark import DynamicClosure
from tests.graph.oracle import Plain

START = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]


def pairs(closure):
    table = closure.arrow.pairs()
    return set(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))


def seen(closure):
    """What can be asked of a closure, by names."""
    edges = closure.arrow.edges()
    return (
        closure.version,
        set(closure.arrow.vertices()["vertex"].to_pylist()),
        set(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True)),
        pairs(closure),
    )


def recomputed(closure):
    """The pairs by a search over the edges."""
    edges = closure.arrow.edges()
    plain = Plain(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True))
    return plain.pairs()


def saved(spark, location, edges=START, **options):
    closure = DynamicClosure.from_edges(edges, spark=spark, **options)
    closure.save(location)
    return closure
