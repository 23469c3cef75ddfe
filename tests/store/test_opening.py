"""Opening takes the closure from the checkpoint, where it is whole; else it is built from the edges."""

from __future__ import annotations

import logging
import random
import shutil

import pytest

from dyntc_spark import DynamicClosure, LabelledGraph
from dyntc_spark.errors import LocationError
from dyntc_spark.graph.store import checkpoint
from tests.store.closures import pairs, recomputed, seen
from tests.store.conftest import without_spark

EDGES = [(f"v{v}", f"v{v + 1}") for v in range(150)] + [("v20", "v10"), ("w", "v75"), ("v149", "x")]


@pytest.fixture(autouse=True)
def _alone():
    with without_spark():
        yield


def rebuilds(closure):
    return int(closure.stats()["details"]["rebuilds"])


def require_same(location, closure):
    """Open it, and require what it says to be right and not built."""
    opened = DynamicClosure.open(location)
    assert rebuilds(opened) == 0
    assert seen(opened) == seen(closure)
    assert pairs(opened) == recomputed(opened)
    return opened


def test_the_closure_is_taken_from_the_checkpoint(tmp_path):
    location = str(tmp_path / "deps")
    c = DynamicClosure.from_edges(EDGES, vertices=["alone"])
    c.save(location)
    opened = require_same(location, c)
    for closure in (c, opened):
        if closure is opened:
            closure.refresh()
        else:
            closure.apply([("delete", "v100", "v101"), ("insert", "x", "v3"), ("insert", "new", "w")])
    assert seen(opened) == seen(c)
    opened.delete([("v20", "v10")])
    assert pairs(opened) == recomputed(opened)


@pytest.mark.long
def test_the_log_is_played_on_it(tmp_path):
    """Batches, vertices that go and whose numbers others get, and checkpoints in between."""
    location, draw = str(tmp_path / "deps"), random.Random(7)  # noqa: S311  (nothing secret)
    c = DynamicClosure.from_edges(EDGES)
    c.save(location)
    names = [f"v{v}" for v in range(150)]
    for step in range(8):
        there = c.arrow.edges().to_pylist()
        gone = [("delete", row["src"], row["dst"]) for row in draw.sample(there, 10)]
        come = [("insert", draw.choice(names), draw.choice([*names, f"new {step}"])) for _ in range(10)]
        c.apply(gone + come)
        idle = {row["vertex"] for row in c.arrow.vertices().to_pylist()}
        idle -= {row[end] for row in c.arrow.edges().to_pylist() for end in ("src", "dst")}
        if step % 3 == 1:
            c.drop(sorted(idle)[:2])
        if step % 4 == 3:
            c.save(location)
        require_same(location, c)
        assert seen(DynamicClosure.open(location, c.version - 1))[0] == c.version - 1
    c.vacuum(1)
    require_same(location, c)
    c.reset([("a", "b")])
    assert pairs(DynamicClosure.open(location)) == {("a", "b")}


def test_an_older_location_stays_without_parts(tmp_path, monkeypatch):
    location = str(tmp_path / "deps")
    c = DynamicClosure.from_edges(EDGES)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_with_parts", lambda rows, _: rows)
        c.save(location)
    require_same(location, c)
    c.delete([("v20", "v10")])
    c.save(location)
    require_same(location, c)
    shutil.rmtree(f"{location}/runs")  # the new table is made without them, for the vertices have none
    c.insert([("v20", "v10")])
    c.save(location)
    require_same(location, c)


@pytest.mark.long
@pytest.mark.parametrize("how", ["another word", "no file", "cut off"])
def test_damaged_runs_are_told_and_built_again(tmp_path, caplog, monkeypatch, how):
    location = str(tmp_path / "deps")
    c = DynamicClosure.from_edges(EDGES)
    if how == "another word":
        real = checkpoint.row_checksum
        monkeypatch.setattr(checkpoint, "row_checksum", lambda runs: real(runs) ^ 1)
    c.save(location)
    (file,) = (tmp_path / "deps" / "runs").glob("*.parquet")
    if how == "no file":
        file.unlink()
    elif how == "cut off":
        file.write_bytes(file.read_bytes()[:-20])
    with caplog.at_level(logging.WARNING):
        opened = DynamicClosure.open(location)
    assert "is built again from its edges" in caplog.text
    assert (seen(opened), rebuilds(opened)) == (seen(c), 1)
    monkeypatch.undo()
    assert seen(DynamicClosure.repair(location)) == seen(c)
    require_same(location, c)


def test_a_location_of_the_other_kind_is_named(tmp_path):
    plain, labelled = str(tmp_path / "plain"), str(tmp_path / "labelled")
    c, g = DynamicClosure.from_edges(EDGES), LabelledGraph.from_edges([("a", "b", "reads")])
    c.save(plain)
    g.save(labelled)
    other = DynamicClosure.from_edges([("a", "b")])
    for act in (DynamicClosure.open, DynamicClosure.repair, other.save):
        with pytest.raises(LocationError, match=r"got a labelled graph\. Open it with LabelledGraph\.open"):
            act(labelled)
    for act in (LabelledGraph.open, LabelledGraph.from_edges([("a", "b", "reads")]).save):
        with pytest.raises(LocationError, match=r"got a closure without labels\. Open it with DynamicClosure\.open"):
            act(plain)
    assert seen(DynamicClosure.open(plain)) == seen(c)
    assert LabelledGraph.open(labelled).version == g.version
