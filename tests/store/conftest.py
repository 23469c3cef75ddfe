"""A location of its own for each test, and writes that fail at a step."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import SetupError
from dyntc_spark.graph import closure, location
from dyntc_spark.graph.store import place, steps
from dyntc_spark.graph.store.disk_tables import DiskTables
from dyntc_spark.graph.store.tables import LeftToSparkError


@pytest.fixture(scope="session")
def delta(spark):
    """Return the session, or skip where it has no Delta."""
    try:
        spark.read.format("delta")
        DynamicClosure.open("/nowhere/at/all", spark=spark)
    except SetupError:
        pytest.skip("Delta's package or jars are not there")
    except ValueError:
        return spark
    raise AssertionError


@pytest.fixture(scope="module", params=["disk", pytest.param("spark", marks=pytest.mark.slow)])
def writer(request):
    """Yield the session by which all is written; None where that is done without Spark."""
    with without_spark() if request.param == "disk" else only_spark():
        yield None if request.param == "disk" else request.getfixturevalue("delta")


@contextmanager
def only_spark():
    """Have Spark write everything, on a disk of this machine, too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("append", "delete", "compact", "clear_files"):
            patch.setattr(DiskTables, name, _left_to_spark)
        yield


@contextmanager
def without_spark():
    """Have no session at hand, and let whoever starts one fail."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (location, closure):
            patch.setattr(module, "session_at_hand", lambda _: None)
        patch.setattr(place, "session_for", _no_session)
        yield


def _left_to_spark(_tables, table, *_):
    raise LeftToSparkError(table)


def _no_session(_):
    raise AssertionError("a session was started")


class BrokenError(RuntimeError):
    """A failure that was asked for."""


@pytest.fixture
def breaking(monkeypatch):
    """Let a step fail, before it is written or after: ``breaking("log", after=True)``; ``breaking(None)`` mends it."""
    real = steps.run

    def break_at(step, *, after=False, error=BrokenError):
        def run(name, write):
            if name != step:
                return real(name, write)
            if after:
                real(name, write)
            raise error(name)

        monkeypatch.setattr(steps, "run", real if step is None else run)

    return break_at
