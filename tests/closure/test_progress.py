"""The progress bar: on a terminal and after a while, else nothing."""

import io

from dyntc_spark.closure import progress
from dyntc_spark.closure.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_the_steps(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0)
    out = Terminal()
    with Progress("Init*", 4, out) as bar:
        bar.step()
        bar.step()
    shown = out.getvalue()
    assert "Init* [#######" in shown
    assert "2/4" in shown
    assert shown.endswith(" \r")  # and it is gone afterwards


def test_nothing_is_shown_elsewhere_or_at_once(monkeypatch):
    for out, patience in ((io.StringIO(), 0), (Terminal(), 60)):
        monkeypatch.setattr(progress, "PATIENCE", patience)
        with Progress("Init*", 1, out) as bar:
            bar.step()
        assert not out.getvalue()
