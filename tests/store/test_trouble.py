"""A closure at a location that is fought over, interrupted, damaged or refused."""

from __future__ import annotations

import re
import threading

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import (
    ConflictError,
    DamagedBlockError,
    DyntcError,
    LocationError,
    OptionError,
    StorageError,
    VersionError,
)
from tests.store.closures import START, pairs, recomputed, saved, seen


@pytest.mark.connect
def test_second_writer(delta, tmp_path):
    location = str(tmp_path / "deps")
    first = saved(delta, location)
    second = DynamicClosure.open(location, spark=delta)
    first.apply([("delete", "c", "d")], batch_id="one")
    before = seen(second)
    with pytest.raises(ConflictError, match="another one who was first, publishing commit 2"):
        second.insert([("d", "new")])
    assert seen(second) == before

    assert second.refresh() == 1
    assert seen(second) == seen(first)
    second.apply([("delete", "c", "d"), ("insert", "no", "no")], batch_id="one")  # done before
    assert second.version == 1


@pytest.mark.slow
def test_writers_and_readers(delta, tmp_path, breaking):
    location = str(tmp_path / "deps")
    first = saved(delta, location)
    second, past = DynamicClosure.open(location, spark=delta), DynamicClosure.open(location, spark=delta)
    first.apply([("delete", "c", "d")], batch_id="one")
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(first)
    second.refresh()
    second.insert([("d", "new")])
    assert past.refresh() == 2
    assert seen(past) == seen(second)
    with pytest.raises(ConflictError):
        first.drop(["d"])
    with pytest.raises(ConflictError):
        first.reset([("q", "r")])
    assert first.version == 1
    assert pairs(first) == recomputed(first)

    # what was published although the writer saw an error is neither lost nor done twice
    breaking("publish", after=True)
    second.apply([("insert", "late", "a")], batch_id="late")
    assert second.version == 3
    breaking("confirm")
    with pytest.raises(StorageError, match="refresh"):
        second.apply([("insert", "later", "a")], batch_id="later")
    assert second.version == 3
    with pytest.raises(ConflictError, match="refresh"):
        second.insert([("x", "y")])
    breaking(None)
    assert second.refresh() == 4
    second.apply([("insert", "later", "a")], batch_id="later")
    assert second.version == 4
    assert second.reaches("later", "c")

    old = DynamicClosure.open(location, 1, spark=delta)
    with pytest.raises(ConflictError, match="opened to be asked only"):
        old.insert([("x", "y")])
    for wrong in (-1, 5, True, "1"):
        with pytest.raises(VersionError, match="from 0 to 4"):
            DynamicClosure.open(location, wrong, spark=delta)
    second.vacuum(keep=2, files=False)
    with pytest.raises(VersionError, match="from 3 to 4"):
        DynamicClosure.open(location, 2, spark=delta)
    assert not DynamicClosure.open(location, 3, spark=delta).reaches("late", "d")
    assert second.history().count() == 5
    second.insert([("after", "a")])
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(second)


@pytest.mark.parametrize(
    "step",
    [
        "log",
        "publish",
        *(pytest.param(step, marks=pytest.mark.slow) for step in ("vertices", "runs")),
    ],
)
def test_a_crash_at_each_step(delta, tmp_path, breaking, step):
    location = str(tmp_path / "deps")
    c = saved(delta, location) if step in {"log", "publish"} else DynamicClosure.from_edges(START, spark=delta)
    before = seen(c)

    def write():
        if step in {"log", "publish"}:
            c.apply([("delete", "a", "b"), ("insert", "d", "new")])
        else:
            c.save(location)

    for after in (False, True) if step == "log" else (False,):
        breaking(step, after=after)
        with pytest.raises(StorageError, match="BrokenError"):
            write()
        assert seen(c) == before
        assert pairs(c) == recomputed(c)
    breaking(None)
    if step in {"log", "publish"}:
        assert seen(DynamicClosure.open(location, spark=delta)) == before
    else:
        with pytest.raises(LocationError, match="none"):
            DynamicClosure.open(location, spark=delta)
    write()
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(c)


@pytest.mark.parametrize(
    "location",
    ["", "a b", "x;y", "/", "./", "/a/../b", "/a/*", "/a/{b,c}", "/a\n/b", "a.b.c.d", "1x", None, 7, "x" * 2000],
)
def test_locations_that_cannot_be(delta, location):
    c = DynamicClosure.from_edges(START, spark=delta)
    with pytest.raises(LocationError):
        c.save(location)
    with pytest.raises(LocationError):
        DynamicClosure.open(location, spark=delta)


