"""Where a state is: in this process while it fits the budget, else on Spark; and which engine ``auto`` is."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.closure import choose
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.placed import Placed
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


def chain(n):
    return Edges.of(np.arange(n - 1), np.arange(1, n))


@pytest.mark.parametrize("backend", ["auto", "local"])
def test_auto_never_leaves_refresh(backend):
    """A chain gets and loses its last vertex: every row changes, by one pair; `algebraic` is cheaper for that."""
    n = 3000
    engine = choose.create("auto", backend)
    engine.init(chain(n - 1), n)
    last = Edges.of([n - 2], [n - 1])
    for k in range(6):
        engine.apply(*((last, NONE) if k % 2 == 0 else (NONE, last)))
        assert isinstance(engine.current, Refresh)


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.data())
def test_an_engine_takes_the_rows_of_another(seed, data):
    rng = np.random.default_rng(seed)
    n = 20
    engine, twin = Refresh(), Recompute()
    edges = as_edges(rng.integers(n, size=(30, 2)).tolist())
    for side in (engine, twin):
        side.init(edges, n)
    for _ in range(6):
        other = data.draw(st.sampled_from([Refresh, Recompute]))()
        assert other.take(engine.state)
        engine = other
        n += 1
        ends = rng.integers(n, size=(2, 2))
        gone = rng.permutation(len(twin.edges))[:2]
        batch = Edges.of(*ends), Edges(twin.edges.sources[gone], twin.edges.targets[gone])
        for side in (engine, twin):
            side.grow(n)
            side.apply(*batch)
        assert same(engine, twin)


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
    with caplog.at_level(logging.INFO, "dyntc_spark.closure.placed"):
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
    def fails():
        raise SessionError("Spark", "none", "Start it.")

    engine = Placed(Refresh, fails, 20_000)
    engine.current.budget = None  # let the build go through, so that the state moves after it
    engine.init(chain(100), 100)
    assert engine.backend == "local"
    assert engine.query([0], [99]).all()
    assert "The state of refresh stays where it is (local)" in caplog.text


def test_by_name(spark):
    assert isinstance(choose.create("auto"), Refresh)
    assert choose.create("auto", "auto").current.name == "refresh"
    assert choose.create("refresh", backend="spark", spark=spark).backend == "spark"
    assert choose.create("auto", backend="spark", spark=spark).backend == "spark"


def test_a_state_that_was_moved_by_hand_stays():
    """Neither the next batch nor the next build takes it elsewhere, whatever its size."""
    engine = choose.create("auto", "auto", budget=2000).moved(LocalBackend())
    engine.init(chain(100), 100)
    engine.apply(NONE, Edges.of([0], [1]))
    assert engine.backend == "local"


def test_options_by_wrong_names():
    for wrong in (("recompote",), ("refresh", "gpu"), ("refresh", "auto", None, -1)):
        with pytest.raises(OptionError):
            choose.create(*wrong)
