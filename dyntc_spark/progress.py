"""How far a long piece of work is: one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

DELAY = 1.0  # seconds; what takes less is not worth a line
TICK = 0.2
WIDTH = 24


class Progress:
    """Steps of a piece of work, of which ``total`` are to be done."""

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.step = ""
        self.began = time.monotonic()

    def at(self, step: str) -> None:
        """Say what begins now; what was said before is done."""
        self.done += bool(self.step)
        self.step = step

    def advance(self, count: int = 1) -> None:
        """Count what is done."""
        self.done += count

    def line(self) -> str:
        """Return the line as it is now.

        Examples
        --------
        >>> progress = Progress("building", 4)
        >>> progress.advance(2)
        >>> progress.line()
        'building ############------------ 2/4   0 s '
        """
        full = WIDTH * self.done // max(self.total, 1)
        bar = "#" * full + "-" * (WIDTH - full)
        return f"{self.what} {bar} {self.done}/{self.total} {time.monotonic() - self.began:3.0f} s {self.step}"


@contextmanager
def progress(what: str, total: int, stream: TextIO | None = None) -> Iterator[Progress]:
    """Show on a terminal how far the work inside ``with`` is, from the second on that it takes longer than that.

    The line is redrawn by a thread of its own, so that the time goes on during one long step, and is wiped at the end.
    Work inside of work has the line for itself until it is done.
    """
    shown, out = Progress(what, total), stream or sys.stderr
    if not out.isatty():
        yield shown
        return
    began_here = not _lines.shown
    _lines.shown.append(shown)
    try:
        if began_here:
            with _drawn(_lines.shown, out):
                yield shown
        else:
            yield shown
    finally:
        _lines.shown.pop()


class _Lines(threading.local):
    """The work that a thread is at, the innermost last."""

    def __init__(self) -> None:
        self.shown: list[Progress] = []


_lines = _Lines()


@contextmanager
def _drawn(lines: list[Progress], out: TextIO) -> Iterator[None]:
    """Draw the last of ``lines`` again and again."""
    ended = threading.Event()

    def draw() -> None:
        if ended.wait(DELAY):
            return
        while True:
            out.write(f"\r\x1b[K{lines[-1].line()}")
            out.flush()
            if ended.wait(TICK):
                break
        out.write("\r\x1b[K")
        out.flush()

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
