"""The engine ``algebraic`` on real packages: their real changes, and a giant component that comes and goes."""

from __future__ import annotations

import igraph
import numpy as np
import pytest

from benchmarks.packages import Packages
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.engine import Algebraic
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute

pytestmark = pytest.mark.long

NONE = Edges.of()


@pytest.fixture(scope="module")
def debian():
    return Packages.load()


def same_pairs(engine, twin, step=8192):
    """Compare all pairs, some rows at a time."""
    for start in range(0, twin.vertices, step):
        some = np.arange(start, min(start + step, twin.vertices))
        ours, theirs = (side.descendants(some) for side in (engine, twin))
        assert np.array_equal(ours.sources, theirs.sources), start
        assert np.array_equal(ours.targets, theirs.targets), start


def same_columns(engine, twin, sample):
    ours, theirs = (side.ancestors(sample) for side in (engine, twin))
    assert np.array_equal(ours.sources, theirs.sources)
    assert np.array_equal(ours.targets, theirs.targets)


def test_all_pairs_before_and_after_the_real_changes(debian):
    n = debian.vertices
    engine, twin = Algebraic(seed=1), Lanes()
    for side in (engine, twin):
        side.init(debian.edges, n)
    same_pairs(engine, twin)
    for side in (engine, twin):
        side.apply(debian.inserted, debian.deleted)
    same_pairs(engine, twin)
    sample = np.unique(np.append(np.random.default_rng(2).integers(n, size=300), debian.inserted.targets))
    same_columns(engine, twin, sample)
    for ours, theirs in zip(engine.changes(), twin.changes(), strict=True):
        assert np.array_equal(ours.sources, theirs.sources)
        assert np.array_equal(ours.targets, theirs.targets)
    edges = engine.edges
    graph = igraph.Graph(n=n, edges=np.stack([edges.sources, edges.targets], axis=1).tolist(), directed=True)
    rows = graph.neighborhood(order=n, mode="out")  # an independent library, every pair
    ours = engine.descendants(np.arange(n))
    assert np.array_equal(np.bincount(ours.sources, minlength=n), [len(row) for row in rows])
    assert np.array_equal(ours.targets, np.concatenate([np.sort(row) for row in rows]))
    engine.matrix.rebuild()
    same_columns(engine, twin, sample)
    assert engine.stats()["builds"] == 1
    assert engine.verify().holds


@pytest.mark.slow
def test_changes_one_by_one(debian):
    """Insertions and deletions of single edges lead to what one batch leads to."""
    n = debian.vertices
    engine, twin = Algebraic(seed=1), Lanes()
    for side in (engine, twin):
        side.init(debian.edges, n)
    twin.apply(debian.inserted, debian.deleted)
    for k in range(len(debian.deleted)):
        engine.apply(NONE, Edges(debian.deleted.sources[k : k + 1], debian.deleted.targets[k : k + 1]))
    for k in range(len(debian.inserted)):
        engine.apply(Edges(debian.inserted.sources[k : k + 1], debian.inserted.targets[k : k + 1]), NONE)
    same_pairs(engine, twin)


@pytest.mark.slow
def test_one_edge_makes_a_giant_component_and_its_deletion_breaks_it(debian):
    """An edge from a leaf package to its root makes a component of over a thousand, and 67 million pairs more."""
    n = debian.vertices
    engine, twin = Algebraic(seed=1), Recompute()
    for side in (engine, twin):
        side.init(debian.edges, n)
    down = twin.descendants(np.arange(n))
    root = int(np.bincount(down.sources).argmax())
    reached = twin.descendants([root]).targets
    leaves = reached[np.bincount(down.sources, minlength=n)[reached] == 1]
    leaf = int(leaves[np.bincount(down.targets, minlength=n)[leaves].argmax()])
    closing = Edges.of([leaf], [root])
    for inserted, deleted in ((closing, NONE), (debian.inserted, debian.deleted), (NONE, closing)):
        for side in (engine, twin):
            side.apply(inserted, deleted)
        same_pairs(engine, twin, 2048)
    whole = Edges(np.append(debian.edges.sources, leaf), np.append(debian.edges.targets, root))
    for side in (engine, twin):
        side.init(whole, n)
    assert twin.stats()["largest_component"] > 1000
    assert engine.stats()["rank"] < 50  # the component is cut at few edges
    same_pairs(engine, twin, 2048)


def test_part_of_it_on_spark(debian, spark):
    n = 2_000
    inside = (debian.edges.sources < n) & (debian.edges.targets < n)
    edges = Edges(debian.edges.sources[inside], debian.edges.targets[inside])
    engine, twin = Algebraic(SparkBackend(spark), seed=1), Lanes()
    for side in (engine, twin):
        side.init(edges, n)
    same_pairs(engine, twin)
    rng = np.random.default_rng(3)
    chosen = rng.permutation(len(edges))[:60]
    batch = Edges.of(*rng.integers(n, size=(2, 200))), Edges(edges.sources[chosen], edges.targets[chosen])
    for side in (engine, twin):
        side.apply(*batch)
    same_pairs(engine, twin)
    same_columns(engine, twin, np.arange(0, n, 7))


@pytest.mark.slow
def test_all_of_it_on_spark(debian, spark):
    n = debian.vertices
    engine, twin = Algebraic(SparkBackend(spark), seed=1), Lanes()
    for side in (engine, twin):
        side.init(debian.edges, n)
        side.apply(debian.inserted, debian.deleted)
    same_pairs(engine, twin)
