"""The tables of a location, read without Spark and without this library: deltalake, Arrow and DuckDB."""

from __future__ import annotations

import duckdb
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from dyntc_spark import DynamicClosure
from dyntc_spark.graph.store import disk_files
from dyntc_spark.graph.store.checkpoint import NUMBERS, RUNS
from tests.store.closures import recomputed
from tests.store.conftest import without_spark

#: The query of docs/reference/format.md.
CLOSURE = """
WITH base AS (SELECT max_by(token, number) AS token, max_by(version, number) AS version FROM commits WHERE checkpoint),
net AS (
    SELECT c.src, c.dst, max_by(c.op, c.version) AS op FROM changes c, base WHERE c.version > base.version
    GROUP BY c.src, c.dst
),
stored AS (
    SELECT s.vertex AS src, d.vertex AS dst
    FROM base
    JOIN runs r ON r.token = base.token
    JOIN vertices s ON s.token = base.token AND s.stripe = r.stripe AND (r.word >> s.lane) & 1 = 1
    JOIN vertices d ON d.token = base.token AND d.component BETWEEN r.first AND r.last
    WHERE s.number <> d.number
)
SELECT src, dst FROM stored ANTI JOIN net USING (src, dst)
UNION ALL SELECT src, dst FROM net WHERE op = 'insert'
"""
EDGES = [(f"v{v}", f"v{v + 1}") for v in range(150)] + [("v20", "v10"), ("w", "v75"), ("v149", "x")]


@pytest.mark.parametrize(
    ("engine", "backend"), [("lanes", "local"), pytest.param("lanes", "spark", marks=pytest.mark.slow)]
)
def test_the_closure_without_spark(delta, tmp_path, engine, backend):
    location = str(tmp_path / "deps")
    c = DynamicClosure.from_edges(EDGES, spark=delta, engine=engine, backend=backend)
    c.save(location, record_changes=True)

    def agrees():
        tables = {
            name: DeltaTable(f"{location}/{name}").to_pyarrow_table()
            for name in ("commits", "vertices", "runs", "changes")
            if (tmp_path / "deps" / name).exists()
        }
        for name, columns in {"runs": RUNS, "vertices": NUMBERS}.items():
            assert set(columns) <= set(tables[name].column_names)
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE changes (version BIGINT, op VARCHAR, src VARCHAR, dst VARCHAR)")
            for name, table in tables.items():
                connection.register(f"arrow_{name}", table)
                connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM arrow_{name}")
            found = connection.execute(CLOSURE).fetchall()
        assert len(found) == len(set(found))
        assert set(found) == recomputed(c)

    agrees()
    c.apply([("delete", "v100", "v101"), ("insert", "x", "v3"), ("insert", "new", "w")])
    c.apply([("insert", "v100", "v101"), ("delete", "v20", "v10")])
    agrees()


def test_a_stripe_is_read_from_its_files_alone(tmp_path, monkeypatch):
    """What a vertex reaches is in one stripe: a reader that knows it needs no file that has others."""
    monkeypatch.setattr(disk_files, "ONE_FILE", 256)
    location = tmp_path / "deps"
    with without_spark():
        c = DynamicClosure.from_edges(EDGES)
        c.save(str(location))
    vertices, runs = (DeltaTable(str(location / name)) for name in ("vertices", "runs"))
    every = vertices.to_pyarrow_table()
    (source,) = every.filter(pc.equal(every["vertex"], "v30")).to_pylist()
    wanted = pc.field("stripe") == source["stripe"]
    needed = {fragment.path for fragment in runs.to_pyarrow_dataset().get_fragments(wanted)}
    others = [path for path in (location / "runs").glob("*.parquet") if path.name not in needed]
    assert others
    for path in others:
        path.unlink()
    found = runs.to_pyarrow_dataset().to_table(filter=wanted).to_pylist()
    reached = {
        component
        for run in found
        if (run["word"] >> source["lane"]) & 1
        for component in range(run["first"], run["last"] + 1)
    }
    names = {row["vertex"] for row in every.to_pylist() if row["component"] in reached} - {"v30"}
    assert names == set(c.arrow.descendants("v30")["vertex"].to_pylist())
