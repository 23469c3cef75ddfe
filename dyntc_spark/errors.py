"""The errors of dyntc_spark: one small tree whose root is also a ``ValueError``.

Each class builds its own message out of the facts (what was expected, what
came, what to do about it), so that every place that raises it says the same
thing. Errors cross process borders: a Spark worker that raises one of them
makes the driver raise the same class with the same message.
"""

from __future__ import annotations

from collections.abc import Sequence


class DyntcError(ValueError):
    """Root of every error that dyntc_spark raises on purpose."""

    def __init__(self, expected: str, came: str, remedy: str) -> None:
        self.expected = expected
        self.came = came
        self.remedy = remedy
        super().__init__(f"expected {expected}; got {came}. {remedy}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self).__name__, self.expected, self.came, self.remedy))


class ShapeMismatchError(DyntcError):
    """Two matrices, or a matrix and a vector, whose sizes do not fit together."""


class IndexOutsideError(DyntcError):
    """A row or column number that the matrix does not have."""


class DuplicateBlockError(DyntcError):
    """Two blocks at one coordinate of one matrix."""


class RingMismatchError(DyntcError):
    """A matrix or block over another ring than the operation is stated for."""


class EntryValueError(DyntcError):
    """An entry that is no element of the ring: not an integer, out of range, null."""


class OverflowingCountError(DyntcError):
    """An exact count that does not fit its integer type."""


class SingularMatrixError(DyntcError):
    """A matrix that has no inverse modulo the given prime."""


class DamagedBlockError(DyntcError):
    """A stored payload that is not what was written."""


class SessionError(DyntcError):
    """A Spark session that is closed, or cannot do what was asked of it."""


class SetupError(DyntcError):
    """Something that the machine lacks (Java, a package) or a setting out of range."""


def _classes() -> dict[str, type[DyntcError]]:
    found: dict[str, type[DyntcError]] = {}
    pending: list[type[DyntcError]] = [DyntcError]
    while pending:
        kind = pending.pop()
        found[kind.__name__] = kind
        pending.extend(kind.__subclasses__())
    return found


def _rebuild(name: str, expected: str, came: str, remedy: str) -> DyntcError:
    return _classes().get(name, DyntcError)(expected, came, remedy)


def from_parts(parts: Sequence[str]) -> DyntcError:
    """Give back the error whose class name, expected, came and remedy are in ``parts``."""
    name, expected, came, remedy = parts
    return _rebuild(name, expected, came, remedy)
