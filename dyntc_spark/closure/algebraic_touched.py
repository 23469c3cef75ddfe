"""What a batch can have changed: the rows of the ancestors of its sources, in the columns of its targets' descendants.

Let ``R`` be the vertices that reach a changed source, and ``Z`` those that a changed target reaches,
both in the graph before (in the graph after they are the same: a path to a source has a first
changed edge, and what comes before it was there). Only pairs in ``R x Z`` can change, and only entries
there do. So either the rows ``R`` or the columns ``Z`` tell it all: each is certified by itself, rows
along the edges and columns against them. Whichever are likely to hold fewer entries are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.algebraic_graph import Graph
from dyntc_spark.closure.algebraic_update import Factors, Lines, negated
from dyntc_spark.closure.certificate import certify_lines, certify_matrix
from dyntc_spark.closure.edge_set import edges_of, keys_of
from dyntc_spark.closure.engine import Certificate, Edges
from dyntc_spark.dynamic import lazy_lines
from dyntc_spark.dynamic.lazy_matrix import LazyMatrix
from dyntc_spark.kernels import reach
from dyntc_spark.kernels.block import Sparse

MANY = 4096  #: from so many lines on, and an eighth of all, the certificate looks at the whole matrix


@dataclass(frozen=True)
class Touched:
    """The lines of ``N`` that a batch can have changed, and the update that did."""

    lines: Ids  #: rows or columns, ascending
    by_row: bool
    update: Factors
    ancestors: int  #: how many vertices ``R`` there are

    @classmethod
    def of(cls, lines: Lines, update: Factors, lengths: tuple[Ids, Ids]) -> Touched:
        """Choose rows or columns, by the ``lengths`` that rows and columns had when ``N`` was built."""
        rows = np.union1d(lines.columns.columns, lines.sources)
        columns = np.union1d(lines.rows.columns, lines.targets)
        by_row = bool(lengths[0][rows].sum() <= lengths[1][columns].sum())
        return cls(rows if by_row else columns, by_row, update, len(rows))

    @classmethod
    def nothing(cls, matrix: LazyMatrix) -> Touched:
        """What a batch without effect touches."""
        ring, shape = matrix.ring, matrix.shape
        update = Factors(*(lazy_lines.nothing(0, length, ring.planes, ring.modulus) for length in shape))
        return cls(np.zeros(0, np.int64), True, update, 0)

    def certified(self, matrix: LazyMatrix, graph: Graph) -> Certificate:
        """Certify the lines as they will be after the update: one job."""
        if len(self.lines) > max(MANY, graph.vertices // 8):
            return certify_matrix(matrix, graph.successors, self.update)
        successors = graph.successors if self.by_row else graph.predecessors
        update = self._own(*self.update)
        found = certify_lines(self._read(matrix), self.lines, successors, update, matrix.ring.modulus or ())
        return found if self.by_row else Certificate(found.rows, _turned(found.missing))

    def differences(self, matrix: LazyMatrix) -> tuple[Edges, Edges]:
        """The pairs that the update, which is in the matrix now, has made reachable, and unreachable: one job."""
        after = self._read(matrix)
        columns, rows = self.update
        before = lazy_lines.combine(after, *self._own(columns, negated(rows, matrix.ring)), matrix.ring.modulus)
        new, old = (keys_of(pairs(self.lines, lines, diagonal=False)) for lines in (after, before))
        found = edges_of(reach.without(new, old)), edges_of(reach.without(old, new))
        return found if self.by_row else (_sorted(_turned(found[0])), _sorted(_turned(found[1])))

    def _read(self, matrix: LazyMatrix) -> Sparse:
        if self.by_row:
            return matrix.gather(rows=self.lines)[0]
        return matrix.gather(columns=self.lines)[1]

    def _own(self, columns: Sparse, rows: Sparse) -> tuple[Sparse, Sparse]:
        """Give, for each of these lines, which lines are added to it; and those lines."""
        chosen, added = (columns, rows) if self.by_row else (rows, columns)
        return lazy_lines.columns_at(chosen, self.lines), added


def pairs(vertices: Ids, lines: Sparse, *, diagonal: bool = True) -> Edges:
    """Give the pairs that lines of ``N`` stand for: each vertex with itself too, or (not ``diagonal``) never."""
    near, far = vertices[lines.rows], lines.columns.astype(np.int64)
    other = near != far
    keys = keys_of(Edges(near[other], far[other]))
    if diagonal:
        own = keys_of(Edges(vertices, vertices))
        keys = np.insert(keys, np.searchsorted(keys, own), own)
    return edges_of(keys)


def _turned(edges: Edges) -> Edges:
    return Edges(edges.targets, edges.sources)


def _sorted(edges: Edges) -> Edges:
    return edges_of(np.sort(keys_of(edges)))
