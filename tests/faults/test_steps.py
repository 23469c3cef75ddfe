"""A failure at each step of each thing that writes, before the step and after it: all of it is there or none."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import LocationError, StorageError
from dyntc_spark.graph.store import store
from dyntc_spark.graph.store.place import Place
from tests.store.closures import START, pairs, recomputed, saved, seen
from tests.store.conftest import BrokenError

WRITERS = {
    "a batch": lambda c: c.apply([("delete", "a", "b"), ("insert", "d", "new")], batch_id="it"),
    "a drop": lambda c: c.drop(["alone"]),
    "a reset": lambda c: c.reset([("x", "y")], vertices=["z"]),
    "a checkpoint": lambda c: c.save(c._parts.attachment.store.place.location),
    "a checkpoint by policy": lambda c: c.insert([("d", "new")]),
    "a vacuum": lambda c: c.vacuum(keep=1, files=False),
}
LOGGED, CHECKPOINTED = ("log", "publish", "confirm"), ("vertices", "runs", "publish", "confirm")
STEPS = {
    "a batch": LOGGED,
    "a drop": LOGGED,
    "a reset": LOGGED,
    "a checkpoint": CHECKPOINTED,
    "a checkpoint by policy": CHECKPOINTED,
    "a vacuum": ("publish", "confirm"),
}
CASES = [(what, step, after) for what, steps in STEPS.items() for step in steps for after in (False, True)]


def names(case):
    what, step, after = case
    return f"{what}, {'after' if after else 'before'} {step}"


def begun(spark, location):
    c = saved(spark, location, START, vertices=["alone"])
    c.insert([("d", "e")])
    return c


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=names)
def test_a_failure_at_each_step(writer, tmp_path, breaking, monkeypatch, caplog, case):
    what, step, after = case
    location = str(tmp_path / "deps")
    c = begun(writer, location)
    write = WRITERS[what]
    model = DynamicClosure.from_edges(
        [tuple(edge.values()) for edge in c.arrow.edges().to_pylist()], vertices=["alone"]
    )
    with model._parts.door.changing() as now:
        model._parts.door.publish(replace(now, number=c.version))
    before = seen(c)
    if what not in {"a checkpoint", "a vacuum"}:  # these change no answer
        monkeypatch.setattr(model._parts.attachment, "is_known", lambda _: False)
        write(model)
    wanted = seen(model)

    by_policy = what == "a checkpoint by policy"
    if by_policy:
        monkeypatch.setattr(store, "CHECKPOINT_BATCHES", 1)
        breaking_step(breaking, monkeypatch, step, after=after)
    else:
        breaking(step, after=after)
    failed = False
    with caplog.at_level(logging.WARNING):
        try:
            write(c)
        except StorageError as error:
            failed = True
            assert "BrokenError" in str(error)  # noqa: PT017
    breaking(None)
    monkeypatch.setattr(store, "CHECKPOINT_BATCHES", 64)

    published = (step == "publish" and after) or step == "confirm"
    if by_policy:  # the batch is done whatever becomes of the checkpoint
        assert not failed
        assert any("dyntc_spark" in record.name for record in caplog.records) == (step != "publish" or not after)
        assert seen(c) == wanted
    elif step == "publish" and after:
        assert not failed
        assert seen(c) == wanted
    else:
        assert failed
        assert seen(c) == before
    assert pairs(c) == recomputed(c)
    c.refresh()
    assert seen(c) == (wanted if published or by_policy else before)
    assert seen(DynamicClosure.open(location, spark=writer)) == seen(c)
    if not published and not by_policy:
        write(c)
    assert seen(c) == wanted
    c.insert([("after", "all")])
    assert seen(DynamicClosure.open(location, spark=writer)) == seen(c)


def breaking_step(breaking, monkeypatch, step, *, after):
    """Let a step fail only while a checkpoint is written: not the publication of the batch before it."""
    publish = store.Store.publish

    def checkpoint_breaks(self, kind, *arguments, **facts):
        if kind == "checkpoint":
            breaking(step, after=after)
        return publish(self, kind, *arguments, **facts)

    monkeypatch.setattr(store.Store, "publish", checkpoint_breaks)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", CHECKPOINTED)
def test_a_failure_of_a_first_save(writer, tmp_path, breaking, step, after):
    location = str(tmp_path / "deps")
    c = DynamicClosure.from_edges(START, spark=writer)
    before = seen(c)
    breaking(step, after=after)
    if step == "publish" and after:
        c.save(location)
    else:
        with pytest.raises(StorageError, match="BrokenError"):
            c.save(location)
    breaking(None)
    assert seen(c) == before
    if step == "confirm":  # it is there, though this closure could not know
        with pytest.raises(LocationError, match="opened from or saved as"):
            c.save(location)
        c = DynamicClosure.open(location, spark=writer)
    elif not (step == "publish" and after):
        with pytest.raises(LocationError, match="none"):
            DynamicClosure.open(location, spark=writer)
        c.save(location)
    c.insert([("d", "e")])
    assert seen(DynamicClosure.open(location, spark=writer)) == seen(c)


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", CHECKPOINTED)
def test_a_failure_of_a_repair(writer, tmp_path, breaking, step, after):
    location = str(tmp_path / "deps")
    c = begun(writer, location)
    breaking(step, after=after)
    if step == "publish" and after:
        DynamicClosure.repair(location, spark=writer)
    else:
        with pytest.raises(StorageError, match="BrokenError"):
            DynamicClosure.repair(location, spark=writer)
    breaking(None)
    for again in (DynamicClosure.open(location, spark=writer), DynamicClosure.repair(location, spark=writer)):
        assert seen(again) == seen(c)
    again.insert([("d", "new")])
    assert seen(DynamicClosure.open(location, spark=writer)) == seen(again)


@pytest.mark.long
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_vacuum_that_stops_half_way(writer, tmp_path, monkeypatch, count):
    """The tables are cleared one after the other: after any of them a version that was kept can be opened."""
    location = str(tmp_path / "deps")
    c = begun(writer, location)
    c.save(location)
    c.insert([("d", "new")])
    real, done = Place.delete, []

    def delete(self, table, where):
        if len(done) == count:
            raise BrokenError(table)
        done.append(table)
        real(self, table, where)

    monkeypatch.setattr(Place, "delete", delete)
    with pytest.raises(StorageError, match=r"clearing the table .*BrokenError"):
        c.vacuum(keep=2, files=False)
    monkeypatch.undo()
    for version in (1, 2):
        opened = DynamicClosure.open(location, version, spark=writer)
        assert pairs(opened) == recomputed(opened)
        assert opened.reaches("a", "new", unknown="false") == (version == 2)
    c.vacuum(keep=1, files=False)
    c.insert([("after", "all")])
    assert seen(DynamicClosure.open(location, spark=writer)) == seen(c)
