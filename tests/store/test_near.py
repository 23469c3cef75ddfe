"""Tables on a local disk, read without Spark: the same rows as Spark's, or none at all."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import DyntcError
from dyntc_spark.graph.store import near, place
from dyntc_spark.graph.store.commits import SCHEMA
from dyntc_spark.graph.store.kinds import from_storage, kind_of
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.store import Store

VERTICES = [
    pytest.param(
        [
            np.datetime64("1969-12-31T23:59:59.000007"),
            np.datetime64("2026-01-01T00:00:00.000000"),
            np.datetime64("0001-01-01T00:00:00.000000"),
        ],
        id="times",
    ),
    pytest.param(
        [{"shop": 1, "items": ["x"]}, {"shop": 1, "items": ["y"]}, {"shop": 2, "items": ["y", "z"]}], id="structs"
    ),
]


@pytest.fixture
def local(delta):
    """Return the session where it runs in this process: a client of a server cannot tell where that keeps its files."""
    if session.is_connect(delta):
        pytest.skip("the session is a client")
    pytest.importorskip("deltalake")
    return delta


def saved(spark, folder, vertices):
    a, b, c = vertices
    edges = pa.table({"src": pa.array([a, b]), "dst": pa.array([b, c])})
    closure = DynamicClosure.from_edges(edges, spark=spark)
    closure.save(str(folder))
    closure.apply(pa.table({"op": ["delete"], "src": pa.array([a]), "dst": pa.array([b])}))
    return closure


@contextmanager
def jobs_of(spark):
    """Return a list that has the numbers of the jobs started within, once it is left."""
    context, found = spark.sparkContext, []
    context.setJobGroup("near", "near")
    try:
        yield found
    finally:
        found += context.statusTracker().getJobIdsForGroup("near")
        context.setLocalProperty("spark.jobGroup.id", None)


def file_of(folder: Path, table: str) -> Path:
    (found,) = (folder / table).glob("*.parquet")
    return found


def flip(path: Path, words: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(words)] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("vertices", VERTICES)
def test_the_same_rows_as_sparks(local, tmp_path, vertices):
    saved(local, tmp_path / "a closure", vertices)
    at = Place(local, str(tmp_path / "a closure"))
    kind = kind_of(Store.required(at).head.vertex)
    for table, column in (("vertices", "vertex"), ("log", "src"), ("log", "dst")):
        here = near.read(str(tmp_path / "a closure" / table))
        there = at.frame(table).toArrow()
        assert here.num_rows == there.num_rows
        rows = [from_storage(found.column(column), kind).to_pylist() for found in (here, there)]
        assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1]))
    commits = [found.select(SCHEMA.names).cast(SCHEMA) for found in (at.read("commits"), at.frame("commits").toArrow())]
    assert commits[0].sort_by("number") == commits[1].sort_by("number")


def test_one_condition_for_both(local, tmp_path):
    saved(local, tmp_path / "c", ["a", "b", "c"])
    at = Place(local, str(tmp_path / "c"))

    def second(column):
        return (column("number") >= 2) & (column("kind") != "save")

    here, there = at.read("commits", second), at.frame("commits").where(second(F.col)).toArrow()
    assert here.column("number").to_pylist() == there.column("number").to_pylist() == [2]


def test_opening_and_following_start_no_job(local, tmp_path):
    writer = saved(local, tmp_path / "c", ["a", "b", "c"])
    with jobs_of(local) as jobs:
        reader = DynamicClosure.open(str(tmp_path / "c"), spark=local)
    assert not jobs
    assert reader.reaches("b", "c")
    writer.insert(pa.table({"src": ["c"], "dst": ["a"]}))
    with jobs_of(local) as jobs:
        assert reader.refresh() == 2
    assert not jobs
    assert reader.reaches("b", "a")


def test_what_is_not_read_here(local, tmp_path):
    saved(local, tmp_path / "c", ["a vertex", "b", "c"])
    assert near.read(str(tmp_path / "nowhere")) is None
    vertices, file = str(tmp_path / "c" / "vertices"), file_of(tmp_path / "c", "vertices")
    flip(file, b"parquet-mr")
    assert near.read(vertices) is None, "Hadoop's checksums are of the whole file"
    file.with_name(f".{file.name}.crc").unlink()
    assert near.read(vertices) is not None, "Parquet's are of pages, not of the footer"
    flip(file, b"a vertex")
    assert near.read(vertices) is None
    file_of(tmp_path / "c", "log").unlink()
    assert near.read(str(tmp_path / "c" / "log")) is None


def test_a_feature_that_only_spark_knows(local, tmp_path):
    folder = str(tmp_path / "c" / "log")
    saved(local, tmp_path / "c", ["a", "b", "c"])
    local.sql(f"ALTER TABLE delta.`{folder}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    assert near.read(folder) is None
    opened = DynamicClosure.open(str(tmp_path / "c"), spark=local)
    assert opened.version == 1
    assert not opened.reaches("a", "b")


def test_where_a_path_is(local, tmp_path, monkeypatch):
    saved(local, tmp_path / "a b", ["a", "b", "c"])
    shutil.copytree(tmp_path / "a b", tmp_path / "a%20b")
    assert Place(local, str(tmp_path / "nowhere")).folder is None
    for folder in (tmp_path / "a b", tmp_path / "a%20b"):
        assert Place(local, str(folder)).folder == str(folder)
        assert Place(local, f"file:{folder}").folder == str(folder)
    with pytest.raises(DyntcError, match="nosuch"):
        DynamicClosure.open("nosuch://bucket/deps", spark=local)
    monkeypatch.setattr(place, "is_connect", lambda _: True)
    assert Place(local, str(tmp_path / "a b")).folder is None, "a client does not know whose disk the server means"


def test_a_path_that_is_another_when_it_is_decoded(local, tmp_path):
    """``a%20b`` is not ``a b``, and neither is answered from the other."""
    for name, vertices in (("a b", ["a", "b", "c"]), ("a%20b", ["x", "y", "z"])):
        saved(local, tmp_path / name, vertices)
    for name, vertices in (("a b", ["a", "b", "c"]), ("a%20b", ["x", "y", "z"])):
        opened = DynamicClosure.open(str(tmp_path / name), spark=local)
        assert sorted(opened.arrow.vertices()["vertex"].to_pylist()) == vertices
        assert opened.reaches(*vertices[1:])
