"""OpenLineage events that come twice, late, or after the end of their run."""

from __future__ import annotations

import sys

import pytest

from dyntc_spark.importers import OpenLineage


def event(kind, run, at, inputs=(), outputs=(), job="j"):
    sides = {
        side: [{"namespace": "n", "name": name} for name in names]
        for side, names in (("inputs", inputs), ("outputs", outputs))
    }
    about = {"eventType": kind, "eventTime": f"2026-01-01T00:00:{at:02}Z", "run": {"runId": run}}
    return {**about, "job": {"namespace": "n", "name": job}, **sides}


def edges(lineage):
    return [(row["src"][2:], row["dst"][2:]) for row in lineage.edges().to_pylist()]


@pytest.fixture
def lineage():
    """Return the lineage of a run that told of its inputs at first, and of its outputs at last."""
    found = OpenLineage()
    found.changes([event("START", "r1", 1, ["a"]), event("COMPLETE", "r1", 2, [], ["b"])])
    assert edges(found) == [("a", "b")]
    return found


@pytest.mark.parametrize("at", [2, 3])
@pytest.mark.parametrize("kind", ["COMPLETE", "FAIL", "START", "RUNNING", "OTHER"])
def test_a_run_that_is_complete_tells_nothing_more(kind, at, lineage):
    assert lineage.changes([event(kind, "r1", at, [], ["b"])]).num_rows == 0
    assert lineage.changes([event("COMPLETE", "r1", at, ["x"], ["b"])]).num_rows == 0
    assert edges(lineage) == [("a", "b")]
    assert not lineage._runs


def test_an_end_that_comes_twice_at_once():
    lineage = OpenLineage()
    end = event("COMPLETE", "r1", 2, [], ["b"])
    lineage.changes([event("START", "r1", 1, ["a"]), end, end])
    assert edges(lineage) == [("a", "b")]


def test_events_before_the_end_may_come_twice():
    lineage = OpenLineage()
    start = event("START", "r1", 1, ["a"])
    for each in (start, start, event("COMPLETE", "r1", 2, [], ["b"])):
        lineage.changes([each])
    assert edges(lineage) == [("a", "b")]


def test_a_run_that_was_replaced_does_not_come_back(lineage):
    """Not even when both ended at one time."""
    lineage.changes([event("COMPLETE", "r2", 2, ["c"], ["b"])])
    assert edges(lineage) == [("c", "b")]
    for kind in ("START", "RUNNING", "COMPLETE"):
        assert lineage.changes([event(kind, "r1", 2, ["a"], ["b"])]).num_rows == 0
    assert not lineage._runs


@pytest.mark.parametrize("kind", ["FAIL", "ABORT"])
def test_a_run_that_failed_tells_nothing_more(kind, lineage):
    lineage.changes([event("START", "r2", 3, ["x"], ["y"]), event(kind, "r2", 4)])
    assert lineage.changes([event("RUNNING", "r2", 3, ["x"], ["y"])]).num_rows == 0
    assert not lineage._runs
    assert edges(lineage) == [("a", "b")]


def test_a_run_whose_job_was_renamed(lineage):
    lineage.changes([event("START", "r1", 1, ["a"], job="before it was renamed")])
    assert not lineage._runs
    # jobs that share the id of a run, against the specification, still count each
    lineage.changes([event("COMPLETE", "r1", 2, ["c"], ["d"], job="other")])
    assert edges(lineage) == [("a", "b"), ("c", "d")]


def test_runs_that_have_ended_are_forgotten_at_some_time(monkeypatch, lineage):
    monkeypatch.setattr(sys.modules["dyntc_spark.importers.openlineage"], "_REMEMBERED", 3)
    for number in range(10):
        lineage.changes([event("COMPLETE", f"other {number}", number, ["c"], ["d"], job="other")])
    assert list(lineage._ended) == ["other 7", "other 8", "other 9"]
    # the run that told of the lineage of its job is known all the same
    lineage.changes([event("START", "r1", 1, job="renamed"), event("COMPLETE", "r1", 2, [], ["b"])])
    assert edges(lineage) == [("a", "b"), ("c", "d")]
    assert not lineage._runs
