"""The engine ``recompute``: the closure built again from the edges at every batch.

The graph is condensed into its strongly connected components, and the sorted row
of each component is merged from the rows of its successors (``kernels.reach``).
The edges are few beside the closure, so that a rebuild is about as cheap as
writing its result: some 10 ns and 4 bytes a pair of components, whatever the
batch. It is exact, knows every digraph, and is what the other engines are
measured against. On Spark the driver condenses, and each task closes a range of
components with what these reach (``stripes``); where the edges do not fit the driver,
the search runs as joins (``joined``).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.blocks.grid import Axis, Ids
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.closure import stripe_frames
from dyntc_spark.closure.components import Components, closed_within
from dyntc_spark.closure.condensed import State
from dyntc_spark.closure.edge_set import EdgeSet, answered, checked
from dyntc_spark.closure.engine import Certificate, Edges, Engine
from dyntc_spark.closure.far import FarState
from dyntc_spark.closure.joined import Joined
from dyntc_spark.errors import OptionError, ShapeMismatchError
from dyntc_spark.kernels import pool, reach

#: More edges than these are not condensed at the driver: on Spark the closure is then worked out by joins.
DRIVER_EDGES = 10**8


@dataclass(frozen=True)
class Condensation:
    """The components of a digraph, and the components that each of them reaches."""

    component: reach.Ids  #: of each vertex
    member_offsets: reach.Offsets
    members: reach.Ids  #: vertices by component
    row_offsets: reach.Offsets
    heads: reach.Ids  #: reached components by component

    @classmethod
    def of(cls, edges: EdgeSet, vertices: int, budget: int | None = None) -> Condensation:
        """Condense and close a digraph; refuse when the rows outgrow a budget of so many bytes."""
        parts = Components.of(edges, vertices)
        return cls(parts.component, parts.member_offsets, parts.members, *closed_within(parts, budget))

    @classmethod
    def taken(cls, state: State) -> Condensation:
        """Take a closure as it is kept by ``refresh``, without working it out again."""
        if isinstance(state, FarState):
            rows = state.every_row()
        else:
            rows = pool.taken(state.graph.rows, np.arange(len(state.graph.size), dtype=np.int32))
        return cls(state.component.copy(), *state.members(), *rows)

    def state(self, edges: EdgeSet) -> State:
        """Give it as ``refresh`` keeps it, with its edges, without working it out again."""
        component, heads = self.component[:], self.heads[:]  # views, which the state copies to change them
        parts = Components(*edges.adjacency(len(component)), component, self.member_offsets, self.members)
        return State(parts, self.row_offsets, heads, self.pairs + len(component))

    @property
    def components(self) -> int:
        """Number of strongly connected components."""
        return int(np.count_nonzero(np.diff(self.member_offsets)))

    @property
    def largest(self) -> int:
        """Number of members of the largest component."""
        return int(np.diff(self.member_offsets).max(initial=0))

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

    def joined(self, pairs: Edges) -> reach.Flags:
        """Tell for each pair of vertices whether the first reaches the second: a binary search each."""
        found = reach.joined(self.component, self.row_offsets, self.heads, pairs.sources, pairs.targets)
        return answered(found, pairs, len(self.component))

    def descendants(self, vertices: reach.Ids) -> tuple[Ids, reach.Ids]:
        """Give for each of ``vertices`` what it reaches, ascending, as offsets and vertices."""
        rows = self.component[vertices]
        return reach.spread(rows, self.row_offsets, self.heads, self.member_offsets, self.members)

    def ancestors(self, vertices: reach.Ids) -> tuple[Ids, reach.Ids]:
        """Give for each of ``vertices`` what reaches it, ascending, as offsets and vertices."""
        return reach.spread(self.component[vertices], *self.columns, self.member_offsets, self.members)

    @cached_property
    def columns(self) -> tuple[reach.Offsets, reach.Ids]:
        """The components that reach each component: made when first asked for, as large as the rows."""
        return reach.transposed(self.row_offsets, self.heads)

    @cached_property
    def pairs(self) -> int:
        """Number of pairs of two different vertices of which one reaches the other."""
        return reach.pairs(self.row_offsets, self.heads, self.member_offsets) - len(self.component)

    @property
    def numbers(self) -> int:
        """How many numbers all rows have."""
        return len(self.heads)

    @property
    def bytes(self) -> int:
        """What is held in memory."""
        held = sum(array.nbytes for array in (self.component, self.members, self.heads))
        held += sum(array.nbytes for array in (self.member_offsets, self.row_offsets))
        return held + (sum(array.nbytes for array in self.columns) if "columns" in self.__dict__ else 0)


class Recompute(Engine):
    """The closure of any digraph, rebuilt from scratch at every batch.

    Parameters
    ----------
    backend
        Where the rows are; by default in this process.
    driver_edges
        On Spark, a graph with more edges than these is closed by joins (``joined``).

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

    def __init__(self, backend: Backend | None = None, *, driver_edges: int = DRIVER_EDGES) -> None:
        self._spark = backend if isinstance(backend, SparkBackend) else None
        self._driver_edges = driver_edges
        self._edges = EdgeSet.of(Edges.of())
        self._closed: Condensation | FarState | Joined = self._made(self._edges, 0)
        self._builds = 0
        self._seconds = 0.0

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return len(self._closed.component)

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges: linear in edges and pairs."""
        known = checked(edges, vertices)
        if self._spark and len(known) > self._driver_edges:
            self._join(self._spark, known, vertices)
        else:
            self._replace(EdgeSet.of(known), vertices)

    def init_frame(self, edges: DataFrame, vertices: int) -> None:
        """Start again with edges on Spark, ``source`` and ``target``: by joins when the driver cannot take them."""
        if self._spark is None:
            raise OptionError("the backend 'spark'", "an engine in this process", "Make it with a SparkBackend.")
        counted = self._spark.collect("count edges", edges.selectExpr("count(*) AS n"))
        if counted.column("n")[0].as_py() > self._driver_edges:
            self._join(self._spark, edges, vertices)
        else:
            table = self._spark.collect("collect edges", edges.select("source", "target"))
            self.init(Edges.of(*(table.column(name).to_numpy() for name in ("source", "target"))), vertices)

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges: as much work as ``init``, whatever the batch."""
        n = self.vertices
        new, gone = checked(inserted, n), checked(deleted, n)
        if isinstance(self._closed, Joined):
            self._closed = self._closed.replaced(new, gone)
            self._builds += 1
        else:
            self._replace(self._edge_set.replaced(new, gone), n)

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``: a binary search each."""
        return self._closed.joined(Edges.of(sources, targets))

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""
        near = self._known(vertices)
        return _spread(near, *self._closed.descendants(near))

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``.

        The first call after a batch transposes the rows, which then take twice the memory.
        """
        near = self._known(vertices)
        turned = _spread(near, *self._closed.ancestors(near))
        return Edges(turned.targets, turned.sources)

    @property
    def backend(self) -> str:
        """Where the rows are."""
        return "spark" if self._spark else "local"

    def moved(self, backend: Backend) -> Recompute:
        """Give the engine with its rows on another backend: one job, and nothing is worked out again."""
        to = backend if isinstance(backend, SparkBackend) else None
        if to is self._spark:
            return self
        if isinstance(self._closed, Joined):
            raise self._lacks("edges that fit the driver")
        other = copy.copy(self)
        other._edges = EdgeSet.of(Edges.of()) if to else self._edge_set  # noqa: SLF001  (one of us)
        here = Condensation.taken(self._closed) if isinstance(self._closed, FarState) else self._closed
        other._closed = FarState.moved(here.state(self._edge_set), to) if to else here  # noqa: SLF001  (one of us)
        other._spark = to  # noqa: SLF001
        return other

    def snapshot(self) -> Recompute | None:
        """Return an engine with the same rows, which nobody changes; None on Spark, where a question may."""
        return None if self._spark else copy.copy(self)

    @property
    def edges(self) -> Edges:
        """The edges, sorted."""
        return self._closed.edges if isinstance(self._closed, Joined) else self._edge_set.edges

    def verify(self) -> Certificate:
        """Certify every row by the edges, and build the closure again where one is wrong: on Spark one job.

        The engine is exact; what this finds is damage.
        """
        state = self.state
        if state is None:
            raise self._lacks("edges that fit the driver")
        missing = Edges.of(*state.lacking())
        if len(missing):
            self.init(self.edges, self.vertices)
        return Certificate(self.vertices, missing, bool(len(missing)))

    def blocks(self, spark: SparkSession) -> DataFrame:
        """The rows as stripes, and the members of each component."""
        closed = self._closed
        if isinstance(closed, Joined):
            raise self._lacks("edges that fit the driver")
        return stripe_frames.blocks(closed if isinstance(closed, FarState) else closed.state(self._edges), spark)

    def rows(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The closure as rows of vertices, unfolded where the stripes are; None when these are in this process."""
        del spark
        if isinstance(self._closed, Joined):
            return self._closed.rows()
        return stripe_frames.rows(self._closed, look=look) if isinstance(self._closed, FarState) else None

    @property
    def bytes(self) -> int:
        """What rows and edges take."""
        return self._closed.bytes + self._edges.keys.nbytes

    def take(self, state: State) -> bool:
        """Take rows as they are; from this process they move to Spark if that is where the others are."""
        if self._spark is None:
            if isinstance(state, FarState):
                return False
            self._edges, self._closed = state.edges, Condensation.taken(state)
        else:
            self._edges = EdgeSet.of(Edges.of())
            self._closed = state if isinstance(state, FarState) else FarState.moved(state, self._spark)
        return True

    def spark_for(self, size: int) -> SparkBackend | None:
        """Return the backend of the rows if it is on Spark, whatever their size."""
        del size
        return self._spark

    @property
    def state(self) -> State | None:
        """The closure as ``refresh`` keeps it; None where the search ran as joins."""
        if isinstance(self._closed, Joined):
            return None
        return self._closed if isinstance(self._closed, FarState) else self._closed.state(self._edges)

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: a copy of the rows, no rebuild."""
        if vertices < self.vertices:
            raise ShapeMismatchError(
                f"at least {self.vertices} vertices", f"{vertices}", "Use init to start again with fewer."
            )
        if vertices > self.vertices:
            checked(Edges.of(), vertices)
            if isinstance(self._closed, FarState):
                self._closed.tidy()
                self._closed.grow(vertices)
            else:
                self._closed = self._closed.grown(vertices)

    def stats(self) -> Mapping[str, Any]:
        """Sizes of the graph, of its condensation and of the closure, and the time of the last build."""
        closed = self._closed
        sizes: dict[str, Any] = {"edges": self._edge_count, "pairs": closed.pairs, "bytes": self.bytes}
        if not isinstance(closed, Joined):
            sizes |= {"components": closed.components, "largest_component": closed.largest}
        return {
            "vertices": self.vertices,
            **sizes,
            "builds": self._builds,
            "seconds_of_last_build": self._seconds,
        }

    def _replace(self, edges: EdgeSet, vertices: int) -> None:
        """Close other edges; nothing is replaced before all is made."""
        started = time.perf_counter()
        closed = self._made(edges, vertices)
        self._edges, self._closed = EdgeSet.of(Edges.of()) if isinstance(closed, FarState) else edges, closed
        self._seconds = time.perf_counter() - started
        self._builds += 1

    @property
    def _edge_set(self) -> EdgeSet:
        """The edges; on Spark they are part of the state."""
        return self._closed.edges if isinstance(self._closed, FarState) else self._edges

    @property
    def _edge_count(self) -> int:
        return len(self._edges) if isinstance(self._closed, Condensation) else self._closed.edge_count

    def _made(self, edges: EdgeSet, vertices: int) -> Condensation | FarState:
        if self._spark:
            return FarState.build(self._spark, edges, vertices)
        return Condensation.of(edges, vertices, self.budget)

    def _join(self, backend: SparkBackend, edges: DataFrame | Edges, vertices: int) -> None:
        """Close edges that are too many for the driver."""
        started = time.perf_counter()
        closed = (
            Joined.build(backend, edges, vertices) if isinstance(edges, Edges) else Joined(backend, edges, vertices)
        )
        self._edges, self._closed = EdgeSet.of(Edges.of()), closed
        self._seconds = time.perf_counter() - started
        self._builds += 1

    def _known(self, vertices: npt.ArrayLike) -> reach.Ids:
        """Give vertices ascending, each once, or an error."""
        return np.unique(Axis(self.vertices, 1).ids(vertices, "vertex")).astype(np.int32)


def _spread(near: reach.Ids, offsets: Ids, far: reach.Ids) -> Edges:
    """Give each of ``near`` with its part of ``far``."""
    return Edges(np.repeat(near.astype(np.int64), np.diff(offsets)), far.astype(np.int64))
