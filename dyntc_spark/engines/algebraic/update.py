"""A batch of edges as one update of ``M = (I - W)⁻¹``: Sherman, Morrison and Woodbury for changed rows or columns.

Let the rows ``S`` of ``W`` change by ``D``. Then::

    M' = M + M[:,S] · X,        X = D·M + B·X,        B = (D·M)[:,S]

which has a solution exactly when ``I - W'`` has an inverse, for ``det(I - B) = det(I - W')/det(I - W)``.
The mirror image takes columns ``T`` in place of rows. Both need the same lines of ``M``: the columns
of the changed sources and the rows of the changed targets. The rank is the number of distinct
sources or of distinct targets, whichever are fewer, or of some of each (edges at one vertex in
both directions have rank 2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.rings import Ring
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.path_update import Change
from dyntc_spark.engines.algebraic.solve import solved
from dyntc_spark.engines.transfer import DRIVER_BYTES, UPDATE_BYTES
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines
from dyntc_spark.matrices.lazy.buffers import Buffers
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.sizes import exceeds, update_exceeds


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


Step: TypeAlias = Callable[[Edges, Ints, Lines, Ring, int | None], Factors]


def factors(
    edges: Edges, weights: Ints, lines: Lines, ring: Ring, reach: int | None = None, *, parts: int = 1
) -> Factors:
    """Return the update for edges whose weights change by ``weights[plane, edge]``, in ``[0, p)``.

    A batch in ``parts`` is a sequence of updates, each of some of the changed rows or columns: each solves a system of
    its own, and the lines that the later ones need are brought up to date here, without another job.

    Raises ``SingularMatrixError`` when the changed matrix has no inverse modulo one of the primes (or one between two
    updates), and ``LargeSystem`` when a component of a system has more than ``reach`` lines.
    """
    by_row = Change(edges, np.ones(len(edges), np.int64), np.zeros(0, np.int64)).by_rows()
    found: list[Factors] = []
    pieces = _pieces(edges.sources, by_row, parts, _row_step) + _pieces(edges.targets, ~by_row, parts, _column_step)
    for chosen, step in pieces:
        if found:
            lines = lines.updated(found[-1], ring)
        part = Edges(edges.sources[chosen], edges.targets[chosen])
        found.append(step(part, weights[:, chosen], lines, ring, reach))
    return Factors(*(reduce(sparse_lines.stacked, side) for side in zip(*found, strict=True)))


def _pieces(ends: Indices, chosen: npt.NDArray[np.bool_], parts: int, step: Step) -> list[tuple[Indices, Step]]:
    """Deal the chosen edges out to updates, all edges of a changed line to one of them."""
    places = np.flatnonzero(chosen)
    changed, line = np.unique(ends[places], return_inverse=True)
    each = -(-len(changed) // parts) if len(changed) else 1
    return [(places[line // each == part], step) for part in range(-(-len(changed) // each))]


def _row_step(edges: Edges, weights: Ints, lines: Lines, ring: Ring, reach: int | None) -> Factors:
    """``J = M[:,S]`` and ``I = X``."""
    changed = np.unique(edges.sources)
    d = _change(edges.sources, changed, edges.targets, lines.targets, weights, ring)
    x = _solved(d, lines.rows, changed, ring, reach)
    return Factors(sparse.take_rows(lines.columns, np.searchsorted(lines.sources, changed)), x)


def _column_step(edges: Edges, weights: Ints, lines: Lines, ring: Ring, reach: int | None) -> Factors:
    """The mirror image: ``J = X`` and ``I = M[T,:]``."""
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
