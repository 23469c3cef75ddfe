"""Labelled graphs: every closure against a search over the edges that have its labels."""

from __future__ import annotations

import threading
from itertools import product

import hypothesis.strategies as st
import networkx as nx
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dyntc_spark import BatchResult, LabelledGraph
from dyntc_spark.engines import registry
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.errors import CycleError, UnknownVertexError
from tests.graph.schedule import SECONDS, switching_often

LABELS = ("x", "y", "z")
SETS = [None, *(frozenset(chosen) for chosen in ("x", "y", "xy", "yz", "xyz"))]

vertices = st.sampled_from("abcdef")
edges = st.tuples(vertices, vertices, st.sampled_from(LABELS))
changes = st.lists(st.tuples(st.sampled_from(["insert", "delete"]), edges).map(lambda c: (c[0], *c[1])), max_size=8)


def rows(table):
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def pairs_of(triples, wanted, known):
    """Search the edges that have one of the labels."""
    graph = nx.DiGraph([(v, w) for v, w, label in triples if wanted is None or label in wanted])
    graph.add_nodes_from(known)
    return {(v, w) for v in known for w in nx.descendants(graph, v)}


class Machine(RuleBasedStateMachine):
    """Batches, closures that come and go, and vertices that are dropped, against a set of triples."""

    engine = "lanes"

    @initialize(start=st.lists(edges, max_size=12))
    def begin(self, start):
        self.graph = LabelledGraph.from_edges(start, engine=self.engine, backend="local")
        self.triples, self.known = set(start), {end for edge in start for end in edge[:2]}
        self.version, self.kept = 0, {}

    def changed(self):
        """Let a version begin: what each closure had is what its changes are compared with."""
        self.version += 1
        self.kept = {wanted: pairs_of(self.triples, wanted, self.known) for wanted in self.kept}

    @rule(wanted=st.sampled_from(SETS))
    def ask_for(self, wanted):
        self.graph.closure(wanted)
        self.kept.setdefault(wanted, pairs_of(self.triples, wanted, self.known))

    @rule(wanted=st.sampled_from(SETS))
    def let_go(self, wanted):
        if wanted in self.kept:
            self.graph.closure(wanted).close()
            del self.kept[wanted]

    @rule(batch=changes)
    def apply(self, batch):
        if batch:
            self.changed()
        before = set(self.triples)
        for op, *edge in batch:
            (self.triples.add if op == "insert" else self.triples.discard)(tuple(edge))
        self.known |= {end for edge in self.triples - before for end in edge[:2]}
        result = self.graph.apply(batch)
        counts = len(self.triples - before), len(before - self.triples)
        assert (result.version, result.inserted, result.deleted) == (self.version, *counts)

    @rule(batch=changes, wanted=st.sampled_from(SETS))
    def try_out(self, batch, wanted):
        self.ask_for(wanted)
        after = set(self.triples)
        for op, *edge in batch:
            (after.add if op == "insert" else after.discard)(tuple(edge))
        known = self.known | {end for edge in after - self.triples for end in edge[:2]}
        old, new = pairs_of(self.triples, wanted, self.known), pairs_of(after, wanted, known)
        found = {(v, w, op) for v, w, op, _ in rows(self.graph.closure(wanted).arrow.what_if(batch))}
        assert found == {(*pair, "insert") for pair in new - old} | {(*pair, "delete") for pair in old - new}

    @precondition(lambda self: self.triples)
    @rule(data=st.data())
    def delete_one_label(self, data):
        self.apply([("delete", *data.draw(st.sampled_from(sorted(self.triples))))])

    @rule()
    def drop(self):
        alone = sorted(self.known - {end for edge in self.triples for end in edge[:2]})
        if alone:
            self.changed()
            self.known -= set(alone)
        self.graph.drop(alone)

    @invariant()
    def same_edges(self):
        assert rows(self.graph.arrow.edges()) == sorted(self.triples)
        assert set(self.graph.arrow.vertices()["vertex"].to_pylist()) == self.known
        assert self.graph.version == self.version
        counts = {label: sum(label == edge[2] for edge in self.triples) for label in LABELS}
        assert dict(rows(self.graph.arrow.labels())) == {label: count for label, count in counts.items() if count}

    @invariant()
    def same_closures(self):
        assert {closure.labels for closure in self.graph.closures} == set(self.kept)
        for closure in self.graph.closures:
            pairs = pairs_of(self.triples, closure.labels, self.known)
            assert closure.version == self.version
            assert set(rows(closure.arrow.pairs())) == pairs
            for pair in product(self.known, repeat=2):
                assert closure.reaches(*pair) == (pair[0] == pair[1] or pair in pairs)
            before = self.kept[closure.labels]
            assert {row[:3] for row in rows(closure.arrow.changes())} == (
                {(*pair, "insert") for pair in pairs - before} | {(*pair, "delete") for pair in before - pairs}
            )


