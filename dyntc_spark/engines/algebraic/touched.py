"""What a batch can have changed: the rows of the ancestors of its sources, in the columns of its targets' descendants.

Let ``R`` be the vertices that reach a changed source, and ``Z`` those that a changed target reaches,
both in the graph before (in the graph after they are the same: a path to a source has a first
changed edge, and what comes before it was there). Only pairs in ``R x Z`` can change, and only entries
there do. So either the rows ``R`` or the columns ``Z`` tell it all: each is certified by itself, rows
along the edges and columns against them. Whichever are likely to hold fewer entries are read.

A row of ``R`` that was right lacks nothing outside ``Z``: what it holds there has not changed, and no
edge from there, nor from ``Z``, leads out of ``Z`` to anything new. So the edges into ``Z`` are enough to
certify it; for a column of ``Z``, the edges out of ``R``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.edges import Edges, edges_of, keys_of
from dyntc_spark.engines.algebraic.graph import Graph
from dyntc_spark.engines.algebraic.inverse import pairs_of
from dyntc_spark.engines.algebraic.woodbury import Factors, Lines, negated
from dyntc_spark.engines.base import Certificate
from dyntc_spark.engines.certificate import certify_lines, certify_matrix
from dyntc_spark.engines.transfer import DRIVER_BYTES
from dyntc_spark.kernels import components, sparse
from dyntc_spark.kernels.block import Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.sizes import exceeds

AT_A_TIME = 2**25  #: entries of full lines that are certified at a time in this process
MANY = 4096  #: from so many lines on, and an eighth of all, the certificate looks at the whole matrix


@dataclass(frozen=True)
class Touched:
    """The lines of ``N`` that a batch can have changed, and the update that did."""

    rows: Indices  #: ``R``, ascending
    columns: Indices  #: ``Z``, ascending
    by_row: bool
    update: Factors

    @property
    def lines(self) -> Indices:
        """The rows or the columns."""
        return self.rows if self.by_row else self.columns

    @classmethod
    def of(cls, lines: Lines, update: Factors, lengths: tuple[Indices, Indices]) -> Touched:
        """Choose rows or columns, by the ``lengths`` that rows and columns had when ``N`` was built."""
        rows = lines.ancestors
        columns = np.union1d(lines.rows.columns, lines.targets)
        by_row = bool(lengths[0][rows].sum() <= lengths[1][columns].sum())
        return cls(rows, columns, by_row, update)

    @classmethod
    def nothing(cls, matrix: LazyMatrix) -> Touched:
        """What a batch without effect touches."""
        ring, shape = matrix.ring, matrix.shape
        update = Factors(*(sparse_lines.nothing(0, length, ring.planes, ring.modulus) for length in shape))
        none = np.zeros(0, np.int64)
        return cls(none, none, True, update)

    def certified(self, matrix: LazyMatrix, graph: Graph) -> Certificate:
        """Certify the lines as they will be after the update, of a matrix that was right: on Spark one job."""
        lines, modulus = self.lines, matrix.ring.modulus or ()
        if len(lines) > max(MANY, graph.vertices // 8) or self.too_large(matrix):
            return certify_matrix(matrix, graph.into(self.columns), self.update)
        successors = graph.into(self.columns) if self.by_row else graph.out_of(self.rows)
        chosen, added = self._own(*self.update)
        near = isinstance(matrix.backend, LocalBackend)
        step = max(1, AT_A_TIME // max(graph.vertices, 1)) if near else max(len(lines), 1)
        found = []
        for start in range(0, len(lines), step):
            part = np.arange(start, min(start + step, len(lines)))
            read = self._read(matrix, lines[part])
            update = sparse.take_rows(chosen, part), added
            found.append(certify_lines(read, lines[part], successors, update, modulus).missing)
        missing = Edges.joined(found)
        return Certificate(len(lines), missing if self.by_row else missing.turned)

    def too_large(self, matrix: LazyMatrix) -> bool:
        """Whether the lines are more than the driver of a matrix on Spark should get."""
        return exceeds(matrix, DRIVER_BYTES, **{"rows" if self.by_row else "columns": self.lines})

    def differences(self, matrix: LazyMatrix) -> tuple[Edges, Edges]:
        """The pairs that the update, which is in the matrix now, has made reachable, and unreachable: one job."""
        after = self._read(matrix, self.lines)
        columns, rows = self.update
        before = sparse_lines.combine(after, *self._own(columns, negated(rows, matrix.ring)), matrix.ring.modulus)
        new, old = (keys_of(pairs_of(self.lines, lines, diagonal=False)) for lines in (after, before))
        found = edges_of(components.without(new, old)), edges_of(components.without(old, new))
        return found if self.by_row else (_sorted(found[0].turned), _sorted(found[1].turned))

    def _read(self, matrix: LazyMatrix, lines: Indices) -> Sparse:
        if self.by_row:
            return matrix.gather(rows=lines)[0]
        return matrix.gather(columns=lines)[1]

    def _own(self, columns: Sparse, rows: Sparse) -> tuple[Sparse, Sparse]:
        """Return, for each of these lines, which lines are added to it; and those lines."""
        chosen, added = (columns, rows) if self.by_row else (rows, columns)
        return sparse_lines.columns_at(chosen, self.lines), added


def compared(before: LazyMatrix, after: LazyMatrix, rows: Indices) -> tuple[Edges, Edges]:
    """Return the pairs that are in these rows of one matrix and not in those of the other: a job for each."""
    old, new = (keys_of(pairs_of(rows, matrix.gather(rows=rows)[0], diagonal=False)) for matrix in (before, after))
    return edges_of(components.without(new, old)), edges_of(components.without(old, new))


def _sorted(edges: Edges) -> Edges:
    return edges_of(np.sort(keys_of(edges)))
