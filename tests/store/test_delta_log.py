"""Ends of Delta's logs, the note of the last commit, and locations with secrets; without Spark."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pytest

from dyntc_spark.errors import DamagedFileError, LocationError
from dyntc_spark.graph.store import delta_log, published_note
from dyntc_spark.graph.store.disk_tables import DiskTables
from dyntc_spark.graph.store.place import checked
from dyntc_spark.graph.store.published_note import Notes, PublishedCommit
from dyntc_spark.graph.store.tables import LeftToSparkError

TOLD = {"commitInfo": {"operation": "WRITE", "operationMetrics": {"numFiles": "1"}}}
ADDED = {"add": {"path": "part%20one.parquet", "size": 3}}
WHOLE = b"".join(json.dumps(action).encode() + b"\n" for action in (TOLD, ADDED))


def names(*versions, crc=(), checkpoint=()):
    return [
        *(delta_log.name_of(version) for version in versions),
        *(f"{version:020}.crc" for version in crc),
        *(f"{version:020}.checkpoint.parquet" for version in checkpoint),
        "_last_checkpoint",
    ]


@pytest.mark.parametrize(
    ("found", "gone"),
    [
        (names(), None),
        (names(0, 1, 2, crc=[0, 1, 2]), None),
        (names(0, 1, crc=[0]), None),  # Delta writes the summary after the entry, if at all
        (names(0, 1, crc=[0, 1, 2]), 2),
        ([*names(0, 1), f".{2:020}.json.crc"], 2),
        (names(0, 2), 1),
        (names(crc=[0]), 0),
        (names(10, 11, crc=[11], checkpoint=[10]), None),  # what is older was cleared
        (names(8, 10, 11, checkpoint=[10]), None),
        (names(10, 12, checkpoint=[10]), 11),
        (names(9, checkpoint=[10]), 10),
    ],
)
def test_entries_that_are_not_there(found, gone):
    damage = delta_log.missing(found)
    assert (damage and damage.version) == gone


@pytest.mark.parametrize(
    "content", [b"", b" \n", WHOLE[:-3], WHOLE[:30], WHOLE.splitlines()[0], b"[]\n", b"\xff\xfe", b"\0" * 700]
)
def test_entries_that_are_cut_off(content):
    assert delta_log.judged(7, content).version == 7
    assert delta_log.judged(7, WHOLE) is None


def test_a_note(tmp_path):
    assert published_note.read(str(tmp_path)) is None
    first, second = PublishedCommit(1, 0, "a"), PublishedCommit(2, 1, "b")
    (tmp_path / "commits" / "_delta_log").mkdir(parents=True)
    (tmp_path / "commits" / "_delta_log" / delta_log.name_of(0)).write_bytes(WHOLE)
    (tmp_path / "commits" / "part one.parquet").write_bytes(b"abc")
    notes = Notes(lambda: str(tmp_path), ("commits", "log"))
    notes.write(first)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [published_note.NAME]
    notes.saw(second)
    assert notes.published() == second  # whatever the file says
    other = Notes(lambda: str(tmp_path), ("commits",))
    assert other.published() == first
    for wrong in ("", "[]", '{"number": 1}'):
        (tmp_path / published_note.NAME).write_text(wrong)
        with pytest.raises(DamagedFileError, match=published_note.NAME):
            other.published()
    elsewhere = Notes(lambda: None, ("commits",))
    assert elsewhere.published() is None
    elsewhere.write(first)
    assert elsewhere.published() == first


def test_what_a_commit_has_written_comes_to_the_disk(tmp_path, monkeypatch):
    synced, log = [], tmp_path / "commits" / "_delta_log"
    monkeypatch.setattr(published_note, "_to_disk", lambda paths: synced.extend(path.name for path in paths))
    notes = Notes(lambda: str(tmp_path), ("commits",))
    log.mkdir(parents=True)
    (log / delta_log.name_of(0)).write_bytes(WHOLE)
    (log.parent / "part one.parquet").write_bytes(b"abc")
    (log.parent / ".part one.parquet.crc").write_bytes(b"")
    notes.write(PublishedCommit(1, 0, "a"))
    assert {"part one.parquet", ".part one.parquet.crc", delta_log.name_of(0), "_delta_log", "commits"} < set(synced)
    synced.clear()
    (log / delta_log.name_of(1)).write_bytes(WHOLE.replace(b"one", b"two"))
    (log.parent / "part two.parquet").write_bytes(b"abc")
    notes.write(PublishedCommit(2, 1, "b"))
    assert {"part two.parquet", delta_log.name_of(1)} < set(synced)
    assert delta_log.name_of(0) not in synced


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("s3a://AKIA:hidden@bucket/deps", "s3a://***@bucket/deps"),
        ("s3a://AKIA:hid/den@bucket/deps", "s3a://***@bucket/deps"),
        ("s3a://:hidden@bucket/deps", "s3a://***@bucket/deps"),
        ("wasbs://c@account/deps?sv=1&sig=hidden", "account/deps?***"),
        ("https://account/deps;SharedAccessKey=hidden", "SharedAccessKey=***"),
        ("s3a://AKIA:hidden@bucket/deps/" + "x" * 1000, "s3a://***@bucket/deps"),
        ("s3a://AKIA:hidden@bucket/../deps", "s3a://***@bucket"),
    ],
)
def test_secrets_are_not_repeated(location, shown):
    with pytest.raises(LocationError) as refused:
        checked(location)
    assert shown in str(refused.value)
    assert "hid" not in str(refused.value)


@pytest.mark.parametrize(
    "location",
    ["abfss://data@account.dfs.core.windows.net/deps", "hdfs://name:8020/home/me@work/deps", "/x/year=2024/a:b@c"],
)
def test_what_is_no_secret(location):
    assert checked(location) == location


def test_a_path_that_is_another_when_it_is_decoded(tmp_path):
    """Of two copies ``a b`` and ``a%20b`` that went different ways, the second is not read by the log of the first."""
    one, two = tmp_path / "one", tmp_path / "two"
    DiskTables(str(one), ["x"]).append("x", pa.table({"x": ["kept"]}))
    shutil.copytree(one, two)
    DiskTables(str(one), ["x"]).delete("x", "true")
    DiskTables(str(two), ["x"]).append("x", pa.table({"x": ["new"]}))
    one.rename(tmp_path / "a b")
    two.rename(tmp_path / "a%20b")
    assert DiskTables(str(tmp_path / "a b"), ["x"]).read("x").num_rows == 0
    with pytest.raises(LeftToSparkError):
        DiskTables(str(tmp_path / "a%20b"), ["x"])
