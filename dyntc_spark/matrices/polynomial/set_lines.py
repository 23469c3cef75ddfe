"""SetRow and SetCol: what passes through one index of a boundary is revealed.

The line of a chain's factor is at the driver as soon as it is computed, and
goes out again for the next link: ``O(n)`` numbers a link. The chains of all
terms and occurrences advance together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.operations import Gather, VectorProduct
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Operation
from dyntc_spark.blocks.where import Lines
from dyntc_spark.kernels.block import Ints
from dyntc_spark.matrices.polynomial.layout import Boundary, Layout, Product, flips, is_variable
from dyntc_spark.matrices.triples import Times

#: Row (False) or column (True) ``i`` of a factor: ``LastFlip`` of a variable, counts of a product.
Side = tuple[str, bool]


class Centre:
    """Index ``i`` of some boundaries: the lines through it, and what they reveal."""

    def __init__(
        self, layout: Layout, last: Mapping[Boundary, Times], through: frozenset[Boundary], index: int, time: int
    ) -> None:
        self.layout, self.last, self.through, self.index, self.time = layout, last, through, index, time
        #: Products of which a whole row or column is revealed: SetRow on ``X_1``, SetCol on ``X_2``.
        self.lines = [(p, False) for p in layout.products if p.rows in through]
        self.lines += [(p, True) for p in layout.products if p.columns in through]
        #: Products that are revealed from the middle: SetCol on ``X_1``, SetRow on ``X_2``.
        self.middles = [p for p in layout.products if p.middle in through]
        self.old: dict[Side, Ints] = {}
        self.new: dict[Side, Ints] = {}

    def wanted(self) -> list[Side]:
        """The stored lines to read: variables where a chain begins, and the old tops of chains that meet."""
        found = {_passed_on(product, upright) for product, upright in self.lines}
        found = {side for side in found if is_variable(side[0])}
        for product in self.middles:
            found |= {(str(product.first), True), (product.second, False)}
        return sorted(found)

    def gather(self, side: Side) -> Gather:
        """Read a line."""
        factor, upright = side
        name = flips(factor) if is_variable(factor) else factor
        return Gather(name, COUNTING, self.at(self.layout.kinds[name].grid, upright))

    def at(self, grid: Grid, upright: bool) -> Lines:
        """Row or column ``i`` of a matrix."""
        return Lines(grid, np.array([self.index]), upright)

    def by_level(self) -> list[list[tuple[Product, bool]]]:
        """The links of the chains, those that can be computed together in one list."""
        links = [(p, upright) for p, upright in self.lines if p.first is not None]
        return [[link for link in links if link[0].level == level] for level in sorted({p.level for p, _ in links})]

    def link(self, product: Product, upright: bool) -> VectorProduct:
        """``Prod[i,:] = first[i,:] · second``, or upright ``Prod[:,i] = first · second[:,i]``; no stamps are read."""
        matrix = str(product.first) if upright else product.second
        grid = self.layout.kinds[matrix].grid
        line = self.line(_passed_on(product, upright)) > 0
        axis = grid.across if upright else grid.down
        return VectorProduct(matrix, grid, COUNTING, Strip.from_array(line, axis, BOOLEAN, upright=upright))

    def line(self, side: Side) -> Ints:
        """A line as it is after the operation."""
        return self.new[side] if side in self.new else self.old[side]

    def writes(self) -> list[Operation[Any]]:
        """The new lines of each product, then what is revealed from the middle."""
        now = {boundary: self.times(boundary) for boundary in self.last}
        lines: list[Operation[Any]] = []
        for product, upright in self.lines:
            found = (
                self.line((product.second, upright)) > 0 if product.first is None else self.new[product.name, upright]
            )
            counts = found.astype(np.int64)
            lines.append(self.layout.counted(product, now).line(self.index, counts, upright=upright))
        for product in self.middles:
            assert product.middle is not None  # noqa: S101  (it is one of the middles)
            left, right = self.stamps((str(product.first), True)), self.stamps((product.second, False))
            before = self.last[product.middle][[self.index]]
            lines.append(self.layout.counted(product, now).reveal(left, right, before))
        return lines

    def stamps(self, side: Side) -> Ints:
        """``LastFlip`` along a line; a chain's entry flipped now, or long enough ago to be revealed."""
        if is_variable(side[0]):
            return self.old[side]
        flipped: Ints = np.where(self.old[side] > 0, 1, self.time)
        return np.where(self.new[side] > 0, flipped, 0)

    def times(self, boundary: Boundary) -> Times:
        """A boundary's times, with this operation if it went through it."""
        if boundary not in self.through:
            return self.last[boundary]
        times: Times = self.last[boundary].copy()
        times[self.index] = self.time
        return times


def _passed_on(product: Product, upright: bool) -> Side:
    """The line of a factor that gives the product's own line."""
    if upright or product.first is None:
        return product.second, upright
    return product.first, upright
