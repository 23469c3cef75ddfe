"""What Spark reads of ``runs`` for a question to the views of a location: by the metrics of its plan."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure, create_location_views
from dyntc_spark.graph.store import checkpoint
from dyntc_spark.session import is_connect

EDGES = [(f"v{v}", f"v{v + 1}") for v in range(700)] + [("v20", "v10"), ("w", "v75")]
STRIPES = 11


@pytest.fixture(scope="module")
def stored(delta, tmp_path_factory):
    """A location whose stripes are files, with batches after the checkpoint, and its closure."""
    if is_connect(delta):
        pytest.skip("a client does not see the metrics of a plan")
    folder = tmp_path_factory.mktemp("stored") / "deps"
    c = DynamicClosure.from_edges(EDGES, spark=delta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "LEAST_SHIFT", 0)
        c.save(str(folder), record_changes=True)
        c.apply([("insert", "v690", "new"), ("delete", "v695", "v696")])
    assert len(list((folder / "runs").glob("*.parquet"))) == STRIPES
    return str(folder), c


@pytest.fixture
def views(delta, stored):
    """Make the views of the location, and yield its closure."""
    location, c = stored
    adaptive = delta.conf.get("spark.sql.adaptive.enabled")
    delta.conf.set("spark.sql.adaptive.enabled", "false")  # its plan shows what was read as it is
    create_location_views(location, "skipping", spark=delta)
    yield c
    delta.conf.set("spark.sql.adaptive.enabled", adaptive)


def files_read(frame):
    """Return the rows of a query, and how many files of ``runs`` it has read to answer."""
    rows = frame.collect()
    found, leaves = 0, frame._jdf.queryExecution().executedPlan().collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        if "FileScan" in leaf.toString() and "word" in leaf.output().toString():
            found += leaf.metrics().apply("numFiles").value()
    return {tuple(row) for row in rows}, found


def test_a_source_is_read_from_its_part_alone_and_a_target_from_all(delta, views):
    expected = {(vertex,) for vertex in views.arrow.descendants("v690")["vertex"].to_pylist()}
    assert expected
    asked = delta.table("skipping_closure").where("src = 'v690'")
    assert files_read(asked.select("dst")) == (expected, 1)
    assert files_read(delta.sql("SELECT * FROM skipping_descendants('v690')")) == (expected, 1)
    several = delta.table("skipping_closure").where("src IN ('v690', 'v691', 'nobody')")
    assert files_read(several.select("src"))[1] <= 2
    # A filter on dst skips rows, but no files: any stripe may reach it.
    expected = {(vertex,) for vertex in views.arrow.ancestors("v12")["vertex"].to_pylist()}
    found, files = files_read(delta.table("skipping_closure").where("dst = 'v12'").select("src"))
    assert (found, files) == (expected, STRIPES)


@pytest.mark.slow
def test_spark_writes_parts_too(delta, tmp_path, monkeypatch):
    if is_connect(delta):
        pytest.skip("a client does not see the metrics of a plan")
    monkeypatch.setattr(checkpoint, "LEAST_SHIFT", 0)
    location = str(tmp_path / "deps")
    c = DynamicClosure.from_edges(EDGES, spark=delta, backend="spark")
    c.save(location)
    assert len({path.parent for path in (tmp_path / "deps" / "runs").rglob("*.parquet")}) >= STRIPES
    create_location_views(location, "skipping", spark=delta)
    found = {row["dst"] for row in delta.table("skipping_closure").where("src = 'v690'").collect()}
    assert found == set(c.arrow.descendants("v690")["vertex"].to_pylist())
    local = DynamicClosure.from_edges(EDGES, spark=delta)
    assert c.save(location) is None  # once more, to the same tables
    opened = DynamicClosure.open(location, spark=delta)
    assert opened.arrow.pairs().num_rows == local.arrow.pairs().num_rows
