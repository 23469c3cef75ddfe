"""A location that version 0.1 wrote: its checkpoint has rows of the closure, and its engine is ``refresh``."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure, create_location_views
from dyntc_spark.errors import LocationError
from tests.store.closures import pairs, recomputed

WRITTEN = Path(__file__).parent / "location-0.1.zip"
EDGES = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("x", "d")}


def edges(closure):
    return {(row["src"], row["dst"]) for row in closure.arrow.edges().to_pylist()}


def test_a_location_of_version_0_1_opens_and_goes_on(delta, tmp_path):
    location = str(tmp_path / "deps")
    with zipfile.ZipFile(WRITTEN) as written:
        written.extractall(location)
    first = DynamicClosure.open(location, 0, spark=delta)
    assert edges(first) == EDGES | {("c", "a")}
    assert pairs(first) == recomputed(first)
    c = DynamicClosure.open(location, spark=delta)
    assert (c.version, c.stats()["engine"]) == (1, "lanes")
    assert edges(c) == EDGES | {("e", "f")}
    with pytest.raises(LocationError, match="format 1"):
        create_location_views(location, "old", spark=delta)
    c.delete([("d", "e")])
    c.save(location)
    create_location_views(location, "old", spark=delta)
    assert {tuple(row) for row in delta.table("old_closure").collect()} == pairs(c)
    again = DynamicClosure.open(location, spark=delta)
    assert edges(again) == (EDGES | {("e", "f")}) - {("d", "e")}
    assert pairs(again) == recomputed(again)
