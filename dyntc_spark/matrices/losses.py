"""What a counted product loses when entries of its factors go, found without writing anything.

Let ``D1`` and ``D2`` go from the factors of ``Prod = X1 · X2``. With X1 and X2 as they
were *before*, every witness that is lost is counted once by

    lost = D1 · X2 + X1 · D2 - D1 · D2,

over the triples with the property P where stamps decide (section 4.1). The first two
products are lines against stored blocks, the third is made of what the driver
holds. Where ``Prod`` is read along the same lines in the same superstep, the driver
knows which of its entries become 0. So a whole chain of products needs one reading
superstep a link, and one that writes at the end; until then nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dyntc_spark.blocks.grid import Axis, Grid
from dyntc_spark.blocks.operations import Lookup
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Operation
from dyntc_spark.blocks.where import NOWHERE, Lines, Places, Tile
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.polynomial.entries import STAMP
from dyntc_spark.matrices.polynomial.kernels import Times, retract, slots
from dyntc_spark.matrices.witness_operations import ReadLines, StampedWitnesses, Witnesses


class TooManyLinesError(Exception):
    """The lines that a deletion meets are more than a budget: building everything again is cheaper."""


class Entries(NamedTuple):
    """Entries that go, each once, with their ``LastFlip`` where stamps decide."""

    rows: Indices
    columns: Indices
    stamps: Ints

    @classmethod
    def of(cls, rows: Indices, columns: Indices, stamps: Ints | None = None) -> Entries:
        """Without stamps all are as old as can be."""
        return cls(rows, columns, np.ones(len(rows), np.int64) if stamps is None else stamps)

    def where(self, chosen: Ints) -> Entries:
        """Some of them."""
        return Entries(self.rows[chosen], self.columns[chosen], self.stamps[chosen])

    def inside(self, rows: range, columns: range) -> Entries:
        """Those of a rectangle."""
        return self.where(_within(self.rows, rows) & _within(self.columns, columns))

    def joined(self, *others: Entries) -> Entries:
        """These and others."""
        return Entries(*(np.concatenate(sides) for sides in zip(self, *others, strict=True)))

    def __bool__(self) -> bool:
        return bool(len(self.rows))


NOTHING = Entries.of(NOWHERE, NOWHERE)


class Times3(NamedTuple):
    """The times of a product's boundaries; None where none touches it."""

    rows: Times | None = None
    middle: Times | None = None
    columns: Times | None = None


@dataclass(frozen=True)
class Loss:
    """What some places of a counted matrix lose, and what is left there."""

    rows: Indices
    columns: Indices
    amounts: Ints
    left: Ints

    @property
    def gone(self) -> Entries:
        """The places that became 0."""
        chosen = self.left == 0
        return Entries.of(self.rows[chosen], self.columns[chosen])


@dataclass(frozen=True)
class Factor:
    """One factor of a product: a stored matrix; ``stamps`` says that it holds stamps, else bits or counts."""

    name: str
    grid: Grid
    stamps: bool = False


