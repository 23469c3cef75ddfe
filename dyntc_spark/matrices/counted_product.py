"""The counted product of section 4.1: ``Prod = X1 · X2`` with a number of witnesses at each entry.

``Prod[x,z]`` is the number of ``y`` with ``X1[x,y] = X2[y,z] = 1`` for which the paper's property holds:

    P(x,y,z): max(LastFlip_1[x,y], LastFlip_2[y,z]) <= max(rows[x], middle[y], columns[z]),

where ``rows`` is LastRow of X1, ``columns`` is LastCol of X2, and ``middle`` is LastCol of X1 and LastRow of X2,
which are one vector (erratum 2). A product whose factors never get LazySet needs no stamps: every witness counts.

Everything that the engines do is made of the paper's operations on products (its lines are those of the figures there):

=============================  ======================================================================
Init                           ``init_product``: a product of blocks, counted; of a tile, ``tile_operations.init_tile``
SetRow on X1, SetCol on X2     ``line``: the row or column of Prod as a whole; no stamps are read (lines 4-9)
SetCol on X1, SetRow on X2     ``reveal``: the triples through one ``y`` that were not counted (line 10)
LazySet                        ``last_flip.Flip`` on the factor, and nothing here (lines 2-3, also of Set)
Reset                          ``lost``: what is read, what Prod loses, what writes that (lines 2-14);
                               ``last_flip.erased`` on the factor (line 15)
Lookup                         ``product_operations.Positive``
=============================  ======================================================================

A polynomial is a system of products (``polynomial``), section 5 has three a level (``logarithmic``), Munro's
decomposition six a node (``munro``).

Reset. Let ``D1`` and ``D2`` go from the factors. With X1 and X2 as they were *before*, every witness that is lost
is counted once by

    lost = D1 · X2 + X1 · D2 - D1 · D2

(never take both factors from one snapshot without the third product). The first two are lines against stored
blocks, the third is made of what the driver holds. Prod is read along the same lines in the same superstep, so
the driver knows which of its entries become 0. A chain of products needs one reading superstep a link, and
one that writes at the end; until then nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.operations import Lookup
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Operation
from dyntc_spark.blocks.where import NOWHERE, Lines, Places, Tile
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.product_operations import Decrease, DecreaseLines, Line, Reveal
from dyntc_spark.matrices.triples import STAMP, Times, slots, witnesses
from dyntc_spark.matrices.witness_operations import ReadLines, StampedWitnesses, Witnesses

PLACE_BYTES = 24  # of a single place that loses something: its row, its column, how much


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


class Last(NamedTuple):
    """The times of the last Set at each index of a product's three sides; None where no Set comes through it."""

    rows: Times | None = None
    middle: Times | None = None
    columns: Times | None = None

    def first(self, entries: Entries) -> Entries:
        """The entries of the first factor that can be part of a counted triple (Reset, lines 4 and 10)."""
        best = np.maximum(_at(self.rows, entries.rows), _at(self.middle, entries.columns))
        return entries.where(entries.stamps <= np.maximum(best, _latest(self.columns)))

    def second(self, entries: Entries) -> Entries:
        """The entries of the second factor that can be part of a counted triple."""
        best = np.maximum(_at(self.middle, entries.rows), _at(self.columns, entries.columns))
        return entries.where(entries.stamps <= np.maximum(best, _latest(self.rows)))

    def alone(self, entries: Entries) -> Entries:
        """The entries that the product with the identity counts."""
        return entries.where(
            entries.stamps <= np.maximum(_at(self.rows, entries.rows), _at(self.columns, entries.columns))
        )


def init_product(state: State, factors: tuple[str, str], into: str) -> State:
    """Init: return the state with the product of two matrices, counted, in the place of the matrix ``into``."""
    others = state.select({name: name for name in state.kinds if name != into})
    return others.join(state.multiply(*factors, into, counts=True, keep=False))


