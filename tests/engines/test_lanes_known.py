"""The engine ``lanes`` on Spark gets warm: what a job has brought to the driver is asked and changed without a job."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes import on_spark
from dyntc_spark.engines.lanes.engine import Lanes
from tests.engines.lanes_oracle import as_edges, as_pairs, reached

NO_EDGES = Edges.of()
PATHS, LENGTH = 10, 64
N = PATHS * LENGTH
#: Ten paths. With eight lanes a stripe, and eight stripes that are built together, each of them is a block.
EDGES = {(v, v + 1) for v in range(N) if (v + 1) % LENGTH}


class Asked:
    """A closure of ten blocks, and a plain search beside it."""

    def __init__(self, backend):
        self.engine, self.edges = Lanes(backend, width=8), set(EDGES)
        self.engine.init(as_edges(EDGES), N)
        self.expected = reached(EDGES, N)
        assert len(self.stored.firsts) == PATHS

    @property
    def stored(self):
        return self.engine.closure.place.stored

    @property
    def block(self):
        """Return how many bytes the largest block has."""
        return max(int(self.stored.sizes[k : k + 8].sum()) for k in range(0, N // 8, 8))

    @property
    def known(self):
        return set(self.stored.known.blocks)

    def query(self, path, engine=None):
        """Ask for all pairs of some vertices of a path, and of one elsewhere."""
        some = [path * LENGTH + v for v in (0, 1, 9, 30, 50, 63)]
        pairs = [(v, w) for v in some for w in [*some, (some[0] + LENGTH) % N]]
        found = (engine or self.engine).query(*zip(*pairs, strict=True))
        assert found.tolist() == [pair in self.expected for pair in pairs]

    def descendants(self, *vertices):
        found = self.engine.descendants(list(vertices))
        assert as_pairs(found) == {(v, w) for v, w in self.expected if v in vertices}

    def flip(self, path, *tails):
        """Delete the edges out of some vertices of a path, or insert them again."""
        edges = {(path * LENGTH + v, path * LENGTH + v + 1) for v in tails}
        gone = edges & self.edges
        self.engine.apply(as_edges(edges - gone), as_edges(gone))
        self.edges ^= edges
        self.expected = reached(self.edges, N)


@pytest.fixture
def backend(spark):
    return SparkBackend(spark, partitions=2)


@pytest.fixture
def asked(backend):
    return Asked(backend)


@pytest.fixture
def blocks(asked, monkeypatch):
    """Let a job bring one block, or so many others; let so many be kept."""

    def bound(*, brought=1, kept=2 * PATHS):
        monkeypatch.setattr(on_spark, "WHOLE_BYTES", int((brought + 0.5) * asked.block))
        monkeypatch.setattr(on_spark, "HAND_BYTES", int((kept + 0.5) * asked.block))

    return bound


@pytest.fixture
def jobs(job_count, backend):
    """Return the names of the jobs that a call starts, as many as Spark has counted."""

    def started(act, *arguments):
        with job_count() as real, backend.jobs.watch() as told:
            act(*arguments)
        assert real.started == len(told)
        return list(told)

    return started


def test_a_small_state_is_read_once_for_all_questions_and_batches(asked, jobs):
    assert jobs(asked.query, 4) == ["read blocks"]
    for path in range(PATHS):
        assert jobs(asked.query, path) == []
    assert jobs(asked.descendants, 3, 70, 639) == []
    assert jobs(asked.flip, 3, 20) == []  # its stripes are in blocks that are known
    for path in range(PATHS):
        assert jobs(asked.query, path) == []
    assert jobs(asked.engine.grow, N + 70) == []
    assert not asked.engine.query([0, N + 69], [N + 1, 0]).any()
    assert jobs(asked.descendants, 200, 212, 213, 600) == []


def test_rows_are_read_once(asked, jobs):
    assert jobs(asked.descendants, 3, 70, 639) == ["read blocks"]
    assert jobs(asked.descendants, 64, 300) == []
    assert jobs(asked.query, 5) == []


def test_each_block_is_read_once_for_questions(asked, blocks, jobs):
    blocks()
    for path in range(PATHS):
        assert jobs(asked.query, path) == ["read blocks"]
        assert jobs(asked.descendants, path * LENGTH + 7, path * LENGTH + 40) == []
    for path in range(PATHS):
        assert jobs(asked.query, path) == []


def test_each_block_is_read_once_for_batches(asked, blocks, jobs):
    blocks()
    for path in range(PATHS):
        assert jobs(asked.flip, path, 20) == ["read stripes"]
        assert jobs(asked.flip, path, 60) == []  # which concerns the other stripes of the block
    for path in range(PATHS):
        assert jobs(asked.flip, path, 33) == []
        assert jobs(asked.query, path) == []
    assert not asked.known


def test_blocks_that_a_batch_did_not_replace_stay_known(asked, blocks, jobs, monkeypatch):
    blocks()
    for path in (0, 1, 2):
        asked.query(path)
    before = asked.engine.snapshot(), asked.expected
    with monkeypatch.context() as patch:
        patch.setattr(on_spark, "HAND_BYTES", 1)
        assert jobs(asked.flip, 1, 20) == ["revise stripes"]
    for path in (0, 2):
        assert jobs(asked.query, path) == []
    assert jobs(asked.query, 1) == ["read blocks"]
    snapshot, asked.expected = before
    assert jobs(asked.query, 1, snapshot) == []


def test_stripes_that_a_batch_changed_come_before_known_blocks(asked, blocks, jobs, monkeypatch):
    blocks()
    asked.query(0)
    assert jobs(asked.flip, 0, 40) == []
    assert asked.known == {0}  # and older than what is at hand
    assert jobs(asked.query, 0) == []
    assert jobs(asked.descendants, 0, 39, 40, 41) == []
    monkeypatch.setattr(on_spark, "DIRTY_BYTES", 0)
    assert jobs(asked.flip, 0, 50) == ["build stripes"]
    assert not asked.known
    assert jobs(asked.query, 0) == []


def test_more_than_a_job_brings_is_answered_by_tasks(asked, blocks, jobs, monkeypatch):
    blocks(brought=0)
    for _ in range(2):
        assert jobs(asked.query, 3) == ["query pairs"]
        assert jobs(asked.descendants, 3, 70, 639) == ["list rows"]
    blocks(brought=2)
    assert jobs(asked.descendants, 3, 70, 140, 639) == ["list rows"]
    assert jobs(asked.descendants, 70, 140) == ["read blocks"]
    assert jobs(asked.descendants, 3, 70, 140, 639) == ["read blocks"]  # two that are known, and two others
    monkeypatch.setattr(on_spark, "WHOLE_BYTES", 0)
    assert jobs(asked.descendants, 3, 70, 140, 639) == []
    assert jobs(asked.flip, 5, 20) == jobs(asked.flip, 5, 60) == ["read stripes"]  # only what the batch concerns
    for path in range(PATHS):
        asked.query(path)


def test_the_oldest_blocks_are_dropped(asked, blocks, jobs):
    blocks(kept=2)
    for path in (0, 1, 2):
        assert jobs(asked.query, path) == ["read blocks"]
    assert asked.known == {8, 16}
    assert jobs(asked.query, 1) == jobs(asked.query, 2) == []
    assert jobs(asked.query, 0) == ["read blocks"]
    assert asked.known == {0, 16}
    blocks(brought=4, kept=4)
    assert jobs(asked.descendants, 0, 70, 140, 210) == ["read blocks"]
    blocks(brought=4, kept=2)
    assert jobs(asked.descendants, 0, 210, 300, 400, 500) == ["list rows"]  # three blocks more than are kept


def test_stripes_at_hand_make_room_for_others(asked, blocks, jobs):
    """Those that a batch has changed stay, and so does all that this batch concerns."""
    blocks(kept=3)
    for path in (0, 1, 2, 3, 4):
        assert jobs(asked.flip, path, 20) == ["read stripes"]
        held = asked.engine.version.stripes
        taken = asked.engine.closure.place.byte_sizes(held)[held.lengths > 0].sum()
        assert taken <= on_spark.HAND_BYTES
        for other in range(PATHS):
            asked.query(other)


def test_threads_ask_while_blocks_come_and_go(asked, blocks):
    blocks(kept=2)
    snapshot = asked.engine.snapshot()

    def ask(seed):
        draw = random.Random(seed)  # noqa: S311  (nothing secret)
        for _ in range(8):
            asked.query(draw.randrange(4), snapshot)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    taken = sum(
        block.stripes.numbers.nbytes + block.stripes.words.nbytes for block in asked.stored.known.blocks.values()
    )
    assert 0 < taken <= on_spark.HAND_BYTES


@pytest.mark.parametrize("hand", [2, 4])
def test_random_batches_and_questions(asked, blocks, monkeypatch, hand):
    """Whatever is at hand, known, dropped, or written into blocks, the answers are those of a plain search."""
    blocks(kept=hand)
    monkeypatch.setattr(on_spark, "DIRTY_BYTES", asked.block)
    draw = random.Random(hand)  # noqa: S311  (nothing secret)
    for _ in range(8):
        asked.flip(draw.randrange(PATHS), *draw.sample(range(LENGTH - 1), 2))
        for path in draw.sample(range(PATHS), 3):
            asked.query(path)
        asked.descendants(*draw.sample(range(N), 3))
    assert as_pairs(asked.engine.descendants(np.arange(N))) == asked.expected
