"""Init of the algebraic engine: ``N = (I - A∘R)⁻¹ - I`` without n³ work outside the components.

The graph is condensed; its vertices get places in a topological order of the components, and
each component that has a cycle is inverted as a dense block (``kernels.component_inverses``). A
row of ``N`` is then one sweep over what its vertex reaches (``kernels.sweep``), a column the same
on the edges turned round. On Spark the edges, which are few, go to every task, and each task
orders and weights them for itself and fills its own stripes. In this process, where the components
are small, rows are merged from one another (``kernels.merge``) and then transposed.

A large component is eliminated in another way. Without the back edges of a search it is acyclic,
and often these are few (one edge can close a giant cycle): so the rest is swept, and the back
edges are a batch of insertions, an update of small rank that the lazy matrix folds in when it is
time to, stripe by stripe. A component whose back edges have nearly as many ends as it has
vertices is inverted as a whole; beyond ``ELIMINATED`` vertices by block elimination on the backend
(``eliminate``). The rest is then swept without its own edges, and with ``U`` its columns
and ``V`` its rows after that,

    M = M₀ + U·((I - W)⁻¹ - I)·V,

an update that is folded in at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.superstep import Cell, Names, Operation
from dyntc_spark.edges import Edges, EdgeSet, keys_of
from dyntc_spark.engines.algebraic.eliminate import through
from dyntc_spark.engines.algebraic.graph import Graph
from dyntc_spark.engines.algebraic.update import WideUpdate, factors, gathered, with_identity
from dyntc_spark.errors import OutgrownError
from dyntc_spark.kernels import codec, reach, sparse
from dyntc_spark.kernels.block import Block, Ints, Sparse
from dyntc_spark.kernels.component_inverses import component_inverses
from dyntc_spark.kernels.edge_weights import edge_weights
from dyntc_spark.kernels.feedback import back_edges
from dyntc_spark.kernels.ids import Ids, Indices, Offsets
from dyntc_spark.kernels.merge import LARGEST, merged_rows, transposed
from dyntc_spark.kernels.sweep import Ordered, Scratch, sweep_rows
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.rebuild import BY_COLUMN, BY_ROW
from dyntc_spark.matrices.lazy.sizes import Lengths, entry_bytes, lengths

LARGE = 64  #: components of so many vertices may be cut at their back edges
FEW_ENDS = 4  #: they are if these have at most this part of its vertices as ends
ELIMINATED = 512  #: larger ones that are not are inverted by supersteps of the backend
TRIES = 32  #: searches in a component
INVERSE_BYTES = 2**30  #: that the inverse of an eliminated component may take at the driver, with its lines
IN_LINES = 3  #: times these are at the driver at once: as entries, as lines, and as the update


@dataclass(frozen=True)
class WeightedGraph:
    """A digraph, its components, and what its weights are made of; what follows from them is found where it is needed.

    Only the fields travel.
    """

    sources: Ids
    targets: Ids
    component: Ids  #: of each vertex; edges lead to smaller numbers
    primes: tuple[int, ...]
    key: int

    @classmethod
    def of(cls, parts: Parts, key: int, primes: tuple[int, ...]) -> WeightedGraph:
        """Take the edges that are swept."""
        sources, targets = (side.astype(np.int32) for side in (parts.swept.sources, parts.swept.targets))
        return cls(sources, targets, parts.component, primes, key)

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
        run_offsets, vertex = reach.grouped(rank, int(rank.max(initial=-1)) + 1)
        place = np.empty(n, np.int32)
        place[vertex] = np.arange(n, dtype=np.int32)
        firsts, lasts = (ends[rank[vertex]].astype(np.int32) for ends in (run_offsets[:-1], run_offsets[1:]))
        weights = edge_weights(
            self.sources.astype(np.int64),
            self.targets.astype(np.int64),
            np.zeros(len(self.sources), np.uint64),
            self.key,
            self.primes,
        )
        offsets, order = reach.grouped(place[near], n)
        targets, weights = place[far[order]], np.ascontiguousarray(weights[:, order].T)
        blocks, inverses = component_inverses(offsets, targets, weights, firsts, lasts, self.primes)
        return Ordered(place, vertex, offsets, targets, weights, firsts, lasts, blocks, inverses)

    @property
    def merges(self) -> bool:
        """Whether the components are small enough for rows to be merged."""
        return bool(np.bincount(self.component).max(initial=0) <= LARGEST)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Component(NamedTuple):
    """A large component: its vertices, ascending, and the edges between them."""

    vertices: Indices
    edges: Edges


@dataclass(frozen=True)
class Parts:
    """The edges of a digraph, in those that are swept and those that are put in afterwards."""

    swept: Edges
    large: tuple[Component, ...]
    late: Edges
    component: Ids  #: of each vertex, along the swept edges
    largest: int  #: vertices of the largest component, along all edges

    @classmethod
    def of(cls, edges: Edges, vertices: int) -> Parts:
        """Take edges sorted by source and target."""
        keys = EdgeSet(keys_of(edges))
        offsets, targets = keys.adjacency(vertices)
        component, count = reach.strong_components(offsets, targets)
        sizes = np.bincount(component, minlength=count)
        late, inside, large = np.zeros(len(edges), np.bool_), np.zeros(len(edges), np.bool_), []
        mark, cursor = np.zeros(vertices, np.int8), offsets[:-1].copy()
        members = reach.grouped(component, count)
        for c in np.flatnonzero(sizes >= LARGE).tolist():
            start = int(members[1][members[0][c]])
            cut, cycle = back_edges(offsets, targets, component, start, mark, cursor)
            for v in cycle[:TRIES].tolist():
                other, _ = back_edges(offsets, targets, component, v, mark, cursor)
                cut = min(cut, other, key=partial(_rank, edges))
            if _rank(edges, cut) <= sizes[c] // FEW_ENDS:
                late[cut] = True
            elif sizes[c] > ELIMINATED:
                own = (component[edges.sources] == c) & (component[edges.targets] == c)
                inside |= own
                large.append(Component(np.flatnonzero(component == c), _chosen(edges, own)))
        swept = _chosen(edges, ~(late | inside))
        if len(swept) < len(edges):
            offsets, targets = EdgeSet(keys_of(swept)).adjacency(vertices)
            component, _ = reach.strong_components(offsets, targets)
        return cls(swept, tuple(large), _chosen(edges, late), component, int(sizes.max(initial=0)))


def _chosen(edges: Edges, places: npt.NDArray[np.bool_]) -> Edges:
    return Edges(edges.sources[places], edges.targets[places])


def _rank(edges: Edges, chosen: Indices) -> int:
    """Rank of the update that puts these edges in."""
    return min(len(np.unique(side[chosen])) for side in (edges.sources, edges.targets))


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
    """Write ``N`` into a lazy matrix; give the lengths of its rows and columns: on Spark one job."""
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


def fill(matrix: LazyMatrix, graph: Graph, parts: Parts) -> tuple[Indices, Indices]:
    """Sweep, and put in the edges that were left out; give the lengths of rows and columns without the late ones."""
    primes, ring = matrix.ring.modulus or (), matrix.ring
    swept = WeightedGraph.of(parts, graph.key, primes)
    swept.require_inverses()
    found = filled(matrix, swept)
    for ids, edges in parts.large:
        _require_inverse(matrix, ids, found)
        places = np.searchsorted(ids, edges.sources), np.searchsorted(ids, edges.targets)
        weights = graph.weights(edges, graph.salts, primes)
        own = sparse.from_coordinates(*places, weights, (len(ids), len(ids)), primes)
        rows, columns = (with_identity(lines, ids, ring) for lines in matrix.gather(rows=ids, columns=ids))
        matrix.update(columns, through(own, ids, rows, ring, matrix.backend))
    if parts.large:
        matrix.rebuild()
        found = lengths(matrix, graph.vertices)
    pending = [parts.late] if len(parts.late) else []
    while pending:
        late = pending.pop()
        try:
            lines = gathered(matrix, late)
        except WideUpdate:
            first = np.arange(len(late)) < len(late) // 2
            pending += [_chosen(late, ~first), _chosen(late, first)]
            continue
        matrix.update(*factors(late, graph.weights(late, graph.salts, primes), lines, ring))
    return found


def _require_inverse(matrix: LazyMatrix, ids: Indices, found: tuple[Indices, Indices]) -> None:
    """Refuse a component whose inverse and lines take too much at the driver, before they do."""
    entries = len(ids) ** 2 + sum(int(side[ids].sum()) for side in found)
    needed = IN_LINES * entry_bytes(matrix) * entries
    if not isinstance(matrix.backend, LocalBackend) and needed > INVERSE_BYTES:
        raise OutgrownError(
            f"components that take at most {INVERSE_BYTES} bytes at the driver to be inverted, for algebraic on Spark",
            f"one of {len(ids)} vertices, which takes about {needed}",
            "Choose the engine 'lanes' or 'centres', or keep the state in this process: backend='local'.",
        )
