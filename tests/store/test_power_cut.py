"""What a power cut leaves: files that are empty, cut off or gone. A location is refused by name, or answers right."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import ConflictError, DamagedFileError, VersionError
from dyntc_spark.graph.store import published_note
from tests.store.closures import pairs, recomputed, saved, seen


def a_batch(closure, _location):
    closure.insert([("d", "e")])


def a_checkpoint(closure, location):
    closure.save(location)


class Location:
    """A location at version 1, a last write, and the files that this has written."""

    def __init__(self, spark, folder, write=a_batch):
        self.spark, self.folder, self.count = spark, folder / "deps", 0
        c = saved(spark, str(self.folder), [("a", "b"), ("b", "c")])
        c.insert([("c", "d")])
        self.before, self.note_before = seen(c), self._note()
        files = set(self._files())
        write(c, str(self.folder))
        self.after = seen(c)
        self.written = sorted(set(self._files()) - files)  # and not known to be on the disk, had nobody waited for it

    def _files(self):
        return [str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()]

    def _note(self):
        path = self.folder / published_note.NAME
        return path.read_bytes() if path.exists() else None

    def copy(self, *, noted=True):
        """Return a copy of it, which neither Spark nor Delta has seen; ``noted``: whether the last commit is."""
        self.count += 1
        target = self.folder.with_name(f"copy {self.count}")
        shutil.copytree(self.folder, target)
        if not noted and self.note_before is not None:
            (target / published_note.NAME).write_bytes(self.note_before)
        return target

    def open(self, folder, version=None):
        return DynamicClosure.open(str(folder), version, spark=self.spark)

    def repair(self, folder, **options):
        return DynamicClosure.repair(str(folder), spark=self.spark, **options)


def empty(path):
    path.write_bytes(b"")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_at_a_line(path):
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def remove(path):
    path.unlink()


def remove_all_of_it(path):
    """Remove an entry of Delta's log with everything that tells of it."""
    for other in path.parent.glob(f"*{path.stem}*"):
        other.unlink()


@pytest.fixture(scope="module")
def at(writer, tmp_path_factory):
    return Location(writer, tmp_path_factory.mktemp("power"))


def last_entry(folder, table):
    return max((folder / table / "_delta_log").glob("*.json"))


@pytest.mark.long
@pytest.mark.parametrize("how", [empty, remove, cut, cut_at_a_line, remove_all_of_it])
def test_the_last_entry_of_commits(at, how):
    if how is remove_all_of_it and session.is_connect(at.spark):
        pytest.skip("a client cannot note a commit beside the tables: Delta's own files are the only witness")
    folder = at.copy()
    entry = last_entry(folder, "commits")
    how(entry)
    with pytest.raises(DamagedFileError, match=entry.name):
        at.open(folder)
    with pytest.raises(DamagedFileError, match=entry.name):
        at.open(folder, 0)
    with pytest.raises(DamagedFileError, match=r"Version 1 can be recovered: repair\(location, version=1\)"):
        at.repair(folder)


def test_who_has_read_a_commit_misses_it(at):
    """A closure in memory is a witness, too."""
    if session.is_connect(at.spark):
        pytest.skip("the server still knows what Delta has read")
    folder = at.copy()
    reader = at.open(folder)
    remove_all_of_it(last_entry(folder, "commits"))
    (folder / published_note.NAME).unlink()
    with pytest.raises(DamagedFileError, match="commit 3, which published version 2"):
        reader.refresh()
    assert seen(reader) == at.after


def test_a_lost_version_is_given_up_when_asked(at):
    folder = at.copy()
    writer = at.open(folder)
    empty(last_entry(folder, "commits"))
    with pytest.raises(VersionError, match="version 1, the newest that is left"):
        at.repair(folder, version=0)
    if session.is_connect(at.spark):
        with pytest.raises(DamagedFileError, match="on the machine that has them"):
            at.repair(folder, version=1)
        return
    mended = at.repair(folder, version=1)
    assert seen(mended) == (3, *at.before[1:])  # under a number that nobody has seen
    with pytest.raises(ConflictError):  # one who goes on from the lost version
        writer.insert([("e", "f")])
    assert writer.refresh() == 3
    assert seen(writer) == seen(mended)
    mended.insert([("x", "y")])
    opened = at.open(folder)
    assert seen(opened) == seen(mended)
    assert opened.version == 4
    for version in (0, 1, 2):
        with pytest.raises(VersionError, match="from 3 to 4"):
            at.open(folder, version)
    assert opened.arrow.history()["kind"].to_pylist() == ["save", "batch", "repair", "batch"]


def put_right(at, folder):
    """Repair a copy, giving up the last batch where that is lost, and go on from there."""
    try:
        mended = at.repair(folder)
        assert seen(mended) == at.after
    except DamagedFileError as error:
        assert "Version 1 can be recovered" in str(error)  # noqa: PT017
        mended = at.repair(folder, version=1)
        assert seen(mended)[1:] == at.before[1:]
        assert mended.version > at.after[0]
    mended.insert([("x", "y")])
    opened = at.open(folder)
    assert seen(opened) == seen(mended)
    assert pairs(opened) == recomputed(opened)


def judge(at, folder, file, *, noted):
    """Open a copy with a damaged file: it is named, or nothing is missing."""
    name = Path(file).name
    try:
        opened = at.open(folder)
    except DamagedFileError as error:
        told = str(error)
    else:
        assert seen(opened) == at.after or (not noted and seen(opened) == at.before), file
        return
    assert name in told or name.strip(".").removesuffix(".crc") in told, (file, told)
    if not session.is_connect(at.spark):
        put_right(at, folder)


@pytest.mark.parametrize(
    ("table", "pattern", "how"),
    [("log", "_delta_log/*.json", empty), ("commits", "*.parquet", cut)],
    ids=["an entry of the log", "rows of commits"],
)
def test_files_of_the_last_batch(at, table, pattern, how):
    (file,) = (name for name in at.written if Path(name).match(f"{table}/{pattern}"))
    folder = at.copy()
    how(folder / file)
    with pytest.raises(DamagedFileError, match=Path(file).name):
        at.open(folder)
    if not session.is_connect(at.spark):
        put_right(at, folder)


@pytest.mark.slow
@pytest.mark.parametrize("write", [a_batch, a_checkpoint])
def test_every_file_since_the_last_one_on_the_disk(writer, tmp_path, write):
    """Each file in turn, and then all of them; with the note of the last commit on the disk, and without."""
    at = Location(writer, tmp_path, write)
    assert {name.partition("/")[0] for name in at.written} >= {"commits"}
    for how in (empty, cut, remove):
        for noted in (True, False):
            for file in at.written:
                folder = at.copy(noted=noted)
                how(folder / file)
                judge(at, folder, file, noted=noted)
            folder = at.copy(noted=noted)
            for file in at.written:
                how(folder / file)
            if noted or how is not remove:
                with pytest.raises(DamagedFileError):
                    at.open(folder)
            else:
                assert seen(at.open(folder)) == at.before  # as if nothing had been begun, and nobody was told
                continue
            if not session.is_connect(writer):
                put_right(at, folder)


@pytest.mark.slow
@pytest.mark.parametrize("how", [empty, cut])
def test_a_damaged_note(at, how):
    folder = at.copy()
    if session.is_connect(at.spark):
        pytest.skip("a client cannot note a commit beside the tables")
    how(folder / published_note.NAME)
    with pytest.raises(DamagedFileError, match=published_note.NAME):
        at.open(folder)
    put_right(at, folder)
