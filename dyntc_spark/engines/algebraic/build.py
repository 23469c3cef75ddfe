"""Init of the algebraic engine: ``N = (I - A∘R)⁻¹ - I`` without n³ work outside the components.

The graph is condensed and swept (``sweep``), but a large component is eliminated in another way. Without the back
edges of a search it is acyclic, and often these are few (one edge can close a giant cycle): so the rest is swept, and
the back edges are a batch of insertions, an update of small rank that the lazy matrix folds in when it is
time to, stripe by stripe. A component whose back edges have nearly as many ends as it has
vertices is inverted as a whole; beyond ``ELIMINATED`` vertices by block elimination on the backend
(``eliminate``). The rest is then swept without its own edges, and with ``U`` its columns
and ``V`` its rows after that,

    M = M₀ + U·((I - W)⁻¹ - I)·V,

an update that is folded in at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.edges import Edges, EdgeSet, keys_of
from dyntc_spark.engines.algebraic.eliminate import through
from dyntc_spark.engines.algebraic.graph import Graph
from dyntc_spark.engines.algebraic.sweep import WeightedGraph, filled
from dyntc_spark.engines.algebraic.woodbury import Change, WideUpdate, factors, gathered, with_identity
from dyntc_spark.errors import OutgrownError
from dyntc_spark.kernels import components, sparse
from dyntc_spark.kernels.feedback import back_edges
from dyntc_spark.kernels.ids import Ids, Indices
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.sizes import entry_bytes, lengths

LARGE = 64  #: components of so many vertices may be cut at their back edges
FEW_ENDS = 4  #: they are if these have at most this part of its vertices as ends
ELIMINATED = 512  #: larger ones that are not are inverted by supersteps of the backend
TRIES = 32  #: searches in a component
INVERSE_BYTES = 2**30  #: that the inverse of an eliminated component may take at the driver, with its lines
IN_LINES = 3  #: times these are at the driver at once: as entries, as lines, and as the update


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
        component, count = components.strong_components(offsets, targets)
        sizes = np.bincount(component, minlength=count)
        late, inside, large = np.zeros(len(edges), np.bool_), np.zeros(len(edges), np.bool_), []
        mark, cursor = np.zeros(vertices, np.int8), offsets[:-1].copy()
        members = components.grouped(component, count)
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
                large.append(Component(np.flatnonzero(component == c), edges.where(own)))
        swept = edges.where(~(late | inside))
        if len(swept) < len(edges):
            offsets, targets = EdgeSet(keys_of(swept)).adjacency(vertices)
            component, _ = components.strong_components(offsets, targets)
        return cls(swept, tuple(large), edges.where(late), component, int(sizes.max(initial=0)))


def _rank(edges: Edges, chosen: Indices) -> int:
    """Rank of the update that puts these edges in."""
    return min(len(np.unique(side[chosen])) for side in (edges.sources, edges.targets))


def fill(matrix: LazyMatrix, graph: Graph, parts: Parts) -> tuple[Indices, Indices]:
    """Sweep, and put in the edges that were left out; return the lengths of rows and columns without the late ones."""
    primes, ring = matrix.ring.modulus or (), matrix.ring
    swept = WeightedGraph.of(parts.swept, parts.component, primes, graph.key)
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
            pending += [late.where(~first), late.where(first)]
            continue
        matrix.update(*factors([Change(late, graph.weights(late, graph.salts, primes))], lines, ring))
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
