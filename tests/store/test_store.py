"""A closure at a location: saved, opened at every version and by every engine, shown, cleared."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure, create_location_views, location_views_sql
from dyntc_spark.errors import ClosedError, IdentifierError, LocationError, UnknownOperationError
from dyntc_spark.graph.store import store
from tests.store.closures import START, pairs, recomputed, saved, seen


@pytest.mark.slow
def test_every_version_of_a_script(delta, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CHECKPOINT_BATCHES", 3)
    location = str(tmp_path / "it's `a` closure")
    c = DynamicClosure.from_edges(START, spark=delta)
    c.insert([("d", "e")])
    c.save(location)
    script = [seen(c)]
    for change in (
        lambda: c.apply([("delete", "c", "a"), ("insert", "e", "f'\"; DROP TABLE x; --"), ("insert", "", "ü\n")]),
        lambda: c.delete([("d", "e")]),
        lambda: c.delete([("c", "d")]),
        lambda: c.drop(["d"]),
        lambda: c.insert([("new", "a"), ("e", "new")]),
        lambda: c.insert([("new", "a")]),  # nothing
        lambda: c.reset([("x", "y")], vertices=["alone"]),
        lambda: c.insert([("y", "z")]),
    ):
        change()
        script.append(seen(c))
        assert c.version == script[0][0] + len(script) - 1
    first = script[0][0]
    for offset in range(9):
        opened = DynamicClosure.open(location, first + offset, spark=delta)
        assert seen(opened) == script[offset], (offset, script[offset])
        assert pairs(opened) == recomputed(opened)
    again = DynamicClosure.open(location, spark=delta)
    assert seen(again) == script[-1]
    assert again.stats()["inserted"] == c.stats()["inserted"]
    assert again.verify()
    history = again.history().collect()
    assert [row.version for row in history] == list(range(first, first + 9))
    assert [row.kind for row in history][:5] == ["save", "batch", "batch", "batch", "drop"]
    assert history[1].inserted == 2
    assert history[1].deleted == 1
    assert all(row.author and row.seconds > 0 for row in history)
    again.insert([("z", "x")])  # the opened one is attached, too
    assert DynamicClosure.open(location, spark=delta).reaches("z", "y")


STAMP = dt.datetime(2024, 2, 29, 12, 30, 0, 123456)  # noqa: DTZ001
KINDS = {
    "integers": (2**63 - 1, -5, 0),
    "structs": ({"a b": 1, "at,;{}": ["x", ""]}, {"a b": 2, "at,;{}": ["y"]}, {"a b": 3, "at,;{}": ["x"]}),
    "intervals": tuple(dt.timedelta(days=day, microseconds=1) for day in (1, 2, 3)),
    "decimals": (Decimal("1.50"), Decimal("-2.25"), Decimal("0.01")),
    "binary": (b"\x00\xff", b"", b"x"),
    "stamps": (STAMP, STAMP + dt.timedelta(days=1), STAMP - dt.timedelta(days=9)),
    "zoned": tuple(STAMP.replace(tzinfo=dt.timezone.utc) + dt.timedelta(hours=hour) for hour in (0, 1, 2)),
    "dates": (dt.date(2024, 1, 1), dt.date(1999, 12, 31), dt.date(2100, 1, 1)),
    "floats": (0.5, -1.5, 1e300),
    "booleans": (True, False, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_vertices_of_many_types(delta, tmp_path, kind):
    one, two, three = KINDS[kind]
    c = saved(delta, str(tmp_path / kind), [])
    assert DynamicClosure.open(str(tmp_path / kind), spark=delta).stats()["vertices"] == 0
    c.insert([(one, two)])
    c.insert([(two, three)])
    c.save(str(tmp_path / kind))
    c.delete([(one, two)])
    for version in (2, 3):
        opened = DynamicClosure.open(str(tmp_path / kind), version, spark=delta)
        assert opened.reaches(one, three) == (version == 2 or one == three)
        assert opened.reaches(two, three)
        assert opened.arrow.vertices().schema == c.arrow.vertices().schema


@pytest.mark.slow
@pytest.mark.parametrize("page", ["delta", "publish", "streaming"])
def test_the_pages_about_it(delta, capsys, page):
    text = (Path(__file__).parents[2] / "docs" / "how_to" / f"{page}.md").read_text(encoding="utf-8")
    snippets, names = re.findall(r"(?ms)^```python\n(.*?)^```$", text), {}
    for snippet in snippets:
        exec(compile(snippet, f"{page}.md", "exec"), names)  # noqa: S102
    assert delta
    assert capsys.readouterr().out.splitlines() == re.findall(r"(?m)^print\(.*\)\s+# (.+)$", "\n".join(snippets))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lanes", "recompute", "algebraic", "centres", "path_counting"])
@pytest.mark.parametrize("backend", ["auto", "spark"])
def test_every_engine_is_opened_as_it_was(delta, tmp_path, engine, backend):
    edges = [(v, v + k) for v in range(40) for k in (1, 3)]
    c = saved(delta, str(tmp_path / "deps"), edges, engine=engine, backend=backend)
    c.apply([("delete", 5, 6), ("delete", 4, 7), ("insert", 100, 3)])
    opened = DynamicClosure.open(str(tmp_path / "deps"), spark=delta)
    assert seen(opened) == seen(c)
    assert opened.stats()["engine"] == engine
    assert opened.stats()["backend"] == c.stats()["backend"]
    opened.insert([(5, 6)])
    assert pairs(opened) == recomputed(opened)


@pytest.mark.slow
def test_views_without_us(delta, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CHECKPOINT_BATCHES", 4)
    location = str(tmp_path / "it's `a` closure")
    c = saved(delta, location)
    for wrong in ("x; DROP TABLE y", "", "1a", None):
        with pytest.raises(IdentifierError):
            DynamicClosure.create_location_views(location, wrong, spark=delta)
    names = create_location_views(location, "deps", spark=delta)
    assert names == ["deps_commits", "deps_edges", "deps_vertices", "deps_changes", "deps_closure"]
    recorded = True

    def agrees():
        version, vertices, edges, every = seen(c)
        told = [*(("edge", *edge) for edge in edges), *(("vertex", vertex, None) for vertex in vertices)]
        told += [("version", str(number), None) for number in range(version + 1)]
        parts = ["SELECT 'edge', * FROM deps_edges", "SELECT 'vertex', vertex, NULL FROM deps_vertices"]
        parts += ["SELECT 'version', CAST(version AS STRING), NULL FROM deps_commits"]
        if recorded:
            told += [("pair", *pair) for pair in every]
            parts += ["SELECT 'pair', * FROM deps_closure"]
        found = [tuple(row) for row in delta.sql(" UNION ALL ".join(parts)).collect()]
        assert sorted(found, key=str) == sorted(told, key=str)

    agrees()
    assert {row.vertex for row in delta.sql("SELECT * FROM deps_ancestors('d')").collect()} == {"a", "b", "c"}
    assert {row.vertex for row in delta.sql("SELECT * FROM deps_descendants('c')").collect()} == {"a", "b", "d"}
    c.insert([("d", "e")])
    recorded = False
    agrees()
    with pytest.raises(Exception, match=r"expected the closure at version .*1.* record_changes=True"):
        delta.table("deps_closure").count()
    c.save(location, record_changes=True)
    recorded = True
    for change in (
        lambda: c.apply([("delete", "c", "a"), ("insert", "e", "f'\""), ("insert", "", "ü")]),
        lambda: c.insert([("c", "a")]),
        lambda: c.delete([("", "ü"), ("c", "a")]),
        lambda: c.drop(["ü"]),
        lambda: c.insert([("ü", "a")]),
        lambda: c.reset([("x", "y")], vertices=["alone"]),
        lambda: c.insert([("y", "z")]),
        lambda: c.save(location),
        lambda: c.delete([("x", "y")]),
    ):
        change()
        agrees()
    assert {tuple(row) for row in delta.table("deps_changes").where(f"version = {c.version}").collect()} == {
        (c.version, "delete", "x", "y"),
        (c.version, "delete", "x", "z"),
    }
    DynamicClosure.create_location_views(location, "kept_deps", spark=delta, permanent=True)
    try:
        assert delta.table("kept_deps_closure").collect() == delta.table("deps_closure").collect()
        assert not delta.sql("SELECT * FROM kept_deps_descendants('x')").count()
        for text in location_views_sql(location, "kept_deps", spark=delta).split(";\n\n")[:-1]:
            delta.sql(text)
    finally:
        for name in ("closure", "commits", "edges", "vertices", "changes"):
            delta.sql(f"DROP VIEW kept_deps_{name}")
        for name in ("descendants", "ancestors"):
            delta.sql(f"DROP FUNCTION IF EXISTS kept_deps_{name}")


@pytest.mark.slow
def test_small_files_are_put_together(delta, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "COMPACT_COMMITS", 4)
    location = str(tmp_path / "deps")
    c = saved(delta, location)
    for number in range(7):
        c.insert([("d", f"new {number}")])
    details = delta.sql(f"DESCRIBE DETAIL delta.`{location}/commits`").collect()
    assert details[0].numFiles <= 4
    assert seen(DynamicClosure.open(location, spark=delta)) == seen(c)
    assert c.history().count() == 8


@pytest.mark.slow
def test_a_schema_of_the_catalog(delta):
    delta.sql("CREATE SCHEMA IF NOT EXISTS stored_deps")
    try:
        c = saved(delta, "stored_deps")
        c.insert([("d", "e")])
        other = DynamicClosure.open("stored_deps", 0, spark=delta)
        assert not other.reaches("a", "e", unknown="false")
        with pytest.raises(LocationError, match="not attached"):
            DynamicClosure.from_edges(START, spark=delta).save("stored_deps")
        assert other.refresh() == 1
        c.vacuum(keep=1)
        assert seen(DynamicClosure.open("stored_deps", spark=delta)) == seen(c)
    finally:
        delta.sql("DROP SCHEMA stored_deps CASCADE")


def test_a_trial_writes_nothing_and_a_with_statement_lets_go(delta, tmp_path):
    location = str(tmp_path / "deps")
    with DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=delta) as c:
        c.save(location)
    with DynamicClosure.open(location, spark=delta) as c:
        files = sorted(tmp_path.rglob("*"))
        assert c.arrow.what_if([("insert", "c", "d"), ("delete", "a", "b")]).num_rows == 4
        with pytest.raises(UnknownOperationError):
            c.what_if([("insert", "c", "d"), ("turn", "a", "b")])
        assert (sorted(tmp_path.rglob("*")), c.version) == (files, 0)
        c.insert([("c", "d")])
    for call in (c.refresh, c.history, lambda: c.insert([("d", "e")])):
        with pytest.raises(ClosedError):
            call()
    assert DynamicClosure.open(location, spark=delta).reaches("a", "d")
