"""Supersteps: a list of block operations over one state, run together in one pass over its blocks.

An ``Operation`` is a picklable value. It names the matrices that it reads and
writes, carries the strips that it needs, and works on one ``Cell`` (all
matrices of the state at one block coordinate) at a time. What it has to say to
the driver it reports as blocks under a key; reports under one key are added
up, within a task first and then at the driver.

Operations run in the order of the list; each sees in its own cell what the
earlier ones wrote there, and nothing of other cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.rings import COUNTING, Ring
from dyntc_spark.blocks.strip import Strip
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


@dataclass(frozen=True, slots=True)
class Where:
    """The cells that an operation touches; None stands for all."""

    rows: frozenset[int] | None = None
    columns: frozenset[int] | None = None
    cells: frozenset[tuple[int, int]] | None = None

    def holds(self, bi: int, bj: int) -> bool:
        """Whether the cell ``(bi, bj)`` is among them."""
        return (
            (self.rows is None or bi in self.rows)
            and (self.columns is None or bj in self.columns)
            and (self.cells is None or (bi, bj) in self.cells)
        )


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

    __slots__ = ("_blocks", "_kinds", "_load", "_number", "_reports", "bi", "bj", "written")

    def __init__(self, bi: int, bj: int, kinds: Mapping[str, Kind], load: Load, reports: Reports) -> None:
        self.bi = bi
        self.bj = bj
        self._kinds = kinds
        self._load = load
        self._reports = reports
        self._blocks: dict[str, Block | None] = {}
        self._number = 0
        self.written: set[str] = set()

    def run(self, number: int, operation: Operation[Any], left: Block | None, right: Block | None) -> None:
        """Run one operation here, with the slices of its strips that belong to this cell."""
        self._number = number
        operation.apply(self, left, right)

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
        """Tell the driver; blocks under one key are added up."""
        self._reports.add(self._number, key, block)


@dataclass(frozen=True)
class Operation(ABC, Generic[Result]):
    """One operation of a superstep, on the matrix ``name``."""

    name: str

    @property
    def reads(self) -> tuple[str, ...]:
        """Matrices whose blocks the operation looks at."""
        return (self.name,)

    @property
    def writes(self) -> tuple[str, ...]:
        """Matrices whose blocks the operation may change."""
        return ()

    @property
    def fills(self) -> bool:
        """Whether it has work to do where all that it reads is zero."""
        return False

    @property
    def where(self) -> Where:
        """Cells in which it has work to do."""
        return Where()

    @property
    def by_row(self) -> Strip | None:
        """Strip along the rows; a cell gets the slice of its block row as ``left``."""
        return None

    @property
    def by_column(self) -> Strip | None:
        """Strip along the columns; a cell gets the slice of its block column as ``right``."""
        return None

    @property
    def report_ring(self) -> Ring:
        """Ring over which reports are added up."""
        return COUNTING

    def check(self, kinds: Kinds) -> None:
        """Refuse matrices and strips that do not fit together, before any job."""
        for name in (*self.reads, *self.writes):
            kinds[name]  # refuses a name that is not there

    def hollow(self) -> Operation[Result]:
        """The same operation with hollow strips, for when the slices travel by a join of their own."""
        return self

    @abstractmethod
    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Do the work in one cell."""

    def collect(self, reports: Mapping[int, Block]) -> Result:
        """Make the result out of all reports, at the driver."""
        del reports
        return None  # type: ignore[return-value]


def check_names(operations: tuple[Operation[Any], ...], kinds: Kinds) -> None:
    """Refuse operations on matrices that a state does not hold, or that do not fit."""
    for operation in operations:
        operation.check(kinds)
