"""Polynomials over the same variables, updated together (section 6 has twelve of them).

Each polynomial is a system of counted products (``layout``).
They share one clock and one copy of each variable: an update writes a variable once,
which is LazySet in every polynomial, and then reveals what passes through the
boundaries of those polynomials that get SetRow or SetCol. Chains of all polynomials
advance in the same supersteps. A Reset reads one superstep a level of the chains, and
writes once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dyntc_spark.blocks.operations import Lookup
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.superstep import Operation
from dyntc_spark.blocks.where import Places
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.bundle import run_together
from dyntc_spark.matrices.counted_product import NOTHING, Entries, Loss, Lost, TooManyLinesError
from dyntc_spark.matrices.last_flip import Flip, Renumber, erased
from dyntc_spark.matrices.polynomial.init import evaluate
from dyntc_spark.matrices.polynomial.layout import Boundary, Layout, Product, bits, flips
from dyntc_spark.matrices.polynomial.set_lines import Centre
from dyntc_spark.matrices.product_operations import Decrease
from dyntc_spark.matrices.triples import STAMP, Times, count_dtype


@dataclass(frozen=True)
class Changing:
    """The polynomials of a layout with their values; an update gives another one."""

    layout: Layout
    state: State
    last: Mapping[Boundary, Times]
    time: int

    @classmethod
    def begun(cls, layout: Layout, state: State, time: int = 1) -> Changing:
        """Return the polynomials as they are after Init, with their values in ``state``: every triple is revealed."""
        return cls(layout, state, {b: np.full(axis.length, time, STAMP) for b, axis in layout.axes.items()}, time)

    @classmethod
    def init(cls, layout: Layout, state: State, time: int = 1) -> Changing:
        """Init: evaluate all polynomials for the variables in ``state``."""
        return cls.begun(layout, evaluate(layout, state, time), time)

    def set(
        self,
        index: int,
        entries: Mapping[str, tuple[Indices, Indices]],
        boundaries: Iterable[Boundary],
        then: Sequence[Operation[Any]] = (),
    ) -> tuple[Changing, tuple[Any, ...]]:
        """SetRow and SetCol: LazySet entries of some variables everywhere, then reveal ``index`` at the boundaries.

        All at one time; the numbers below are the lines of SetCol for any degree, with errata 6 and 7.
        One superstep, one for each link of the longest chain, and one more in which ``then`` reads.
        """
        time, through = self.time + 1, frozenset(boundaries)
        # line 2, and lines 9 and 10: LazySet of every copy of a variable, of which there is one
        written = [self._flip(name, places, time) for name, places in entries.items() if len(places[0])]
        centre = Centre(self.layout, self.last, through, index, time)
        wanted = centre.wanted()
        state, found = run_together(self.state, [*written, *(centre.gather(side) for side in wanted)])
        lines = (strip.array().ravel() for strip in found[len(written) :])
        centre.old = dict(zip(wanted, lines, strict=True))
        for links in centre.by_level():  # lines 3 to 6: up the chains L and R
            _, counts = state.run(*(centre.link(product, upright) for product, upright in links))
            centre.new |= {(p.name, up): strip.array().ravel() for (p, up), strip in zip(links, counts, strict=True)}
        writes = centre.writes()  # what lines 3 to 6 write, and lines 7 and 8: Y.SetCol and Y.SetRow
        state, results = run_together(state, [*writes, *then])
        last = {boundary: times.copy() if boundary in through else times for boundary, times in self.last.items()}
        for boundary in through:
            last[boundary][index] = time
        return replace(self, state=state, last=last, time=time), results[len(writes) :]

    def lazy_set(
        self, entries: Mapping[str, tuple[Indices, Indices]], then: Sequence[Operation[Any]] = ()
    ) -> tuple[Changing, tuple[Any, ...]]:
        """LazySet entries of some variables in every polynomial: one superstep, in which ``then`` reads."""
        time = self.time + 1
        written = [self._flip(name, places, time) for name, places in entries.items() if len(places[0])]
        state, results = self.state.run(*written, *then)
        return replace(self, state=state, time=time), results[len(written) :]

    def renumbered(self) -> Changing:
        """Number the times of the boundaries again; a stamp is compared with nothing else."""
        times = np.unique(np.concatenate(list(self.last.values())))
        times = times[times > 0]
        names = map(bits, self.layout.variables)
        state, _ = self.state.run(*(Renumber(flips(name), times) for name in names))
        last = {b: np.searchsorted(times, old, side="right").astype(STAMP) for b, old in self.last.items()}
        return replace(self, state=state, last=last, time=len(times) + 1)

    def reset(self, budget: float = np.inf, triples: float = np.inf) -> Reset:
        """Begin a Reset that may read ``budget`` numbers of a matrix in a superstep and look at so many triples."""
        return Reset(self, budget, triples)

    def _flip(self, name: str, places: tuple[Indices, Indices], time: int) -> Flip:
        return Flip(bits(name), flips(bits(name)), Places(self.layout.kinds[bits(name)].grid, *places), time)


@dataclass
class Reset:
    """A Reset of entries of several variables: what is lost, found by reading the values as they were."""

    before: Changing
    budget: float
    triples: float
    #: How many triples were looked at, at most.
    looked_at: int = 0
    #: Entries that go, of variables and of chains.
    deleted: dict[str, Entries] = field(default_factory=dict)
    #: What writes the variables, and what writes the products.
    erased: list[Operation[Any]] = field(default_factory=list)
    writes: list[Operation[Any]] = field(default_factory=list)
    #: For each ``S``: where summands became 0, and what ``S`` held there.
    fallen: dict[str, list[tuple[Indices, Indices, Indices]]] = field(default_factory=dict)

    def delete(self, entries: Mapping[str, tuple[Indices, Indices]]) -> None:
        """Note entries of variables that go, those that are there: one superstep, which reads their stamps."""
        some = {name: places for name, places in entries.items() if len(places[0])}
        kinds, state = self.before.layout.kinds, self.before.state
        asked = [Lookup(flips(bits(name)), COUNTING, Places(kinds[bits(name)].grid, *at)) for name, at in some.items()]
        for (name, places), stamps in zip(some.items(), state.run(*asked)[1] if asked else (), strict=True):
            gone = Entries.of(*places, stamps).where(stamps > 0)
            if gone:
                self.deleted[bits(name)] = gone
                there = Places(kinds[bits(name)].grid, *gone[:2])
                self.erased.append(erased(bits(name), flips(bits(name)), there, gone.stamps))

    def polynomial(self, *totals: str) -> tuple[Entries, ...]:
        """What polynomials lose whose variables are all noted: one superstep a level. Give where they became 0."""
        layout = self.before.layout
        for level in range(1, layout.levels + 1):
            products = [p for p in layout.products if p.level == level and p.sum in totals]
            asked = [(p, lost) for p in products if (lost := self._lost(p))]
            if not asked:
                continue
            self.looked_at += sum(lost.triples for _, lost in asked)
            if self.looked_at > self.triples:
                raise TooManyLinesError
            results = iter(self.before.state.run(*(each for _, lost in asked for each in lost.operations()))[1])
            for product, lost in asked:
                self._note(product, lost.answer(results))
        return tuple(self._gone(total) for total in totals)

    def finish(self) -> Changing:
        """Write everything: one superstep."""
        layout, writes = self.before.layout, [*self.erased, *self.writes]
        for name in self.fallen:
            rows, columns, times, _ = self._summands(name)
            places = Places(layout.kinds[name].grid, rows, columns)
            writes.append(Decrease(name, places, times, count_dtype(layout.summands)))
        return replace(self.before, state=run_together(self.before.state, writes)[0], time=self.before.time + 1)

    def without(self) -> State:
        """The variables without what goes, and everything else as it was: one superstep."""
        return run_together(self.before.state, self.erased)[0]

    def _lost(self, product: Product) -> Lost:
        first = NOTHING if product.first is None else self.deleted.get(product.first, NOTHING)
        second = self.deleted.get(product.second, NOTHING)
        also = (product.sum,) if product.summand else ()
        return self.before.layout.counted(product, self.before.last).lost(first, second, also=also, budget=self.budget)

    def _note(self, product: Product, loss: Loss) -> None:
        self.writes += loss.writes
        if product.name in self.before.layout.inner:
            self.deleted[product.name] = loss.gone
        if product.summand and loss.gone:
            self.fallen.setdefault(product.sum, []).append((*loss.gone[:2], loss.read[product.sum]))

    def _summands(self, name: str) -> tuple[Indices, Indices, Indices, Indices]:
        """Where summands of an ``S`` became 0: distinct places, how many, and what ``S`` held."""
        rows, columns, held = (np.concatenate(side) for side in zip(*self.fallen[name], strict=True))
        width = self.before.layout.kinds[name].grid.shape[1]
        keys, first, times = np.unique(rows * width + columns, return_index=True, return_counts=True)
        return keys // width, keys % width, times, held[first]

    def _gone(self, name: str) -> Entries:
        if name not in self.fallen:
            return NOTHING
        rows, columns, times, held = self._summands(name)
        return Entries.of(rows, columns).where(times == held)