class NarrowMachine(Machine):
    """Stripes of two lanes, so that there are many."""

    engine = "narrow lanes"


@pytest.fixture(autouse=True, scope="module")
def _narrow_engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.ENGINES, NarrowMachine.engine, lambda: Lanes(width=2))
        yield


TestLanes, TestNarrow = (machine.TestCase for machine in (Machine, NarrowMachine))
for case in (TestLanes, TestNarrow):
    case.settings = settings(max_examples=12, stateful_step_count=12)
del case  # pytest would run the last one twice


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lanes", "narrow lanes", "centres", "recompute", "algebraic", "logarithmic"])
def test_long_sequences(engine):
    case = type("Long", (Machine,), {"engine": engine}).TestCase()
    case.settings = settings(max_examples=60, stateful_step_count=20)
    case.runTest()


# --- what the machine does not tell ---------------------------------------------------------------

STAFF = [("anna", "staff", "member"), ("staff", "wiki", "viewer"), ("anna", "wiki", "owner")]


def test_an_edge_goes_from_a_closure_when_its_last_label_goes():
    g = LabelledGraph.from_edges([("a", "b", "x"), ("a", "b", "y")])
    both = g.closure({"x", "y"})
    assert both.arrow.edges().num_rows == 1
    assert g.delete([("a", "b", "x")]) == BatchResult(1, deleted=1)
    assert both.reaches("a", "b")
    assert both.arrow.changes().num_rows == 0
    g.apply([("insert", "a", "b", "x"), ("delete", "a", "b", "y")])
    assert both.reaches("a", "b")
    g.delete([("a", "b", "x")])
    assert not both.reaches("a", "b")
    assert rows(both.arrow.changes()) == [("a", "b", "delete", 3)]


def test_closures_share_vertices_and_the_edges_of_a_label():
    g = LabelledGraph.from_edges(STAFF)
    member, every = g.closure({"member"}), g.closure()
    g.insert([("ben", "staff", "member"), ("ben", "x", "other")])
    graphs = [closure.parts.door.now.graph for closure in (member, every)]
    assert graphs[0].vertices is graphs[1].vertices is g._now.edges.vertices
    assert graphs[0].edges is g._now.edges.by_label["member"]
    assert not member.reaches("anna", "x")  # a vertex of the graph, which no edge of this closure has
    with pytest.raises(UnknownVertexError):
        member.reaches("anna", "nobody")
    assert g.closure(["member"]) is member


def test_a_batch_of_other_labels_leaves_an_engine_alone():
    g = LabelledGraph.from_edges(STAFF)
    member = g.closure({"member"})
    engine = member.parts.door.engine.current
    before = engine.stats()["batches"]
    g.apply([("delete", "staff", "wiki", "viewer"), ("insert", "staff", "wiki", "owner")])
    assert (member.version, engine.stats()["batches"]) == (1, before)
    g.insert([("staff", "anna", "member")])
    assert engine.stats()["batches"] == before + 1


@pytest.mark.parametrize("first", [{"x"}, {"y"}])
def test_a_batch_that_one_engine_refuses_changes_nothing(first):
    """The edges with x have no cycle after it, those with x or y have one."""
    g = LabelledGraph.from_edges([("a", "b", "x"), ("b", "c", "y"), ("c", "d", "x")], engine="path_counting")
    closures = [g.closure(first), g.closure({"x", "y"}), g.closure({"x"})]
    g.insert([("d", "e", "y")])
    before = [(rows(c.arrow.pairs()), rows(c.arrow.changes()), c.version) for c in closures]
    edges, version = rows(g.arrow.edges()), g.version
    with pytest.raises(CycleError, match="c → d → new") as caught:
        g.apply([("insert", "d", "new", "x"), ("insert", "new", "a", "x"), ("delete", "d", "e", "y")])
    assert set(caught.value.cycle) == {"a", "b", "c", "d", "new"}
    assert [(rows(c.arrow.pairs()), rows(c.arrow.changes()), c.version) for c in closures] == before
    assert (rows(g.arrow.edges()), g.version, len(g)) == (edges, version, 5)
    g.apply([("delete", "b", "c", "y"), ("insert", "d", "new", "x"), ("insert", "new", "a", "x")])
    assert closures[1].reaches("c", "b")
    assert {c.version for c in closures} == {version + 1}


