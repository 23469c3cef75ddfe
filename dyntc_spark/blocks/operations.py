"""The operations on block matrices that supersteps are made of.

Reading: ``Gather`` (rows or columns), ``Lookup`` (entries), ``VectorProduct``
(lines times the matrix), ``CountEntries``, ``CountDifferences``.
Writing: ``RankUpdate``, ``SetEntries``, ``Combine``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.rings import COUNTING, Ring
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Kinds, Operation, Where
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.kernels.block import Block, Dense, Ints
from dyntc_spark.kernels.ids import Indices


@dataclass(frozen=True)
class Gather(Operation[Strip]):
    """The rows (or, upright, the columns) ``ids`` of a matrix, as a strip at the driver."""

    grid: Grid
    ring: Ring
    ids: Indices
    upright: bool

    @property
    def where(self) -> Where:
        """Only the blocks on the lines asked for."""
        side = self.grid.across if self.upright else self.grid.down
        hit = frozenset(int(block) for block in np.unique(self.ids // side.step))
        return Where(columns=hit) if self.upright else Where(rows=hit)

    @property
    def report_ring(self) -> Ring:
        """The matrix's own: lines out of different blocks do not overlap, their sum joins them."""
        return self.ring

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Report the part of the lines that lies in this cell."""
        del left, right
        line, key = (cell.bj, cell.bi) if self.upright else (cell.bi, cell.bj)
        side = self.grid.across if self.upright else self.grid.down
        places = np.flatnonzero(self.ids // side.step == line)
        inside = self.ids[places] - line * side.step
        take = self.ring.take_columns if self.upright else self.ring.take_rows
        part = take(cell[self.name], inside)
        if part is not None and len(places) < len(self.ids):
            rows, columns, values = self.ring.coordinates(part)
            at = (rows, places[columns]) if self.upright else (places[rows], columns)
            extent = part.shape[0] if self.upright else part.shape[1]
            shape = (extent, len(self.ids)) if self.upright else (len(self.ids), extent)
            part = self.ring.from_coordinates(at[0], at[1], values if self.ring.planes else None, shape)
        cell.report(key, part)

    def collect(self, reports: Mapping[int, Block]) -> Strip:
        """Join the parts."""
        axis = self.grid.down if self.upright else self.grid.across
        return Strip(self.ring, axis, len(self.ids), self.upright, dict(reports))


@dataclass(frozen=True)
class Lookup(Operation[Ints]):
    """Entries at the places ``(rows[q], columns[q])``: bool, counts, or ``values[plane, q]``."""

    grid: Grid
    ring: Ring
    rows: Indices
    columns: Indices

    @property
    def where(self) -> Where:
        """Only the blocks that hold one of the places."""
        return Where(cells=frozenset(self._places))

    @cached_property
    def _places(self) -> dict[tuple[int, int], Indices]:
        return self.grid.by_cell(self.rows, self.columns)

    @property
    def report_ring(self) -> Ring:
        """The matrix's own: each place lies in one block."""
        return self.ring

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Report the entries that lie in this cell, as one row of all places."""
        del left, right
        places = self._places[cell.bi, cell.bj]
        inside = _inside(self.grid, self.rows[places], self.columns[places])
        found = self.ring.get(cell[self.name], *inside)
        hit = found if found.ndim == 1 else found.any(axis=0)
        values = found[:, hit] if self.ring.planes else None
        at = places[hit]
        cell.report(0, self.ring.from_coordinates(np.zeros_like(at), at, values, (1, len(self.rows))))

    def collect(self, reports: Mapping[int, Block]) -> Ints:
        """Put the answers in the order of the questions."""
        count = len(self.rows)
        found = self.ring.get(reports.get(0), np.zeros(count, np.int64), np.arange(count))
        return found[0] if found.ndim == 2 and not self.ring.modulus else found


@dataclass(frozen=True)
class VectorProduct(Operation[Strip]):
    """Lines times a matrix: ``strip · X`` for a lying strip, ``X · strip`` for an upright one.

    ``ring`` is that of the result: ``COUNTING`` for Boolean factors counts witnesses.
    """

    grid: Grid
    ring: Ring
    strip: Strip

    @property
    def where(self) -> Where:
        """Only where the strip is not zero."""
        return Where(columns=self.strip.touched) if self.strip.upright else Where(rows=self.strip.touched)

    @property
    def report_ring(self) -> Ring:
        """The ring of the result."""
        return self.ring

    @property
    def by_row(self) -> Strip | None:
        """A lying strip runs along the rows of the matrix."""
        return None if self.strip.upright else self.strip

    @property
    def by_column(self) -> Strip | None:
        """An upright strip runs along its columns."""
        return self.strip if self.strip.upright else None

    def check(self, kinds: Kinds) -> None:
        """The strip runs along the inner index."""
        super().check(kinds)
        grid = kinds[self.name].grid
        self.strip.require_along(grid.across if self.strip.upright else grid.down, upright=self.strip.upright)

    def hollow(self) -> VectorProduct:
        """The same product without the lines."""
        return replace(self, strip=self.strip.hollow())

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Report this cell's share of the sums."""
        if self.strip.upright:
            cell.report(cell.bi, self.ring.multiply(cell[self.name], right))
        else:
            cell.report(cell.bj, self.ring.multiply(left, cell[self.name]))

    def collect(self, reports: Mapping[int, Block]) -> Strip:
        """Join the sums."""
        axis = self.grid.down if self.strip.upright else self.grid.across
        return Strip(self.ring, axis, self.strip.count, self.strip.upright, dict(reports))


