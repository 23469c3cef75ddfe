"""The certificate: a closure that lacks nothing proves it by itself.

Every "yes" of an engine has a reason. If moreover the closure ``C`` contains ``I`` and ``C·A ⊆ C``
(whatever a row holds, it holds the successors of), then nothing is missing either, and ``C`` is
right. A row is certified without any other row, by one pass over the edges that leave its
members; so after a batch the rows that it touched are enough, and on Spark every stripe of rows
is certified where it lies: one job for the whole closure, and only what is missing travels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.rings import BOOLEAN, Ring
from dyntc_spark.blocks.superstep import Cell, Operation
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.base import Certificate
from dyntc_spark.kernels import missing_pairs, sparse
from dyntc_spark.kernels.block import Block, Sparse
from dyntc_spark.kernels.ids import Ids, Indices, Offsets
from dyntc_spark.matrices.lazy import dense_lines, sparse_lines
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.rebuild import BY_ROW

CHUNK = 4096  #: rows that are asked for at a time


class Successors(NamedTuple):
    """The edges of ``v`` lead to ``targets[starts[v] : starts[v] + degrees[v]]``."""

    starts: Offsets
    degrees: Offsets
    targets: Ids

    @classmethod
    def of(cls, edges: Edges, vertices: int) -> Successors:
        """Sort edges by source."""
        offsets, targets = EdgeSet.of(edges).adjacency(vertices)
        return cls(offsets[:-1], np.diff(offsets), targets)


def certify(
    rows_of: Callable[[Indices], Edges], successors: Successors, vertices: Indices | None = None, chunk: int = CHUNK
) -> Certificate:
    """Certify the rows of ``vertices`` (ascending; by default of all) of a closure.

    Parameters
    ----------
    rows_of
        Gives the pairs of some rows, sorted: the method ``descendants`` of an engine.
    successors
        The edges.

    Examples
    --------
    >>> closure = {0: [0, 1], 1: [1, 2], 2: [2]}
    >>> def rows_of(vertices):
    ...     pairs = [(v, w) for v in vertices.tolist() for w in closure[v]]
    ...     return Edges.of(*zip(*pairs))
    >>> found = certify(rows_of, Successors.of(Edges.of([0, 1], [1, 2]), 3))
    >>> found.holds, found.missing.sources, found.missing.targets
    (False, array([0]), array([2]))
    """
    n = len(successors.starts)
    wanted = np.arange(n) if vertices is None else vertices
    marks = np.zeros(n + 1, np.int64)
    found = []
    for start in range(0, len(wanted), chunk):
        some = wanted[start : start + chunk]
        pairs = rows_of(some)
        begins = np.searchsorted(pairs.sources, np.append(some, n))
        lacking = missing_pairs.missing(some, begins, pairs.targets.astype(np.int32), *successors, marks)
        found.append(Edges(*lacking))
    return Certificate(len(wanted), Edges.joined(found))


def certify_lines(
    lines: Sparse, vertices: Indices, successors: Successors, update: tuple[Sparse, Sparse], modulus: tuple[int, ...]
) -> Certificate:
    """Certify the rows ``lines + J·I`` of residues: line ``q`` is that of ``vertices[q]``, and so is that of ``J``."""
    marks = np.zeros(lines.shape[1] + 1, np.int64)
    if len(some := dense_lines.heavy(*update, modulus)) < update[1].shape[0] and len(some):
        part, update = sparse_lines.split(*update, some)
        lines = dense_lines.sums(lines, *part, modulus, sparse_lines.starts_of)
    elif len(some):
        begins, ids, _ = dense_lines.merged(lines, *update, modulus, sparse_lines.starts_of)
        found = missing_pairs.missing(vertices, begins, ids, *successors, marks)
        return Certificate(len(vertices), Edges(*found))
    rows, coefficients, added = (_packed(part) for part in (lines, *update))
    primes = np.array(modulus, np.int64)
    found = missing_pairs.missing_updated(vertices, rows, coefficients, added, *successors, primes, marks)
    return Certificate(len(vertices), Edges(*found))


def certify_matrix(matrix: LazyMatrix, successors: Successors, *updates: tuple[Sparse, Sparse]) -> Certificate:
    """Certify all rows of a lazy matrix, where an entry other than 0 stands for "reachable": on Spark one job.

    ``updates`` are pairs ``J``, ``I`` of stacks of lines that the matrix is about to get.
    """
    kind = matrix.kinds[BY_ROW]
    pending = [(buffers.columns_j, buffers.rows_i) for buffers in matrix.pending] + list(updates)
    nothing = sparse_lines.nothing(0, kind.grid.shape[1], kind.ring.planes, kind.ring.modulus)
    columns, rows = (
        (reduce(sparse_lines.stacked, side, nothing) for side in zip(*pending, strict=True))
        if pending
        else (nothing, nothing)
    )
    operation = Certify(BY_ROW, kind.grid, kind.ring, successors, columns, rows)
    return Certificate(len(successors.starts), matrix.state.run(operation)[1][0])


@dataclass(frozen=True)
class Certify(Operation[Edges]):
    """The pairs that rows of a matrix in stripes lack, at the driver; buffers ``J`` and ``I`` are added to it."""

    grid: Grid
    ring: Ring
    successors: Successors
    columns_j: Sparse
    rows_i: Sparse

    fills = True
    report_ring = BOOLEAN

    @cached_property
    def _marks(self) -> Offsets:
        return np.zeros(self.grid.shape[1] + 1, np.int64)

    @cached_property
    def _upright(self) -> Sparse:
        """``J`` by rows."""
        return sparse.transpose(self.columns_j)

    def apply(self, cell: Cell) -> None:
        """Report what the rows of this stripe lack."""
        step, vertices = self.grid.down.step, len(self.successors.starts)
        first, last = (min(stripe * step, vertices) for stripe in (cell.bi, cell.bi + 1))
        if first == last:
            return
        shape = cell.shape(self.name)
        lines = Sparse(shape, *self.ring.coordinates(cell[self.name]))
        begin, end = np.searchsorted(self._upright.rows, [first, last])
        if begin == end:
            begins = sparse_lines.starts_of(lines)[: last - first + 1]
            found = missing_pairs.missing(np.arange(first, last), begins, lines.columns, *self.successors, self._marks)
        else:
            j = self._upright
            entries = j.rows[begin:end] - np.int32(first), j.columns[begin:end], j.values[:, begin:end]
            update = Sparse((shape[0], j.shape[1]), *entries), self.rows_i
            pairs = certify_lines(lines, np.arange(first, last), self.successors, update, self.ring.modulus or ())
            found = pairs.missing.sources, pairs.missing.targets
        cell.report(cell.bi, BOOLEAN.from_coordinates(found[0] - first, found[1], None, shape))

    def collect(self, reports: Mapping[int, Block]) -> Edges:
        """Join what the stripes lack."""
        found = []
        for stripe, block in sorted(reports.items()):
            rows, columns, _ = BOOLEAN.coordinates(block)
            found.append(Edges(rows.astype(np.int64) + stripe * self.grid.down.step, columns.astype(np.int64)))
        return Edges.joined(found)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _packed(lines: Sparse) -> missing_pairs.Lines:
    values = np.ascontiguousarray(lines.values, np.int32)
    return missing_pairs.Lines(sparse_lines.starts_of(lines), np.ascontiguousarray(lines.columns), values)
