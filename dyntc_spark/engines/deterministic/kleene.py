"""The paper's fully dynamic Kleene closure, and the dynamic graph on top of it (section 3).

``X`` is the n x n Boolean matrix of the edges, ``Y = X*`` its closure:

- ``Init*(Z)``: X = Z;
- ``Set*(i, ΔX)``: ``X += ΔX`` in row i and column i: edges come at one vertex, the centre;
- ``Reset*(ΔX)``: ``X -= ΔX`` anywhere;
- ``Lookup*(x, y)``: ``Y[x, y]``.

A batch of any shape is one Reset* of what it deletes, and then one Set* for each
centre of a set that covers what it inserts: every edge touches a centre. The
centres are chosen greedily, the vertex with the most edges that are not yet
covered first. When there are too many of them, Init* is cheaper.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.block_table import block_table
from dyntc_spark.blocks.grid import Axis
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkState
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.edges import Edges, EdgeSet, checked
from dyntc_spark.engines.abilities import lacking
from dyntc_spark.engines.base import Certificate, Engine
from dyntc_spark.engines.certificate import Successors, certify
from dyntc_spark.engines.deterministic.kleene_rows import ClosureRows, Joined, Part
from dyntc_spark.engines.transfer import held_bytes
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.matrices.last_flip import ones_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class KleeneClosure(Engine):
    """What the deterministic engines share: the edges, batches, questions; see the module.

    Parameters
    ----------
    backend
        Where the matrices live; by default in this process.
    """

    def __init__(self, backend: Backend | None = None) -> None:
        self._where = backend or LocalBackend()
        self._edges = EdgeSet.of(Edges.of())
        self._n = 0
        self._room = 0
        self._started = False
        self._pairs: int | None = None  # counted on Spark when first asked for
        self._done = dict.fromkeys(("inits", "sets", "resets"), 0)

    # --- what an engine does -----------------------------------------------------------------

    @abstractmethod
    def _init(self, edges: Edges, room: int) -> None:
        """Init*: start again with these edges between ``room`` vertices."""

    @abstractmethod
    def _set(self, i: int, row: Indices, column: Indices) -> None:
        """Set*: the edges from ``i`` to ``row`` and from ``column`` to ``i`` come; ``_edges`` has them already."""

    @abstractmethod
    def _reset(self, edges: Edges) -> None:
        """Reset*: edges go that are there, each named once; ``_edges`` is without them already."""

    @abstractmethod
    def _lookup(self, rows: Indices, columns: Indices) -> Flags:
        """Lookup* of many places: one job."""

    @abstractmethod
    def _lines(self, ids: Indices, *, upright: bool) -> Flags:
        """Rows (upright: columns) of Y, one below the other (upright too): one job."""

    @abstractmethod
    def _parts(self) -> tuple[Part, ...]:
        """The matrices of the state that Y is the union of."""

    def _joined(self) -> Joined | None:
        """Pairs of Y that no matrix has, in another form, which is not changed later."""
        return None

    @abstractmethod
    def _saved(self) -> Callable[[], None]:
        """Return what puts the state back as it is now."""

    def _most_centres(self) -> int:
        """From how many centres on a batch is answered by Init*."""
        return max(1, self._n // 2)

    # --- the paper's operations --------------------------------------------------------------

    def init(self, edges: Edges, vertices: int) -> None:
        """Init*: start again with these edges, anywhere in a sequence of operations."""
        self._restart(EdgeSet.of(checked(edges, vertices)), vertices, vertices)

    def set(self, i: int, row: npt.ArrayLike = (), column: npt.ArrayLike = ()) -> None:
        """Set*(i, ΔX): edges from ``i`` to ``row`` and from ``column`` to ``i`` come, as one update.

        ``row`` and ``column`` are vertex numbers, or Boolean vectors.
        """
        axis = Axis(self._n, 1)
        (i,) = axis.ids(i, "vertex").tolist()
        out, into = ones_of(row, axis, "vertex"), ones_of(column, axis, "vertex")
        sources = np.concatenate([np.full(len(out), i), into])
        self._apply(Edges(sources, np.concatenate([out, np.full(len(into), i)])), Edges.of(), [i])

    def reset(self, entries: tuple[npt.ArrayLike, npt.ArrayLike]) -> None:
        """Reset*(ΔX): edges ``(sources, targets)`` go; those that are not there are left out."""
        self._apply(Edges.of(), checked(Edges.of(*entries), self._n), [])

    def lookup(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Flags:
        """Lookup*(x, y) for many pairs: one job."""
        pairs = checked(Edges.of(x, y), self._n)
        if len(pairs.sources) != len(pairs.targets):
            came = f"{len(pairs.sources)} and {len(pairs.targets)}"
            raise ShapeMismatchError("as many sources as targets", came, "Pass parallel lists.")
        if not len(pairs):
            return np.zeros(0, bool)
        self._ready()
        return self._lookup(pairs.sources, pairs.targets)

    # --- the graph ---------------------------------------------------------------------------

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return self._n

    @property
    def edges(self) -> Edges:
        """The edges of the graph, sorted."""
        return self._edges.edges

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Reset* of what goes, then Set* at each centre of what comes; all or nothing."""
        new, gone = checked(inserted, self._n), checked(deleted, self._n)
        kept = self._edges.replaced(Edges.of(), gone)
        new = new.where(~kept.has(new))
        self._apply(new, gone, cover(new, self._n))

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Flags:
        """Whether ``targets[q]`` is reachable from ``sources[q]``, for each ``q``: one job."""
        return self.lookup(sources, targets)

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted: one job."""
        return self._reached(vertices, upright=False)

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and reachable from ``u``, by ``v`` and ``u``: one job."""
        return self._reached(vertices, upright=True).turned

    def _reached(self, vertices: npt.ArrayLike, *, upright: bool) -> Edges:
        """Pairs of each vertex with the places of the entries in its row, or in its column."""
        near = np.unique(Axis(self._n, 1).ids(vertices, "vertex"))
        self._ready()
        if not len(near):
            return Edges(near, near)
        lines = self._lines(near, upright=upright)
        places, others = np.nonzero((lines.T if upright else lines)[:, : self._n])
        return Edges(near[places], others)

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: Init* with room for a quarter more, then no work until it is used."""
        if vertices < self._n:
            raise ShapeMismatchError(f"at least {self._n} vertices", f"{vertices}", "Vertices are never removed.")
        if vertices > self._room:
            self._restart(self._edges, vertices, vertices + vertices // 4)
        self._n = vertices

    def rows(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The closure as it is on Spark, worked out where the blocks are; None when these are in this process."""
        del spark
        rows = self._closure_rows()
        return None if rows is None else rows.frame(look=look)

    def _closure_rows(self) -> ClosureRows | None:
        """The rows of Y where they are worked out on Spark; None in this process, or where a leaf is all."""
        if self.backend == "local":
            return None
        state = self.state
        if not isinstance(state, SparkState):
            return None
        return ClosureRows(state, self._parts(), self._n, self._joined())

    def verify(self) -> Certificate:
        """Certify every row against the edges; Init* where one lacks something, which would be a bug.

        On Spark one job certifies the rows where the blocks are.
        """
        successors, rows = Successors.of(self.edges, self._n), self._closure_rows()
        if rows is None:
            found = certify(self.descendants, successors)
        else:
            found = Certificate(self._n, rows.missing(successors))
        if found.holds:
            return found
        self._restart(self._edges, self._n, self._room)
        return Certificate(found.rows, found.missing, repaired=True)

    @property
    @abstractmethod
    def state(self) -> State | None:
        """The matrices that are kept; None where there are none."""

    def blocks(self, spark: SparkSession) -> DataFrame:
        """The matrices of the state as they are stored, a row a block."""
        state = self.state
        if state is None:
            raise lacking(self, "blocks to show at this size")
        return block_table(state, spark)

    @property
    def backend(self) -> str:
        """Where the state is: ``"local"`` or ``"spark"``."""
        return "local" if isinstance(self._where, LocalBackend) else "spark"

    def stats(self) -> Mapping[str, Any]:
        """Sizes, and how many of the paper's operations were done; on Spark one job a version counts the pairs."""
        sizes = {"vertices": self._n, "edges": len(self._edges), "bytes": self._bytes()}
        rows = self._closure_rows()
        if rows is not None:
            self._pairs = rows.pairs() if self._pairs is None else self._pairs
            sizes["pairs"] = self._pairs
        return {**sizes, **self._done}

    @property
    def bytes(self) -> int:
        """What the matrices take, about."""
        return self._bytes()

    def _bytes(self) -> int:
        """Bytes of the matrices; on Spark what they take where they are dense, as counting them would be a job."""
        state = self.state if self._started else None
        held = 0 if state is None else held_bytes(state)
        return int(self.entry_bytes(self._room) * self._room**2) if held is None else held

    @classmethod
    @abstractmethod
    def entry_bytes(cls, room: int) -> float:
        """Bytes for each entry of the n x n matrix where all matrices are dense."""

    # --- how ---------------------------------------------------------------------------------

    def _ready(self) -> None:
        """Before the first Init*, and after an operation that failed, Init* the edges that there are."""
        if not self._started:
            self._restart(self._edges, self._n, max(self._room, self._n))

    def _restart(self, edges: EdgeSet, vertices: int, room: int) -> None:
        before = self._edges, self._n, self._room, self._started
        put_back, self._pairs = self._saved(), None
        try:
            self._edges, self._n, self._room = edges, vertices, room
            self._init(edges.edges, room)
        except BaseException:
            put_back()
            self._edges, self._n, self._room, self._started = before
            raise
        self._started = True
        self._done["inits"] += 1

    def _apply(self, new: Edges, gone: Edges, centres: list[int]) -> None:
        gone = EdgeSet.of(gone.where(self._edges.has(gone))).edges
        if not len(gone) and not centres:
            return
        self._ready()
        if len(centres) > self._most_centres():
            self._restart(self._edges.replaced(new, gone), self._n, self._room)
            return
        before, put_back = self._edges, self._saved()
        self._pairs = None
        try:
            if len(gone):
                self._edges = before.replaced(Edges.of(), gone)
                self._reset(gone)
            left = new
            for i in centres:
                here = (left.sources == i) | (left.targets == i)
                now, left = left.where(here), left.where(~here)
                self._edges = self._edges.replaced(now, Edges.of())
                self._set(i, np.unique(now.targets[now.sources == i]), np.unique(now.sources[now.targets == i]))
        except BaseException:
            self._edges = before
            put_back()
            raise
        self._done["resets"] += bool(len(gone))
        self._done["sets"] += len(centres)

    def _row(self, i: int) -> Indices:
        """Row i of X."""
        return self._edges.leaving(np.array([i])).targets

    def _column(self, i: int) -> Indices:
        """Column i of X."""
        return self._edges.entering(i).sources


def cover(edges: Edges, vertices: int) -> list[int]:
    """Choose vertices so that each edge touches one, those with the most uncovered edges first.

    Examples
    --------
    >>> cover(Edges.of([0, 0, 5, 3], [1, 2, 0, 3]), 6)
    [0, 3]
    """
    chosen: list[int] = []
    left = edges
    while len(left):
        degrees = np.bincount(left.sources, minlength=vertices)
        degrees += np.bincount(left.targets[left.targets != left.sources], minlength=vertices)
        i = int(degrees.argmax())
        if degrees[i] == 1:  # no two of the rest meet
            return [*chosen, *left.sources.tolist()]
        chosen.append(i)
        left = left.where((left.sources != i) & (left.targets != i))
    return chosen
