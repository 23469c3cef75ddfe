"""The engine ``lanes`` with its stripes on Spark: many small blocks, against a search from every vertex."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyntc_spark.blocks.layers import Layers
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes import blocks, in_process, on_spark, revise
from dyntc_spark.engines.lanes.blocks import Blocks
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.errors import DamagedBlockError, IndexOutsideError, SessionError
from dyntc_spark.kernels.lanes.payload import Block
from tests.engines.lanes_oracle import as_edges, as_pairs, drawing, reached, require_right, unfolded

NO_EDGES = Edges.of()


@pytest.fixture
def backend(spark):
    return SparkBackend(spark, partitions=2)


@pytest.fixture
def small(monkeypatch):
    """Blocks of some stripes each, few layers; nearly nothing may be at hand."""
    monkeypatch.setattr(in_process, "BLOCK_BYTES", 150)
    monkeypatch.setattr(blocks, "MOST_LAYERS", 3)
    bounds(monkeypatch, hand=1500, dirty=300)


def bounds(monkeypatch, *, hand, dirty):
    monkeypatch.setattr(on_spark, "HAND_BYTES", hand)
    monkeypatch.setattr(on_spark, "DIRTY_BYTES", dirty)
    monkeypatch.setattr(on_spark, "WHOLE_BYTES", 0)


def graph(seed, n, density):
    draw = drawing(seed)
    return draw, {(draw.randrange(n), draw.randrange(n)) for _ in range(int(density * n))}


def batch(draw, edges, n, most):
    """Draw a batch; now and then a ring, and its loss."""
    inserted = {(draw.randrange(n), draw.randrange(n)) for _ in range(draw.randint(0, most))}
    if draw.random() < 0.3:
        walk = draw.sample(range(n), n)
        inserted |= {(walk[k], walk[(k + 1) % n]) for k in range(draw.randint(1, n))}
    deleted = set(draw.sample(sorted(edges), min(len(edges), draw.randint(0, 2 * most))))
    return inserted - edges, deleted


def require_rows(engine, edges, n, before):
    """Require rows and changes to be right: two jobs, where `require_right` starts six."""
    expected = reached(edges, n)
    assert as_pairs(engine.descendants(np.arange(n))) == expected
    won, lost = engine.changes()
    assert (as_pairs(won), as_pairs(lost)) == (expected - before, before - expected)
    return expected


def play(engine, seed, n, density, batches, most):
    draw, edges = graph(seed, n, density)
    engine.init(as_edges(edges), n)
    before = require_right(engine, edges, n)
    for step in range(batches):
        if step % 3 == 1:
            n += 3
            engine.grow(n)
            before = reached(edges, n)
        inserted, deleted = batch(draw, edges, n, most)
        edges = (edges - deleted) | inserted
        engine.apply(as_edges(inserted), as_edges(deleted))
        before = require_right(engine, edges, n, before)
    return edges, n


@pytest.mark.parametrize(
    ("width", "hand"), [(2, 1500), pytest.param(3, 0, marks=[pytest.mark.connect, pytest.mark.cluster])]
)
@pytest.mark.usefixtures("small")
def test_batches(backend, monkeypatch, width, hand):
    """Stripes are read and dropped, written into blocks, and worked on where they are."""
    bounds(monkeypatch, hand=hand, dirty=300)
    engine = Lanes(backend, width=width)
    play(engine, width, 37, 1.1, batches=3, most=4)
    assert engine.stats()["rebuilds"] == 1


@pytest.mark.usefixtures("small")
def test_stripes_that_are_built_instead_of_revised(backend, monkeypatch):
    """A task builds a block with the same numbers where it finds that this takes less."""
    monkeypatch.setattr(revise, "LEAST_LOOKS", 0)
    monkeypatch.setattr(revise, "MOST_BUILDS", 0)
    bounds(monkeypatch, hand=0, dirty=300)
    engine, n = Lanes(backend, width=4), 41
    draw, edges = graph(12, n, 1.2)
    engine.init(as_edges(edges), n)
    jobs = []
    for most_looks in (10**9, 0):
        engine._state.most_looks = most_looks
        for _ in range(2):
            inserted, deleted = batch(draw, edges, n, 5)
            edges = (edges - deleted) | inserted
            with backend.jobs.watch() as told:
                engine.apply(as_edges(inserted), as_edges(deleted))
            jobs += told
            with backend.jobs.watch() as told:  # whoever writes a stripe counts its pairs
                assert engine.stats()["pairs"] == len(reached(edges, n)) - n
            assert not told
    require_right(engine, edges, n)
    assert set(jobs) <= {"revise stripes", "build stripes"}


@pytest.mark.usefixtures("small")
def test_blocks_that_were_revised_some_times_are_built(backend, monkeypatch):
    """So a plan stays short, by which Spark makes blocks again that it has lost."""
    bounds(monkeypatch, hand=0, dirty=300)
    n = 60
    engine, edges = Lanes(backend, width=4), {(v, v + 1) for v in range(n - 1)}
    engine.init(as_edges(edges), n)
    revised, told = [], []
    for step in range(blocks.MOST_REVISED + 2):
        before = reached(edges, n)
        changed = {(n - 2, n - 1)}
        edges = edges ^ changed
        with backend.jobs.watch() as jobs:
            engine.apply(*((NO_EDGES, as_edges(changed)) if step % 2 == 0 else (as_edges(changed), NO_EDGES)))
        told += jobs
        revised.append(max(layer.revised for layer in engine.closure.place.stored.layers))
        require_rows(engine, edges, n, before)
    assert revised == [1, 2, 0, 1]
    assert told == ["revise stripes", "revise stripes", "build stripes", "revise stripes"]
    assert engine.stats()["rebuilds"] == 1


def test_jobs(backend, monkeypatch):
    """Init is one job, a batch on stripes at hand none, a wide batch one, a question one at most."""
    n = 600
    path = Edges.of(np.arange(n - 1), np.arange(1, n))
    engine = Lanes(backend, width=8)
    monkeypatch.setattr(on_spark, "WHOLE_BYTES", 0)

    def jobs(act):
        with backend.jobs.watch() as told:
            act()
        return told

    assert jobs(lambda: engine.init(path, n)) == ["build stripes"]
    questions = (
        lambda: engine.query([0], [n - 1]),
        lambda: engine.descendants([3, 5]),
        lambda: engine.ancestors([3, 5]),
        engine.verify,
    )
    for ask in questions:
        assert len(jobs(ask)) == 1
    assert jobs(engine.stats) == []  # the build has counted the pairs
    first = Edges.of([7], [3])
    assert jobs(lambda: engine.apply(first, NO_EDGES)) == ["read stripes"]
    assert jobs(lambda: engine.apply(NO_EDGES, first)) == []
    assert jobs(engine.changes) == []
    assert jobs(lambda: engine.query([0, 1], [n - 1, 0])) == []  # at hand
    monkeypatch.setattr(on_spark, "HAND_BYTES", 100)
    last = Edges.of([n - 2], [0])
    assert jobs(lambda: engine.apply(last, NO_EDGES)) == ["revise stripes"]
    assert engine.stats()["largest_component"] == n - 1
    assert len(jobs(lambda: engine.apply(NO_EDGES, last))) == 1
    monkeypatch.setattr(on_spark, "HAND_BYTES", 2**26)
    monkeypatch.setattr(on_spark, "DIRTY_BYTES", 0)
    assert "build stripes" in jobs(lambda: engine.apply(first, NO_EDGES))
    assert jobs(lambda: engine.apply(NO_EDGES, NO_EDGES)) == []
    assert jobs(lambda: engine.moved(LocalBackend()).moved(backend))[-1] == "build stripes"
    assert engine.stats()["rebuilds"] == 1


def test_a_small_state_is_read_whole(backend):
    """Then no change needs a job, wherever it is."""
    n = 600
    engine = Lanes(backend, width=8)
    engine.init(Edges.of(np.arange(n - 1), np.arange(1, n)), n)
    with backend.jobs.watch() as told:
        for tail, head in ((7, 3), (n - 2, n - 9), (300, 290)):
            engine.apply(Edges.of([tail], [head]), NO_EDGES)
            engine.apply(NO_EDGES, Edges.of([tail], [head]))
    assert told == ["read stripes"]
    assert engine.query([0, n - 1], [n - 1, 0]).tolist() == [True, False]


def test_real_jobs(backend, job_count):
    engine = Lanes(backend)
    with job_count() as counted:
        engine.init(Edges.of(np.arange(99), np.arange(1, 100)), 100)
    assert counted.started == 1
    with job_count() as counted:
        engine.apply(Edges.of([50], [20]), NO_EDGES)
    assert counted.started == 1
    with job_count() as counted:
        engine.apply(NO_EDGES, Edges.of([50], [20]))
    assert counted.started == 0


@pytest.mark.connect
@pytest.mark.cluster
@pytest.mark.usefixtures("small")
def test_moved_there_and_back(backend):
    draw, edges = graph(9, 47, 1.2)
    n, engine = 47, Lanes(width=5)
    engine.init(as_edges(edges), n)
    for step in range(3):
        to = backend if step % 2 == 0 else LocalBackend()
        engine = engine.moved(to)
        assert engine.backend == ("spark", "local")[step % 2]
        assert engine.moved(to) is engine
        for _ in range(4):  # so that there is garbage in the pools when the stripes move
            before = reached(edges, n)
            inserted, deleted = batch(draw, edges, n, 3)
            edges = (edges - deleted) | inserted
            engine.apply(as_edges(inserted), as_edges(deleted))
            require_rows(engine, edges, n, before)
        require_right(engine, edges, n)
    assert engine.stats()["rebuilds"] == 1


@pytest.mark.parametrize("hand", [0, 10**6])
@pytest.mark.usefixtures("small")
def test_a_snapshot_answers_as_of_then(backend, monkeypatch, hand):
    bounds(monkeypatch, hand=hand, dirty=100)
    draw, edges = graph(13, 31, 1.2)
    engine, every = Lanes(backend, width=4), np.arange(31)
    engine.init(as_edges(edges), 31)
    snapshots = []
    for _ in range(3):
        snapshots.append((engine.snapshot(), reached(edges, 31)))
        inserted, deleted = batch(draw, edges, 31, 4)
        edges = (edges - deleted) | inserted
        engine.apply(as_edges(inserted), as_edges(deleted))
    engine.grow(60)
    for snapshot, expected in snapshots:
        assert as_pairs(snapshot.descendants(every)) == expected
        assert snapshot.stats()["pairs"] == len(expected) - 31
        assert snapshot.bytes > 0
        for name in ("init", "apply", "grow", "edges"):  # which would be those of the engine
            assert not hasattr(snapshot, name)
    assert as_pairs(snapshots[-1][0].ancestors(every)) == snapshots[-1][1]


@pytest.mark.usefixtures("small")
def test_the_runs_and_the_blocks(spark, backend):
    _, edges = graph(4, 43, 1.3)
    here, there = Lanes(width=4), Lanes(backend, width=4)
    for step in range(2):
        for side in (here, there):
            if step == 0:
                side.init(as_edges(edges), 43)
            else:
                side.apply(as_edges({(1, 2), (2, 1)} - edges), as_edges(set(sorted(edges)[:3])))
        edges = edges if step == 0 else (edges | {(1, 2), (2, 1)}) - set(sorted(edges)[:3])
        runs = sorted(tuple(row) for row in there.runs().collect())
        assert unfolded(runs, there.version.members.component[:43].tolist(), 4) == reached(edges, 43)
        for side in (here, there):
            shown = side.blocks(spark).collect()
            stripes = sorted((row.bi, Block.decode(row.payload)) for row in shown if row.matrix == "stripes")
            assert [place for place, _ in stripes] == list(range(len(stripes)))
            assert [block.first for _, block in stripes[1:]] == [block.end for _, block in stripes[:-1]]
            assert all(row.bytes == len(row.payload) for row in shown)
            assert sum(row.nnz for row in shown if row.matrix == "members") == 43
            assert {row.matrix for row in shown} == {"stripes", "members"}
        counts = [
            sum(row.nnz for row in side.blocks(spark).collect() if row.matrix == "stripes") for side in (here, there)
        ]
        assert counts[0] == counts[1] > 0
    assert here.runs() is None
    assert here.rows(spark) is None


def test_a_graph_that_begins_with_nothing(backend, monkeypatch):
    monkeypatch.setattr(in_process, "BLOCK_BYTES", 150)
    engine = Lanes(backend, width=4)
    engine.init(NO_EDGES, 0)
    assert engine.runs().count() == 0
    engine.grow(30)
    edges = {(v, v + 1) for v in range(20)}
    engine.apply(as_edges(edges), NO_EDGES)
    before = require_right(engine, edges, 30)  # by no job
    assert unfolded(engine.runs().collect(), engine.version.members.component[:30].tolist(), 4) == before
    bounds(monkeypatch, hand=0, dirty=0)
    for edge in ((25, 3), (4, 29)):
        engine.apply(as_edges({edge}), NO_EDGES)
        edges.add(edge)
        before = require_rows(engine, edges, 30, before)


@pytest.mark.usefixtures("small")
def test_a_batch_that_fails_leaves_all_as_it_was(backend, monkeypatch):
    draw, edges = graph(6, 45, 1.2)
    engine = Lanes(backend, width=4)
    engine.init(as_edges(edges), 45)

    def fails(*_):
        raise SessionError("a", "b", "c")

    for hand, step in ((10**6, "read"), (0, "_with_layer")):
        bounds(monkeypatch, hand=hand, dirty=100)
        inserted, deleted = {(3, 9), (9, 3), (20, 1)} - edges, set(draw.sample(sorted(edges), 5))
        with monkeypatch.context() as patch:
            patch.setattr(Blocks, step, fails)
            with pytest.raises(SessionError):
                engine.apply(as_edges(inserted), as_edges(deleted))
        assert as_pairs(engine.edges) == edges
        before = reached(edges, 45)
        assert as_pairs(engine.descendants(np.arange(45))) == before
        engine.apply(as_edges(inserted), as_edges(deleted))
        edges = (edges - deleted) | inserted
        require_rows(engine, edges, 45, before)
    with pytest.raises(IndexOutsideError):
        engine.apply(Edges.of([45], [0]), NO_EDGES)
    assert engine.stats()["rebuilds"] == 1


def test_a_damaged_block_is_refused(backend):
    engine = Lanes(backend, width=4)
    engine.init(Edges.of(np.arange(39), np.arange(1, 40)), 40)
    version, place = engine.closure
    (layer,) = place.stored.layers
    frame = layer.kept.frame.selectExpr("first", "origin", "overlay(payload PLACING X'FF' FROM 60) payload")
    layers = Layers(backend, "first", [replace(layer, kept=layer.kept.derived(frame))])
    damaged = Blocks(layers, place.stored.sizes, place.stored.pairs)
    engine._state.closure = in_process.Closure(version, replace(place, stored=damaged))
    with pytest.raises(DamagedBlockError, match="checksum"):
        engine.query([0], [39])
    with pytest.raises(DamagedBlockError, match="checksum"):
        engine.apply(Edges.of([30], [2]), NO_EDGES)
    assert len(engine.edges) == 39


def test_damage_is_found_and_mended(backend):
    engine = Lanes(backend, width=4)
    edges = {(v, v + 1) for v in range(39)}
    engine.init(as_edges(edges), 40)
    other = Lanes(backend, width=4)
    other.init(as_edges(edges - {(20, 21)}), 40)
    engine._state.closure = in_process.Closure(engine.version, other.closure.place)
    certificate = engine.verify()
    assert certificate.repaired
    assert len(certificate.missing) > 0
    assert as_pairs(engine.descendants(np.arange(40))) == reached(edges, 40)
