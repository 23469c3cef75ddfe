"""Init: the variables get their values, and every product is evaluated.

Over Boolean matrices all products are exact after Init, so a factor ``L_{b,j}``
of a chain is the Boolean value of the product below it: one multiplication for
each product, level by level, and one superstep for the values that a level
hands on to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.superstep import Cell, Operation
from dyntc_spark.dynamic.polynomial_entries import STAMP, Places
from dyntc_spark.dynamic.polynomial_kernels import stored, writable
from dyntc_spark.dynamic.polynomial_layout import Layout, bits, flips, is_variable, truth
from dyntc_spark.dynamic.polynomial_operations import Positive, count_dtype
from dyntc_spark.kernels.block import Block


def start(backend: Backend, layout: Layout, here: Mapping[str, Places], there: Mapping[str, Any]) -> State:
    """Give the variables and zero matrices for all the rest, as one state.

    Values that are ``here``, in this process, travel together in one job; ``there``
    are values that live on the backend: matrices on our grids, or DataFrames of entries.
    """
    kinds = {name: kind for name, kind in layout.all_kinds.items() if name not in map(bits, (*here, *there))}
    local: State = LocalState(LocalBackend(), kinds, {name: {} for name in kinds})
    for name, places in here.items():
        entries = (places.rows, places.columns)
        local = local.join(LocalBackend().from_entries(entries, layout.kinds[bits(name)], bits(name)))
    state = backend.from_local(local)
    for name, value in there.items():
        if isinstance(value, BlockMatrix):
            state = state.join(value.state.select({value.name: bits(name)}))
        else:
            state = state.join(backend.from_entries(value, layout.kinds[bits(name)], bits(name)))
    return state


def evaluate(layout: Layout, state: State, time: int) -> State:
    """Evaluate the polynomial for the variables in ``state``, and stamp their entries with ``time``."""
    multiplied = [p for p in layout.products if p.first is not None]
    factors = state.select({bits(name): bits(name) for name in layout.variables})
    whole = state.select({name: name for name in state.kinds.keys() - {p.name for p in multiplied}})
    for _, group in groupby(multiplied, key=lambda product: product.level):
        values = None
        for p in group:
            first, second = (f if is_variable(f) else truth(f) for f in (str(p.first), p.second))
            counts = factors.multiply(first, second, p.name, counts=True, keep=False)
            whole = whole.join(counts)
            if p.name in layout.inner:
                values = counts if values is None else values.join(counts)
        if values is not None:
            handed_on = {truth(name): truth(name) for name in values.kinds}
            positive = [Positive(name, truth(name)) for name in values.kinds]
            values, _ = values.join(state.select(handed_on)).run(*positive)
            factors = factors.join(values.select(handed_on))
    stamps = [Weigh(bits(name), flips(bits(name)), time, STAMP) for name in layout.variables]
    ones = [Weigh(p.second, p.name, 1, count_dtype(1)) for p in layout.products if p.first is None]
    narrow = [Narrow(p.name, count_dtype(layout.inner_length(p))) for p in multiplied]
    totals = [Total(name, summands, count_dtype(layout.summands)) for name, summands in layout.totals.items()]
    return whole.run(*stamps, *ones, *narrow, *totals)[0]


@dataclass(frozen=True)
class Weigh(Operation[None]):
    """``into = value`` at each entry of a Boolean matrix: the stamps and the terms of degree 1 after Init."""

    into: str
    value: int
    dtype: np.dtype[Any]

    @property
    def reads(self) -> tuple[str, ...]:
        """Bits, and the integers that they replace."""
        return (self.name, self.into)

    @property
    def writes(self) -> tuple[str, ...]:
        """The integers."""
        return (self.into,)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Write the entries of this cell."""
        del left, right
        weighed = np.zeros(cell.shape(self.name), self.dtype)
        rows, columns, _ = BOOLEAN.coordinates(cell[self.name])
        weighed[rows, columns] = self.value
        cell[self.into] = stored(weighed)


@dataclass(frozen=True)
class Narrow(Operation[None]):
    """Keep counts in the narrowest type that holds what they can become."""

    dtype: np.dtype[Any]

    @property
    def writes(self) -> tuple[str, ...]:
        """The matrix itself."""
        return (self.name,)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Convert this cell's counts."""
        del left, right
        cell[self.name] = stored(writable(cell[self.name], cell.shape(self.name), self.dtype))


@dataclass(frozen=True)
class Total(Operation[None]):
    """``S[x,z] = |{products with Prod[x,z] > 0}|``, from scratch."""

    products: tuple[str, ...]
    dtype: np.dtype[Any]

    @property
    def reads(self) -> tuple[str, ...]:
        """The summands, and what they replace."""
        return (self.name, *self.products)

    @property
    def writes(self) -> tuple[str, ...]:
        """``S``."""
        return (self.name,)

    def apply(self, cell: Cell, left: Block | None, right: Block | None) -> None:
        """Count the products that are positive."""
        del left, right
        shape = cell.shape(self.name)
        total = np.zeros(shape, self.dtype)
        for product in self.products:
            total += writable(cell[product], shape, np.int64) > 0
        cell[self.name] = stored(total)
