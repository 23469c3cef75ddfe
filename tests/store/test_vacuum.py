"""Clearing a location: in few tasks, in a session whose settings are the user's, and every kept version stays."""

from __future__ import annotations

import os
import time

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import VersionError
from dyntc_spark.graph.store import store
from tests.store.closures import saved, seen
from tests.store.conftest import only_spark, without_spark

LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
#: Three tables with a few tasks for each of Delta's queries; a listing by Spark's default takes 10,000.
MOST_TASKS = 500


def tasks_of(spark, act):
    """Return how many tasks an act has started in this thread."""
    context = spark.sparkContext
    context.setJobGroup("vacuum", "vacuum")
    try:
        act()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("vacuum")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numTasks for stage in stages if stage)


def script_of(spark, location):
    """Return a closure after three batches, and what could be asked of each version."""
    c = saved(spark, location)
    script = [seen(c)]
    for number in range(3):
        c.insert([("d", f"new {number}")])
        script.append(seen(c))
    return c, script


def check(spark, location, c, script):
    for version, wanted in enumerate(script):
        if version < 2:
            with pytest.raises(VersionError, match="from 2 to 3"):
                DynamicClosure.open(location, version, spark=spark)
        else:
            assert seen(DynamicClosure.open(location, version, spark=spark)) == wanted
    c.insert([("after", "all")])
    assert seen(DynamicClosure.open(location, spark=spark)) == seen(c)


def test_every_version_after_a_vacuum(delta, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CHECKPOINT_BATCHES", 2)
    location = str(tmp_path / "deps")
    c, script = script_of(delta, location)
    before = delta.conf.get(LISTING)
    if session.is_connect(delta):
        c.vacuum(keep=2)
    else:
        with only_spark():
            by_spark = DynamicClosure.open(location, spark=delta)
            tasks = tasks_of(delta, lambda: by_spark.vacuum(keep=2))
        assert 0 < tasks < MOST_TASKS
        c.refresh()
    assert delta.conf.get(LISTING) == before
    check(delta, location, c, script)


def test_a_vacuum_without_spark(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CHECKPOINT_BATCHES", 2)
    with without_spark():
        c, script = script_of(None, str(tmp_path / "deps"))
        week_old = time.time() - 8 * 86_400
        for path in (tmp_path / "deps" / "vertices").iterdir():
            os.utime(path, (week_old, week_old))
        orphan = tmp_path / "deps" / "vertices" / "part-of-a-killed-writer.parquet"
        orphan.write_bytes(b"")
        os.utime(orphan, (week_old, week_old))
        c.vacuum(keep=2)
        assert not orphan.exists()
        check(None, str(tmp_path / "deps"), c, script)
