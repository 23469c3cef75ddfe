"""Supersteps: a list of block operations over one state, run together in one pass over its blocks.

An ``Operation`` is a picklable value. It declares the matrices that it reads and
writes and the strips that it needs, and works on one ``Cell`` (all
matrices of the state at one block coordinate) at a time. What it has to say to
the driver it reports as blocks under a key; reports under one key are added
up, within a task first and then at the driver.

Operations run in the order of the list; each sees in its own cell what the
earlier ones wrote there, and nothing of other cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.rings import COUNTING, Ring
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.where import Where
from dyntc_spark.errors import MatrixNameError
from dyntc_spark.kernels.block import Block, Shape

Result = TypeVar("Result")
#: Payloads come in lazily: a block is decoded when an operation looks at it.
Load: TypeAlias = Callable[[str], Block | None]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a matrix is: its grid and its ring."""

    grid: Grid
    ring: Ring


class Kinds(dict[str, Kind]):
    """The matrices that a state holds, by name."""

    def __missing__(self, name: str) -> Kind:
        raise MatrixNameError(f"one of the matrices {sorted(self)}", repr(name), "Check the name, or join its state.")


@dataclass(slots=True)
class Reports:
    """What the cells of a task told the driver: ``(operation number, key)`` to a block."""

    operations: tuple[Operation[Any], ...]
    found: dict[tuple[int, int], Block] = field(default_factory=dict)

    def add(self, number: int, key: int, block: Block | None) -> None:
        """Add a block to what is reported under ``key``."""
        if block is not None:
            total = self.operations[number].report_ring.add(self.found.get((number, key)), block)
            if total is None:
                del self.found[number, key]
            else:
                self.found[number, key] = total

    def results(self) -> tuple[Any, ...]:
        """What each operation makes of its reports, at the driver."""
        each: list[dict[int, Block]] = [{} for _ in self.operations]
        for (number, key), block in self.found.items():
            each[number][key] = block
        return tuple(operation.collect(found) for operation, found in zip(self.operations, each, strict=True))


class Cell:
    """All matrices of a state at one block coordinate, as an operation sees them."""

    __slots__ = ("_blocks", "_kinds", "_load", "_number", "_reports", "bi", "bj", "left", "right", "written")

    def __init__(self, bi: int, bj: int, kinds: Mapping[str, Kind], load: Load, reports: Reports) -> None:
        self.bi = bi
        self.bj = bj
        self._kinds = kinds
        self._load = load
        self._reports = reports
        self._blocks: dict[str, Block | None] = {}
        self._number = 0
        self.left: Block | None = None
        self.right: Block | None = None
        self.written: set[str] = set()

    def run(self, number: int, operation: Operation[Any], left: Block | None, right: Block | None) -> None:
        """Run one operation here, with the slices of its strips that belong to this cell."""
        self._number, self.left, self.right = number, left, right
        operation.apply(self)

    def __getitem__(self, name: str) -> Block | None:
        if name not in self._blocks:
            self._blocks[name] = self._load(name)
        return self._blocks[name]

    def __setitem__(self, name: str, block: Block | None) -> None:
        self._blocks[name] = block
        self.written.add(name)

    def ring(self, name: str) -> Ring:
        """Ring of a matrix."""
        return self._kinds[name].ring

    def shape(self, name: str) -> Shape:
        """Shape of a matrix's block in this cell."""
        return self._kinds[name].grid.extent(self.bi, self.bj)

    def report(self, key: int, block: Block | None) -> None:
        """Report a block to the driver; blocks under one key are added up."""
        self._reports.add(self._number, key, block)


class Names:
    """The matrices that some fields of an operation name: a field holds a name, several, or None."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    def __get__(self, operation: Operation[Any], owner: type[Operation[Any]]) -> tuple[str, ...]:
        found: list[str] = []
        for field_name in self.fields:
            value = getattr(operation, field_name)
            found += [] if value is None else [value] if isinstance(value, str) else value
        return tuple(found)


class Slices:
    """The strip that a field of an operation holds, if it is ``upright``, or if it is not."""

    def __init__(self, field_name: str = "", *, upright: bool = False) -> None:
        self.field_name, self.upright = field_name, upright

    def __get__(self, operation: Operation[Any], owner: type[Operation[Any]]) -> Strip | None:
        strip: Strip | None = getattr(operation, self.field_name) if self.field_name else None
        return strip if strip is not None and strip.upright == self.upright else None


class OwnRing:
    """The ring that the field ``ring`` of an operation holds."""

    def __get__(self, operation: Operation[Any], owner: type[Operation[Any]]) -> Ring:
        ring: Ring = operation.ring  # type: ignore[attr-defined]
        return ring


@dataclass(frozen=True)
class Operation(ABC, Generic[Result]):
    """One operation of a superstep, on the matrix ``name``.

    What it needs is declared by attributes of its class, which name fields; what it does is ``apply``.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Copy(Operation[None]):
    ...     into: str
    ...     reads = Names("name", "into")  # the old copy, too: where the matrix is zero it goes
    ...     writes = Names("into")
    ...
    ...     def apply(self, cell: Cell) -> None:
    ...         cell[self.into] = cell[self.name]
    >>> Copy("a", into="b").reads
    ('a', 'b')
    """

    name: str

    #: Matrices whose blocks the operation looks at, and those that it may change.
    reads = Names("name")
    writes = Names()
    #: Whether it has work to do where all that it reads is zero.
    fills: ClassVar[bool] = False
    #: The field whose ``where`` says in which cells it has work to do; None for all.
    at: ClassVar[str | None] = None
    #: Strips cut along the rows and along the columns: a cell gets its slices as ``left`` and ``right``,
    #: and where a strip has none there is no work.
    by_row = Slices()
    by_column = Slices()
    #: Ring over which reports are added up.
    report_ring: ClassVar[Ring | OwnRing] = COUNTING

    @cached_property
    def where(self) -> Where:
        """Cells in which it has work to do."""
        found: Where = Where() if self.at is None else getattr(self, self.at).where
        sides = (None if strip is None else strip.touched for strip in (self.by_row, self.by_column))
        return found.within(*sides)

    def check(self, kinds: Kinds) -> None:
        """Refuse matrices and strips that do not fit together, before any job."""
        for name in (*self.reads, *self.writes):
            kinds[name]  # refuses a name that is not there
        grid = kinds[self.name].grid
        for strip, axis in ((self.by_row, grid.down), (self.by_column, grid.across)):
            if strip is not None:
                strip.require_along(axis, upright=strip.upright)

    def hollow(self) -> Operation[Result]:
        """The same operation with hollow strips, for when the slices come by another join."""
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        hollow: dict[str, Any] = {name: strip.hollow() for name, strip in held.items() if isinstance(strip, Strip)}
        return replace(self, **hollow)

    @abstractmethod
    def apply(self, cell: Cell) -> None:
        """Do the work in one cell."""

    def collect(self, reports: Mapping[int, Block]) -> Result:
        """Make the result out of all reports, at the driver."""
        del reports
        return None  # type: ignore[return-value]


def check_names(operations: tuple[Operation[Any], ...], kinds: Kinds) -> None:
    """Refuse operations on matrices that a state does not hold, or that do not fit."""
    for operation in operations:
        operation.check(kinds)
