"""A progress bar for long operations: on a terminal only, and only after a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Self

WIDTH = 30
PATIENCE = 1.0  # seconds before anything is shown


class Progress:
    """Shows how many of ``steps`` are done, on standard error; silent where that is no terminal.

    Examples
    --------
    >>> with Progress("Init*", steps=2) as bar:
    ...     bar.step()
    ...     bar.step()
    >>> bar.done
    2
    """

    def __init__(self, what: str, steps: int, out: TextIO | None = None) -> None:
        self.what, self.steps, self.done = what, steps, 0
        self._out = sys.stderr if out is None else out
        self._started = time.monotonic()
        self._shown = False

    def step(self) -> None:
        """Count a step."""
        self.done += 1
        if self._out.isatty() and time.monotonic() - self._started >= PATIENCE:
            self._shown = True
            full = WIDTH * min(self.done, self.steps) // max(1, self.steps)
            self._out.write(f"\r{self.what} [{'#' * full}{' ' * (WIDTH - full)}] {self.done}/{self.steps}")
            self._out.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            self._out.write("\r" + " " * (len(self.what) + WIDTH + 24) + "\r")
            self._out.flush()
