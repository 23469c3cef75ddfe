"""Stripes on Spark: which of them are at hand in this process, and where a batch or a question works on the others.

The graph is in this process: vertices and edges, never anything of the size of the closure. The stripes are blocks on
Spark (``blocks``). Some of them are at hand as well:

- *clean* ones, which a batch has read. They are dropped when there is more than `HAND_BYTES` at hand;
- *dirty* ones, which a batch has changed. They are newer than their blocks. Every task that reads these is given
  them, until they take more than `DIRTY_BYTES`: then their blocks are built from the graph.

A batch first looks which stripes it concerns, by a search on the edges. If they are few it reads those that are not at
hand, by one job at most, and does the work here. The job also brings the other stripes of the blocks that it reads, or
all stripes, as far as these are few (`WHOLE_BYTES`): then later batches need no job. If the stripes that a batch
concerns are more than `HAND_BYTES`, one job does the work where they are (``revise``), or builds their blocks where
these were revised some times already. What a batch changed is a DataFrame (``difference``).

An answer that a user asked for by name is collected here, too: pairs of a question, rows of vertices. One job reads the
blocks that have stripes for it which are not at hand. These blocks are kept (``known``), up to `HAND_BYTES` of them, so
that the next question about them starts no job. If they are more than `WHOLE_BYTES`, tasks answer, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.block_table import BLOCKS
from dyntc_spark.blocks.columns import ROWS
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges, checked
from dyntc_spark.engines.lanes import blocks, in_process, tasks
from dyntc_spark.engines.lanes.blocks import Blocks, table_of
from dyntc_spark.engines.lanes.build import Begun, pools
from dyntc_spark.engines.lanes.graph import longer, shipped
from dyntc_spark.engines.lanes.in_process import (
    HERE,
    Apart,
    Batch,
    Built,
    Change,
    InProcess,
    Near,
    Place,
    TooMany,
    compared_stripes,
    exhibited,
    members_of,
    shown,
)
from dyntc_spark.engines.lanes.revise import Work, revising
from dyntc_spark.engines.lanes.runs import RUNS, several
from dyntc_spark.engines.lanes.tasks import Overlay, Telling
from dyntc_spark.kernels.ids import Flags, Ids, Offsets
from dyntc_spark.kernels.lanes import answers, build, certificate, payload, stripes
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.graph import Graph, condensed
from dyntc_spark.kernels.lanes.payload import Block
from dyntc_spark.kernels.lanes.stripes import Stripes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Bytes of stripes that may be at hand, and of those that are not in blocks yet. Blocks that questions have read may
#: take `HAND_BYTES` besides.
HAND_BYTES, DIRTY_BYTES = 2**26, 2**25
#: Bytes that a job brings beyond what is wanted: the whole state, or else all of the blocks that it reads. That takes
#: no longer than the job.
WHOLE_BYTES = 2**24
#: Blocks are built rather than revised where a build looks at fewer words for each byte that it writes. On a grid of
#: 10^10 pairs (0.6) a batch of 100 takes as long either way, and a batch of 10,000 a third of the time when built.
LOOKS_A_BYTE = 1
_HERE = InProcess()


@dataclass(frozen=True)
class OnSpark:
    """Stripes in blocks on Spark, some of them at hand."""

    stored: Blocks
    dirty: Flags  #: which stripes at hand are newer than those in blocks
    counted: Offsets  #: pairs of vertices of different components of each stripe, as it is now
    backend: str = "spark"
    least_looks: int = 2**24  # a job costs about as much

    @classmethod
    def nothing(cls, backend: SparkBackend) -> OnSpark:
        """Return a place without stripes."""
        return cls(Blocks.nothing(backend), np.zeros(0, np.bool_), np.zeros(0, np.int64))

    # --- batches -----------------------------------------------------------------------------

    def built(
        self, plan: build.Plan, sizes: Ids, width: int, count: int, budget: int | None, begun: Begun | None = None
    ) -> Built:
        """Build the stripes: one job; none of them is at hand then."""
        del budget, begun
        stored, counts = Blocks.built(self.stored.backend, plan, sizes, width, count)
        place = OnSpark(stored, np.zeros(count, np.bool_), stored.pairs)
        return Built(place._nowhere(width), place, counts[tasks.BUILT])

    def taken(self, held: Stripes, here: Place, plan: build.Plan, sizes: Ids) -> tuple[Stripes, Place]:
        """Build the stripes that are elsewhere, with the same numbers: one job, which is sent the graph only."""
        del here
        made = self.built(plan, sizes, held.width, len(held.starts), None)
        return made.stripes, made.place

    def near(self, held: Stripes, wanted: Callable[[], Ids]) -> Near | TooMany:
        """Have stripes at hand, unless they are too many: one job that reads those that are not."""
        sizes, here = self.byte_sizes(held), held.lengths >= 0
        full = int(sizes[here].sum()) > HAND_BYTES
        which = wanted() if full or not here.all() else in_process.NONE
        absent: Ids = which[~here[which]]
        if len(absent) and sizes[which].sum() > HAND_BYTES:
            return TooMany(which, self)
        stay = self.dirty.copy()
        stay[which] = True
        if len(absent):
            absent = self._beside(absent, sizes, here, stay)
        if sizes[here].sum() + sizes[absent].sum() > HAND_BYTES:
            clean = here & ~stay & (sizes > 0)
            held = payload.without(held, clean)
            held = stripes.compacted(held, *pools(*stripes.sizes(held)))
        return Near(held, absent, self.stored.read(absent) if len(absent) else None, self)

    def _beside(self, absent: Ids, sizes: Offsets, here: Flags, stay: Flags) -> Ids:
        """Return the stripes that a job brings for those ``absent``: more than these, if all fits that is to stay."""
        more = ~here
        if sizes.sum() > HAND_BYTES or sizes[more].sum() > WHOLE_BYTES:
            more &= self.stored.inside(self.stored.touched(absent))
        fits = sizes[more].sum() <= WHOLE_BYTES and sizes[more | stay].sum() <= HAND_BYTES
        return np.flatnonzero(more).astype(np.int32) if fits else absent

    def apart(self, batch: Batch, held: Stripes, which: Ids) -> Apart | None:
        """Work on stripes where they are: one job over the blocks they are in.

        None where to build them is no dearer than to read and write them, and after `MOST_REVISED` such jobs.
        """
        stored = self.stored
        firsts = stored.rewritable(which)
        if batch.most_looks < LOOKS_A_BYTE * stored.sizes.sum() or stored.revised(firsts) >= blocks.MOST_REVISED:
            return None
        inside = stored.inside(firsts)
        overlay = self._overlay(held, self.dirty & inside)
        work = Work(shipped(batch.graph).frozen(), *batch[1:], overlay, in_process.BLOCK_BYTES)
        after, counts = stored.replaced("revise stripes", revising(work), firsts)
        left, place = self._without(held, inside, after)
        return Apart(left, place, which, counts[tasks.CHANGED], counts[tasks.LOOKED])

    def rebuilt(self, plan: build.Plan, sizes: Ids, held: Stripes, which: Ids) -> Apart:
        """Build the blocks that stripes are in: one job."""
        inside = self.stored.inside(self.stored.rewritable(which))
        after, counts = self.stored.rebuilt(plan, sizes, held.width, which)
        left, place = self._without(held, inside, after)
        return Apart(left, place, which, 0, counts[tasks.BUILT])

    def _without(self, held: Stripes, inside: Flags, after: Blocks) -> tuple[Stripes, OnSpark]:
        """Return the stripes at hand without those of blocks that were made anew, and the place of the others."""
        left = payload.without(held, inside & (after.sizes > 0))
        left.lengths[inside & (after.sizes == 0)] = 0
        return left, self._written(inside, after)

    def _written(self, inside: Flags, after: Blocks) -> OnSpark:
        """Return the place of stripes of which those ``inside`` were written to blocks."""
        return OnSpark(after, self.dirty & ~inside, np.where(inside, after.pairs, self.counted))

    def noted(self, altered: Ids, held: Stripes, sizes: Ids, plan: Callable[[], build.Plan]) -> OnSpark:
        """Take note that stripes at hand have changed: one job when there are many, which builds their blocks."""
        dirty = self.dirty.copy()
        dirty[altered] = True
        noted = replace(self, dirty=dirty, counted=self.counted.copy())
        if not len(altered) or self.byte_sizes(held)[dirty].sum() <= DIRTY_BYTES:
            return noted
        which = np.flatnonzero(dirty).astype(np.int32)
        stored, _ = self.stored.rebuilt(plan(), sizes, held.width, which)
        return noted._written(self.stored.inside(self.stored.rewritable(which)), stored)  # noqa: SLF001  (one of us)

    def recount(self, change: Change) -> None:
        """Take note of how many pairs stripes have now that a batch has changed here: a pass over these.

        `noted` has made a place for it, which no version has yet.
        """
        if change.made != HERE:
            return
        which, version = compared_stripes(change), change.after.version
        self.counted[which] = answers.stripe_pairs(version.stripes, answers.weights(version.members.size), which)

    def padded(self, count: int) -> OnSpark:
        """Take note that there are more stripes."""
        dirty, counted = longer(self.dirty, count), longer(self.counted, count)
        return replace(self, stored=self.stored.padded(count), dirty=dirty, counted=counted)

    def byte_sizes(self, held: Stripes) -> Offsets:
        """Return how many bytes each stripe takes, here or in its block."""
        return np.where(held.lengths >= 0, payload.byte_sizes(held), self.stored.sizes)

    def whole(self, held: Stripes) -> Stripes:
        """Bring all stripes here: one job. For a closure that moves into this process."""
        absent = np.flatnonzero(held.lengths < 0).astype(np.int32)
        return payload.overlaid(held, absent, self.stored.read(absent)) if len(absent) else held

    def _nowhere(self, width: int) -> Stripes:
        """Return stripes of which none is at hand but the empty ones."""
        held = payload.absent(len(self.stored.sizes), width)
        held.lengths[self.stored.sizes == 0] = 0
        return held

    def _overlay(self, held: Stripes, which: Flags) -> Overlay:
        numbers = np.flatnonzero(which).astype(np.int32)
        return self.stored.overlay(numbers, payload.picked(held, numbers))

    # --- questions ---------------------------------------------------------------------------

    def joined(self, version: Version, pairs: Edges) -> Flags:
        """Return for each pair whether it is joined: one job at most for those whose stripes are not at hand."""
        known = checked(pairs, version.vertices)
        found = _HERE.joined(version, pairs)
        component, held = version.members.component, version.stripes
        rows, columns = component[known.sources], component[known.targets]
        there = np.flatnonzero((held.lengths[rows // held.width] < 0) & (rows != columns))
        if len(there):
            order = there[np.argsort(rows[there], kind="stable")]
            tell = tasks.asking(rows[order], columns[order])
            told = self._told("query pairs", tell, np.unique(rows[order] // held.width))
            found[order] = np.frombuffer(b"".join(bytes(each) for _, each in told), np.bool_)
        return found

    def _told(self, what: str, tell: Telling, which: Ids) -> Sequence[tuple[int, bytes | pa.Buffer]]:
        """Return what is told of the blocks that stripes are in, which are known then if they are few."""
        return self.stored.told(what, tell, which, min(WHOLE_BYTES, HAND_BYTES), HAND_BYTES)

    def lists(self, version: Version, vertices: Ids, forwards: bool) -> tuple[Offsets, Ids]:
        """Return what vertices reach, or what reaches them: one job at most, which tells only that."""
        if not (version.stripes.lengths < 0).any():
            return answers.lists(version, vertices, forwards)
        numbers = np.unique(version.members.component[vertices])
        offsets, found = self._rows(version, numbers) if forwards else self._columns(version, numbers)
        return answers.unfolded(version.members, vertices, numbers, offsets, found)

    def _rows(self, version: Version, numbers: Ids) -> tuple[Offsets, Ids]:
        """Return what components reach: one job at most for those whose stripes are not at hand."""
        held = version.stripes
        there = held.lengths[numbers // held.width] < 0
        most = len(held.starts) * held.width
        offsets, found = payload.rows_of(held, numbers, most)  # absent ones are empty
        if not there.any():
            return offsets, found
        asked: Ids = numbers[there]
        told = self._told("list rows", tasks.listing(asked, most), np.unique(asked // held.width))
        lengths, parts = np.diff(offsets), np.split(found, offsets[1:-1])
        places = np.flatnonzero(there)
        for at, each in told:
            rows = np.frombuffer(each, np.int32)
            count = int(rows[0])
            mine, sizes = places[at : at + count], rows[1 : 1 + count]
            lengths[mine] = sizes
            for place, part in zip(mine, np.split(rows[1 + count :], np.cumsum(sizes)[:-1]), strict=True):
                parts[place] = part
        return np.append(0, np.cumsum(lengths)), np.concatenate([in_process.NONE, *parts])

    def _columns(self, version: Version, numbers: Ids) -> tuple[Offsets, Ids]:
        """Return what reaches components: one job over all blocks."""
        told = self.stored.ask("find ancestors", tasks.holding(numbers, self.newer(version)))
        found = [np.frombuffer(each, np.int32).reshape(2, -1) for _, each in told]
        which, lanes = np.concatenate([np.zeros((2, 0), np.int32), *found], axis=1)
        counts = np.bincount(which, minlength=len(numbers))
        return np.append(0, np.cumsum(counts)), lanes[np.argsort(which, kind="stable")]

    def newer(self, version: Version) -> Overlay:
        """Return the stripes that are newer than their blocks."""
        return self._overlay(version.stripes, self.dirty)

    def pairs(self, version: Version) -> int:
        """Return how many pairs there are: whoever writes a stripe counts those of it. No job."""
        return answers.pairs_within(version.members.size) + int(self.counted.sum())

    def wrong(self, graph: Graph, version: Version) -> tuple[Offsets, int]:
        """Look whether every word is what its predecessors ask for: one job."""
        if not len(self.stored.firsts):
            return _HERE.wrong(graph, version)
        task = tasks.certifying(build.Plan(*condensed(graph)), self.newer(version))
        found = [np.frombuffer(each, np.int64) for _, each in self.stored.ask("certify", task)]
        missing = np.concatenate([np.zeros(0, np.int64), *(each[1:] for each in found)])
        return certificate.named(missing, version.members), sum(int(each[0]) for each in found)

    # --- frames ------------------------------------------------------------------------------

    def runs(self, version: Version) -> DataFrame:
        """Return the closure as `RUNS`: each task reads its blocks, and nothing is unfolded.

        Nobody need look whether Spark has the blocks: it makes those again that are lost.
        """
        frame, overlay = self.blocks_now(version)
        if frame is None:
            return self.stored.backend.spark.createDataFrame([], RUNS)
        return frame.mapInArrow(tasks.running(several(version.members), overlay), RUNS)

    def rows(self, version: Version) -> DataFrame:
        """Return the closure as ``number`` and ``reached``: each task unfolds its stripes."""
        frame, overlay = self.blocks_now(version)
        if frame is None:
            return self.stored.backend.spark.createDataFrame([], ROWS)
        return frame.mapInArrow(tasks.unfolding(version.members, overlay, version.vertices), ROWS)

    def blocks(self, version: Version, spark: SparkSession) -> DataFrame:
        """Return the blocks as they would be written now, and the members of components."""
        members = exhibited(shown("members", members_of(version)), spark)
        frame, overlay = self.blocks_now(version)
        if frame is None:
            return members
        firsts = np.array(sorted(overlay.ends))
        return frame.mapInArrow(tasks.exhibiting(firsts, overlay), BLOCKS).unionAll(members)

    def blocks_now(self, version: Version) -> tuple[DataFrame | None, Overlay]:
        """Return all blocks, and what is newer than these; None where there are no stripes."""
        stored, held = self.stored, version.stripes
        if len(stored.firsts):
            return stored.layers.rows(stored.firsts), self.newer(version)
        every = np.arange(len(held.starts), dtype=np.int32)
        overlay = Overlay(every[:0], payload.picked(held, every[:0]), {0: len(every)}, len(every))
        if not version.vertices:
            return None, overlay
        table: pa.Table = table_of([Block(0, payload.picked(held, every))])
        return stored.backend.spark.createDataFrame(table), overlay
