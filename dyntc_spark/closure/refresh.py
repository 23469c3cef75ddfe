"""The engine ``refresh``: after a batch, exactly the rows that it can have changed are built again.

The state is the condensation of the graph with one sorted row of reached
components a component, as in ``recompute``, but in a pool where single rows are
replaced (``kernels.pool``). A batch of any mixture of insertions and deletions

1. drops the changes that provably change no row: an insertion along a path that
   was there, a deletion within a component that holds together, a deletion next
   to another edge that leads to the same place;
2. finds the vertices that reach a tail of the others, backwards on the edges;
3. finds the strong components of these in the new graph;
4. builds their rows from below, each from the rows one step further, and goes on
   only where a row differs from the old one.

Why it is exact is shown in ``kernels.refresh``, step by step. It costs the edges at
the affected vertices and the rows that are built, some 10 ns a pair in these,
whatever the size of the graph; where most vertices are affected, the closure is
built from scratch instead. Memory is that of ``recompute``, with the edges in both
directions and some garbage: at 60 pairs a vertex less than 6 bytes a pair, nearer to 4
with more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Axis, Ids
from dyntc_spark.closure.condensed import GARBAGE_LEAST, MOST_REPLACED, State
from dyntc_spark.closure.edge_set import MOST_VERTICES, EdgeSet, distinct, keys_of
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.errors import IndexOutsideError, OptionError, ShapeMismatchError
from dyntc_spark.kernels import pool, refresh_answers
from dyntc_spark.kernels.refresh import EDGES, HEADS
from dyntc_spark.kernels.refresh_answers import Former


class Refresh(Engine):
    """The closure of any digraph, of which a batch builds again only the rows that it can have changed.

    Parameters
    ----------
    rebuild_share
        The closure is built from scratch when a batch affects more than this share of the vertices.

    Examples
    --------
    >>> engine = Refresh()
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.query([0, 2, 2, 3], [2, 1, 0, 3])
    array([ True,  True, False,  True])
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    >>> engine.ancestors([2]).sources
    array([0, 1, 2])
    """

    name: ClassVar[str] = "refresh"
    exact: ClassVar[bool] = True

    def __init__(self, rebuild_share: float = 0.5) -> None:
        if not 0 <= rebuild_share <= 1:
            raise OptionError("a share of the vertices from 0 to 1", f"{rebuild_share!r}", "0.5 suits most graphs.")
        self._share = rebuild_share
        self._state = State(EdgeSet.of(Edges.of()), 0)
        self._former: Former | None = None
        self._rebuilds = self._batches = self._compactions = self._changed = 0
        self._seconds = 0.0

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return self._state.vertices

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges: linear in edges and pairs."""
        self._rebuild(EdgeSet.of(_checked(edges, vertices)), vertices, time.perf_counter())

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges: as much work as there is at the vertices and in the rows that are affected."""
        started = time.perf_counter()
        state, n = self._state, self.vertices
        new, gone = _checked(inserted, n), _checked(deleted, n)
        self._tidy()
        former = state.apply(distinct(keys_of(new)), distinct(keys_of(gone)), int(self._share * n))
        if former is None:
            self._rebuild(state.edges.replaced(new, gone), n, started)
        else:
            self._former, self._changed = former, len(former.vertices)
            if former.lengths.sum() > max(GARBAGE_LEAST, MOST_REPLACED * state.graph.totals[HEADS]):
                self._tidy()
            self._seconds = time.perf_counter() - started
        self._batches += 1

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``: a binary search each."""
        graph, pairs = self._state.graph, _checked(Edges.of(sources, targets), self.vertices)
        return pool.holds_each(graph.rows, graph.component[pairs.sources], graph.component[pairs.targets])

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""
        near = self._known(vertices)
        return _spread(near, *refresh_answers.descendants(self._state.graph, near))

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``.

        A search backwards on the edges for each component that ``vertices`` are in.
        """
        graph, near = self._state.graph, self._known(vertices)
        components, which = np.unique(graph.component[near], return_inverse=True)
        turned = _spread(near, *refresh_answers.ancestors(graph, graph.first[components], which))
        return Edges(turned.targets, turned.sources)

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable, and those that it made unreachable, sorted.

        One pass over the old and the new rows that it changed. None where the old rows are no longer there: after
        a batch that replaced a large part of the closure, or when the graph has grown since.
        """
        if self._former is None:
            return None
        sources = self._former.vertices
        won_offsets, won, lost_offsets, lost = refresh_answers.differences(self._state.graph, self._former)
        return _spread(sources, won_offsets, won), _spread(sources, lost_offsets, lost)

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: linear in the new ones."""
        if vertices < self.vertices:
            raise ShapeMismatchError(
                f"at least {self.vertices} vertices", f"{vertices}", "Use init to start again with fewer."
            )
        _checked(Edges.of(), vertices)
        if vertices > self.vertices:
            self._tidy()
            self._state.grow(vertices)

    def stats(self) -> Mapping[str, Any]:
        """Sizes of the graph, of its condensation and of the closure, and the work of the last batch.

        ``affected`` counts the vertices whose rows the last batch could have changed by the edges,
        ``changed`` those whose rows it did change; both are all vertices after a build from scratch.
        """
        state = self._state
        return {
            "vertices": self.vertices,
            "edges": int(state.graph.totals[EDGES]),
            "pairs": state.pairs,
            "components": state.components,
            "largest_component": int(state.graph.size[state.graph.component].max(initial=0)),
            "bytes": state.bytes,
            "batches": self._batches,
            "rebuilds": self._rebuilds,
            "compactions": self._compactions,
            "affected": state.affected,
            "changed": self._changed,
            "seconds_of_last_batch": self._seconds,
        }

    def _tidy(self) -> None:
        """Forget what the last batch replaced, and use its space."""
        self._former = None
        self._compactions += self._state.tidy()

    def _rebuild(self, edges: EdgeSet, vertices: int, started: float) -> None:
        """Close other edges; nothing is replaced before all is made."""
        state = State(edges, vertices)
        self._state, self._former, self._changed = state, None, vertices
        self._rebuilds += 1
        self._seconds = time.perf_counter() - started

    def _known(self, vertices: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Give vertices ascending, each once, or an error."""
        return np.unique(Axis(self.vertices, 1).ids(vertices, "vertex")).astype(np.int32)


def _spread(near: npt.NDArray[np.int32], offsets: Ids, far: npt.NDArray[np.int32]) -> Edges:
    """Give each of ``near`` with its part of ``far``."""
    return Edges(np.repeat(near.astype(np.int64), np.diff(offsets)), far.astype(np.int64))


def _checked(edges: Edges, vertices: int) -> Edges:
    """Give the edges back; refuse those with an end that is no vertex."""
    if not 0 <= vertices <= MOST_VERTICES:
        raise IndexOutsideError(f"from 0 to {MOST_VERTICES} vertices", f"{vertices}", "Cut the graph into parts.")
    axis = Axis(vertices, 1)
    return Edges(axis.ids(edges.sources, "vertex"), axis.ids(edges.targets, "vertex"))
