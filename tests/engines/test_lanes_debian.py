"""The engine ``lanes`` on real packages: their real changes, and a giant component that comes and goes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from dyntc_spark.edges import Edges, edges_of, keys_of
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute
from tests.engines.lanes_oracle import alike

pytestmark = pytest.mark.long

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


def require_as_built(engine):
    """Require what an engine says to be what one says that is built from its edges, with other numbers."""
    twin, every = Recompute(), np.arange(engine.vertices)
    twin.init(engine.edges, engine.vertices)
    assert alike(engine.descendants(every), twin.descendants(every))
    sizes = ("vertices", "edges", "pairs", "components", "largest_component")
    ours, theirs = engine.stats(), twin.stats()
    assert [ours[name] for name in sizes] == [theirs[name] for name in sizes]
    assert engine.verify().holds


def test_the_real_changes_and_back(debian):
    edges, (inserted, deleted), known, n = debian
    engine = Lanes()
    engine.init(edges, known)
    assert (engine.vertices, engine.stats()["edges"], engine.stats()["pairs"]) == (64047, 282432, 3853939)
    engine.grow(n)
    before = engine.descendants(np.arange(n))
    engine.apply(inserted, deleted)
    stats = engine.stats()
    assert stats["rebuilds"] == 1  # the start
    assert stats["words_changed"] < 2000
    assert stats["row_bytes"] / stats["pairs"] < 1
    require_as_built(engine)

    engine.apply(deleted, inserted)
    assert alike(engine.descendants(np.arange(n)), before)
    assert engine.stats()["pairs"] == 3853939


def test_one_edge_makes_a_giant_component_and_its_deletion_breaks_it(debian):
    edges, (inserted, deleted), _, n = debian
    engine = Lanes()
    engine.init(edges, n)
    down = engine.descendants(np.arange(n))
    root = int(np.bincount(down.sources).argmax())
    reached = engine.descendants([root]).targets
    leaves = reached[np.bincount(down.sources)[reached] == 1]
    leaf = int(leaves[np.bincount(down.targets, minlength=n)[leaves].argmax()])
    closing = Edges.of([leaf], [root])

    engine.apply(closing, Edges.of())
    assert engine.stats()["largest_component"] > 1000
    require_as_built(engine)
    engine.apply(inserted, deleted)  # with the giant component there
    require_as_built(engine)
    engine.apply(deleted, Edges(np.append(inserted.sources, leaf), np.append(inserted.targets, root)))
    assert alike(engine.descendants(np.arange(n)), down)
    assert engine.stats()["largest_component"] == 7


def test_single_changes(debian):
    edges, _, _, n = debian
    engine, rng = Lanes(), np.random.default_rng(11)
    engine.init(edges, n)
    before = engine.descendants(np.arange(n))
    some = rng.permutation(len(edges))[:200]
    for k in some:
        one = Edges(edges.sources[k : k + 1], edges.targets[k : k + 1])
        engine.apply(Edges.of(), one)
    require_as_built(engine)
    for k in some:
        engine.apply(Edges(edges.sources[k : k + 1], edges.targets[k : k + 1]), Edges.of())
    assert alike(engine.descendants(np.arange(n)), before)
    assert engine.stats()["rebuilds"] == 1


@pytest.mark.parametrize(
    ("seed", "batches", "between"),
    [(1, 12, 12), *(pytest.param(seed, 200, 20, marks=pytest.mark.slow) for seed in (2, 3, 4))],
)
def test_batches_of_very_different_sizes(debian, seed, batches, between):
    """From 1 to 10,000 changes, half of the batches there and back; rows of popular packages get longer and shorter."""
    edges, (inserted, deleted), _, n = debian
    engine, rng = Lanes(), np.random.default_rng(seed)
    engine.init(edges, n)
    popular = np.bincount(edges.targets).argsort()[-20:]
    present, away = keys_of(edges), np.zeros(0, np.int64)
    for k in range(batches):
        size = int(10 ** rng.uniform(0, 4))
        gone = rng.choice(present, rng.integers(0, size + 1), replace=False)
        new = np.concatenate(
            [
                rng.choice(away, min(len(away), size - len(gone)), replace=False),
                (rng.integers(0, n, size // 4) << 32) | rng.choice(popular, size // 4),
            ]
        )
        new = np.setdiff1d(new, present)
        engine.apply(edges_of(new), edges_of(gone))
        if k % 2:
            engine.apply(edges_of(gone), edges_of(new))
        else:
            present, away = np.union1d(np.setdiff1d(present, gone), new), np.setdiff1d(np.union1d(away, gone), new)
        if k % between == between - 1:
            fits = np.isin(keys_of(deleted), present), ~np.isin(keys_of(inserted), present)
            real = inserted.where(fits[1]), deleted.where(fits[0])
            engine.apply(*real)
            require_as_built(engine)
            engine.apply(*real[::-1])
    assert np.array_equal(keys_of(engine.edges), present)
    require_as_built(engine)
