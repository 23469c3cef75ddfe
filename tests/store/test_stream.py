"""Streams that change a closure at a location: exactly once, from feeds, messages and files, and on to the next job."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import (
    ContradictionError,
    InputError,
    LocationError,
    MissingColumnError,
    OptionError,
    StorageError,
)
from dyntc_spark.graph.changes.stream import Stream
from tests.graph.schedule import Askers, drawn
from tests.store.closures import pairs, recomputed, saved, seen

SCHEMA = "op string, src string, dst string, timestamp long"


class Reports:
    """A folder in which files of changes arrive, and a stream of them, a micro-batch a file."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.count, self.started = spark, folder, 0, time.time() - 1000
        folder.mkdir()

    def arrive(self, *rows):
        names = ("op", "src", "dst", "timestamp")
        text = "\n".join(json.dumps(dict(zip(names, row, strict=False))) for row in rows)
        beside = self.folder / f".{self.count}"
        beside.write_text(text)
        os.utime(beside, (self.started + self.count,) * 2)  # files come in the order of their times
        beside.rename(self.folder / f"{self.count}.json")
        self.count += 1

    def stream(self, schema=SCHEMA):
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(self.folder))


@pytest.fixture
def reports(delta, tmp_path):
    return Reports(delta, tmp_path / "reports")


def changes_at(spark, location):
    rows = spark.read.format("delta").load(f"{location}/changes").collect()
    return sorted((row.version, row.op, row.src, row.dst) for row in rows)


def differences(spark, location, versions):
    """What the table is to hold, from the pairs of each version."""
    found, before = [], pairs(DynamicClosure.open(location, versions[0] - 1, spark=spark))
    for version in versions:
        after = pairs(DynamicClosure.open(location, version, spark=spark))
        found += [(version, "insert", *pair) for pair in after - before]
        found += [(version, "delete", *pair) for pair in before - after]
        before = after
    return sorted(found)


@pytest.mark.connect
def test_exactly_once(delta, tmp_path, reports, monkeypatch):
    location, checkpoint = str(tmp_path / "deps"), str(tmp_path / "checkpoint")
    c = saved(delta, location, [("a", "b")])
    reports.arrive(("delete", "b", "c", 7), ("insert", "b", "c", 8), ("insert", "c", "d", 6), ("insert", "c", "d", 6))
    real = Stream._arrived

    def dies(self, table, batch_id):
        real(self, table, batch_id)
        self._failure = RuntimeError("the driver died after it had published")
        raise self._failure

    monkeypatch.setattr(Stream, "_arrived", dies)
    first = c.stream(reports.stream(), checkpoint=checkpoint, available_now=True)
    with pytest.raises(RuntimeError, match="after it had published"):
        first.await_termination()
    monkeypatch.setattr(Stream, "_arrived", real)

    again = DynamicClosure.open(location, spark=delta)
    assert again.version == 1
    reports.arrive(("delete", "a", "b", 9))
    second = again.stream(reports.stream(), checkpoint=checkpoint, available_now=True)
    assert second.await_termination()
    assert second.id == first.id
    assert (second.exception(), second.is_active) == (None, False)
    assert again.version == 2
    assert pairs(again) == {("b", "c"), ("b", "d"), ("c", "d")}
    expected = [(1, "insert", v, w) for v in "abc" for w in "cd" if v < w]
    assert changes_at(delta, location) == sorted(expected + [(2, "delete", "a", w) for w in "bcd"])


@pytest.mark.slow
def test_a_checkpoint_that_is_lost(delta, tmp_path, reports):
    """A stream that has lost its checkpoint is a new one: it takes all changes again, and ends where it was."""
    location, checkpoint = str(tmp_path / "deps"), tmp_path / "checkpoint"
    c = saved(delta, location, [("a", "b")])
    reports.arrive(("insert", "b", "c", 1))
    reports.arrive(("delete", "b", "c", 2), ("insert", "c", "d", 2))
    first = c.stream(reports.stream(), checkpoint=str(checkpoint), available_now=True)
    assert first.await_termination()
    before = seen(c)
    assert before[0] == 2
    shutil.rmtree(checkpoint)
    reports.arrive(("insert", "d", "e", 3))
    again = DynamicClosure.open(location, spark=delta)
    second = again.stream(reports.stream(), checkpoint=str(checkpoint), available_now=True)
    assert second.await_termination()
    assert second.id != first.id
    assert again.version == 5, "two batches once more, and a new one"
    assert pairs(again) == recomputed(again) == {("a", "b"), ("c", "d"), ("c", "e"), ("d", "e")}
    assert seen(DynamicClosure.open(location, 2, spark=delta)) == before
    assert changes_at(delta, location) == differences(delta, location, range(1, 6))
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(again)


