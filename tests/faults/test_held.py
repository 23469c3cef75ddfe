"""What a closure on Spark holds does not grow with the batches: storage, heap, views, threads, files, disk."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure
from tests.conftest import SPARK_KIND
from tests.store.closures import recomputed
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
EDGES = [(v, v + k) for v in range(40) for k in (1, 5)]


def held(work, count, folder):
    """Let a process of its own change a closure, and give what it held after each step."""
    kind = "connect" if SPARK_KIND == "connect" else "classic"
    ran = subprocess.run(
        [sys.executable, "-m", "tests.faults.held", kind, work, str(count), str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


@pytest.mark.long
@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_builds_leave_only_the_last_state_in_memory(tmp_path, count):
    """In a JVM of 512 MiB. Old states used to stay until Python and the JVM had both collected garbage."""
    steps = [step["stored"] for step in held("builds", count, tmp_path)]
    assert len(steps) == count
    assert [len(stored) for stored in steps] == [1] * count
    sizes = [sum(stored) for stored in steps]
    assert max(sizes) < 1.1 * min(sizes)


@pytest.mark.slow
def test_batches_leave_nothing_behind(tmp_path):
    first, *_, last = held("batches", 300, tmp_path)
    assert last["stored"] <= first["stored"] + 1
    assert last["memory"] <= first["memory"] + 2**20
    assert last["views"] == first["views"]
    assert last["threads"] <= first["threads"] + 1
    assert last["files"] <= first["files"] + 3
    assert last["heap"] <= 1.3 * first["heap"] + 2**23
    assert last["disk"] <= 1.5 * first["disk"] + 2**23


@pytest.mark.parametrize("engine", ["recompute", "lanes"])
def test_a_dataframe_of_an_old_state_stays_right(spark, engine):
    """What it reads was released when the state was replaced; Spark builds it again."""
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine=engine, backend="spark")
    before, frame, runs = recomputed(c), c.pairs(), c._parts.door.engine.current.runs()
    expected = runs.count()
    c.reset([(1, 2), (2, 3)])
    time.sleep(0.5)
    assert {tuple(row) for row in frame.collect()} == before
    assert runs.count() == expected


@pytest.mark.connect
def test_a_closure_that_is_dropped_leaves_nothing(spark):
    """What its state had in Spark's cache is gone as soon as the closure is."""
    c = DynamicClosure.from_edges(EDGES, spark=spark, backend="spark")
    frame = c._parts.door.engine.current.closure.place.stored.layers[0].kept.frame
    assert "InMemoryTableScan" in plan(frame)
    del c
    assert eventually(lambda: "InMemoryTableScan" not in plan(frame)), "what it had stored is still there"


def plan(frame):
    """Return how Spark would read a DataFrame now."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        frame.where("true").explain()
    return text.getvalue()
