"""Backends in this process that count supersteps, or fail after some: what Spark does, in milliseconds."""

from __future__ import annotations

from dyntc_spark.blocks.local import LocalBackend, LocalState

NEVER = float("inf")


def hand_over(monkeypatch):
    """Let a state that was made in this process be handed to our backends, as it is to Spark's."""
    monkeypatch.setattr("dyntc_spark.engines.transfer.LocalBackend", type("Nobody", (), {}))


class Failing(LocalBackend):
    """A backend whose states fail after some supersteps, and count them."""

    def __init__(self):
        super().__init__()
        self.left = NEVER

    def from_local(self, state):
        self.jobs.note("from this process")
        return FailingState(self, state.kinds, state.blocks)


class FailingState(LocalState):
    """A state that counts its supersteps."""

    def run(self, *operations):
        if not operations:
            return self, ()
        self._backend.left -= 1
        if self._backend.left < 0:
            raise RuntimeError("a worker was lost")
        self._backend.jobs.note(", ".join(type(operation).__name__ for operation in operations))
        after, results = super().run(*operations)
        return FailingState(self._backend, after.kinds, after.blocks), results

    def select(self, names):
        found = super().select(names)
        return FailingState(self._backend, found.kinds, found.blocks)
