"""The choice among engines and backends: what it chooses, why, and that answers stay right while it changes."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.closure import auto, calibrate, choose
from dyntc_spark.closure.algebraic import Algebraic
from dyntc_spark.closure.auto import Auto, Where
from dyntc_spark.closure.costs import Costs, Load
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.path_counting import PathCounting
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from dyntc_spark.errors import OptionError, OutgrownError, SessionError
from tests.closure.refresh_oracle import alike, as_edges

NONE = Edges.of()


def same(engine, twin):
    everything = np.arange(twin.vertices)
    return (
        alike(engine.edges, twin.edges)
        and alike(engine.descendants(everything), twin.descendants(everything))
        and alike(engine.ancestors(everything), twin.ancestors(everything))
        and engine.stats()["pairs"] == twin.stats()["pairs"]
    )


@pytest.fixture
def long_batches(monkeypatch):
    """Let every batch take a second, so that estimates alone decide."""
    monkeypatch.setattr(auto, "time", SimpleNamespace(perf_counter=itertools.count().__next__))


def chain(n):
    return Edges.of(np.arange(n - 1), np.arange(1, n))


@pytest.mark.usefixtures("long_batches")
def test_refresh_gives_way_to_recompute_and_comes_back(caplog):
    """A hub that all others lead to: a batch there affects everything, one elsewhere next to nothing."""
    n = 20_000
    hub, end, others = n - 2, n - 1, np.arange(n - 2)
    start = Edges.of(np.append(others, hub), np.append(np.full(n - 2, hub), end))
    engine, twin = Auto((Refresh, Recompute), Where("local", lambda: None, choose.BUDGET)), Recompute()
    for side in (engine, twin):
        side.init(start, n)
    assert engine.stats()["chosen"] == "refresh"

    def toggle(edge, times):
        for k in range(times):
            for side in (engine, twin):
                side.apply(*((NONE, edge) if k % 2 == 0 else (edge, NONE)))

    with caplog.at_level(logging.INFO, "dyntc_spark.closure.auto"):
        toggle(Edges.of([hub], [end]), 8)
        assert engine.current.name == "recompute"
        assert same(engine, twin)
        assert "would take" in engine.stats()["because"]
        assert "Engine recompute, backend local: a batch of 1 changes that affects" in caplog.text
        toggle(Edges.of([7], [hub]), 40)
        assert engine.current.name == "refresh"
    assert same(engine, twin)
    assert engine.stats()["switches"] == 2


@pytest.mark.usefixtures("long_batches")
def test_algebraic_takes_over_while_many_rows_change_in_few_pairs():
    """A chain gets one more vertex at its end, and loses it: every row changes, by one pair; then its start does."""
    n = 1500
    engine, twin = choose.create("auto"), Recompute()
    for side in (engine, twin):
        side.init(chain(n - 1), n)
    seen = []
    for edge, times in ((Edges.of([n - 2], [n - 1]), 9), (Edges.of([0], [1]), 40)):
        for _ in range(times):
            change = (NONE, edge) if twin.query(edge.sources, edge.targets)[0] else (edge, NONE)
            for side in (engine, twin):
                side.apply(*change)
        seen.append(engine.current.name)
        everything = np.arange(n)
        assert alike(engine.descendants(everything), twin.descendants(everything))
        assert alike(engine.ancestors(everything), twin.ancestors(everything))
    assert seen == ["algebraic", "refresh"]


@pytest.mark.usefixtures("long_batches")
def test_a_large_batch_leaves_an_engine_that_is_good_at_small_ones():
    """A chain gets and loses its last vertex until `algebraic` takes over; then many edges come at once."""
    n = 1500
    engine = choose.create("auto")
    engine.init(chain(n - 1), n)
    last = Edges.of([n - 2], [n - 1])
    for k in range(9):
        engine.apply(*((last, NONE) if k % 2 == 0 else (NONE, last)))
    assert engine.current.name == "algebraic"
    many = Edges.of(np.arange(0, n - 700), np.arange(700, n))
    engine.apply(many, NONE)
    assert engine.current.name == "refresh"
    assert "a batch of 800 changes would take" in engine.stats()["because"]
    twin = Recompute()
    twin.init(engine.edges, n)
    assert same(engine, twin)


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.data())
def test_any_switch_keeps_the_state(seed, data):
    rng = np.random.default_rng(seed)
    n = 20
    engine, twin = Refresh(), Recompute()
    edges = as_edges(rng.integers(n, size=(30, 2)).tolist())
    for side in (engine, twin):
        side.init(edges, n)
    for _ in range(6):
        kind = data.draw(st.sampled_from([Refresh, Recompute]))
        engine = kind.adopting(engine, None)
        n += 1
        ends = rng.integers(n, size=(2, 2))
        gone = rng.permutation(len(twin.edges))[:2]
        batch = Edges.of(*ends), Edges(twin.edges.sources[gone], twin.edges.targets[gone])
        for side in (engine, twin):
            side.grow(n)
            side.apply(*batch)
        assert same(engine, twin)


def test_estimates_order_the_engines_as_they_are():
    costs = Costs()
    few = Load(10**6, 4 * 10**6, 6 * 10**7, changes=10, affected=50, changed=40)
    many = Load(10**6, 4 * 10**6, 6 * 10**7, changes=10, affected=9 * 10**5, changed=9 * 10**5)
    assert Refresh.seconds(few, costs) < Recompute.seconds(few, costs) / 100
    assert Refresh.seconds(many, costs) > Recompute.seconds(many, costs)
    assert Algebraic.seconds(replace(many, below=1), costs) < Recompute.seconds(many, costs)
    assert Algebraic.seconds(replace(many, below=500), costs) > Recompute.seconds(many, costs)
    assert Algebraic.seconds(few, costs) > Refresh.seconds(few, costs)
    assert PathCounting.seconds(few, costs) is None or PathCounting.seconds(few, costs) > 0
    assert few.density == 6e-5
    seen = few.after(many, counted=False)
    assert (seen.affected, seen.changes) == (40, 10)
    assert few.after(many, counted=True).affected == pytest.approx(0.7 * 50 + 0.3 * 9e5)


def test_calibration_finds_positive_times():
    costs = calibrate.measure(scale=0.02)
    assert 0 < costs.entry < 1e-5
    assert costs.edge + costs.number > 0
    assert costs.batch + costs.change + costs.affected + costs.rebuilt > 0
    assert costs.job == Costs().job


def test_engines_decide_by_the_costs_of_the_machine():
    """Where a changed edge takes longer than a build, nobody looks for what it affects."""
    n = 400
    for change, builds in ((1e-6, 1), (1.0, 3)):
        engine = choose.create("auto", "local", costs=Costs(change=change))
        engine.init(chain(n), n)
        engine.apply(NONE, Edges.of([0], [1]))
        engine.apply(Edges.of([0], [1]), NONE)
        assert engine.stats()["rebuilds"] == builds


def test_a_start_that_outgrows_its_budget_in_process():
    engine = Refresh()
    engine.budget = 10_000
    with pytest.raises(OutgrownError, match="a closure of at most 10000 bytes in this process"):
        engine.init(chain(200), 200)
    assert engine.vertices == 0
    engine.init(chain(40), 40)


@pytest.mark.parametrize("name", ["auto", "refresh", "recompute"])
def test_the_state_moves_to_spark_and_back(spark, name, caplog):
    backend = SparkBackend(spark)
    engine, twin = choose.create(name, backend="auto", spark=backend, budget=60_000), Recompute()
    for side in (engine, twin):
        side.init(chain(60), 200)
    assert engine.backend == "local"
    with caplog.at_level(logging.INFO, "dyntc_spark.closure.auto"):
        grown = Edges.of(np.arange(59, 199), np.arange(60, 200))
        for side in (engine, twin):
            side.apply(grown, NONE)  # 20,000 pairs
        assert (engine.backend, engine.stats()["moves"]) == ("spark", 1)
        assert same(engine, twin)
        assert "budget" in caplog.text
        for side in (engine, twin):
            side.apply(NONE, Edges.of(np.arange(20, 199), np.arange(21, 200)))
    assert engine.backend == ("local" if engine.stats()["bytes"] < 60_000 else "spark")
    assert engine.stats()["moves"] == 2
    assert same(engine, twin)
    for side in (engine, twin):
        side.init(chain(200), 200)
    assert engine.backend == "spark"
    assert same(engine, twin)
    for side in (engine, twin):
        side.init(chain(5), 5)
    assert engine.backend == "local"


def test_a_move_that_fails_leaves_the_state(caplog):
    engine = choose.create("refresh", backend="auto", spark=None, budget=5000)

    def fails():
        raise SessionError("Spark", "none", "Start it.")

    engine._where = Where("auto", fails, 20_000)
    engine._engine.budget = None
    engine.init(chain(100), 100)
    assert engine.backend == "local"
    assert engine.query([0], [99]).all()
    assert "The state stays" in caplog.text


def test_by_name(spark):
    assert isinstance(choose.create("auto"), Auto)
    assert choose.create("auto").current.name == "refresh"
    assert choose.create("refresh", backend="spark", spark=spark).backend == "spark"
    assert choose.create("auto", backend="spark", spark=spark).backend == "spark"
    moved = choose.create("auto", backend="spark", spark=spark).moved(LocalBackend())
    assert moved.backend == "local"
    for wrong in (("recompote",), ("refresh", "gpu"), ("refresh", "auto", None, -1)):
        with pytest.raises(OptionError):
            choose.create(*wrong)
