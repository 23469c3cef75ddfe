"""Many operations as one: a superstep of dozens of small writes whose plan stays small.

Spark evaluates for each column of a superstep in which cells the column is needed; with many
operations on many matrices these conditions multiply. A bundle asks for all its cells and
matrices at once, and each operation inside looks by itself where it has work to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dyntc_spark.blocks.local import LocalState
from dyntc_spark.blocks.rings import COUNTING, Ring
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.superstep import Cell, Kind, Kinds, Names, Operation
from dyntc_spark.blocks.where import Where
from dyntc_spark.kernels.block import Block, Shape

FEW = 4  # operations that need no bundle
_NUMBER = 2**40  # reports of operation q have keys from q times this on


@dataclass(frozen=True)
class Bundle(Operation[tuple[Any, ...]]):
    """Operations that run one after the other in each cell; ``name`` is a matrix whose grid has all cells."""

    operations: tuple[Operation[Any], ...]
    kinds: Mapping[str, Kind]
    read: tuple[str, ...]
    written: tuple[str, ...]
    reads = Names("read")
    writes = Names("written")
    fills = True  # all cells are asked for: which of dozens of matrices is there would be a condition on each of them

    @classmethod
    def of(cls, operations: Sequence[Operation[Any]], kinds: Mapping[str, Kind]) -> Bundle:
        """Bundle operations that report counts or nothing; one of them is on a matrix whose grid has all cells."""
        read = dict.fromkeys(name for operation in operations for name in operation.reads)
        written = dict.fromkeys(name for operation in operations for name in operation.writes)
        widest = max((operation.name for operation in operations), key=lambda name: kinds[name].grid.blocks)
        held = {name: kinds[name] for name in sorted({*read, *written})}
        return cls(widest, tuple(operations), held, tuple(read), tuple(written))

    @cached_property
    def _wheres(self) -> tuple[Where, ...]:
        return tuple(operation.where for operation in self.operations)

    def check(self, kinds: Kinds) -> None:
        """Each fits by itself."""
        for operation in self.operations:
            operation.check(kinds)

    def apply(self, cell: Cell) -> None:
        """Run those that have work in this cell."""
        for number, (operation, where) in enumerate(zip(self.operations, self._wheres, strict=True)):
            if where.holds(cell.bi, cell.bj) and self.kinds[operation.name].grid.holds(cell.bi, cell.bj):
                u, v = operation.by_row, operation.by_column
                left, right = u.slices.get(cell.bi) if u else None, v.slices.get(cell.bj) if v else None
                inside: Any = _Inside(cell, number, left, right)
                operation.apply(inside)

    def collect(self, reports: Mapping[int, Block]) -> tuple[Any, ...]:
        """The result of each."""
        each: list[dict[int, Block]] = [{} for _ in self.operations]
        for key, block in reports.items():
            each[key // _NUMBER][key % _NUMBER] = block
        return tuple(operation.collect(found) for operation, found in zip(self.operations, each, strict=True))


class _Inside:
    """A cell as an operation of a bundle sees it: its reports have their own keys."""

    __slots__ = ("_cell", "_number", "bi", "bj", "left", "right")

    def __init__(self, cell: Cell, number: int, left: Block | None, right: Block | None) -> None:
        self._cell, self._number, self.bi, self.bj = cell, number, cell.bi, cell.bj
        self.left, self.right = left, right

    def __getitem__(self, name: str) -> Block | None:
        return self._cell[name]

    def __setitem__(self, name: str, block: Block | None) -> None:
        self._cell[name] = block

    def ring(self, name: str) -> Ring:
        return self._cell.ring(name)

    def shape(self, name: str) -> Shape:
        return self._cell.shape(name)

    def report(self, key: int, block: Block | None) -> None:
        self._cell.report(self._number * _NUMBER + key, block)


def run_together(state: State, operations: Sequence[Operation[Any]]) -> tuple[State, tuple[Any, ...]]:
    """Run a superstep, bundled where it writes much; in this process there is nothing to be gained."""
    writing = any(operation.writes for operation in operations)
    bundled = [operation for operation in operations if operation.report_ring == COUNTING]
    if isinstance(state, LocalState) or not writing or len(bundled) <= FEW:
        return state.run(*operations)
    return run_bundled(state, operations)


def run_bundled(state: State, operations: Sequence[Operation[Any]]) -> tuple[State, tuple[Any, ...]]:
    """Run a superstep, those of its operations that report counts or nothing as a few bundles."""
    alone = [operation for operation in operations if operation.report_ring != COUNTING]
    groups = _by_grid([operation for operation in operations if operation.report_ring == COUNTING], state.kinds)
    after, results = state.run(*(Bundle.of(group, state.kinds) for group in groups), *alone)
    found = {id(operation): result for operation, result in zip(alone, results[len(groups) :], strict=True)}
    for group, together in zip(groups, results, strict=False):
        found |= {id(operation): result for operation, result in zip(group, together, strict=True)}
    return after, tuple(found[id(operation)] for operation in operations)


def _by_grid(operations: Sequence[Operation[Any]], kinds: Mapping[str, Kind]) -> list[list[Operation[Any]]]:
    """All operations as one group, if one of their grids has all cells; else a group for each grid.

    What an operation writes has the grid of its matrix, so that operations of different groups never meet.
    """
    groups: dict[tuple[int, int], list[Operation[Any]]] = {}
    for operation in operations:
        groups.setdefault(kinds[operation.name].grid.blocks, []).append(operation)
    most = tuple(max(side) for side in zip(*groups, strict=True))
    return [list(operations)] if most in groups else list(groups.values())
