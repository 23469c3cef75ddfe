"""The invariant of section 4.1, stated from scratch: for tests, at O(n³).

For every product, ``Prod[x,z]`` is the number of ``y`` with ``X1[x,y] = 1``,
``X2[y,z] = 1`` and ``P(x,y,z)``. Together with the way stamps are written this says
that ``Prod`` counts the triples that were complete at some Set or Init through
them and have stayed complete since.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dyntc_spark.blocks.state import State
from dyntc_spark.errors import DyntcError
from dyntc_spark.kernels.block import Ints
from dyntc_spark.matrices.polynomial.layout import Boundary, Layout, Product, bits, flips, is_variable
from dyntc_spark.matrices.triples import Times


class BrokenInvariantError(DyntcError):
    """A matrix that is not what the others say it should be."""


def check(state: State, layout: Layout, last: Mapping[Boundary, Times]) -> None:
    """Compare every product and ``S`` with what the variables and the stamps say."""
    here = state.to_local() if hasattr(state, "to_local") else state  # one job, and not one for each matrix
    held = {name: _array(here, name) for name in layout.kinds}
    for name in map(bits, layout.variables):
        _same(flips(name), held[flips(name)] > 0, held[name] > 0)
    for product in layout.products:
        _same(product.name, held[product.name], _counted(product, held, last))
    for total, summands in layout.totals.items():
        _same(total, held[total], np.sum([held[name] > 0 for name in summands], axis=0))


def _counted(product: Product, held: Mapping[str, Ints], last: Mapping[Boundary, Times]) -> Ints:
    """Count the triples for which the property holds, one middle index after the other."""
    second = _stamps(product.second, held)
    first = np.eye(len(second), dtype=np.int64) if product.first is None else _stamps(product.first, held)
    rows, middle, columns = (
        np.zeros(length, np.int64) if boundary is None else last[boundary]
        for boundary, length in (
            (product.rows, first.shape[0]),
            (product.middle, first.shape[1]),
            (product.columns, second.shape[1]),
        )
    )
    total = np.zeros((first.shape[0], second.shape[1]), np.int64)
    for y in range(first.shape[1]):
        flip = np.maximum(first[:, y, None], second[None, y, :])
        reached = np.maximum(np.maximum(rows[:, None], columns[None, :]), middle[y])
        total += (first[:, y, None] > 0) & (second[None, y, :] > 0) & (flip <= reached)
    return total


def _stamps(factor: str, held: Mapping[str, Ints]) -> Ints:
    """``LastFlip`` of a variable; an entry of a chain is revealed from the beginning, which is time 1 or 0."""
    return held[flips(factor)] if is_variable(factor) else (held[factor] > 0).astype(np.int64)


def _array(state: State, name: str) -> Ints:
    rows, columns, values = state.entries(name)
    array = np.zeros(state.kinds[name].grid.shape, np.int64)
    array[rows, columns] = values
    return array


def _same(name: str, found: Ints, expected: Ints) -> None:
    wrong = np.argwhere(found != expected)
    if len(wrong):
        x, z = (int(side) for side in wrong[0])
        raise BrokenInvariantError(
            f"{int(expected[x, z])} in {name} at ({x}, {z})",
            f"{int(found[x, z])} (and {len(wrong) - 1} other entries)",
            "This is a mistake in dyntc_spark: please report the operations that led here.",
        )
