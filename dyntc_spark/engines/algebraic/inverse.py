"""``M = (I - W)⁻¹`` of a digraph with weights, modulo primes, and what it answers.

``M[x, y]`` is the sum of the weights of all walks from ``x`` to ``y``, so that an entry other than 0 is a certain
"yes". What is kept is ``N = M - I``, a ``LazyMatrix``. It may have more rows than the graph has vertices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.exhibit import exhibit, exhibited
from dyntc_spark.blocks.grid import Axis
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges, edges_of, keys_of
from dyntc_spark.engines.algebraic.woodbury import Factors
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy.frame import Counter, pairs_reached, reached_frame
from dyntc_spark.matrices.lazy.layers import LayeredState
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Inverse:
    """``M``, as ``N = M - I``.

    Parameters
    ----------
    matrix
        ``N`` modulo the primes.
    vertices
        How many the graph has.
    """

    def __init__(self, matrix: LazyMatrix, vertices: int) -> None:
        self.matrix, self.vertices = matrix, vertices
        self._pairs: int | None = None  # counted on Spark when first asked for

    @property
    def primes(self) -> tuple[int, ...]:
        """The primes."""
        return self.matrix.ring.modulus or ()

    def update(self, factors: Factors) -> None:
        """Add ``J·I``."""
        self.matrix.update(*factors)
        self._pairs = None

    def moved(self, backend: Backend) -> Inverse:
        """Return the same on another backend, itself when it is there: one job, no rebuild."""
        matrix = self.matrix.moved(backend)
        if matrix is self.matrix:
            return self
        other = Inverse(matrix, self.vertices)
        other._pairs = self._pairs
        return other

    # --- Query -------------------------------------------------------------------------------

    def residues(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Ints:
        """``M`` at ``(sources[q], targets[q])``, for each ``q``: ``[plane, q]``, 0 only where it is; one job."""
        x, y = self.ids(sources), self.ids(targets)
        if len(x) != len(y):
            raise ShapeMismatchError("as many sources as targets", f"{len(x)} and {len(y)}", "Pass parallel lists.")
        return np.asarray(self.matrix.lookup(np.stack([x, y], axis=1)) + (x == y))

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``M`` has an entry there: one job. It tests ``≠ 0``, for a residue has no sign."""
        return np.asarray(self.residues(sources, targets).any(axis=0))

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted: one job."""
        chosen = np.unique(self.ids(vertices))
        return pairs_of(chosen, self.matrix.gather(rows=chosen)[0])

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and reachable from ``u``, sorted by ``v``: one job."""
        chosen = np.unique(self.ids(vertices))
        return pairs_of(chosen, self.matrix.gather(columns=chosen)[1]).turned

    def ids(self, vertices: npt.ArrayLike) -> Indices:
        """Return vertices as an array; refuse numbers that none has."""
        return Axis(self.vertices, 1).ids(vertices, "vertex")

    # --- looking -----------------------------------------------------------------------------

    @property
    def backend(self) -> str:
        """Where ``N`` is: ``"local"`` or ``"spark"``."""
        return "local" if isinstance(self.matrix.backend, LocalBackend) else "spark"

    def pairs(self) -> int | None:
        """How many pairs of different vertices there are of which one reaches the other: on Spark one job a version.

        None in this process.
        """
        if self.backend == "spark" and self._pairs is None:
            self._pairs = pairs_reached(self.matrix, self.vertices)
        return self._pairs

    def blocks(self, spark: SparkSession) -> DataFrame:
        """*Lazy* in stripes ``by_row`` and ``by_column``, and the buffers as blocks ``buf_j`` and ``buf_i``."""
        state, encode = self.matrix.state, self.matrix.ring.encode
        buffers = [
            (name, number, 0, payload)
            for number, pending in enumerate(self.matrix.pending)
            for name, lines in (("buf_j", pending.columns_j), ("buf_i", pending.rows_i))
            if lines.nnz and (payload := encode(lines))
        ]
        lazy = exhibit(state.flat if isinstance(state, LayeredState) else state, spark)
        return lazy.unionAll(exhibited(buffers, spark)) if buffers else lazy

    def rows(self, counter: Counter | None = None, *, look: bool = False) -> DataFrame | None:
        """The closure as it is on Spark: ``number int`` and ``reached array<int>``; None in this process.

        A ``counter`` adds ``paths`` (`matrices.lazy.frame.reached_frame`).
        """
        return reached_frame(self.matrix, self.vertices, counter, look=look) if self.backend == "spark" else None


def pairs_of(vertices: Indices, lines: Sparse, *, diagonal: bool = True) -> Edges:
    """Return the pairs that lines of ``N`` stand for: each vertex with itself too, or (not ``diagonal``) never."""
    near, far = vertices[lines.rows], lines.columns.astype(np.int64)
    other = near != far
    keys = keys_of(Edges(near[other], far[other]))
    if diagonal:
        own = keys_of(Edges(vertices, vertices))
        keys = np.insert(keys, np.searchsorted(keys, own), own)
    return edges_of(keys)
