"""A graph that grows and shrinks, against a search from every vertex; the backend changes on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.engines.registry import ENGINES
from tests.engines.lanes_oracle import as_edges, as_pairs, reached

MOST = 24
pairs = st.sets(st.tuples(st.integers(0, MOST - 1), st.integers(0, MOST - 1)), max_size=10)


class Growing(RuleBasedStateMachine):
    """Vertices are numbered from 0; the graph that is expected is a set of edges."""

    backends = (None,)

    @initialize(edges=pairs, width=st.sampled_from([1, 3, 8, 64]))
    def start(self, edges, width):
        self.engine, self.n = Lanes(width=width), MOST
        self.edges = edges
        self.engine.init(as_edges(edges), MOST)
        self.before, self.batched = None, False

    @rule(inserted=pairs, data=st.data())
    def change(self, inserted, data):
        deleted = data.draw(st.sets(st.sampled_from(sorted(self.edges)), max_size=8)) if self.edges else set()
        self.apply(inserted, deleted)

    @rule(edge=st.tuples(st.integers(0, MOST - 1), st.integers(0, MOST - 1)))
    def toggle(self, edge):
        self.apply(*((set(), {edge}) if edge in self.edges else ({edge}, set())))

    @rule(length=st.integers(8, MOST))
    def make_a_giant_component(self, length):
        ring = {(v, (v + 1) % length) for v in range(length)}
        self.apply(ring - self.edges, set())

    @precondition(lambda self: self.edges)
    @rule(data=st.data())
    def break_it(self, data):
        self.apply(set(), {data.draw(st.sampled_from(sorted(self.edges)))})

    @rule()
    def shrink(self):
        self.apply(set(), set(sorted(self.edges)[::2]))

    @rule(extra=st.integers(0, 3))
    def grow(self, extra):
        self.n += extra
        self.engine.grow(self.n)
        self.batched = False

    @rule(edges=pairs)
    def reset(self, edges):
        self.edges, self.n = edges, MOST
        self.engine.init(as_edges(edges), MOST)
        self.batched = False

    @rule(data=st.data())
    def change_backend(self, data):
        backend = data.draw(st.sampled_from(range(len(self.backends))))
        self.engine, self.batched = self.engine.moved(self.backends[backend] or LocalBackend()), False

    def apply(self, inserted, deleted):
        self.before = reached(self.edges, self.n)
        self.engine.apply(as_edges(inserted), as_edges(deleted))
        self.edges = (self.edges - deleted) | inserted
        self.batched = True

    @invariant()
    def answers_are_right(self):
        right = reached(self.edges, self.n)
        down = self.engine.descendants(np.arange(self.n))
        found = set(zip(down.sources.tolist(), down.targets.tolist(), strict=True))
        about = f"engine {self.engine.name} ({self.engine.backend}), edges {sorted(self.edges)}"
        assert found == right, f"{about}: too many {found - right}, missing {right - found}"
        assert self.engine.stats()["pairs"] == len(right) - self.n, about
        up = self.engine.ancestors(np.arange(self.n))
        assert set(zip(up.sources.tolist(), up.targets.tolist(), strict=True)) == right, about
        asked = np.random.default_rng(len(right)).integers(self.n, size=(2, 40))
        answers = [pair in right for pair in zip(*asked.tolist(), strict=True)]
        assert self.engine.query(*asked).tolist() == answers, about
        changes = self.engine.changes()
        if self.batched and changes is not None:
            won, lost = (set(zip(side.sources.tolist(), side.targets.tolist(), strict=True)) for side in changes)
            assert (won, lost) == (right - self.before, self.before - right), about


TestGrowing = Growing.TestCase
TestGrowing.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


@pytest.mark.slow
def test_growing_for_long():
    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415

    run_state_machine_as_test(Growing, settings=settings(max_examples=1500, stateful_step_count=40, deadline=None))


@pytest.mark.parametrize("examples", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_growing_on_spark(spark, examples):
    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415

    class OnSpark(Growing):
        backends = (None, SparkBackend(spark))

        @initialize(edges=pairs)
        def start(self, edges):
            self.engine, self.n, self.edges = Lanes(self.backends[1], width=8), MOST, edges
            self.engine.init(as_edges(edges), MOST)
            self.before, self.batched = None, False

    run = settings(max_examples=examples, stateful_step_count=15, deadline=None)
    run_state_machine_as_test(OnSpark, settings=run)


def test_an_empty_graph():
    for engine in (Lanes(), Recompute()):
        engine.init(Edges.of(), 0)
        assert len(engine.descendants([])) == len(engine.ancestors([])) == len(engine.query([], [])) == 0
        assert engine.stats()["pairs"] == 0


@pytest.mark.parametrize("name", ENGINES)
def test_edges_that_change_nothing(name):
    """What is there is not inserted again, what is absent is not deleted, and what is on both sides stays."""
    loops = set() if name == "path_counting" else {(0, 0), (2, 1)}  # that engine is for acyclic graphs
    engine, edges = ENGINES[name](), {(0, 1), (1, 2)} | loops
    engine.init(as_edges(edges), 5)
    batches = [(edges, set()), (set(), {(3, 4), (4, 4)}), ({(0, 1), (3, 4)}, {(0, 1), (3, 4)}), (set(), loops)]
    for inserted, deleted in [*batches, (set(), {(0, 1)})]:
        engine.apply(as_edges(inserted), as_edges(deleted))
        edges = (edges - deleted) | inserted
        assert as_pairs(engine.edges) == edges
        assert as_pairs(engine.descendants(np.arange(5))) == reached(edges, 5)
