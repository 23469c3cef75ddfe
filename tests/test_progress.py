"""The progress line: on a terminal and after a while, else nothing."""

import io
import threading

import pytest

from dyntc_spark import progress as module
from dyntc_spark.progress import progress
from tests.waiting import SECONDS


class Terminal(io.StringIO):
    """Tells when a text was shown."""

    def __init__(self):
        super().__init__()
        self.seen = threading.Event()
        self.awaited = ""

    def isatty(self):
        return True

    def write(self, text):
        written = super().write(text)
        if self.awaited in text:
            self.seen.set()
        return written

    def wait_for(self, text):
        self.seen.clear()
        self.awaited = text
        assert self.seen.wait(SECONDS), (text, self.getvalue())


@pytest.fixture
def _at_once(monkeypatch):
    monkeypatch.setattr(module, "DELAY", 0)
    monkeypatch.setattr(module, "TICK", 0.001)


@pytest.mark.usefixtures("_at_once")
def test_a_terminal_sees_the_steps():
    out = Terminal()
    with progress("Init*", 4, out) as shown:
        shown.advance(2)
        out.wait_for("Init* ############------------ 2/4")
    assert out.getvalue().endswith("\r\x1b[K")  # and it is gone afterwards


@pytest.mark.usefixtures("_at_once")
def test_work_inside_of_work_has_the_line():
    out = Terminal()
    with progress("building", 2, out) as outer:
        outer.at("numbering")
        out.wait_for("numbering")
        with progress("Init*", 3, out) as inner:
            inner.advance()
            out.wait_for("Init* ########---------------- 1/3")
        outer.at("closing")
        out.wait_for("closing")
    assert not module._lines.shown


@pytest.mark.usefixtures("_at_once")
def test_a_failure_takes_the_line_away():
    out = Terminal()

    def fail():
        with progress("Init*", 1, out):
            out.wait_for("Init*")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert out.getvalue().endswith("\r\x1b[K")
    assert not module._lines.shown


@pytest.mark.parametrize(("out", "delay"), [(io.StringIO(), 0), (Terminal(), 60)], ids=["no terminal", "soon done"])
def test_nothing_is_shown(monkeypatch, out, delay):
    monkeypatch.setattr(module, "DELAY", delay)
    with progress("Init*", 1, out) as shown:
        shown.advance()
    assert not out.getvalue()
