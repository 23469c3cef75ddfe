"""The engine ``path_counting``: section 7, reachability in acyclic graphs by counting paths modulo random primes.

``M[x, y]`` is the number of paths from ``x`` to ``y`` (``M[x, x] = 1``, the empty path; the
paper leaves open that M starts at I). That is the matrix of the engine ``algebraic`` with all weights 1: the same
sweeps fill it (``sweep``), the same update changes it (``woodbury``), and it is kept modulo each of a few primes
(``inverse``). A batch of edges is one update of M; ``y`` is reachable from ``x`` where some residue is not 0.

A batch that reverses edges may have no topological order of the old and the new edges together. It is then composed of
its deletions and its insertions: the graph in between is part of both, so that no system is singular.

**What an answer means.** A "yes" is always right: a residue other than 0 is that of a
number other than 0. A "no" is wrong if every prime divides the number of paths. A number
below ``2^b`` has fewer than ``b/22`` prime factors of 23 bits, and there are at least
``3·2^22 / (5·ln 2^22)`` such primes (Rosser and Schoenfeld 1962), so that one prime drawn at
random hides it with probability below ``(5/3)·ln 2 · b / 2^22``. So many primes are drawn
that the chance that *any* of the n² pairs is hidden is at most ``error_probability``
(``kernels.primes.primes_needed``). The bound ``b`` is read off the graph (no pair has more
paths than start in one vertex) with as much room again; when the graph outgrows it, new
primes are drawn. This supposes that the changes do not depend on the primes, which are
secret unless a seed is given.

Acyclicity is never a matter of residues: a wrong "no" would let a cycle in, after which
"yes" is no longer certain either. It is certified on the edges (``engines.topology``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.rings import Modular
from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges, EdgeSet, checked, effect
from dyntc_spark.engines.algebraic.inverse import InverseEngine
from dyntc_spark.engines.algebraic.path_numbers import Counter, PathCounts, bits_of
from dyntc_spark.engines.algebraic.sweep import WeightedGraph, filled
from dyntc_spark.engines.algebraic.woodbury import Change, WideUpdate, factors, gathered, signed
from dyntc_spark.engines.base import Certificate
from dyntc_spark.engines.certificate import certify_matrix
from dyntc_spark.engines.topology import Topology
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.kernels.path_totals import add_totals
from dyntc_spark.kernels.primes import primes_needed, random_primes
from dyntc_spark.matrices.lazy.lazy_matrix import BUDGET, LazyMatrix

PRIME_BITS = 23
LEAST_BITS = 64  # path counts below 2**64 never ask for new primes


class PathCounting(InverseEngine):
    """The closure of an acyclic digraph, by numbers of paths modulo random primes.

    An update reads the columns of the changed sources and the rows of the changed
    targets in one job, and appends to the buffers of the lazy matrix; now and then
    these are folded in, by one more job. It costs the ancestors and descendants of
    what changed, not n².

    Parameters
    ----------
    backend
        Where the matrix lives; by default in this process.
    error_probability
        Bound on the chance that any pair of vertices is wrongly answered "no".
    seed
        Of the generator that draws the primes; by default they are unpredictable.
    primes
        Use these primes, whatever the probability of an error is then.
    epsilon, budget
        See ``LazyMatrix``.
    worst_case
        Spread each rebuild over the updates that follow it. By default in this process, where it bounds the time of
        every update; on Spark, where each share would be one more job, only if asked for.

    Examples
    --------
    >>> engine = PathCounting(seed=1)
    >>> engine.init(Edges.of([0, 0, 1, 2], [1, 2, 3, 3]), vertices=5)
    >>> engine.query([0, 3, 4], [3, 0, 4])
    array([ True, False,  True])
    >>> engine.count_paths([0, 0], [3, 4]).counts
    [2, 0]
    >>> engine.apply(inserted=Edges.of([3], [4]), deleted=Edges.of([0, 1], [1, 3]))
    >>> engine.descendants([0]).targets
    array([0, 2, 3, 4])
    >>> engine.apply(Edges.of([4], [2]), Edges.of())
    Traceback (most recent call last):
        ...
    dyntc_spark.errors.CycleError: expected edges that leave the graph acyclic; got the cycle 2 → 3 → 4 → 2. ...
    """

    name: ClassVar[str] = "path_counting"

    def __init__(
        self,
        backend: Backend | None = None,
        *,
        error_probability: float = 1e-12,
        seed: int | np.random.Generator | None = None,
        primes: Sequence[int] | None = None,
        epsilon: float | None = None,
        budget: int = BUDGET,
        worst_case: bool | None = None,
    ) -> None:
        options = {"epsilon": epsilon, "budget": budget, "worst_case": worst_case}
        super().__init__(backend, error_probability, seed, primes, options)
        self._draws = 0
        self._graph = Topology(Edges.of(), 0)
        self._totals = np.ones(0)
        self._bits = 0.0

    # --- Init, Insert, Delete ----------------------------------------------------------------

    def init(self, edges: Edges, vertices: int) -> None:
        """Count the paths of this graph, in topological order: on Spark one job."""
        graph = Topology(EdgeSet.of(checked(edges, vertices)).edges, vertices)
        totals = np.ones(vertices)
        add_totals(*graph.adjacency.successors, np.argsort(graph.rank), totals)
        self._count(graph, totals)
        self._graph, self._totals = graph, totals

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges as one update of M, of rank at most the number of distinct sources or targets.

        Raises
        ------
        CycleError
            If the graph would not be acyclic afterwards; nothing has changed then.
        """
        graph = self._graph
        inserted, deleted = effect(inserted, deleted, self.vertices, graph.adjacency.has)
        if not len(inserted) and not len(deleted):
            return
        graph.apply(inserted, deleted)  # certifies that the graph stays acyclic
        affected, totals = np.zeros(0, np.int64), np.zeros(0)
        try:
            batch = [signed(inserted, deleted)]
            if not graph.agrees(deleted):
                batch = [signed(Edges.of(), deleted), signed(inserted, Edges.of())]
            try:
                lines = gathered(self.matrix, Edges.joined(edges for edges, _ in batch))
                affected = lines.ancestors
            except WideUpdate:  # M is counted again, by tasks
                lines, affected = None, np.arange(self.vertices)
            totals = self._totals[affected]
            add_totals(*graph.adjacency.successors, affected[np.argsort(graph.rank[affected])], self._totals)
            if lines is None or bits_of(self._totals, self.vertices) > self._bits:
                self._count(graph, self._totals)
            else:
                ring = self.matrix.ring
                changes = [Change(edges, ring.values(signs, len(signs))) for edges, signs in batch]
                self._add(factors(changes, lines, ring))
        except BaseException:
            graph.apply(deleted, inserted)
            self._totals[affected] = totals
            raise

    def require(self, edges: Edges, vertices: int) -> None:
        """Refuse edges that close a cycle."""
        Topology(edges, vertices)

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: no work until the room that Init left is used up."""
        if vertices < self.vertices:
            raise ShapeMismatchError(f"at least {self.vertices} vertices", f"{vertices}", "Vertices are never removed.")
        if vertices > self.matrix.shape[0]:
            self.init(self._graph.adjacency.edges(), vertices)
        else:
            self._totals = np.append(self._totals, np.ones(vertices - self.vertices))
            self._graph.grow(vertices)

    def _count(self, graph: Topology, totals: npt.NDArray[np.float64]) -> None:
        """Count the paths of a graph modulo fresh primes, enough of them for twice the bits of its largest count."""
        vertices = len(graph.rank)
        room = vertices + vertices // 64 + 64
        bits = math.inf
        primes = self._given
        if primes is None:
            bits = min(float(room), max(LEAST_BITS, 2 * bits_of(totals, vertices)))
            degree = math.ceil(5 / 3 * math.log(2) * bits)
            count = primes_needed(room**2, self._error_probability, PRIME_BITS, degree)
            primes = random_primes(count, PRIME_BITS, self._random)
        options = {**self._options, "worst_case": self._spread}
        matrix = LazyMatrix((room, room), Modular(tuple(primes)), backend=self._where, **options)
        component = (vertices - 1 - graph.rank).astype(np.int32)
        filled(matrix, WeightedGraph.of(graph.adjacency.edges(), component, tuple(primes)))
        self._draws += 1
        self._matrix, self._pairs, self._bits = matrix, None, bits

    @property
    def _spread(self) -> bool:
        asked: bool | None = self._options["worst_case"]
        return self.backend == "local" if asked is None else asked

    # --- Query -------------------------------------------------------------------------------

    def count_paths(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> PathCounts:
        """The number of paths from ``sources[q]`` to ``targets[q]``, for each ``q``: one job.

        It is exact where no more paths start in the source than the product of the
        primes; elsewhere there are at least as many as given.

        Examples
        --------
        >>> engine = PathCounting(primes=[3])
        >>> engine.init(Edges.of([0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5, 5, 5, 5]), vertices=6)
        >>> engine.count_paths([0, 1], [5, 5])
        PathCounts(counts=[1, 1], exact=array([False,  True]))
        """
        residues = self.residues(sources, targets)
        return PathCounts.of(residues, self.primes, self._totals[self._ids(sources)])

    # --- states that move, show and prove themselves -----------------------------------------

    def _part(self) -> None:
        self._graph, self._totals = deepcopy(self._graph), self._totals.copy()
        self.matrix.worst_case = self._spread

    def verify(self) -> Certificate:
        """Certify the closure, in one job; where a prime hides a pair, count again modulo fresh primes.

        Primes that were given to the engine are given up then.
        """
        first = found = self._certificate()
        while not found.holds:
            self._given = None
            self._count(self._graph, self._totals)
            found = self._certificate()
        return Certificate(first.rows, first.missing, repaired=not first.holds)

    def _certificate(self) -> Certificate:
        return certify_matrix(self.matrix, self._graph.adjacency.successors)

    def _counter(self) -> Counter:
        """What tells how many paths lead to each vertex, null if not known."""
        return Counter(self.primes, self._totals)

    # --- looking -----------------------------------------------------------------------------

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return len(self._graph.rank)

    @property
    def edges(self) -> Edges:
        """The edges of the graph, sorted."""
        return self._graph.adjacency.edges()

    def stats(self) -> Mapping[str, Any]:
        """Size, primes and what they are meant for, and the work of the lazy matrix.

        On Spark one job a version counts the ``pairs``.
        """
        return {
            **self._sizes(),
            "edges": len(self._graph.adjacency),
            "primes": self.primes,
            "error_probability": self._error_probability if self._given is None else None,
            "path_bits": bits_of(self._totals, self.vertices),
            "path_bits_allowed": self._bits,
            "draws_of_primes": self._draws,
            **self.matrix.stats(),
        }

    @property
    def bytes(self) -> int:
        """Not counted, so that ``backend="auto"`` leaves the matrix where it is."""
        return 0
