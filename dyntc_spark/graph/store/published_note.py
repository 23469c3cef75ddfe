"""The last commit that was published, noted in a file beside the tables.

Delta cannot tell a table whose last entry was lost from one that never had it. So a writer on whose machine the tables
are notes each commit in ``_published.json`` once it is published. The note may be behind the tables, for it is
written after them and not by every writer; the tables may never be behind the note.

Spark does not wait for the disk. So before a commit is noted, the files of its entries are brought to the disk
(fsync), and the note after them: what is noted is there after a power cut, and what is not noted was not acknowledged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote

from dyntc_spark.errors import DamagedFileError
from dyntc_spark.graph.store import delta_log
from dyntc_spark.graph.store.checksum_files import sidecar_of

NAME = "_published.json"
#: So many files are brought to the disk at the same time.
_AT_ONCE = 16


@dataclass(frozen=True)
class PublishedCommit:
    """A commit that was published."""

    number: int
    version: int
    token: str


def read(folder: str) -> PublishedCommit | None:
    """Return the commit that was noted at a location; None where nothing was."""
    path = Path(folder, NAME)
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return PublishedCommit(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise DamagedFileError.of(str(path), "the last commit, which was noted there", "something else") from error


def write(folder: str, commit: PublishedCommit, files: Iterable[Path] = ()) -> None:
    """Bring files to the disk, and then note a commit, in one step: the note is the one before or this one."""
    path = Path(folder, NAME)
    beside = path.with_name(f"{NAME}.{os.getpid()}.tmp")
    beside.write_text(json.dumps(asdict(commit)), encoding="utf-8")
    files = [file for file in files if file.exists()]
    _to_disk([*files, beside])
    _to_disk({above for file in files for above in (file.parent, file.parent.parent)} - {path.parent})
    beside.replace(path)
    _to_disk([path.parent])


class Notes:
    """What one process knows to be published at a location, and what it has brought to the disk there.

    Parameters
    ----------
    folder
        Gives the folder of this machine that the location is; None where it is elsewhere.
    tables
        The tables that a commit may write to.
    """

    def __init__(self, folder: Callable[[], str | None], tables: Sequence[str]) -> None:
        self._folder, self._tables = folder, tables
        self._known: PublishedCommit | None = None
        self._on_disk: dict[str, int] = {}  # the last entry of each table, as Delta counts

    def published(self) -> PublishedCommit | None:
        """Return the last commit that is known to be published; None where none is."""
        folder = self._folder()
        noted = read(folder) if folder is not None else None
        if noted is None or self._known is None:
            return noted or self._known
        return max(self._known, noted, key=lambda commit: commit.number)

    def saw(self, commit: PublishedCommit) -> None:
        """Remember a commit that was read from the tables."""
        self._known = commit
        folder = self._folder()
        if folder is not None and not self._on_disk and read(folder) == commit:
            self._on_disk = {table: _last_entry(Path(folder, table)) for table in self._tables}

    def write(self, commit: PublishedCommit) -> None:
        """Bring what a commit has written to the disk, and then note it; nothing where the disk is elsewhere."""
        self._known = commit
        folder = self._folder()
        if folder is None:
            return
        ends, files = {}, []
        for table in self._tables:
            found, ends[table] = _written_since(Path(folder, table), self._on_disk.get(table, -1))
            files += found
        write(folder, commit, files)
        self._on_disk = ends


def _written_since(table: Path, version: int) -> tuple[list[Path], int]:
    """Return the files that a table was given by the entries after a version, and the version of the last one."""
    log, found = table / delta_log.FOLDER, []
    while (log / delta_log.name_of(version + 1)).exists():
        version += 1
        entry = log / delta_log.name_of(version)
        data = [table / unquote(name) for name in delta_log.added(entry.read_bytes())]
        told = [log / name for name in delta_log.names_about(version)]
        found += [each for path in (*data, *told) for each in (path, sidecar_of(path))]
    return found, version


def _last_entry(table: Path) -> int:
    """Return the version of the last entry of a table; -1 when there is none."""
    log = table / delta_log.FOLDER
    found = delta_log.entries(path.name for path in log.iterdir()) if log.is_dir() else []
    return found[-1] if found else -1


def _to_disk(paths: Iterable[Path]) -> None:
    """Wait until files, or folders, are on the disk: for all at once, so that the disk is waited for about once."""
    paths = list(paths)
    if paths:
        with ThreadPoolExecutor(min(len(paths), _AT_ONCE)) as threads:
            list(threads.map(_fsync, paths))


def _fsync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows has no such call for folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
