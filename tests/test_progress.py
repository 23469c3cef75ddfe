"""The progress bar: on a terminal or in a notebook, and after a while; else nothing."""

import io
import sys
import threading
import types

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


def is_gone(out):
    _, line, after = out.getvalue().rsplit("\r", 2)
    return line.isspace() and not after


@pytest.fixture
def _at_once(monkeypatch):
    monkeypatch.setattr(module, "DELAY", 0)
    monkeypatch.setattr(module, "TICK", 0.001)


@pytest.mark.usefixtures("_at_once")
def test_a_terminal_sees_the_steps():
    out = Terminal()
    with progress("Init*", 4, out) as shown:
        shown.advance(2)
        out.wait_for(" 2/4 00:")
        first = out.getvalue()
        out.wait_for(" 2/4 00:")  # drawn again during one long step
    assert first.startswith("\rInit* |")
    assert is_gone(out)


@pytest.mark.usefixtures("_at_once")
def test_work_inside_of_work_has_the_line():
    out = Terminal()
    with progress("building", 2, out) as outer:
        outer.at("numbering")
        out.wait_for("numbering")
        with progress("Init*", 3, out) as inner:
            inner.advance()
            out.wait_for(" 1/3 00:")
        outer.at("closing")
        out.wait_for("1/2 00:00, closing")
    assert not module._under_way.works


@pytest.mark.usefixtures("_at_once")
def test_a_failure_takes_the_line_away():
    out = Terminal()

    def fail():
        with progress("Init*", 1, out):
            out.wait_for("Init*")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert is_gone(out)
    assert not module._under_way.works


@pytest.mark.usefixtures("_at_once")
def test_a_notebook_sees_them_too(monkeypatch):
    out = Terminal()
    monkeypatch.setattr(out, "isatty", lambda: False)
    monkeypatch.setattr(sys, "stderr", out)
    shell = types.SimpleNamespace(kernel="which runs the cells")
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    with progress("Init*", 4):
        out.wait_for("Init* |")
    assert is_gone(out)


@pytest.mark.parametrize(("out", "delay"), [(io.StringIO(), 0), (Terminal(), 60)], ids=["no terminal", "soon done"])
def test_nothing_is_shown(monkeypatch, out, delay):
    monkeypatch.setattr(module, "DELAY", delay)
    with progress("Init*", 1, out) as shown:
        shown.advance()
    assert not out.getvalue()
