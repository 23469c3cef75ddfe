"""``N = (I - W)⁻¹ - I`` of a digraph with weights: a row is one sweep over what its vertex reaches.

The vertices get places in a topological order of the components, and each component that has a cycle is inverted as a
dense block (``kernels.component_inverses``). A row of ``N`` is then one sweep over what its vertex reaches
(``kernels.sweep``), a column the same on the edges turned round. So all of them cost the pairs of the closure times the
mean degree. On Spark the edges, which are few, go to every task, and each task orders and weights them for itself and
fills its own stripes. In this process, where the components are small, rows are merged from one another
(``kernels.merge``) and then transposed.

On an acyclic graph with weights 1 the entries are numbers of paths with at least one edge: Init of section 7 without
n³ work. The empty path of each vertex to itself is not stored, so that a new vertex costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.superstep import Cell, Names, Operation
from dyntc_spark.edges import Edges
from dyntc_spark.kernels import codec, components
from dyntc_spark.kernels.block import Block, Ints, Sparse
from dyntc_spark.kernels.component_inverses import component_inverses
from dyntc_spark.kernels.edge_weights import edge_weights
from dyntc_spark.kernels.ids import Ids, Indices, Offsets
from dyntc_spark.kernels.merge import LARGEST, merged_rows, transposed
from dyntc_spark.kernels.sweep import Ordered, Scratch, sweep_rows
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.rebuild import BY_COLUMN, BY_ROW
from dyntc_spark.matrices.lazy.sizes import Lengths


@dataclass(frozen=True)
class WeightedGraph:
    """A digraph, its components, and what its weights are made of; what follows from them is found where it is needed.

    Only the fields travel.
    """

    sources: Ids
    targets: Ids
    component: Ids  #: of each vertex; edges lead to smaller numbers
    primes: tuple[int, ...]
    key: int | None  #: of the weights; None: all of them are 1

    @classmethod
    def of(cls, edges: Edges, component: Ids, primes: tuple[int, ...], key: int | None = None) -> WeightedGraph:
        """Take the edges, and the component of each vertex."""
        sources, targets = (side.astype(np.int32) for side in (edges.sources, edges.targets))
        return cls(sources, targets, component, primes, key)

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.component)

    @cached_property
    def forth(self) -> Ordered:
        """The graph by places: rows of ``N``."""
        return self._ordered(self.component.max(initial=0) - self.component, self.sources, self.targets)

    @cached_property
    def back(self) -> Ordered:
        """The edges turned round: columns of ``N``."""
        return self._ordered(self.component, self.targets, self.sources)

    def require_inverses(self) -> None:
        """Raise ``SingularMatrixError`` here, rather than in a task, if a component has no inverse."""
        _ = self.forth

    @cached_property
    def scratch(self) -> Scratch:
        """What sweeps write on."""
        return Scratch.of(self.vertices, len(self.primes))

    def _ordered(self, rank: Ids, near: Ids, far: Ids) -> Ordered:
        """Sort by the rank of the component; ``near`` hands on to ``far``."""
        n = self.vertices
        run_offsets, vertex = components.grouped(rank, int(rank.max(initial=-1)) + 1)
        place = np.empty(n, np.int32)
        place[vertex] = np.arange(n, dtype=np.int32)
        firsts, lasts = (ends[rank[vertex]].astype(np.int32) for ends in (run_offsets[:-1], run_offsets[1:]))
        offsets, order = components.grouped(place[near], n)
        targets, weights = place[far[order]], np.ascontiguousarray(self._weights()[:, order].T)
        blocks, inverses = component_inverses(offsets, targets, weights, firsts, lasts, self.primes)
        return Ordered(place, vertex, offsets, targets, weights, firsts, lasts, blocks, inverses)

    def _weights(self) -> Ints:
        """Return ``weights[plane, edge]``."""
        if self.key is None:
            return np.ones((len(self.primes), len(self.sources)), np.int32)
        ends = self.sources.astype(np.int64), self.targets.astype(np.int64)
        return edge_weights(*ends, np.zeros(len(self.sources), np.uint64), self.key, self.primes)

    @property
    def merges(self) -> bool:
        """Whether the components are small enough for rows to be merged."""
        return bool(np.bincount(self.component).max(initial=0) <= LARGEST)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Sweep(Lengths):
    """Write the rows (``turned``: the columns) of ``N`` in each stripe; the matrix may be larger than the graph."""

    graph: WeightedGraph
    turned: bool

    writes = Names("name")
    fills = True

    def apply(self, cell: Cell) -> None:
        """Sweep from each vertex of this stripe."""
        graph, step = self.graph, self.grid.down.step
        first, last = (min(stripe * step, graph.vertices) for stripe in (cell.bi, cell.bi + 1))
        ordered = graph.back if self.turned else graph.forth
        found = sweep_rows(ordered, first, last, graph.primes, graph.scratch)
        cell[self.name] = codec.compact(Sparse(cell.shape(self.name), *found))
        self.tell(cell, found[0])


@dataclass(frozen=True)
class Write(Operation[Indices]):
    """Write lines that are at hand, in this process: line ``v`` is ``ids[begins[v] : begins[v + 1]]``."""

    grid: Grid
    begins: Offsets
    ids: Ids
    values: Ints

    writes = Names("name")
    fills = True

    def apply(self, cell: Cell) -> None:
        """Copy the lines of this stripe."""
        step, vertices = self.grid.down.step, len(self.begins) - 1
        first, last = (min(stripe * step, vertices) for stripe in (cell.bi, cell.bi + 1))
        begin, end = int(self.begins[first]), int(self.begins[last])
        rows = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(self.begins[first : last + 1]))
        entries = rows, self.ids[begin:end].copy(), self.values[:, begin:end].copy()
        cell[self.name] = codec.compact(Sparse(cell.shape(self.name), *entries))

    def collect(self, reports: Mapping[int, Block]) -> Indices:
        """Return the lengths of the lines."""
        del reports
        return np.diff(self.begins)


def filled(matrix: LazyMatrix, graph: WeightedGraph) -> tuple[Indices, Indices]:
    """Write ``N`` into a lazy matrix; return the lengths of its rows and columns: on Spark one job."""
    names = {name: matrix.kinds[name].grid for name in (BY_ROW, BY_COLUMN)}
    if isinstance(matrix.backend, LocalBackend) and graph.merges:
        rows = merged_rows(graph.forth, graph.primes)
        lines = {BY_ROW: rows, BY_COLUMN: transposed(*rows)}
        by_row, by_column = matrix.fill(*(Write(name, grid, *lines[name]) for name, grid in names.items()))
    else:
        count = graph.vertices
        by_row, by_column = matrix.fill(
            *(Sweep(name, grid, count, graph, name == BY_COLUMN) for name, grid in names.items())
        )
    return by_row, by_column