@dataclass(frozen=True)
class RankUpdate(Operation[None]):
    """``X += sign · U·V`` with ``U`` upright and ``V`` lying: the centred update of the paper."""

    u: Strip
    v: Strip
    sign: Literal[1, -1] = 1

    @property
    def writes(self) -> tuple[str, ...]:
        """The matrix itself."""
        return (self.name,)

    @property
    def fills(self) -> bool:
        """An absent block may become one."""
        return True

    @property
    def where(self) -> Where:
        """Where both strips are not zero."""
        return Where(rows=self.u.touched, columns=self.v.touched)

    @property
    def by_row(self) -> Strip:
        """``U``."""
        return self.u

    @property
    def by_column(self) -> Strip:
        """``V``."""
        return self.v

    def check(self, kinds: Kinds) -> None:
        """The strips run along the two sides of the matrix and share the rank."""
        super().check(kinds)
        self.u.require_along(kinds[self.name].grid.down, upright=True)
        self.v.require_along(kinds[self.name].grid.across, upright=False)
        if self.u.count != self.v.count:
            raise ShapeMismatchError(
                "as many columns of u as rows of v", f"{self.u.count} and {self.v.count}", "They share the rank k."
            )

    def hollow(self) -> RankUpdate:
        """The same update without the lines."""
        return replace(self, u=self.u.hollow(), v=self.v.hollow())

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Add this cell's part of the outer product."""
        if left is not None and right is not None:
            before = cell[self.name]
            cell[self.name] = cell.ring(self.name).rank_update(before, left, right, cell.shape(self.name), self.sign)


@dataclass(frozen=True)
class SetEntries(Operation[None]):
    """``X[rows[q], columns[q]] = values[:, q]``; without values the entries are cleared."""

    grid: Grid
    rows: Indices
    columns: Indices
    values: Ints | None

    @property
    def writes(self) -> tuple[str, ...]:
        """The matrix itself."""
        return (self.name,)

    @property
    def fills(self) -> bool:
        """Setting fills absent blocks; clearing has nothing to do there."""
        return self.values is not None

    @property
    def where(self) -> Where:
        """Only the blocks that hold one of the places."""
        return Where(cells=frozenset(self._places))

    @cached_property
    def _places(self) -> dict[tuple[int, int], Indices]:
        return self.grid.by_cell(self.rows, self.columns)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Set or clear the places that lie in this cell."""
        del left, right
        places = self._places[cell.bi, cell.bj]
        inside = _inside(self.grid, self.rows[places], self.columns[places])
        ring, before = cell.ring(self.name), cell[self.name]
        if self.values is None:
            cell[self.name] = ring.clear(before, *inside)
        else:
            cell[self.name] = ring.put(before, *inside, self.values[:, places], cell.shape(self.name))


@dataclass(frozen=True)
class Combine(Operation[None]):
    """``into = X + sign · Y``, block by block; for Boolean matrices ``-`` is "and not"."""

    other: str
    into: str
    sign: Literal[1, -1] = 1

    @property
    def reads(self) -> tuple[str, ...]:
        """Both operands, and what is there of the result: where both are zero it goes."""
        return (self.name, self.other, self.into)

    @property
    def writes(self) -> tuple[str, ...]:
        """The result."""
        return (self.into,)

    def check(self, kinds: Kinds) -> None:
        """All three are of one kind."""
        super().check(kinds)
        _require_one_kind(kinds, self.name, self.other, self.into)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Combine the two blocks."""
        del left, right
        ring = cell.ring(self.name)
        combine = ring.add if self.sign == 1 else ring.subtract
        cell[self.into] = combine(cell[self.name], cell[self.other])


@dataclass(frozen=True)
class CountEntries(Operation[int]):
    """Number of entries that are not zero."""

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Report this cell's number."""
        del left, right
        cell.report(0, _number(cell.ring(self.name).nnz(cell[self.name])))

    def collect(self, reports: Mapping[int, Block]) -> int:
        """The sum."""
        return int(COUNTING.get(reports.get(0), [0], [0])[0, 0])


@dataclass(frozen=True)
class CountDifferences(CountEntries):
    """Number of blocks in which two matrices differ."""

    other: str

    @property
    def reads(self) -> tuple[str, ...]:
        """Both matrices."""
        return (self.name, self.other)

    def check(self, kinds: Kinds) -> None:
        """Both are of one kind."""
        super().check(kinds)
        _require_one_kind(kinds, self.name, self.other)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Report 1 where the two blocks differ."""
        del left, right
        same = cell.ring(self.name).equal(cell[self.name], cell[self.other])
        cell.report(0, _number(0 if same else 1))


def _require_one_kind(kinds: Kinds, name: str, *others: str) -> None:
    for other in others:
        kinds[name].ring.require(kinds[other].ring)
        kinds[name].grid.require_same(kinds[other].grid)


def _number(value: int) -> Block | None:
    return Dense(np.array([[[value]]], np.int64)) if value else None


def _inside(grid: Grid, rows: Indices, columns: Indices) -> tuple[Indices, Indices]:
    return rows % grid.down.step, columns % grid.across.step
