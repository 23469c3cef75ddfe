"""Losses along whole lines, where they are dense: the same as ``losses``, without listing each place.

When a vertex leaves a large component, the lines through it are lost in one product
after the other, and each costs the next one a whole rectangle of witnesses. Places
would take three numbers each; lines take one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.superstep import Cell, Names, Operation
from dyntc_spark.blocks.where import Lines, Places
from dyntc_spark.kernels import bits, codec
from dyntc_spark.kernels.block import Bits, Ints
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.losses import Entries, Question
from dyntc_spark.matrices.polynomial.kernels import stored, writable
from dyntc_spark.matrices.witness_operations import Decrease


@dataclass(frozen=True)
class Lost:
    """What the lines ``ids`` lose: ``lost[e]`` from position ``start`` on; upright ones are columns."""

    ids: Indices
    lost: Ints
    start: int
    upright: bool

    def lines(self, grid: Grid) -> Lines:
        """Where they are."""
        return Lines(grid, self.ids, self.upright, range(self.start, self.start + self.lost.shape[1]))

    def gone(self, held: Ints) -> Entries:
        """The places that lose all that they held."""
        line, far = np.nonzero((self.lost == held) & (self.lost > 0))
        near, far = self.ids[line], far + self.start
        return Entries.of(far, near) if self.upright else Entries.of(near, far)


@dataclass(frozen=True)
class LineLoss:
    """What a tile of a counted matrix loses: along rows, along columns, and at single places."""

    lines: tuple[Lost, ...]
    extra: Entries
    gone: Entries

    @classmethod
    def of(cls, question: Question, results: Iterator[Any]) -> LineLoss:
        """Make the loss of what the operations of ``question`` have read."""
        rows, columns = question.row_ids, question.column_ids
        spans = zip((question.rows, question.columns), question.grid.shape, strict=True)
        down, across = (slice(0, length) if span is None else slice(span.start, span.stop) for span, length in spans)
        by_row = by_column = None
        if len(rows):
            by_row = next(results)[:, across], next(results)[:, across]
        if len(columns):
            by_column = next(results)[down].T, next(results)[down].T
        if by_row is not None and by_column is not None:  # where both meet, the rows have it all
            here = np.ix_(np.arange(len(rows)), columns - across.start)
            x, z, twice = question.both()
            by_row[0][here] += by_column[0][:, rows - down.start].T
            by_row[0][x, columns[z] - across.start] -= twice
            by_column[0][:, rows - down.start] = 0
        extra, gone = question.extra, []
        if extra:
            held = next(results)
            on_row = np.isin(extra.rows, rows)
            on_column = ~on_row & np.isin(extra.columns, columns)
            if by_row is not None:
                at = np.searchsorted(rows, extra.rows[on_row])
                by_row[0][at, extra.columns[on_row] - across.start] += 1
            if by_column is not None:
                at = np.searchsorted(columns, extra.columns[on_column])
                by_column[0][at, extra.rows[on_column] - down.start] += 1
            alone = ~on_row & ~on_column
            extra = extra.where(alone)
            gone.append(extra.where(held[alone] == 1))
        lines = []
        for side, ids, start, upright in ((by_row, rows, across.start, False), (by_column, columns, down.start, True)):
            if side is not None:
                lines.append(Lost(ids, side[0], start, upright))
                gone.append(lines[-1].gone(side[1]))
        return cls(tuple(lines), extra, Entries.of(*(np.concatenate([part[k] for part in gone]) for k in (0, 1))))

    def writes(self, name: str, grid: Grid, dtype: np.dtype[Any], positive: str) -> list[Operation[Any]]:
        """What writes the loss."""
        found: list[Operation[Any]] = [
            DecreaseLines(name, part.lines(grid), part.lost.astype(dtype), positive) for part in self.lines
        ]
        if self.extra:
            ones = np.ones(len(self.extra.rows), np.int64)
            found.append(Decrease(name, Places(grid, *self.extra[:2]), ones, dtype, positive))
        return found


@dataclass(frozen=True)
class DecreaseLines(Operation[None]):
    """Take ``amounts[e]`` from line ``e`` of some lines of a matrix of counts."""

    lines: Lines
    amounts: Ints
    bits: str  #: a Boolean matrix of where it is positive, which follows
    at = "lines"
    reads = writes = Names("name", "bits")

    def apply(self, cell: Cell) -> None:
        """Take away what lies in this cell."""
        before, bits_before = cell[self.name], cell[self.bits]
        if before is None or bits_before is None:
            return
        lines, axis = self.lines, self.lines.far
        assert lines.span is not None  # noqa: S101  (of losses)
        chosen, ids = lines.inside(cell.bi, cell.bj)
        other = (cell.bi if lines.upright else cell.bj) * axis.step
        first, last = max(lines.span.start, other), min(lines.span.stop, other + axis.step)
        part = self.amounts[chosen, first - lines.span.start : last - lines.span.start]
        if not part.any():
            return
        span = slice(first - other, last - other)
        shape = cell.shape(self.name)
        array = writable(before, shape, self.amounts.dtype)
        view = array.T if lines.upright else array
        rest = view[ids, span] - part
        view[ids, span] = rest
        cell[self.name] = stored(array)
        gone = np.zeros(shape, bool)
        (gone.T if lines.upright else gone)[ids, span] = (rest == 0) & (part > 0)
        held = codec.densify(bits_before)
        assert isinstance(held, Bits)  # noqa: S101  (a Boolean matrix)
        cell[self.bits] = codec.compact(Bits(shape, held.words & ~bits.pack(gone)))


def joined(losses: Mapping[str, list[LineLoss]], grid: Grid, dtype: np.dtype[Any]) -> list[Operation[Any]]:
    """What writes the losses of several tiles; the bits of counts ``N`` are ``V``, those of ``M`` are ``W``."""
    return [
        write
        for name, found in losses.items()
        for loss in found
        for write in loss.writes(name, grid, dtype, {"N": "V", "M": "W"}[name[0]] + name[1:])
    ]
