"""A digraph and its condensation at the driver, its closure on Spark.

The edges and the components are few beside the closure. They stay in this process,
where a search takes microseconds; the rows are stripes on Spark (``stripes``). The
pool of rows (``condensed``) holds only some of them: those that a batch has replaced,
an overlay on the stripes, and those that were needed lately. A row that is at hand
is right; one that is not is right in its stripe.

A batch is that of ``condensed.State``, which needs these rows at hand:

- some that tell whether a change is harmless. A row can be had by a search over the
  edges, too; that is done as far as it costs less than a job, and a change about
  which nothing is known counts as decisive, which is never wrong;
- the old rows of the affected vertices and the rows one step further: by searches
  where these cost less than a job, else by one job that reads the stripes they are in.

When the overlay has grown, one more job writes it into the stripes that it touches.
So a batch starts two jobs at most, and most often none.
"""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.closure.components import Components
from dyntc_spark.closure.condensed import Revised, Scratch, State
from dyntc_spark.closure.edge_set import EdgeSet, checked
from dyntc_spark.closure.engine import Edges
from dyntc_spark.closure.stripe_tasks import Overlay
from dyntc_spark.closure.stripes import Stripes
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels import pool, refresh, refresh_answers, stripe, subgraph
from dyntc_spark.kernels.pool import Rows
from dyntc_spark.kernels.reach import Flags, Ids, Offsets
from dyntc_spark.kernels.refresh import FREE, HEADS

#: What a job costs, and what each stripe costs that it reads, in steps of a search at the driver: some 10 ns each.
JOB_STEPS, STRIPE_STEPS = 10**7, 4 * 10**5
#: Numbers of an overlay, above which it is written into the stripes: 32 MiB.
OVERLAY_NUMBERS = 2**23
#: Rows at hand, above which those that are in stripes as well are dropped: this part of all, and so many numbers
#: at least (4 MiB) and at most (64 MiB).
HAND_PART, HAND_LEAST, HAND_NUMBERS = 1 / 32, 2**20, 2**24
#: Numbers of rows that a batch may read or build at the driver; with more, the closure is built again on Spark.
BATCH_NUMBERS = 2**24
#: Ancestors of so many components are searched for at the driver; those of more by a job.
SEARCHED_COMPONENTS = 256
_LAST_MARK = 2**31 - 1


