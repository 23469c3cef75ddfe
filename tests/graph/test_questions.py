"""Everyday questions in this process, against NetworkX and plain searches; no Spark."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark import DynamicClosure
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.errors import (
    ClosedError,
    CycleError,
    InputError,
    OptionError,
    RedundantChangeError,
    UnknownOperationError,
    UnknownVertexError,
    VertexTypeError,
)
from tests.graph.oracle import Plain

VERTICES = st.integers(0, 8)
EDGES = st.lists(st.tuples(VERTICES, VERTICES), max_size=16)
CHANGES = st.lists(st.tuples(st.sampled_from(["insert", "delete"]), st.integers(0, 10), st.integers(0, 10)), max_size=8)
few = settings(max_examples=40)


def rows(table):
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def column(table):
    return set(table["vertex"].to_pylist())


def made(edges, engine="lanes", alone=(20, 21)):
    """Make a closure, in which numbers are free and a vertex is alone, and its graph for NetworkX."""
    c = DynamicClosure.from_edges(edges, engine=engine, vertices=list(alone))
    c.drop([alone[0]])
    return c, c.to_networkx()


# --- what the edges tell ---------------------------------------------------------------------


@few
@given(EDGES)
def test_components_and_cycles(edges):
    c, graph = made(edges)
    groups: dict[int, set[int]] = {}
    for vertex, component, size in rows(c.arrow.components()):
        groups.setdefault(component, set()).add(vertex)
        assert size == len(nx.descendants(graph, vertex) & nx.ancestors(graph, vertex) | {vertex})
    assert all(component in group for component, group in groups.items())
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, nx.strongly_connected_components(graph)))
    cycles: dict[int, list[tuple[int, int]]] = {}
    for component, hop, src, dst in rows(c.arrow.cycles()):
        cycles.setdefault(component, []).append((src, dst))
        assert hop == len(cycles[component])
    assert set(cycles) == {v for v, group in groups.items() if len(group) > 1 or graph.has_edge(v, v)}
    for component, steps in cycles.items():
        assert all(graph.has_edge(*step) for step in steps)
        assert [src for src, _ in steps] == [component, *(dst for _, dst in steps[:-1])]
        assert steps[-1][1] == component
        others = [w for w in graph.successors(component) if w != component and w in groups[component]]
        shortest = min((nx.shortest_path_length(graph, w, component) + 1 for w in others), default=1)
        assert len(steps) == shortest
    assert c.is_acyclic() == c.arrow.is_acyclic() == nx.is_directed_acyclic_graph(graph)


@few
@given(EDGES)
def test_roots_and_leaves(edges):
    c, graph = made(edges)
    assert column(c.arrow.roots()) == {v for v in graph if graph.in_degree(v) == 0}
    assert column(c.arrow.leaves()) == {v for v in graph if graph.out_degree(v) == 0}


def test_a_long_cycle_and_a_large_component():
    ring = [(v, (v + 1) % 3000) for v in range(3000)]
    c = DynamicClosure.from_edges([*ring, (7, 5000), (5000, 5000)])
    assert rows(c.arrow.cycles())[-1] == (5000, 1, 5000, 5000)
    assert c.arrow.cycles().num_rows == 3001
    assert set(c.arrow.components()["size"].to_pylist()) == {3000, 1}


# --- what the closure tells ------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=10)
@given(edges=EDGES)
def test_answers_of_every_engine(engine, edges):
    if engine == "path_counting":
        edges = [(a, b) for a, b in edges if a < b]
    c, graph = made(edges, engine)
    below = {v: nx.descendants(graph, v) - {v} for v in graph}
    above = {v: nx.ancestors(graph, v) - {v} for v in graph}
    ranked = rows(c.arrow.impact(top=100))
    assert sorted(ranked) == sorted((v, len(above[v]), len(below[v])) for v in graph)
    assert [count for _, count, _ in ranked] == sorted((len(found) for found in above.values()), reverse=True)
    assert (
        c.arrow.impact(top=2, by="descendants")["descendants"].to_pylist()
        == sorted((len(found) for found in below.values()), reverse=True)[:2]
    )
    pairs = [(a, b) for a in graph for b in graph]
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    assert rows(c.arrow.distance(pairs)) == [(a, b, lengths[a].get(b)) for a, b in pairs]
    for a, b in pairs[:: max(len(pairs) // 7, 1)]:
        assert c.distance(a, b) == lengths[a].get(b)
        inside = (below[a] | {a}) & (above[b] | {b})
        assert column(c.arrow.between(a, b)) == inside
        assert set(rows(c.arrow.between(a, b, edges=True))) == {(v, w) for v, w in graph.edges if {v, w} <= inside}
        assert column(c.arrow.common_ancestors(a, b)) == above[a] & above[b]
        assert column(c.arrow.common_ancestors(a, b, reflexive=True)) == (above[a] | {a}) & (above[b] | {b})
        assert column(c.arrow.common_descendants(a, b)) == below[a] & below[b]
        assert ((a, b) in c) == (b in lengths[a])
    assert len(c) == len(graph)


@pytest.mark.parametrize("edges", [[], [(1, 1)]])
def test_small_graphs(edges):
    c = DynamicClosure.from_edges(edges)
    assert len(c) == len(edges)
    assert c.arrow.components().num_rows == len(edges)
    assert c.arrow.cycles().num_rows == len(edges)
    assert c.is_acyclic() != bool(edges)
    assert c.arrow.impact().num_rows == len(edges)
    assert c.arrow.roots().num_rows == c.arrow.leaves().num_rows == 0
    assert c.arrow.distance([]).column_names == ["src", "dst", "distance"]
    assert c.arrow.what_if([]).num_rows == 0


def test_impact_counts_many_stripes_by_words():
    """Wide enough for several portions of stripes, and for components of several members."""
    random = np.random.default_rng(5)
    edges = random.integers(3000, size=(3600, 2)).tolist()
    c = DynamicClosure.from_edges(edges)
    pairs = c.arrow.pairs()
    for end, name in (("src", "descendants"), ("dst", "ancestors")):
        counts = {row["values"]: row["counts"] for row in pairs[end].combine_chunks().value_counts().to_pylist()}
        assert dict(zip(*c.arrow.impact(top=5000).select(["vertex", name]).to_pydict().values(), strict=True)) == {
            v: counts.get(v, 0) for v in c.arrow.vertices()["vertex"].to_pylist()
        }


def test_questions_that_cannot_be_asked():
    c = DynamicClosure.from_edges([("a", "b")])
    for question in (c.distance, c.arrow.between, c.arrow.common_ancestors):
        with pytest.raises(UnknownVertexError, match="'x'"):
            question("a", "x")
    with pytest.raises(UnknownVertexError, match="'x'"):
        c.arrow.distance([("a", "x")])
    assert c.arrow.distance([("a", "x"), ("a", "b")], unknown="false")["distance"].to_pylist() == [None, 1]
    with pytest.raises(InputError, match=r"got str\..*For one pair: distance\(a, b\)"):
        c.distance("a")
    with pytest.raises(OptionError, match="top, a number of vertices"):
        c.arrow.impact(top=-1)
    with pytest.raises(OptionError, match="by='ancestors'"):
        c.arrow.impact(by="size")
    with pytest.raises(InputError, match=r"a pair \(a, b\), or a vertex; got \('a', 'b', 'c'\)"):
        ("a", "b", "c") in c  # noqa: B015
    with pytest.raises(VertexTypeError):
        1 in c  # noqa: B015


# --- batches that are not applied ------------------------------------------------------------


def seen(c):
    """Return all that a batch could change."""
    told = c.stats()
    del told["details"]["seconds_of_last_batch"]
    return told, rows(c.arrow.pairs()), rows(c.arrow.edges()), rows(c.arrow.vertices()), rows(c.arrow.changes())


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12)
@given(edges=EDGES, scripts=st.lists(CHANGES, min_size=1, max_size=3))
def test_what_if_says_what_apply_does(engine, edges, scripts):
    if engine == "path_counting":
        edges = [(a, b) for a, b in edges if a < b]
        scripts = [[(op, a, b) for op, a, b in changes if a < b] for changes in scripts]
    c, _ = made(edges, engine)
    for changes in scripts:
        c.arrow.changes()
        before = rows(c.arrow.pairs()), rows(c.arrow.vertices()), rows(c.arrow.changes()), c.version
        told = c.arrow.what_if(changes)
        assert (rows(c.arrow.pairs()), rows(c.arrow.vertices()), rows(c.arrow.changes()), c.version) == before
        plain = Plain(rows(c.arrow.edges()))
        plain.vertices |= column(c.arrow.vertices())
        old = plain.pairs()
        plain.apply(changes)
        lost = {(*pair, "delete") for pair in old - plain.pairs()}
        assert {row[:3] for row in rows(told)} == lost | {(*pair, "insert") for pair in plain.pairs() - old}
        assert {row[3] for row in rows(told)} <= {c.version + 1}
        if changes:
            c.apply(changes)
            assert sorted(rows(c.arrow.changes())) == sorted(rows(told))
    assert c.verify()


def test_many_trials_leave_a_large_closure_as_it_is():
    """Trials write behind the stripes of the closure, in the same pools."""
    random = np.random.default_rng(11)
    c = DynamicClosure.from_edges(random.integers(150, size=(260, 2)).tolist())
    for step in range(12):
        ends = random.integers(160, size=(12, 2)).tolist()
        edges = rows(c.arrow.edges())
        gone = [edges[k] for k in random.integers(len(edges), size=12)]
        changes = [("insert", *edge) for edge in ends] + [("delete", *edge) for edge in gone]
        before = seen(c)
        told = sorted(rows(c.arrow.what_if(changes)))
        assert seen(c) == before
        if step % 3 == 0:
            c.apply(changes)
            assert sorted(rows(c.arrow.changes())) == told
            assert c.verify()


@pytest.mark.parametrize("engine", ["lanes", "recompute", "path_counting"])
@pytest.mark.parametrize(
    ("changes", "strict", "error"),
    [
        ([("insert", "a", "x"), ("turn", "a", "b")], False, UnknownOperationError),
        ([("insert", "a", "x"), ("insert", "a", "b")], True, RedundantChangeError),
        ([("insert", 1, 2)], False, VertexTypeError),
        ([("insert", "x", "y"), ("insert", "c", "a")], False, CycleError),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_bad_batch_is_refused_as_by_apply(engine, changes, strict, error):
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")], engine=engine)
    c.insert([("c", "d")])
    before = seen(c) if engine != "path_counting" else None
    if error is CycleError and engine != "path_counting":
        assert c.arrow.what_if(changes).num_rows == 4
    else:
        with pytest.raises(error) as tried:
            c.arrow.what_if(changes, strict=strict)
        with pytest.raises(error) as applied:
            c.apply(changes, strict=strict)
        assert type(tried.value) is type(applied.value)
    assert before is None or seen(c) == before
    assert (c.version, len(c), c.reaches("a", "d"), "x" in c) == (1, 4, True, False)


def test_a_trial_knows_names_of_columns_and_times():
    c = DynamicClosure.from_edges([("a", "b")])
    changes = [{"what": w, "from": "b", "to": "c", "at": t} for w, t in (("delete", 2), ("insert", 1))]
    table = DynamicClosure.from_edges([]).arrow.edges().from_pylist(changes)
    assert c.arrow.what_if(table, op="what", src="from", dst="to", timestamp="at").num_rows == 0
    assert c.arrow.what_if(table, op="what", src="from", dst="to").num_rows == 2


# --- an object of Python ---------------------------------------------------------------------


def test_a_closure_is_closed_at_the_end_of_a_with_statement():
    with DynamicClosure.from_edges([("a", "b")]) as c:
        arrow = c.arrow
        assert ("a", "b") in c
    for question in (
        c.stats,
        c.is_acyclic,
        arrow.edges,
        arrow.pairs,
        lambda: len(c),
        lambda: c.version,
        lambda: c.reaches("a", "b"),
        lambda: c.insert([("b", "c")]),
        lambda: c.arrow.what_if([("insert", "b", "c")]),
        c.in_process,
        c.verify,
    ):
        with pytest.raises(ClosedError, match="a closure that is open; got one that was closed"):
            question()
    assert repr(c) == "DynamicClosure(closed)"
    c.close()


def test_an_error_within_a_with_statement_goes_on():
    with pytest.raises(UnknownVertexError), DynamicClosure.from_edges([("a", "b")]) as c:
        c.reaches("a", "x")
    assert repr(c) == "DynamicClosure(closed)"


def test_a_closure_without_anything_says_how_to_make_one():
    with pytest.raises(InputError, match=r"got nothing\. Use DynamicClosure\.from_edges\(edges\)\. .*open\(location\)"):
        DynamicClosure()
