"""Real packages with their closure on Spark: their real changes, sampled rows against igraph, a giant component."""

from __future__ import annotations

import igraph
import numpy as np
import pytest

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.closure import far
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from tests.closure.refresh_oracle import alike
from tests.closure.test_refresh_debian import debian  # noqa: F401  (a fixture)


def check_against_igraph(engine, rng):
    """Sampled rows and columns on the engine's own backend, and the number of all pairs."""
    edges, n = engine.edges, engine.vertices
    graph = igraph.Graph(n=n, edges=np.stack([edges.sources, edges.targets], axis=1), directed=True)
    assert engine.stats()["pairs"] == sum(graph.neighborhood_size(order=n, mode="out")) - n
    sample = np.sort(rng.permutation(n)[:300])
    down, up = engine.descendants(sample), engine.ancestors(sample)
    for v in sample.tolist():
        assert down.targets[down.sources == v].tolist() == sorted(graph.subcomponent(v, mode="out"))
        assert up.sources[up.targets == v].tolist() == sorted(graph.subcomponent(v, mode="in"))


def test_the_real_changes(spark, debian, monkeypatch):  # noqa: F811
    edges, (inserted, deleted), known, n = debian
    backend, rng = SparkBackend(spark), np.random.default_rng(2)
    engine, local = Refresh(backend), Refresh()
    for side in (engine, local):
        side.init(edges, known)
        side.grow(n)
    assert engine.stats()["pairs"] == 3853939
    with backend.jobs.watch() as jobs:
        engine.apply(inserted, deleted)
    assert jobs == []
    local.apply(inserted, deleted)
    assert engine.stats()["affected"] == local.stats()["affected"] < 1000
    for ours, theirs in zip(engine.changes(), local.changes(), strict=True):
        assert alike(ours, theirs)
    check_against_igraph(engine, rng)
    monkeypatch.setattr(far, "JOB_STEPS", 0)
    monkeypatch.setattr(far, "STRIPE_STEPS", 0)
    engine._tidy()
    engine.state._drop()
    with backend.jobs.watch() as jobs:
        engine.apply(deleted, inserted)
    assert jobs == ["read rows"]
    assert engine.stats()["pairs"] == 3853939
    assert engine.stats()["rebuilds"] == 1
    check_against_igraph(engine, rng)


@pytest.mark.slow
def test_all_pairs_after_many_batches(spark, debian):  # noqa: F811
    edges, _, _, n = debian
    engine, twin, rng = Refresh(SparkBackend(spark)), Recompute(), np.random.default_rng(8)
    engine.init(edges, n)
    for _ in range(50):
        now = engine.edges
        some = rng.permutation(len(now))[:20]
        engine.apply(Edges.of(*rng.integers(n, size=(2, 2))), Edges(now.sources[some], now.targets[some]))
    twin.init(engine.edges, n)
    everything = np.arange(n)
    assert alike(engine.moved(LocalBackend()).descendants(everything), twin.descendants(everything))


def test_one_edge_makes_a_giant_component_and_its_deletion_breaks_it(spark, debian):  # noqa: F811
    edges, _, _, n = debian
    engine, local = Refresh(SparkBackend(spark)), Refresh()
    for side in (engine, local):
        side.init(edges, n)
    sizes = np.bincount(local.descendants(np.arange(n)).sources)
    root = int(sizes.argmax())
    leaf = int(local.descendants([root]).targets[sizes[local.descendants([root]).targets] == 1][0])
    for batch in ((Edges.of([leaf], [root]), Edges.of()), (Edges.of(), Edges.of([leaf], [root]))):
        for side in (engine, local):
            side.apply(*batch)
        ours, theirs = engine.stats(), local.stats()
        for name in ("pairs", "components", "largest_component", "edges"):
            assert ours[name] == theirs[name]
        sample = np.random.default_rng(4).integers(n, size=(2, 2000))
        assert np.array_equal(engine.query(*sample), local.query(*sample))
