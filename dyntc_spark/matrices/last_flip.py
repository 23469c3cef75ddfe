"""LazySet, and what Set and Reset do to a variable: its bits and its ``LastFlip`` change together, in one cell.

``LastFlip[x,y]`` is the time of the operation that set ``X[x,y]``, and 0 where the entry is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Axis, Grid, as_array
from dyntc_spark.blocks.local import entry_arrays
from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.superstep import Cell, Kind, Names, Operation
from dyntc_spark.blocks.where import Places
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.product_operations import Decrease
from dyntc_spark.matrices.triples import STAMP, Times, stored, writable


@dataclass(frozen=True)
class Flip(Operation[None]):
    """Set entries of a variable, and ``LastFlip`` of those that were 0: all that LazySet does."""

    flips: str
    places: Places
    time: int

    reads = writes = Names("name", "flips")
    fills = True
    at = "places"

    def apply(self, cell: Cell) -> None:
        """Write the entries that were 0."""
        _, rows, columns = self.places.inside(cell.bi, cell.bj)
        new = ~BOOLEAN.get(cell[self.name], rows, columns)
        if new.any():
            rows, columns, shape = rows[new], columns[new], cell.shape(self.name)
            stamps = writable(cell[self.flips], shape, STAMP)
            stamps[rows, columns] = self.time
            cell[self.flips] = stored(stamps)
            cell[self.name] = BOOLEAN.put(cell[self.name], rows, columns, np.zeros((0, len(rows))), shape)


@dataclass(frozen=True)
class Renumber(Operation[None]):
    """Replace each stamp by the rank of the first boundary time that reaches it: comparisons stay as they are."""

    times: Times

    writes = Names("name")

    def apply(self, cell: Cell) -> None:
        """Renumber the stamps of this cell."""
        stamps = writable(cell[self.name], cell.shape(self.name), STAMP)
        there = stamps > 0
        stamps[there] = 1 + np.searchsorted(self.times, stamps[there])
        cell[self.name] = stored(stamps)


def erased(name: str, flips: str, places: Places, stamps: Ints) -> Decrease:
    """Return what takes entries out of a variable, given their ``LastFlip``: Reset of the variable itself."""
    return Decrease(flips, places, stamps, STAMP, name)


def ones_of(line: npt.ArrayLike, axis: Axis, what: str) -> Indices:
    """Return the positions of the ones of a row or column."""
    given = as_array(line)
    if given.dtype == bool:
        if given.shape != (axis.length,):
            raise ShapeMismatchError(f"a Boolean vector of {axis.length}", f"{given.shape}", "Or give positions.")
        return np.flatnonzero(given)
    return axis.ids(given, what)


def checked_places(name: str, grid: Grid, entries: Any) -> Places:  # noqa: ANN401  (arrays)
    """Return ``(rows, columns)`` or a two-dimensional Boolean array as places of the matrix ``name``, checked."""
    if not isinstance(entries, tuple):
        given = as_array(entries)
        if given.dtype == bool and given.ndim == 2:
            if given.shape != grid.shape:
                came = f"an array of shape {given.shape}"
                raise ShapeMismatchError(f"Booleans of shape {grid.shape} for {name}", came, "Or give places.")
            entries = np.nonzero(given)
    rows, columns, _ = entry_arrays(tuple(entries), Kind(grid, BOOLEAN))
    return Places(grid, rows, columns)