@dataclass
class Question:
    """Asks for the loss of ``first · second`` inside the rectangle ``rows x columns`` of the count matrix ``name``.

    ``operations`` read what is needed, ``answer`` makes the loss of it. ``extra`` are
    entries that go from a summand of degree 1 which the matrix counts too.
    """

    name: str
    grid: Grid
    first: Factor
    second: Factor
    first_gone: Entries
    second_gone: Entries
    extra: Entries = NOTHING
    times: Times3 | None = None
    rows: range | None = None
    columns: range | None = None
    budget: float = np.inf
    #: Other matrices of the same grid to read at the same places.
    also: tuple[str, ...] = ()
    read: dict[str, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.row_ids = np.unique(self.first_gone.rows)
        self.column_ids = np.unique(self.second_gone.columns)
        if len(self.row_ids) * self.grid.shape[1] + len(self.column_ids) * self.grid.shape[0] > self.budget:
            raise TooManyLinesError

    def __bool__(self) -> bool:
        return bool(self.first_gone or self.second_gone or self.extra)

    def operations(self) -> list[Operation[Any]]:
        """What to read, in the order in which ``answer`` takes it."""
        found: list[Operation[Any]] = []
        names = (self.name, *self.also)
        if len(self.row_ids):
            found.append(self._lines(self.second, self.first_gone, upright=False))
            found += [
                ReadLines(name, Lines(self.grid, self.row_ids, upright=False, span=self.columns)) for name in names
            ]
        if len(self.column_ids):
            found.append(self._lines(self.first, self.second_gone, upright=True))
            found += [
                ReadLines(name, Lines(self.grid, self.column_ids, upright=True, span=self.rows)) for name in names
            ]
        if self.extra:
            found += [Lookup(name, COUNTING, Places(self.grid, *self.extra[:2])) for name in names]
        return found

    def answer(self, results: Iterator[Any]) -> Loss:
        """What is lost, and what is left; ``read`` gets what the other matrices hold at the places of the loss."""
        width = max(1, self.grid.shape[1])
        names = (self.name, *self.also)
        keys, amounts = [NOWHERE], [np.zeros(0, np.int64)]
        by_row: dict[str, Ints] = {}
        by_column: dict[str, Ints] = {}
        by_place: dict[str, Ints] = {}
        if len(self.row_ids):
            lost = next(results)
            by_row = {name: next(results) for name in names}
            x, z = np.nonzero(lost)
            keys.append(self.row_ids[x] * width + z)
            amounts.append(lost[x, z])
        if len(self.column_ids):
            lost = next(results)
            by_column = {name: next(results) for name in names}
            x, z = np.nonzero(lost)
            keys.append(x * width + self.column_ids[z])
            amounts.append(lost[x, z])
        if len(self.row_ids) and len(self.column_ids):
            x, z, twice = self.both()
            keys.append(self.row_ids[x] * width + self.column_ids[z])
            amounts.append(-twice)
        extra = self.extra.rows * width + self.extra.columns
        if self.extra:
            by_place = {name: next(results) for name in names}
            keys.append(extra)
            amounts.append(np.ones(len(extra), np.int64))
        places, which = np.unique(np.concatenate(keys), return_inverse=True)
        total = np.zeros(len(places), np.int64)
        np.add.at(total, which, np.concatenate(amounts))
        rows, columns = np.divmod(places, width)
        kept = total > 0
        kept &= np.ones(len(places), bool) if self.rows is None else _within(rows, self.rows)
        kept &= np.ones(len(places), bool) if self.columns is None else _within(columns, self.columns)
        rows, columns, total = rows[kept], columns[kept], total[kept]
        held = {name: self._held(name, rows, columns, by_row, by_column, extra, by_place) for name in names}
        self.read = {name: held[name] for name in self.also}
        return Loss(rows, columns, total, held[self.name] - total)

    def _held(
        self,
        name: str,
        rows: Indices,
        columns: Indices,
        by_row: dict[str, Ints],
        by_column: dict[str, Ints],
        extra: Indices,
        by_place: dict[str, Ints],
    ) -> Ints:
        """What a matrix holds at places that lie on the lines read, or are extra."""
        held = np.zeros(len(rows), np.int64)
        if by_place:
            keys = rows * max(1, self.grid.shape[1]) + columns
            order = np.argsort(extra)
            at = np.minimum(np.searchsorted(extra[order], keys), len(extra) - 1)
            hit = extra[order][at] == keys
            held[hit] = by_place[name][order[at[hit]]]
        if by_row:
            hit = np.isin(rows, self.row_ids)
            held[hit] = by_row[name][np.searchsorted(self.row_ids, rows[hit]), columns[hit]]
        if by_column:
            hit = np.isin(columns, self.column_ids)
            held[hit] = by_column[name][rows[hit], np.searchsorted(self.column_ids, columns[hit])]
        return held

    def _lines(self, factor: Factor, gone: Entries, *, upright: bool) -> Operation[Any]:
        """The lines of what goes, against the factor that it meets."""
        side = factor.grid.across if upright else factor.grid.down
        strip = self._strip(gone, side, upright)
        wanted = Tile(factor.grid, self.rows, None) if upright else Tile(factor.grid, None, self.columns)
        if self.times is None:
            return Witnesses(factor.name, wanted, strip)
        lines, far = (self.times.columns, self.times.rows) if upright else (self.times.rows, self.times.columns)
        near = None if lines is None else lines[self.column_ids if upright else self.row_ids]
        return StampedWitnesses(factor.name, wanted, strip, near, self.times.middle, far, ones=not factor.stamps)

    def _strip(self, gone: Entries, side: Axis, upright: bool) -> Strip:
        ring = BOOLEAN if self.times is None else COUNTING
        values = ring.values(None if self.times is None else gone.stamps[None], len(gone.rows))
        if upright:
            places = gone.rows, np.searchsorted(self.column_ids, gone.columns), values
            return Strip.from_coordinates(places, side, len(self.column_ids), ring, upright)
        places = np.searchsorted(self.row_ids, gone.rows), gone.columns, values
        return Strip.from_coordinates(places, side, len(self.row_ids), ring, upright)

    def both(self) -> tuple[Ints, Ints, Ints]:
        """``D1 · D2``, sparse: places among the lines, and counts."""
        x = np.searchsorted(self.row_ids, self.first_gone.rows)
        z = np.searchsorted(self.column_ids, self.second_gone.columns)
        inner = self.first.grid.across.length
        shape = len(self.row_ids), len(self.column_ids)
        if self.times is None:
            left = sp.csr_array((np.ones(len(x), np.int64), (x, self.first_gone.columns)), shape=(shape[0], inner))
            right = sp.csr_array((np.ones(len(z), np.int64), (self.second_gone.rows, z)), shape=(inner, shape[1]))
            found = (left @ right).tocoo()
            return found.row.astype(np.int64), found.col.astype(np.int64), found.data
        total = np.zeros(shape, np.int32)
        ours = slots(self.first_gone.columns, x, self.first_gone.stamps, inner)
        theirs = slots(self.second_gone.rows, z, self.second_gone.stamps, inner)
        rows, middle, columns = self.times
        retract(
            total,
            ours,
            theirs,
            _at(rows, self.row_ids),
            np.zeros(inner, STAMP) if middle is None else middle,
            _at(columns, self.column_ids),
        )
        places = np.nonzero(total)
        return places[0], places[1], -total[places].astype(np.int64)


def _at(times: Times | None, ids: Indices) -> Times:
    return np.zeros(len(ids), STAMP) if times is None else times[ids]


def _within(ids: Indices, span: range) -> Ints:
    found: Ints = (ids >= span.start) & (ids < span.stop)
    return found