class FarState(State):
    """A digraph and its condensation in this process, the rows of its closure on Spark.

    Parameters
    ----------
    parts
        The digraph and its components.
    stripes
        The rows.
    pairs
        Number of pairs of vertices in the closure, a vertex with itself included.
    """

    def __init__(self, parts: Components, stripes: Stripes, pairs: int) -> None:
        count = len(parts.member_offsets) - 1
        super().__init__(parts, np.zeros(count + 1, np.int64), np.zeros(0, np.int32), pairs)
        self.stripes = stripes
        self._stale = np.zeros(count, np.bool_)  # which rows of stripes are not valid
        self._seen, self._clock = np.zeros(count, np.int32), 0
        self.room = BATCH_NUMBERS

    @classmethod
    def build(cls, backend: SparkBackend, edges: EdgeSet, vertices: int) -> FarState:
        """Condense a digraph here and close it on Spark: one job."""
        parts = Components.of(edges, vertices)
        return cls(parts, *Stripes.closed(backend, *subgraph.contracted(*parts), parts.sizes))

    @classmethod
    def moved(cls, state: State, backend: SparkBackend) -> FarState:
        """Take the rows of a state in this process to Spark: one job; nothing is worked out again."""
        rows = state.graph.rows
        which = np.arange(len(rows.starts), dtype=np.int32)
        taken = pool.taken(rows, which)
        return cls(state.parts, Stripes.of_rows(backend, *taken), state.pairs + state.vertices)

    @classmethod
    def stored(cls, parts: Components, backend: SparkBackend, frame: DataFrame) -> FarState:
        """Take rows from storage, stripes in the column ``payload``: one job; nothing is worked out again."""
        return cls(parts, *Stripes.stored(backend, frame, parts.sizes))

    def folded(self) -> DataFrame | None:
        """All rows as stripes, ``first`` and ``payload``, the overlay among them: one job, if there is one."""
        overlay = self.overlay()
        if len(overlay.numbers):
            self.stripes, self._stale[overlay.numbers] = self.stripes.rewritten(overlay), False
        return self.stripes.frame()

    def near(self) -> State:
        """Give the same state with all rows in this process: one job."""
        offsets, heads = self.every_row()
        return State(self.parts, offsets, heads, self.pairs + self.vertices)

    def every_row(self) -> tuple[Offsets, Ids]:
        """All rows, by component, as offsets and heads: one job."""
        stored = stripe.Stripe(0, *self.stripes.read_all())
        merged = stored.replaced(*self.overlay())
        lengths = np.diff(merged.offsets)
        lengths[self.graph.size[: len(lengths)] == 0] = 0  # numbers that are free now
        kept = np.repeat(lengths > 0, np.diff(merged.offsets))
        full = np.zeros(len(self.graph.size), np.int32)
        full[: len(lengths)] = lengths
        return stripe.offsets_of(full), merged.heads[kept]

    @property
    def numbers(self) -> int:
        """How many numbers the rows have, about."""
        return max(super().numbers, self.stripes.numbers)

    @property
    def bytes(self) -> int:
        """What is held: in this process, and on Spark."""
        return super().bytes + self.stripes.bytes

    # --- rows at hand ------------------------------------------------------------------------

    def overlay(self) -> Overlay:
        """The rows that are not in stripes."""
        self._cover()
        count = len(self.graph.rows.lengths)
        numbers = np.flatnonzero(self._stale[:count] & (self.graph.rows.lengths > 0)).astype(np.int32)
        return Overlay(numbers, *pool.taken(self.graph.rows, numbers))

    def stale(self) -> Flags:
        """Which rows of stripes are not valid, by component; those of numbers that are not in use included."""
        self._cover()
        stale: Flags = self._stale[: len(self.graph.size)] | (self.graph.size == 0)
        return stale

    def tidy(self) -> int:
        """Forget what the last batch replaced; when there is much at hand, keep only the overlay."""
        compacted = super().tidy()
        if self.graph.totals[HEADS] > self._hand:
            self._drop()
        return compacted

    def rest(self) -> None:
        """Write the overlay into the stripes when it is large: one job at most; after `tidy`."""
        if self.graph.totals[HEADS] > OVERLAY_NUMBERS:
            overlay = self.overlay()
            if len(overlay.heads) > OVERLAY_NUMBERS:
                stripes = self.stripes.rewritten(overlay)
                self.stripes, self._stale[overlay.numbers] = stripes, False
                self._drop()

    def _drop(self) -> None:
        """Keep only the overlay at hand; after `tidy`."""
        self._cover()
        lengths = self.graph.rows.lengths
        clean = ~self._stale[: len(lengths)]
        self.graph.totals[HEADS] -= int(lengths[clean].sum(dtype=np.int64))
        lengths[clean] = 0
        self.rows.compact()
        self.rows.trim()

    @property
    def _hand(self) -> int:
        """How many numbers may be at hand."""
        return min(HAND_NUMBERS, max(HAND_LEAST, int(HAND_PART * self.stripes.numbers)))

    def _make_room(self) -> None:
        """Keep only the overlay at hand when there is much, unless what the last batch replaced may be asked for."""
        if self.graph.totals[HEADS] > self._hand and self._replaced is None:
            self._drop()

    def _absent(self, numbers: Ids) -> Ids:
        """Give those of ``numbers``, ascending and each once, whose rows are not at hand."""
        every = np.unique(numbers)
        absent: Ids = every[self.graph.rows.lengths[every] == 0]
        return absent

    def _steps(self, numbers: Ids) -> Offsets:
        """How many steps a search for each of these rows takes, about."""
        degree = 1 + len(self.graph.out.values) / max(self.vertices, 1)
        return (self.stripes.lengths[numbers] * degree).astype(np.int64) + 1

    def _is_cheap(self, absent: Ids) -> bool:
        """Tell whether searches for these rows cost less than a job that reads them."""
        job = JOB_STEPS + STRIPE_STEPS * self.stripes.touched(absent)
        few = self.stripes.lengths[absent].sum(dtype=np.int64) <= BATCH_NUMBERS
        return bool(few and self._steps(absent).sum() <= job)

    def bring(self, numbers: Ids) -> None:
        """Have these rows at hand: by searches where they cost less than a job, else by one job."""
        self._make_room()
        absent = self._absent(numbers)
        if self._is_cheap(absent):
            self._search(absent)
        else:
            offsets, heads = self.stripes.read(absent)
            self.rows.reserve(len(heads))
            self.rows.rows.values[self.rows.used : self.rows.used + len(heads)] = heads
            self._take(absent, offsets)

    def _search(self, absent: Ids) -> None:
        """Have rows at hand by searches over the edges."""
        self._cover()
        if self._clock > _LAST_MARK - len(absent) - 1:
            self._seen[:], self._clock = 0, 0
        lengths = self.stripes.lengths[absent]
        offsets = stripe.offsets_of(lengths)
        self.rows.reserve(int(offsets[-1]))
        right = subgraph.search(self.graph, absent, lengths, self.rows.used, self._seen, self._clock)
        self._clock += len(absent)
        if not right:
            raise DamagedBlockError(
                "rows on Spark as long as those that the edges give", "others", "Build the closure again with init."
            )
        self._take(absent, offsets)

    def _take(self, numbers: Ids, offsets: Offsets) -> None:
        """Let the rows that were written behind the pool's end be those of ``numbers``."""
        rows = self.graph.rows
        rows.starts[numbers] = self.rows.used + offsets[:-1]
        rows.lengths[numbers] = np.diff(offsets)
        self.rows.used += int(offsets[-1])
        self.graph.totals[HEADS] += offsets[-1]
        if self._replaced is not None:  # they lie behind what the last batch wrote, and move with it
            base, moved, starts, lengths = self._replaced
            self._replaced = base, np.append(moved, numbers), starts, lengths

    def _cover(self) -> None:
        """Have flags for every component number."""
        extra = len(self.graph.size) - len(self._stale)
        if extra > 0:
            self._stale = np.append(self._stale, np.ones(extra, np.bool_))
            self._seen = np.append(self._seen, np.zeros(extra, np.int32))

    # --- questions ---------------------------------------------------------------------------

    def joined(self, pairs: Edges) -> Flags:
        """Tell for each pair of vertices whether the first reaches the second: one job at most."""
        known, component = checked(pairs, self.vertices), self.graph.component
        rows, columns = component[known.sources], component[known.targets]
        self._make_room()
        absent = self._absent(rows)
        if self._is_cheap(absent) and self.graph.totals[HEADS] <= 2 * HAND_NUMBERS:
            self._search(absent)
        found = pool.holds_each(self.graph.rows, rows, columns)
        there = self.graph.rows.lengths[rows] == 0
        found[there] = self.stripes.holds(rows[there], columns[there])
        return found

    def descendants(self, vertices: Ids) -> tuple[Offsets, Ids]:
        """Give for each of ``vertices`` what it reaches, ascending: one job at most."""
        self.bring(self.graph.component[vertices])
        return super().descendants(vertices)

    def ancestors(self, vertices: Ids) -> tuple[Offsets, Ids]:
        """Give for each of ``vertices`` what reaches it, ascending: searches backwards, or one job for very many."""
        components = np.unique(self.graph.component[vertices])
        if len(components) <= SEARCHED_COMPONENTS:
            return super().ancestors(vertices)
        count = len(self.graph.size)
        overlay = self.overlay()
        tails, numbers = self.stripes.holders(components, count)
        valid = ~self.stale()[tails]
        wanted = np.zeros(count, np.bool_)
        wanted[components] = True
        rows, more = stripe.holders(overlay.offsets, overlay.heads, wanted)
        numbers = np.concatenate([numbers[valid], more])
        tails = np.concatenate([tails[valid], overlay.numbers[rows]])
        order = np.argsort(numbers, kind="stable")
        lengths = np.bincount(numbers, minlength=count).astype(np.int32)
        columns = Rows(stripe.offsets_of(lengths)[:-1], lengths, tails[order])
        return refresh_answers.descendants(self.graph._replace(rows=columns), vertices)

    def lacking(self) -> tuple[Ids, Ids]:
        """Give a vertex of each component whose row lacks something, and a vertex that it lacks: one job."""
        edges, overlay, stale = subgraph.contracted(*self.parts), self.overlay(), self.stale()
        here = stripe.lacking(*overlay, *edges, len(stale))
        there = self.stripes.lacking(stale, *edges)
        wrong, missing = (np.concatenate(sides) for sides in zip(here, there, strict=True))
        return self.graph.first[wrong], self.graph.first[missing]

    # --- changes -----------------------------------------------------------------------------

    def grow(self, vertices: int) -> None:
        """Add vertices without edges: no job; after `tidy`."""
        extra = vertices - self.vertices
        self._make_free(extra)
        free = int(self.graph.totals[FREE])
        self._replacing(self.graph.free[free - extra : free])
        super().grow(vertices)

    def _look(self, inserted: Offsets, deleted: Offsets) -> None:
        """Search for rows that tell whether changes are harmless, shortest rows first, as far as a job's worth goes."""
        absent = self._absent(subgraph.asked(self.graph, inserted, deleted))
        steps = self._steps(absent)
        order = np.argsort(steps, kind="stable")
        cheap = order[np.cumsum(steps[order]) <= JOB_STEPS]
        self._search(np.sort(absent[cheap]))

    def _fetch(self, affected: Ids, tails: Revised, scratch: Scratch) -> bool:
        """Have the rows of the affected vertices at hand and those one step further: one job at most."""
        begins, ends = refresh.located(self.graph.out, affected, scratch.place, *tails)
        needed = subgraph.surroundings(self.graph, affected, begins, ends)
        if int(self.stripes.lengths[self._absent(needed)].sum(dtype=np.int64)) > BATCH_NUMBERS:
            return False
        self.bring(needed)
        return True

    def _replacing(self, numbers: Ids) -> None:
        self._cover()
        self._stale[numbers] = True
