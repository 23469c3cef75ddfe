"""The engine ``lanes``: any digraph, any batch, any width, against a search from every vertex."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.lanes import build as lanes_build
from dyntc_spark.engines.lanes import engine as engine_module
from dyntc_spark.engines.lanes import state as lanes_state
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.lanes.graph import shipped
from dyntc_spark.errors import IndexOutsideError, OptionError, OutgrownError, ShapeMismatchError
from dyntc_spark.kernels.lanes import steps
from tests.engines.lanes_oracle import as_edges, as_pairs, drawing, reached, require_right

NO_EDGES = Edges.of()


def script(seed, width, batches=12, most_looks=None):
    """Play random batches: single changes, mixtures, paths and rings in random order, new vertices."""
    draw = drawing(seed)
    n = draw.randint(1, 30)
    edges = {(draw.randrange(n), draw.randrange(n)) for _ in range(draw.choice([0, n // 2, n, 2 * n]))}
    engine = Lanes(width=width)
    engine.init(as_edges(edges), n)
    if most_looks is not None:
        engine._state.most_looks = most_looks
    before = require_right(engine, edges, n)
    for _ in range(batches):
        if draw.random() < 0.2:
            n += draw.randint(0, 4)
            engine.grow(n)
            before = reached(edges, n)
        inserted = {(draw.randrange(n), draw.randrange(n)) for _ in range(draw.choice([0, 1, 1, 3, 8]))}
        if draw.random() < 0.2:
            walk = draw.sample(range(n), n)
            inserted |= {(walk[k], walk[(k + 1) % n]) for k in range(draw.randint(1, n))}
        deleted = set(draw.sample(sorted(edges), min(len(edges), draw.choice([0, 1, 1, 3, 8]))))
        inserted -= edges
        edges = (edges - deleted) | inserted
        engine.apply(as_edges(inserted), as_edges(deleted))
        before = require_right(engine, edges, n, before)


@pytest.mark.long
@pytest.mark.parametrize("width", range(1, 65))
def test_every_width(width):
    script(seed=width, width=width)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("width", [3, 64])
def test_random_batches(seed, width):
    script(1000 + seed, width)


@pytest.mark.slow  # ten minutes
def test_many_random_batches():
    for seed in range(10_000, 11_000):
        script(seed, drawing(seed).randint(1, 64))


@pytest.mark.parametrize("seed", range(10))
def test_stripes_that_are_built_instead_of_revised(seed):
    script(2000 + seed, width=5, most_looks=2)


@settings(max_examples=60, deadline=None)
@given(
    start=st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40),
    batches=st.lists(
        st.tuples(
            st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=8),
            st.sets(st.integers(0, 39), max_size=8),
        ),
        max_size=4,
    ),
    width=st.integers(1, 12),
)
def test_batches_that_shrink_to_the_smallest_that_fails(start, batches, width):
    engine = Lanes(width=width)
    engine.init(as_edges(start), 12)
    edges, before = set(start), require_right(engine, start, 12)
    for inserted, places in batches:
        known = sorted(edges)
        deleted = {known[place] for place in places if place < len(known)}
        new = inserted - edges
        edges = (edges - deleted) | new
        engine.apply(as_edges(new), as_edges(deleted))
        before = require_right(engine, edges, 12, before)


@pytest.mark.long
@pytest.mark.parametrize("width", [7, 64])
def test_a_giant_component_is_made_and_broken_by_one_edge(width):
    n = 200
    walk = drawing(5).sample(range(n), n)
    path = {(walk[k], walk[k + 1]) for k in range(n - 1)}
    closing = (walk[-1], walk[0])
    engine = Lanes(width=width)
    engine.init(as_edges(path), n)
    before = reached(path, n)
    for _ in range(2):
        engine.apply(as_edges({closing}), NO_EDGES)
        before = require_right(engine, path | {closing}, n, before)
        assert engine.stats()["largest_component"] == n
        engine.apply(NO_EDGES, as_edges({closing}))
        before = require_right(engine, path, n, before)
        assert engine.stats()["components"] == n


@pytest.mark.long
def test_a_path_in_random_order_edge_by_edge():
    n = 60
    walk = drawing(6).sample(range(n), n)
    steps_of_path = [(walk[k], walk[k + 1]) for k in range(n - 1)]
    drawing(7).shuffle(steps_of_path)
    engine = Lanes(width=9)
    engine.init(NO_EDGES, n)
    edges, before = set(), reached((), n)
    for edge in steps_of_path:
        engine.apply(as_edges({edge}), NO_EDGES)
        edges.add(edge)
        before = require_right(engine, edges, n, before)


def test_an_edge_that_many_reach_changes_a_word_for_64_of_them():
    n = 64 * 20 + 2
    hub, far = n - 2, n - 1
    engine = Lanes()
    engine.init(Edges.of(np.arange(n - 2), np.full(n - 2, hub)), n)
    engine.apply(Edges.of([hub], [far]), NO_EDGES)
    stats = engine.stats()
    assert stats["words_changed"] <= 22
    assert len(engine.changes()[0]) == n - 1
    engine.apply(NO_EDGES, Edges.of([hub], [far]))
    assert len(engine.changes()[1]) == n - 1


def test_a_deletion_beside_another_path_looks_at_no_stripe():
    engine = Lanes()
    engine.init(as_edges({(0, 1), (1, 2), (0, 2)}), 3)
    engine.apply(NO_EDGES, as_edges({(0, 2)}))
    assert engine.stats()["words_looked_at"] == 0
    assert engine.query([0], [2]).tolist() == [True]


def test_a_snapshot_answers_as_of_then():
    engine = Lanes(width=4)
    engine.init(as_edges({(0, 1), (1, 2), (2, 0), (2, 3)}), 5)
    snapshot, before = engine.snapshot(), reached({(0, 1), (1, 2), (2, 0), (2, 3)}, 5)
    engine.apply(as_edges({(3, 4)}), as_edges({(1, 2)}))
    assert as_pairs(snapshot.descendants(np.arange(5))) == before
    assert snapshot.stats()["pairs"] == len(before) - 5


def test_a_snapshot_knows_nothing_of_later_batches():
    engine = Lanes(width=4)
    engine.init(as_edges({(0, 1), (1, 2), (2, 0), (2, 3)}), 5)
    snapshot, known = engine.snapshot(), engine.snapshot().stats()
    engine.grow(6)
    engine.apply(as_edges({(3, 4)}), as_edges({(1, 2)}))
    assert snapshot.stats() == known
    assert isinstance(snapshot, Reachability)
    for name in ("edges", "verify", "grow", "init", "apply", "changes"):  # which would be those of the engine
        assert not hasattr(snapshot, name)


def test_a_version_stays_as_it_was():
    engine = Lanes(width=4)
    engine.init(as_edges({(0, 1), (1, 2), (2, 0), (2, 3)}), 5)
    versions = []
    for inserted, deleted in (({(3, 4)}, set()), (set(), {(1, 2)}), ({(4, 0), (0, 2)}, {(2, 3)})):
        versions.append((engine.closure, as_pairs(engine.descendants(np.arange(5)))))
        engine.apply(as_edges(inserted), as_edges(deleted))
    for closure, pairs in versions:
        engine._state.closure = closure
        assert as_pairs(engine.descendants(np.arange(5))) == pairs


@pytest.fixture
def no_room(monkeypatch):
    """Pools without room behind the stripes."""
    for name, value in {"SMALL_ROOM": 0, "LEAST_ROOM": 0, "ENOUGH_ROOM": 10**9}.items():
        monkeypatch.setattr(lanes_build, name, value)


@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize("width", [1, 2, 7, 63, 64])
def test_pools_that_are_always_full(monkeypatch, width):
    """A step stops where its pools are full, and goes on in larger ones."""
    enlarged, calls = lanes_build.Recycled.enlarged, []

    def counted(*call):
        calls.append(call)
        return enlarged(*call)

    monkeypatch.setattr(lanes_build.Recycled, "enlarged", counted)
    for seed in range(6):
        script(3000 + seed, width)
    assert len(calls) > 6


@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize("step", ["lose", "shrink", "grow", "revise", "enlarged"])
def test_a_batch_that_fails_leaves_all_as_it_was(monkeypatch, step):
    edges = {(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)}
    engine = Lanes(width=2)
    engine.init(as_edges(edges), 6)

    def fails(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(lanes_build.Recycled if step == "enlarged" else steps, step, fails)
        with pytest.raises(MemoryError):
            engine.apply(as_edges({(4, 5)}), as_edges({(1, 2)}))
    require_right(engine, edges, 6)
    engine.apply(as_edges({(4, 5)}), as_edges({(1, 2)}))
    require_right(engine, (edges | {(4, 5)}) - {(1, 2)}, 6)


def test_bad_input_changes_nothing():
    engine = Lanes()
    engine.init(as_edges({(0, 1)}), 2)
    with pytest.raises(IndexOutsideError, match="vertex"):
        engine.apply(as_edges({(0, 2)}), NO_EDGES)
    with pytest.raises(ShapeMismatchError):
        engine.grow(1)
    with pytest.raises(IndexOutsideError):
        engine.query([0], [2])
    with pytest.raises(OptionError, match="lanes"):
        Lanes(width=65)
    require_right(engine, {(0, 1)}, 2)


def test_a_closure_above_its_budget_is_refused():
    engine = Lanes()
    engine.budget = 100
    with pytest.raises(OutgrownError, match="100 bytes"):
        engine.init(Edges.of(np.arange(300), np.arange(1, 301)), 301)
    assert engine.vertices == 0


def test_damage_is_found_and_mended():
    n = 50
    edges = {(v, v + 1) for v in range(n - 1)}
    for damage in (0, 2**40):
        engine = Lanes()
        engine.init(as_edges(edges), n)
        stripes = engine.version.stripes
        assert stripes.places[0] >= 0
        stripes.words[stripes.places[0] + 3] ^= np.uint64(damage or 1)
        assert engine.verify().repaired
        require_right(engine, edges, n)


def test_threads_build_what_one_builds(monkeypatch):
    draw = np.random.default_rng(3)
    edges = Edges.of(*np.sort(draw.integers(0, 3000, (2, 6000)), axis=0))
    alone, together = Lanes(), Lanes()
    alone.init(edges, 3000)
    monkeypatch.setattr(lanes_build, "MANY", 1)
    together.init(edges, 3000)
    every = np.arange(3000)
    assert as_pairs(alone.descendants(every)) == as_pairs(together.descendants(every))


def test_components_get_new_numbers_when_entries_have_grown(monkeypatch):
    monkeypatch.setattr(engine_module, "LOOK_AFTER", 1)
    monkeypatch.setattr(engine_module, "MOST_GROWTH", 0)
    monkeypatch.setattr(engine_module, "LEAST_GROWTH", 0)
    engine = Lanes()
    engine.init(as_edges({(v, v + 1) for v in range(99)}), 200)
    built = engine.stats()["rebuilds"]
    draw = drawing(4)
    edges = {(v, v + 1) for v in range(99)}
    for _ in range(20):
        edge = (draw.randrange(200), draw.randrange(200))
        if edge not in edges:
            edges.add(edge)
            engine.apply(as_edges({edge}), NO_EDGES)
    assert engine.stats()["rebuilds"] > built
    require_right(engine, edges, 200)


@pytest.mark.long
def test_sparse_stripes_keep_plain_numbers():
    draw = np.random.default_rng(8)
    sources, targets = np.repeat(np.arange(2000), 6), 2000 + draw.integers(0, 60_000, 12_000)
    engine = Lanes()
    engine.init(Edges.of(sources, targets), 62_000)
    pairs = engine.stats()["pairs"]
    assert engine.stats()["row_bytes"] < 7 * pairs  # entries would take 24
    engine.apply(NO_EDGES, Edges.of(sources[:300], targets[:300]))
    engine.apply(Edges.of(sources[:300], targets[:300]), NO_EDGES)
    assert engine.stats()["pairs"] == pairs
    assert engine.verify().holds
    assert not engine.verify().repaired


def test_an_order_that_is_dear_to_repair_is_given_up():
    """Every edge back into a hub closes a cycle through it: one by one that would take a search of all edges each."""
    n = 5000
    hub, leaves = np.zeros(n, np.int64), np.arange(1, n + 1)
    engine = Lanes()
    engine.init(Edges.of(hub, leaves), n + 2)
    engine.apply(Edges.of(leaves, hub), Edges.of([0], [1]))
    stats = engine.stats()
    assert (stats["rebuilds"], stats["largest_component"], stats["edges"]) == (2, n, 2 * n - 1)
    assert engine.query([1, 2, 0], [5, 1, n + 1]).tolist() == [True, False, False]
    assert engine.verify().holds
    engine.apply(Edges.of([0], [1]), Edges.of())
    assert engine.stats()["largest_component"] == n + 1


@pytest.mark.long
def test_changes_after_a_build_with_other_numbers(monkeypatch):
    """The old stripes are still there to be compared: nothing is built again, and changes are never unknown."""
    monkeypatch.setattr(lanes_state, "MOST_PASSES", 0)
    monkeypatch.setattr(lanes_state, "LEAST_REPAIRS", 1)
    draw, engine, n, rebuilds = drawing(77), Lanes(width=5), 40, 0
    edges = {(draw.randrange(n), draw.randrange(n)) for _ in range(n)}
    engine.init(as_edges(edges), n)
    before = reached(edges, n)
    for _ in range(4):
        inserted = {(draw.randrange(n), draw.randrange(n)) for _ in range(9)} - edges
        deleted = set(draw.sample(sorted(edges), 6))
        edges = (edges - deleted) | inserted
        engine.apply(as_edges(inserted), as_edges(deleted))
        after = reached(edges, n)
        won, lost = engine.changes()
        assert (as_pairs(won), as_pairs(lost)) == (after - before, before - after)
        before, rebuilds = after, rebuilds + (engine._change.made == "other numbers")
    assert rebuilds > 0


def test_a_frozen_graph_stays_as_it_is():
    """Spark Connect pickles a task whenever its blocks are read, also after batches have changed the graph."""
    engine = Lanes()
    engine.init(Edges.of([0, 1, 2], [1, 2, 3]), 5)
    kept = shipped(engine._state.graph), shipped(engine._state.graph).frozen()
    before = [pickle.dumps(each) for each in kept]
    engine.apply(Edges.of([3, 3], [0, 4]), Edges.of([0], [1]))
    assert [pickle.dumps(each) == old for each, old in zip(kept, before, strict=True)] == [False, True]


def test_pools_are_used_again_unless_a_snapshot_holds_them():
    rng, every, pools, held = np.random.default_rng(8), np.arange(120), set(), []
    edges, engine = Edges.of(*rng.integers(0, 120, (2, 150))), Lanes()
    engine.init(edges, 120)
    for _ in range(400):
        part = rng.permutation(150)[:9]
        some = Edges.of(edges.sources[part], edges.targets[part])
        engine.apply(NO_EDGES, some)
        engine.apply(some, NO_EDGES)
        pool = engine.version.stripes.numbers.__array_interface__["data"][0]
        if pool not in pools and len(held) < 2:  # these must not be written again
            held.append((engine.snapshot(), engine.descendants(every).targets))
        pools.add(pool)
        for snapshot, known in held:
            assert np.array_equal(snapshot.descendants(every).targets, known)
    assert 2 < len(pools) < 8
