"""A batch of edges as one update of ``M = (I - W)⁻¹``: Sherman, Morrison and Woodbury for changed rows or columns.

``W`` holds the weights of the edges: random ones (``algebraic``), or 1 each, and then ``M`` holds numbers of paths
(``path_counting``). Let the rows ``S`` of ``W`` change by ``D``. Then::

    M' = M + M[:,S] · X,        X = D·M + B·X,        B = (D·M)[:,S]

which has a solution exactly when ``I - W'`` has an inverse, for ``det(I - B) = det(I - W')/det(I - W)``.
The mirror image takes columns ``T`` in place of rows. Both need the same lines of ``M``: the columns
of the changed sources and the rows of the changed targets. The rank is the number of distinct
sources or of distinct targets, whichever are fewer, or of some of each: edges at one vertex ``v`` are a row (those
out of ``v``) and a column (those into it), so that they have rank 2. For one edge ``(x, y)`` of weight 1 this is
``Insert`` and ``Delete`` of section 7: ``J = M[:,x]``, ``I = ± M[y,:]``.

Line ``s`` of ``B`` has an entry at ``s'`` only if a path of old and new edges leads from ``s`` to ``s'``. So, where old
and new edges together have no cycle, ``B`` is strictly triangular in some order: ``X`` follows by substitution, without
division, and no prime can make the system singular (``solve``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.rings import Ring
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.solve import solved
from dyntc_spark.engines.transfer import DRIVER_BYTES, UPDATE_BYTES
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines
from dyntc_spark.matrices.lazy.buffers import Buffers
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.sizes import exceeds, update_exceeds


class Change(NamedTuple):
    """Edges, and by how much their weights change: ``weights[plane, edge]``, in ``[0, p)``."""

    edges: Edges
    weights: Ints


def signed(inserted: Edges, deleted: Edges) -> tuple[Edges, Indices]:
    """Return the edges of a batch, with 1 for an insertion and -1 for a deletion."""
    signs = np.repeat(np.array([1, -1]), [len(inserted), len(deleted)])
    return Edges.joined([inserted, deleted]), signs


class Factors(NamedTuple):
    """``J`` and ``I`` with ``M' = M + J·I``, as stacks of lines."""

    columns: Sparse
    rows: Sparse


class Lines(NamedTuple):
    """The lines of ``M`` that a batch needs: columns of ``sources`` and rows of ``targets``, both ascending."""

    sources: Indices
    columns: Sparse
    targets: Indices
    rows: Sparse

    def updated(self, factors: Factors, ring: Ring) -> Lines:
        """Return the same lines of ``M + J·I``."""
        part = Buffers((factors.columns.shape[1], factors.rows.shape[1]), ring)
        part.append(*factors)
        columns, rows = part.add_columns(self.columns, self.sources), part.add_rows(self.rows, self.targets)
        return Lines(self.sources, columns, self.targets, rows)

    @property
    def ancestors(self) -> Indices:
        """The vertices that reach one of the sources, ascending: a pass over a flag for each vertex, no sort."""
        flags = np.zeros(self.columns.shape[1], np.bool_)
        flags[self.columns.columns] = flags[self.sources] = True
        return np.flatnonzero(flags)


Step: TypeAlias = Callable[[Change, Lines, Ring, int | None], Factors]


def factors(
    changes: Sequence[Change], lines: Lines, ring: Ring, reach: int | None = None, *, parts: int = 1
) -> Factors:
    """Return the update for changes that follow each other.

    A change in ``parts`` is a sequence of updates, each of some of the changed rows or columns: each solves a system of
    its own, and the lines that the later ones need are brought up to date here, without another job.

    Raises ``SingularMatrixError`` when the changed matrix has no inverse modulo one of the primes (or one between two
    updates), and ``LargeSystem`` when a component of a system has more than ``reach`` lines.
    """
    found: list[Factors] = []
    for change in changes:
        for piece, step in _pieces(change, parts):
            if found:
                lines = lines.updated(found[-1], ring)
            found.append(step(piece, lines, ring, reach))
    return Factors(*(reduce(sparse_lines.stacked, side) for side in zip(*found, strict=True)))