def test_a_closure_that_cannot_be_built_is_not_kept():
    g = LabelledGraph.from_edges([("a", "b", "x"), ("b", "a", "y")], engine="path_counting")
    with pytest.raises(CycleError):
        g.closure()
    assert g.closures == []
    assert g.closure({"x"}).reaches("a", "b")


def test_an_engine_that_fails_halfway_is_brought_back(monkeypatch):
    g = LabelledGraph.from_edges(STAFF)
    first, second = g.closure({"member"}), g.closure()

    def broken(_inserted, _deleted):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(second.parts.door.engine, "apply", broken)
        with pytest.raises(MemoryError):
            g.insert([("ben", "staff", "member")])
    assert (g.version, first.version, second.version, len(g)) == (0, 0, 0, 3)
    assert rows(first.arrow.pairs()) == [("anna", "staff")]
    g.insert([("ben", "staff", "member")])
    assert first.reaches("ben", "staff")
    assert second.reaches("ben", "wiki")


def test_labels_of_a_path():
    g = LabelledGraph.from_edges([*STAFF, ("anna", "staff", "owner")])
    path = g.closure({"member", "viewer"}).arrow.explain("anna", "wiki")
    assert [tuple(row.values()) for row in g.arrow.labels_of(path).to_pylist()] == [
        ("anna", "staff", "member"),
        ("anna", "staff", "owner"),
        ("staff", "wiki", "viewer"),
    ]
    assert g.arrow.labels_of([("wiki", "anna"), ("nobody", "wiki")]).num_rows == 0


def test_vertices_without_edges_and_a_graph_without_any():
    g = LabelledGraph.from_edges(STAFF, vertices=["carol", "anna"])
    assert sorted(g.closure({"member"}).arrow.vertices()["vertex"].to_pylist()) == ["anna", "carol", "staff", "wiki"]
    empty = LabelledGraph.from_edges([])
    closure = empty.closure({"x"})
    assert (closure.arrow.pairs().num_rows, len(empty), empty.arrow.edges().num_rows) == (0, 0, 0)
    empty.insert([(1, 2, "x")])
    assert closure.reaches(1, 2)


def test_questions_of_every_kind():
    g = LabelledGraph.from_edges([*STAFF, ("wiki", "anna", "back")])
    view = g.closure({"member", "viewer", "back"})
    assert (len(view), ("anna", "wiki") in view, "carol" in view, view.is_acyclic()) == (3, True, False, False)
    assert view.distance("anna", "wiki") == 2
    assert set(view.to_networkx().edges) == {("anna", "staff"), ("staff", "wiki"), ("wiki", "anna")}
    assert view.stats()["pairs"] == 6
    assert rows(view.arrow.components()) == [(name, "anna", 3) for name in ("anna", "staff", "wiki")]
    for name, member in vars(type(view)).items():
        assert name.startswith("_") or member.__doc__, name


# --- threads --------------------------------------------------------------------------------------


def test_closures_are_at_one_version_whatever_threads_do():
    """Each batch moves one edge from x to y: the closure over both never misses it, and those of one agree."""
    g = LabelledGraph.from_edges([("a", "b", "x"), ("b", "c", "x")])
    wrong, asked, done = [], [0], threading.Event()

    def ask():
        while not done.is_set():
            both = g.closure({"x", "y"})
            if not both.reaches("a", "c"):
                wrong.append("a path is missing")
            with g.reading() as version:
                one, other = g.closure({"x"}), g.closure({"y"})
                found = (one.reaches("a", "b"), other.reaches("a", "b"))
                if found != (version % 2 == 0, version % 2 == 1):
                    wrong.append((version, found))
                if {closure.version for closure in (one, other, both)} != {version}:
                    wrong.append("versions differ")
            asked[0] += 1

    with switching_often():
        askers = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
        for thread in askers:
            thread.start()
        for number in range(60):
            old, new = ("x", "y") if number % 2 == 0 else ("y", "x")
            g.apply([("delete", "a", "b", old), ("insert", "a", "b", new)])
            if number % 10 == 5:
                g.closure({"x", "y"}).arrow.pairs()
        done.set()
        for thread in askers:
            thread.join(SECONDS)
    assert not wrong
    assert asked[0]
    assert not any(thread.is_alive() for thread in askers)


