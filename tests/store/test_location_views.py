"""Views over a location, where Spark has read one table before a commit and the others after it."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.spark_tables import SparkTables
from tests.store.closures import START, seen

LATE = {
    "a batch": (lambda c, _: c.apply([("insert", "e", "f"), ("delete", "a", "b")]), ["log", "changes"]),
    "a reset": (lambda c, _: c.reset([("x", "y")]), ["log"]),
    "a checkpoint": (lambda c, location: c.save(location), ["vertices", "runs"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LATE)
def test_a_commit_counts_when_all_of_it_is_seen(delta, tmp_path, monkeypatch, what):
    location = str(tmp_path / "deps")
    change, tables = LATE[what]
    c = DynamicClosure.from_edges(START, spark=delta)
    c.save(location, record_changes=True)
    c.insert([("d", "e")])
    place = Place(delta, location)
    versions = {table: place.by_spark.versions(table).first().version for table in tables}
    before = seen(c)
    change(c, location)
    real = SparkTables.identifier
    for late, version in versions.items():

        def identifier(self, table, late=late, version=version):
            return real(self, table) + (f" VERSION AS OF {version}" if table == late else "")

        monkeypatch.setattr(SparkTables, "identifier", identifier)
        DynamicClosure.create_location_views(location, "late", spark=delta)
        for name, expected in {
            "edges": before[2],
            "vertices": {(one,) for one in before[1]},
            "closure": before[3],
        }.items():
            assert {tuple(row) for row in delta.table(f"late_{name}").collect()} == expected, name
        assert delta.sql("SELECT max(version) FROM late_commits").first()[0] == before[0]
    monkeypatch.undo()
    DynamicClosure.create_location_views(location, "now", spark=delta)
    assert {tuple(row) for row in delta.table("now_closure").collect()} == seen(c)[3]
    assert delta.sql("SELECT max(version) FROM now_commits").first()[0] == c.version
