"""A batch of edges as one update of the path counts: section 7 for any number of edges at once.

Let ``M = (I - A)⁻¹`` hold the path counts of an acyclic graph ``A``, and let the rows
``S`` of ``A`` change by ``D`` (an inserted edge is 1 in it, a deleted one -1). Then::

    M' = M + M[:,S] · X,        X = D·M + B·X,        B = (D·M)[:,S]

Line ``s`` of ``B`` has an entry at ``s'`` only if a path of old and new edges leads from
``s`` to ``s'``. So, in a topological order of old and new edges together, ``B`` is
strictly triangular: ``X`` follows by substitution, last vertex first, without
division, and no prime can make the system singular. For one edge ``(x, y)`` this is
the paper's ``Insert`` and ``Delete``: ``J = M[:,x]``, ``I = ± M[y,:]``.

A batch that reverses edges may have no such common order. It is then composed of
its deletions, in the old order, and its insertions, in the new one; the graph in
between is part of both. In general ``det(I - B) = det(I - A')/det(I - A) = 1`` for
acyclic ``A`` and ``A'``.

The mirror image takes columns ``T`` in place of rows. Edges at one vertex ``v`` are a
row (those out of ``v``) and a column (those into it): rank 2, as the paper has it.
A batch of any shape takes whichever of rows, columns or both has the least rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.rings import Ring
from dyntc_spark.edges import Edges
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.block import Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines
from dyntc_spark.matrices.lazy.buffers import Buffers


@dataclass(frozen=True, slots=True)
class Change:
    """Edges that change together, with 1 for an insertion and -1 for a deletion."""

    edges: Edges
    signs: npt.NDArray[np.int64]
    #: A topological order of the graph before and after together.
    rank: Indices

    @classmethod
    def of(cls, inserted: Edges, deleted: Edges, rank: Indices) -> Change:
        """Join insertions and deletions."""
        sources = np.concatenate([inserted.sources, deleted.sources])
        targets = np.concatenate([inserted.targets, deleted.targets])
        signs = np.repeat(np.array([1, -1]), [len(inserted), len(deleted)])
        return cls(Edges(sources, targets), signs, rank)

    def only(self, which: npt.NDArray[np.bool_]) -> Change:
        """Keep some of the edges."""
        edges = Edges(self.edges.sources[which], self.edges.targets[which])
        return Change(edges, self.signs[which], self.rank)

    def by_rows(self) -> npt.NDArray[np.bool_]:
        """Which edges to change through the row of their source, so that the rank is small; the others by column."""
        every = np.ones(len(self.signs), bool)
        source, out_degree = _numbered(self.edges.sources)
        target, in_degree = _numbered(self.edges.targets)
        busier = out_degree[source] >= in_degree[target]
        mixed = len(np.unique(source[busier])) + len(np.unique(target[~busier]))
        if mixed < min(len(out_degree), len(in_degree)):
            return busier
        return every if len(out_degree) <= len(in_degree) else ~every


class Lines:
    """The rows and columns of M that a batch needs, kept up to date while its parts are worked out.

    Parameters
    ----------
    targets, sources
        Ascending numbers of the rows and of the columns.
    rows, columns
        These lines of M, the diagonal included.
    ring
        The ring of M.
    """

    def __init__(self, targets: Indices, rows: Sparse, sources: Indices, columns: Sparse, ring: Ring) -> None:
        self._targets, self._rows = targets, rows
        self._sources, self._columns = sources, columns
        self._ring = ring

    def factors(self, changes: list[Change]) -> tuple[Sparse, Sparse]:
        """Return ``J`` and ``I`` with ``M' = M + J·I`` after all ``changes``, as stacks of lines."""
        columns, rows = zip(*self._parts(changes), strict=True)
        return reduce(sparse_lines.stacked, columns), reduce(sparse_lines.stacked, rows)

    def _parts(self, changes: list[Change]) -> Iterator[tuple[Sparse, Sparse]]:
        steps = []
        for change in changes:
            rows = change.by_rows()
            steps += [(change.only(which), by_row) for which, by_row in ((rows, True), (~rows, False)) if which.any()]
        for number, (change, by_row) in enumerate(steps):
            j, i = self._row_step(change) if by_row else self._column_step(change)
            yield j, i
            if number + 1 < len(steps):
                part = Buffers((j.shape[1], i.shape[1]), self._ring)
                part.append(j, i)
                self._rows = part.add_rows(self._rows, self._targets)
                self._columns = part.add_columns(self._columns, self._sources)

    def _row_step(self, change: Change) -> tuple[Sparse, Sparse]:
        """``J = M[:,S]`` and ``I = X``; what lies lower in the order comes first."""
        changed = np.unique(change.edges.sources)
        d = self._sums_of(change.edges.sources, changed, change.edges.targets, self._targets, change.signs)
        x = self._solved(d, self._rows, changed, -change.rank[changed])
        return sparse.take_rows(self._columns, np.searchsorted(self._sources, changed)), x

    def _column_step(self, change: Change) -> tuple[Sparse, Sparse]:
        """The mirror image: ``J = X`` and ``I = M[T,:]``; what lies higher comes first."""
        changed = np.unique(change.edges.targets)
        d = self._sums_of(change.edges.targets, changed, change.edges.sources, self._sources, change.signs)
        x = self._solved(d, self._columns, changed, change.rank[changed])
        return x, sparse.take_rows(self._rows, np.searchsorted(self._targets, changed))

    def _sums_of(
        self, ends: Indices, changed: Indices, others: Indices, lines: Indices, signs: npt.NDArray[np.int64]
    ) -> Sparse:
        """``D``: which of the gathered ``lines`` enter the line of each changed vertex."""
        shape = len(changed), len(lines)
        values = self._ring.values(signs, len(signs))
        places = np.searchsorted(changed, ends), np.searchsorted(lines, others)
        return sparse.from_coordinates(*places, values, shape, self._ring.modulus)

    def _solved(self, d: Sparse, lines: Sparse, changed: Indices, position: Indices) -> Sparse:
        """``X = D·M + B·X`` with ``B = (D·M)[:,S]``."""
        modulus = self._ring.modulus
        start = sparse_lines.nothing(d.shape[0], lines.shape[1], self._ring.planes, modulus)
        product = sparse_lines.combine(start, d, lines, modulus)
        return sparse_lines.substitute(product, sparse_lines.restrict(product, changed), np.argsort(position), modulus)


def _numbered(vertices: Indices) -> tuple[Indices, Indices]:
    """Return each vertex as a number among the distinct ones, and how often each of these occurs."""
    _, number, count = np.unique(vertices, return_inverse=True, return_counts=True)
    return number, count
