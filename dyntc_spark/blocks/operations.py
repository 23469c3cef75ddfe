"""The operations on block matrices that supersteps are made of.

Reading: ``Gather`` (rows or columns), ``Lookup`` (entries), ``VectorProduct``
(lines times the matrix), ``CountEntries``, ``CountDifferences``.
Writing: ``RankUpdate``, ``SetEntries``, ``ClearEntries``, ``Combine``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.rings import COUNTING, Ring
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Kinds, Names, Operation, OwnRing, Slices
from dyntc_spark.blocks.where import Lines, Places
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.kernels.block import Block, Dense, Ints


@dataclass(frozen=True)
class Gather(Operation[Strip]):
    """Some rows or columns of a matrix, as a strip at the driver."""

    ring: Ring
    lines: Lines
    at = "lines"
    report_ring = OwnRing()  # lines out of different blocks do not overlap, their sum joins them

    def apply(self, cell: Cell) -> None:
        """Report the part of the lines that lies in this cell."""
        upright, count = self.lines.upright, len(self.lines.ids)
        places, inside = self.lines.inside(cell.bi, cell.bj)
        take = self.ring.take_columns if upright else self.ring.take_rows
        part = take(cell[self.name], inside)
        if part is not None and len(places) < count:
            rows, columns, values = self.ring.coordinates(part)
            rows, columns = (rows, places[columns]) if upright else (places[rows], columns)
            shape = (part.shape[0], count) if upright else (count, part.shape[1])
            part = self.ring.from_coordinates(rows, columns, values if self.ring.planes else None, shape)
        cell.report(cell.bi if upright else cell.bj, part)

    def collect(self, reports: Mapping[int, Block]) -> Strip:
        """Join the parts."""
        return Strip(self.ring, self.lines.far, len(self.lines.ids), self.lines.upright, dict(reports))


@dataclass(frozen=True)
class Lookup(Operation[Ints]):
    """Entries at some places: bool, counts, or ``values[plane, q]``."""

    ring: Ring
    places: Places
    at = "places"
    report_ring = OwnRing()

    def apply(self, cell: Cell) -> None:
        """Report the entries that lie in this cell, as one row of all places."""
        places, *inside = self.places.inside(cell.bi, cell.bj)
        found = self.ring.get(cell[self.name], *inside)
        hit = found if found.ndim == 1 else found.any(axis=0)
        values = found[:, hit] if self.ring.planes else None
        at = places[hit]
        cell.report(0, self.ring.from_coordinates(np.zeros_like(at), at, values, (1, len(self.places.rows))))

    def collect(self, reports: Mapping[int, Block]) -> Ints:
        """Put the answers in the order of the questions."""
        count = len(self.places.rows)
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
    by_row = Slices("strip", upright=False)
    by_column = Slices("strip", upright=True)
    report_ring = OwnRing()

    def apply(self, cell: Cell) -> None:
        """Report this cell's share of the sums."""
        if self.strip.upright:
            cell.report(cell.bi, self.ring.multiply(cell[self.name], cell.right))
        else:
            cell.report(cell.bj, self.ring.multiply(cell.left, cell[self.name]))

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
    writes = Names("name")
    fills = True
    by_row = Slices("u", upright=True)
    by_column = Slices("v", upright=False)

    def check(self, kinds: Kinds) -> None:
        """The strips run along the two sides of the matrix and share the rank."""
        super().check(kinds)
        self.u.require_along(kinds[self.name].grid.down, upright=True)
        self.v.require_along(kinds[self.name].grid.across, upright=False)
        if self.u.count != self.v.count:
            raise ShapeMismatchError(
                "as many columns of u as rows of v", f"{self.u.count} and {self.v.count}", "They share the rank k."
            )

    def apply(self, cell: Cell) -> None:
        """Add this cell's part of the outer product."""
        left, right = cell.left, cell.right
        if left is not None and right is not None:
            before = cell[self.name]
            cell[self.name] = cell.ring(self.name).rank_update(before, left, right, cell.shape(self.name), self.sign)


@dataclass(frozen=True)
class SetEntries(Operation[None]):
    """``X[rows[q], columns[q]] = values[:, q]``."""

    places: Places
    values: Ints
    at = "places"
    writes = Names("name")
    fills = True

    def apply(self, cell: Cell) -> None:
        """Set the places that lie in this cell."""
        chosen, rows, columns = self.places.inside(cell.bi, cell.bj)
        if len(chosen):
            ring, values = cell.ring(self.name), self.values[:, chosen]
            cell[self.name] = ring.put(cell[self.name], rows, columns, values, cell.shape(self.name))


@dataclass(frozen=True)
class ClearEntries(Operation[None]):
    """``X[rows[q], columns[q]] = 0``."""

    places: Places
    at = "places"
    writes = Names("name")

    def apply(self, cell: Cell) -> None:
        """Clear the places that lie in this cell."""
        chosen, *inside = self.places.inside(cell.bi, cell.bj)
        if len(chosen):
            cell[self.name] = cell.ring(self.name).clear(cell[self.name], *inside)


@dataclass(frozen=True)
class Combine(Operation[None]):
    """``into = X + sign · Y``, block by block; for Boolean matrices ``-`` is "and not"."""

    other: str
    into: str
    sign: Literal[1, -1] = 1
    reads = Names("name", "other", "into")  # what is there of the result, too: where both are zero it goes
    writes = Names("into")

    def check(self, kinds: Kinds) -> None:
        """All three are of one kind."""
        super().check(kinds)
        _require_one_kind(kinds, self.name, self.other, self.into)

    def apply(self, cell: Cell) -> None:
        """Combine the two blocks."""
        ring = cell.ring(self.name)
        combine = ring.add if self.sign == 1 else ring.subtract
        cell[self.into] = combine(cell[self.name], cell[self.other])


@dataclass(frozen=True)
class CountEntries(Operation[int]):
    """Number of entries that are not zero."""

    def apply(self, cell: Cell) -> None:
        """Report this cell's number."""
        cell.report(0, _number(cell.ring(self.name).nnz(cell[self.name])))

    def collect(self, reports: Mapping[int, Block]) -> int:
        """The sum."""
        return int(COUNTING.get(reports.get(0), [0], [0])[0, 0])


@dataclass(frozen=True)
class CountDifferences(CountEntries):
    """Number of blocks in which two matrices differ."""

    other: str
    reads = Names("name", "other")

    def check(self, kinds: Kinds) -> None:
        """Both are of one kind."""
        super().check(kinds)
        _require_one_kind(kinds, self.name, self.other)

    def apply(self, cell: Cell) -> None:
        """Report 1 where the two blocks differ."""
        same = cell.ring(self.name).equal(cell[self.name], cell[self.other])
        cell.report(0, _number(0 if same else 1))


def _require_one_kind(kinds: Kinds, name: str, *others: str) -> None:
    for other in others:
        kinds[name].ring.require(kinds[other].ring)
        kinds[name].grid.require_same(kinds[other].grid)


def _number(value: int) -> Block | None:
    return Dense(np.array([[[value]]], np.int64)) if value else None
