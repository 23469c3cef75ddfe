"""States and backends: the one interface that everything above the blocks is written against.

A state is a set of named matrices whose blocks sit together: all that an
engine keeps at one block coordinate is one record. States are values: an
operation gives a new state and leaves the old one as it was, so that a failure
half-way changes nothing.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy.typing as npt

from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.superstep import Kind, Kinds, Operation
from dyntc_spark.errors import MatrixNameError
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.ids import Indices

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_COLUMNS = re.compile(r"(bi|bj|part|inner|side|payload|seed|new|reports|(left|right)\d+)\Z", re.IGNORECASE)


class Entries(NamedTuple):
    """The entries of a matrix that are not zero."""

    rows: Indices
    columns: Indices
    #: bool True for Boolean matrices, counts, or ``values[plane, entry]`` for residues
    values: Ints


#: (rows, columns) or (rows, columns, values)
EntryArrays: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike] | tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
#: (block row, block column, payload)
BlockRow: TypeAlias = tuple[int, int, bytes]


@dataclass(slots=True)
class JobCounter:
    """Counts the Spark jobs that a backend started, and what for.

    Examples
    --------
    >>> counter = JobCounter()
    >>> with counter.watch() as jobs:
    ...     counter.note("multiply")
    >>> jobs
    ['multiply']
    """

    total: int = 0
    _watchers: list[list[str]] = field(default_factory=list)

    def note(self, description: str) -> None:
        """Count a job that is about to start."""
        self.total += 1
        for watcher in self._watchers:
            watcher.append(description)

    @contextmanager
    def watch(self) -> Iterator[list[str]]:
        """Collect the descriptions of the jobs that start inside the ``with`` block."""
        watcher: list[str] = []
        self._watchers.append(watcher)
        try:
            yield watcher
        finally:
            self._watchers = [other for other in self._watchers if other is not watcher]


class State(ABC):
    """Named matrices whose blocks sit together."""

    kinds: Kinds

    @property
    @abstractmethod
    def backend(self) -> Backend:
        """Where the blocks live."""

    @abstractmethod
    def run(self, *operations: Operation[Any]) -> tuple[State, tuple[Any, ...]]:
        """Run a superstep: one job for all ``operations``.

        Returns
        -------
        The state afterwards (this one, if nothing was written) and the result of each operation.
        """

    @abstractmethod
    def multiply(self, left: str, right: str, into: str, *, counts: bool = False, keep: bool = True) -> State:
        """Add the matrix ``into = left · right``: one job.

        With ``counts`` two Boolean matrices give their witness counts; without
        ``keep`` the new state holds nothing but the product.
        """

    @abstractmethod
    def transpose(self, name: str) -> State:
        """Return a state that holds only the transposed matrix, under the same name: one job."""

    @abstractmethod
    def join(self, other: State) -> State:
        """Return a state that holds the matrices of both; no name may occur twice. No job by itself."""

    @abstractmethod
    def select(self, names: Mapping[str, str]) -> State:
        """Keep only the matrices ``names`` (old name to new name). No job."""

    @abstractmethod
    def entries(self, name: str) -> Entries:
        """The entries of a matrix that are not zero, at the driver, by row and column: one job."""

    @abstractmethod
    def validate(self) -> None:
        """Read every block and raise an error that names the first one that is damaged or out of place: one job."""

    @abstractmethod
    def stored_bytes(self, name: str) -> int:
        """Bytes of all payloads of a matrix: one job."""

    def product_kind(self, left: str, right: str, *, counts: bool) -> Kind:
        """Return the kind of a product, or refuse factors that do not fit, before any job."""
        a, b = self.kinds[left], self.kinds[right]
        a.ring.require(b.ring)
        if counts:
            BOOLEAN.require(a.ring)
        return Kind(a.grid.product(b.grid), COUNTING if counts else a.ring)

    def joined_kinds(self, other: State) -> dict[str, Kind]:
        """Return the kinds of a state that holds the matrices of both."""
        _check_distinct((*self.kinds, *other.kinds))
        return {**self.kinds, **other.kinds}

    def selected_kinds(self, names: Mapping[str, str]) -> dict[str, Kind]:
        """Return the kinds of a state that holds the matrices ``names`` (old name to new name)."""
        _check_distinct(tuple(names.values()))
        return {check_name(new): self.kinds[old] for old, new in names.items()}


class Backend(ABC):
    """Where matrices are made: in this process, or on Spark."""

    jobs: JobCounter

    @abstractmethod
    def from_entries(self, entries: Any, kind: Kind, name: str) -> State:  # noqa: ANN401  (arrays; on Spark a DataFrame too)
        """Make a state of one matrix; entries at one place are added up."""

    @abstractmethod
    def from_blocks(self, blocks: Any, kind: Kind, name: str) -> State:  # noqa: ANN401  (rows; on Spark a DataFrame too)
        """Make a state of one matrix out of stored blocks ``(bi, bj, payload)``."""

    @abstractmethod
    def from_local(self, state: Any) -> State:  # noqa: ANN401  (a LocalState, which is defined on top of this)
        """Take the blocks of a local state here; on Spark one job, and one row a cell for all matrices."""

    @abstractmethod
    def close(self) -> None:
        """Release what the backend keeps outside this process; its states cannot be used afterwards."""


@lru_cache(maxsize=4096)
def check_name(name: str) -> str:
    """Refuse a matrix name that could not be a column's."""
    if not _NAME.match(name):
        raise MatrixNameError("a matrix name of letters, digits and underscores", repr(name), "Rename the matrix.")
    if _COLUMNS.match(name):
        raise MatrixNameError("a matrix name that no column of a state has", repr(name), "Rename the matrix.")
    return name


@lru_cache(maxsize=256)  # an engine selects and joins the same hundreds of names all the time
def _check_distinct(names: tuple[str, ...]) -> None:
    """Refuse names that a DataFrame could not tell apart: it takes no account of upper and lower case."""
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise MatrixNameError(
                "a different name for each matrix", f"{seen[name.lower()]!r} and {name!r}", "Rename one with select()."
            )
        seen[name.lower()] = name


def bounds(kinds: Iterable[Kind]) -> tuple[int, int]:
    """Block rows and block columns that hold every matrix of a state."""
    sizes = [kind.grid.blocks for kind in kinds]
    return max((rows for rows, _ in sizes), default=0), max((columns for _, columns in sizes), default=0)
