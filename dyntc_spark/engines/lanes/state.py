"""A digraph and its closure in lanes, brought from one version to the next by batches.

The *working graph* is in this process and is changed in place by a batch: edges, members, order. The *closure* that
answers is not: stripes that change are written behind the others in their pool, and members are copied before the
first of them changes. Stripes that are not in this process are brought here, or worked on where they are
(`in_process`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dyntc_spark.edges import EdgeSet
from dyntc_spark.engines.lanes.build import UNBOUNDED, Recycled, numbered, pools
from dyntc_spark.engines.lanes.given_up import GivenUp
from dyntc_spark.engines.lanes.graph import (
    SPARE_PART,
    copied,
    enlarged,
    made_again,
    new_graph,
    padded,
    shipped,
    turned,
    with_room,
)
from dyntc_spark.engines.lanes.in_process import APART, BUILT, HERE, NONE, Batch, Change, Closure, Place, TooMany
from dyntc_spark.kernels.components import contracted, grouped, strong_components, without
from dyntc_spark.kernels.ids import Ids, Offsets
from dyntc_spark.kernels.lanes import batch, build, slots, steps, stripes
from dyntc_spark.kernels.lanes.adjacency import has, keys_in
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.graph import Graph, Merges, condensed, insert_edges, split
from dyntc_spark.kernels.lanes.order import put_below
from dyntc_spark.kernels.lanes.steps import Held, Lost
from dyntc_spark.kernels.lanes.stripes import ENTRY_BYTES, NUMBER_BYTES, Stripes

NOTHING = Merges(NONE, NONE)
#: Edges that may be looked at to repair the order: passes over the graph, and edges at least.
MOST_PASSES, LEAST_REPAIRS = 4, 1 << 16


class OrderGivenUp(Exception):  # noqa: N818  (no error: the closure is built anew)
    """To repair the order of the components takes longer than to build everything."""


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
    place
        Where the stripes are to be.
    budget
        Bytes that the stripes may take in this process; an ``OutgrownError`` above.
    """

    def __init__(self, edges: EdgeSet, vertices: int, width: int, place: Place, budget: int | None) -> None:
        adjacency = edges.adjacency(vertices)
        component, count = strong_components(*adjacency)
        members = grouped(component, count)
        begun = numbered(*contracted(*adjacency, component, *members), width)
        plan = begun.plan
        room = vertices + vertices // SPARE_PART + 16
        stripe_count = -(-room // width)
        self._budget = budget
        sizes = np.zeros(len(plan.indices), np.int32)
        sizes[plan.numbers] = np.diff(members[0])
        made = place.built(plan, sizes, width, stripe_count, budget, begun)
        #: Looks that a step of a batch may take before a build is cheaper.
        self.most_looks = max(made.looks, made.place.least_looks)
        self._graph = new_graph(adjacency, component, members, plan.numbers, room)
        self._unmade: EdgeSet | None = None  # the edges of the working graph, where that is still to be made
        version = Version(self.graph.members, padded(made.stripes, stripe_count), vertices, len(adjacency[1]))
        self._held = Closure(version, made.place), stripes.sizes(made.stripes)  # and what is used of its pools
        self._scratch = slots.scratch(room)
        self._pools = Recycled()
        self._deleting, self._inserting = GivenUp(), GivenUp()

    def take(self, version: Version, used: tuple[int, int], looks: int, edges: EdgeSet) -> None:
        """Let a closure answer that was made elsewhere, of these edges; ``used`` is of its pools.

        The working graph is made when it is first needed. ``looks``: about as many as a build takes.
        """
        self._held = Closure(version, self.closure.place), used
        self.most_looks = max(looks, self.closure.place.least_looks)
        self._unmade = edges

    @property
    def closure(self) -> Closure:
        """The closure that answers; it and what is used of its pools are replaced at once, for a batch may fail."""
        return self._held[0]

    @closure.setter
    def closure(self, other: Closure) -> None:
        self._held = other, self._used

    @property
    def _used(self) -> tuple[int, int]:
        """How many numbers and words of the pools are used, by older versions, too."""
        return self._held[1]

    @property
    def graph(self) -> Graph:
        """The working graph."""
        if self._unmade is not None:
            self.restore(self._unmade)
        return self._graph

    @graph.setter
    def graph(self, made: Graph) -> None:
        self._graph, self._unmade = made, None

    @property
    def version(self) -> Version:
        """The version that answers."""
        return self.closure.version

    @property
    def keys(self) -> Offsets:
        """The keys of the edges as the working graph has them, in no order."""
        return keys_in(self.graph.out)

    @property
    def bytes(self) -> int:
        """What the closure and the graph take, scratch space and free room left out; stripes elsewhere included."""
        graph, held = self.graph, self.version.stripes
        tuples = (graph.members, graph.order, graph.out, graph.into, held[:3])
        here = sum(array.nbytes for each in tuples for array in each if isinstance(array, np.ndarray))
        return here + self.pool_bytes + int(self.closure.place.byte_sizes(held)[held.lengths < 0].sum())

    @property
    def row_bytes(self) -> int:
        """What the stripes of the version take, without garbage."""
        return int(self.closure.place.byte_sizes(self.version.stripes).sum())

    @property
    def pool_bytes(self) -> int:
        """What is used of the pools, by stripes of older versions, too: known without a pass over them."""
        numbers, words = self._used
        return NUMBER_BYTES * numbers + (ENTRY_BYTES - NUMBER_BYTES) * words

    # --- batches -----------------------------------------------------------------------------

    def effect(self, inserted: Offsets, deleted: Offsets) -> tuple[Offsets, Offsets]:
        """Return a batch without what changes nothing; an edge on both sides is inserted."""
        out, into = self.graph.out, self.graph.into
        return inserted[~has(out, into, inserted)], without(deleted[has(out, into, deleted)], inserted)

    def apply(self, inserted: Offsets, deleted: Offsets) -> Change:
        """Change edges, given as ascending keys: insert such as are absent, and delete such as are there (`effect`).

        Stripes are revised, or all of them are built where that takes fewer looks at words. After an exception
        the closure is as it was, but the working graph must be made again (`restore`).
        """
        self._scratch.counts[:] = 0
        self._reserve(inserted)
        lost = steps.lose(self.graph, deleted, turned(deleted))
        parts = NOTHING
        if len(lost.broken):
            self._own_members()
            parts = split(self.graph, lost.broken)
        edges = self.version.edges + len(inserted) - len(deleted)
        if self._deleting.skips(len(deleted)) or self._inserting.skips(len(inserted)):
            return self._build(parts, inserted, edges)
        elsewhere = self._brought(lambda: self._concerned(lost, parts, inserted))
        if elsewhere is not None:
            return self._apart(Batch(self.graph, lost, parts, inserted, self.most_looks), elsewhere, edges)
        return self._here(lost, parts, inserted, edges)

    def _brought(self, concerned: Callable[[], Ids]) -> TooMany | None:
        """Have the stripes at hand that a batch concerns; return where they are when they are too many."""
        version, place = self.closure
        near = place.near(version.stripes, concerned)
        if isinstance(near, TooMany):
            return near
        held, used = near.stripes, self._used
        if held is not version.stripes:  # some were dropped
            used = stripes.sizes(held)
        if near.more is not None:
            held, used, _ = steps.brought(Held(held, used, self._pools), near.which, near.more)
        self._held = Closure(version._replace(stripes=held), near.place), used
        return None

    def _concerned(self, lost: Lost, parts: Merges, inserted: Offsets) -> Ids:
        """Return the stripes that a batch can change: those with a lane that reaches a changed tail in M.

        For a pair that is gone, or new, take a path of the old graph, or of the new one, up to the first edge on it
        that was deleted, or inserted. This much of the path is in M.
        """
        component = self.graph.members.component
        tails, heads = component[inserted >> 32], component[inserted & (2**32 - 1)]
        numbers = np.concatenate([component[lost.keys >> 32], parts.gone, tails[tails != heads]])
        held = self.version.stripes
        flags = np.zeros(len(held.starts), np.bool_)
        batch.concerned(self.graph, numbers, held.width, UNBOUNDED, flags)
        return np.flatnonzero(flags).astype(np.int32)

    def _here(self, lost: Lost, parts: Merges, inserted: Offsets, edges: int) -> Change:
        """Take the steps of a batch in this process, on the stripes that are at hand; build where one is given up."""
        scratch, held, altered = self._scratch, Held(self.version.stripes, self._used, self._pools), NONE
        if len(lost.keys) or len(parts.gone):
            shrunk = steps.shrink(self.graph, held, lost, parts, scratch, self.most_looks)
            self._deleting.note(len(lost.keys), complete=shrunk.complete)
            if not shrunk.complete:
                return self._build(parts, inserted, edges)
            held, altered = shrunk.held, shrunk.altered
        tails = self.graph.members.component[inserted >> 32]
        merges = self._insert(inserted)
        if len(inserted) or len(parts.gone):
            most = int(scratch.counts[slots.COST]) + self.most_looks
            grown = steps.grow(self.graph, held, inserted, tails, parts, merges, scratch, most)
            self._inserting.note(len(inserted), complete=grown.complete)
            if not grown.complete:
                return self._build_all(parts, merges, edges)
            held = grown.held
            altered = _both(altered, grown.altered, len(held.stripes.starts))
        place = self.closure.place.noted(altered, held.stripes, self.graph.members.size, self._plan)
        return self._changed(held.stripes, held.used, place, altered, (parts, merges), edges, HERE)

    def _build(self, parts: Merges, inserted: Offsets, edges: int) -> Change:
        """Insert edges, and build all stripes."""
        return self._build_all(parts, self._insert(inserted), edges)

    def _build_all(self, parts: Merges, merges: Merges, edges: int) -> Change:
        held, used, place = self._built()
        altered = np.arange(len(held.starts), dtype=np.int32)
        return self._changed(held, used, place, altered, (parts, merges), edges, BUILT)

    def _changed(
        self,
        held: Stripes,
        used: tuple[int, int],
        place: Place,
        altered: Ids,
        members: tuple[Merges, Merges],
        edges: int,
        made: str,
    ) -> Change:
        """Let other stripes answer, as the last step; return what changed."""
        before = self.closure
        after = Closure(Version(self.graph.members, held, before.version.vertices, edges), place)
        words, looked = self._scratch.counts[[slots.CHANGED, slots.LOOKED]].tolist()
        change = Change(before, after, altered, _changed(*members), words, looked, made)
        place.recount(change)
        self._held = after, used
        return change

    def _apart(self, work: Batch, elsewhere: TooMany, edges: int) -> Change:
        """Let the stripes be worked on where they are, and bring the graph here to the same state."""
        before, (which, place) = self.closure, elsewhere
        version = before.version
        found = place.apart(work, version.stripes, which)
        merges = self._insert(work.inserted)
        found = found or place.rebuilt(self._plan(), self.graph.members.size, version.stripes, which)
        after = Closure(Version(self.graph.members, found.stripes, version.vertices, edges), found.place)
        change = Change(before, after, found.altered, _changed(work.parts, merges), found.words, found.looked, APART)
        self.closure = after
        return change

    def _built(self) -> tuple[Stripes, tuple[int, int], Place]:
        """Build all stripes of the working graph, with the numbers that it has."""
        held = self.version.stripes
        count = len(held.starts)
        made = self.closure.place.built(self._plan(), self.graph.members.size, held.width, count, self._budget)
        self.most_looks = max(made.looks, made.place.least_looks)
        return padded(made.stripes, count), stripes.sizes(made.stripes), made.place

    def _plan(self) -> build.Plan:
        """Return the working graph without its cycles, with the numbers that it has."""
        return build.Plan(*condensed(self.graph))

    def moved(self, place: Place) -> State:
        """Return the state with its stripes in another place, with the numbers that they have. The graph is shared."""
        version, here = self.closure
        taken, there = place.taken(version.stripes, here, self._plan(), version.members.size)
        used = stripes.sizes(taken)
        held = stripes.compacted(taken, *pools(*used))  # batches write behind what is used
        other = copy.copy(self)
        other._held, other._pools = (Closure(version._replace(stripes=held), there), used), Recycled()  # noqa: SLF001
        return other

    def trial(self) -> State:
        """Return a state that begins where this one stands: a copy of the graph, and the same stripes.

        What a batch writes to it lies behind the stripes of this one, in the same pools, until this one writes there.
        """
        version, place = self.closure
        other = copy.copy(self)
        other.graph = shipped(self.graph).frozen().graph()
        other.closure = Closure(version._replace(members=other.graph.members), place)
        other._scratch, other._pools = slots.scratch(len(version.members.size)), Recycled()  # noqa: SLF001
        other._deleting, other._inserting = replace(self._deleting), replace(self._inserting)  # noqa: SLF001
        return other

    def restore(self, edges: EdgeSet) -> None:
        """Make the working graph again, of the edges that the closure has, after a batch that failed."""
        version = self.version
        self._scratch = slots.scratch(len(version.members.size))  # first: no kernel may see a larger graph without it
        self.graph = made_again(edges.adjacency(version.vertices), version.members, version.vertices)

    def grow(self, vertices: int) -> None:
        """Add vertices without edges: linear in these, and now and then in all."""
        graph, (version, place) = self.graph, self.closure
        if vertices > len(graph.stack):
            room = vertices + vertices // SPARE_PART + 16
            graph = self.graph = enlarged(graph, room)
            self._scratch = slots.scratch(room)
            count = -(-room // version.stripes.width)
            version = version._replace(members=graph.members, stripes=padded(version.stripes, count))
            place = place.padded(count)
        new = np.arange(version.vertices, vertices, dtype=np.int32)
        members = graph.members
        members.component[new] = members.after[new] = members.first[new] = new
        members.size[new] = 1
        put_below(graph.order, -1, new)
        self.closure = Closure(version._replace(vertices=vertices), place)

    def _reserve(self, inserted: Offsets) -> None:
        """Have room for edges."""
        out, into = with_room(self.graph.out, inserted), with_room(self.graph.into, turned(inserted))
        if out is not self.graph.out or into is not self.graph.into:
            self.graph = self.graph._replace(out=out, into=into)

    def _own_members(self) -> None:
        """Have members that no version uses."""
        if self.graph.members.size is self.version.members.size:
            self.graph = self.graph._replace(members=copied(self.graph.members))

    def _insert(self, keys: Offsets) -> Merges:
        """Insert edges into the working graph; `OrderGivenUp` when that takes longer than to begin anew."""
        most = max(MOST_PASSES * (self.version.vertices + self.version.edges + len(keys)), LEAST_REPAIRS)
        done, merges = insert_edges(self.graph, keys, 0, False, most)
        if 0 <= done < len(keys):
            self._own_members()
            done, merges = insert_edges(self.graph, keys, done, True, most)
        if done < 0:
            raise OrderGivenUp
        return merges


def _both(altered: Ids, more: Ids, total: int) -> Ids:
    """Return stripes, of so many, that are in one list or in the other, ascending."""
    if not len(altered) or not len(more):
        return altered if len(altered) else more
    flags = np.zeros(total, np.bool_)
    flags[altered] = flags[more] = True
    return np.flatnonzero(flags).astype(np.int32)


def _changed(parts: Merges, merges: Merges) -> Ids:
    """Return the components that have other members than before."""
    if not len(parts.gone) and not len(merges.gone):
        return NONE
    return np.unique(np.concatenate([*parts, *merges]))
