"""The table ``changes`` of a closure on Spark: written from there, without gaps, whatever fails."""

from __future__ import annotations

from dyntc_spark import DynamicClosure
from dyntc_spark.engines.lanes import on_spark
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.errors import SessionError
from dyntc_spark.graph.changes.changed import Changed
from dyntc_spark.graph.store.place import Place
from tests.graph.oracle import Plain

START = [(f"v{v}", f"v{v + 1}") for v in range(12)]
BATCHES = [
    [("insert", "v9", "v2"), ("insert", "v12", "end"), ("delete", "v0", "v1")],  # a cycle
    [("delete", "v5", "v6")],  # and its end
    [("insert", "v1", "v2"), ("delete", "none", "v2")],  # changes nothing
    [("insert", "v5", "v7"), ("insert", "end", "v3")],
    [("delete", "v12", "end")],
]


def test_it_is_written_from_spark(delta, tmp_path, breaking, monkeypatch, caplog):
    monkeypatch.setattr(on_spark, "HAND_BYTES", 0)
    monkeypatch.setattr(Lanes, "changes", None)  # nobody may bring the pairs here
    monkeypatch.setattr(Changed, "collected", None)
    location, plain, expected = str(tmp_path / "deps"), Plain(START), []
    c = DynamicClosure.from_edges(START, spark=delta, backend="spark")
    c.save(location, record_changes=True)

    def lost(*_):
        raise SessionError("Spark to finish the job", "none", "Try again.")

    for version, changes in enumerate(BATCHES, 1):
        before = plain.pairs()
        plain.apply(changes)
        after = plain.pairs()
        expected += [(version, "insert", *pair) for pair in after - before]
        expected += [(version, "delete", *pair) for pair in before - after]
        with monkeypatch.context() as patch:
            if version == 2:
                breaking("changes")  # the table cannot be written
            if version == 4:
                patch.setattr(Changed, "stored", lost)  # the pairs cannot be worked out
            c.apply(changes)
        breaking(None)
    assert caplog.text.count("is published, but not what follows it") == 2
    rows = delta.read.format("delta").load(f"{location}/changes").collect()
    assert sorted((row.version, row.op, row.src, row.dst) for row in rows) == sorted(expected)


def test_runs_never_come_to_the_driver(delta, tmp_path, monkeypatch, caplog):
    """A checkpoint of a closure on Spark is written there, and checked there, also when it is opened."""
    read = Place.read

    def watched(place, table, *arguments):
        assert table != "runs"
        return read(place, table, *arguments)

    monkeypatch.setattr(Place, "read", watched)
    location, plain = str(tmp_path / "deps"), Plain(START)
    c = DynamicClosure.from_edges(START, spark=delta, backend="spark")
    c.save(location)
    opened = DynamicClosure.open(location, spark=delta)
    assert {tuple(row) for row in opened.pairs().collect()} == plain.pairs()
    assert not caplog.records
    delta.sql(f"DELETE FROM delta.`{location}/runs` WHERE first % 2 = 0").collect()  # noqa: S608  (our own)
    opened = DynamicClosure.open(location, spark=delta)
    assert {tuple(row) for row in opened.pairs().collect()} == plain.pairs()
    assert "rows" in caplog.text
