"""The engine ``recompute``: the closure built again from the edges at every batch.

The graph is condensed into its strongly connected components, and the sorted row
of each component is merged from the rows of its successors (``kernels.reach``).
The edges are few beside the closure, so that a rebuild is about as cheap as
writing its result: some 10 ns and 4 bytes a pair of components, whatever the
batch. It is exact, knows every digraph, and is what the other engines are
measured against.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Axis, Ids
from dyntc_spark.closure.edge_set import MOST_VERTICES, EdgeSet
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.errors import IndexOutsideError, ShapeMismatchError
from dyntc_spark.kernels import reach


@dataclass(frozen=True)
class Condensation:
    """The components of a digraph, and the components that each of them reaches."""

    component: reach.Ids  #: of each vertex
    member_offsets: reach.Offsets
    members: reach.Ids  #: vertices by component
    row_offsets: reach.Offsets
    heads: reach.Ids  #: reached components by component

    @classmethod
    def of(cls, edges: EdgeSet, vertices: int) -> Condensation:
        """Condense and close a digraph."""
        offsets, targets = edges.adjacency(vertices)
        component, count = reach.strong_components(offsets, targets)
        member_offsets, members = reach.grouped(component, count)
        rows = reach.closed_rows(offsets, targets, component, member_offsets, members)
        return cls(component, member_offsets, members, *rows)

    def grown(self, vertices: int) -> Condensation:
        """Give the condensation with vertices without edges added at the end, each a component that reaches itself."""
        extra = vertices - len(self.component)
        count = len(self.row_offsets) - 1
        steps = np.arange(1, extra + 1)
        components = np.arange(count, count + extra, dtype=np.int32)
        return Condensation(
            np.append(self.component, components),
            np.append(self.member_offsets, self.member_offsets[-1] + steps),
            np.append(self.members, np.arange(vertices - extra, vertices, dtype=np.int32)),
            np.append(self.row_offsets, self.row_offsets[-1] + steps),
            np.append(self.heads, components),
        )

    @cached_property
    def columns(self) -> tuple[reach.Offsets, reach.Ids]:
        """The components that reach each component: made when first asked for, as large as the rows."""
        return reach.transposed(self.row_offsets, self.heads)

    @cached_property
    def pairs(self) -> int:
        """Number of pairs of two different vertices of which one reaches the other."""
        reached = reach.weights(self.row_offsets, self.heads, self.member_offsets)
        return int(reached @ np.diff(self.member_offsets)) - len(self.component)

    @property
    def bytes(self) -> int:
        """What is held in memory."""
        held = sum(array.nbytes for array in (self.component, self.members, self.heads))
        held += sum(array.nbytes for array in (self.member_offsets, self.row_offsets))
        return held + (sum(array.nbytes for array in self.columns) if "columns" in self.__dict__ else 0)


class Recompute(Engine):
    """The closure of any digraph, rebuilt from scratch at every batch.

    Examples
    --------
    >>> engine = Recompute()
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.query([0, 2, 2, 3], [2, 1, 0, 3])
    array([ True,  True, False,  True])
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    >>> engine.ancestors([2]).sources
    array([0, 1, 2])
    """

    name: ClassVar[str] = "recompute"
    exact: ClassVar[bool] = True

    def __init__(self) -> None:
        self._edges = EdgeSet.of(Edges.of())
        self._closed = Condensation.of(self._edges, 0)
        self._builds = 0
        self._seconds = 0.0

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return len(self._closed.component)

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges: linear in edges and pairs."""
        self._replace(EdgeSet.of(_checked(edges, vertices)), vertices)

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges: as much work as ``init``, whatever the batch."""
        n = self.vertices
        self._replace(self._edges.replaced(_checked(inserted, n), _checked(deleted, n)), n)

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``: a binary search each."""
        closed, pairs = self._closed, _checked(Edges.of(sources, targets), self.vertices)
        rows, columns = closed.component[pairs.sources], closed.component[pairs.targets]
        return reach.holds(closed.row_offsets, closed.heads, rows, columns)

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""
        near, far = self._spread(vertices, self._closed.row_offsets, self._closed.heads)
        return Edges(near, far)

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``.

        The first call after a batch transposes the rows, which then take twice the memory.
        """
        near, far = self._spread(vertices, *self._closed.columns)
        return Edges(far, near)

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: a copy of the rows, no rebuild."""
        if vertices < self.vertices:
            raise ShapeMismatchError(
                f"at least {self.vertices} vertices", f"{vertices}", "Use init to start again with fewer."
            )
        if vertices > self.vertices:
            _checked(Edges.of(), vertices)
            self._closed = self._closed.grown(vertices)

    def stats(self) -> Mapping[str, Any]:
        """Sizes of the graph, of its condensation and of the closure, and the time of the last build."""
        sizes = np.diff(self._closed.member_offsets)
        return {
            "vertices": self.vertices,
            "edges": len(self._edges),
            "pairs": self._closed.pairs,
            "components": len(sizes),
            "largest_component": int(sizes.max(initial=0)),
            "bytes": self._closed.bytes + self._edges.keys.nbytes,
            "builds": self._builds,
            "seconds_of_last_build": self._seconds,
        }

    def _replace(self, edges: EdgeSet, vertices: int) -> None:
        """Close other edges; nothing is replaced before all is made."""
        started = time.perf_counter()
        closed = Condensation.of(edges, vertices)
        self._edges, self._closed = edges, closed
        self._seconds = time.perf_counter() - started
        self._builds += 1

    def _spread(self, vertices: npt.ArrayLike, offsets: reach.Offsets, others: reach.Ids) -> tuple[Ids, Ids]:
        """Give each of ``vertices``, ascending, with the members of the components that are in relation to its own."""
        closed, near = self._closed, np.unique(Axis(self.vertices, 1).ids(vertices, "vertex"))
        rows = closed.component[near]
        ends, far = reach.spread(rows, offsets, others, closed.member_offsets, closed.members)
        return np.repeat(near, np.diff(ends)), far.astype(np.int64)


def _checked(edges: Edges, vertices: int) -> Edges:
    """Give the edges back; refuse those with an end that is no vertex."""
    if not 0 <= vertices <= MOST_VERTICES:
        raise IndexOutsideError(f"from 0 to {MOST_VERTICES} vertices", f"{vertices}", "Cut the graph into parts.")
    axis = Axis(vertices, 1)
    return Edges(axis.ids(edges.sources, "vertex"), axis.ids(edges.targets, "vertex"))
