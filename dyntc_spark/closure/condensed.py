"""A digraph with its condensation and its closure, changed in place by batches.

What ``kernels.refresh`` works on, with room for it to grow. A batch (`State.apply`)
writes only where nothing answers from: behind the rows in their pools, and into
scratch arrays. Its last step, one kernel that assigns, makes all of it valid at
once; before that, an exception costs some space and leaves the state as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.closure.components import UNBOUNDED, Components
from dyntc_spark.closure.edge_set import EdgeSet, answered, distinct
from dyntc_spark.closure.engine import Edges
from dyntc_spark.kernels import pool, reach, refresh, refresh_answers, refresh_rows, stripe, subgraph
from dyntc_spark.kernels.pool import Rows
from dyntc_spark.kernels.reach import Flags, Ids, Offsets
from dyntc_spark.kernels.refresh import EDGES, FREE, HEADS, PAIRS, Condensed, Part
from dyntc_spark.kernels.refresh_answers import Former

#: Garbage is squeezed out of a pool when it passes this part of the rows or edges, and so many numbers.
GARBAGE_IN_ROWS, GARBAGE_IN_EDGES, GARBAGE_LEAST = 1 / 32, 1 / 4, 4096
#: The rows that the last batch replaced are kept for questions about it, unless they are more than this part.
MOST_REPLACED = 1 / 4
#: A pool that is full grows by this part.
ROOM_PART = 64
#: Marks are int32; a batch uses a few for each component that it affects.
_LAST_MARK = 2**31 - 1

#: Which rows were written, where they begin and how long they are.
Revised: TypeAlias = tuple[Ids, Offsets, Ids]
#: From where on rows were written, which these are, and where those began that they replace and how long these were.
Replaced: TypeAlias = tuple[int, Ids, Offsets, Ids]


class Pool:
    """Rows of numbers, and how much of their pool is used."""

    def __init__(self, offsets: Offsets, values: Ids) -> None:
        self.rows = Rows(offsets[:-1].copy(), np.diff(offsets).astype(np.int32), _owned(values))
        self.used = len(values)

    def reserve(self, more: int) -> None:
        """Make room for so many numbers."""
        values = self.rows.values
        if self.used + more > len(values):
            _resize(values, max(self.used + more, len(values) + len(values) // ROOM_PART))

    def revise(self, inserted: Offsets, deleted: Offsets) -> tuple[Revised, Replaced]:
        """Write rows with changes, given as keys."""
        touched = distinct(np.concatenate([inserted, deleted]) >> 32).astype(np.int32)
        base, holes = self.used, (self.rows.starts[touched], self.rows.lengths[touched])
        self.reserve(int(holes[1].sum()) + len(inserted))
        starts, lengths = pool.revised(self.rows, self.used, touched, inserted, deleted)
        self.used = int(starts[-1] + lengths[-1]) if len(touched) else self.used
        return (touched, starts, lengths), (base, touched, *holes)

    def is_littered(self, live: int, part: float) -> bool:
        """Tell whether there is more garbage than this part of the ``live`` numbers in the rows."""
        return self.used - live > max(live * part, GARBAGE_LEAST)

    def compact(self) -> None:
        """Squeeze garbage out: one pass over the pool."""
        self.used = pool.compact(self.rows, self.used)

    def settle(self, base: int, moved: Ids, starts: Offsets, lengths: Ids) -> None:
        """Let the rows that were written from ``base`` on take the place of those that they replaced."""
        self.used = pool.settle(self.rows, base, moved, starts, lengths)

    def trim(self) -> None:
        """Give back room where it is more than a sixteenth of what is used."""
        if len(self.rows.values) > self.used + self.used // 16:
            _resize(self.rows.values, self.used + self.used // ROOM_PART)

    def add_rows(self, count: int) -> None:
        """Let there be this many rows; the new ones are empty."""
        _resize(self.rows.lengths, count)
        _resize(self.rows.starts, count)


@dataclass
class Scratch:
    """Arrays that a batch writes on and leaves clean; dropped when it fails."""

    place: Ids  #: by vertex: -1
    marks: Ids  #: by component: nothing above ``clock``
    clock: int = 0

    def cover(self, components: int) -> None:
        """Have marks for so many components."""
        if components > len(self.marks):
            self.marks, self.clock = np.zeros(components, np.int32), 0


class State:
    """A digraph, its condensation and its closure.

    Parameters
    ----------
    parts
        The digraph and its components.
    row_offsets, heads
        What each component reaches.
    pairs
        Number of pairs of vertices in the closure, a vertex with itself included.
    """

    def __init__(self, parts: Components, row_offsets: Offsets, heads: Ids, pairs: int) -> None:
        after, first = refresh.ring(parts.member_offsets, parts.members)
        self.rows, self.out = Pool(row_offsets, heads), Pool(parts.offsets, parts.targets)
        self.into = Pool(*reach.transposed(parts.offsets, parts.targets))
        self.graph = Condensed(
            component=_owned(parts.component),
            after=_owned(after),
            first=_owned(first),
            size=parts.sizes,
            free=np.flatnonzero(parts.sizes == 0).astype(np.int32),
            totals=np.array([pairs, len(parts.targets), len(heads), np.count_nonzero(parts.sizes == 0)]),
            rows=self.rows.rows,
            out=self.out.rows,
            into=self.into.rows,
        )
        self._scratch: Scratch | None = None
        self.affected = len(parts.component)
        self._replaced: Replaced | None = None
        self.room = UNBOUNDED  #: numbers that the rows which a batch builds may have in all

    @classmethod
    def kept(cls, parts: Components, row_offsets: Offsets, heads: Ids) -> State:
        """Take what components reach as it is known; count the pairs."""
        return cls(parts, row_offsets, heads, reach.pairs(row_offsets, heads, parts.member_offsets))

    @property
    def parts(self) -> Components:
        """The digraph and its components as they are now: one pass over both."""
        graph = self.graph
        return Components(*self.edges.adjacency(self.vertices), graph.component.copy(), *self.members())

    def members(self) -> tuple[Offsets, Ids]:
        """The members of each component, as offsets and vertices."""
        return reach.grouped(self.graph.component, len(self.graph.size))

    @property
    def component(self) -> Ids:
        """The component of each vertex."""
        return self.graph.component

    @property
    def largest(self) -> int:
        """Number of members of the largest component."""
        return int(self.graph.size.max(initial=0))

    @property
    def numbers(self) -> int:
        """How many numbers all rows have."""
        return int(self.graph.totals[HEADS])

    # --- questions ---------------------------------------------------------------------------

    def joined(self, pairs: Edges) -> Flags:
        """Tell for each pair of vertices whether the first reaches the second: a binary search each."""
        found = pool.joined(self.graph.component, *self.graph.rows, pairs.sources, pairs.targets)
        return answered(found, pairs, self.vertices)

    def descendants(self, vertices: Ids) -> tuple[Offsets, Ids]:
        """Give for each of ``vertices`` what it reaches, ascending, as offsets and vertices."""
        return refresh_answers.descendants(self.graph, vertices)

    def ancestors(self, vertices: Ids) -> tuple[Offsets, Ids]:
        """Give for each of ``vertices`` what reaches it, ascending: a search backwards for each component."""
        components, which = np.unique(self.graph.component[vertices], return_inverse=True)
        return refresh_answers.ancestors(self.graph, self.graph.first[components], which)

    def lacking(self) -> tuple[Ids, Ids]:
        """Give a vertex of each component whose row lacks something, and a vertex that it lacks."""
        numbers = np.flatnonzero(self.graph.size).astype(np.int32)
        edges = subgraph.contracted(*self.parts)
        found = stripe.lacking(numbers, *pool.taken(self.graph.rows, numbers), *edges, len(self.graph.size))
        return self.graph.first[found[0]], self.graph.first[found[1]]

    # --- changes -----------------------------------------------------------------------------

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.graph.component)

    @property
    def edges(self) -> EdgeSet:
        """The edges: one pass over them."""
        return EdgeSet(pool.keys(self.graph.out))

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return int(self.graph.totals[EDGES])

    @property
    def pairs(self) -> int:
        """Number of pairs of two different vertices of which one reaches the other."""
        return int(self.graph.totals[PAIRS]) - self.vertices

    @property
    def components(self) -> int:
        """Number of strongly connected components."""
        return len(self.graph.size) - int(self.graph.totals[FREE])

    @property
    def bytes(self) -> int:
        """What is held in memory."""
        arrays = [array for array in self.graph if isinstance(array, np.ndarray)]
        arrays += [array for held in (self.rows, self.out, self.into) for array in held.rows]
        arrays += [self._scratch.place, self._scratch.marks] if self._scratch else []
        return sum(array.nbytes for array in arrays)

    def tidy(self) -> int:
        """Forget what the last batch replaced; give how many pools had so much garbage that it was squeezed out."""
        if self._replaced is not None:
            replaced, self._replaced = self._replaced, None
            self.rows.settle(*replaced)
        edges, heads = (int(self.graph.totals[k]) for k in (EDGES, HEADS))
        limits = (edges, GARBAGE_IN_EDGES), (edges, GARBAGE_IN_EDGES), (heads, GARBAGE_IN_ROWS)
        compacted = 0
        for held, limit in zip((self.out, self.into, self.rows), limits, strict=True):
            if held.is_littered(*limit):
                held.compact()
                compacted += 1
            held.trim()
        return compacted

    def rest(self) -> None:
        """Do what had better be done between two batches; after `tidy`."""

    def apply(self, inserted: Offsets, deleted: Offsets, limit: int) -> Former | None:
        """Change the edges, given as ascending keys, after `tidy`; give what was replaced, which lasts until the next.

        None when more than ``limit`` vertices are affected, or their rows pass ``room``: then nothing has happened.
        """
        graph, scratch = self.graph, self._scratch or self._clean_scratch()
        self._scratch = None  # until it is clean again
        tails, former_tails = self.out.revise(inserted, deleted)
        heads, former_heads = self.into.revise(_turned(inserted), _turned(deleted))
        self._look(inserted, deleted)
        decisive, strained = refresh.decisive_tails(graph, inserted, deleted)
        if len(strained):
            decisive = np.append(decisive, self._broken(strained, tails, scratch))
        affected = refresh.ancestors(graph.into, decisive, scratch.place, limit)
        former = None
        if len(affected) <= limit and self._fetch(affected, tails, scratch):
            part, lost = self._part(affected, tails, scratch)
            base = self.rows.used
            gain = self._rebuild(part, scratch)
            if gain is None:
                self.rows.used = base
            else:
                former = self._former(part, lost)
                self._reserve_free(int(graph.totals[FREE]) + len(lost))
                self._replacing(part.numbers[part.altered])
                refresh_rows.commit(graph, part, lost, gain, tails, heads)
                self.affected = len(affected)
                self._replaced = base, part.numbers[part.altered], former.starts, former.lengths
                self.out.settle(*former_tails)
                self.into.settle(*former_heads)
        scratch.place[affected] = -1
        self._scratch = scratch
        return former

    def grow(self, vertices: int) -> None:
        """Add vertices without edges, each a component that reaches itself: linear in these; after `tidy`."""
        graph, known, extra = self.graph, self.vertices, vertices - self.vertices
        self._make_free(extra)
        self.rows.reserve(extra)
        for held in (self.out, self.into):
            held.add_rows(vertices)
        _resize(graph.after, vertices)
        self._scratch = None
        free, begin, end = int(graph.totals[FREE]), self.rows.used, self.rows.used + extra
        numbers, new = graph.free[free - extra : free], np.arange(known, vertices)
        _resize(graph.component, vertices)  # the last step that can fail: all else is out of sight without it
        graph.component[known:], graph.after[known:], graph.first[numbers] = numbers, new, new
        graph.rows.values[begin:end], graph.rows.starts[numbers] = numbers, np.arange(begin, end)
        graph.rows.lengths[numbers] = graph.size[numbers] = 1
        graph.totals[[PAIRS, HEADS, FREE]] += [extra, extra, -extra]
        self.rows.used = end

    def _look(self, inserted: Offsets, deleted: Offsets) -> None:
        """Have rows at hand that tell whether changes are harmless; a change of which none is at hand counts."""

    def _fetch(self, affected: Ids, tails: Revised, scratch: Scratch) -> bool:
        """Have the rows of the affected vertices at hand and those one step further; false when these are too many."""
        del affected, tails, scratch
        return True

    def _replacing(self, numbers: Ids) -> None:
        """Note that the rows ``numbers`` are about to be replaced."""

    def _broken(self, strained: Ids, tails: Revised, scratch: Scratch) -> Ids:
        """Give a member of each of these components that the batch breaks (rule ii)."""
        members = refresh.gathered(self.graph, strained)
        scratch.place[members] = np.arange(len(members))
        begins, ends = refresh.located(self.graph.out, members, scratch.place, *tails)
        piece, _ = reach.strong_components(*refresh.induced(self.graph.out.values, begins, ends, scratch.place))
        scratch.place[members] = -1
        return refresh.broken(self.graph, strained, members, piece)

    def _part(self, affected: Ids, tails: Revised, scratch: Scratch) -> tuple[Part, Ids]:
        """Find the components of the affected vertices and number them; give the numbers no longer in use, too."""
        graph = self.graph
        begins, ends = refresh.located(graph.out, affected, scratch.place, *tails)
        component, count = reach.strong_components(*refresh.induced(graph.out.values, begins, ends, scratch.place))
        member_offsets, members = reach.grouped(component, count)
        numbers, lost = refresh.kept_numbers(graph, affected, member_offsets, members)
        fresh: npt.NDArray[np.bool_] = numbers < 0
        new = int(np.count_nonzero(fresh))
        if new:
            self._make_free(new)
            scratch.cover(len(graph.size))
            free = int(graph.totals[FREE])
            numbers[fresh] = graph.free[free - new : free]
            graph.size[numbers[fresh]] = np.diff(member_offsets)[fresh]  # no row holds these numbers yet
        altered = fresh.copy()
        places = scratch.place[tails[0]]
        altered[component[places[places >= 0]]] = True
        starts, lengths = np.empty(count, np.int64), np.empty(count, np.int32)
        made = (begins, ends, component, member_offsets, members, numbers, fresh, altered, starts, lengths)
        return Part(affected, *made), lost

    def _rebuild(self, part: Part, scratch: Scratch) -> int | None:
        """Write the rows that change; give by how much pairs become more in them, or None when they pass ``room``."""
        done = more = 0
        last = self.rows.used + self.room
        while True:
            if scratch.clock > _LAST_MARK - refresh_rows.STAMPS * len(part.numbers):
                scratch.marks[:], scratch.clock = 0, 0
            done, self.rows.used, need, gain = refresh_rows.rebuild(
                done, self.graph, part, scratch.place, self.rows.used, scratch.marks, scratch.clock
            )
            scratch.clock += refresh_rows.STAMPS * len(part.numbers)
            more += gain
            if done == len(part.numbers):
                return more
            if self.rows.used + need > last:
                return None
            self.rows.reserve(need)

    def _former(self, part: Part, lost: Ids) -> Former:
        """Note what the batch is about to replace."""
        rows, changed = self.graph.rows, part.altered[part.component]
        vertices, moved = part.vertices[changed], part.vertices[part.fresh[part.component]]
        was = self.graph.component[moved]
        moved = moved[np.argsort(was, kind="stable")]
        lost = np.sort(lost)
        numbers = np.append(lost, part.numbers[part.altered & ~part.fresh])
        offsets = np.append(0, np.cumsum(self.graph.size[lost], dtype=np.int64))
        order = np.argsort(vertices)
        former = self.graph.component[vertices][order]
        return Former(vertices[order], former, moved, numbers, offsets, rows.starts[numbers], rows.lengths[numbers])

    def _make_free(self, count: int) -> None:
        """Let so many component numbers be free: new ones have empty rows and no members."""
        graph, free, known = self.graph, int(self.graph.totals[FREE]), len(self.graph.size)
        extra = count - free
        if extra > 0:
            self._reserve_free(count)
            self.rows.add_rows(known + extra)
            _resize(graph.first, known + extra)
            graph.free[free:count] = np.arange(known, known + extra)
            _resize(graph.size, known + extra)
            graph.totals[FREE] = count

    def _reserve_free(self, count: int) -> None:
        """Make room for so many free component numbers."""
        if count > len(self.graph.free):
            _resize(self.graph.free, 2 * count)

    def _clean_scratch(self) -> Scratch:
        return Scratch(np.full(self.vertices, -1, np.int32), np.zeros(len(self.graph.size), np.int32))


def _turned(keys: Offsets) -> Offsets:
    """Give the keys of the edges in the other direction, ascending."""
    return np.sort((keys << 32) | (keys >> 32))


def _owned(array: Ids) -> Ids:
    """Give an array that can be resized: one that owns its memory, as those that kernels return do not."""
    return array if array.flags.owndata else array.copy()


def _resize(array: npt.NDArray[np.generic], length: int) -> None:
    """Make an array longer in place, by zeros, or shorter; nobody holds views of it."""
    array.resize(length, refcheck=False)
