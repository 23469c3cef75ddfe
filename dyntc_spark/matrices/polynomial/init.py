"""Init: the variables get their values, and every product is evaluated.

Over Boolean matrices all products are exact after Init, so a factor ``L_{b,j}``
of a chain is the Boolean value of the product below it. That value depends only on the
variables that it is made of, its *word*, and a product only on the words of its two factors:
products that agree in these are multiplied once (of section 6's 160 products 67 are left).
There is one multiplication for each, level by level, and after a dozen of them a
superstep that brings them to the state, with their equals and with the values of words that
later products need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.superstep import Cell, Names, Operation
from dyntc_spark.blocks.where import Places
from dyntc_spark.matrices.bundle import run_together
from dyntc_spark.matrices.polynomial.layout import Layout, Product, bits, flips, is_variable, truth
from dyntc_spark.matrices.product_operations import Positive
from dyntc_spark.matrices.triples import STAMP, count_dtype, stored, writable

#: The variables of a product, from left to right.
Word: TypeAlias = tuple[str, ...]
TOGETHER = 12  # products that one superstep brings to the state


def start(backend: Backend, layout: Layout, here: Mapping[str, Places], there: Mapping[str, Any]) -> State:
    """Return the variables and zero matrices for all the rest, as one state.

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
    products, values = _distinct(layout)
    last: list[Operation[Any]] = [Weigh(bits(name), flips(bits(name)), time, STAMP) for name in layout.variables]
    last += [Weigh(p.second, p.name, 1, count_dtype(1)) for p in layout.products if p.first is None]
    last += [Total(name, summands, count_dtype(layout.summands)) for name, summands in layout.totals.items()]
    last += [Clear(name) for name in values.values() if not is_variable(name)]
    made = {each.product.name for each in products}
    whole = state.select({name: name for name in state.kinds if name not in made})
    missing = {word for word, name in values.items() if not is_variable(name)}
    for batch in _batches(products):
        together, writes = whole, list[Operation[Any]]()
        for product, (first, second), equals in batch:
            together = together.join(
                whole.multiply(values[first], values[second], product.name, counts=True, keep=False)
            )
            writes.append(Share(product.name, tuple(equals), count_dtype(layout.inner_length(product))))
            if first + second in missing:
                missing.remove(first + second)
                writes.append(Positive(product.name, values[first + second]))
        whole = run_together(together, writes if batch[-1] is not products[-1] else [*writes, *last])[0]
    return whole if products else run_together(whole, last)[0]


class _Distinct(NamedTuple):
    """A product that is multiplied, the words of its factors, and the products that are equal to it."""

    product: Product
    factors: tuple[Word, Word]
    equals: list[str]


def _distinct(layout: Layout) -> tuple[list[_Distinct], dict[Word, str]]:
    """Return the products to multiply, by level, and the matrix that holds the value of each word that is a factor."""
    words: dict[str, Word] = {bits(name): (name,) for name in layout.variables}
    values = {word: name for name, word in words.items()}
    found: dict[tuple[Word, Word], _Distinct] = {}
    for product in layout.products:
        if product.first is not None:
            factors = words[product.first], words[product.second]
            words[product.name] = word = factors[0] + factors[1]
            if product.name in layout.inner:
                values.setdefault(word, truth(product.name))
            if factors in found:
                found[factors].equals.append(product.name)
            else:
                found[factors] = _Distinct(product, factors, [])
    return list(found.values()), values


def _batches(products: list[_Distinct]) -> Iterator[list[_Distinct]]:
    """Some products of one level at a time: Spark takes long to plan a join of many DataFrames."""
    for _, group in groupby(products, key=lambda each: each.product.level):
        level = list(group)
        for begin in range(0, len(level), TOGETHER):
            yield level[begin : begin + TOGETHER]


@dataclass(frozen=True)
class Weigh(Operation[None]):
    """``into = value`` at each entry of a Boolean matrix: the stamps and the terms of degree 1 after Init."""

    into: str
    value: int
    dtype: np.dtype[Any]

    reads = Names("name", "into")
    writes = Names("into")

    def apply(self, cell: Cell) -> None:
        """Write the entries of this cell."""
        weighed = np.zeros(cell.shape(self.name), self.dtype)
        rows, columns, _ = BOOLEAN.coordinates(cell[self.name])
        weighed[rows, columns] = self.value
        cell[self.into] = stored(weighed)


@dataclass(frozen=True)
class Share(Operation[None]):
    """Keep counts in the narrowest type that holds what they can become, here and in the products ``equals``."""

    equals: tuple[str, ...]
    dtype: np.dtype[Any]

    reads = Names("name", "equals")
    writes = reads

    def apply(self, cell: Cell) -> None:
        """Convert this cell's counts."""
        counts = stored(writable(cell[self.name], cell.shape(self.name), self.dtype))
        for name in self.writes:
            cell[name] = counts


@dataclass(frozen=True)
class Clear(Operation[None]):
    """``X = 0``."""

    writes = Names("name")

    def apply(self, cell: Cell) -> None:
        """Drop this cell's block."""
        cell[self.name] = None


@dataclass(frozen=True)
class Total(Operation[None]):
    """``S[x,z] = |{products with Prod[x,z] > 0}|``, from scratch."""

    products: tuple[str, ...]
    dtype: np.dtype[Any]

    reads = Names("name", "products")
    writes = Names("name")

    def apply(self, cell: Cell) -> None:
        """Count the products that are positive."""
        shape = cell.shape(self.name)
        total = np.zeros(shape, self.dtype)
        for product in self.products:
            total += writable(cell[product], shape, np.int64) > 0
        cell[self.name] = stored(total)
