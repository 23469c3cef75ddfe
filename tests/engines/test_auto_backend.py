"""Where a state is: in this process while it fits the budget, else on Spark; and which engine ``auto`` is."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines import registry
from dyntc_spark.engines.auto_backend import AutoBackend
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.errors import OptionError, OutgrownError, SessionError
from tests.engines.lanes_oracle import alike

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


def scattered(n, seed=1):
    """Return ten random edges from each vertex of the first half to the second: nothing that runs of words shorten."""
    rng, sources = np.random.default_rng(seed), np.repeat(np.arange(n // 2), 10)
    keys = np.unique(sources * n + n // 2 + rng.integers(0, n // 2, len(sources)))
    return Edges.of(*np.divmod(keys, n))


@pytest.mark.long
@pytest.mark.parametrize("backend", ["auto", "local"])
def test_auto_never_leaves_lanes(backend):
    """A chain gets and loses its last vertex: every row changes, by one pair."""
    n = 3000
    engine = registry.create("auto", backend)
    engine.init(chain(n - 1), n)
    last = Edges.of([n - 2], [n - 1])
    for k in range(6):
        engine.apply(*((last, NONE) if k % 2 == 0 else (NONE, last)))
        assert type(engine.current) is Lanes


def test_a_start_that_outgrows_its_budget_in_process():
    engine = Lanes()
    engine.budget = 4000
    with pytest.raises(OutgrownError, match="a closure of at most 4000 bytes in this process"):
        engine.init(scattered(400), 400)
    assert engine.vertices == 0
    engine.init(scattered(40), 40)


@pytest.mark.parametrize("name", ["auto", "recompute"])
def test_the_state_moves_to_spark_and_back(spark, name, caplog):
    backend = SparkBackend(spark)
    engine, twin = registry.create(name, backend="auto", spark=backend, budget=5000), Recompute()
    more = EdgeSet.of(scattered(400)).minus(EdgeSet.of(scattered(40)))
    for side in (engine, twin):
        side.init(scattered(40), 400)
    assert engine.backend == "local"
    with caplog.at_level(logging.INFO, "dyntc_spark.engines.auto_backend"):
        for side in (engine, twin):
            side.apply(more, NONE)
        assert (engine.backend, engine.stats()["moves"]) == ("spark", 1)
        assert same(engine, twin)
        assert "budget" in caplog.text
        for side in (engine, twin):
            side.apply(NONE, more)
    assert (engine.backend, engine.stats()["moves"]) == ("local", 2)
    assert same(engine, twin)
    for side in (engine, twin):
        side.init(scattered(400), 400)
    assert engine.backend == "spark"
    assert same(engine, twin)
    for side in (engine, twin):
        side.init(chain(5), 5)
    assert engine.backend == "local"


def test_a_move_that_fails_leaves_the_state(caplog):
    def fails():
        raise SessionError("Spark", "none", "Start it.")

    engine, edges = AutoBackend(Lanes, fails, 4000), scattered(400)
    engine.current.budget = None  # let the build go through, so that the state moves after it
    engine.init(edges, 400)
    assert engine.backend == "local"
    assert engine.query(edges.sources, edges.targets).all()
    assert "The state of lanes stays where it is (local)" in caplog.text


def test_by_name(spark):
    assert type(registry.create("auto")) is Lanes
    assert registry.create("auto", "auto").current.name == "lanes"
    assert registry.create("refresh", backend="spark", spark=spark).backend == "spark"
    assert registry.create("auto", backend="spark", spark=spark).backend == "spark"


def test_a_state_that_was_moved_by_hand_stays():
    """Neither the next batch nor the next build takes it elsewhere, whatever its size."""
    engine, edges = registry.create("auto", "auto", budget=2000).moved(LocalBackend()), scattered(400)
    engine.init(edges, 400)
    engine.apply(NONE, Edges.of(edges.sources[:1], edges.targets[:1]))
    assert engine.backend == "local"


def test_options_by_wrong_names():
    for wrong in (("recompote",), ("refresh", "gpu"), ("refresh", "auto", None, -1)):
        with pytest.raises(OptionError):
            registry.create(*wrong)
