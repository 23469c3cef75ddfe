"""A location of its own for each test, and writes that fail at a step."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import SetupError
from dyntc_spark.graph.store import steps


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