@pytest.mark.slow
def test_errors_and_the_next_job(delta, tmp_path, reports):
    location, checkpoint = str(tmp_path / "deps"), str(tmp_path / "checkpoint")
    c = saved(delta, location, [("a", "b")])
    reports.arrive(("insert", "b", "c", 1))
    reports.arrive(("delete", "b", "c", 7), ("insert", "b", "c", 5), ("insert", "c", "d", 6))
    reports.arrive(("insert", "b", "c", 8))
    c.stream(reports.stream(), checkpoint=checkpoint, available_now=True).await_termination()
    assert c.version == 3

    # a batch that is refused ends the stream with our error, and leaves the closure as it was
    reports.arrive(("insert", "x", "y", 9), ("delete", "x", "y", 9))
    refused = c.stream(reports.stream(), checkpoint=checkpoint, available_now=True)
    with pytest.raises(ContradictionError, match=r"\('x', 'y'\)"):
        refused.await_termination()
    assert isinstance(refused.exception(), ContradictionError)
    assert c.version == 3

    # what changed is a table that the next closure follows
    expected = [(1, "insert", v, "c") for v in "ab"] + [(2, "delete", v, "c") for v in "ab"] + [(2, "insert", "c", "d")]
    assert changes_at(delta, location) == sorted(expected + [(3, "insert", v, w) for v in "ab" for w in "cd"])
    mirror = saved(delta, str(tmp_path / "mirror"), [("a", "b")])
    follows = delta.readStream.format("delta").load(f"{location}/changes")
    stream = mirror.stream(
        follows, checkpoint=str(tmp_path / "next"), timestamp="version", available_now=True, record_changes=False
    )
    stream.await_termination()
    edges = mirror.arrow.edges()
    assert set(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True)) == pairs(c)


@pytest.mark.connect
def test_what_is_no_stream_of_changes(delta, tmp_path, reports):
    c = DynamicClosure.from_edges([("a", "b")], spark=delta)
    stream, checkpoint = reports.stream(), str(tmp_path / "checkpoint")
    with pytest.raises(OptionError, match=r"save\(\)"):
        c.stream(stream, checkpoint=checkpoint)
    c.save(str(tmp_path / "deps"))
    for wrong in (delta.range(2), [("insert", "a", "b")]):
        with pytest.raises(InputError, match="a streaming DataFrame"):
            c.stream(wrong, checkpoint=checkpoint)
    with pytest.raises(MissingColumnError, match="no 'tail'"):
        c.stream(stream, checkpoint=checkpoint, src="tail")
    with pytest.raises(OptionError, match="both"):
        c.stream(stream, checkpoint=checkpoint, available_now=True, every="1 second")
    for wrong in ("no_path", "", "/", None):
        with pytest.raises(LocationError):
            c.stream(stream, checkpoint=wrong)
    assert c.version == 0


@pytest.mark.slow
def test_a_feed_of_a_table_of_edges(delta, tmp_path):
    table, location = str(tmp_path / "edges"), str(tmp_path / "deps")

    def write(mode, *rows):
        frame = delta.createDataFrame(rows, "tail long, head long, note string")
        frame.write.format("delta").mode(mode).option("delta.enableChangeDataFeed", "true").save(table)

    write("append", (1, 2, ""), (2, 3, ""))
    c = saved(delta, location, [])
    feed = delta.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)

    def follow():
        stream = c.stream(feed.load(table), checkpoint=str(tmp_path / "cp"), src="tail", dst="head", available_now=True)
        assert stream.await_termination()

    def agrees():
        rows = delta.read.format("delta").load(table).collect()
        edges = c.arrow.edges()
        ours = set(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True))
        return ours == {(row.tail, row.head) for row in rows} and pairs(c) == recomputed(c)

    follow()
    assert agrees()
    identifier = f"delta.`{table}`"
    delta.sql(f"UPDATE {identifier} SET head = 4 WHERE tail = 2").collect()  # noqa: S608
    delta.sql(f"UPDATE {identifier} SET note = 'the same edge'").collect()  # noqa: S608
    delta.sql(f"DELETE FROM {identifier} WHERE tail = 1").collect()  # noqa: S608
    write("append", (1, 2, ""), (4, 5, ""))
    follow()
    assert agrees()
    write("overwrite", (1, 2, "again"), (7, 8, ""))
    follow()
    assert agrees()
    assert c.reaches(7, 8)


