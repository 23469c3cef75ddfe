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
node (``dynamic.losses``), and writes everything at the end: with R(0) = 0 for a leaf,
R(d) = 2 R(d-1) + 4 supersteps and one more, 5 / 13 / 29 for depths 1 / 2 / 3.

References
----------
Munro, "Efficient determination of the transitive closure of a directed graph",
Inf. Process. Lett. 1 (1971).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.operations import SetEntries
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.state import State
from dyntc_spark.blocks.superstep import Kind, Operation
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.kernels import bits
from dyntc_spark.kernels.ids import Words
from dyntc_spark.kernels.leaf_closure import closed
from dyntc_spark.matrices.bundle import run_together
from dyntc_spark.matrices.line_losses import LineLoss, joined
from dyntc_spark.matrices.losses import NOTHING, Entries, Factor, Question, TooManyLinesError
from dyntc_spark.matrices.polynomial.operations import count_dtype


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
        """Delete edges; give the closure afterwards, the pairs that it lost, and what ``then`` reads of it.

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


@dataclass
class _Reset:
    """One Reset: what each matrix loses, found by reading the state as it was."""

    munro: Munro
    leaves: Leaves = field(default_factory=dict)
    cleared: dict[str, list[Entries]] = field(default_factory=dict)
    lost: dict[str, list[LineLoss]] = field(default_factory=dict)

    def node(self, node: Node, gone: Entries) -> Entries:
        """Delete from X of a node; give what its closure loses."""
        if not gone:
            return NOTHING
        here, below = node.depth, node.depth + 1
        if here < self.munro.depth:
            self._clear(f"X{here}", gone)
        if node.is_leaf:
            closure = self._leaf(node, gone)
            self._clear(f"Y{here}", closure)
            return closure
        head, tail = node.first, node.second
        grid = self.munro.grid
        x, y = Factor(f"X{here}", grid), Factor(f"Y{below}", grid)
        v, w = Factor(f"V{here}", grid), Factor(f"W{here}", grid)
        first, second = node.children(self.munro.depth, grid.down.step)
        a, b = gone.inside(head, head), gone.inside(head, tail)
        c, d = gone.inside(tail, head), gone.inside(tail, tail)
        p = self.node(second, d)
        bp, pc = self._ask(
            self._question(f"N{here}", x, y, b, p, rows=head, columns=tail),
            self._question(f"N{here}", y, x, p, c, rows=tail, columns=head),
        )
        (q,) = self._ask(self._question(f"N{here}", v, x, bp, c, rows=head, columns=head, extra=a))
        e = self.node(first, q)
        f, g = self._ask(
            self._question(f"M{here}", y, v, e, bp, rows=head, columns=tail),
            self._question(f"M{here}", v, y, pc, e, rows=tail, columns=head),
        )
        (h,) = self._ask(self._question(f"N{here}", v, w, pc, f, rows=tail, columns=tail, extra=p))
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

    def _question(
        self,
        name: str,
        first: Factor,
        second: Factor,
        first_gone: Entries,
        second_gone: Entries,
        *,
        rows: range,
        columns: range,
        extra: Entries = NOTHING,
    ) -> Question:
        budget = self.munro.budget
        return Question(
            name, self.munro.grid, first, second, first_gone, second_gone, extra,
            rows=rows, columns=columns, budget=budget,
        )  # fmt: skip

    def _ask(self, *questions: Question) -> Iterator[Entries]:
        """Read what independent questions need: one superstep, or none where nothing goes."""
        asked = [question for question in questions if question]
        results = iter(self.munro.state.run(*(each for q in asked for each in q.operations()))[1] if asked else ())
        found = []
        for question in questions:
            if not question:
                found.append(NOTHING)
                continue
            loss = LineLoss.of(question, results)
            self.lost.setdefault(question.name, []).append(loss)
            found.append(loss.gone)
        return iter(found)

    def _clear(self, name: str, gone: Entries) -> None:
        if gone:
            self.cleared.setdefault(name, []).append(gone)

    def writes(self) -> list[Operation[Any]]:
        """Everything that changes, for one superstep."""
        grid = self.munro.grid
        found: list[Operation[Any]] = []
        for name, parts in self.cleared.items():
            rows, columns = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
            found.append(SetEntries(name, grid, rows, columns, None))
        return found + joined(self.lost, grid, count_dtype(grid.shape[0] + 1))


def kinds(grid: Grid, depth: int) -> dict[str, Kind]:
    """The matrices of a tree of that depth."""
    found = {f"Y{level}": Kind(grid, BOOLEAN) for level in range(depth + 1)}
    for level in range(depth):
        found |= {f"{name}{level}": Kind(grid, BOOLEAN) for name in "XVW"}
        found |= {f"{name}{level}": Kind(grid, COUNTING) for name in "NM"}
    return found
