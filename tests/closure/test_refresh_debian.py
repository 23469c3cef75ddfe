"""The engine ``refresh`` on real packages: their real changes, and a giant component that comes and goes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from tests.closure.refresh_oracle import alike, same_condensation, sound

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def debian():
    """The dependencies, and the changes as insertions and deletions, on so many vertices."""
    table, changes = (pq.read_table(DATA / f"debian-{name}.parquet") for name in ("depends", "security-changes"))
    names = {}
    number = lambda column: [names.setdefault(name, len(names)) for name in column.to_pylist()]  # noqa: E731
    edges = Edges.of(number(table["src"]), number(table["dst"]))
    known, op = len(names), np.array(changes["op"].to_pylist())
    changed = Edges.of(number(changes["src"]), number(changes["dst"]))
    parts = [Edges(changed.sources[op == kind], changed.targets[op == kind]) for kind in ("insert", "delete")]
    return edges, parts, known, len(names)


def twin_of(engine):
    twin = Recompute()
    twin.init(engine.state.edges.edges, engine.vertices)
    return twin


def test_the_real_changes_and_back(debian):
    edges, (inserted, deleted), known, n = debian
    engine = Refresh()
    engine.init(edges, known)
    assert (engine.vertices, engine.stats()["edges"], engine.stats()["pairs"]) == (64047, 282432, 3853939)
    engine.grow(n)
    before = engine.descendants(np.arange(n))
    engine.apply(inserted, deleted)
    stats = engine.stats()
    assert stats["rebuilds"] == 1  # the start
    assert stats["affected"] < 1000
    assert stats["bytes"] / stats["pairs"] < 6
    after = Recompute()
    after.init(edges, n)
    after.apply(inserted, deleted)
    assert sound(engine, after)
    assert len(np.unique(engine.changes()[0].sources)) <= stats["changed"]

    engine.apply(deleted, inserted)
    assert alike(engine.descendants(np.arange(n)), before)
    assert engine.stats()["pairs"] == 3853939


@pytest.mark.parametrize("share", [0.5, 1])
def test_one_edge_makes_a_giant_component_and_its_deletion_breaks_it(debian, share):
    edges, (inserted, deleted), _, n = debian
    engine = Refresh(rebuild_share=share)
    engine.init(edges, n)
    down = engine.descendants(np.arange(n))
    root = int(np.bincount(down.sources).argmax())
    reached = engine.descendants([root]).targets
    leaves = reached[np.bincount(down.sources)[reached] == 1]
    leaf = int(leaves[np.bincount(down.targets, minlength=n)[leaves].argmax()])
    closing = Edges.of([leaf], [root])

    engine.apply(closing, Edges.of())
    assert engine.stats()["largest_component"] > 1000
    assert same_condensation(engine, twin_of(engine))
    engine.apply(inserted, deleted)  # with the giant component there
    assert same_condensation(engine, twin_of(engine))
    engine.apply(deleted, Edges(np.append(inserted.sources, leaf), np.append(inserted.targets, root)))
    assert alike(engine.descendants(np.arange(n)), down)
    assert engine.stats()["largest_component"] == 7


def test_single_changes(debian):
    edges, _, _, n = debian
    engine, rng = Refresh(), np.random.default_rng(11)
    engine.init(edges, n)
    before = engine.descendants(np.arange(n))
    some = rng.permutation(len(edges))[:200]
    for k in some:
        one = Edges(edges.sources[k : k + 1], edges.targets[k : k + 1])
        engine.apply(Edges.of(), one)
    assert same_condensation(engine, twin_of(engine))
    for k in some:
        engine.apply(Edges(edges.sources[k : k + 1], edges.targets[k : k + 1]), Edges.of())
    assert alike(engine.descendants(np.arange(n)), before)
    assert engine.stats()["rebuilds"] == 1
