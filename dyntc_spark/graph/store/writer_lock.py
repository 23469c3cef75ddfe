"""One writer at a time on a disk: a lock that this machine's writers hold while they write a commit.

Delta keeps two writers of one entry apart, but on a disk Spark does so by a look and a rename: between the two,
another process can have written the entry, which is lost then. So writers wait for each other. A writer that is
killed has let go of the lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "_lock"
#: Seconds that a writer waits for another one.
PATIENCE = 120.0

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held(folder: str) -> Iterator[None]:
    """Hold the lock of a location, whose folder is made if it is not there; TimeoutError when another one keeps it."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    descriptor = os.open(Path(folder, NAME), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _wait(descriptor)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int) -> None:
    end, pause = time.monotonic() + PATIENCE, 0.001
    while not _is_taken(descriptor):
        if time.monotonic() > end:
            raise TimeoutError(f"another writer has been at work for {PATIENCE:.0f} s")
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _is_taken(descriptor: int) -> bool:
    """Take the lock, unless another one has it; tell whether it is taken."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
