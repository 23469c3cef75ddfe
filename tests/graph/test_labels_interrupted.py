"""Labelled graphs whose batches are interrupted: the next one finds what was left, and mends it."""

from __future__ import annotations

import contextlib
import random

import pytest

from dyntc_spark import LabelledGraph
from dyntc_spark.errors import ConflictError, SessionError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.labels import labelled_store
from dyntc_spark.graph.labels.closure_set import ClosureSet
from dyntc_spark.graph.store.place import Place
from tests.graph.test_labels import SETS, STAFF, pairs_of, rows


@pytest.fixture
def location(tmp_path):
    return f"{tmp_path}/graph"


def interrupt(*_):
    raise KeyboardInterrupt


def interrupted_at(patch, owner, name, call):
    """Have the call of a method with this number, counted from 0, interrupted before it does anything."""
    method, calls = getattr(owner, name), iter(range(1_000))

    def counted(*args, **options):
        return interrupt() if next(calls) == call else method(*args, **options)

    patch.setattr(owner, name, counted)


def right(g):
    """Compare all closures with a search, and their versions with that of the graph."""
    known = g.arrow.vertices()["vertex"].to_pylist()
    for closure in g.closures:
        assert closure.version == g.version
        assert rows(closure.arrow.vertices()) == rows(g.arrow.vertices())
        assert set(rows(closure.arrow.pairs())) == pairs_of(rows(g.arrow.edges()), closure.labels, known)


def test_an_engine_is_brought_back_before_a_batch_without_work_for_it(monkeypatch):
    g = LabelledGraph.from_edges([("a", "b", "x"), ("c", "d", "x")], backend="local")
    closure = g.closure({"x"})
    engine = closure.parts.door.engine
    apply = engine.apply

    def late(*changes):
        apply(*changes)
        interrupt()

    with monkeypatch.context() as patch:
        patch.setattr(engine, "apply", late)
        with pytest.raises(KeyboardInterrupt):
            g.insert([("b", "c", "x")])
    g.insert([("a", "b", "y")])  # not for this closure
    assert not closure.reaches("a", "d")
    right(g)


@pytest.mark.parametrize("call", range(3))
def test_closures_that_were_published_alone_are_built_again(call, monkeypatch):
    g = LabelledGraph.from_edges([("a", "b", "x"), ("b", "c", "y")])
    every, x, _ = g.closure(), g.closure({"x"}), g.closure({"y"})
    with monkeypatch.context() as patch:
        interrupted_at(patch, Door, "publish", call)
        with pytest.raises(KeyboardInterrupt):
            g.insert([("c", "d", "x")])
    assert g.version == 0
    g.insert([("q", "r", "y")])  # the numbers of c and d go to others
    right(g)
    assert not every.reaches("a", "r")
    assert "d" not in x


def test_a_graph_that_stays_behind_all_its_closures_brings_them_back(monkeypatch):
    g = LabelledGraph.from_edges(STAFF)
    closure = g.closure()
    with monkeypatch.context() as patch:
        patch.setattr("dyntc_spark.graph.labels.labelled_graph.LabelledVersion", interrupt)
        with pytest.raises(KeyboardInterrupt):
            g.insert([("ben", "staff", "member")])
    assert (closure.version, g.version) == (1, 0)
    with g.reading() as version:
        assert (version, closure.version, g.closure() is closure) == (0, 0, True)
        right(g)


def test_views_that_were_not_shown_are_told_everything(monkeypatch):
    g = LabelledGraph.from_edges(STAFF)
    closure, told = g.closure(), []
    views = closure.parts.views
    with monkeypatch.context() as patch:
        patch.setattr(views, "show", interrupt)
        with pytest.raises(KeyboardInterrupt):
            g.insert([("ben", "staff", "member")])
    assert g.version == 1
    monkeypatch.setattr(views, "show", told.append)
    g.insert([("carol", "staff", "member")])
    g.insert([("dan", "staff", "member")])
    assert told[0] is None
    assert told[1] is not None
    right(g)


@pytest.mark.parametrize("seed", range(3))
def test_interrupts_anywhere(seed, monkeypatch):
    chance = random.Random(seed)  # noqa: S311

    def edge():
        return chance.choice("abcdefgh"), chance.choice("abcdefgh"), chance.choice("xyz")

    g = LabelledGraph.from_edges([edge() for _ in range(6)], backend="local")
    for wanted in SETS:
        g.closure(wanted)
    places = [(Door, "publish"), (Door, "advance"), (Door, "restore"), (ClosureSet, "show")]
    for _ in range(25):
        with monkeypatch.context() as patch:
            interrupted_at(patch, *chance.choice(places), chance.randrange(2 * len(SETS)))
            with contextlib.suppress(KeyboardInterrupt):
                g.apply([(chance.choice(["insert", "delete"]), *edge()) for _ in range(3)])
        with g.reading():
            right(g)


# --- at a location --------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("where", ["the first closure", "the second closure", "the graph"])
def test_a_batch_that_is_durable_is_not_lost_to_its_writer(where, location, monkeypatch):
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    for wanted in (None, {"member"}):
        g.closure(wanted)
    with monkeypatch.context() as patch:
        if where == "the graph":
            patch.setattr("dyntc_spark.graph.labels.labelled_graph.LabelledVersion", interrupt)
        else:
            interrupted_at(patch, Door, "publish", int(where == "the second closure"))
        with pytest.raises(KeyboardInterrupt):
            g.insert([("ben", "staff", "member")])
    assert LabelledGraph.open(location).version == 1
    with pytest.raises(ConflictError, match="may have been published"):
        g.insert([("carol", "staff", "member")])
    assert g.refresh() == 1
    right(g)
    g.insert([("carol", "staff", "member")])
    right(g)
    assert rows(LabelledGraph.open(location).arrow.edges()) == rows(g.arrow.edges())


def test_a_version_is_current_before_the_table_is_compacted(location, monkeypatch):
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    closure = g.closure()
    with monkeypatch.context() as patch:
        patch.setattr(labelled_store, "COMPACT_VERSIONS", 1)
        patch.setattr(Place, "compact", interrupt)
        with pytest.raises(KeyboardInterrupt):
            g.insert([("ben", "staff", "member")])
    assert (g.version, closure.reaches("ben", "wiki")) == (1, True)
    assert g.refresh() == 1
    g.insert([("carol", "staff", "member")])
    assert rows(LabelledGraph.open(location).arrow.edges()) == rows(g.arrow.edges())


@pytest.mark.parametrize("error", [SessionError("a", "b", "c"), KeyboardInterrupt()])
def test_a_version_is_followed_once_also_where_views_are_not_shown(error, location, monkeypatch):
    writer = LabelledGraph.from_edges(STAFF, vertices=["carol"])
    writer.save(location)
    reader = LabelledGraph.open(location)
    reader.closure()
    writer.insert([("ben", "staff", "member")])
    writer.drop(["carol"])

    def failing(_):
        raise error

    for version in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(ClosureSet, "show", failing)
            with pytest.raises(type(error)):
                reader.refresh()
        assert reader.version == version
        right(reader)
    reader.insert([("dan", "staff", "member")])  # it knows which version it has reached
    assert writer.refresh() == reader.version == 3
    right(writer)
    right(reader)
