"""A table of all pairs that follows a location: one commit a version, caught up whatever fails."""

from __future__ import annotations

import json

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import LocationError
from tests.store.closures import START, pairs


@pytest.fixture
def c(delta, tmp_path):
    """A closure whose pairs are kept in a table, too."""
    closure = DynamicClosure.from_edges(START, spark=delta)
    closure.save(str(tmp_path / "deps"), publish=str(tmp_path / "all pairs"))
    return closure


class Table:
    def __init__(self, spark, tmp_path):
        self.spark, self.path = spark, str(tmp_path / "all pairs")

    def rows(self):
        found = [tuple(row) for row in self.spark.read.format("delta").load(self.path).select("src", "dst").collect()]
        assert len(found) == len(set(found))
        return set(found)

    def versions(self):
        """The versions that its commits name, in their order."""
        told = self.spark.sql(f"DESCRIBE HISTORY delta.`{self.path}`").orderBy("version").collect()
        return [json.loads(row.userMetadata)["version"] for row in told if row.userMetadata]


@pytest.fixture
def table(delta, tmp_path):
    return Table(delta, tmp_path)


def test_it_is_caught_up_after_a_failure(delta, tmp_path, c, table, breaking, caplog):
    before = pairs(c)
    assert table.rows() == before
    breaking("target")  # the version is published and recorded, and its merge fails
    c.apply([("delete", "c", "a"), ("insert", "d", "e")])
    breaking(None)
    assert "Version 1 is published, but not what follows it" in caplog.text
    assert table.rows() == before
    d = DynamicClosure.open(str(tmp_path / "deps"), spark=delta)  # the first writer is gone
    d.insert([("e", "f")])
    assert table.rows() == pairs(d)
    assert table.versions() == [0, 1, 2]


@pytest.mark.slow
def test_each_version_is_a_commit(delta, tmp_path, c, table, breaking):
    c.apply([("delete", "c", "a"), ("insert", "d", "e")])
    assert table.rows() == pairs(c)
    c.insert([("a", "c")])  # no pair
    c.reset([("x", "y"), ("a", "b")])
    assert table.rows() == pairs(c)
    assert table.versions() == [0, 1, 3]
    feed = delta.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 2).load(table.path)
    assert feed.where("_change_type = 'insert' AND src = 'x'").count() == 1

    breaking("target", after=True)  # it is merged, though nobody was told so
    c.insert([("y", "z")])
    breaking("changes")
    c.insert([("z", "new")])
    breaking(None)
    d = DynamicClosure.open(str(tmp_path / "deps"), spark=delta)
    d.delete([("a", "b")])
    assert table.rows() == pairs(d)
    assert table.versions() == [0, 1, 3, 4, 5, 6]
    c._parts.attachment.store.target_version, c._parts.attachment.store._changed = 3, True
    c._parts.attachment.store.follow_target(4)  # a writer who comes too late
    assert table.rows() == pairs(d)

    d.publish(None)
    d.insert([("a", "b")])
    assert table.versions()[-1] == 6
    d.publish(table.path)  # what it has missed was recorded
    assert table.rows() == pairs(d)
    assert table.versions() == [0, 1, 3, 4, 5, 6, 7]


@pytest.mark.slow
def test_tables_that_cannot_be(delta, tmp_path, c):
    delta.range(3).write.format("delta").save(str(tmp_path / "other"))
    for wrong in (str(tmp_path / "other"), "closure", "a b.c", "", 7, "/a/*"):
        with pytest.raises(LocationError):
            c.publish(wrong)
    delta.sql("CREATE SCHEMA IF NOT EXISTS lineage")
    try:
        c.publish("lineage.closure")
        c.insert([("d", "e")])
        assert {tuple(row) for row in delta.table("lineage.closure").collect()} == pairs(c)
    finally:
        delta.sql("DROP SCHEMA lineage CASCADE")
