"""Delta tables on a disk of this machine, read and written without Spark.

Files have checksums beside them, as those have that Spark writes to a disk: Spark compares them, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyarrow.fs import FileSystem, LocalFileSystem

from dyntc_spark.errors import DamagedFileError
from dyntc_spark.graph.store import delta_log
from dyntc_spark.graph.store.checksum_files import fits_sidecar, sidecar_of, write_sidecar
from dyntc_spark.graph.store.delta_tables import DeltaTables
from dyntc_spark.graph.store.disk_files import write_rows
from dyntc_spark.graph.store.tables import LeftToSparkError


class DiskTables(DeltaTables):
    """Tables in the folders below one.

    Parameters
    ----------
    folder
        Where they are; need not be there yet.
    names
        The tables that belong to the location.
    """

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        if "%" in folder:  # deltalake lists the folder "a%20b", and then reads the files of "a b"
            raise LeftToSparkError(folder)
        super().__init__(names)
        self._folder = Path(folder)

    @property
    def _files(self) -> FileSystem:
        return LocalFileSystem()

    def clear_files(self, table: str) -> None:
        """Remove files that are no longer used, and the checksums of files that are gone."""
        super().clear_files(table)
        for sidecar in (self._folder / table).rglob(".*.crc"):
            if not sidecar.with_name(sidecar.name[1:].removesuffix(".crc")).exists():
                sidecar.unlink()

    def log_names(self, table: str) -> list[str] | None:
        """Return the names of the files in the log of a table; None when there is none."""
        found = self._folder / table / delta_log.FOLDER
        return [path.name for path in found.iterdir()] if found.is_dir() else None

    def log_content(self, table: str, name: str) -> bytes | None:
        """Return the content of a file in the log of a table."""
        return (self._folder / table / delta_log.FOLDER / name).read_bytes()

    def foreign_file(self) -> str | None:
        """Return a file below the folder that belongs to none of the tables; None where there is none."""
        if self._folder.is_file():
            return str(self._folder)
        for folder, below, names in os.walk(self._folder):
            inside = Path(folder).relative_to(self._folder).parts
            below[:] = sorted(
                name for name in below if not name.startswith(("_", ".")) and (inside or name not in self._names)
            )
            for name in sorted(names):
                if not name.startswith(("_", ".")):
                    return str(Path(folder, name))
        return None

    def _address(self, table: str) -> str:
        return str(self._folder / table)

    def _path(self, table: str, name: str) -> str:
        return str(self._folder / table / name)

    def _entry(self, table: str, version: int) -> Path:
        return self._folder / table / delta_log.FOLDER / delta_log.name_of(version)

    def _mark(self, table: str, version: int) -> object | None:
        try:
            found = self._entry(table, version).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _put(self, table: str, name: str, rows: pa.Table) -> tuple[int, float]:
        path = self._folder / table / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(rows, path, table)
        write_sidecar(path)
        found = path.stat()
        return found.st_size, found.st_mtime

    def _are_checked(self, paths: Iterable[str]) -> bool:
        have_sidecars = True
        for path in map(Path, paths):
            have_sidecars = have_sidecars and sidecar_of(path).exists()
            if not fits_sidecar(path):
                raise DamagedFileError.of(str(path), "what was written", "a file that is not what its checksums say")
        return have_sidecars

    def _seal_entry(self, table: str, version: int) -> None:
        """Write checksums beside the entry, and beside the files that it has added."""
        entry = self._entry(table, version)
        for name in delta_log.added(entry.read_bytes()):
            path = self._folder / table / unquote(name)
            if path.exists():
                write_sidecar(path)
        write_sidecar(entry)

    def _before_summary(self, table: str, version: int) -> None:
        """Remove the checksums of a checkpoint that Spark has written before."""
        log = self._folder / table / delta_log.FOLDER
        for path in (log / f"{version:020}.checkpoint.parquet", log / "_last_checkpoint"):
            sidecar_of(path).unlink(missing_ok=True)
