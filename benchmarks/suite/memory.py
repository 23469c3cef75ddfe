"""Peaks of memory by kind of process: the driver's Python, the JVMs, the Python workers that these start.

The kernel keeps each process's peak (``VmHWM``) and sets it back on request, so that nothing between two looks is
missed, and what a check of an answer takes does not count. Pages that workers share with one another count for each
of them. Where there is no ``/proc`` nothing is measured.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def descendants(root: int) -> dict[int, str]:
    """Return the processes below ``root`` with the kind of each: ``driver`` (itself, too), ``jvm`` or ``workers``."""
    children: dict[int, list[int]] = defaultdict(list)
    names: dict[int, str] = {}
    for pid, parent, name in _processes():
        children[parent].append(pid)
        names[pid] = name
    found, left = {}, [(root, "driver")]
    while left:
        pid, above = left.pop()
        found[pid] = kind = "jvm" if names.get(pid) == "java" else "driver" if above == "driver" else "workers"
        left += [(child, kind) for child in children[pid]]
    return found


def peaks(root: int) -> dict[str, int]:
    """Return the bytes that each kind of process below ``root`` took at most since the last `restart`."""
    total: dict[str, int] = defaultdict(int)
    for pid, kind in descendants(root).items():
        total[kind] += peak(pid)
    return dict(total)


def peak(pid: int) -> int:
    """Return the bytes that a process took at most; 0 when it has ended."""
    return _kilobytes(_PROC / str(pid) / "status", "VmHWM")


def available() -> int:
    """Return the bytes of the machine's memory that are free, or can be had at once."""
    return _kilobytes(_PROC / "meminfo", "MemAvailable")


def command(pid: int) -> str:
    """Return the command line of a process; nothing when it has ended."""
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
    return ""


def _kilobytes(file: Path, name: str) -> int:
    with contextlib.suppress(OSError, StopIteration):
        lines = file.read_text(encoding="utf-8").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))
    return 0


def restart(root: int) -> None:
    """Let peaks begin at what is taken now."""
    for pid in descendants(root):
        with contextlib.suppress(OSError):
            (_PROC / str(pid) / "clear_refs").write_text("5", encoding="ascii")


def _processes() -> Iterator[tuple[int, int, str]]:
    """Yield every process: its number, its parent's, its name."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(_PROC):
            if entry.name.isdigit():
                with contextlib.suppress(OSError, ValueError):
                    stat = (_PROC / entry.name / "stat").read_text(encoding="utf-8")
                    name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
                    yield int(entry.name), int(rest[1]), name
