"""How far a long piece of work is: a bar of tqdm, on a terminal and in a notebook only."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

DELAY = 1.0  # seconds; what takes less is not worth a bar
TICK = 0.2
FORMAT = "{desc} |{bar}| {n_fmt}/{total_fmt} {elapsed}{postfix}"


class Progress:
    """Steps of a piece of work, of which ``total`` are to be done.

    Examples
    --------
    >>> shown = Progress("building", 2)
    >>> shown.at("numbering")
    >>> shown.at("closing")
    >>> shown.done, shown.step
    (1, 'closing')
    """

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.step = ""
        self.began = time.time()

    def at(self, step: str) -> None:
        """Say what begins now; what was said before is done."""
        self.done += bool(self.step)
        self.step = step

    def advance(self, count: int = 1) -> None:
        """Count what is done."""
        self.done += count


@contextmanager
def progress(what: str, total: int, stream: TextIO | None = None) -> Iterator[Progress]:
    """Show how far the work inside ``with`` is, from the second on that it takes longer than that.

    A thread brings the bar up to date, so that the time continues during one long step, and removes it at
    the end. Work inside of work has the bar for itself until it is done.
    """
    shown, out = Progress(what, total), stream or sys.stderr
    if not out.isatty() and not (stream is None and _in_notebook()):
        yield shown
        return
    began_here = not _under_way.works
    _under_way.works.append(shown)
    try:
        if began_here:
            with _drawn(_under_way.works, out):
                yield shown
        else:
            yield shown
    finally:
        _under_way.works.pop()


class _UnderWay(threading.local):
    """The work that a thread is at, the innermost last."""

    def __init__(self) -> None:
        self.works: list[Progress] = []


_under_way = _UnderWay()


@contextmanager
def _drawn(works: list[Progress], out: TextIO) -> Iterator[None]:
    """Draw the last of ``works`` again and again."""
    ended = threading.Event()

    def draw() -> None:
        if ended.wait(DELAY):
            return
        make, shown = _bars(), None
        bar: Any = None
        while True:
            if works[-1] is not shown:
                _close(bar)
                shown = works[-1]
                bar = make(total=shown.total, desc=shown.what, file=out, leave=False, bar_format=FORMAT)
                bar.start_t = shown.began
            bar.n = min(shown.done, shown.total)
            bar.set_postfix_str(shown.step)  # and draws it
            if ended.wait(TICK):
                break
        _close(bar)

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _bars() -> Any:  # noqa: ANN401  (tqdm has no types)
    """Return what makes bars: widgets in a notebook that has them, else text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about widgets that a notebook does not have
        from tqdm.auto import tqdm  # noqa: PLC0415  (most work ends before it is needed)

    class Bar(tqdm):  # type: ignore[misc]
        monitor_interval = 0  # no second thread that looks for bars that stand still

    return Bar


def _close(bar: Any) -> None:  # noqa: ANN401
    """Take a bar away. A widget would stay, in red, if it were not full."""
    if bar is not None:
        bar.n = bar.total
        bar.close()


def _in_notebook() -> bool:
    """Return whether this process runs the cells of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
