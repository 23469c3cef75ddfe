"""Labelled graphs at locations that Spark writes."""

from __future__ import annotations

import pytest

from dyntc_spark import LabelledGraph
from dyntc_spark.errors import ConflictError
from tests.graph.test_labels_stored import STAFF, same
from tests.store.conftest import only_spark


@pytest.fixture(autouse=True)
def _by_spark():
    with only_spark():
        yield


def test_a_location_that_spark_writes(delta, tmp_path):
    location = str(tmp_path / "graph")
    g = LabelledGraph.from_edges(STAFF, delta)
    g.save(location)
    other = LabelledGraph.open(location, spark=delta)
    changes = delta.createDataFrame(
        [("insert", "ben", "staff", "member")], "op string, src string, dst string, label string"
    )
    for _ in range(2):
        assert g.apply(changes, batch_id="a").version == 1
    with pytest.raises(ConflictError):
        other.insert([("carol", "staff", "member")])
    assert other.refresh() == 1
    assert other.closure({"member", "viewer"}).reaches("ben", "wiki")
    g.vacuum(1, files=False)
    same(LabelledGraph.open(location, spark=delta), g)
    assert LabelledGraph.open(location, spark=delta).apply(changes, batch_id="a").version == 1


@pytest.mark.slow
def test_a_schema_of_the_catalog(delta):
    delta.sql("CREATE SCHEMA IF NOT EXISTS stored_labels")
    try:
        g = LabelledGraph.from_edges(STAFF, delta)
        g.save("stored_labels")
        for name in ("ben", "carol", "dan"):
            g.insert([(name, "staff", "member")])
        g.vacuum(2)
        same(LabelledGraph.open("stored_labels", spark=delta), g)
        assert len(LabelledGraph.open("stored_labels", 2, spark=delta)) == 5
    finally:
        delta.sql("DROP SCHEMA stored_labels CASCADE")
