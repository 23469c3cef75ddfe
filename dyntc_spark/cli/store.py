"""Closures in a folder, between one command and the next.

Every version is a folder of its own with the edges, the vertices and the closure as
Parquet files and a manifest; the file ``CURRENT`` names the one that counts. A
version is written beside, renamed into place, and only then named: whoever reads sees
a whole version, and of two writers one is refused.

``CURRENT`` has the SHA-256 of the manifest, and the manifest those of the other files. Each file is
compared when it is read, so that a damaged one is an error and not another graph.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dyntc_spark.errors import DyntcError
from dyntc_spark.graph.closure import DynamicClosure

FORMAT = 2  # 1 had no checksums
COUNTS = ("inserted", "deleted", "insertions_ignored", "deletions_ignored")  # of all batches together
KEPT = 2  # versions that stay, for those who are reading


class StoreError(DyntcError):
    """A folder that holds no closure, holds something else, or has another writer."""


class DamagedStoreError(StoreError):
    """A file of the folder that is not as it was written."""


def save(closure: DynamicClosure, folder: Path, engine: str, before: dict[str, Any] | None = None) -> None:
    """Write the closure as the version that it is, and let it be the current one; ``before`` is what it was made of."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{closure.version:08d}"
    if (folder / name).exists():
        raise _conflict(folder, name)
    beside = folder / f".{name}-{os.getpid()}"
    beside.mkdir()
    try:
        checksums = {}
        for table in ("edges", "vertices", "pairs"):
            content = _parquet(getattr(closure.arrow, table)())
            checksums[f"{table}.parquet"] = _checksum(content)
            (beside / f"{table}.parquet").write_bytes(content)
        stats = closure.stats()
        for count in COUNTS:
            stats[count] += (before or {}).get(count, 0)
        details = {key: _plain(value) for key, value in stats.pop("details").items()}
        manifest = {"format": FORMAT, **stats, "engine": engine, "details": details, "checksums": checksums}
        written = json.dumps(manifest, indent=2).encode()
        (beside / "manifest.json").write_bytes(written)
        try:
            beside.rename(folder / name)
        except OSError as error:
            raise _conflict(folder, name) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    pointer = folder / f".CURRENT-{os.getpid()}"
    pointer.write_bytes(f"{name}\n{_checksum(written)}\n".encode("ascii"))
    pointer.replace(folder / "CURRENT")
    versions = sorted(path for path in folder.iterdir() if path.name.isdigit() and path.name <= name)
    for old in versions[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def load(folder: Path) -> tuple[DynamicClosure, dict[str, Any]]:
    """Return the closure of the current version, built from its edges, and the manifest."""
    current, manifest = _current(folder)
    edges, vertices = (_table(current, manifest, table) for table in ("edges", "vertices"))
    closure = DynamicClosure.from_edges(edges, engine=manifest["engine"], vertices=vertices)
    closure._renumber(manifest["version"])  # noqa: SLF001  (of this package)
    return closure, manifest


def manifest_of(folder: Path) -> dict[str, Any]:
    """Return what is known about the current version without reading it."""
    return _current(folder)[1]


def kind_of(folder: Path) -> pa.DataType:
    """Return the type of the vertices."""
    return _table(*_current(folder), table="vertices").schema.field("vertex").type


def holds_closure(folder: Path) -> bool:
    """Return whether there is a version that counts."""
    return (folder / "CURRENT").is_file()


def next_version(folder: Path) -> int:
    """Return the number of a version that is not there yet, whatever state the others are in."""
    return max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=-1) + 1


def _current(folder: Path) -> tuple[Path, dict[str, Any]]:
    if not holds_closure(folder):
        raise StoreError(
            "a folder that 'dyntc build' has written",
            f"{str(folder)!r}, which {'holds something else' if folder.exists() else 'is not there'}",
            "Build it first: dyntc build EDGES STORE.",
        )
    pointer = folder / "CURRENT"
    named = pointer.read_bytes().decode("ascii", errors="replace")
    parts = re.fullmatch(r"([0-9]+)\n(?:([0-9a-f]{64})\n)?", named)
    if parts is None:
        raise DamagedStoreError(
            f"the name of a version and a checksum in the file '{pointer}'",
            f"{named!r:.80}",
            f"Restore the file, or {_rebuild(folder)}",
        )
    current, checksum = folder / parts[1], parts[2]
    if checksum is None:
        raise StoreError(
            "a closure with checksums",
            f"the folder '{folder}', which an earlier release has written without",
            f"Build it again: dyntc build EDGES {folder} --replace; where EDGES is {current / 'edges.parquet'}, "
            "these are its own edges, unchecked.",
        )
    manifest: dict[str, Any] = json.loads(_read(current / "manifest.json", checksum, pointer))
    if manifest.get("format") != FORMAT:
        raise StoreError(
            f"a closure in format {FORMAT}",
            f"format {manifest.get('format')!r}",
            f"Use the release that has written it, or {_rebuild(folder)}",
        )
    return current, manifest


def _table(current: Path, manifest: dict[str, Any], table: str) -> pa.Table:
    path = current / f"{table}.parquet"
    return pq.read_table(pa.BufferReader(_read(path, manifest["checksums"][path.name], current / "manifest.json")))


def _read(path: Path, checksum: str, source: Path) -> bytes:
    """Return the bytes of a file that has the checksum which is written in ``source``."""
    try:
        found = path.read_bytes()
        came = "one with another checksum"
    except OSError as error:
        found, came = None, f"none: {error.strerror}"
    if found is None or _checksum(found) != checksum:
        raise DamagedStoreError(
            f"the file '{path}' as it was written, with the checksum in '{source}'",
            came,
            f"Restore the file, or {_rebuild(path.parents[1])}",
        )
    return found


def _parquet(table: pa.Table) -> memoryview:
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream)
    return memoryview(stream.getvalue())


def _checksum(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()


def _rebuild(folder: Path) -> str:
    return f"build the closure again: dyntc build EDGES {folder} --replace."


def _conflict(folder: Path, name: str) -> StoreError:
    return StoreError(
        "to be the only writer",
        f"version {int(name)} in {str(folder)!r}, which another process has written meanwhile",
        "Run the command again: it starts from that version.",
    )


def _plain(value: object) -> Any:  # noqa: ANN401  (whatever JSON can hold)
    return value if isinstance(value, int | float | str | bool | None) else str(value)
