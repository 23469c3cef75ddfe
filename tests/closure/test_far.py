"""The engines ``recompute`` and ``refresh`` with their rows on Spark, against ``recompute`` in process on all pairs."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.closure import far, stripes
from dyntc_spark.closure.edge_set import keys_of
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from dyntc_spark.errors import DamagedBlockError, IndexOutsideError, OptionError, SessionError
from dyntc_spark.kernels.reach import without
from dyntc_spark.kernels.stripe import Stripe
from tests.closure.refresh_oracle import Pair, alike, as_edges, same_condensation

ENGINES = [Recompute, Refresh]


@pytest.fixture
def backend(spark):
    return SparkBackend(spark)


@pytest.fixture
def small(monkeypatch):
    """Stripes of some rows each, several ranges; rows are read by jobs, and a large overlay is rewritten."""
    monkeypatch.setattr(stripes, "STRIPE_NUMBERS", 50)
    monkeypatch.setattr(stripes, "LEAST_RANGE", 5)
    monkeypatch.setattr(stripes, "MOST_LAYERS", 3)
    without_searches(monkeypatch)
    monkeypatch.setattr(far, "OVERLAY_NUMBERS", 150)
    monkeypatch.setattr(far, "HAND_NUMBERS", 100)  # at most
    monkeypatch.setattr(far, "SEARCHED_COMPONENTS", 0)


def without_searches(monkeypatch):
    monkeypatch.setattr(far, "JOB_STEPS", 0)
    monkeypatch.setattr(far, "STRIPE_STEPS", 0)


class FarPair(Pair):
    def __init__(self, engine, n, edges):
        self.engine, self.twin, self.n = engine, Recompute(), n
        for side in (self.engine, self.twin):
            side.init(edges, n)

    def check(self, about=""):
        everything = np.arange(self.n)
        ours, theirs = self.engine.stats(), self.twin.stats()
        for name in ("vertices", "edges", "pairs", "components", "largest_component"):
            assert ours[name] == theirs[name], f"{about}: {name} {ours[name]}, not {theirs[name]}"
        assert alike(self.engine.edges, self.twin.edges), about
        found, right = (keys_of(side.descendants(everything)) for side in (self.engine, self.twin))
        assert np.array_equal(found, right), (
            f"{about}: too many {without(found, right)}, missing {without(right, found)}"
        )
        assert alike(self.engine.ancestors(everything), self.twin.ancestors(everything)), about
        pairs = np.random.default_rng(self.n).integers(self.n, size=(2, 500))
        assert np.array_equal(self.engine.query(*pairs), self.twin.query(*pairs)), about


def graph(seed, n, density):
    rng = np.random.default_rng(seed)
    return rng, as_edges(rng.integers(n, size=(int(density * n), 2)).tolist())


@pytest.mark.cluster
@pytest.mark.parametrize("density", [0.9, 1.5])
@pytest.mark.usefixtures("small")
def test_batches_with_rows_read_and_rewritten(backend, density):
    rng, edges = graph(7, 61, density)
    pair = FarPair(Refresh(backend, rebuild_share=1), 61, edges)
    pair.check("init")
    for step in range(4):
        pair.grow(step % 3 == 2)
        pair.apply_random(rng, most=2)
        pair.check(f"density {density}, step {step}")
    local = pair.engine.moved(LocalBackend())
    assert same_condensation(local, pair.twin)
    assert pair.engine.stats()["rebuilds"] == 1


def test_batches_with_rows_searched_for(backend):
    for seed in range(2):
        rng, edges = graph(seed, 83, [0.8, 1.2][seed])
        pair = FarPair(Refresh(backend), 83, edges)
        for step in range(25):
            pair.apply_random(rng, most=[1, 3][step % 2])
            pair.check(f"seed {seed}, step {step}")


@pytest.mark.cluster
@pytest.mark.usefixtures("small")
def test_recompute(backend):
    rng, edges = graph(3, 67, 1.3)
    pair = FarPair(Recompute(backend), 67, edges)
    pair.check()
    pair.grow(5)
    pair.check()
    pair.apply_random(rng, most=9)
    pair.check()
    pair.engine.init(Edges.of(), 0)
    assert len(pair.engine.descendants([])) == 0


@pytest.mark.parametrize("by_search", [True, False])
def test_ranges_closed_apart(backend, monkeypatch, by_search):
    """A chain: every range reaches all that is below it; by rows merged from below, and by a search each."""
    monkeypatch.setattr(stripes, "STRIPE_NUMBERS", 200)
    monkeypatch.setattr(stripes, "LEAST_RANGE", 10)
    monkeypatch.setattr(stripes.subgraph, "SEARCH_STEP", 0 if by_search else 10**6)
    pair = FarPair(Recompute(backend), 101, Edges.of(np.arange(100), np.arange(1, 101)))
    pair.check()


def test_jobs_of_a_batch(backend, job_count, monkeypatch):
    monkeypatch.setattr(stripes, "STRIPE_NUMBERS", 300)
    rng, edges = graph(5, 201, 1.1)
    pair = FarPair(Refresh(backend), 201, edges)

    def jobs():
        with backend.jobs.watch() as told, job_count() as counted:
            pair.apply_random(rng, most=3)
        assert counted.started == len(told)
        return told

    assert [jobs() for _ in range(5)] == [[]] * 5  # a search costs less than a job
    without_searches(monkeypatch)
    for _ in range(5):
        pair.engine._tidy()
        pair.engine.state._drop()
        assert jobs() in ([], ["read rows"])
    monkeypatch.setattr(far, "OVERLAY_NUMBERS", 0)
    found = []
    for _ in range(5):
        found.append(jobs())
        assert found[-1] in (["rewrite stripes"], ["rewrite stripes", "read rows"])
    assert ["rewrite stripes", "read rows"] in found
    pair.check()


def test_jobs_of_questions(backend, job_count, monkeypatch):
    _, edges = graph(5, 201, 1.3)
    engine = Refresh(backend)
    with job_count() as counted:
        engine.init(edges, 201)
    assert counted.started == 1
    without_searches(monkeypatch)
    for ask in (
        lambda: engine.query(np.arange(201), np.arange(201)[::-1]),
        lambda: engine.ancestors(np.arange(201)),
        lambda: engine.descendants(np.arange(201)),
    ):
        with job_count() as counted:
            ask()
        assert counted.started <= 1
    with job_count() as counted:
        engine.moved(LocalBackend()).moved(backend)
    assert counted.started <= 2


@pytest.mark.cluster
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.usefixtures("small")
def test_moved_there_and_back(backend, engine):
    rng, edges = graph(9, 77, 1.2)
    pair = FarPair(engine(), 77, edges)
    for step in range(4):
        pair.engine = pair.engine.moved(backend if step % 2 == 0 else LocalBackend())
        assert pair.engine.backend == ["spark", "local"][step % 2]
        assert pair.engine.moved(backend if step % 2 == 0 else LocalBackend()) is pair.engine
        pair.check(f"step {step}")
        pair.grow(2)
        pair.apply_random(rng, most=3)
        pair.check(f"step {step}, after a batch")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_rows_and_the_blocks(spark, backend, engine, monkeypatch):
    monkeypatch.setattr(stripes, "STRIPE_NUMBERS", 100)
    rng, edges = graph(4, 71, 1.4)
    local, there = engine(), engine(backend)
    for side in (local, there):
        side.init(edges, 71)
    assert local.rows(spark) is None
    for _ in range(2):
        down = local.descendants(np.arange(71))
        rows = {row.number: list(row.reached) for row in there.rows(spark).collect()}
        assert rows == {v: down.targets[down.sources == v].tolist() for v in range(71)}
        for side in (local, there):
            found = side.blocks(spark).collect()
            stored = {row.bi: Stripe.decode(row.payload) for row in found if row.matrix == "rows"}
            assert sorted(stored) == list(range(len(stored)))
            assert all(row.nnz == len(Stripe.decode(row.payload).heads) for row in found)
            assert all(row.bytes == len(row.payload) for row in found)
            assert len([row for row in found if row.matrix == "members"]) >= 1
        ends = rng.integers(71, size=(2, 2))
        for side in (local, there):
            side.apply(Edges.of(*ends), Edges.of())


def test_a_giant_component_is_born_and_breaks(backend, monkeypatch):
    n = 300
    pair = FarPair(Refresh(backend), n + 3, Edges.of(np.arange(n - 1), np.arange(1, n)))
    for room in (far.BATCH_NUMBERS, 100):  # rows rebuilt here, and the closure rebuilt on Spark
        pair.engine.state.room = room
        monkeypatch.setattr(far, "BATCH_NUMBERS", room)
        pair.apply(Edges.of([n - 1], [0]), Edges.of())
        pair.check()
        assert pair.engine.stats()["largest_component"] == n
        pair.apply(Edges.of([n], [5]), Edges.of([n - 1], [0]))
        pair.check()
        assert pair.engine.stats()["largest_component"] == 1
        pair.apply(Edges.of(), Edges.of([n], [5]))


def insert_until_it_fails(pair, rng):
    for _ in range(20):
        ends = rng.integers(90, size=(2, 2))
        pair.engine.apply(Edges.of(*ends), Edges.of())
        pair.twin.apply(Edges.of(*ends), Edges.of())


def test_a_batch_that_fails_leaves_everything_as_it_was(backend, monkeypatch):
    rng, edges = graph(6, 90, 1.2)
    pair = FarPair(Refresh(backend, rebuild_share=1), 90, edges)
    without_searches(monkeypatch)
    for name in ("read", "rewritten"):
        with monkeypatch.context() as patch:
            patch.setattr(far, "OVERLAY_NUMBERS", 0 if name == "rewritten" else far.OVERLAY_NUMBERS)
            patch.setattr(stripes.Stripes, name, Mock(side_effect=SessionError("a", "b", "c")))
            with pytest.raises(SessionError):
                insert_until_it_fails(pair, rng)
        pair.check()
    with pytest.raises(IndexOutsideError):
        pair.engine.apply(Edges.of([90], [0]), Edges.of())
    pair.apply_random(rng, most=3)
    pair.check()


def test_a_damaged_stripe_is_refused(backend, monkeypatch):
    without_searches(monkeypatch)
    _, edges = graph(6, 90, 1.2)
    engine = Refresh(backend)
    engine.init(edges, 90)
    held = engine.state.stripes
    (layer,) = held.layers
    kept = layer.kept.derived(layer.kept.frame.selectExpr("first", "overlay(payload PLACING X'FF' FROM 40) payload"))
    engine.state.stripes = stripes.Stripes(backend, (stripes.Layer(kept, layer.firsts),), held.lengths)
    with pytest.raises(DamagedBlockError, match="checksum"):
        engine.query(np.arange(90), np.arange(90))


def test_edges_that_do_not_fit_the_driver(spark, backend):
    edges = as_edges([(0, 1), (1, 2), (2, 0), (2, 3), (4, 5), (5, 5), (6, 1), (3, 7)])
    engine, twin = Recompute(backend, driver_edges=5), Recompute()
    for side in (engine, twin):
        side.init(edges, 8)
        side.grow(9)
        side.apply(Edges.of([8, 3], [1, 4]), Edges(edges.sources[:1], edges.targets[:1]))
    everything, (rows, columns) = np.arange(9), np.divmod(np.arange(81), 9)
    assert alike(engine.edges, twin.edges)
    assert alike(engine.descendants(everything), twin.descendants(everything))
    assert alike(engine.ancestors(everything[3:7]), twin.ancestors(everything[3:7]))
    assert np.array_equal(engine.query(rows, columns), twin.query(rows, columns))
    assert engine.stats()["pairs"] == twin.stats()["pairs"]
    down = twin.descendants(everything)
    found = {row.number: list(row.reached) for row in engine.rows(spark).collect()}
    assert found == {v: down.targets[down.sources == v].tolist() for v in range(9)}
    with pytest.raises(OptionError, match="edges that fit the driver"):
        engine.moved(LocalBackend())


@pytest.mark.parametrize("limit", [pytest.param(5, marks=pytest.mark.slow), 500])
def test_edges_that_are_on_spark(spark, backend, limit):
    _, edges = graph(2, 23, 1)
    engine, twin = Recompute(backend, driver_edges=limit), Recompute()
    twin.init(edges, 23)
    frame = spark.createDataFrame(
        list(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True)), "source int, target int"
    )
    engine.init_frame(frame, 23)
    assert alike(engine.descendants(np.arange(23)), twin.descendants(np.arange(23)))
    with pytest.raises(OptionError, match="the backend 'spark'"):
        twin.init_frame(frame, 23)


@pytest.mark.parametrize(("engine", "on_spark"), [(Refresh, False), (Refresh, True), (Recompute, False)])
def test_damage_is_found_and_repaired(backend, engine, on_spark):
    rng, edges = graph(11, 60, 1.3)
    pair = FarPair(engine(backend if on_spark else None), 60, edges)
    pair.apply_random(rng, most=3)
    certificate = pair.engine.verify()
    assert (certificate.rows, certificate.holds, certificate.repaired) == (60, True, False)
    # an edge that the rows know nothing of
    down = np.bincount(pair.twin.descendants(np.arange(60)).sources)
    tail, head = int(down.argmin()), int(down.argmax())
    wrong = engine(backend if on_spark else None)
    wrong.init(edges, 60)
    other = Recompute()
    other.init(Edges(np.append(edges.sources, tail), np.append(edges.targets, head)), 60)
    if engine is Refresh:
        state = wrong.state
        tails, _ = state.out.revise(keys_of(Edges.of([tail], [head])), np.zeros(0, np.int64))
        heads, _ = state.into.revise(keys_of(Edges.of([head], [tail])), np.zeros(0, np.int64))
        for held, (which, starts, lengths) in ((state.out.rows, tails), (state.into.rows, heads)):
            held.starts[which], held.lengths[which] = starts, lengths
    else:
        wrong._edges = other._edges
    certificate = wrong.verify()
    assert (certificate.holds, certificate.repaired) == (True, True)
    assert len(certificate.missing) > 0
    assert alike(wrong.descendants(np.arange(60)), other.descendants(np.arange(60)))