def test_several_threads_change_it_and_ask_for_new_closures():
    g = LabelledGraph.from_edges([])
    threads, each = 4, 20

    def write(mine):
        for number in range(each):
            g.insert([(mine, 100 + number, f"l{mine}"), (100 + number, 1000, "all")])
            assert g.closure({f"l{mine}", "all"}).reaches(mine, 1000)

    with switching_often():
        writers = [threading.Thread(target=write, args=(mine,), daemon=True) for mine in range(threads)]
        for thread in writers:
            thread.start()
        for thread in writers:
            thread.join(SECONDS)
    assert g.version == threads * each
    assert len(g.closures) == threads
    assert g.closure().arrow.ancestors(1000).num_rows == threads + each


# --- Spark ----------------------------------------------------------------------------------------


@pytest.mark.connect
def test_answers_as_dataframes(spark):
    edges = spark.createDataFrame(STAFF, "src string, dst string, label string")
    g = LabelledGraph.from_edges(edges)
    view = g.closure({"member", "viewer"})
    assert {tuple(row) for row in view.pairs().collect()} == {("anna", "staff"), ("anna", "wiki"), ("staff", "wiki")}
    g.delete(spark.createDataFrame([STAFF[1]], edges.schema))
    assert {tuple(row) for row in view.pairs().collect()} == {("anna", "staff")}
    assert [tuple(row) for row in view.changes().orderBy("src").collect()] == [
        ("anna", "wiki", "delete", 1),
        ("staff", "wiki", "delete", 1),
    ]
    asked = spark.createDataFrame([("anna", "staff"), ("anna", "wiki"), ("anna", "x")], "src string, dst string")
    assert [row.reachable for row in view.query(asked).orderBy("dst").collect()] == [True, False, None]
    lost = view.what_if([("delete", *STAFF[0])])
    assert [tuple(row) for row in lost.collect()] == [("anna", "staff", "delete", 2)]
    assert {tuple(row) for row in g.edges().collect()} == {STAFF[0], STAFF[2]}
    assert {tuple(row) for row in g.labels().collect()} == {("member", 1), ("owner", 1)}
    assert g.vertices().count() == 3


@pytest.mark.usefixtures("_few_functions")
def test_sql_views_of_several_closures_see_each_batch(spark):
    g = LabelledGraph.from_edges(STAFF, spark)
    g.closure({"member", "viewer"}).create_views("may_view")
    g.closure({"owner"}).create_views("may_own")

    def found(view):
        return {tuple(row) for row in spark.sql(f"SELECT src, dst FROM {view}_closure").collect()}  # noqa: S608

    assert found("may_own") == {("anna", "wiki")}
    g.apply([("insert", "ben", "staff", "member"), ("delete", "anna", "wiki", "owner")])
    assert found("may_own") == set()
    assert found("may_view") == {(v, w) for v in ("anna", "ben") for w in ("staff", "wiki")} | {("staff", "wiki")}
    g.delete([("ben", "staff", "member")])
    g.drop(["ben"])
    assert found("may_view") == {("anna", "staff"), ("anna", "wiki"), ("staff", "wiki")}
    g.use(spark)
    assert g.closure({"member", "viewer"}).reaches("anna", "wiki")


def test_closures_whose_state_is_on_spark(spark):
    g = LabelledGraph.from_edges(STAFF, spark, backend="spark")
    view, own = g.closure({"member", "viewer"}), g.closure({"owner"})
    g.apply([("insert", "ben", "staff", "member"), ("delete", "anna", "wiki", "owner")])
    assert {closure.stats()["backend"] for closure in (view, own)} == {"spark"}
    assert rows(view.arrow.changes()) == [("ben", "staff", "insert", 1), ("ben", "wiki", "insert", 1)]
    assert rows(own.arrow.changes()) == [("anna", "wiki", "delete", 1)]
    assert own.pairs().count() == 0