class Factor(NamedTuple):
    """One factor of a product: a stored matrix; ``stamps`` says that it holds LastFlip, else bits or counts."""

    name: str
    grid: Grid
    stamps: bool = False


@dataclass(frozen=True)
class CountedProduct:
    """One counted product over the matrices of a state; ``first`` is None for the identity."""

    name: str
    #: The matrix of counts, and the part of it that this product owns.
    tile: Tile
    first: Factor | None
    second: Factor
    #: The type of the counts.
    dtype: np.dtype[Any]
    #: None where no stamps decide.
    last: Last | None = None
    #: A Boolean matrix of where the counts are positive, which follows them.
    bits: str | None = None
    #: The matrix S that counts the positive products of a polynomial, and its type.
    total: str | None = None
    total_dtype: np.dtype[Any] = STAMP

    def line(self, index: int, counts: Ints, *, upright: bool) -> Line:
        """SetRow(i, X1), or upright SetCol(i, X2): replace row (column) i of Prod by these counts."""
        grid = self.tile.grid
        strip = Strip.from_array(counts, grid.down if upright else grid.across, COUNTING, upright=upright)
        return Line(self.name, self.total, self.dtype, self.total_dtype, Lines(grid, np.array([index]), upright), strip)

    def reveal(self, left: Ints, right: Ints, middle: Times) -> Reveal:
        """SetCol(i, X1) or SetRow(i, X2): count the triples through i that were not counted.

        ``left`` and ``right`` are LastFlip along column i of X1 and row i of X2, ``middle`` the time of i before.
        """
        grid, last = self.tile.grid, self.last or Last()
        column = Strip.from_array(left, grid.down, COUNTING, upright=True)
        row = Strip.from_array(right, grid.across, COUNTING, upright=False)
        types = self.dtype, self.total_dtype
        return Reveal(self.name, self.total, *types, grid, column, row, last.rows, middle, last.columns)

    def lost(
        self,
        first: Entries,
        second: Entries,
        extra: Entries = NOTHING,
        *,
        also: tuple[str, ...] = (),
        budget: float = np.inf,
    ) -> Lost:
        """Reset(D1, X1) and Reset(D2, X2): ask what the product loses.

        ``extra`` are entries that go from a summand of degree 1 which the matrix counts too. ``also`` are other
        matrices of the same grid to read where nothing is left.

        Raises
        ------
        TooManyLinesError
            If more than ``budget`` numbers would have to be read of each matrix.
        """
        if self.first is None:  # the identity: an entry is its own witness
            first, second, extra = NOTHING, NOTHING, (self.last or Last()).alone(second)
        elif self.last is not None:
            first, second = self.last.first(first), self.last.second(second)
        lost = Lost(self, first, second, extra, also)
        if lost.numbers > budget:
            raise TooManyLinesError
        return lost


