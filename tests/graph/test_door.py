"""The way to a closure: who waits for whom, what is undone, and values that nobody changes."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.edges import edges_of as edges_of_keys
from dyntc_spark.engines.abilities import changes_of
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.errors import LostBlocksError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.version import Graph, Version
from dyntc_spark.graph.vertices.in_process import VertexTable
from tests.graph.schedule import SECONDS, edges_of, switching_often

LONG = [(v, v + 1) for v in range(400)]  # 80,200 pairs


class Blocked:
    """A thread that asks a question which does not end before it is told to."""

    def __init__(self, ask, answer):
        self.begun, self.go_on, self.found = threading.Event(), threading.Event(), []
        self._thread = threading.Thread(target=lambda: self.found.append(ask(self._question)), daemon=True)
        self._answer = answer
        self._thread.start()
        assert self.begun.wait(SECONDS)

    def _question(self, version, closure):
        self.begun.set()
        assert self.go_on.wait(SECONDS)
        return self._answer(version, closure)

    def end(self):
        self.go_on.set()
        self._thread.join(SECONDS)
        return self.found[0]


def count_pairs(version, closure):
    return version.number, len(closure.descendants(version.graph.vertices.used))


def test_a_long_question_holds_up_no_batch():
    c = DynamicClosure.from_edges(LONG)
    asked = Blocked(c._parts.door.ask_apart, count_pairs)
    c.apply([("delete", 7, 8), ("insert", 500, 501), ("insert", 400, 0)])
    c.delete([(500, 501)])
    c.drop([500, 501])
    assert c.version == 3
    assert c.reaches(8, 7)
    assert asked.end() == (0, 401 * 402 // 2)
    assert c._parts.door.ask_apart(count_pairs)[0] == 3


@pytest.mark.parametrize("engine", ["centres"])
def test_a_question_without_a_copy_is_answered_before_the_batch(engine):
    c = DynamicClosure.from_edges([(1, 2), (2, 3)], engine=engine)
    asked = Blocked(c._parts.door.ask_apart, count_pairs)
    batch = threading.Thread(target=lambda: c.delete([(1, 2)]), daemon=True)
    batch.start()
    batch.join(0.05)
    assert (batch.is_alive(), c.version) == (True, 0)
    assert edges_of(c.arrow.edges()) == {(1, 2), (2, 3)}  # what needs no engine waits for nobody
    assert asked.end() == (0, 6)
    batch.join(SECONDS)
    assert (c.version, c._parts.door.ask(count_pairs)) == (1, (1, 4))


def test_who_comes_to_ask_lets_a_waiting_batch_go_first():
    c = DynamicClosure.from_edges([(1, 2), (2, 3)])
    first = Blocked(c._parts.door.ask, count_pairs)
    batch = threading.Thread(target=lambda: c.delete([(1, 2)]), daemon=True)
    batch.start()
    while c._parts.door._gate.acquire(blocking=False):  # until the batch waits
        c._parts.door._gate.release()
    answers = []
    later = [threading.Thread(target=lambda: answers.append(c.reaches(1, 2)), daemon=True) for _ in range(3)]
    for thread in later:
        thread.start()
    assert first.end() == (0, 6)
    for thread in (batch, *later):
        thread.join(SECONDS)
    assert answers == [False] * 3


def test_blocks_that_are_lost_while_a_batch_waits():
    """What follows a loss asks again, and must not wait for a batch that waits for it."""
    engine, seen = Recompute(), []
    engine.init(Edges.of([0], [1]), 3)
    door = Door(engine)
    door.rebuilt = lambda: seen.append(door.ask(lambda version, _: version.number))
    door.publish(Version(Graph(VertexTable.of(pa.array(["a", "b", "c"]), np.arange(3), 3))))

    def change():
        with door.changing() as now:
            door.publish(replace(now, number=1))

    def lost(_version, closure):
        if not door.losses:
            batch.start()
            while door._gate.acquire(blocking=False):
                door._gate.release()
            raise LostBlocksError("blocks", "none", "")
        return closure.vertices

    batch = threading.Thread(target=change, daemon=True)
    asked = threading.Thread(target=lambda: seen.append(door.ask(lost)), daemon=True)
    asked.start()
    asked.join(SECONDS)
    batch.join(SECONDS)
    assert (seen, door.losses, door.now.number) == ([1, 3], 1, 1)


def test_a_batch_asks_about_itself(monkeypatch):
    c = DynamicClosure.from_edges([(1, 2), (2, 3)])
    seen = []
    monkeypatch.setattr(
        c._parts.views, "show", lambda _: seen.append((c.version, c.reaches(1, 3), c.arrow.changes().num_rows))
    )
    c.delete([(2, 3)])
    assert seen == [(1, False, 2)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_batch_that_ends_before_it_is_published(monkeypatch, error):
    c = DynamicClosure.from_edges([(1, 2), (2, 3)])
    before = c.stats()

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(c._parts.attachment, "commit", fail)
        for change in (
            lambda: c.apply([("delete", 1, 2), ("insert", 3, 4)]),
            lambda: c.reset([(7, 8)]),
            lambda: c.insert([(9, 1)]),
        ):
            with pytest.raises(error):
                change()
            assert edges_of(c.arrow.pairs()) == {(1, 2), (2, 3), (1, 3)}
            assert not c.reaches(1, 9, unknown="false")
    after = c.stats()
    assert {**after, "details": 0} == {**before, "details": 0}
    c.insert([(3, 5), (5, 4)])
    assert c.arrow.vertices()["vertex"].to_pylist() == [1, 2, 3, 5, 4]
    assert (c.reaches(1, 4), c.reaches(1, 9, unknown="false"), c.version) == (True, False, 1)


@pytest.mark.parametrize("kind", [Lanes, Recompute])
def test_a_copy_of_a_closure_stays_as_it_is(kind):
    engine, n = kind(), 300
    chance = np.random.default_rng(5)
    edges = EdgeSet.of(Edges(*np.sort(chance.integers(n, size=(2, 2 * n)), axis=0)))
    engine.init(edges.edges, n)
    for _ in range(20):
        copied = engine.snapshot()
        expected = told(engine, n)
        for _ in range(5):
            deleted = edges_of_keys(edges.keys[chance.integers(len(edges), size=4)])
            following = edges.replaced(Edges(*chance.integers(n, size=(2, 4))), deleted)
            engine.apply(following.minus(edges), edges.minus(following))
            edges = following
        engine.grow(n + 1)
        assert told(copied, n) == expected
        n += 1


def told(engine, n):
    """What an engine says about the vertices below ``n``."""
    found = [engine.descendants(np.arange(n)), engine.ancestors(np.arange(0, n, 9)), *(changes_of(engine) or ())]
    return [(pairs.sources.tolist(), pairs.targets.tolist()) for pairs in found]


def test_threads_that_read_one_set_of_edges():
    base = EdgeSet.of(Edges(np.arange(2000), np.arange(2000) + 1))
    with switching_often():
        for number in range(60):
            one = base.replaced(Edges.of([number], [5]), Edges.of([number], [number + 1]))
            start, wrong = threading.Barrier(4), []

            def read(one=one, number=number, start=start, wrong=wrong):
                start.wait(SECONDS)
                sizes = {len(one), len(one.keys), len(one.replaced(Edges.of(), Edges.of()))}
                there = one.has(Edges.of([number, number], [5, number + 1])).tolist()
                if sizes != {2000} or there != [True, number == 4]:
                    wrong.append((sizes, there))

            threads = [threading.Thread(target=read, daemon=True) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(SECONDS)
            assert not wrong


@given(st.lists(st.tuples(st.sampled_from(["add", "drop", "undone"]), st.lists(st.integers(0, 12), max_size=4))))
def test_every_table_of_vertices_stays_as_it_is(script):
    """Each table, however old, knows its own vertices and no others."""
    table, known = VertexTable(), {}
    tables = [(table, known)]
    for kind, names in script:
        table, known = tables[-1]
        if kind == "drop":
            gone = [known[name] for name in set(names) & set(known)]
            made = table.dropped(gone)
            named = {name: number for name, number in known.items() if number not in gone}
        else:
            new = sorted(set(names) - set(known))
            numbers = table.allotted(len(new))
            made = table.added(pa.array(new, pa.int64()), numbers)
            named = known | dict(zip(new, numbers.tolist(), strict=True))
        tables.insert(len(tables) - (kind == "undone"), (made, named))
        for one, expected in tables:
            every = pa.array(range(13), pa.int64())
            assert one.numbers(every).tolist() == [expected.get(name, -1) for name in range(13)]
            assert dict(zip(one.names().to_pylist(), one.used.tolist(), strict=True)) == expected


@pytest.mark.parametrize("engine", ["lanes", "centres"])
def test_an_interrupted_batch_is_undone_before_one_that_changes_no_edge(monkeypatch, engine):
    """Ctrl-C in an engine: the batch after it used to declare the engine current, though it had nothing to do."""
    for then in (lambda c: c.insert([("a", "b")]), lambda c: c.drop(["e"])):
        c = DynamicClosure.from_edges([("a", "b"), ("c", "d")], engine=engine, backend="local", vertices=["e"])
        kind = type(c._parts.door.engine.current)
        apply = kind.apply

        def interrupted(self, *edges, apply=apply):
            apply(self, *edges)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(kind, "apply", interrupted)
            with pytest.raises(KeyboardInterrupt):
                c.insert([("b", "c")])
        then(c)
        assert not c.reaches("a", "d")
        assert c.arrow.pairs().num_rows == 2
