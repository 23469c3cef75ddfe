"""Older versions of a location: as closures, as differences, and in its history."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import ConflictError, DyntcError, OptionError
from tests.store.closures import START
from tests.store.conftest import without_spark

BATCHES = [
    [("delete", "c", "a"), ("insert", "d", "e")],
    [("insert", "e", "a"), ("insert", "x", "y")],
    [("delete", "x", "y"), ("delete", "d", "e")],
]


def listed(closure):
    return {tuple(pair.values()) for pair in closure.arrow.pairs().to_pylist()}


@pytest.fixture
def versions(tmp_path):
    """Yield a closure with some versions at its location, and the pairs of each."""
    with without_spark():
        c = DynamicClosure.from_edges(START)
        c.save(str(tmp_path / "deps"), record_changes=True)
        found = [listed(c)]
        for batch in BATCHES:
            c.apply(batch)
            found.append(listed(c))
        yield c, found


def test_a_closure_as_of_an_older_version(versions):
    c, found = versions
    for number, pairs in enumerate(found):
        past = c.at(number)
        assert (past.version, listed(past)) == (number, pairs)
    with pytest.raises(ConflictError, match="version 0, which was opened to be asked only"):
        c.at(0).insert([("q", "r")])
    with pytest.raises(DyntcError, match="4"):
        c.at(4)
    assert listed(c) == found[-1]


def test_what_is_different_from_an_older_version(versions):
    c, found = versions
    for number, pairs in enumerate(found):
        rows = c.arrow.changes(since=number).to_pylist()
        told = {(row["op"], row["src"], row["dst"]) for row in rows}
        assert told == {("insert", *pair) for pair in found[-1] - pairs} | {
            ("delete", *pair) for pair in pairs - found[-1]
        }
        assert len(told) == len(rows)
        assert {row["version"] for row in rows} <= {3}
    with pytest.raises(DyntcError, match="4"):
        c.arrow.changes(since=4)


def test_history_counts_pairs(versions):
    c, found = versions
    rows = {row["version"]: row for row in c.arrow.history().to_pylist()}
    for number in range(1, len(found)):
        won, lost = len(found[number] - found[number - 1]), len(found[number - 1] - found[number])
        assert (rows[number]["won"], rows[number]["lost"]) == (won, lost)


def test_a_closure_in_memory_has_no_past():
    c = DynamicClosure.from_edges(START)
    for ask in (c.arrow.history, lambda: c.arrow.changes(since=0), lambda: c.at(0)):
        with pytest.raises(OptionError, match="one in memory only"):
            ask()
