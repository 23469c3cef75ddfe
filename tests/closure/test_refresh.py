"""The engine ``refresh`` against ``recompute`` on all pairs: batches of every kind, failures, memory, statistics."""

from __future__ import annotations

import itertools
from unittest.mock import DEFAULT, Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.closure import choose, condensed
from dyntc_spark.closure.edge_set import edges_of, keys_of
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from dyntc_spark.errors import IndexOutsideError, OptionError, ShapeMismatchError
from dyntc_spark.kernels.reach import without
from tests.closure.refresh_oracle import Pair, as_edges, sound

numbers = st.integers(0, 7)
edge_sets = st.sets(st.tuples(numbers, numbers), max_size=24)
batches = st.lists(st.tuples(edge_sets, edge_sets, st.integers(0, 2)), max_size=6)


@settings(max_examples=150)
@given(edge_sets, batches, st.sampled_from([0, 0.5, 1]))
def test_any_sequence_of_batches(start, script, share):
    pair = Pair(8, as_edges(start), share)
    for inserted, deleted, growth in script:
        pair.grow(growth)
        pair.apply(as_edges(inserted), as_edges(deleted))
        pair.check()


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_batches(count):
    """Sparse and dense graphs, and those where components are born and broken all the time."""
    done = 0
    for seed in itertools.count():
        rng = np.random.default_rng(seed)
        n, density = int(rng.integers(2, 40)), rng.uniform(0.2, 2.5)
        pair = Pair(n, as_edges(rng.integers(n, size=(int(density * n), 2)).tolist()), [1, 0.5][seed % 5 == 0])
        for _ in range(100):
            pair.apply_random(rng, most=int(rng.choice([1, 1, 2, 5, n])))
            pair.check(f"seed {seed}")
            done += 1
        if done == count:
            return


def test_batches_in_which_little_is_affected(monkeypatch):
    """Pools that are compacted all the time, and marks that run out."""
    monkeypatch.setattr(condensed, "GARBAGE_LEAST", 0)
    monkeypatch.setattr(condensed, "_LAST_MARK", 2000)
    rng = np.random.default_rng(1)
    n = 300
    pair = Pair(n, as_edges(np.sort(rng.integers(n, size=(500, 2))).tolist()), 0.7)
    for step in range(300):
        pair.grow(step % 7 == 0)
        pair.apply_random(rng, most=2)
        pair.check()
    assert pair.engine.stats()["compactions"] > 10
    assert pair.engine.stats()["rebuilds"] < 20


