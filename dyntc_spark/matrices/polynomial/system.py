"""Several polynomials over the same variables, updated together (section 6 has twelve of them).

Each polynomial keeps its products and boundaries as in section 4.1 (``layout``).
They share one clock and one copy of each variable: an update writes a variable once,
which is LazySet in every polynomial, and then reveals what passes through the
boundaries of those polynomials that get SetRow or SetCol. Chains of all polynomials
advance in the same supersteps. A Reset reads one superstep a level of the chains
(``losses``), and writes once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Axis, Grid
from dyntc_spark.blocks.operations import Lookup
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.superstep import Kind, Operation
from dyntc_spark.blocks.where import Places
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.bundle import run_together
from dyntc_spark.matrices.losses import NOTHING, Entries, Factor, Loss, Question, Times3
from dyntc_spark.matrices.polynomial.entries import STAMP, Flip
from dyntc_spark.matrices.polynomial.expression import Polynomial
from dyntc_spark.matrices.polynomial.init import evaluate
from dyntc_spark.matrices.polynomial.kernels import Times
from dyntc_spark.matrices.polynomial.layout import (
    Boundary,
    Layout,
    Product,
    Shape,
    bits,
    flips,
    is_variable,
    products_of,
    truth,
)
from dyntc_spark.matrices.polynomial.operations import count_dtype
from dyntc_spark.matrices.polynomial.set_lines import Centre
from dyntc_spark.matrices.witness_operations import Decrease


class System(Layout):
    """The products, boundaries and matrices of named polynomials; terms are numbered through.

    Examples
    --------
    >>> system = System({"Q": "A + B*C", "T": "C*A"}, {"A": (2, 2), "B": (2, 3), "C": (3, 2)}, size=64)
    >>> [(product.name, product.total) for product in system.products]
    [('Prod_1', 'S_Q'), ('Prod_2', 'S_Q'), ('Prod_3', 'S_T')]
    """

    def __init__(self, polynomials: Mapping[str, str], shapes: Mapping[str, Shape], size: int) -> None:
        parsed = {name: Polynomial.parse(text) for name, text in polynomials.items()}
        self.polynomials = parsed
        self.shapes = dict(shapes)
        self.variables = tuple(shapes)
        self.occurrences = {name: [] for name in self.variables}
        self.axes: dict[Boundary, Axis] = {}
        self.products: list[Product] = []
        self.kinds = {}
        #: Which terms a polynomial has.
        self.terms: dict[str, list[int]] = {}
        for name in self.variables:
            grid = Grid.square(*self.shapes[name], size)
            self.kinds[bits(name)] = Kind(grid, BOOLEAN)
            self.kinds[flips(bits(name))] = Kind(grid, COUNTING)
        number = 0
        for name, polynomial in parsed.items():
            self.terms[name] = []
            for term in polynomial.terms:
                number += 1
                self.terms[name].append(number)
                sides = [self.kinds[bits(variable)].grid for variable in term]
                for b, axis in enumerate([sides[0].down, *(side.across for side in sides)]):
                    self.axes[number, b] = axis
                for b, variable in enumerate(term, start=1):
                    self.occurrences[variable].append((number, b))
                made = products_of(number, [bits(variable) for variable in term])
                self.products += [replace(product, sum=total(name)) for product in made]
            first = self.terms[name][0]
            outer = Grid(self.axes[first, 0], self.axes[first, len(polynomial.terms[0])])
            self.kinds[total(name)] = Kind(outer, COUNTING)
        self.products.sort(key=lambda product: product.level)
        for product in self.products:
            second = self.kinds[product.second].grid
            grid = second if product.first is None else self.kinds[product.first].grid.product(second)
            self.kinds[product.name] = Kind(grid, COUNTING)
        factors = {factor for product in self.products for factor in (product.first, product.second)}
        self.inner = frozenset(product.name for product in self.products if product.name in factors)
        self.all_kinds = self.kinds | {truth(name): Kind(self.kinds[name].grid, BOOLEAN) for name in self.inner}
        self.levels = max(product.level for product in self.products)
        self.summands = max(len(names) for names in self.totals.values())

    @property
    def totals(self) -> dict[str, tuple[str, ...]]:
        """The products that each ``S`` counts."""
        found: dict[str, tuple[str, ...]] = {total(name): () for name in self.polynomials}
        for product in self.products:
            if product.summand:
                found[product.sum] += (product.name,)
        return found

    def rows_of(self, polynomial: str, variable: str) -> list[Boundary]:
        """The boundaries that SetRow of a variable reveals in one polynomial."""
        return [(a, b - 1) for a, b in self.occurrences[variable] if a in self.terms[polynomial]]

    def columns_of(self, polynomial: str, variable: str) -> list[Boundary]:
        """The boundaries that SetCol of a variable reveals in one polynomial."""
        return [(a, b) for a, b in self.occurrences[variable] if a in self.terms[polynomial]]

    def start(self, state: State) -> Changing:
        """Init: evaluate all polynomials for the variables in ``state``."""
        return self.begun(evaluate(self, state, 1).select({name: name for name in self.kinds}))

    def begun(self, state: State) -> Changing:
        """Return the polynomials as they are after Init, with their values in ``state``."""
        last = {boundary: np.ones(axis.length, np.int32) for boundary, axis in self.axes.items()}
        return Changing(self, state, last, 1)


@dataclass(frozen=True)
class Changing:
    """The polynomials of a system with their values; an update gives another one."""

    system: System
    state: State
    last: Mapping[Boundary, Times]
    time: int

    def set(
        self,
        index: int,
        entries: Mapping[str, tuple[Indices, Indices]],
        boundaries: Iterable[Boundary],
        then: Sequence[Operation[Any]] = (),
    ) -> tuple[Changing, tuple[Any, ...]]:
        """LazySet entries of some variables everywhere, then reveal ``index`` at the boundaries, at one time.

        One superstep, one for each link of the longest chain, and one more in which ``then`` reads.
        """
        time, system, through = self.time + 1, self.system, frozenset(boundaries)
        written = [self._flip(name, places, time) for name, places in entries.items() if len(places[0])]
        centre = Centre(system, self.last, through, index, time)
        wanted = centre.wanted()
        state, found = run_together(self.state, [*written, *(centre.gather(side) for side in wanted)])
        lines = (strip.array().ravel() for strip in found[len(written) :])
        centre.old = dict(zip(wanted, lines, strict=True))
        for links in centre.by_level():
            _, counts = state.run(*(centre.link(product, upright) for product, upright in links))
            centre.new |= {(p.name, up): strip.array().ravel() for (p, up), strip in zip(links, counts, strict=True)}
        writes = centre.writes()
        state, results = run_together(state, [*writes, *then])
        last = {boundary: times.copy() if boundary in through else times for boundary, times in self.last.items()}
        for boundary in through:
            last[boundary][index] = time
        return Changing(system, state, last, time), results[len(writes) :]

    def lazy_set(self, entries: Mapping[str, tuple[Indices, Indices]]) -> Changing:
        """LazySet entries of some variables in every polynomial: one superstep."""
        time = self.time + 1
        written = [self._flip(name, places, time) for name, places in entries.items() if len(places[0])]
        return replace(self, state=self.state.run(*written)[0], time=time)

    def retreat(self, budget: float = np.inf) -> Retreat:
        """Begin a Reset."""
        return Retreat(self, budget)

    def _flip(self, name: str, places: tuple[Indices, Indices], time: int) -> Flip:
        return Flip(bits(name), flips(bits(name)), Places(self.system.kinds[bits(name)].grid, *places), time)


@dataclass
class Retreat:
    """A Reset of entries of several variables: what is lost, found by reading the values as they were."""

    before: Changing
    budget: float
    #: Entries that go, of variables and of chains.
    deleted: dict[str, Entries] = field(default_factory=dict)
    lost: dict[str, Loss] = field(default_factory=dict)
    #: For each ``S``: where summands became 0, and what ``S`` held there.
    fallen: dict[str, list[tuple[Indices, Indices, Indices]]] = field(default_factory=dict)

    def delete(self, entries: Mapping[str, tuple[Indices, Indices]]) -> None:
        """Note entries of variables that go, those that are there: one superstep, which reads their stamps."""
        some = {name: places for name, places in entries.items() if len(places[0])}
        kinds, state = self.before.system.kinds, self.before.state
        asked = [
            Lookup(flips(bits(name)), COUNTING, Places(kinds[bits(name)].grid, *places))
            for name, places in some.items()
        ]
        for (name, places), stamps in zip(some.items(), state.run(*asked)[1] if asked else (), strict=True):
            self.deleted[bits(name)] = Entries.of(*places, stamps).where(stamps > 0)

    def polynomial(self, *names: str) -> tuple[Entries, ...]:
        """What polynomials lose whose variables are all noted: one superstep a level. Give where they became 0."""
        system, sums = self.before.system, {total(name) for name in names}
        for level in range(1, system.levels + 1):
            products = [p for p in system.products if p.level == level and p.sum in sums]
            asked = [(p, question) for p in products if (question := self._question(p))]
            if not asked:
                continue
            results = iter(self.before.state.run(*(each for _, q in asked for each in q.operations()))[1])
            for product, question in asked:
                self._note(product, question, question.answer(results))
        return tuple(self._gone(total(name)) for name in names)

    def finish(self) -> Changing:
        """Write everything: one superstep."""
        system, writes = self.before.system, list[Operation[Any]]()
        for name, gone in self.deleted.items():
            if is_variable(name) and gone:
                grid = system.kinds[name].grid
                writes.append(Decrease(flips(name), Places(grid, *gone[:2]), gone.stamps, STAMP, name))
        lengths = {product.name: system.inner_length(product) for product in system.products}
        for name, loss in self.lost.items():
            grid, dtype = system.kinds[name].grid, count_dtype(lengths[name])
            writes.append(Decrease(name, Places(grid, loss.rows, loss.columns), loss.amounts, dtype))
        for name in self.fallen:
            rows, columns, times, _ = self._summands(name)
            grid = system.kinds[name].grid
            writes.append(Decrease(name, Places(grid, rows, columns), times, count_dtype(system.summands)))
        return replace(self.before, state=run_together(self.before.state, writes)[0])

    def _question(self, product: Product) -> Question:
        system, last = self.before.system, self.before.last
        grid = system.kinds[product.name].grid
        times = Times3(*(None if b is None else last[b] for b in (product.rows, product.middle, product.columns)))
        second_gone = self.deleted.get(product.second, NOTHING)
        second = self._factor(product.second)
        also = (product.sum,) if product.summand else ()
        if product.first is None:  # the identity: an entry is its own witness
            assert times.rows is not None and times.columns is not None  # noqa: PT018, S101  (a term of degree 1)
            reached = np.maximum(times.rows[second_gone.rows], times.columns[second_gone.columns])
            extra = second_gone.where(second_gone.stamps <= reached)
            return Question(product.name, grid, second, second, NOTHING, NOTHING, extra, also=also)
        first_gone = self.deleted.get(product.first, NOTHING)
        first = self._factor(product.first)
        return Question(
            product.name, grid, first, second, first_gone, second_gone, times=times, budget=self.budget, also=also
        )

    def _factor(self, name: str) -> Factor:
        matrix = flips(name) if is_variable(name) else name
        return Factor(matrix, self.before.system.kinds[matrix].grid, stamps=is_variable(name))

    def _note(self, product: Product, question: Question, loss: Loss) -> None:
        if not len(loss.rows):
            return
        self.lost[product.name] = loss
        gone = loss.gone
        if product.name in self.before.system.inner:
            self.deleted[product.name] = gone
        if product.summand and gone:
            held = question.read[product.sum][loss.left == 0]
            self.fallen.setdefault(product.sum, []).append((gone.rows, gone.columns, held))

    def _summands(self, name: str) -> tuple[Indices, Indices, Indices, Indices]:
        """Where summands of an ``S`` became 0: distinct places, how many, and what ``S`` held."""
        rows, columns, held = (np.concatenate(side) for side in zip(*self.fallen[name], strict=True))
        width = self.before.system.kinds[name].grid.shape[1]
        keys, first, times = np.unique(rows * width + columns, return_index=True, return_counts=True)
        return keys // width, keys % width, times, held[first]

    def _gone(self, name: str) -> Entries:
        if name not in self.fallen:
            return NOTHING
        rows, columns, times, held = self._summands(name)
        return Entries.of(rows, columns).where(times == held)


def total(polynomial: str) -> str:
    """The matrix that counts the positive summands of a polynomial."""
    return f"S_{polynomial}"