@dataclass
class Lost:
    """What a product loses by a Reset: ``operations`` read what is needed, ``answer`` makes the loss of it."""

    product: CountedProduct
    first: Entries
    second: Entries
    extra: Entries
    also: tuple[str, ...]
    row_ids: Indices = field(init=False)
    column_ids: Indices = field(init=False)

    def __post_init__(self) -> None:
        self.row_ids = np.unique(self.first.rows)
        self.column_ids = np.unique(self.second.columns)

    def __bool__(self) -> bool:
        return bool(self.first or self.second or self.extra)

    @property
    def numbers(self) -> int:
        """How many numbers are read of each matrix."""
        height, width = self.product.tile.grid.shape
        return len(self.row_ids) * width + len(self.column_ids) * height

    @property
    def triples(self) -> int:
        """How many triples are looked at, at most."""
        height, width = self.product.tile.grid.shape
        return len(self.first.rows) * width + len(self.second.rows) * height + len(self.extra.rows)

    def operations(self) -> list[Operation[Any]]:
        """What to read, in the order in which ``answer`` takes it."""
        found: list[Operation[Any]] = []
        names, grid = (self.product.name, *self.also), self.product.tile.grid
        for upright, ids in ((False, self.row_ids), (True, self.column_ids)):
            if len(ids):
                span = self.product.tile.rows if upright else self.product.tile.columns
                found.append(self._witnesses(upright=upright))
                found += [ReadLines(name, Lines(grid, ids, upright, span)) for name in names]
        if self.extra:
            found += [Lookup(name, COUNTING, Places(grid, *self.extra[:2])) for name in names]
        return found

    def answer(self, results: Iterator[Any]) -> Loss:
        """Return what is lost, given what the operations read."""
        names, rows, columns = (self.product.name, *self.also), self.row_ids, self.column_ids
        down, across = self.product.tile.spans
        by_row = by_column = None
        if len(rows):
            here = slice(across.start, across.stop)
            lost, *held = (next(results)[:, here] for _ in (None, *names))
            by_row = LostLines(rows, across.start, lost, dict(zip(names, held, strict=True)), upright=False)
        if len(columns):
            here = slice(down.start, down.stop)
            lost, *held = (next(results)[here].T for _ in (None, *names))
            by_column = LostLines(columns, down.start, lost, dict(zip(names, held, strict=True)), upright=True)
        if by_row is not None and by_column is not None:  # where both meet, the rows have it all
            x, z, twice = self._both()
            by_row.lost[:, columns - across.start] += by_column.lost[:, rows - down.start].T
            by_row.lost[x, columns[z] - across.start] -= twice
            by_column.lost[:, rows - down.start] = 0
        extra, at_extra = self.extra, dict[str, Ints]()
        if extra:
            on_row = np.isin(extra.rows, rows)
            on_column = ~on_row & np.isin(extra.columns, columns)
            if by_row is not None:
                at = np.searchsorted(rows, extra.rows[on_row])
                by_row.lost[at, extra.columns[on_row] - across.start] += 1
            if by_column is not None:
                at = np.searchsorted(columns, extra.columns[on_column])
                by_column.lost[at, extra.rows[on_column] - down.start] += 1
            alone = ~on_row & ~on_column
            at_extra = {name: next(results)[alone] for name in names}
            extra = extra.where(alone)
        return Loss.of(self.product, [side for side in (by_row, by_column) if side is not None], extra, at_extra)

    def _witnesses(self, *, upright: bool) -> Operation[Any]:
        """The lines of what goes, against the factor that it meets."""
        product, last = self.product, self.product.last
        factor, gone = (product.first, self.second) if upright else (product.second, self.first)
        ids = self.column_ids if upright else self.row_ids
        assert factor is not None  # noqa: S101  (the identity has no lines)
        grid = factor.grid
        wanted = Tile(grid, product.tile.rows, None) if upright else Tile(grid, None, product.tile.columns)
        ring = BOOLEAN if last is None else COUNTING
        values = ring.values(None if last is None else gone.stamps[None], len(gone.rows))
        if upright:
            at, axis = (gone.rows, np.searchsorted(ids, gone.columns), values), grid.across
        else:
            at, axis = (np.searchsorted(ids, gone.rows), gone.columns, values), grid.down
        strip = Strip.from_coordinates(at, axis, len(ids), ring, upright)
        if last is None:
            return Witnesses(factor.name, wanted, strip)
        near, far = (last.columns, last.rows) if upright else (last.rows, last.columns)
        times = _at(near, ids), last.middle, far
        return StampedWitnesses(factor.name, wanted, strip, *times, ones=not factor.stamps)

    def _both(self) -> tuple[Ints, Ints, Ints]:
        """``D1 · D2``: places among the lines, and counts."""
        x = np.searchsorted(self.row_ids, self.first.rows)
        z = np.searchsorted(self.column_ids, self.second.columns)
        inner, last = self.product.second.grid.down.length, self.product.last
        shape = len(self.row_ids), len(self.column_ids)
        if last is None:
            left = sp.csr_array((np.ones(len(x), np.int64), (x, self.first.columns)), shape=(shape[0], inner))
            right = sp.csr_array((np.ones(len(z), np.int64), (self.second.rows, z)), shape=(inner, shape[1]))
            found = (left @ right).tocoo()
            return found.row.astype(np.int64), found.col.astype(np.int64), found.data
        ours = slots(self.first.columns, x, self.first.stamps, inner)
        theirs = slots(self.second.rows, z, self.second.stamps, inner)
        middle = np.zeros(inner, STAMP) if last.middle is None else last.middle
        total = witnesses(shape, ours, theirs, _at(last.rows, self.row_ids), middle, _at(last.columns, self.column_ids))
        places = np.nonzero(total)
        return places[0], places[1], total[places].astype(np.int64)


