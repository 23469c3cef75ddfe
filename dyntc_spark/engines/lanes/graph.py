"""The working graph of a closure in lanes: made of edges, enlarged, made again, and taken to a task.

`State` changes it in place, batch by batch. A task of a batch on Spark gets it as it is after the deletions
(`shipped`), and inserts the edges by itself: the same edges in the same order make the same numbers everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dyntc_spark.engines.lanes.build import UNBOUNDED
from dyntc_spark.kernels.components import grouped, ring, strong_components, transposed
from dyntc_spark.kernels.ids import Ids, Offsets
from dyntc_spark.kernels.lanes.adjacency import Adjacency, adjacency, moved, reserve
from dyntc_spark.kernels.lanes.graph import Graph, Members, Merges, insert_edges
from dyntc_spark.kernels.lanes.order import Order, ordered
from dyntc_spark.kernels.lanes.stripes import Stripes

#: Room for further vertices and edges, in parts of those that there are.
SPARE_PART = 16
_Array = TypeVar("_Array", bound=npt.NDArray[Any])


def new_graph(
    edges: tuple[Offsets, Ids], component: Ids, members: tuple[Offsets, Ids], numbers: Ids, room: int
) -> Graph:
    """Return the working graph, with room for so many vertices.

    ``component`` and ``members`` are those of `strong_components`, and ``numbers`` has the number of each component.
    """
    vertices = len(component)
    after, first = ring(*members)
    sizes = np.zeros(room, np.int32)
    sizes[numbers] = np.diff(members[0])
    firsts = np.zeros(room, np.int32)
    firsts[numbers] = first
    free = np.flatnonzero(sizes[:vertices] == 0).astype(np.int32)
    return Graph(
        Members(longer(numbers[component], room), longer(after, room), firsts, sizes),
        longer(free, room),
        np.array([len(free), 0]),
        ordered(numbers, room),
        adjacency(*edges, room),
        adjacency(*transposed(*edges), room),
        *_searching(room),
    )


def made_again(edges: tuple[Offsets, Ids], members: Members, vertices: int) -> Graph:
    """Return the working graph of other edges than it has now, for which the ``members`` of a version are right."""
    component, count = strong_components(*edges)
    groups = grouped(component, count)
    numbers: Ids = members.component[groups[1][groups[0][:-1]]]
    graph = new_graph(edges, component, groups, numbers, len(members.size))
    return graph._replace(members=members) if vertices else graph


def enlarged(graph: Graph, room: int) -> Graph:
    """Return the working graph with room for more vertices; the old arrays stay as they are."""
    labels, above, below, ends = graph.order
    return Graph(
        Members(*(longer(array, room) for array in graph.members)),
        longer(graph.free, room),
        graph.n_free,
        Order(longer(labels, room), longer(above, room), longer(below, room), ends),
        _with_rows(graph.out, room),
        _with_rows(graph.into, room),
        *_searching(room),
    )


def turned(keys: Offsets) -> Offsets:
    """Return the keys of the edges the other way round, ascending."""
    found: Offsets = np.sort((keys << 32) | (keys >> 32))
    return found


def with_room(rows: Adjacency, keys: Offsets) -> Adjacency:
    """Return the rows, in a longer pool if theirs has no room for these edges."""
    if int(rows.used[0]) + reserve(rows, keys) <= len(rows.values):
        return rows
    needed = _needed(rows, keys)
    return moved(rows, needed + needed // SPARE_PART, len(rows.starts))


def copied(members: Members) -> Members:
    """Return members that nobody else uses."""
    return Members(*(array.copy() for array in members))


class Shipped(NamedTuple):
    """A working graph without space for searches."""

    members: Members
    free: Ids
    n_free: Offsets
    order: Order
    out: Adjacency
    into: Adjacency

    def graph(self) -> Graph:
        """Return the graph, with space for searches."""
        return Graph(*self, *_searching(len(self.members.size)))

    def frozen(self) -> Shipped:
        """Return a copy that no batch changes.

        A task needs one whose blocks stay: Spark Connect pickles it again whenever they are read.
        """
        order = Order(*(array.copy() for array in self.order))
        out, into = (Adjacency(*(array.copy() for array in rows)) for rows in (self.out, self.into))
        return Shipped(copied(self.members), self.free.copy(), self.n_free.copy(), order, out, into)

    def with_edges(self, keys: Offsets) -> tuple[Graph, Merges]:
        """Return a copy of the graph with more edges, and which components merged."""
        graph = Graph(
            copied(self.members),
            self.free.copy(),
            self.n_free.copy(),
            Order(*(array.copy() for array in self.order)),
            _roomy(self.out, keys),
            _roomy(self.into, turned(keys)),
            *_searching(len(self.members.size)),
        )
        done, merges = insert_edges(graph, keys, 0, False, UNBOUNDED)
        if done < len(keys):
            _, merges = insert_edges(graph, keys, done, True, UNBOUNDED)
        return graph, merges


def shipped(graph: Graph) -> Shipped:
    """Return what a task needs of the working graph; nothing is copied, the pools end where they are used."""
    out, into = (rows._replace(values=rows.values[: rows.used[0]]) for rows in (graph.out, graph.into))
    return Shipped(graph.members, graph.free, graph.n_free, graph.order, out, into)


def longer(array: _Array, length: int) -> _Array:
    """Return a copy with zeros at the end."""
    found = np.zeros(length, array.dtype)
    found[: len(array)] = array
    return cast("_Array", found)


def padded(held: Stripes, count: int) -> Stripes:
    """Return the stripes with empty ones at the end, so that there are so many."""
    starts, lengths, places, numbers, words, width = held
    return Stripes(longer(starts, count), longer(lengths, count), longer(places, count), numbers, words, width)


def _searching(room: int) -> tuple[npt.NDArray[np.int8], Ids, Ids]:
    return np.zeros(room, np.int8), np.empty(room, np.int32), np.empty(room, np.int32)


def _roomy(rows: Adjacency, keys: Offsets) -> Adjacency:
    """Return a copy of the rows in a pool with room for these edges."""
    return moved(rows, _needed(rows, keys), len(rows.starts))


def _needed(rows: Adjacency, keys: Offsets) -> int:
    """Return how long a pool these edges need after the rows are `moved`, which leaves no row spare room."""
    held = int(rows.lengths.sum(dtype=np.int64))
    return held + reserve(rows._replace(rooms=rows.lengths), keys)


def _with_rows(rows: Adjacency, room: int) -> Adjacency:
    starts, lengths, rooms, values, used = rows
    return Adjacency(longer(starts, room), longer(lengths, room), longer(rooms, room), values, used)
