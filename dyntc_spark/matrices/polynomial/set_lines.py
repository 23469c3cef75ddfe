"""SetRow and SetCol: what passes through one index of a boundary is revealed.

The line of a chain's factor is at the driver as soon as it is computed, and
goes out again for the next link: ``O(n)`` numbers a link. The chains of all
terms and occurrences advance together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.operations import Gather, VectorProduct
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Operation
from dyntc_spark.blocks.where import Lines
from dyntc_spark.kernels.block import Ints
from dyntc_spark.matrices.polynomial.entries import Flip
from dyntc_spark.matrices.polynomial.kernels import Times
from dyntc_spark.matrices.polynomial.layout import Boundary, Layout, Product, flips, is_variable
from dyntc_spark.matrices.polynomial.operations import Line, Reveal, count_dtype

#: Row (False) or column (True) ``i`` of a factor: ``LastFlip`` of a variable, counts of a product.
Side = tuple[str, bool]


def set_line(
    state: State,
    layout: Layout,
    last: Mapping[Boundary, Times],
    flip: Flip,
    boundaries: Iterable[Boundary],
    index: int,
    then: Sequence[Operation[Any]],
) -> tuple[State, tuple[Any, ...]]:
    """Write ``flip`` and reveal every triple through ``index`` at the ``boundaries``.

    ``last`` holds the boundaries' times before the operation. One superstep, one
    for each link of the longest chain, and one more; ``then`` runs in the last.
    """
    centre = Centre(layout, last, frozenset(boundaries), index, flip.time)
    wanted = centre.wanted()
    state, (_, *found) = state.run(flip, *(centre.gather(side) for side in wanted))
    centre.old = {side: strip.array().ravel() for side, strip in zip(wanted, found, strict=True)}
    for links in centre.by_level():
        _, counts = state.run(*(centre.link(product, upright) for product, upright in links))
        centre.new |= {(p.name, up): strip.array().ravel() for (p, up), strip in zip(links, counts, strict=True)}
    writes = centre.writes()
    state, results = state.run(*writes, *then)
    return state, results[len(writes) :]


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
        lines: list[Operation[Any]] = []
        for product, upright in self.lines:
            counts = (
                self.line((product.second, upright)) > 0 if product.first is None else self.new[product.name, upright]
            )
            grid = self.layout.kinds[product.name].grid
            axis = grid.down if upright else grid.across
            strip = Strip.from_array(counts.astype(np.int64), axis, COUNTING, upright=upright)
            lines.append(Line(*counted(self.layout, product), self.at(grid, upright), strip))
        return lines + [self.reveal(product) for product in self.middles]

    def reveal(self, product: Product) -> Reveal:
        """Count the triples ``(x, i, z)`` that were not counted; the lines above are written already."""
        grid = self.layout.kinds[product.name].grid
        left = Strip.from_array(self.stamps((str(product.first), True)), grid.down, COUNTING, upright=True)
        right = Strip.from_array(self.stamps((product.second, False)), grid.across, COUNTING, upright=False)
        assert product.middle is not None  # noqa: S101  (it is one of the middles)
        middle = self.last[product.middle][[self.index]]
        return Reveal(
            *counted(self.layout, product),
            grid,
            left,
            right,
            self.times(product.rows),
            middle,
            self.times(product.columns),
        )

    def stamps(self, side: Side) -> Ints:
        """``LastFlip`` along a line; a chain's entry flipped now, or long enough ago to be revealed."""
        if is_variable(side[0]):
            return self.old[side]
        flipped: Ints = np.where(self.old[side] > 0, 1, self.time)
        return np.where(self.new[side] > 0, flipped, 0)

    def times(self, boundary: Boundary | None) -> Times | None:
        """A boundary's times, with this operation if it went through it."""
        if boundary is None:
            return None
        if boundary not in self.through:
            return self.last[boundary]
        times: Times = self.last[boundary].copy()
        times[self.index] = self.time
        return times


def counted(layout: Layout, product: Product) -> tuple[str, str | None, np.dtype[Any], np.dtype[Any]]:
    """Name, total and types of a product, as the operations on it begin."""
    types = count_dtype(layout.inner_length(product)), count_dtype(layout.summands)
    return product.name, product.total, *types


def _passed_on(product: Product, upright: bool) -> Side:
    """The line of a factor that gives the product's own line."""
    if upright or product.first is None:
        return product.second, upright
    return product.first, upright
