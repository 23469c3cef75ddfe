"""Folders that no other user can write: the only ones from which compiled code is loaded.

A file of numba's cache is a pickle with machine code. Whoever can write one runs code in
every process that loads it. So a folder for them must be

- a real folder and no link,
- owned by this user, with mode 0700,
- below folders that no other user can write (root can), since he could rename the folder and put
  another one in its place. Folders with the sticky bit, such as ``/tmp``, do not allow this.

Where that holds it stays so: nobody but this user and root can change it. Windows
has neither owners nor modes of this kind, and its temporary folder belongs to the user: there, nothing is checked.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_ROOT = 0
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITTEN_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def private_folder(base: Path, *parts: str) -> Path:
    """Return the folder ``parts`` below ``base``, made where it is missing.

    Links that lead to ``base`` are followed, those below are refused.

    Raises
    ------
    OSError
        The folder cannot be made, or is not private: then the message says why.
    """
    folder = base.resolve().joinpath(*parts)
    for above in reversed(folder.parents):
        _make(above)
        _refuse_replaceable(above)
    _make(folder)
    _refuse_shared(folder)
    return folder


def _make(folder: Path) -> None:
    if not os.path.lexists(folder):
        with contextlib.suppress(FileExistsError):  # another process was faster
            folder.mkdir(0o700)


def _refuse_replaceable(folder: Path) -> None:
    """Raise the error that says why another user could change what is in a folder above ours."""
    found = _of_folder(folder)
    if os.name != "posix":
        return
    if found.st_uid not in {_ROOT, os.geteuid()}:
        raise _foreign(folder, found)
    if found.st_mode & _WRITTEN_BY_OTHERS and not found.st_mode & stat.S_ISVTX:
        raise PermissionError(f"'{folder}' can be written by others: it has the mode {_mode(found)}")


def _refuse_shared(folder: Path) -> None:
    """Raise the error that says why another user could read or write our folder."""
    found = _of_folder(folder)
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise _foreign(folder, found)
    if found.st_mode & _OF_OTHERS:
        raise PermissionError(f"'{folder}' has the mode {_mode(found)} and not 700")


def _of_folder(path: Path) -> os.stat_result:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"'{path}' is a link or a file")
    return found


def _foreign(folder: Path, found: os.stat_result) -> PermissionError:
    return PermissionError(f"'{folder}' belongs to the user {found.st_uid}, not to {os.geteuid()}")


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):03o}"
