"""Closures in a folder, between one command and the next.

Every version is a folder of its own with the edges, the vertices and the closure as
Parquet files and a manifest; the file ``CURRENT`` names the one that counts. A
version is written beside, renamed into place, and only then named: whoever reads sees
a whole version, and of two writers one is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dyntc_spark.errors import DyntcError
from dyntc_spark.graph.closure import DynamicClosure

FORMAT = 1
COUNTS = ("inserted", "deleted", "insertions_ignored", "deletions_ignored")  # of all batches together
KEPT = 2  # versions that stay, for those who are reading


class StoreError(DyntcError):
    """A folder that holds no closure, holds something else, or has another writer."""


def save(closure: DynamicClosure, folder: Path, engine: str, before: dict[str, Any] | None = None) -> None:
    """Write the closure as the version that it is, and let it be the current one; ``before`` is what it was made of."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{closure.version:08d}"
    if (folder / name).exists():
        raise _conflict(folder, name)
    beside = folder / f".{name}-{os.getpid()}"
    beside.mkdir()
    try:
        for table in ("edges", "vertices", "pairs"):
            pq.write_table(getattr(closure.arrow, table)(), beside / f"{table}.parquet")
        stats = closure.stats()
        for count in COUNTS:
            stats[count] += (before or {}).get(count, 0)
        details = {key: _plain(value) for key, value in stats.pop("details").items()}
        manifest = {"format": FORMAT, **stats, "engine": engine, "details": details}
        (beside / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")
        try:
            beside.rename(folder / name)
        except OSError as error:
            raise _conflict(folder, name) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    pointer = folder / f".CURRENT-{os.getpid()}"
    pointer.write_text(f"{name}\n", encoding="ascii")
    pointer.replace(folder / "CURRENT")
    versions = sorted(path for path in folder.iterdir() if path.name.isdigit() and path.name <= name)
    for old in versions[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def load(folder: Path) -> tuple[DynamicClosure, dict[str, Any]]:
    """Give the closure of the current version, built from its edges, and the manifest."""
    current, manifest = _current(folder)
    try:
        edges, vertices = (pq.read_table(current / f"{table}.parquet") for table in ("edges", "vertices"))
    except (OSError, pa.ArrowException) as error:
        raise StoreError("a whole version", f"{current}: {error}", "Build it again from the edges.") from error
    closure = DynamicClosure.from_edges(edges, engine=manifest["engine"], vertices=vertices)
    closure._renumber(manifest["version"])  # noqa: SLF001  (of this package)
    return closure, manifest


def manifest_of(folder: Path) -> dict[str, Any]:
    """Give what is known about the current version without reading it."""
    return _current(folder)[1]


def kind_of(folder: Path) -> pa.DataType:
    """Give the type of the vertices."""
    return pq.read_schema(_current(folder)[0] / "vertices.parquet").field("vertex").type


def holds_closure(folder: Path) -> bool:
    """Tell whether there is a version that counts."""
    return (folder / "CURRENT").is_file()


def _current(folder: Path) -> tuple[Path, dict[str, Any]]:
    if not holds_closure(folder):
        raise StoreError(
            "a folder that 'dyntc build' has written",
            f"{str(folder)!r}, which {'holds something else' if folder.exists() else 'is not there'}",
            "Build it first: dyntc build EDGES STORE.",
        )
    name = (folder / "CURRENT").read_text(encoding="ascii", errors="replace").strip()
    if not (name.isascii() and name.isdigit()):
        raise StoreError("the name of a version in CURRENT", f"{name!r:.80}", "Build it again from the edges.")
    current = folder / name
    try:
        manifest: dict[str, Any] = json.loads((current / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError("a readable manifest", f"{current}: {error}", "Build it again from the edges.") from error
    if manifest.get("format") != FORMAT:
        raise StoreError(
            f"a closure in format {FORMAT}", f"format {manifest.get('format')!r}", "Build it again from the edges."
        )
    return current, manifest


def _conflict(folder: Path, name: str) -> StoreError:
    return StoreError(
        "to be the only writer",
        f"version {int(name)} in {str(folder)!r}, which another process has written meanwhile",
        "Run the command again: it starts from that version.",
    )


def _plain(value: object) -> Any:  # noqa: ANN401  (whatever JSON can hold)
    return value if isinstance(value, int | float | str | bool | None) else str(value)
