"""The engine ``refresh`` and its slow twin ``recompute``, side by side."""

from __future__ import annotations

import numpy as np

from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh


def as_edges(pairs):
    return Edges.of([v for v, _ in sorted(pairs)], [w for _, w in sorted(pairs)])


def alike(a, b):
    return np.array_equal(a.sources, b.sources) and np.array_equal(a.targets, b.targets)


def sound(engine, twin):
    """Whether both say the same about every pair, every edge and their sizes, and the engine's arrays fit together."""
    everything = np.arange(twin.vertices)
    return (
        same_condensation(engine, twin)
        and alike(engine.descendants(everything), twin.descendants(everything))
        and alike(engine.ancestors(everything), twin.ancestors(everything))
        and (twin.vertices > 100 or np.array_equal(engine.query(*_all_pairs(twin)), twin.query(*_all_pairs(twin))))
    )


def _all_pairs(twin):
    return np.divmod(np.arange(twin.vertices**2), max(twin.vertices, 1))


def same_condensation(engine, twin):
    """The same without listing pairs of vertices: components by their first members, and who reaches whom of these."""
    ours, theirs = engine.stats(), twin.stats()
    sizes = ("vertices", "edges", "pairs", "components", "largest_component")
    rows, closed = engine.state.graph.rows, twin._closed
    heads = [rows.values[start : start + n] for start, n in zip(rows.starts, rows.lengths, strict=True)]
    mine = _by_first_members(engine.state.graph.component, rows.lengths, np.concatenate([np.zeros(0, int), *heads]))
    return (
        all(ours[name] == theirs[name] for name in sizes)
        and np.array_equal(mine, _by_first_members(closed.component, np.diff(closed.row_offsets), closed.heads))
        and alike(engine.state.edges.edges, twin._edges.edges)
        and _consistent(engine.state)
    )


def _by_first_members(component, lengths, heads):
    first = np.full(len(lengths), -1)
    first[component[::-1]] = np.arange(len(component))[::-1]
    rows = np.sort((np.repeat(first, lengths) << 32) + first[heads.astype(int)])
    return np.concatenate([first[component], rows])


def _consistent(state):
    graph = state.graph
    free = graph.free[: graph.totals[3]]
    used = np.setdiff1d(np.arange(len(graph.size)), free)
    return (
        np.array_equal(np.unique(graph.component), used)
        and len(np.unique(free)) == len(free)
        and np.array_equal(graph.component[graph.after], graph.component)
        and np.array_equal(np.bincount(graph.component, minlength=len(graph.size))[used], graph.size[used])
        and graph.rows.lengths.sum() == graph.totals[2]
        and graph.out.lengths.sum() == graph.into.lengths.sum() == graph.totals[1]
    )


class Pair:
    def __init__(self, n, edges, share):
        self.engine, self.twin, self.n = Refresh(rebuild_share=share), Recompute(), n
        for side in (self.engine, self.twin):
            side.init(edges, n)

    def grow(self, extra):
        self.n += extra
        for side in (self.engine, self.twin):
            side.grow(self.n)

    def apply(self, inserted, deleted):
        for side in (self.engine, self.twin):
            side.apply(inserted, deleted)

    def apply_random(self, rng, most):
        """As a user might: edges that are there are deleted, others come; now and then only one of both."""
        edges = self.twin._edges.edges
        some = rng.permutation(len(edges))[: rng.integers(most + 1)]
        ends = rng.integers(self.n, size=(2, rng.integers(most + 1)))
        self.apply(Edges.of(*ends), Edges(edges.sources[some], edges.targets[some]))

    def check(self, about=""):
        assert sound(self.engine, self.twin), f"{about}: {self.engine.stats()} against {self.twin.stats()}"
