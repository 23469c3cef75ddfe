"""Parallel edges that are counted, at a location that Spark writes: a stream, the views, older versions."""

from __future__ import annotations

import json

import pytest

from dyntc_spark import DynamicClosure, create_location_views
from tests.store.conftest import only_spark

pytestmark = pytest.mark.slow

START = [("a", "b"), ("a", "b"), ("b", "c")]


def counts(closure):
    return {tuple(row.values())[:2]: row["count"] for row in closure.arrow.edges().to_pylist()}


def test_counts_at_a_location_of_spark(delta, tmp_path):
    location, landing, checkpoint = str(tmp_path / "deps"), tmp_path / "landing", str(tmp_path / "checkpoint")
    landing.mkdir()
    with only_spark():
        c = DynamicClosure.from_edges(START, spark=delta, multigraph=True)
        c.save(location)
        create_location_views(location, "counted", spark=delta)
        versions = {0: counts(c)}
        assert versions[0] == {("a", "b"): 2, ("b", "c"): 1}

        changes = delta.readStream.schema("op string, src string, dst string").json(str(landing))
        brief = [("insert", "x", "y"), ("delete", "x", "y")]  # together nothing
        for name, rows in {
            "one": [("delete", "a", "b"), ("insert", "c", "d"), ("insert", "c", "d"), *brief],
            "two": [("delete", "c", "d"), ("delete", "a", "b"), ("delete", "b", "c"), ("delete", "b", "c")],
        }.items():
            text = "\n".join(json.dumps(dict(zip(("op", "src", "dst"), row, strict=True))) for row in rows)
            (landing / f"{name}.json").write_text(text)
            c = DynamicClosure.open(location, spark=delta)  # as after a restart
            c.stream(changes, checkpoint=checkpoint, available_now=True, record_changes=False).await_termination()
            versions[c.version] = counts(c)
            shown = delta.table("counted_edges")
            assert shown.columns == ["src", "dst", "count"]
            assert {tuple(row)[:2]: row[2] for row in shown.collect()} == counts(c)
        assert versions[1] == {("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 2}
        assert versions[2] == {("c", "d"): 1}
        assert c.stats()["deletions_ignored"] == 1
        c.save(location)
        for version, wanted in versions.items():
            assert counts(DynamicClosure.open(location, version, spark=delta)) == wanted
