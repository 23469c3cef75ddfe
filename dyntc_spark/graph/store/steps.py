"""The steps by which a commit is written, each through one function.

A commit is nothing before ``publish``: what the steps before it wrote carries the
token of this attempt, and only a published row makes a token count. It is everything
after it: ``confirm`` only looks whether it was this attempt that published.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

#: In the order in which they are written; a commit without a batch has no ``log``, one without a checkpoint neither
#: ``vertices`` nor ``runs``.
STEPS = ("log", "vertices", "runs", "publish", "confirm")
#: What is written about a version once it is published: the note of it (``published_note``), and if the user wants them
#: its changes (``recorded_changes``) and the table with all pairs (``published_table``).
LATER = ("note", "changes", "target")

_Result = TypeVar("_Result")


def run(step: str, write: Callable[[], _Result]) -> _Result:
    """Write a step. Every write of a commit goes through here, so that a test can let any step fail."""
    if step not in STEPS + LATER:
        raise AssertionError(step)
    return write()
