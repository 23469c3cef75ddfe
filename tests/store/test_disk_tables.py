"""Tables on a local disk, read without Spark: the same rows as Spark's, or none at all."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import DamagedFileError, DyntcError, SetupError
from dyntc_spark.graph.store import place
from dyntc_spark.graph.store.checksum_files import sidecar_of
from dyntc_spark.graph.store.commits import SCHEMA
from dyntc_spark.graph.store.disk_tables import DiskTables
from dyntc_spark.graph.store.place import TABLES, Place
from dyntc_spark.graph.store.store import Store
from dyntc_spark.graph.store.stored_types import from_storage, kind_of
from dyntc_spark.graph.store.tables import LeftToSparkError, Transaction
from tests.store.conftest import without_spark

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
        here = DiskTables(str(tmp_path / "a closure"), TABLES).read(table)
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


def test_what_is_not_read_here(tmp_path):
    saved(None, tmp_path / "c", ["a", "a vertex", "b"])
    tables, file = DiskTables(str(tmp_path / "c"), TABLES), file_of(tmp_path / "c", "vertices")
    assert tables.read("nowhere") is None
    flip(file, b"parquet-cpp")
    with pytest.raises(DamagedFileError, match=file.name):  # the checksums beside are of the whole file
        tables.read("vertices")
    file.with_name(f".{file.name}.crc").unlink()
    assert tables.read("vertices") is not None, "Parquet's are of pages, not of the footer"
    flip(file, b"a vertex")
    with pytest.raises(OSError, match="CRC"):
        tables.read("vertices")
    file_of(tmp_path / "c", "log").unlink()
    with pytest.raises(FileNotFoundError):
        tables.read("log")


def rows(*numbers):
    return pa.table({"number": list(numbers), "name": [f"vertex {number}" for number in numbers]})


def test_a_column_of_which_nothing_is_noted(tmp_path):
    """Some files have a least and greatest value of ``name``, and one has not; its rows are found nevertheless."""
    deltalake.write_deltalake(tmp_path / "x", rows(1, 2))
    tables = DiskTables(str(tmp_path), ["x"])
    tables.append("x", rows(3, 4))
    assert tables.read("x", lambda column: column("name") == "vertex 3").num_rows == 1
    assert tables.read("x", lambda column: column("number") >= 2).num_rows == 3
    assert tables.read("x", as_of=0).num_rows == 2
    assert tables.greatest("x", "number") == 4


def test_a_transaction_counts_once(tmp_path):
    one, two = DiskTables(str(tmp_path), ["x"]), DiskTables(str(tmp_path), ["x"])
    for tables in (one, two):
        tables.append("x", rows(1), Transaction("app", 1))  # the second sees the first, and adds nothing
    two.append("x", rows(2), Transaction("app", 2))
    one.append("x", rows(5), Transaction("app", 2))
    assert one.read("x")["number"].to_pylist() == [2, 1]


def test_two_writers_of_one_number(tmp_path, monkeypatch):
    """Both have looked before either writes: one is refused."""
    one, two = DiskTables(str(tmp_path), ["x"]), DiskTables(str(tmp_path), ["x"])
    one.append("x", rows(1), Transaction("app", 1))
    written = DiskTables._written

    def late(self, table, content):
        monkeypatch.undo()
        two.append("x", rows(2), Transaction("app", 2))
        return written(self, table, content)

    monkeypatch.setattr(DiskTables, "_written", late)
    with pytest.raises(deltalake.exceptions.CommitFailedError):
        one.append("x", rows(5), Transaction("app", 2))
    assert sorted(one.read("x")["number"].to_pylist()) == [1, 2]


def test_the_log_is_summed_up(tmp_path):
    """After many entries, those who come later read a checkpoint, Spark's checksums beside it or not."""
    tables = DiskTables(str(tmp_path), ["x"])
    for number in range(40):
        tables.append("x", rows(number), Transaction("app", number))
    checkpoints = list((tmp_path / "x" / "_delta_log").glob("*.checkpoint.parquet"))
    assert len(checkpoints) == 2
    tables.compact("x")
    tables.delete("x", "number < 10")
    assert sorted(DiskTables(str(tmp_path), ["x"]).read("x")["number"].to_pylist()) == list(range(10, 40))
    assert all(sidecar_of(path).exists() for path in (tmp_path / "x").glob("*.parquet"))


@pytest.mark.parametrize("name", ["a b", "it's `a`", "ü#1", "x=1,y"])
def test_names_of_folders(tmp_path, name):
    with without_spark():
        saved(None, tmp_path / name, ["a", "b", "c"])
        assert DynamicClosure.open(str(tmp_path / name)).reaches("b", "c")


def test_a_feature_that_only_spark_knows(local, tmp_path):
    folder = str(tmp_path / "c" / "log")
    c = saved(local, tmp_path / "c", ["a", "b", "c"])
    local.sql(f"ALTER TABLE delta.`{folder}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    tables = DiskTables(str(tmp_path / "c"), TABLES)
    for act in (lambda: tables.read("log"), lambda: tables.append("log", pa.table({"version": [1]}))):
        with pytest.raises(LeftToSparkError, match="deletionVectors"):
            act()
    c.insert([("c", "a")])  # Spark writes what it has to
    opened = DynamicClosure.open(str(tmp_path / "c"), spark=local)
    assert opened.version == 2
    assert not opened.reaches("a", "b")


def test_where_a_path_is(local, tmp_path, monkeypatch):
    saved(local, tmp_path / "a b", ["a", "b", "c"])
    shutil.copytree(tmp_path / "a b", tmp_path / "a%20b")
    for folder in (tmp_path / "a b", tmp_path / "a%20b", tmp_path / "nowhere", tmp_path / "no%20 where"):
        assert Place(local, str(folder)).folder == str(folder)
        assert Place(local, f"file:{folder}").folder == str(folder)
        assert Place(None, str(folder)).folder == Place(None, f"file://{folder}").folder == str(folder)
    assert Place(None, "s3://bucket/deps").folder is None
    assert Place(None, "main.deps").folder is None
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


def test_a_name_that_may_be_meant_for_a_folder(monkeypatch):
    def no_java(_):
        raise SetupError("Java", "none", "Install it.")

    with without_spark():
        monkeypatch.setattr(place, "session_for", no_java)
        closure = DynamicClosure.from_edges([("a", "b")])
        for ask in (closure.save, DynamicClosure.open):
            with pytest.raises(SetupError, match=r"Install it\. 'deps' is taken for a schema .* write '\./deps'\."):
                ask("deps")
