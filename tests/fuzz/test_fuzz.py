"""Anything at all in the place of edges: an error of ours or a right answer, and after an error nothing has changed."""

from __future__ import annotations

import decimal
import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from dyntc_spark import BatchResult, DynamicClosure
from dyntc_spark.errors import DyntcError, SessionError
from tests.fuzz import values
from tests.graph.oracle import Plain

STARTS = [
    [],
    [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")],
    [(0, 1), (1, 2), (-1, 0)],
    [(0.0, 1.5), (1.5, float("inf"))],
    [(b"", b"x")],
    [({"x": 0, "y": "a"}, {"x": 1, "y": "a"})],
]


def key(value):
    """Name a vertex so that two are the same when their names are."""
    return repr(value)


def seen(closure):
    """What can be asked of a closure, by numbers and names."""
    edges, names = closure.arrow.edges(), closure.arrow.vertices()["vertex"].to_pylist()
    plain = Plain(zip(map(key, edges["src"].to_pylist()), map(key, edges["dst"].to_pylist()), strict=True))
    table = closure.arrow.pairs()
    pairs = set(zip(map(key, table["src"].to_pylist()), map(key, table["dst"].to_pylist()), strict=True))
    assert pairs == plain.pairs(), "the closure is that of its edges"
    assert plain.vertices <= set(map(key, names))
    stats = closure.stats()
    stats.pop("details")
    return closure.version, frozenset(plain.edges), frozenset(map(key, names)), frozenset(pairs), tuple(stats.items())


def tried(closure, act):
    """Let something happen; tell whether it was refused, in which case nothing may have changed."""
    before = seen(closure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy and pandas have opinions about some values
        try:
            act()
        except DyntcError as error:
            refused = error
        else:
            return True
    assert str(refused).startswith("expected ")
    assert seen(closure) == before
    return False


pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # long values are meant
many = settings(suppress_health_check=list(HealthCheck))
OPTIONS = st.fixed_dictionaries({}, optional={"strict": st.booleans() | values.cells})


def check_changes(data):
    closure = DynamicClosure.from_edges(
        data.draw(st.sampled_from(STARTS)), engine=data.draw(st.sampled_from(["lanes", "recompute"]))
    )
    method = data.draw(st.sampled_from(["insert", "delete", "apply", "reset", "drop", "insert_at"]))
    if method == "apply":
        table, options = data.draw(values.tables(3)), data.draw(values.keywords)
        act = lambda: closure.apply(table, **options)  # noqa: E731
    elif method == "drop":
        table = data.draw(
            st.lists(values.cells, max_size=3) | values.tables(2) | st.sampled_from([["d"], [2], ["zzz"]])
        )
        act = lambda: closure.drop(table)  # noqa: E731
    elif method == "insert_at":
        vertex, tails, heads = (
            data.draw(each) for each in (values.cells, values.tables(2), st.lists(values.cells, max_size=3))
        )
        act = lambda: closure.insert_at(vertex, tails, heads)  # noqa: E731
    else:
        table, options = data.draw(values.tables(2)), data.draw(values.keywords)
        if method != "reset":
            options |= data.draw(OPTIONS)
        act = lambda: getattr(closure, method)(table, **options)  # noqa: E731
    version, done = closure.version, []
    if tried(closure, lambda: done.append(act())):
        seen(closure)
        assert done == [BatchResult(version)] or closure.version == done[0].version == version + 1
        if method == "insert" and isinstance(table, list | tuple) and not options:
            assert all(closure.reaches(tail, head) for tail, head in table)


def check_questions(data):
    closure = DynamicClosure.from_edges(data.draw(st.sampled_from(STARTS)))
    one, other = data.draw(values.cells), data.draw(values.cells)
    unknown = data.draw(st.sampled_from(["raise", "false"]) | values.cells)
    ask = data.draw(
        st.sampled_from(
            [
                lambda: closure.reaches(one, other, unknown=unknown),
                lambda: closure.arrow.descendants(one, reflexive=isinstance(unknown, str)),
                lambda: closure.arrow.ancestors(one),
                lambda: closure.arrow.explain(one, other),
                lambda: closure.arrow.explain(data.draw(values.tables(2))),
                lambda: closure.arrow.query(data.draw(values.tables(2)), unknown),
            ]
        )
    )
    before = seen(closure)
    tried(closure, ask)
    assert seen(closure) == before


def check_starts(data):
    table, further = data.draw(values.tables(2)), data.draw(st.just(()) | st.lists(values.cells, max_size=3))
    options = data.draw(values.keywords)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            closure = DynamicClosure.from_edges(table, vertices=further, **options)
        except DyntcError:
            return
    seen(closure)


def test_values_that_raise_when_they_are_compared():
    bad = decimal.Decimal("sNaN")
    closure = DynamicClosure.from_edges([])
    for table in (
        [(bad, bad)],
        pd.DataFrame({"src": [bad], "dst": [bad]}),
        [([bad], [bad])],
        [({"a": bad}, {"a": bad})],
    ):
        for act in (closure.insert, closure.delete, closure.arrow.query):
            assert not tried(closure, lambda act=act, table=table: act(table))


@pytest.mark.parametrize("depth", [40, 2000])
def test_vertices_that_are_nested_deeply(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    closure = DynamicClosure.from_edges([])
    if tried(closure, lambda: closure.insert([(value, value)])):
        assert closure.reaches(value, value)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["out", "in", "both"])
def test_hubs_with_a_hundred_thousand_edges(kind):
    count = 100_000
    leaves, hub = np.arange(1, count + 1), np.zeros(count, np.int64)
    ends = {"out": (hub, leaves), "in": (leaves, hub), "both": (np.append(hub, leaves), np.append(leaves, hub))}[kind]
    closure = DynamicClosure.from_edges([(-1, 0), (0, -2)])
    closure.insert(pa.table({"src": ends[0], "dst": ends[1]}))
    assert closure.arrow.descendants(0).num_rows == 1 + count * (kind != "in")
    assert closure.arrow.ancestors(0).num_rows == 1 + count * (kind != "out")
    assert closure.reaches(-1, 77) == (kind != "in")
    closure.delete(pa.table({"src": ends[0], "dst": ends[1]}))
    assert closure.stats()["pairs"] == 3


CHECKS = {"changes": check_changes, "questions": check_questions, "starts": check_starts}


@pytest.fixture
def _no_session(monkeypatch):
    """Start no Spark for a text, which is the name of a table: test_fuzz_spark.py has a session for these."""

    def refuse(_):
        raise SessionError("a session", "none", "Start one.")

    monkeypatch.setattr("dyntc_spark.graph.parts.session_for", refuse)


@pytest.mark.long
@pytest.mark.usefixtures("_no_session")
@pytest.mark.parametrize("what", CHECKS)
@settings(many, max_examples=60)
@given(st.data())
def test_anything(what, data):
    CHECKS[what](data)


@pytest.mark.slow
@pytest.mark.parametrize("what", CHECKS)
@settings(many, max_examples=5000)
@given(st.data())
def test_anything_by_the_thousand(what, data):
    CHECKS[what](data)