@dataclass(frozen=True)
class LostLines:
    """What the rows (upright: columns) ``ids`` lose: ``lost[e]`` from position ``start`` on, and what they hold."""

    ids: Indices
    start: int
    lost: Ints
    held: Mapping[str, Ints]
    upright: bool

    def places(self, at: tuple[Any, ...]) -> tuple[Indices, Indices]:
        """Rows and columns of positions on the lines."""
        near, far = self.ids[at[0]], at[1] + self.start
        return (far, near) if self.upright else (near, far)

    def written(self, product: CountedProduct) -> Operation[Any] | None:
        """What takes the loss away: lines as they are where they are dense, else place by place."""
        count, grid, dtype = int(np.count_nonzero(self.lost)), product.tile.grid, product.dtype
        if not count:
            return None
        if count * PLACE_BYTES >= self.lost.size * dtype.itemsize:
            lines = Lines(grid, self.ids, self.upright, range(self.start, self.start + self.lost.shape[1]))
            return DecreaseLines(product.name, lines, self.lost.astype(dtype), product.bits)
        at = np.nonzero(self.lost)
        return Decrease(product.name, Places(grid, *self.places(at)), self.lost[at], dtype, product.bits)


class Loss(NamedTuple):
    """What a product loses."""

    #: The places where nothing is left.
    gone: Entries
    #: What the product and the other matrices that were read hold there.
    read: Mapping[str, Ints]
    #: What takes the loss away.
    writes: list[Operation[Any]]

    @classmethod
    def of(cls, product: CountedProduct, lines: list[LostLines], extra: Entries, at_extra: Mapping[str, Ints]) -> Loss:
        """Make it of lines and of single places that lose one witness each."""
        gone, read, writes = [NOTHING], list[Mapping[str, Ints]](), list[Operation[Any]]()
        for part in lines:
            at = np.nonzero((part.lost == part.held[product.name]) & (part.lost > 0))
            gone.append(Entries.of(*part.places(at)))
            read.append({name: held[at] for name, held in part.held.items()})
            write = part.written(product)
            writes += [] if write is None else [write]
        if extra:
            alone = at_extra[product.name] == 1
            gone.append(extra.where(alone))
            read.append({name: held[alone] for name, held in at_extra.items()})
            places = Places(product.tile.grid, *extra[:2])
            writes.append(Decrease(product.name, places, np.ones_like(places.rows), product.dtype, product.bits))
        names = read[0] if read else ()
        joined = {name: np.concatenate([part[name] for part in read]) for name in names}
        return cls(Entries.of(*NOTHING.joined(*gone)[:2]), joined, writes)


def _at(times: Times | None, ids: Indices) -> Times:
    return np.zeros(len(ids), STAMP) if times is None else times[ids]


def _latest(times: Times | None) -> int:
    return 0 if times is None or not times.size else int(times.max())


def _within(ids: Indices, span: range) -> Ints:
    found: Ints = (ids >= span.start) & (ids < span.stop)
    return found
