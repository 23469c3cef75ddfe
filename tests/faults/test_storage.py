"""Storage that fails: a full disk, a disk that takes no writes, and files that are not what was written."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import DyntcError, StorageError
from tests.faults.batches import batch
from tests.store.closures import START, pairs, recomputed, saved, seen

SIZE = 4 << 20


@pytest.fixture
def disk(tmp_path):
    """Yield a small disk of its own, that can be filled and locked."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.name != "posix" or os.geteuid() or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    made = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("nothing may be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607


def room(disk):
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


@pytest.mark.slow
def test_a_full_disk(writer, disk):
    """The disk is left with more and more room, so that each step of a commit in turn is the one that finds none."""
    location, filler = str(disk / "deps"), disk / "filler"
    c = saved(writer, location)
    refused = 0
    for number, left in enumerate([0, 4, 8, 12, 16, 24, 32, 40, 48, 64, 96, 160]):
        before, changes = seen(c), [("insert", f"{number} {name}", "a") for name in range(40)]
        filler.write_bytes(bytes(max(room(disk) - (left << 10), 0)))
        try:
            c.apply(changes, batch_id=number)
            failed = False
        except StorageError:
            failed = True
            refused += 1
            assert seen(c) == before
            assert pairs(c) == recomputed(c)
        filler.unlink()
        c.refresh()
        opened = DynamicClosure.open(location, spark=writer)
        assert seen(opened) == seen(c)
        assert c.version == before[0] or c.reaches(f"{number} 0", "d")
        if failed:
            c.apply(changes, batch_id=number)  # it goes on, and not twice
        assert c.version == number + 1
        assert seen(DynamicClosure.open(location, spark=writer)) == seen(c)
    assert 3 <= refused < 12, refused


@pytest.mark.slow
def test_a_disk_that_is_full_when_a_checkpoint_is_due(writer, disk, caplog):
    location, filler = str(disk / "deps"), disk / "filler"
    c = saved(writer, location)
    c.insert([("d", "e")])
    before = seen(c)
    filler.write_bytes(bytes(room(disk) - (8 << 10)))
    with pytest.raises(StorageError):
        c.save(location)
    assert seen(c) == before
    filler.unlink()
    c.refresh()
    c.save(location)
    assert seen(DynamicClosure.open(location, spark=writer)) == before
    assert not caplog.records


@pytest.mark.slow
def test_a_location_that_takes_no_writes(writer, disk):
    location = str(disk / "deps")
    c = saved(writer, location)
    c.insert([("d", "e")])
    before = seen(c)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)  # noqa: S607
    for write in (
        lambda: c.insert([("e", "f")]),
        lambda: c.reset([("x", "y")]),
        lambda: c.save(location),
        lambda: c.vacuum(keep=1),
        lambda: DynamicClosure.from_edges(START, spark=writer).save(str(disk / "other")),
    ):
        with pytest.raises(StorageError):
            write()
        assert seen(c) == before
    reader = DynamicClosure.open(location, spark=writer)  # to read is no write
    assert seen(reader) == before
    assert seen(DynamicClosure.open(location, 0, spark=writer))[0] == 0
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)  # noqa: S607
    c.refresh()
    c.insert([("e", "f")])
    assert reader.refresh() == c.version
    assert seen(reader) == seen(c)


# --- files that are not what was written -----------------------------------------------------


def newest(paths):
    return max(paths, key=lambda path: path.stat().st_mtime_ns)


def newest_rows(folder):
    """Return the newest file of a table's rows; it may be in the folder of a partition."""
    return newest(path for path in folder.rglob("*.parquet") if path.parent.name != "_delta_log")


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(bytes(content))


