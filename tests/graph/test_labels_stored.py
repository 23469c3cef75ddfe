"""Labelled graphs at a location: what was saved is what is opened, whoever writes and whatever fails."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import shutil
import uuid

import pytest

from dyntc_spark import DynamicClosure, LabelledGraph
from dyntc_spark.errors import (
    ConflictError,
    DyntcError,
    InputError,
    LocationError,
    OptionError,
    StorageError,
    VersionError,
    VertexTypeError,
)
from dyntc_spark.graph.labels import labelled_store
from dyntc_spark.graph.store import steps
from dyntc_spark.graph.store.place import Place
from tests.graph.test_labels import pairs_of, rows

STAFF = [("anna", "staff", "member"), ("staff", "wiki", "viewer"), ("anna", "wiki", "owner")]


@pytest.fixture
def location(tmp_path):
    return f"{tmp_path}/graph"


def same(one, other):
    assert rows(one.arrow.edges()) == rows(other.arrow.edges())
    assert set(one.arrow.vertices()["vertex"].to_pylist()) == set(other.arrow.vertices()["vertex"].to_pylist())
    assert one.version == other.version


def test_a_graph_that_is_opened_goes_on(location):
    g = LabelledGraph.from_edges(STAFF, vertices=["carol"])
    g.insert([("ben", "staff", "member")])
    g.save(location)
    g.apply([("delete", "anna", "wiki", "owner"), ("insert", "anna", "wiki", "viewer")])
    g.delete([("ben", "staff", "member")])
    g.drop(["ben"])
    g.insert([STAFF[0]])  # nothing new: a version all the same
    opened = LabelledGraph.open(location)
    same(opened, g)
    assert opened.version == 5
    assert opened.closure({"member", "viewer"}).reaches("anna", "wiki")
    opened.insert([("ben", "wiki", "owner")])
    assert g.refresh() == 6
    same(opened, g)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_any_sequence(seed, location, monkeypatch):
    monkeypatch.setattr(labelled_store, "COMPACT_VERSIONS", 4)
    chance = random.Random(seed)  # noqa: S311

    def edge():
        return chance.choice("abcde"), chance.choice("abcde"), chance.choice("xyz")

    g = LabelledGraph.from_edges([edge() for _ in range(6)])
    g.save(location)
    reader, seen = LabelledGraph.open(location), [rows(g.arrow.edges())]
    closure = reader.closure({"x", "y"})
    for step in range(12):
        ends = {end for row in seen[-1] for end in row[:2]}
        alone = [name for name in g.arrow.vertices()["vertex"].to_pylist() if name not in ends]
        if step % 4 == 3 and alone:
            g.drop(alone)
        else:
            g.apply([(chance.choice(["insert", "delete"]), *edge()) for _ in range(4)])
        seen.append(rows(g.arrow.edges()))
        if chance.random() < 0.4:
            reader.refresh()
            same(reader, g)
    same(LabelledGraph.open(location), g)
    reader.refresh()
    known = set(g.arrow.vertices()["vertex"].to_pylist())
    assert set(rows(closure.arrow.pairs())) == pairs_of(seen[-1], {"x", "y"}, known)
    assert closure.version == reader.version == 12
    for version, edges in enumerate(seen):
        assert rows(LabelledGraph.open(location, version).arrow.edges()) == edges


def test_an_older_version_takes_no_changes(location):
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    g.delete([STAFF[0]])
    old = LabelledGraph.open(location, 0)
    assert old.closure().reaches("anna", "staff")
    with pytest.raises(ConflictError, match="Open it without a version"):
        old.insert([("x", "y", "z")])
    with pytest.raises(OptionError):
        old.refresh()
    for version in (-1, 2, True, False, 1.0, "1"):
        with pytest.raises(VersionError, match="from 0 to 1"):
            LabelledGraph.open(location, version)
    with pytest.raises(OptionError):
        LabelledGraph.from_edges(STAFF).refresh()


def test_the_second_of_two_writers_is_refused(location):
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    other = LabelledGraph.open(location)
    closure = other.closure()
    g.insert([("ben", "staff", "member")])
    with pytest.raises(ConflictError, match=r"Call refresh\(\)"):
        other.insert([("carol", "staff", "member")])
    assert (other.version, closure.version, closure.reaches("anna", "wiki"), len(other)) == (0, 0, True, 3)
    assert other.refresh() == 1
    other.insert([("carol", "staff", "member")])
    assert closure.reaches("carol", "wiki")
    assert closure.reaches("ben", "wiki")
    same(LabelledGraph.open(location), other)


@pytest.mark.parametrize("step", ["publish", "confirm"])
@pytest.mark.parametrize("after", [False, True])
def test_a_write_that_fails_leaves_the_graph_as_it_was(step, after, location, monkeypatch):
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    closure, run = g.closure(), steps.run

    def failing(name, write):
        if name == step:
            if after:
                run(name, write)
            raise OSError("no room")
        return run(name, write)

    with monkeypatch.context() as patch:
        patch.setattr(steps, "run", failing)
        if (step, after) == ("publish", True):  # it was published: the failure came after the fact
            g.insert([("ben", "staff", "member")])
        else:
            with pytest.raises(StorageError):
                g.insert([("ben", "staff", "member")])
    if step == "confirm":
        with pytest.raises(ConflictError, match="may have been published"):
            g.insert([("dan", "staff", "member")])
        assert g.refresh() == 1
    there = step == "confirm" or after
    assert closure.reaches("ben", "wiki", unknown="false") == there
    assert g.version == closure.version == int(there)
    g.insert([("carol", "staff", "member")])
    same(LabelledGraph.open(location), g)


@pytest.mark.long
def test_vertices_of_other_types(tmp_path):
    day = dt.date(2026, 3, 2)
    for number, (a, b) in enumerate(
        [(1, 2), (day, day + dt.timedelta(1)), (dt.timedelta(1), dt.timedelta(2)), ({"a b": 1}, {"a b": 2})]
    ):
        location = f"{tmp_path}/{number}"
        g = LabelledGraph.from_edges([(a, b, "x")])
        g.save(location)
        g.insert([(b, a, "y")])
        opened = LabelledGraph.open(location)
        assert opened.arrow.edges().schema == g.arrow.edges().schema
        assert opened.closure().reaches(b, a)
    g = LabelledGraph.from_edges([(1, 1, "x")])
    g.save(f"{tmp_path}/numbers")
    g.delete([(1, 1, "x")])
    g.drop([1])
    with pytest.raises(VertexTypeError):
        g.insert([("a", "b", "x")])
    assert len(g) == 0


def test_locations_that_are_none(location, tmp_path):
    g = LabelledGraph.from_edges(STAFF)
    with pytest.raises(LocationError, match="a labelled graph at"):
        LabelledGraph.open(location)
    with pytest.raises(InputError, match="a graph with vertices"):
        LabelledGraph.from_edges([]).save(location)
    g.save(location)
    with pytest.raises(LocationError, match="which this one is not attached to"):
        LabelledGraph.from_edges(STAFF).save(location)
    with pytest.raises(LocationError, match=r"LabelledGraph\.open"):
        DynamicClosure.open(location)
    DynamicClosure.from_edges([("a", "b")]).save(f"{tmp_path}/closure")
    with pytest.raises(LocationError, match=r"DynamicClosure\.open"):
        g.save(f"{tmp_path}/closure")
    with pytest.raises(LocationError, match=r"DynamicClosure\.open"):
        LabelledGraph.open(f"{tmp_path}/closure")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("milk")
    with pytest.raises(LocationError, match=r"todo\.txt"):
        g.save(f"{tmp_path}/notes")
    g.insert([("ben", "staff", "member")])  # it is still attached to the first one
    same(LabelledGraph.open(location), g)


def test_saving_where_the_graph_is_writes_nothing(location, tmp_path):
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    g.delete([STAFF[0]])
    files = sorted(tmp_path.rglob("*"))
    g.save(location)
    assert sorted(tmp_path.rglob("*")) == files
    g.insert([("ben", "staff", "member")])
    same(LabelledGraph.open(location), g)
    with pytest.raises(ConflictError, match="Open it without a version"):
        LabelledGraph.open(location, 0).save(location)
    shutil.rmtree(location)
    g.save(location)  # somebody took it away: it is written again
    same(LabelledGraph.open(location), g)


@pytest.mark.long
def test_damaged_files_are_refused(location, tmp_path):
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    file = max((tmp_path / "graph" / "labelled").glob("*.parquet"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(DyntcError):
        LabelledGraph.open(location)
    file.unlink()
    with pytest.raises(DyntcError):
        LabelledGraph.open(location)


def test_a_batch_that_is_sent_twice_counts_once(location):
    g = LabelledGraph.from_edges(STAFF)
    with pytest.raises(OptionError, match="a graph at a location, for a batch_id; got one in memory only"):
        g.apply([("insert", "ben", "staff", "member")], batch_id=7)
    g.save(location)
    other = LabelledGraph.open(location)
    for _ in range(2):
        assert g.apply([("insert", "ben", "staff", "member")], batch_id=7).version == 1
    g.delete([("ben", "staff", "member")])
    assert g.apply([("insert", "ben", "staff", "member")], batch_id="7").version == 2
    for same_graph in (other, LabelledGraph.open(location)):
        same_graph.refresh()
        assert same_graph.apply([("insert", "ben", "staff", "member")], batch_id=7).version == 2
        assert not same_graph.closure().reaches("ben", "wiki")
    for batch_id in ("", True, 1.5, "x" * 501):
        with pytest.raises(OptionError, match="a number or a text of 1 to 500 characters"):
            g.apply([("insert", "ben", "staff", "member")], batch_id=batch_id)


def test_a_batch_whose_fate_was_not_known_is_sent_again(location, monkeypatch):
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    run = steps.run

    def failing(name, write):
        if name == "confirm":
            raise OSError("no network")
        return run(name, write)

    batch = [("insert", "ben", "staff", "member")]
    with monkeypatch.context() as patch:
        patch.setattr(steps, "run", failing)
        with pytest.raises(StorageError):
            g.apply(batch, batch_id="a")
    assert g.refresh() == 1
    assert g.apply(batch, batch_id="a").version == 1


@pytest.mark.long
@pytest.mark.parametrize("stopped", [False, True])
def test_old_versions_go(location, monkeypatch, stopped):
    g = LabelledGraph.from_edges(STAFF, vertices=["carol"])
    g.save(location)
    g.apply([("insert", "ben", "staff", "member")], batch_id="first")
    late = LabelledGraph.open(location)
    g.delete([("ben", "staff", "member"), STAFF[2]])
    g.drop(["ben"])
    reader = LabelledGraph.open(location)
    g.insert([("dan", "staff", "member")])
    seen = {version: LabelledGraph.open(location, version) for version in (3, 4)}
    if stopped:  # after the oldest version was written again, before what is older is deleted
        with monkeypatch.context() as patch:
            patch.setattr(Place, "delete", lambda *_: (_ for _ in ()).throw(OSError("stopped")))
            with pytest.raises(StorageError):
                g.vacuum(2)
        same(LabelledGraph.open(location), g)
    for _ in range(2):
        g.vacuum(2)
    for version, graph in seen.items():
        same(LabelledGraph.open(location, version), graph)
    with pytest.raises(VersionError, match="from 3 to 4"):
        LabelledGraph.open(location, 2)
    assert reader.refresh() == 4
    same(reader, g)
    with pytest.raises(VersionError, match=r"version 1, which the graph is at.*Open the location again"):
        late.refresh()
    assert late.version == 1
    opened = LabelledGraph.open(location)
    assert opened.apply([("insert", "eve", "staff", "member")], batch_id="first").version == 4
    opened.insert([("eve", "staff", "member")])
    opened.vacuum(1, files=False)
    same(LabelledGraph.open(location), opened)
    assert labelled_store._required(opened._store.place).column("version").unique().to_pylist() == [5]


@pytest.mark.parametrize("tokens", ["12", "21"])
def test_two_that_let_versions_go_at_once_leave_one_base(location, monkeypatch, tokens):
    """A location that is no folder of this machine has no lock that would keep them apart."""
    g = LabelledGraph.from_edges(STAFF)
    g.save(location)
    g.insert([("eve", "staff", "member")])
    one, other = LabelledGraph.open(location), LabelledGraph.open(location)
    monkeypatch.setattr(Place, "writing", lambda _: contextlib.nullcontext())
    draw, left = uuid.uuid4, [uuid.UUID(32 * digit) for digit in tokens]
    monkeypatch.setattr(uuid, "uuid4", lambda: left.pop(0) if left else draw())
    append, delete, later = Place.append, Place.delete, []

    def between(place, *rest):
        """Let the other one do all but its deletion."""
        monkeypatch.setattr(Place, "append", append)
        monkeypatch.setattr(Place, "delete", lambda *call: later.append(call))
        other.vacuum(1, files=False)
        monkeypatch.setattr(Place, "delete", delete)
        append(place, *rest)

    monkeypatch.setattr(Place, "append", between)
    one.vacuum(1, files=False)
    (call,) = later
    delete(*call)
    monkeypatch.undo()
    same(LabelledGraph.open(location), g)


def test_what_cannot_be_let_go(location):
    g = LabelledGraph.from_edges(STAFF)
    with pytest.raises(OptionError, match="a graph at a location, for vacuum"):
        g.vacuum(1)
    g.save(location)
    g.vacuum(9)
    for keep in (0, -1, True, "all"):
        with pytest.raises(OptionError, match="at least 1 version to keep"):
            g.vacuum(keep)
    with pytest.raises(ConflictError):
        LabelledGraph.open(location, 0).vacuum(1)
    same(LabelledGraph.open(location), g)
