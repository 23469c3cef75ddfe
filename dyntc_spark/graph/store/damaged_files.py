"""Damaged files at a location: which they are, what is left without them, and how to put them aside.

Only what is damaged at the end of a table's log is put aside here, and what Delta and Hadoop write twice. Rows that are
lost stay lost; ``Attached.repair`` decides what to do about these.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from dyntc_spark.errors import DamagedFileError, DyntcError
from dyntc_spark.graph.store import delta_log
from dyntc_spark.graph.store.checksum_files import covers, fits_sidecar, sidecar_of
from dyntc_spark.graph.store.delta_log import Damage
from dyntc_spark.graph.store.place import TABLES, Place

#: Where files are put that are damaged.
ASIDE = "_damaged"
#: A writer may be between two files of a commit; what is still so after this many seconds is damage.
PATIENCE = 0.3

_PARQUET = b"PAR1"


@dataclass(frozen=True)
class Found:
    """A damaged file of a table."""

    table: str
    name: str  #: below the folder of the table
    what: str

    def error(self, place: Place) -> DamagedFileError:
        """Make the error that names it."""
        return DamagedFileError.of(place.file_name(self.table, self.name), "what was written", self.what)


def require_end(place: Place, table: str) -> None:
    """Refuse a table whose last entry is gone, empty or cut off."""
    if _end(place, table) is None:
        return
    time.sleep(PATIENCE)
    damage = _end(place, table)
    if damage is not None:
        raise Found(table, damage.name, damage.what).error(place)


def named(place: Place, error: DyntcError) -> DyntcError:
    """Return an error that names a damaged file at the location, or the error itself when there is none to be seen."""
    found = damages(place)
    return found[0].error(place) if found else error


def damages(place: Place) -> list[Found]:
    """Return the damaged files that can be seen: in all tables on a disk of this machine, else at the ends of logs."""
    found = []
    for table in TABLES:
        if place.folder is None:
            end = _end(place, table)
            found += [] if end is None else [Found(table, end.name, end.what)]
        else:
            found += _damaged_entries(place.folder, table) + _damaged_data(place.folder, table)
    spare = [name.split("/", 1) for name in spares(place)]
    return found + [Found(table, name, "a file that is cut off") for table, name in spare]


@dataclass
class Plan:
    """What has to be put aside so that the tables can be read again."""

    as_of: dict[str, int]  #: the last whole version of each table whose end is damaged, as Delta counts; -1: none
    aside: list[str]  #: files, below the location
    found: list[Found]


def plan(place: Place) -> Plan:
    """Work out what is left of each table. Nothing is lost by it that could be read before."""
    as_of, aside, found = {}, [], []
    for table in TABLES:
        names = place.log_names(table)
        if not names:
            continue
        bad = _first_bad(place, table)
        if bad is not None:
            found.append(Found(table, bad.name, bad.what))
            as_of[table] = bad.version - 1
            told = {name: delta_log.version_of(name) for name in names}
            behind = [name for name, version in told.items() if version is not None and version >= bad.version]
            behind += [name for name in ("_last_checkpoint", "._last_checkpoint.crc") if name in names]
            aside += [f"{table}/{delta_log.FOLDER}/{name}" for name in behind]
    return Plan(as_of, sorted(aside), found)


def put_aside(place: Place, files: list[str]) -> None:
    """Move files to the folder ``_damaged`` of the location, or tell which ones have to be moved by hand."""
    if not files:
        return
    if place.folder is None:
        raise DamagedFileError(
            "tables on a disk of this machine, to move what is damaged out of the way",
            f"others, with damage in {', '.join(place.file_name(*name.split('/', 1)) for name in files)}",
            "Move these files away, or call repair() in a session on the machine that has them.",
        )
    root = Path(place.folder)
    for name in files:
        source, target = root / name, root / ASIDE / name
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)


def spares(place: Place) -> list[str]:
    """Return damaged files that nobody needs: what they say is said elsewhere, too."""
    if place.folder is None:
        return []
    found = []
    for table in TABLES:
        folder = Path(place.folder, table)
        for path in [*folder.rglob("*.parquet"), *(folder / delta_log.FOLDER).glob("*")]:
            if path.is_file() and not path.name.startswith("."):
                found += [file for file in _spare(path) if file.exists()]
    return sorted({str(path.relative_to(place.folder)) for path in found})


# --- one table -------------------------------------------------------------------------------


def _end(place: Place, table: str) -> Damage | None:
    names = place.log_names(table)
    if not names:
        return None
    found = delta_log.last_damage(names, lambda name: place.log_content(table, name))
    if found is None and place.folder is not None and (have := delta_log.entries(names)):
        return _beside(Path(place.folder, table, delta_log.FOLDER), have[-1])
    return found


def _beside(log: Path, version: int) -> Damage | None:
    """Compare an entry with its checksums, where these are whole."""
    path = log / delta_log.name_of(version)
    if fits_sidecar(path) or not covers(path):
        return None
    return Damage(version, "a file that is not what its checksums say")


def _first_bad(place: Place, table: str) -> Damage | None:
    """Return the first entry without which the table has to do."""
    if place.folder is None:
        return _end(place, table)
    entries = _bad_entries(Path(place.folder, table, delta_log.FOLDER))
    if table == "commits":  # of which every row is needed
        for version, name, what in _bad_data(place.folder, table):
            entries.append(Damage(version, f"an entry about {name}, and there {what}"))
    return min(entries, key=lambda damage: damage.version, default=None)


def _bad_entries(log: Path) -> list[Damage]:
    names = [path.name for path in log.iterdir()] if log.is_dir() else []
    gone, found = delta_log.missing(names), []
    for version in delta_log.entries(names):
        damage = delta_log.judged(version, (log / delta_log.name_of(version)).read_bytes()) or _beside(log, version)
        found += [] if damage is None else [damage]
    return found if gone is None else [*found, gone]


def _damaged_entries(folder: str, table: str) -> list[Found]:
    return [Found(table, damage.name, damage.what) for damage in _bad_entries(Path(folder, table, delta_log.FOLDER))]


def _damaged_data(folder: str, table: str) -> list[Found]:
    return [Found(table, name, what) for _, name, what in _bad_data(folder, table)]


def _bad_data(folder: str, table: str) -> list[tuple[int, str, str]]:
    """Return the files of a table that are not as long as its log says, with the entries that added them."""
    log = Path(folder, table, delta_log.FOLDER)
    added: dict[str, tuple[int, int]] = {}
    removed: set[str] = set()
    names = [path.name for path in log.iterdir()] if log.is_dir() else []
    for version in delta_log.entries(names):
        content = (log / delta_log.name_of(version)).read_bytes()
        if delta_log.judged(version, content) is None:
            added |= {name: (version, size) for name, size in delta_log.added(content).items()}
            removed |= delta_log.removed(content)
    found = []
    for name, (version, size) in added.items():
        path = Path(folder, table, unquote(name))
        if name in removed or (path.exists() and path.stat().st_size == size):
            continue
        what = "no file" if not path.exists() else f"a file of {path.stat().st_size} bytes, where there were {size}"
        found.append((version, unquote(name), what))
    return found


def _spare(path: Path) -> list[Path]:
    """Return what is to be put aside of a file and its checksums, if these are the ones that are damaged."""
    sidecar = sidecar_of(path)
    cut = [sidecar] if sidecar.exists() and not covers(path) else []
    if path.name.endswith((".crc", "_last_checkpoint")):
        return [] if _is_json(path) and not cut else [path, sidecar]
    if ".checkpoint." in path.name:
        content = path.read_bytes()
        whole = content.startswith(_PARQUET) and content.endswith(_PARQUET) and (cut or fits_sidecar(path))
        return cut if whole else [path, sidecar, path.with_name("_last_checkpoint")]
    return cut


def _is_json(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_bytes()), dict)
    except ValueError:
        return False
