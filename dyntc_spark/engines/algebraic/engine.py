"""The engine ``algebraic``: any digraph, by the inverse of ``I - A∘R`` modulo primes (Sankowski 2004).

Each edge has a random weight modulo each of a few primes, ``R``. ``M = (I - A∘R)⁻¹`` is kept as a
``LazyMatrix`` (section 4.2): ``M = I + Lazy + J·I`` (``inverse``). ``M[x, y]`` is a quotient of polynomials in the
weights whose numerator is the zero polynomial exactly when no path leads from ``x`` to ``y``. So an
entry other than 0 is a certain "yes", and a "no" is wrong with probability at most ``n/p`` a prime
(Zippel 1979, Schwartz 1980). On an acyclic graph with weights 1 this is section 7.

A batch of any mixture and shape is one update of small rank (``woodbury``): one job reads the
columns of the changed sources and the rows of the changed targets, the driver solves a small
system and appends to the buffers. A deletion costs what an insertion costs, and all costs follow
the ancestors and descendants of what has changed, not ``n²``. A batch whose system is beyond what is
solved at once is split into several updates, or ``M`` is built again, whichever is likely to be
faster. When the small system is singular,
which one weight in ``p`` can cause, the edges of the changed sources get fresh weights; when it still
is, all edges do, and ``M`` is built again.

With ``verify``, the rows that a batch touched are certified (``engines.certificate``) before it
counts. Where a row lacks something, which is what a wrong "no" looks like, ``M`` is built again
with fresh weights, and with one prime more as long as that fails. Then no answer is ever wrong:
chance decides only how long a batch takes (Las Vegas), and few primes will do.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np

from dyntc_spark.blocks.rings import Modular
from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges, EdgeSet, checked, effect
from dyntc_spark.engines.algebraic.build import Parts, fill
from dyntc_spark.engines.algebraic.graph import Graph
from dyntc_spark.engines.algebraic.inverse import InverseEngine
from dyntc_spark.engines.algebraic.solve import REACH, SECONDS_A_PRODUCT, LargeSystem
from dyntc_spark.engines.algebraic.touched import Touched, compared
from dyntc_spark.engines.algebraic.woodbury import Change, Factors, Lines, WideUpdate, factors, gathered
from dyntc_spark.engines.base import Certificate
from dyntc_spark.engines.certificate import certify_matrix
from dyntc_spark.engines.transfer import DRIVER_BYTES
from dyntc_spark.errors import ShapeMismatchError, SingularMatrixError
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.kernels.primes import primes_needed, random_primes
from dyntc_spark.matrices.lazy.lazy_matrix import BUDGET, HEIGHT, LazyMatrix
from dyntc_spark.matrices.lazy.rebuild import BY_COLUMN, BY_ROW
from dyntc_spark.matrices.lazy.sizes import exceeds

SPARSE_BITS, DENSE_BITS = 26, 23  #: of a prime; products of dense blocks are fast up to 23
DENSE_COMPONENT = 256  #: from so many vertices on, a component makes dense blocks
REPAIRS = 2.0**-10  #: with ``verify``, about this chance that a build has to be repaired is worth one prime less
ATTEMPTS = 64  #: builds with fresh weights before the primes are given up
REDRAWS = 2  #: fresh weights for the touched rows before all edges get some
COUNTED = ("batches", "builds", "repairs", "redraws", "singular", "splits", "rebuilt_batches", "certified_rows")


class Algebraic(InverseEngine):
    """The closure of any digraph, by an inverse modulo random primes.

    Parameters
    ----------
    backend
        Where the matrix lives; by default in this process.
    error_probability
        Without ``verify``: bound on the chance that any pair of vertices is wrongly answered "no".
    verify
        Certify every build and the rows that a batch touched, so that every answer is right.
    seed
        Of the generator that draws primes and weights; by default they are unpredictable.
    primes
        Use these primes, whatever the probability of an error is then; repairs add to them.
    epsilon, budget, worst_case
        See ``LazyMatrix``.

    Examples
    --------
    >>> engine = Algebraic(seed=1)
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.query([0, 2, 2, 3], [2, 1, 0, 3])
    array([ True,  True, False,  True])
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    >>> engine.ancestors([2]).sources
    array([0, 1, 2])
    >>> engine.verify().holds
    True
    """

    name: ClassVar[str] = "algebraic"

    def __init__(
        self,
        backend: Backend | None = None,
        *,
        error_probability: float = 1e-12,
        verify: bool = True,
        seed: int | np.random.Generator | None = None,
        primes: Sequence[int] | None = None,
        epsilon: float | None = None,
        budget: int = BUDGET,
        worst_case: bool = False,
    ) -> None:
        options = {"epsilon": epsilon, "budget": budget, "worst_case": worst_case}
        super().__init__(backend, error_probability, seed, primes, options)
        self._verify = verify
        self._graph = Graph(Edges.of(), 0)
        self._touched: Touched | None = None
        self._build_seconds, self._bits = 0.0, SPARSE_BITS
        self._lengths = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._bytes = 0
        self._differences: tuple[Edges, Edges] | None = None  # of a batch that had to build
        self._counts = dict.fromkeys(COUNTED, 0)

    # --- Init, Insert, Delete ----------------------------------------------------------------

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges: the pairs times the mean degree, and n³ inside components only."""
        self._build(EdgeSet.of(checked(edges, vertices)).edges, vertices)

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges as one update of M, of rank at most the number of distinct sources or targets."""
        graph = self._graph
        inserted, deleted = effect(inserted, deleted, self.vertices, graph.has)
        self._counts["batches"] += 1
        if not len(inserted) and not len(deleted):
            self._touched = Touched.nothing(self.matrix)
            return
        before, last = self.matrix, (self._touched, self._differences)
        built = graph, self._matrix, self._pairs, self._lengths, self._bytes, self._build_seconds, self._bits
        graph.apply(inserted, deleted)
        try:
            rows = self._update(inserted, deleted)
            if rows is not None:
                self._build(graph.edges, self.vertices)
                if not any(exceeds(matrix, DRIVER_BYTES, rows) for matrix in (before, self.matrix)):
                    self._differences = compared(before, self.matrix, rows)
        except BaseException:
            self._graph, self._matrix, self._pairs, self._lengths, self._bytes, self._build_seconds, self._bits = built
            self._touched, self._differences = last
            graph.apply(deleted, inserted)
            raise

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: no work; where there is no room left, stripes are appended.

        Without ``verify`` a much larger graph may need more primes, and then it is built again.
        """
        if vertices < self.vertices:
            raise ShapeMismatchError(
                f"at least {self.vertices} vertices", f"{vertices}", "Use init to start again with fewer."
            )
        if vertices > self.matrix.shape[0]:
            room = _room(vertices)
            if not self._verify and self._given is None and len(self.primes) < self._needed(room, self._bits):
                self._build(self.edges, vertices)
                return
            self.matrix.grow((room, room))
        new = np.zeros(vertices - self.vertices, np.int64)
        self._lengths = np.append(self._lengths[0], new), np.append(self._lengths[1], new)
        self._graph.grow(vertices)

    def _update(self, inserted: Edges, deleted: Edges) -> Indices | None:
        """Change M by one update, the graph has changed already; if M has to be built again, return rows to compare."""
        graph, primes, salts = self._graph, self.primes, self._graph.salts
        change = graph.change(inserted, deleted, primes)
        for redraw in range(REDRAWS + 1):
            try:
                lines = gathered(self.matrix, change.edges)
                update = self._factors(change, lines)
                break
            except (LargeSystem, WideUpdate) as way:
                self._counts["rebuilt_batches"] += 1
                return lines.ancestors if isinstance(way, LargeSystem) else np.arange(self.vertices)
            except SingularMatrixError:
                self._counts["singular"] += 1
                if redraw == REDRAWS:
                    return lines.ancestors
            salts = salts.copy()
            salts[lines.sources] = self._random.integers(1, 2**63, size=len(lines.sources))
            change = graph.redrawn(inserted, deleted, salts, primes)
            self._counts["redraws"] += 1
        touched = Touched.of(lines, update, self._lengths)
        if self._verify and not self._counted(touched.certified(self.matrix, graph)).holds:
            self._counts["repairs"] += 1
            return touched.rows
        self._add(update)
        graph.salts, self._touched, self._differences = salts, touched, None
        return None

    def _factors(self, change: Change, lines: Lines) -> Factors:
        """Solve at once, or in parts where the system is too large, unless building again is likely to be faster."""
        ring = self.matrix.ring
        try:
            return factors([change], lines, ring, REACH)
        except LargeSystem as large:
            parts = -(-large.lines // REACH)
            # Each part solves, and brings the lines of the later ones up to date.
            products = (lines.columns.nnz + lines.rows.nnz) / 2 * large.lines
            if large.seconds / parts + SECONDS_A_PRODUCT * ring.planes * products > self._build_seconds:
                raise
            self._counts["splits"] += 1
            return factors([change], lines, ring, parts=parts)

    def _build(self, edges: Edges, vertices: int, *, certified: bool = False) -> None:
        """Invert ``I - A∘R`` with fresh weights until that succeeds and is certified."""
        started = time.perf_counter()
        graph, parts = Graph(edges, vertices), Parts.of(edges, vertices)
        room = _room(vertices)
        self._bits = DENSE_BITS if parts.largest >= DENSE_COMPONENT else SPARSE_BITS
        primes = self._given or random_primes(self._needed(room, self._bits), self._bits, self._random)
        for _ in range(ATTEMPTS):
            graph.key = int(self._random.integers(2**63))
            matrix = LazyMatrix((room, room), Modular(primes), backend=self._where, **self._options)
            self._counts["builds"] += 1
            try:
                found = fill(matrix, graph, parts)
            except SingularMatrixError:
                self._counts["singular"] += 1
                continue
            wanted = self._verify or certified
            if wanted and not self._counted(certify_matrix(matrix, graph.successors)).holds:
                self._counts["repairs"] += 1
                primes = (*primes, *random_primes(1, SPARSE_BITS, self._random))
                continue
            self._matrix, self._pairs, self._graph, self._lengths = matrix, None, graph, found
            self._touched = self._differences = None
            self._bytes = sum(matrix.state.stored_bytes(name) for name in (BY_ROW, BY_COLUMN))
            self._build_seconds = time.perf_counter() - started
            return
        raise SingularMatrixError(
            f"a matrix that is invertible modulo {primes}", f"none in {ATTEMPTS} draws of weights", "Use larger primes."
        )

    def _needed(self, vertices: int, bits: int) -> int:
        """Primes that are enough for a graph."""
        chance, degree = (REPAIRS, 1) if self._verify else (self._error_probability, vertices)
        return primes_needed(vertices**2, chance, bits, degree)

    # --- certificate -------------------------------------------------------------------------

    def verify(self) -> Certificate:
        """Certify the whole closure, in one job; where that fails, build it again."""
        found = self._counted(certify_matrix(self.matrix, self._graph.successors))
        if found.holds:
            return found
        self._counts["repairs"] += 1
        self._build(self.edges, self.vertices, certified=True)
        return Certificate(found.rows, found.missing, repaired=True)

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable, and those that it made unreachable, sorted: one job.

        A batch that had to build the matrix again has compared the rows that it can have changed. None when there is
        no last batch: after ``init``, and after a ``verify`` that has repaired something, for then pairs that
        were missing have come back that no batch has changed. None also where the lines to compare are too large for
        the driver of a state on Spark.
        """
        if self._touched is None:
            return self._differences
        return None if self._touched.too_large(self.matrix) else self._touched.differences(self.matrix)

    def _counted(self, found: Certificate) -> Certificate:
        self._counts["certified_rows"] += found.rows
        return found

    # --- looking -----------------------------------------------------------------------------

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return self._graph.vertices

    def _part(self) -> None:
        self._graph, self._counts = deepcopy(self._graph), dict(self._counts)

    @property
    def edges(self) -> Edges:
        """The edges of the graph, sorted."""
        return self._graph.edges

    def stats(self) -> Mapping[str, Any]:
        """Size, primes and what they are meant for, and the work of the certificate and of the lazy matrix.

        ``repairs`` counts the builds that a failed certificate caused, ``singular`` the systems without a
        solution, ``redraws`` the updates with fresh weights after one; ``affected`` are the vertices that reach a
        source of the last batch, ``touched`` the lines that were certified after it. ``splits`` counts the batches
        that were too large to be solved at once and became several updates, ``rebuilt_batches`` those for which a
        build was likely to be faster. As many rows as are ``affected`` may have ``changed``. ``entries`` of the
        matrix and ``bytes`` are those of the last build. On Spark one job a version counts the ``pairs``.
        """
        affected = len(self._touched.rows) if self._touched else self.vertices
        return {
            **self._sizes(),
            "edges": len(self._graph),
            "primes": self.primes,
            "error_probability": 0.0 if self._verify else None if self._given else self._error_probability,
            **self._counts,
            "entries": int(self._lengths[0].sum()),
            "bytes": self._bytes,
            "affected": affected,
            "changed": affected,
            "touched": len(self._touched.lines) if self._touched else self.vertices,
            "seconds_of_last_build": self._build_seconds,
            **self.matrix.stats(),
        }

    @property
    def bytes(self) -> int:
        """Bytes of the last build."""
        return self._bytes


def _room(vertices: int) -> int:
    """Rows of the matrix: whole stripes, and some to spare."""
    return -(-(vertices + vertices // 16 + 64) // HEIGHT) * HEIGHT
