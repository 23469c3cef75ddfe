"""A batch in lanes that fails at its end leaves the closure, and the room that it takes, as they were."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.engines.lanes import engine
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.lanes.state import GivenUp, State


def fails(*_):
    raise MemoryError


@pytest.fixture
def edges():
    drawn = np.random.default_rng(1).integers(0, 400, (900, 2)).tolist()
    return sorted({(min(pair), max(pair)) for pair in drawn if pair[0] != pair[1]})


@pytest.mark.parametrize("built", [True, False])
def test_no_memory_at_the_end_of_a_batch(edges, monkeypatch, built):
    """The stripes that the failed batch made are shorter; the next one must not write over those that count."""
    c = DynamicClosure.from_edges(edges, engine="lanes", backend="local")
    pairs = c.stats()["pairs"]
    with monkeypatch.context() as patch:
        patch.setattr(State, "_changed", fails)
        patch.setattr(GivenUp, "skips", lambda *_: built)
        with pytest.raises(MemoryError):
            c.delete(edges[20:])
    assert (c.version, c.stats()["pairs"]) == (0, pairs)
    assert c.verify()
    for k in range(5):
        c.delete(edges[k::5][:3])
        assert c.verify()


def test_a_batch_counts_when_new_numbers_cannot_be_given(monkeypatch, caplog):
    """They are for speed only, and are given after the batch."""
    for name, value in {"LOOK_AFTER": 1, "MOST_GROWTH": 0, "LEAST_GROWTH": -1}.items():
        monkeypatch.setattr(engine, name, value)
    c = DynamicClosure.from_edges([(1, 2), (3, 4)])
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "dyntc_spark"):
        patch.setattr(Lanes, "_build", fails)
        assert c.insert([(2, 3)]).version == 1
    assert "keep their numbers" in caplog.text
    assert c.reaches(1, 4)
    assert c.verify()
    c.delete([(2, 3)])
    assert not c.reaches(1, 4)
