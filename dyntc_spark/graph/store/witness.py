"""A witness of the last commit, beside the tables: a file that says what was published there.

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
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote

from dyntc_spark.errors import DamagedFileError
from dyntc_spark.graph.store import delta_log
from dyntc_spark.graph.store.near import sidecar_of

NAME = "_published.json"


@dataclass(frozen=True)
class Witness:
    """A commit that was published."""

    number: int
    version: int
    token: str


def read(folder: str) -> Witness | None:
    """Return the commit that was noted at a location; None where nothing was."""
    path = Path(folder, NAME)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return Witness(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise DamagedFileError.of(str(path), "the last commit, which was noted there", "something else") from error


def write(folder: str, witness: Witness) -> None:
    """Note a commit, in one step: whenever it is read, the note is the one before or this one."""
    path = Path(folder, NAME)
    beside = path.with_name(f"{NAME}.{os.getpid()}.tmp")
    beside.write_text(json.dumps(asdict(witness)), encoding="utf-8")
    _to_disk([beside])
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
        self._known: Witness | None = None
        self._on_disk: dict[str, int] = {}  # the last entry of each table, as Delta counts

    def published(self) -> Witness | None:
        """Return the last commit that is known to be published; None where none is."""
        folder = self._folder()
        noted = read(folder) if folder is not None else None
        if noted is None or self._known is None:
            return noted or self._known
        return max(self._known, noted, key=lambda witness: witness.number)

    def saw(self, witness: Witness) -> None:
        """Remember a commit that was read from the tables."""
        self._known = witness
        folder = self._folder()
        if folder is not None and not self._on_disk and read(folder) == witness:
            self._on_disk = {table: _last_entry(Path(folder, table)) for table in self._tables}

    def write(self, witness: Witness) -> None:
        """Bring what a commit has written to the disk, and then note it; nothing where the disk is elsewhere."""
        self._known = witness
        folder = self._folder()
        if folder is None:
            return
        ends = {table: _last_entry(Path(folder, table)) for table in self._tables}
        for table in self._tables:
            _bring_to_disk(_written_since(Path(folder, table), self._on_disk.get(table, -1)))
        write(folder, witness)
        self._on_disk = ends


def _written_since(table: Path, version: int) -> list[Path]:
    """Return the files that a table was given by the entries after a version, with those that tell of them."""
    log = table / delta_log.FOLDER
    names = [path.name for path in log.iterdir()] if log.is_dir() else []
    found = {name: delta_log.version_of(name) for name in names}
    new = [log / name for name, told in found.items() if told is not None and told > version]
    data = []
    for entry in delta_log.entries(path.name for path in new):
        data += [table / unquote(name) for name in delta_log.added((log / delta_log.name_of(entry)).read_bytes())]
    beside = [sidecar for path in data if (sidecar := sidecar_of(path)).exists()]
    return [*data, *beside, *new] if new else []


def _last_entry(table: Path) -> int:
    """Return the version of the last entry of a table; -1 when there is none."""
    log = table / delta_log.FOLDER
    found = delta_log.entries(path.name for path in log.iterdir()) if log.is_dir() else []
    return found[-1] if found else -1


def _bring_to_disk(files: Iterable[Path]) -> None:
    """Wait until files, and the folders that name them, are on the disk."""
    files = [path for path in files if path.exists()]
    _to_disk(files)
    _to_disk(sorted({folder for path in files for folder in (path.parent, path.parent.parent)}))


def _to_disk(paths: Iterable[Path]) -> None:
    for path in paths:
        if os.name == "nt" and path.is_dir():  # Windows has no such call for folders
            continue
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
