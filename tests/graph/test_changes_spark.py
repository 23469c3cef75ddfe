"""What a batch changed, of a closure on Spark: a DataFrame, of which no pair comes to the driver unless it is read."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.engines.deterministic.centres import Centres
from dyntc_spark.engines.lanes import engine as lanes_engine
from dyntc_spark.engines.lanes import in_process, on_spark
from dyntc_spark.engines.lanes import state as lanes_state
from dyntc_spark.errors import OptionError
from dyntc_spark.graph.changes.changed import Changed
from tests.engines.lanes_oracle import drawing
from tests.graph.oracle import Plain

N = 130


@pytest.fixture
def small(monkeypatch):
    """Small blocks, none of which is at hand: a batch is worked on where they are."""
    monkeypatch.setattr(in_process, "BLOCK_BYTES", 200)
    hand(monkeypatch, 0)


def hand(monkeypatch, size):
    monkeypatch.setattr(on_spark, "HAND_BYTES", size)


class Both:
    """A closure on Spark beside a plain graph."""

    def __init__(self, spark, seed, engine="lanes"):
        self.draw = drawing(seed)
        edges = {(self._draw(), self._draw()) for _ in range(int(1.1 * N))}
        self.plain = Plain(edges)
        self.closure = DynamicClosure.from_edges(sorted(edges), spark=spark, engine=engine, backend="spark")

    def _draw(self):
        return f"v{self.draw.randrange(N)}"

    def wide(self):
        """Apply a batch with a ring, so that components merge, or that takes one apart; return what it changed."""
        walk = [f"v{v}" for v in self.draw.sample(range(N + 3), 8)]
        ring = [("insert", walk[k], walk[k - 1]) for k in range(8)]
        gone = self.draw.sample(sorted(self.plain.edges), 12)
        return self.apply([*ring, *(("delete", *edge) for edge in gone)])

    def apply(self, changes):
        before = self.plain.pairs()
        self.closure.apply(changes)
        self.plain.apply(changes)
        return self._expected(before)

    def reset(self, edges):
        before = self.plain.pairs()
        self.closure.reset(edges)
        self.plain.reset(edges)
        return self._expected(before)

    def _expected(self, before):
        after, version = self.plain.pairs(), self.closure.version
        return {(*pair, "insert", version) for pair in after - before} | {
            (*pair, "delete", version) for pair in before - after
        }

    @property
    def made(self):
        """How the last batch made its stripes."""
        return self.closure._parts.door.engine._change.made


def rows(frame):
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.usefixtures("small")
def test_every_way_to_make_a_batch(spark, monkeypatch):
    """Apart, here, by a build, with other numbers: each is compared on Spark, and no pair is collected."""
    both, collected, frames = Both(spark, 1), [], []
    real = SparkBackend.collect
    monkeypatch.setattr(
        SparkBackend, "collect", lambda self, what, frame: collected.append(what) or real(self, what, frame)
    )

    def step(*made):
        expected = both.wide()
        assert both.made in made
        frames.append((both.closure.changes(), expected))
        assert both.closure.stats()["pairs"] == len(both.plain.pairs())

    step("apart")
    hand(monkeypatch, 10**6)
    step("here")
    with monkeypatch.context() as patch:
        patch.setattr(lanes_state.GivenUp, "skips", lambda *_: True)
        step("built")
    with monkeypatch.context() as patch:
        patch.setattr(lanes_state, "MOST_PASSES", 0)
        patch.setattr(lanes_state, "LEAST_REPAIRS", 1)
        step("other numbers")
    with monkeypatch.context() as patch:  # new numbers after a batch that was worked on as always
        patch.setattr(lanes_engine, "LOOK_AFTER", 1)
        patch.setattr(lanes_engine, "MOST_GROWTH", 0)
        patch.setattr(lanes_engine, "LEAST_GROWTH", -1)
        rebuilds = both.closure.stats()["details"]["rebuilds"]
        step("here", "apart")
        assert both.closure.stats()["details"]["rebuilds"] == rebuilds + 1
    assert set(collected) <= {"look for stripes", "read stripes", "count pairs"}
    for frame, expected in frames:  # each shows its version, whatever came later
        assert rows(frame) == expected
    assert {tuple(row.values()) for row in both.closure.arrow.changes().to_pylist()} == frames[-1][1]


@pytest.mark.usefixtures("small", "_few_functions")
def test_views_follow_on_spark(spark, monkeypatch):
    """The view of changes reads Spark's own blocks; a batch that it follows collects no pair."""
    both = Both(spark, 2)
    both.closure.create_views("follow")
    monkeypatch.setattr(Changed, "collected", None)  # nobody may call it
    monkeypatch.setattr(lanes_engine.Lanes, "changes", None)
    for act in (
        both.wide,
        lambda: both.apply([("delete", "v1", "nobody")]),
        lambda: both.reset([("v1", "v2"), ("v2", "new"), ("v9", "v1")]),
    ):
        expected = act()
        assert rows(spark.table("follow_changes")) == expected
        assert rows(both.closure.changes()) == expected