def flip_data(path):
    """Flip a byte near the start, where the data of the first column's pages are."""
    content = bytearray(path.read_bytes())
    content[len(content) // 5] ^= 0x01
    path.write_bytes(bytes(content))


def replace(path):
    path.write_bytes(b"Dear reader,\n" * 100)


def remove(path):
    path.unlink()


DAMAGES = [truncate, flip, flip_data, replace, remove]
FLIPS = [flip, flip_data]


def refused(spark, location, c, act=DynamicClosure.open, *, may_be_harmless):
    """Return the error that opening ends with; where the damage may be to what nobody reads, a right answer will do."""
    try:
        opened = act(location, spark=spark)
    except DyntcError as error:
        return error
    assert may_be_harmless
    assert seen(opened) == seen(c)
    return None


def damage(path, how, *, sidecar):
    how(path)
    checksum = path.with_name(f".{path.name}.crc")
    if not sidecar:
        checksum.unlink(missing_ok=True)  # other storage has none


def history(spark, location):
    """A closure with an older checkpoint, some log, a newer checkpoint, and some more log."""
    c = saved(spark, location)
    for number in range(1, 4):
        c.apply(batch(7, number))
    c.save(location)
    c.apply(batch(7, 4))
    return c


@pytest.mark.slow
@pytest.mark.parametrize("sidecar", [True, False])
@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("table", ["runs", "vertices"])
def test_a_damaged_file_of_a_checkpoint(writer, tmp_path, table, how, sidecar):
    location = str(tmp_path / "deps")
    c = history(writer, location)
    path = newest_rows(tmp_path / "deps" / table)
    damage(path, how, sidecar=sidecar)
    harmless = table == "runs" or (how in FLIPS and not sidecar)  # runs follow from vertices: they are built again
    error = refused(writer, location, c, may_be_harmless=harmless)
    assert error is None or path.name in str(error) or table in str(error)
    mended = DynamicClosure.repair(location, spark=writer)
    assert seen(mended) == seen(c)
    mended.insert([("after", "all")])
    opened = DynamicClosure.open(location, spark=writer)
    assert seen(opened) == seen(mended)
    assert pairs(opened) == recomputed(opened)


@pytest.mark.slow
@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("table", ["log", "commits"])
def test_a_damaged_file_without_which_there_is_no_answer(writer, tmp_path, table, how):
    """What only this file had is gone: an error that names it, and once it is put back all is well."""
    location = str(tmp_path / "deps")
    c = history(writer, location)
    path = newest_rows(tmp_path / "deps" / table)
    content = path.read_bytes()
    damage(path, how, sidecar=False)
    for act in (DynamicClosure.open, DynamicClosure.repair):
        error = refused(writer, location, c, act, may_be_harmless=how in FLIPS)
        assert error is None or table in str(error)
    path.write_bytes(content)
    assert seen(DynamicClosure.open(location, spark=writer)) == seen(c)


@pytest.mark.slow
@pytest.mark.parametrize("how", [truncate, replace, remove])
@pytest.mark.parametrize("table", ["commits", "log", "vertices", "runs"])
def test_a_damaged_file_of_the_log_of_delta(writer, tmp_path, table, how):
    location = str(tmp_path / "deps")
    c = history(writer, location)
    path = newest((tmp_path / "deps" / table / "_delta_log").glob("*.json"))
    content = path.read_bytes()
    before = seen(c)
    damage(path, how, sidecar=False)
    other = writer.newSession() if hasattr(writer, "newSession") else writer  # Delta remembers what it has read
    try:
        opened = DynamicClosure.open(location, spark=other)
    except DyntcError as error:
        assert table in str(error)  # noqa: PT017
    else:
        assert table != "commits"
        assert seen(opened) == before, "what Delta had in memory still"
    path.write_bytes(content)
    assert seen(DynamicClosure.open(location, spark=writer)) == before
    c.refresh()
    c.insert([("after", "all")])
    assert seen(DynamicClosure.open(location, spark=writer)) == seen(c)


@pytest.mark.slow
def test_foreign_files_beside_ours(writer, tmp_path):
    location = str(tmp_path / "deps")
    c = history(writer, location)
    for table in ("commits", "log", "vertices", "runs"):
        for name in (
            "part-00000-of-others.snappy.parquet",
            "readme.txt",
            "_delta_log/readme.txt",
            "_delta_log/0.json.tmp",
        ):
            Path(location, table, name).write_bytes(b"Dear reader")
    opened = DynamicClosure.open(location, spark=writer)
    assert seen(opened) == seen(c)
    opened.insert([("after", "all")])
    opened.vacuum(keep=1)
    assert seen(DynamicClosure.open(location, spark=writer)) == seen(opened)
