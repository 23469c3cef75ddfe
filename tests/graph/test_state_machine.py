"""Any sequence of operations on a DynamicClosure, against a set of edges; with every engine that is exact."""

from __future__ import annotations

from itertools import pairwise, product

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges
from dyntc_spark.engines import registry
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.graph.questions.paths import shortest_paths
from tests.graph.oracle import Plain

vertices = st.sampled_from("abcdefg")
edges = st.tuples(vertices, vertices)
some = st.lists(edges, max_size=6)
changes = st.lists(st.tuples(st.sampled_from(["insert", "delete"]), vertices, vertices), max_size=8)


class Machine(RuleBasedStateMachine):
    engine = "recompute"

    @initialize(start=st.lists(edges, max_size=14))
    def begin(self, start):
        self.closure, self.plain = self.made(start), Plain(start)
        self.before, self.version = self.plain.pairs(), 0

    def made(self, start):
        return DynamicClosure.from_edges(start, engine=self.engine, backend="local")

    def answered(self, pairs):
        return [self.closure.reaches(*pair) for pair in pairs]

    def both(self, method, argument, batch):
        if batch:  # else no version is made
            self.before, self.version = self.plain.pairs(), self.version + 1
        done = method(argument)
        before = self.plain.pairs()
        self.plain.apply(batch)
        if done.won is not None or self.engine != "recompute":  # which does not remember its last batch
            after = self.plain.pairs()
            assert (done.won, done.lost) == (len(after - before), len(before - after))

    @rule(chosen=some)
    def insert(self, chosen):
        self.both(self.closure.insert, chosen, [("insert", *edge) for edge in chosen])

    @rule(chosen=some)
    def delete(self, chosen):
        self.both(self.closure.delete, chosen, [("delete", *edge) for edge in chosen])

    @rule(data=st.data())
    def delete_what_is_there(self, data):
        if self.plain.edges:
            self.delete([data.draw(st.sampled_from(sorted(self.plain.edges)))])

    @rule(batch=changes)
    def apply(self, batch):
        self.both(self.closure.apply, batch, batch)

    @rule(centre=vertices, tails=st.lists(vertices, max_size=3), heads=st.lists(vertices, max_size=3))
    def insert_at(self, centre, tails, heads):
        inserted = [(tail, centre) for tail in tails] + [(centre, head) for head in heads]
        insert = lambda _: self.closure.insert_at(centre, sources=tails, targets=heads)  # noqa: E731
        self.both(insert, None, [("insert", *edge) for edge in inserted])

    @rule(chosen=st.lists(edges, max_size=12))
    def reset(self, chosen):
        self.before, self.version = self.plain.pairs(), self.version + 1
        self.closure.reset(chosen)
        self.plain.reset(chosen)

    @invariant()
    def same_graph_and_same_closure(self):
        graph, pairs = self.closure._parts.door.now.graph, self.plain.pairs()
        ends = graph.named(graph.edges.edges)
        assert set(zip(ends.src.to_pylist(), ends.dst.to_pylist(), strict=True)) == self.plain.edges
        assert set(graph.vertices.names().to_pylist()) == self.plain.vertices
        assert self.closure.version == self.version
        assert self.closure.stats()["pairs"] == len(pairs)
        asked = list(product(self.plain.vertices, repeat=2))
        assert self.answered(asked) == [v == w or (v, w) in pairs for v, w in asked]

    @invariant()
    def same_changes(self):
        columns = (column.to_pylist() for column in self.closure.arrow.changes().columns)
        after = self.plain.pairs()
        assert sorted(zip(*columns, strict=True)) == sorted(
            [(*pair, "insert", self.version) for pair in after - self.before]
            + [(*pair, "delete", self.version) for pair in self.before - after]
        )

    @invariant()
    def paths_are_paths_and_shortest(self):
        graph, engine = self.closure._parts.door.now.graph, self.closure._parts.door.engine
        names = graph.vertices.names().to_pylist()
        for source in range(min(2, len(names))):
            distances = self.plain.distances(names[source])
            for target in range(len(names)):
                (path,) = shortest_paths(graph.edges, engine, Edges.of([source], [target]))
                if names[target] not in distances:
                    assert path is None
                    continue
                assert (path[0], path[-1], len(path) - 1) == (source, target, distances[names[target]])
                assert all((names[v], names[w]) in self.plain.edges for v, w in pairwise(path))


class LanesMachine(Machine):
    engine = "lanes"


class NarrowMachine(Machine):
    """Stripes of two lanes, so that there are many."""

    engine = "narrow lanes"


@pytest.fixture(autouse=True, scope="module")
def _narrow_engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.ENGINES, NarrowMachine.engine, lambda: Lanes(width=2))
        yield


TestRecompute, TestLanes, TestNarrow = (machine.TestCase for machine in (Machine, LanesMachine, NarrowMachine))
for case in (TestRecompute, TestLanes, TestNarrow):
    case.settings = settings(max_examples=40, stateful_step_count=12)