@pytest.mark.usefixtures("small")
def test_moved_between_a_batch_and_the_question(spark):
    """What a batch changed stays where it is, wherever the state goes, there and back."""
    both = Both(spark, 3)
    for made in ("apart", "here"):
        expected = both.wide()
        assert both.made == made
        if made == "apart":
            both.closure.in_process()
            assert {tuple(row.values()) for row in both.closure.arrow.changes().to_pylist()} == expected
        both.closure.on_spark()
        assert rows(both.closure.changes()) == expected
        both.closure.in_process()


def test_an_engine_that_remembers_nothing(spark):
    """Its rows are compared with those of a closure that is built on Spark; without rows it is refused."""
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=spark, engine="path_counting", backend="spark")
    c.apply([("insert", "c", "d"), ("delete", "a", "b")])
    expected = {("b", "d", "insert", 1), ("c", "d", "insert", 1), ("a", "b", "delete", 1), ("a", "c", "delete", 1)}
    assert rows(c.changes()) == expected
    assert {tuple(row.values()) for row in c.arrow.changes().to_pylist()} == expected


def test_an_engine_without_rows_is_refused(spark, monkeypatch):
    monkeypatch.setattr(Centres, "rows", lambda *_, **__: None, raising=False)
    c = DynamicClosure.from_edges([(0, 1)], spark=spark, engine="centres", backend="spark")
    c.insert([(1, 2)])
    for ask in (c.changes, c.arrow.changes):
        with pytest.raises(OptionError, match="in_process"):
            ask()
    c.in_process()
    assert c.arrow.changes().num_rows == 2


@pytest.mark.connect
@pytest.mark.usefixtures("small")
def test_pairs_won_and_lost_are_counted_on_spark(spark, monkeypatch):
    """Of a batch of one kind by its job, of any batch that was worked on here; asked later, nobody knows."""
    both = Both(spark, 4)

    def counted(changes):
        before = both.plain.pairs()
        done = both.closure.apply(changes)
        both.plain.apply(changes)
        after = both.plain.pairs()
        return done, (len(after - before), len(before - after))

    def ring(*vertices):
        return [("insert", f"v{v}", f"v{w}") for v, w in zip(vertices, (*vertices[1:], vertices[0]), strict=True)]

    def lost(count):
        return [("delete", *edge) for edge in both.draw.sample(sorted(both.plain.edges), count)]

    asked = []
    for size, made, more in ((0, "apart", 0), (10**6, "here", 1)):
        hand(monkeypatch, size)
        for changes in (ring(1 + more, 40, 80 - more, 120), lost(20), [*ring(7 + more, 50, 90 - more), *lost(10)]):
            done, expected = counted(changes)
            assert both.made == made
            ops = {op for op, *_ in changes}
            assert (done.won, done.lost) == (expected if made == "here" or len(ops) == 1 else (None, None))
            asked.append((done, done.won))
    late, _ = counted([("insert", "v1", "late")])
    counted([("insert", "v2", "late")])
    assert (late.won, late.lost) == (None, None)
    assert [done.won for done, _ in asked] == [won for _, won in asked]  # what was counted stays