@pytest.mark.slow
def test_messages_of_kafka_shape(delta, tmp_path, reports):
    c = saved(delta, str(tmp_path / "deps"), [(1, 2)])
    # what Kafka's source gives, but for its topic: a value in bytes, and the time of the message
    said = [
        {"op": "insert", "src": 2, "dst": 3, "timestamp": "2024-01-01T00:00:02Z"},
        {"op": "delete", "src": 2, "dst": 3, "timestamp": "2024-01-01T00:00:01Z"},
        {"op": "insert", "src": 3, "dst": 4, "timestamp": 1.5},
        {"op": "delete", "src": 3, "dst": 4, "timestamp": 0.5},
        {"op": "insert", "src": 4, "dst": 5},
    ]
    lines = [{"value": json.dumps(each), "timestamp": "2024-01-01T00:00:00Z"} for each in said]
    (reports.folder / "all.json").write_text("\n".join(map(json.dumps, lines)))
    messages = reports.stream("value string, timestamp timestamp").selectExpr(
        "CAST(value AS BINARY) value", "timestamp"
    )
    c.stream(messages, checkpoint=str(tmp_path / "cp"), available_now=True).await_termination()
    assert c.reaches(1, 5)
    (reports.folder / "broken.json").write_text(json.dumps({"value": "{no JSON", "timestamp": "2024-01-01T00:00:00Z"}))
    broken = c.stream(messages, checkpoint=str(tmp_path / "cp"), available_now=True)
    with pytest.raises(InputError, match="None in row 0"):
        broken.await_termination()
    assert c.version == 1


@pytest.mark.slow
def test_answers_while_a_stream_runs(delta, tmp_path):
    seed = 5
    start, script, versions = drawn(seed, batches=2)
    reports = Reports(delta, tmp_path / "reports")
    for _, changes in script:
        reports.arrive(*changes)
    c = saved(delta, str(tmp_path / "deps"), start)
    asked = ("edges", "repr", "pairs", "changes", "stats"), ("query", "version", "html")
    with Askers(c, seed, versions, *asked, pause=0.02):
        stream = c.stream(
            reports.stream("op string, src long, dst long"),
            checkpoint=str(tmp_path / "cp"),
            available_now=True,
            record_changes=False,
        )
        assert stream.await_termination(300)
    assert c.version == 2
    assert seen(c)[2:] == (versions[-1].edges, versions[-1].pairs)


@pytest.mark.slow
def test_a_stream_that_goes_on(delta, tmp_path, reports):
    location = str(tmp_path / "deps")
    c = saved(delta, location, [("0", "1")])
    stream = c.stream(reports.stream(), checkpoint=str(tmp_path / "cp"), every="100 milliseconds", name="lineage")
    assert stream.query.name == "lineage"
    assert not stream.await_termination(0.1)
    for number in range(1, 5):
        reports.arrive(("insert", str(number), str(number + 1), number))
        for _ in range(50):  # asked while it is changed
            edges = c.arrow.edges().num_rows
            assert c.reaches("0", "1")
            assert edges >= 1
        if number == 3:  # another change in between, by us
            c.insert([("here", "0")])
    stream.process_all_available()
    assert c.reaches("here", "5")
    other = DynamicClosure.open(location, spark=delta)
    other.insert([("5", "other")])  # by another writer: the stream goes on after it
    reports.arrive(("insert", "other", "end", 9))
    stream.process_all_available()
    assert c.reaches("here", "end")
    stream.stop()
    assert not stream.is_active
    assert stream.exception() is None
    before = c.version
    reports.arrive(("delete", "0", "1", 10))
    time.sleep(0.5)
    assert c.version == before
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(c)
    assert changes_at(delta, location) == differences(delta, location, range(1, c.version + 1))


@pytest.mark.slow
def test_a_version_that_was_published_and_not_recorded(delta, tmp_path, breaking):
    location = str(tmp_path / "deps")
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=delta)
    c.save(location, record_changes=True)
    c.insert([("c", "d")])
    breaking("changes")
    c.delete([("a", "b")])  # is done, and is not recorded yet
    assert c.version == 2
    assert changes_at(delta, location) == differences(delta, location, [1])
    breaking(None)
    c.insert([("d", "e")])  # what was left over goes first
    breaking("changes", after=True)
    c.insert([("e", "f")])
    with pytest.raises(StorageError, match="the changes of version 4"):
        c.insert([("f", "g")])  # nothing is published before what was left over is written
    breaking(None)
    c.save(location)
    breaking("changes")
    c.reset([("a", "b"), ("x", "a")])
    breaking(None)
    del c  # the next one has to find out that version 5 is missing
    other = DynamicClosure.open(location, spark=delta)
    other.insert([("b", "z")])
    assert changes_at(delta, location) == differences(delta, location, range(1, 7))
    other.vacuum(keep=1, files=False)
    last = DynamicClosure.open(location, spark=delta)
    last.delete([("b", "z")])
    assert [row for row in changes_at(delta, location) if row[0] == 7] == [
        (7, "delete", v, "z") for v in ("a", "b", "x")
    ]
