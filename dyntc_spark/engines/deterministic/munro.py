"""A decremental closure by Munro's decomposition: edges go, and the closure shrinks; O(n) amortised for an edge.

Cut the vertices in two, and X into ``A B / C D`` accordingly. With P = D*:

    BP = B·P,  PC = P·C,  Q = A + BP·C,  E = Q*,  F = E·BP,  G = PC·E,  H = P + PC·F

and X* is ``E F / G H``: E are the paths between vertices of the first half, all detours
through the second half being edges of Q. P and E are closures of half the size, kept
in the same way; leaves are closed again as a whole.

All products are *counted*: ``BP[x,z]`` knows how many y join x to z, Q and H count their
summand of degree 1 as one more. Deletions only ever take witnesses away, so no
stamps are needed: a count is the number of witnesses that there are. Counters:
1.5 n² at the root, half of that at the two nodes below it, together at most 3 n².
Every witness is counted once and taken away once, n³/2 of them at the root and a
quarter of that below it: deleting all edges costs O(n³), O(n) for each of n².

Layout. All nodes of depth l share matrices of the whole grid, in which they own
disjoint tiles: ``Xl`` and ``Yl`` (bits), ``Nl`` (counts of Q, BP / PC, H), ``Ml`` (counts of
F and G), ``Vl`` and ``Wl`` (bits of where they are positive).

A Reset reads one superstep for each of the four links BP and PC; Q; F and G; H of a
node (``CountedProduct.lost``), and writes everything at the end: with R(0) = 0 for a leaf,
R(d) = 2 R(d-1) + 4 supersteps and one more, 5 / 13 / 29 for depths 1 / 2 / 3.

References
----------
Munro, "Efficient determination of the transitive closure of a directed graph",
Inf. Process. Lett. 1 (1971).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.operations import ClearEntries
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.superstep import Kind, Operation
from dyntc_spark.blocks.where import Places, Tile
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.kernels import bits
from dyntc_spark.kernels.ids import Words
from dyntc_spark.kernels.leaf_closure import closed
from dyntc_spark.matrices.bundle import run_together
from dyntc_spark.matrices.counted_product import NOTHING, CountedProduct, Entries, Factor, TooManyLinesError
from dyntc_spark.matrices.triples import count_dtype


@dataclass(frozen=True)
class Node:
    """Vertices ``start … stop - 1`` at some depth; a leaf where ``middle`` is ``stop``."""

    depth: int
    start: int
    middle: int
    stop: int

    @classmethod
    def root(cls, size: int, depth: int, step: int) -> Node:
        """Cut ``size`` vertices ``depth`` times in two, at multiples of ``step`` where the parts are large enough."""
        return cls._cut(0, 0, size, depth, step)

    @classmethod
    def _cut(cls, depth: int, start: int, stop: int, more: int, step: int) -> Node:
        half = (stop - start + 1) // 2
        middle = start + half
        if half > step:
            middle = start + -(-half // step) * step
        return cls(depth, start, middle if more and half < stop - start else stop, stop)

    def children(self, depth: int, step: int) -> tuple[Node, Node]:
        """The two halves, in a tree of ``depth``."""
        more = depth - self.depth - 1
        return (
            self._cut(self.depth + 1, self.start, self.middle, more, step),
            self._cut(self.depth + 1, self.middle, self.stop, more, step),
        )

    @property
    def is_leaf(self) -> bool:
        """Whether it is closed as a whole."""
        return self.middle == self.stop

    @property
    def first(self) -> range:
        """The first half."""
        return range(self.start, self.middle)

    @property
    def second(self) -> range:
        """The second half."""
        return range(self.middle, self.stop)

    @property
    def all(self) -> range:
        """All its vertices."""
        return range(self.start, self.stop)


#: Of each leaf, by its first vertex: X and X* as packed rows.
Leaves = dict[int, tuple[Words, Words]]


@dataclass(frozen=True)
class Munro:
    """The decremental closure as a value: ``reset`` gives another one.

    It is made by ``munro_init.build``.
    """

    state: State
    edges: EdgeSet
    leaves: Leaves
    grid: Grid
    depth: int
    #: Numbers that one superstep of a Reset may bring to the driver.
    budget: float = np.inf

    @property
    def root(self) -> Node:
        """All vertices."""
        return Node.root(self.grid.shape[0], self.depth, self.grid.down.step)

    def reset(self, edges: Edges, *then: Operation[Any]) -> tuple[Munro, Entries, tuple[Any, ...]]:
        """Delete edges; return the closure afterwards, the pairs that it lost, and what ``then`` reads of it.

        Edges that are not there are left out: they came after Init, or were deleted before.

        Raises
        ------
        TooManyLinesError
            If so much would have to be read that building again is cheaper; nothing has changed.
        """
        there = self.edges.has(edges)
        loss = _Reset(self)
        gone = loss.node(self.root, Entries.of(edges.sources[there], edges.targets[there]))
        writes = loss.writes()
        state, results = run_together(self.state, [*writes, *then])
        kept = self.edges.replaced(Edges.of(), edges)
        after = replace(self, state=state, edges=kept, leaves={**self.leaves, **loss.leaves})
        return after, gone, results[len(writes) :]

    def moved(self, state: State) -> Munro:
        """The same with its matrices elsewhere."""
        return replace(self, state=state)


class Products(NamedTuple):
    """The six counted products of a node; Q and H count a summand of degree 1 too."""

    bp: CountedProduct
    pc: CountedProduct
    q: CountedProduct
    f: CountedProduct
    g: CountedProduct
    h: CountedProduct

    @classmethod
    def of(cls, node: Node, grid: Grid) -> Products:
        """Return those of a node that is no leaf."""
        head, tail, here = node.first, node.second, node.depth
        n, m, dtype = (f"N{here}", f"V{here}"), (f"M{here}", f"W{here}"), count_dtype(grid.shape[0] + 1)

        def product(counts: tuple[str, str], rows: range, columns: range, first: str, second: str) -> CountedProduct:
            name, positive = counts
            factors = Factor(first, grid), Factor(second, grid)
            return CountedProduct(name, Tile(grid, rows, columns), *factors, dtype, bits=positive)

        x, y, v, w = f"X{here}", f"Y{here + 1}", n[1], m[1]
        return cls(
            bp=product(n, head, tail, x, y),
            pc=product(n, tail, head, y, x),
            q=product(n, head, head, v, x),
            f=product(m, head, tail, y, v),
            g=product(m, tail, head, v, y),
            h=product(n, tail, tail, v, w),
        )


@dataclass
class _Reset:
    """One Reset: what each matrix loses, found by reading the state as it was."""

    munro: Munro
    leaves: Leaves = field(default_factory=dict)
    cleared: dict[str, list[Entries]] = field(default_factory=dict)
    lost: list[Operation[Any]] = field(default_factory=list)

    def node(self, node: Node, gone: Entries) -> Entries:
        """Delete from X of a node; return what its closure loses."""
        if not gone:
            return NOTHING
        here = node.depth
        if here < self.munro.depth:
            self._clear(f"X{here}", gone)
        if node.is_leaf:
            closure = self._leaf(node, gone)
            self._clear(f"Y{here}", closure)
            return closure
        head, tail = node.first, node.second
        products = Products.of(node, self.munro.grid)
        first, second = node.children(self.munro.depth, self.munro.grid.down.step)
        a, b = gone.inside(head, head), gone.inside(head, tail)
        c, d = gone.inside(tail, head), gone.inside(tail, tail)
        p = self.node(second, d)
        bp, pc = self._ask((products.bp, b, p), (products.pc, p, c))
        (q,) = self._ask((products.q, bp, c, a))
        e = self.node(first, q)
        f, g = self._ask((products.f, e, bp), (products.g, pc, e))
        (h,) = self._ask((products.h, pc, f, p))
        closure = e.joined(f, g, h)
        self._clear(f"Y{here}", closure)
        return closure

    def _leaf(self, node: Node, gone: Entries) -> Entries:
        words, before = self.munro.leaves[node.start]
        words = words.copy()
        bits.clear_bits(words, gone.rows - node.start, gone.columns - node.start)
        after = closed(words)
        self.leaves[node.start] = words, after
        lost = bits.difference(before, after)
        if bits.count(lost) > self.munro.budget:
            raise TooManyLinesError
        rows, columns = bits.coordinates(lost)
        return Entries.of(rows.astype(np.int64) + node.start, columns.astype(np.int64) + node.start)

    def _ask(self, *resets: tuple[Any, ...]) -> list[Entries]:
        """Return what independent products lose: one superstep, or none where nothing goes."""
        asked = [product.lost(*gone, budget=self.munro.budget) for product, *gone in resets]
        results = iter(
            self.munro.state.run(*(each for lost in asked for each in lost.operations()))[1] if any(asked) else ()
        )
        losses = [lost.answer(results) for lost in asked]
        self.lost += [write for loss in losses for write in loss.writes]
        return [loss.gone for loss in losses]

    def _clear(self, name: str, gone: Entries) -> None:
        if gone:
            self.cleared.setdefault(name, []).append(gone)

    def writes(self) -> list[Operation[Any]]:
        """Everything that changes, for one superstep."""
        grid = self.munro.grid
        found: list[Operation[Any]] = []
        for name, parts in self.cleared.items():
            rows, columns = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
            found.append(ClearEntries(name, Places(grid, rows, columns)))
        return found + self.lost


def kinds(grid: Grid, depth: int) -> dict[str, Kind]:
    """The matrices of a tree of that depth."""
    found = {f"Y{level}": Kind(grid, BOOLEAN) for level in range(depth + 1)}
    for level in range(depth):
        found |= {f"{name}{level}": Kind(grid, BOOLEAN) for name in "XVW"}
        found |= {f"{name}{level}": Kind(grid, COUNTING) for name in "NM"}
    return found
