"""Delta tables in an object store, read and written without Spark.

A store that refuses to write an object that is there keeps two writers of one entry apart (on S3: conditional puts,
which ``deltalake`` asks for). Credentials come from the environment, as ``deltalake`` reads it: ``AWS_ACCESS_KEY_ID``,
``AWS_REGION``, ``AWS_ENDPOINT_URL`` and so on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import cached_property

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType, PyFileSystem

from dyntc_spark.graph.store import delta_log
from dyntc_spark.graph.store.delta_tables import DeltaTables
from dyntc_spark.graph.store.disk_files import write_rows

#: Schemes of addresses that are read and written here.
SCHEMES = ("s3", "s3a")


class ObjectTables(DeltaTables):
    """Tables below an address.

    Parameters
    ----------
    address
        Where they are; nothing need be there yet.
    names
        The tables that belong to the location.
    """

    def __init__(self, address: str, names: Sequence[str]) -> None:
        super().__init__(names)
        self._root = address.rstrip("/")

    @cached_property
    def _files(self) -> FileSystem:
        from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415  (it takes a while)

        return PyFileSystem(DeltaStorageHandler(self._root))

    def log_names(self, table: str) -> list[str] | None:
        """Return the names of the files in the log of a table; None when there is none."""
        found = self._files.get_file_info(FileSelector(self._path(table, delta_log.FOLDER), allow_not_found=True))
        return [info.base_name for info in found] or None

    def log_content(self, table: str, name: str) -> bytes | None:
        """Return the content of a file in the log of a table."""
        with self._files.open_input_stream(self._path(table, f"{delta_log.FOLDER}/{name}")) as stream:
            content: bytes = stream.read()
        return content

    def foreign_file(self) -> str | None:
        """Return an object below the address that belongs to none of the tables; None where there is none."""
        for info in self._files.get_file_info(FileSelector("", recursive=True, allow_not_found=True)):
            parts = info.path.strip("/").split("/")
            hidden = any(part.startswith(("_", ".")) for part in parts)
            if info.type == FileType.File and parts[0] not in self._names and not hidden:
                return f"{self._root}/{info.path}"
        return None

    def _address(self, table: str) -> str:
        return f"{self._root}/{table}"

    def _path(self, table: str, name: str) -> str:
        return f"{table}/{name}"

    def _mark(self, table: str, version: int) -> object | None:
        path = self._path(table, f"{delta_log.FOLDER}/{delta_log.name_of(version)}")
        found = self._files.get_file_info(path)
        return None if found.type == FileType.NotFound else (found.mtime_ns, found.size)

    def _put(self, table: str, name: str, rows: pa.Table) -> tuple[int, float]:
        with self._files.open_output_stream(self._path(table, name)) as stream:
            write_rows(rows, stream, table)
            size = stream.tell()
        return size, time.time()

    def _are_checked(self, _paths: Iterable[str]) -> bool:
        """Return False: there are no checksums beside the files."""
        return False

    def _seal_entry(self, table: str, version: int) -> None:
        """Do nothing, as above."""

    def _before_summary(self, table: str, version: int) -> None:
        """Do nothing: an object is replaced as a whole."""
