"""Clearing a location: in few tasks, in a session whose settings are the user's, and every kept version stays."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import VersionError
from dyntc_spark.graph.store import store
from tests.store.closures import saved, seen

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


@pytest.mark.classic
def test_every_version_after_a_vacuum(delta, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CHECKPOINT_BATCHES", 2)
    location = str(tmp_path / "deps")
    c = saved(delta, location)
    script = [seen(c)]
    for number in range(3):
        c.insert([("d", f"new {number}")])
        script.append(seen(c))
    before = delta.conf.get(LISTING)
    if session.is_connect(delta):
        c.vacuum(keep=2)
    else:
        tasks = tasks_of(delta, lambda: c.vacuum(keep=2))
        assert 0 < tasks < MOST_TASKS
    assert delta.conf.get(LISTING) == before
    for version, wanted in enumerate(script):
        if version < 2:
            with pytest.raises(VersionError, match="from 2 to 3"):
                DynamicClosure.open(location, version, spark=delta)
        else:
            assert seen(DynamicClosure.open(location, version, spark=delta)) == wanted
    c.insert([("after", "all")])
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(c)