def _pieces(change: Change, parts: int) -> Iterator[tuple[Change, Step]]:
    """Deal the edges out to updates, all edges of a changed line to one of them."""
    edges, weights = change
    by_row = _by_row(edges)
    for ends, chosen, step in ((edges.sources, by_row, _row_step), (edges.targets, ~by_row, _column_step)):
        places = np.flatnonzero(chosen)
        changed, line = np.unique(ends[places], return_inverse=True)
        each = -(-len(changed) // parts) if len(changed) else 1
        for part in range(-(-len(changed) // each)):
            own = places[line // each == part]
            yield Change(edges.where(own), weights[:, own]), step


def _by_row(edges: Edges) -> npt.NDArray[np.bool_]:
    """Which edges to change through the row of their source, so that the rank is small; the others by column."""
    every = np.ones(len(edges), bool)
    source, out_degree = _numbered(edges.sources)
    target, in_degree = _numbered(edges.targets)
    busier = out_degree[source] >= in_degree[target]
    mixed = len(np.unique(source[busier])) + len(np.unique(target[~busier]))
    if mixed < min(len(out_degree), len(in_degree)):
        return busier
    return every if len(out_degree) <= len(in_degree) else ~every


def _numbered(vertices: Indices) -> tuple[Indices, Indices]:
    """Return each vertex as a number among the distinct ones, and how often each of these occurs."""
    _, number, count = np.unique(vertices, return_inverse=True, return_counts=True)
    return number, count


def _row_step(change: Change, lines: Lines, ring: Ring, reach: int | None) -> Factors:
    """``J = M[:,S]`` and ``I = X``."""
    edges, weights = change
    changed = np.unique(edges.sources)
    d = _change(edges.sources, changed, edges.targets, lines.targets, weights, ring)
    x = _solved(d, lines.rows, changed, ring, reach)
    return Factors(sparse.take_rows(lines.columns, np.searchsorted(lines.sources, changed)), x)


def _column_step(change: Change, lines: Lines, ring: Ring, reach: int | None) -> Factors:
    """The mirror image: ``J = X`` and ``I = M[T,:]``."""
    edges, weights = change
    changed = np.unique(edges.targets)
    d = _change(edges.targets, changed, edges.sources, lines.sources, weights, ring)
    x = _solved(d, lines.columns, changed, ring, reach)
    return Factors(x, sparse.take_rows(lines.rows, np.searchsorted(lines.targets, changed)))


class WideUpdate(Exception):  # noqa: N818  (no error: the caller takes another way)
    """An update whose lines are more than the driver of a matrix on Spark should get."""


def gathered(matrix: LazyMatrix, edges: Edges) -> Lines:
    """Read the columns of the sources and the rows of the targets of M: one job.

    Raises ``WideUpdate`` before it reads more than ``DRIVER_BYTES`` from Spark, or where the update that is made of
    these lines would take more than ``UPDATE_BYTES``, were each of its lines as long as all of them together. The two
    lines of a single edge are always read.
    """
    sources, targets = np.unique(edges.sources), np.unique(edges.targets)
    if len(edges) > 1 and exceeds(matrix, DRIVER_BYTES, targets, sources):
        raise WideUpdate
    rows, columns = matrix.gather(rows=targets, columns=sources)
    if len(edges) > 1 and update_exceeds(matrix, UPDATE_BYTES, rows, columns):
        raise WideUpdate
    ring = matrix.ring
    return Lines(sources, with_identity(columns, sources, ring), targets, with_identity(rows, targets, ring))


def with_identity(lines: Sparse, ids: Indices, ring: Ring) -> Sparse:
    """Return lines of ``M`` from those of ``N = M - I``: line ``q`` is that of vertex ``ids[q]``."""
    ones = sparse.from_coordinates(np.arange(len(ids)), ids, ring.values(None, len(ids)), lines.shape, ring.modulus)
    return sparse.add(lines, ones, ring.modulus)


def negated(lines: Sparse, ring: Ring) -> Sparse:
    """Return ``-lines``."""
    primes = np.array(ring.modulus, lines.values.dtype)[:, None]
    return Sparse(lines.shape, lines.rows, lines.columns, np.where(lines.values, primes - lines.values, 0))


def _change(ends: Indices, changed: Indices, others: Indices, lines: Indices, weights: Ints, ring: Ring) -> Sparse:
    """``D``: how much of each gathered line enters the line of each changed vertex."""
    places = np.searchsorted(changed, ends), np.searchsorted(lines, others)
    return sparse.from_coordinates(*places, weights, (len(changed), len(lines)), ring.modulus)


def _solved(d: Sparse, lines: Sparse, changed: Indices, ring: Ring, reach: int | None) -> Sparse:
    """``X = D·M + B·X`` with ``B = (D·M)[:,S]``."""
    start = sparse_lines.nothing(d.shape[0], lines.shape[1], ring.planes, ring.modulus)
    product = sparse_lines.combine(start, d, lines, ring.modulus)
    return solved(product, sparse_lines.restrict(product, changed), ring, reach)
