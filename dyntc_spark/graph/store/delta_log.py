"""The log of a Delta table: which entries it has, and whether the last ones are what was written.

A Delta table is what the entries in its folder ``_delta_log`` say: ``00000000000000000000.json``, ``...01.json`` and
so on. To Delta an entry that is empty says nothing, and one that is not there never was: the table is silently what
it was before. A power cut leaves such files behind. Other files give them away: Delta writes a summary ``N.crc``
after each entry, and Hadoop writes checksums ``.N.json.crc`` beside it on a disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

FOLDER = "_delta_log"

_ENTRY = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet")
#: Files that are written after an entry, and so tell that there was one.
_LATER = re.compile(r"(\d{20})\.(?:crc|checkpoint\..*parquet)|\.(\d{20})\.(?:json|crc)\.crc")


@dataclass(frozen=True)
class Damage:
    """An entry that is not what was written."""

    version: int  #: Delta's, of the entry
    what: str  #: ``"no file"``, ``"an empty file"`` or ``"a file that is cut off"``

    @property
    def name(self) -> str:
        """The file, below the folder of the table."""
        return f"{FOLDER}/{name_of(self.version)}"


def name_of(version: int) -> str:
    """Return the name of an entry.

    Examples
    --------
    >>> name_of(7)
    '00000000000000000007.json'
    """
    return f"{version:020}.json"


def names_about(version: int) -> list[str]:
    """Return the files that Delta may write about a version: the entry, a summary and a checkpoint.

    Examples
    --------
    >>> names_about(7)[1]
    '00000000000000000007.crc'
    """
    return [f"{version:020}.{end}" for end in ("json", "crc", "checkpoint.parquet")]


def version_of(name: str) -> int | None:
    """Return the version that a file in the folder of the log is about; None for other files.

    Examples
    --------
    >>> version_of(".00000000000000000007.json.crc"), version_of("_last_checkpoint")
    (7, None)
    """
    found = _ENTRY.fullmatch(name) or _LATER.fullmatch(name)
    return int(next(filter(None, found.groups()))) if found else None


def entries(names: Iterable[str]) -> list[int]:
    """Return the versions that have an entry, in their order."""
    return sorted(int(found[1]) for found in map(_ENTRY.fullmatch, names) if found)


def checkpoints(names: Iterable[str]) -> list[int]:
    """Return the versions that Delta has written a checkpoint of, in their order."""
    return sorted({int(found[1]) for found in map(_CHECKPOINT.fullmatch, names) if found})


def missing(names: Iterable[str]) -> Damage | None:
    """Return the first entry that other files tell of and that is not there."""
    names = list(names)
    have = entries(names)
    told = [version for name in names if (version := version_of(name)) is not None]
    if not told:
        return None
    oldest = max([*checkpoints(names), *have[:1]], default=0)  # nobody reads what is older than a checkpoint
    known = set(have)
    gone = next((version for version in range(oldest, max(told) + 1) if version not in known), None)
    return None if gone is None else Damage(gone, "no file")


def judged(version: int, content: bytes | None) -> Damage | None:
    """Return what is wrong with an entry, by what it holds; None is what cannot be read."""
    if content is None:
        return Damage(version, "a file that cannot be read")
    if not content.strip():
        return Damage(version, "an empty file")
    return None if _is_complete(content) else Damage(version, "a file that is cut off")


def added(content: bytes) -> dict[str, int]:
    """Return the files that an entry adds to the table, with their sizes; their names as the log writes them."""
    return {action["path"]: action["size"] for action in _actions(content, "add")}


def removed(content: bytes) -> set[str]:
    """Return the files that an entry takes out of the table."""
    return {action["path"] for action in _actions(content, "remove")}


def last_damage(names: Iterable[str], read: Callable[[str], bytes | None]) -> Damage | None:
    """Return what is wrong with the end of a log; ``read`` gives the content of a file of its folder."""
    names = list(names)
    gone, have = missing(names), entries(names)
    if gone is not None or not have:
        return gone
    return judged(have[-1], read(name_of(have[-1])))


def _actions(content: bytes, kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in map(json.loads, content.splitlines()) if kind in action]


def _is_complete(content: bytes) -> bool:
    """Return whether every line is an action, and there are as many files as the first line says."""
    try:
        actions = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        return False
    if not all(isinstance(action, dict) for action in actions):
        return False
    told: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    if "actions" in told:  # as `delta_tables` writes it
        return int(told["actions"]) == sum(any(kind in action for kind in ("add", "txn")) for action in actions)
    count = told.get("operationMetrics", {}).get("numFiles") if told.get("operation") == "WRITE" else None
    return count is None or int(count) == sum("add" in action for action in actions)
