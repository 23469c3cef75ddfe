"""Parallel edges that are counted: an edge that came twice goes when it was deleted twice."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges
from dyntc_spark.errors import ConflictError, ContradictionError, DamagedBlockError, RedundantChangeError, StorageError
from dyntc_spark.graph.changes import copies
from dyntc_spark.graph.changes.copies import Copies
from dyntc_spark.graph.store import checkpoint, steps, store
from tests.graph.oracle import Counted
from tests.store.closures import pairs
from tests.store.conftest import BrokenError, without_spark

vertices = st.sampled_from("abcde")
edges = st.tuples(vertices, vertices)
some = st.lists(edges, max_size=10)
changes = st.lists(st.tuples(st.sampled_from(["insert", "delete"]), vertices, vertices), min_size=1, max_size=10)


def counts(closure):
    """The edges of a closure with their counts."""
    table = closure.arrow.edges()
    assert table.column_names == ["src", "dst", "count"]
    return {(src, dst): count for src, dst, count in zip(*table.to_pydict().values(), strict=True)}


class Machine(RuleBasedStateMachine):
    """A closure in memory, against a Counter."""

    @initialize(start=some)
    def begin(self, start):
        self.closure, self.plain = DynamicClosure.from_edges(start, multigraph=True), Counted(start)
        self.versions = {0: dict(self.plain.counts)}

    def note(self):
        self.versions[self.closure.version] = dict(self.plain.counts)

    @rule(batch=changes)
    def apply(self, batch):
        told = self.plain.apply(batch)
        done = self.closure.apply(batch)
        assert (done.inserted, done.deleted, done.ignored) == told
        self.note()

    @rule(chosen=st.lists(edges, min_size=1, max_size=6))
    def insert(self, chosen):
        self.plain.apply([("insert", *edge) for edge in chosen])
        assert self.closure.insert(chosen, strict=True).inserted == len(chosen)
        self.note()

    @rule(data=st.data())
    def delete_what_is_there(self, data):
        every = sorted(self.plain.counts.elements())
        if every:
            chosen = data.draw(st.lists(st.sampled_from(range(len(every))), min_size=1, unique=True))
            self.plain.apply([("delete", *every[place]) for place in chosen])
            assert self.closure.delete([every[place] for place in chosen], strict=True).deleted == len(chosen)
            self.note()

    @rule(edge=edges, more=st.integers(1, 3))
    def too_many_are_refused(self, edge, more):
        wrong = [edge] * (self.plain.counts[edge] + more)
        with pytest.raises(RedundantChangeError, match=f"in row {self.plain.counts[edge]} the deletion of"):
            self.closure.delete(wrong, strict=True)

    @rule(chosen=some)
    def reset(self, chosen):
        self.closure.reset(chosen)
        self.plain.reset(chosen)
        self.note()

    @rule(batch=changes)
    def what_if(self, batch):
        other = Counted(self.plain.counts.elements())
        other.vertices |= self.plain.vertices
        other.apply(batch)
        found = self.closure.arrow.what_if(batch)
        won, lost = ({tuple(row[:2]) for row in zip(*found.to_pydict().values(), strict=True) if row[2] == op}
                     for op in ("insert", "delete"))  # fmt: skip
        assert (won, lost) == (other.pairs() - self.plain.pairs(), self.plain.pairs() - other.pairs())

    @invariant()
    def same(self):
        assert counts(self.closure) == dict(self.plain.counts)
        assert pairs(self.closure) == self.plain.pairs()
        assert self.closure._parts.door.now.graph.size == self.plain.counts.total()


class StoredMachine(Machine):
    """A closure at a location: opened again, followed, looked back from, and broken off between log and commit."""

    @initialize(start=some)
    def begin(self, start):
        super().begin(start)
        self.folder = tempfile.mkdtemp()
        self.location = str(Path(self.folder, "deps"))
        self.closure.save(self.location)
        self.other = DynamicClosure.open(self.location)

    def teardown(self):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    @rule()
    def open(self):
        self.closure = DynamicClosure.open(self.location)

    @rule()
    def checkpoint(self):
        self.closure.save(self.location)

    @rule()
    def follow(self):
        self.other.refresh()
        assert counts(self.other) == dict(self.plain.counts)

    @precondition(lambda self: self.other.version < self.closure.version)
    @rule()
    def two_writers(self):
        with pytest.raises(ConflictError):
            self.other.insert([("a", "b")])
        self.other.refresh()
        self.other.insert([("a", "b")])
        self.plain.apply([("insert", "a", "b")])
        self.closure.refresh()
        self.note()

    @rule(step=st.sampled_from(["log", "publish"]), after=st.booleans())
    def break_off(self, step, after):
        """Break a batch off; the one that is sent again under its name counts once."""
        name, batch = (
            f"batch {self.closure.version}",
            [("insert", "a", "b"), ("insert", "a", "b"), ("delete", "c", "c")],
        )
        real = steps.run

        def run(which, write):
            if which != step:
                return real(which, write)
            if after:
                real(which, write)
            raise BrokenError(which)

        steps.run = run
        try:
            self.closure.apply(batch, batch_id=name)
        except StorageError:
            assert counts(self.closure) == dict(self.plain.counts)
        finally:
            steps.run = real
        self.closure = DynamicClosure.open(self.location)
        self.closure.apply(batch, batch_id=name)
        self.plain.apply(batch)
        self.note()

    @rule(data=st.data())
    def look_back(self, data):
        version = data.draw(st.sampled_from(sorted(self.versions)))
        assert counts(self.closure.at(version)) == self.versions[version]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Bring later counts in often, and write checkpoints often."""
    monkeypatch.setattr(copies, "LEAST_CHANGES", 3)
    monkeypatch.setattr(store, "CHECKPOINT_BATCHES", 4)