def test_a_giant_component_is_born_grows_and_breaks():
    n = 400
    chain = Edges.of(np.arange(n - 1), np.arange(1, n))
    pair = Pair(n + 50, chain, 1)
    for inserted, deleted, largest in (
        ([(n - 1, 0)], [], n),
        ([(n - 1, n), (n, n + 1), (n + 2, 0)], [], n),  # something behind it, something before it
        ([(n + 1, n + 2)], [], n + 3),
        ([], [(n // 2, n // 2 + 1)], 1),
        ([(n // 2, n // 2 + 1), (n // 2, n - 1)], [], n + 3),
        ([], [(n // 2, n // 2 + 1)], n // 2 + 5),
        ([(0, n // 2)], [(10, 11), (n + 1, n + 2)], 3),
    ):
        pair.apply(as_edges(inserted), as_edges(deleted))
        pair.check()
        assert pair.engine.stats()["largest_component"] == largest
    assert pair.engine.stats()["rebuilds"] == 1


@pytest.mark.parametrize(
    ("inserted", "deleted"),
    [
        ([(0, 3)], []),  # along a path
        ([], [(0, 2)]),  # 1 still leads there
        ([], [(4, 6)]),  # the component holds together
        ([(4, 4)], []),
        ([(3, 5)], [(3, 4)]),  # both at once, and another edge into the component: row 3 is built, none before it
    ],
)
def test_changes_that_change_no_row_stop_where_they_are(inserted, deleted):
    #: 0 → 1 → 2 → 3 → the component 4, 5, 6, which has two ways round; 0 → 2
    edges = [(0, 1), (1, 2), (2, 3), (0, 2), (3, 4), (4, 5), (5, 6), (6, 4), (4, 6)]
    pair = Pair(20, as_edges(edges), 1)
    pair.apply(as_edges(inserted), as_edges(deleted))
    pair.check()
    assert pair.engine.stats()["changed"] == 0


def test_only_rows_that_differ_are_changed():
    pair = Pair(10, as_edges([(0, 1), (1, 2), (3, 1), (3, 4), (4, 5)]), 1)
    pair.apply(as_edges([(2, 5)]), as_edges([]))
    stats = pair.engine.stats()
    assert (stats["affected"], stats["changed"]) == (4, 3)  # 3 reached 5 before
    assert [len(side) for side in pair.engine.changes()] == [3, 0]


def test_repeated_and_redundant_changes_are_taken_as_sets():
    engine, twin = Refresh(rebuild_share=1), Recompute()
    for side in (engine, twin):
        side.init(Edges.of([0, 1], [1, 2]), 4)
        side.apply(Edges.of([0, 2, 2, 1], [1, 3, 3, 2]), Edges.of([1, 3], [2, 0]))
    assert sound(engine, twin)


KERNELS = [
    (condensed.pool, "revised"),
    (condensed.refresh, "decisive_tails"),
    (condensed.refresh, "gathered"),
    (condensed.refresh, "broken"),
    (condensed.refresh, "ancestors"),
    (condensed.refresh, "located"),
    (condensed.refresh, "induced"),
    (condensed.refresh, "kept_numbers"),
    (condensed.refresh_rows, "rebuild"),
    (condensed.refresh_rows, "commit"),
    (condensed.reach, "strong_components"),
    (condensed.reach, "grouped"),
]


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize(("module", "kernel"), KERNELS, ids=[name for _, name in KERNELS])
def test_a_batch_that_fails_anywhere_leaves_everything_as_it_was(monkeypatch, module, kernel, after):
    """A kernel fails before it does anything, or is interrupted when it has done its work (a commit is done then)."""
    edges = as_edges([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (5, 0)])
    batch = as_edges([(4, 5), (3, 6)]), as_edges([(1, 2), (2, 3)])
    pair = Pair(8, edges, 1)
    real, calls = getattr(module, kernel), []

    def failing(*operands):
        calls.append(kernel)
        if after:
            real(*operands)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, kernel, failing)
        with pytest.raises(KeyboardInterrupt):
            pair.engine.apply(*batch)
    assert calls
    if kernel == "commit" and after:
        pair.twin.apply(*batch)
    assert sound(pair.engine, pair.twin)
    pair.engine.apply(*batch)
    pair.twin.apply(*batch)
    assert sound(pair.engine, pair.twin)


def test_memory_that_runs_out_while_a_pool_grows(monkeypatch):
    pair = Pair(8, as_edges([(0, 1), (1, 2), (2, 3), (4, 0)]), 1)
    inserted = as_edges([(3, 5), (5, 6)])

    def full(*_operands):
        raise MemoryError

    for held in ("out", "into", "rows"):
        with monkeypatch.context() as patch:
            patch.setattr(getattr(pair.engine.state, held), "reserve", full)
            with pytest.raises(MemoryError):
                pair.engine.apply(inserted, Edges.of())
        assert sound(pair.engine, pair.twin)
    for succeeding in range(9):
        steps = Mock(side_effect=[DEFAULT] * succeeding + [MemoryError], wraps=condensed._resize)
        with monkeypatch.context() as patch:
            patch.setattr(condensed, "_resize", steps)
            with pytest.raises(MemoryError):
                pair.engine.grow(11 + 3 * succeeding)
        assert sound(pair.engine, pair.twin)
    pair.grow(3)
    pair.apply(inserted, Edges.of())
    pair.check()


@pytest.mark.parametrize("bad", [Edges.of([0], [3]), Edges.of([-1], [0])])
def test_a_refused_batch_leaves_everything_as_it_was(bad):
    pair = Pair(3, as_edges([(0, 1), (1, 2)]), 1)
    engine = pair.engine
    for operation in (
        lambda: engine.apply(bad, Edges.of()),
        lambda: engine.apply(Edges.of(), bad),
        lambda: engine.init(bad, 3),
        lambda: engine.query(bad.sources, bad.targets),
    ):
        with pytest.raises(IndexOutsideError, match="vertex numbers from 0 to 2"):
            operation()
    with pytest.raises(ShapeMismatchError, match="at least 3 vertices"):
        engine.grow(2)
    with pytest.raises(IndexOutsideError, match="from 0 to 2147483647 vertices"):
        engine.grow(2**31)
    with pytest.raises(OptionError, match="a share of the vertices from 0 to 1"):
        Refresh(rebuild_share=2)
    pair.check()


def test_memory_is_some_bytes_a_pair_and_stays_so():
    rng, n = np.random.default_rng(3), 3001
    pair = Pair(n, Edges.of(np.arange(n - 1), np.arange(1, n)), 1)
    assert pair.engine.stats()["bytes"] / pair.engine.stats()["pairs"] < 4.2
    for _ in range(30):
        v = rng.integers(n - 2)
        pair.apply(Edges.of([v], [v + 2]), Edges.of([v], [v + 1]))
        pair.apply(Edges.of([v], [v + 1]), Edges.of([v], [v + 2]))
    assert pair.engine.stats()["bytes"] / pair.engine.stats()["pairs"] < 5.2
    pair.check()


def test_a_component_is_stored_once():
    engine, n = Refresh(), 5000
    engine.init(Edges.of(np.arange(n), (np.arange(n) + 1) % n), n)
    stats = engine.stats()
    assert (stats["pairs"], stats["components"], stats["largest_component"]) == (n * (n - 1), 1, n)
    assert stats["bytes"] < 60 * n


def test_changes_are_the_pairs_that_differ():
    rng = np.random.default_rng(5)
    pair = Pair(30, as_edges(rng.integers(30, size=(40, 2)).tolist()), 1)
    assert pair.engine.changes() is None
    for _ in range(200):
        were = keys_of(pair.twin.descendants(np.arange(pair.n)))
        pair.apply_random(rng, most=3)
        are = keys_of(pair.twin.descendants(np.arange(pair.n)))
        for found, keys in zip(pair.engine.changes(), (without(are, were), without(were, are)), strict=True):
            assert np.array_equal(keys_of(found), keys_of(edges_of(keys)))
    pair.grow(1)
    assert pair.engine.changes() is None


def test_by_name():
    assert isinstance(choose.create("refresh"), Refresh)
    assert isinstance(choose.create("auto"), Refresh)
