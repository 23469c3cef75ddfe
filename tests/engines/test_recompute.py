"""The engine ``recompute``: against Warshall's algorithm when small, against sparse matrices on real packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines import registry
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.errors import IndexOutsideError, OptionError, ShapeMismatchError

DATA = Path(__file__).parents[1] / "data"


def warshall(n, edges):
    """The reflexive closure as an array of booleans."""
    closed = np.eye(n, dtype=bool)
    closed[edges.sources, edges.targets] = True
    for k in range(n):
        closed |= closed[:, k : k + 1] & closed[k]
    return closed


def check(engine, edges, n):
    closed = warshall(n, edges)
    v, w = np.divmod(np.arange(n * n), max(n, 1))
    assert engine.vertices == n
    assert np.array_equal(engine.query(v, w).reshape(n, n), closed)
    down, up = engine.descendants(np.arange(n)), engine.ancestors(np.arange(n))
    assert np.array_equal(np.stack([down.sources, down.targets]), closed.nonzero())
    assert np.array_equal(np.stack([up.targets, up.sources]), closed.T.nonzero())
    assert engine.stats()["pairs"] == closed.sum() - n


numbers = st.integers(0, 6)
edge_sets = st.sets(st.tuples(numbers, numbers), max_size=20)


def as_edges(pairs):
    return Edges.of([v for v, _ in sorted(pairs)], [w for _, w in sorted(pairs)])


@pytest.mark.long
@settings(max_examples=60)
@given(edge_sets, st.lists(st.tuples(edge_sets, edge_sets), max_size=4), st.integers(0, 3))
def test_any_sequence_of_batches(start, batches, growth):
    engine, n, present = Recompute(), 7, set(start)
    engine.init(as_edges(present), n)
    check(engine, as_edges(present), n)
    for inserted, deleted in batches:
        n += growth
        engine.grow(n)
        check(engine, as_edges(present), n)
        engine.apply(as_edges(inserted - present), as_edges(deleted & present - inserted))
        present = (present - deleted) | inserted
        check(engine, as_edges(present), n)


def test_a_new_engine_is_empty():
    engine = Recompute()
    check(engine, Edges.of(), 0)
    engine.grow(3)
    check(engine, Edges.of(), 3)


def test_answers_for_some_vertices_are_sorted_and_without_repetitions():
    engine = Recompute()
    engine.init(Edges.of([3, 1, 2], [1, 0, 0]), 4)
    down, up = engine.descendants([3, 2, 3]), engine.ancestors([1, 0])
    assert (down.sources.tolist(), down.targets.tolist()) == ([2, 2, 3, 3, 3], [0, 2, 0, 1, 3])
    assert (up.sources.tolist(), up.targets.tolist()) == ([0, 1, 2, 3, 1, 3], [0, 0, 0, 0, 1, 1])


@pytest.mark.parametrize("bad", [Edges.of([0], [3]), Edges.of([-1], [0])])
def test_a_refused_batch_leaves_everything_as_it_was(bad):
    engine, edges = Recompute(), Edges.of([0, 1], [1, 2])
    engine.init(edges, 3)
    for operation in (
        lambda: engine.apply(bad, edges),
        lambda: engine.apply(Edges.of(), bad),
        lambda: engine.init(bad, 3),
        lambda: engine.query(bad.sources, bad.targets),
    ):
        with pytest.raises(IndexOutsideError, match="vertex numbers from 0 to 2"):
            operation()
    with pytest.raises(ShapeMismatchError, match="at least 3 vertices"):
        engine.grow(2)
    with pytest.raises(IndexOutsideError, match="from 0 to 2147483647 vertices"):
        engine.init(Edges.of(), 2**31)
    check(engine, edges, 3)


@pytest.mark.parametrize("kind", [Lanes, Recompute])
def test_questions_about_other_vertices_are_refused(kind):
    engine = kind()
    engine.init(Edges.of([0, 1], [1, 2]), 3)
    for sources, targets in (([0, 3], [0, 0]), ([0, 0], [1, -1])):
        with pytest.raises(IndexOutsideError, match="vertex numbers from 0 to 2"):
            engine.query(sources, targets)
    with pytest.raises(ShapeMismatchError, match="as many sources as targets; got 2 and 1"):
        engine.query([0, 1], [2])
    assert engine.query([], []).tolist() == []
    assert engine.query(0, 2).tolist() == [True]


def test_a_component_is_stored_once():
    engine, n = Recompute(), 5000
    engine.init(Edges.of(np.arange(n), (np.arange(n) + 1) % n), n)
    stats = engine.stats()
    assert (stats["pairs"], stats["components"], stats["largest_component"]) == (n * (n - 1), 1, n)
    assert stats["row_bytes"] == 0
    assert stats["bytes"] < 100 * n


def semi_naive(edges, n):
    """All pairs by sparse matrices: what one more edge in front of the newest pairs brings, until it is nothing."""
    a = sp.csr_array((np.ones(len(edges), np.bool_), (edges.sources, edges.targets)), shape=(n, n))
    closed = newest = sp.eye_array(n, dtype=np.bool_, format="csr")
    while newest.nnz:
        found = a @ newest
        newest = (found > closed).tocsr()
        closed = (closed + newest).astype(np.bool_)
    return closed.tocoo()


@pytest.mark.long
def test_real_packages_and_their_real_changes():
    table, changes = (pq.read_table(DATA / f"debian-{name}.parquet") for name in ("depends", "security-changes"))
    names = {}
    number = lambda column: [names.setdefault(name, len(names)) for name in column.to_pylist()]  # noqa: E731
    edges = Edges.of(number(table["src"]), number(table["dst"]))
    n = len(names)
    engine = Recompute()
    engine.init(edges, n)
    assert (n, len(edges), engine.stats()["pairs"]) == (64047, 282432, 3853939)

    op = np.array(changes["op"].to_pylist())
    changed = Edges.of(number(changes["src"]), number(changes["dst"]))
    parts = [Edges(changed.sources[op == kind], changed.targets[op == kind]) for kind in ("insert", "delete")]
    engine.grow(len(names))
    engine.apply(*parts)

    after = EdgeSet.of(edges).replaced(*parts).edges
    slow, fast = semi_naive(after, len(names)), engine.descendants(np.arange(len(names)))
    order = np.lexsort((slow.col, slow.row))
    assert np.array_equal(fast.sources, slow.row[order])
    assert np.array_equal(fast.targets, slow.col[order])
    assert engine.stats()["row_bytes"] / engine.stats()["pairs"] < 1


def test_engines_by_name():
    assert type(registry.create("auto")) is type(registry.create("refresh")) is Lanes
    assert isinstance(registry.create("recompute"), Recompute)
    with pytest.raises(OptionError, match=r"an engine called 'auto', .*'recompute'.*; got 'recompote'\."):
        registry.create("recompote")
