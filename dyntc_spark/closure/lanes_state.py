"""A digraph and its closure in lanes, brought from one version to the next by batches.

The *working graph* is changed in place by a batch: edges, members, order. The *version* that answers is not: stripes
that change are written behind the others in their pool, and members are copied before the first of them changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dyntc_spark.closure.edge_set import EdgeSet
from dyntc_spark.closure.lanes_build import UNBOUNDED, built, numbered, pools
from dyntc_spark.kernels.lanes import build, slots, steps, stripes
from dyntc_spark.kernels.lanes.adjacency import Adjacency, adjacency, keys_in, moved, reserve
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.graph import Graph, Members, Merges, condensed, insert_edges, split
from dyntc_spark.kernels.lanes.order import Order, ordered, put_below
from dyntc_spark.kernels.lanes.steps import Revised
from dyntc_spark.kernels.lanes.stripes import ENTRY_BYTES, NUMBER_BYTES, Stripes
from dyntc_spark.kernels.reach import Ids, Offsets, grouped, strong_components, transposed
from dyntc_spark.kernels.refresh import ring
from dyntc_spark.kernels.subgraph import contracted

#: Words that a step may look at, however little a build takes.
LEAST_LOOKS = 4096
#: Room for further vertices and edges, in parts of those that there are.
SPARE_PART = 16
_Array = TypeVar("_Array", bound=npt.NDArray[Any])
NONE = np.zeros(0, np.int32)
NOTHING = Merges(NONE, NONE)


class Change(NamedTuple):
    """What a batch changed: the version before, stripes that were written, components whose members are others."""

    before: Version
    altered: Ids
    changed: Ids
    words: int  #: words that changed
    looked: int  #: words that were looked at


@dataclass
class Rate:
    """How many words are looked at for a change, by what was seen of late.

    >>> rate = Rate()
    >>> rate.note(changes=10, looks=1000)
    >>> rate.expected(changes=4)
    200.0
    """

    looks: float = 0.0

    def note(self, changes: int, looks: int) -> None:
        """Take note of a step."""
        self.looks = (self.looks + looks / max(changes, 1)) / 2

    def expected(self, changes: int) -> float:
        """Return how many words are likely to be looked at."""
        return self.looks * changes

    def forget(self) -> None:
        """Expect a little less next time: a step that is never taken tells nothing."""
        self.looks *= 0.75


class State:
    """A digraph with its closure.

    Parameters
    ----------
    edges
        The edges at the beginning.
    vertices
        How many vertices there are.
    width
        Lanes of a stripe.
    budget
        Bytes that the stripes may take; an ``OutgrownError`` above.
    """

    def __init__(self, edges: EdgeSet, vertices: int, width: int, budget: int | None) -> None:
        offsets, targets = edges.adjacency(vertices)
        component, count = strong_components(offsets, targets)
        members = grouped(component, count)
        acyclic = contracted(offsets, targets, component, *members)
        plan = numbered(*acyclic, width)
        self._budget = UNBOUNDED if budget is None else budget
        made, looks = built(plan, width, self._budget)
        self.most_looks = max(looks, LEAST_LOOKS)  #: that a step of a batch may take before a build is cheaper
        room = vertices + vertices // SPARE_PART + 16
        self.graph = _graph((offsets, targets), component, members, plan, room)
        self._used = stripes.sizes(made)  # of the pools
        self.version = Version(self.graph.members, _padded(made, room), vertices, len(targets))
        self._scratch = slots.scratch(room)
        self._deleting, self._inserting = Rate(), Rate()

    @property
    def keys(self) -> Offsets:
        """The keys of the edges as the working graph has them, in no order."""
        return keys_in(self.graph.out)

    @property
    def bytes(self) -> int:
        """What is held in memory, scratch space left out."""
        graph = self.graph
        tuples = (graph.members, graph.order, graph.out, graph.into, self.version.stripes)
        return sum(array.nbytes for held in tuples for array in held if isinstance(array, np.ndarray))

    @property
    def row_bytes(self) -> int:
        """What the stripes of the version take, without garbage."""
        numbers, words = stripes.sizes(self.version.stripes)
        return ENTRY_BYTES * words + NUMBER_BYTES * (numbers - words)

    # --- batches -----------------------------------------------------------------------------

    def apply(self, inserted: Offsets, deleted: Offsets) -> Change:
        """Change edges, given as ascending keys.

        Stripes are revised, or all of them are built where that takes fewer looks at words. After an exception
        the version is as it was, but the working graph must not be used.
        """
        before, scratch = self.version, self._scratch
        scratch.counts[:] = 0
        self._reserve(inserted)
        lost = steps.lose(self.graph, deleted, _turned(deleted))
        parts = NOTHING
        if len(lost.broken):
            self._own_members()
            parts = split(self.graph, lost.broken)
        held: Stripes | None = before.stripes
        altered = more = NONE
        if len(lost.keys) or len(parts.gone):
            held, altered = self._revised(
                self._deleting,
                len(deleted),
                before.stripes,
                lambda most: steps.shrink(self.graph, before.stripes, lost, parts, scratch, most),
            )
        tails = self.graph.members.component[inserted >> 32]
        merges = self._insert(inserted)
        if held is not None and (len(inserted) or len(parts.gone)):
            shrunk = held
            held, more = self._revised(
                self._inserting,
                len(inserted) + len(parts.gone),
                shrunk,
                lambda most: steps.grow(self.graph, shrunk, inserted, tails, parts, merges, scratch, most),
            )
        if held is None:
            held, altered = self._built(), np.arange(len(before.stripes.starts), dtype=np.int32)
        edges = before.edges + len(inserted) - len(deleted)
        self.version = Version(self.graph.members, held, before.vertices, edges)
        if len(more):
            altered = np.union1d(altered, more) if len(altered) else more
        changed = np.unique(np.concatenate([*parts, *merges])) if len(parts.gone) or len(merges.gone) else NONE
        return Change(before, altered, changed, *scratch.counts[[slots.CHANGED, slots.LOOKED]].tolist())

    def _revised(
        self, rate: Rate, changes: int, held: Stripes, step: Callable[[int], Revised]
    ) -> tuple[Stripes | None, Ids]:
        """Take a step on the stripes; None where it had better be left to a build, as far as is known by now."""
        if rate.expected(changes) > self.most_looks:
            rate.forget()
            return None, NONE
        counts = self._scratch.counts
        begun = int(counts[slots.COST])
        revised = step(begun + self.most_looks)
        rate.note(changes, int(counts[slots.COST]) - begun)
        return (self._written(held, revised), revised.altered) if revised.complete else (None, NONE)

    def _built(self) -> Stripes:
        """Build all stripes of the working graph, with the numbers that it has."""
        made, looks = built(build.Plan(*condensed(self.graph)), self.version.stripes.width, self._budget)
        self.most_looks = max(looks, LEAST_LOOKS)
        self._used = stripes.sizes(made)
        return _padded(made, len(self.graph.stack))

    def grow(self, vertices: int) -> None:
        """Add vertices without edges: linear in these, and now and then in all."""
        graph, known = self.graph, self.version.vertices
        if vertices > len(graph.stack):
            room = vertices + vertices // SPARE_PART + 16
            graph = self.graph = _enlarged(graph, room)
            self._scratch = slots.scratch(room)
            self.version = self.version._replace(members=graph.members, stripes=_padded(self.version.stripes, room))
        new = np.arange(known, vertices, dtype=np.int32)
        members = graph.members
        members.component[new] = members.after[new] = members.first[new] = new
        members.size[new] = 1
        put_below(graph.order, -1, new)
        self.version = self.version._replace(vertices=vertices)

    def _reserve(self, inserted: Offsets) -> None:
        """Have room for edges."""
        out, into = _with_room(self.graph.out, inserted), _with_room(self.graph.into, _turned(inserted))
        if out is not self.graph.out or into is not self.graph.into:
            self.graph = self.graph._replace(out=out, into=into)

    def _own_members(self) -> None:
        """Have members that no version uses."""
        if self.graph.members.size is self.version.members.size:
            self.graph = self.graph._replace(members=Members(*(array.copy() for array in self.graph.members)))

    def _insert(self, keys: Offsets) -> Merges:
        done, merges = insert_edges(self.graph, keys, 0, False)
        if done < len(keys):
            self._own_members()
            _, merges = insert_edges(self.graph, keys, done, True)
        return merges

    def _written(self, held: Stripes, revised: Revised) -> Stripes:
        """Return the stripes with those that were revised, behind the others in the pools, or in new pools."""
        if not len(revised.altered):
            return held
        numbers, words = self._used
        more, more_words = len(revised.stripes.numbers), len(revised.stripes.words)
        if numbers + more > len(held.numbers) or words + more_words > len(held.words):
            numbers, words = stripes.sizes(held)
            held = stripes.compacted(held, *pools(numbers + more, words + more_words))
        self._used = numbers + more, words + more_words
        return steps.with_stripes(held, revised, numbers, words)


def _turned(keys: Offsets) -> Offsets:
    """Return the keys of the edges the other way round, ascending."""
    found: Offsets = np.sort((keys << 32) | (keys >> 32))
    return found


def _graph(
    edges: tuple[Offsets, Ids], component: Ids, members: tuple[Offsets, Ids], plan: build.Plan, room: int
) -> Graph:
    """Return the working graph, with room for so many vertices."""
    count, vertices = len(plan.numbers), len(component)
    after, first = ring(*members)
    numbers = np.arange(vertices, dtype=np.int32)
    sizes = np.zeros(room, np.int32)
    sizes[plan.numbers] = np.diff(members[0])
    firsts = np.zeros(room, np.int32)
    firsts[plan.numbers] = first
    out = adjacency(*edges, room)
    return Graph(
        Members(_longer(plan.numbers[component], room), _longer(after, room), firsts, sizes),
        _longer(numbers[count:], room),
        np.array([vertices - count]),
        ordered(plan.numbers, room),
        out,
        adjacency(*transposed(*edges), room),
        np.zeros(room, np.int8),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
    )


def _enlarged(graph: Graph, room: int) -> Graph:
    """Return the working graph with room for more vertices; the old arrays stay as they are."""
    labels, above, below, ends = graph.order
    return Graph(
        Members(*(_longer(array, room) for array in graph.members)),
        _longer(graph.free, room),
        graph.n_free,
        Order(_longer(labels, room), _longer(above, room), _longer(below, room), ends),
        _with_rows(graph.out, room),
        _with_rows(graph.into, room),
        np.zeros(room, np.int8),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
    )


def _with_room(rows: Adjacency, keys: Offsets) -> Adjacency:
    """Return the rows, in a longer pool if theirs has no room for these edges."""
    needed = int(rows.used[0]) + reserve(rows, keys)
    return rows if needed <= len(rows.values) else moved(rows, needed + needed // SPARE_PART, len(rows.starts))


def _with_rows(rows: Adjacency, room: int) -> Adjacency:
    starts, lengths, rooms, values, used = rows
    return Adjacency(_longer(starts, room), _longer(lengths, room), _longer(rooms, room), values, used)


def _longer(array: _Array, length: int) -> _Array:
    """Return a copy with zeros at the end."""
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return cast("_Array", longer)


def _padded(held: Stripes, room: int) -> Stripes:
    """Return the stripes with empty ones at the end, so that so many numbers have lanes."""
    count = -(-room // held.width)
    starts, lengths, places, numbers, words, width = held
    return Stripes(_longer(starts, count), _longer(lengths, count), _longer(places, count), numbers, words, width)