def run(machine, examples):
    case = machine.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=15, deadline=None)
    with without_spark():
        case().runTest()


def test_any_sequence():
    run(Machine, 25)


@pytest.mark.long
def test_any_sequence_at_a_location():
    run(StoredMachine, 8)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Machine, StoredMachine])
def test_many_sequences(machine):
    run(machine, 300)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=40))
def test_copies_are_a_mapping(written):
    found, plain, before = Copies(), {}, []
    for key, beyond in written:
        before.append((found, dict(plain)))
        found = found.replaced(Edges.of([key], [key]), np.array([beyond]))
        plain[key] = beyond
    for each, wanted in [*before, (found, plain)]:  # what was there stays as it was
        numbers = list(range(10))
        assert each.beyond(Edges.of(numbers, numbers)).tolist() == [wanted.get(key, 0) for key in numbers]
        assert each.total == sum(wanted.values())


def test_two_sources_of_one_edge():
    """What a set would lose: two jobs write an edge, and one of them is retired."""
    rows = pd.DataFrame({"src": ["raw", "raw", "clean"], "dst": ["clean", "clean", "report"], "job": [1, 2, 3]})
    c, plain = (DynamicClosure.from_edges(rows, multigraph=multigraph) for multigraph in (True, False))
    for closure in (c, plain):
        closure.delete(rows[rows.job == 1])
    assert c.reaches("raw", "report")
    assert not plain.reaches("raw", "report")
    assert plain.arrow.edges().column_names == ["src", "dst"]
    assert c.delete([("raw", "clean")]).deleted == 1
    assert not c.reaches("raw", "report")
    assert c.delete([("raw", "clean")]).ignored == 1
    assert c.stats()["deletions_ignored"] == 1


def test_changes_of_a_batch_add_up_whatever_their_times():
    c = DynamicClosure.from_edges([(1, 2)], multigraph=True)
    rows = {"op": ["delete", "insert", "insert"], "src": [1, 1, 7], "dst": [2, 2, 8], "timestamp": [9, 9, 0]}
    done = c.apply(pd.DataFrame(rows))
    assert (done.version, done.inserted, done.deleted, done.ignored) == (1, 1, 0, 0)
    assert counts(c) == {(1, 2): 1, (7, 8): 1}
    c.apply([("insert", 9, 9), ("delete", 9, 9)])
    assert 9 not in c.arrow.vertices()["vertex"].to_pylist()
    with pytest.raises(ContradictionError):
        DynamicClosure.from_edges([(1, 2)]).apply(pd.DataFrame(rows))


def test_what_is_stored_is_checked(tmp_path):
    with without_spark():
        c = DynamicClosure.from_edges([(1, 2)] * 3 + [(2, 3)], multigraph=True)
        location = str(tmp_path / "deps")
        c.save(location)
        found = store.Store.required(c._parts.attachment.store.place)
        commit = found.head
        assert (commit.edges, commit.copies) == (2, 4)
        rows = c._parts.attachment.store.place.read("vertices")
        assert sorted(zip(rows["successors"].to_pylist(), rows["copies"].to_pylist(), strict=True)) == [
            ([], []),
            ([1], [3]),
            ([2], [1]),
        ]
        lists = rows.column("copies").combine_chunks()
        more = pa.ListArray.from_arrays(lists.offsets, pc.add(lists.flatten(), 1))
        damaged = rows.set_column(rows.column_names.index("copies"), "copies", more)
        with pytest.raises(DamagedBlockError, match="checksum"):
            checkpoint.read(commit, {"vertices": damaged})
        with pytest.raises(DamagedBlockError, match="'copies'"):
            checkpoint.read(commit, {"vertices": rows.drop_columns("copies")})
