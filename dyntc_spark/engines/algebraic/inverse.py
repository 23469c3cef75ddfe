"""``M = (I - W)⁻¹`` of a digraph with weights, modulo primes, and what it answers.

``M[x, y]`` is the sum of the weights of all walks from ``x`` to ``y``, so that an entry other than 0 is a certain
"yes". What is kept is ``N = M - I``, a ``LazyMatrix``. It may have more rows than the graph has vertices.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.block_table import block_table, table_of
from dyntc_spark.blocks.grid import Axis
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges, edges_of, keys_of
from dyntc_spark.engines.algebraic.woodbury import Factors
from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import OptionError, ShapeMismatchError
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy.frame import Counter, pairs_reached, reached_frame
from dyntc_spark.matrices.lazy.layered_state import LayeredState
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class InverseEngine(Engine):
    """What the algebraic engines share: ``N``, the questions to it, and its way between this process and Spark.

    Parameters
    ----------
    backend
        Where the matrix lives; by default in this process.
    error_probability
        Bound on the chance that any pair of vertices is wrongly answered "no".
    seed
        Of the generator that draws what is random; by default it is unpredictable.
    primes
        Use these primes, whatever the probability of an error is then.
    options
        Of the ``LazyMatrix``.
    """

    exact: ClassVar[bool] = False

    def __init__(
        self,
        backend: Backend | None,
        error_probability: float,
        seed: int | np.random.Generator | None,
        primes: Sequence[int] | None,
        options: dict[str, Any],
    ) -> None:
        if not 0 < error_probability < 1:
            raise OptionError("an error probability between 0 and 1", f"{error_probability!r}", "1e-12 suits most.")
        self._where: Backend = backend or LocalBackend()
        self._error_probability = error_probability
        self._random = np.random.default_rng(seed)
        self._given = tuple(primes) if primes is not None else None
        self._options = options
        self._matrix: LazyMatrix | None = None
        self._pairs: int | None = None  # counted on Spark when first asked for

    @property
    def matrix(self) -> LazyMatrix:
        """``N = M - I`` modulo the primes."""
        if self._matrix is None:
            self.init(Edges.of(), 0)
        assert self._matrix is not None  # noqa: S101  (init has set it)
        return self._matrix

    @property
    def primes(self) -> tuple[int, ...]:
        """The primes."""
        return self.matrix.ring.modulus or ()

    def _add(self, factors: Factors) -> None:
        """Add ``J·I`` to ``N``."""
        self.matrix.update(*factors)
        self._pairs = None

    def moved(self, backend: Backend) -> InverseEngine:
        """Return the same engine with its matrix on another backend, itself when it is there: one job, no rebuild."""
        matrix = self.matrix.moved(backend)
        if matrix is self._matrix:
            return self
        other: InverseEngine = copy(self)
        other._where, other._matrix = backend, matrix
        other._part()
        return other

    @abstractmethod
    def _part(self) -> None:
        """Have copies of what batches change in place: it is shared with the engine that this one was copied from."""

    # --- Query -------------------------------------------------------------------------------

    def residues(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Ints:
        """``M`` at ``(sources[q], targets[q])``, for each ``q``: ``[plane, q]``, 0 only where it is; one job."""
        x, y = self._ids(sources), self._ids(targets)
        if len(x) != len(y):
            raise ShapeMismatchError("as many sources as targets", f"{len(x)} and {len(y)}", "Pass parallel lists.")
        return np.asarray(self.matrix.lookup(np.stack([x, y], axis=1)) + (x == y))

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``: one job. It tests ``≠ 0``: a residue has no sign."""
        return np.asarray(self.residues(sources, targets).any(axis=0))

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted: one job."""
        chosen = np.unique(self._ids(vertices))
        return pairs_of(chosen, self.matrix.gather(rows=chosen)[0])

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and reachable from ``u``, sorted by ``v``: one job."""
        chosen = np.unique(self._ids(vertices))
        return pairs_of(chosen, self.matrix.gather(columns=chosen)[1]).turned

    def _ids(self, vertices: npt.ArrayLike) -> Indices:
        """Return vertices as an array; refuse numbers that none has."""
        return Axis(self.vertices, 1).ids(vertices, "vertex")

    # --- looking -----------------------------------------------------------------------------

    @property
    def backend(self) -> str:
        """Where ``N`` is: ``"local"`` or ``"spark"``."""
        return "local" if isinstance(self._where, LocalBackend) else "spark"

    def _sizes(self) -> dict[str, int]:
        """How many vertices there are, and on Spark, by one job a version, how many pairs of different ones."""
        matrix = self.matrix
        if self.backend == "local":
            return {"vertices": self.vertices}
        if self._pairs is None:
            self._pairs = pairs_reached(matrix, self.vertices)
        return {"vertices": self.vertices, "pairs": self._pairs}

    def blocks(self, spark: SparkSession) -> DataFrame:
        """*Lazy* in stripes ``by_row`` and ``by_column``, and the buffers as blocks ``buf_j`` and ``buf_i``."""
        state, encode = self.matrix.state, self.matrix.ring.encode
        buffers = [
            (name, number, 0, payload)
            for number, pending in enumerate(self.matrix.pending)
            for name, lines in (("buf_j", pending.columns_j), ("buf_i", pending.rows_i))
            if lines.nnz and (payload := encode(lines))
        ]
        lazy = block_table(state.flat if isinstance(state, LayeredState) else state, spark)
        return lazy.unionAll(table_of(buffers, spark)) if buffers else lazy

    def rows(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The closure as it is on Spark: ``number int`` and ``reached array<int>``; None in this process."""
        del spark
        if self.backend == "local":
            return None
        return reached_frame(self.matrix, self.vertices, self._counter(), look=look)

    def _counter(self) -> Counter | None:
        """What adds ``paths`` to `rows`, where the entries count them."""
        return None


def pairs_of(vertices: Indices, lines: Sparse, *, diagonal: bool = True) -> Edges:
    """Return the pairs that lines of ``N`` stand for: each vertex with itself too, or (not ``diagonal``) never."""
    near, far = vertices[lines.rows], lines.columns.astype(np.int64)
    other = near != far
    keys = keys_of(Edges(near[other], far[other]))
    if diagonal:
        own = keys_of(Edges(vertices, vertices))
        keys = np.insert(keys, np.searchsorted(keys, own), own)
    return edges_of(keys)
