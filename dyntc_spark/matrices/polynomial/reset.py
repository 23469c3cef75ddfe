"""Reset: entries go, and with them the counted triples that they were part of.

Deleted entries ``D1`` of a first factor and ``D2`` of a second one cost a product

    Prod -= D1 · (X2 + D2) + X1 · D2        over the triples with P(x,y,z),

where ``X1`` and ``X2`` are the factors *afterwards*: each lost triple is taken away
once, also where both its entries go (never reset both factors from one
snapshot). Entries of ``Prod`` that become 0 are the deletions of the next link.

Only entries that can have been counted are looked at. An entry that came by
LazySet after the last operation at each boundary of its product was never
revealed: it is neither sent out nor met. The others meet the columns (or rows)
in the order of their stamps, see ``kernels.retract``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.operations import Gather
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.where import Lines
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.polynomial.entries import STAMP
from dyntc_spark.matrices.polynomial.kernels import Times
from dyntc_spark.matrices.polynomial.layout import SUM, Boundary, Layout, Product, flips, is_variable
from dyntc_spark.matrices.polynomial.operations import Retract, Vanished
from dyntc_spark.matrices.polynomial.set_lines import counted

GATHERED = 2**22  # numbers that a superstep brings to the driver: rows and columns that deleted entries meet


class Stamped(NamedTuple):
    """Entries of a factor with their ``LastFlip`` (1 for a chain's: revealed)."""

    rows: Indices
    columns: Indices
    stamps: Ints

    def where(self, chosen: Ints) -> Stamped:
        """Some of them."""
        return Stamped(self.rows[chosen], self.columns[chosen], self.stamps[chosen])

    def joined(self, other: Stamped) -> Stamped:
        """These and others."""
        return Stamped(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


NOTHING = Stamped(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


class Reach(NamedTuple):
    """The times of a product's boundaries: what they reveal is counted."""

    rows: Times | None
    middle: Times | None
    columns: Times | None

    def first(self, entries: Stamped) -> Stamped:
        """The entries of the first factor that can be part of a counted triple."""
        best = np.maximum(_at(self.rows, entries.rows), _at(self.middle, entries.columns))
        return entries.where(entries.stamps <= np.maximum(best, _latest(self.columns)))

    def second(self, entries: Stamped) -> Stamped:
        """The entries of the second factor that can be part of a counted triple."""
        best = np.maximum(_at(self.middle, entries.rows), _at(self.columns, entries.columns))
        return entries.where(entries.stamps <= np.maximum(best, _latest(self.rows)))


class TooExpensiveError(Exception):
    """The triples to look at are more than a budget: evaluating the polynomial again is cheaper."""


@dataclass
class Retraction:
    """The way of deleted entries up the chains, level by level."""

    layout: Layout
    last: Mapping[Boundary, Times]
    #: Deleted entries of variables and products.
    deleted: dict[str, Stamped]
    #: How many pairs of entries may be looked at.
    budget: float = np.inf
    looked_at: int = 0

    def run(self, state: State) -> State:
        """Take the lost triples away: two supersteps a level, more where many middle indices lose entries.

        ``state`` has the variables as they are after the deletion.
        """
        for level in range(1, self.layout.levels + 1):
            products = [p for p in self.layout.products if p.level == level]
            losses = [Loss.of(self.layout, p, self.last, self.deleted) for p in products]
            for parts in _parts([loss for loss in losses if loss.middles.size]):
                state = self._take(state, parts)
        return state

    def _take(self, state: State, losses: list[Loss]) -> State:
        """Read what the deleted entries meet, and take the triples away."""
        gathers = [gather for loss in losses for gather in loss.gathers()]
        strips = iter(state.run(*gathers)[1] if gathers else ())
        work = [retract for loss in losses for retract in loss.operations(strips) if _pairs(retract)]
        self.looked_at += sum(map(_pairs, work))
        if self.looked_at > self.budget:
            raise TooExpensiveError
        if work:
            state, zeros = state.run(*work)
            for retract, (gone, vanished) in zip(work, zeros, strict=True):
                self._note(retract.name, gone)
                self._note(SUM, vanished)
        return state

    @property
    def vanished(self) -> tuple[Indices, Indices]:
        """The entries of ``Y`` that became 0."""
        rows, columns, _ = self.deleted.get(SUM, NOTHING)
        return rows, columns

    def _note(self, name: str, gone: tuple[Indices, Indices]) -> None:
        if len(gone[0]):
            more = Stamped(*gone, np.ones(len(gone[0]), np.int64))
            self.deleted[name] = self.deleted.get(name, NOTHING).joined(more)


@dataclass(frozen=True)
class Loss:
    """What one product loses, at some middle indices."""

    layout: Layout
    product: Product
    reach: Reach
    #: Deleted entries that can have been counted, of either factor.
    first: Stamped
    second: Stamped
    #: All deleted entries of the second factor.
    gone: Stamped

    @classmethod
    def of(
        cls, layout: Layout, product: Product, last: Mapping[Boundary, Times], deleted: Mapping[str, Stamped]
    ) -> Loss:
        """What a product can lose by the given deletions."""
        boundaries = product.rows, product.middle, product.columns
        reach = Reach(*(None if boundary is None else last[boundary] for boundary in boundaries))
        first = NOTHING if product.first is None else deleted.get(product.first, NOTHING)
        second = deleted.get(product.second, NOTHING)
        return cls(layout, product, reach, reach.first(first), reach.second(second), second)

    @property
    def grid(self) -> Grid:
        """The grid of the product."""
        return self.layout.kinds[self.product.name].grid

    @property
    def middles(self) -> Indices:
        """The middle indices at which entries go."""
        return np.union1d(self.first.columns, self.second.rows)

    def only(self, middles: Indices) -> Loss:
        """The part of the loss at some middle indices; each triple has only one."""
        return replace(
            self,
            first=self.first.where(np.isin(self.first.columns, middles)),
            second=self.second.where(np.isin(self.second.rows, middles)),
            gone=self.gone.where(np.isin(self.gone.rows, middles)),
        )

    def gathers(self) -> list[Gather]:
        """Rows of the second factor that ``first`` meets, columns of the first that ``second`` meets."""
        found = []
        if self.first.rows.size:
            found.append(self._gather(self.product.second, np.unique(self.first.columns), upright=False))
        if self.second.rows.size and self.product.first is not None:
            found.append(self._gather(self.product.first, np.unique(self.second.rows), upright=True))
        return found

    def operations(self, strips: Iterator[Strip]) -> list[Retract]:
        """The two products of the module's formula; ``strips`` are what ``gathers`` found."""
        found = []
        if self.first.rows.size:
            slots = np.unique(self.first.columns)
            at = np.searchsorted(slots, self.first.columns)
            slot, z, stamps = self._met(self.product.second, next(strips))
            met = Stamped(slots[slot], z, stamps).joined(self.gone.where(np.isin(self.gone.rows, slots)))
            met = self.reach.second(met)
            right = np.searchsorted(slots, met.rows), met.columns, met.stamps
            found.append(self._retract(slots, (self.first.rows, at, self.first.stamps), right, second=False))
        if self.second.rows.size:
            slots = np.unique(self.second.rows)
            at = np.searchsorted(slots, self.second.rows)
            if self.product.first is None:  # the identity
                left = slots, np.arange(len(slots)), np.ones(len(slots), np.int64)
            else:
                x, slot, stamps = self._met(self.product.first, next(strips))
                met = self.reach.first(Stamped(x, slots[slot], stamps))
                left = met.rows, np.searchsorted(slots, met.columns), met.stamps
            found.append(self._retract(slots, left, (at, self.second.columns, self.second.stamps), second=True))
        return found

    def _gather(self, factor: str, ids: Indices, *, upright: bool) -> Gather:
        name = flips(factor) if is_variable(factor) else factor
        return Gather(name, COUNTING, Lines(self.layout.kinds[name].grid, ids, upright))

    @staticmethod
    def _met(factor: str, strip: Strip) -> tuple[Ints, Ints, Ints]:
        """Entries of gathered lines with their stamps; a chain's entries are all revealed."""
        rows, columns, values = strip.coordinates()
        return rows, columns, values[0] if is_variable(factor) else np.ones(len(rows), np.int64)

    def _retract(self, slots: Indices, left: tuple[Any, ...], right: tuple[Any, ...], *, second: bool) -> Retract:
        rows, _, columns = self.reach
        middle = _at(self.reach.middle, slots)
        left_strip, right_strip = (
            Strip.from_coordinates((x, y, stamps[None]), axis, len(slots), COUNTING, upright)
            for (x, y, stamps), axis, upright in ((left, self.grid.down, True), (right, self.grid.across, False))
        )
        tells = self.product.name in self.layout.inner
        types = counted(self.layout, self.product)
        return Retract(*types, self.grid, left_strip, right_strip, rows, middle, columns, second=second, tells=tells)


def vanished(before: State, after: State) -> tuple[Indices, Indices]:
    """Compare ``S`` of two states: one superstep."""
    both = before.select({SUM: "before"}).join(after.select({SUM: "after"}))
    _, (found,) = both.run(Vanished("before", "after", before.kinds[SUM].grid))
    return found[0], found[1]


def _parts(losses: list[Loss]) -> Iterator[list[Loss]]:
    """Cut the losses of a level so that each part gathers a bounded number of lines."""
    cut = [
        [loss.only(middles) for middles in np.split(loss.middles, range(step, loss.middles.size, step))]
        for loss in losses
        for step in [max(1, GATHERED // max(1, sum(loss.grid.shape)))]
    ]
    for number in range(max(map(len, cut), default=0)):
        yield [parts[number] for parts in cut if number < len(parts)]


def _pairs(retract: Retract) -> int:
    """The pairs of entries that meet in the slots of an operation."""
    count = len(retract.middle)
    left = np.bincount(retract.left.coordinates()[1], minlength=count)
    right = np.bincount(retract.right.coordinates()[0], minlength=count)
    return int(left.astype(np.int64) @ right)


def _at(times: Times | None, ids: Indices) -> Ints:
    return np.zeros(len(ids), STAMP) if times is None else times[ids]


def _latest(times: Times | None) -> int:
    return 0 if times is None or not times.size else int(times.max())
