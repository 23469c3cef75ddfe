"""The errors of dyntc_spark: one small tree whose root is also a ``ValueError``.

Each class builds its own message out of the facts (what was expected, what
came, what to do about it), so that every place that raises it says the same
thing. Errors cross process borders: a Spark worker that raises one of them
makes the driver raise the same class with the same message.
"""

from __future__ import annotations

from collections.abc import Sequence
from pickle import PicklingError


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


class MatrixNameError(DyntcError):
    """A matrix that a state does not hold, holds already, or cannot hold under that name."""


class RingMismatchError(DyntcError):
    """A matrix or block over another ring than the operation is stated for."""


class EntryValueError(DyntcError):
    """An entry that is no element of the ring: not an integer, out of range, null."""


class OverflowingCountError(DyntcError):
    """An exact count that does not fit its integer type."""


class SingularMatrixError(DyntcError):
    """A matrix that has no inverse modulo the given prime."""


class CycleError(DyntcError):
    """Edges that would close a cycle in a graph that has to stay acyclic."""

    #: The vertices of the cycle, in its direction, each once.
    cycle: tuple[object, ...] = ()

    @classmethod
    def of(cls, cycle: Sequence[object]) -> CycleError:
        """Name a cycle by its vertices; a long one is shortened in the message, not in ``cycle``."""
        names = [str(vertex) for vertex in cycle]
        shown = names if len(names) <= 12 else [*names[:8], "…", *names[-3:]]
        edges = f"the cycle {' → '.join([*shown, names[0]])}"
        remedy = "Leave one of these edges out, or delete one in the same batch, or choose an engine that takes cycles."
        error = cls("edges that leave the graph acyclic", edges, remedy)
        error.cycle = tuple(cycle)
        return error


class DamagedBlockError(DyntcError):
    """A stored payload that is not what was written."""


class SessionError(DyntcError):
    """A Spark session that is closed, or cannot do what was asked of it."""


class LostBlocksError(SessionError):
    """Blocks that Spark has lost, with an executor that held them."""


class SetupError(DyntcError):
    """Something that the machine lacks (Java, a package) or a setting out of range."""


class InputError(DyntcError):
    """Edges, pairs or changes that cannot be taken as they are."""


class MissingColumnError(InputError):
    """A table that lacks a column, or rows with too few or too many values."""


class FileFormatError(InputError):
    """A file of another tool that is not what its format says."""

    @classmethod
    def of(cls, file: str, place: str, expected: str, came: str, remedy: str) -> FileFormatError:
        """Name the file and the place in it."""
        return cls(f"{expected} at {place} in {file!r}" if place else f"{expected} in {file!r}", came, remedy)


class NullEndpointError(InputError):
    """An edge or a pair with an end that is null."""


class UnknownOperationError(InputError):
    """A change that is neither an insertion nor a deletion."""


class VertexTypeError(InputError):
    """Vertices whose types disagree, or of a type that cannot name a vertex."""


class RedundantChangeError(InputError):
    """Under ``strict``, an insertion of what is there or a deletion of what is not."""


class ContradictionError(InputError):
    """Two changes of one edge in one batch, and nothing that says which is the later."""


class CopyError(DyntcError, PicklingError):
    """A closure that was to be copied or sent to another process.

    Spark hands an error of this base on as it is, when a function that it is to run holds a closure.
    """


class UnknownVertexError(DyntcError):
    """A question about a vertex that the graph does not have."""


class UnreachableError(DyntcError):
    """A path asked for between two vertices that no path joins."""


class ClosedError(DyntcError):
    """A question or a change to a closure that was closed."""


class OutgrownError(DyntcError):
    """A closure that does not fit the budget of this process."""


class OptionError(DyntcError):
    """An engine, a backend or an option called by a name that does not exist."""


class IdentifierError(DyntcError):
    """A name that cannot become part of the name of an SQL view."""


class LocationError(DyntcError):
    """A location that cannot be one, holds no closure, or holds something else."""


class StorageError(DyntcError):
    """A location that could not be read or written."""


class DamagedFileError(StorageError):
    """A file at a location that is gone, empty, cut off, or not what was written; a published version may be lost."""

    @classmethod
    def of(cls, file: str, expected: str, came: str) -> DamagedFileError:
        """Name the file; the remedy is the same for all."""
        remedy = "Put the file back from a copy, or call repair(location), which tells what can be recovered."
        return cls(f"{expected} in {file!r}", came, remedy)


class ConflictError(StorageError):
    """A change to a closure at a location where another writer was first, or that is not open for changes."""


class VersionError(LocationError):
    """A version that a location does not have, or has no longer."""


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
    """Return the error whose class name, expected, came and remedy are in ``parts``."""
    name, expected, came, remedy = parts
    return _rebuild(name, expected, came, remedy)