@pytest.mark.connect
def test_locations_that_hold_something_else(delta, tmp_path):
    c = DynamicClosure.from_edges(START, spark=delta)
    with pytest.raises(OptionError, match=r"save\(\)"):
        c.apply([("insert", "x", "y")], batch_id="1")
    for ask in (c.history, c.refresh, lambda: c.vacuum(keep=1)):
        with pytest.raises(OptionError, match=r"save\(\)"):
            ask()
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("Dear")
    with pytest.raises(LocationError, match=r"dear\.txt"):
        c.save(str(tmp_path / "letters"))
    with pytest.raises(LocationError, match="none"):
        DynamicClosure.open(str(tmp_path / "letters"), spark=delta)
    delta.range(3).write.format("delta").save(str(tmp_path / "other" / "commits"))
    for act in (c.save, lambda at: DynamicClosure.open(at, spark=delta)):
        with pytest.raises(LocationError, match="other columns"):
            act(str(tmp_path / "other"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(DyntcError):
        c.save(str(tmp_path / "file"))
    assert c.version == 0
    c.insert([("d", "e")])  # it is attached nowhere
    assert c.reaches("a", "e")


DAMAGES = {
    "runs": ("UPDATE {} SET word = word ^ 2 WHERE version = 1 AND stripe = 0", ".* in the table 'runs'"),
    "fewer runs": (
        "DELETE FROM {} WHERE version = 1",
        "rows in the table 'runs'; got 0",
    ),
    "vertices": (
        "UPDATE {} SET successors = slice(successors, 1, 1) WHERE version = 1 AND size(successors) > 1",
        "the checksum .* in the table 'vertices'",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", DAMAGES)
def test_damaged_rows_are_named_and_repaired(delta, tmp_path, caplog, what):
    location = str(tmp_path / "deps")
    c = saved(delta, location)
    c.insert([("d", "e")])
    c.save(location)
    damage, said = DAMAGES[what]
    delta.sql(damage.format(f"delta.`{location}/{what.split()[-1]}`")).collect()
    if "runs" in what:  # the closure is built from the edges
        assert seen(DynamicClosure.open(location, spark=delta)) == seen(c)
        assert re.search(said, caplog.text)
    else:
        with pytest.raises(DamagedBlockError, match=said):
            DynamicClosure.open(location, spark=delta)
    assert seen(DynamicClosure.open(location, 0, spark=delta))[0] == 0  # its checkpoint is whole
    mended = DynamicClosure.repair(location, spark=delta)
    assert seen(mended) == seen(c)
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(c)


@pytest.mark.slow
def test_writers_at_the_same_moment(delta, tmp_path):
    location = str(tmp_path / "deps")
    saved(delta, location)
    writers = [DynamicClosure.open(location, spark=delta) for _ in range(4)]
    start, done, refused = threading.Barrier(4), [], []

    def write(number):
        start.wait()
        try:
            writers[number].insert([("d", f"writer {number}")])
            done.append(number)
        except ConflictError:
            refused.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1
    assert len(refused) == 3
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(writers[done[0]])


def test_a_closure_that_cannot_be_brought_back(delta, tmp_path, breaking, monkeypatch):
    c = saved(delta, str(tmp_path / "deps"))
    before = seen(c)
    breaking("log")
    real = c._parts.door.engine.init

    def init(*_):
        raise MemoryError

    monkeypatch.setattr(c._parts.door.engine, "init", init)
    with pytest.raises(StorageError, match="BrokenError"):
        c.insert([("d", "e")])
    breaking(None)
    asked = (lambda: c.reaches("a", "b"), c.pairs, c.arrow.pairs, c.blocks, c.stats, c._repr_html_, c.to_networkx)
    for ask in (*asked[:-1], lambda: c.insert([("d", "f")]), c.refresh, c.in_process, lambda: asked[-1](closure=True)):
        with pytest.raises(StorageError, match="bring the closure back to version 0"):
            ask()
    monkeypatch.setattr(c._parts.door.engine, "init", real)
    assert seen(c) == before
    c.insert([("d", "e")])
    assert c.reaches("a", "e")
