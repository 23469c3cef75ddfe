"""A batch that is worked on where the blocks are: each task brings its stripes from one graph to the next.

A task gets M, the graph without the deleted edges, and inserts the edges by itself (`graph.Shipped`). It
takes the steps of a batch on each block alone: a stripe never asks another stripe, and one that is absent only makes
the work a little less clever. Where the steps take more looks than a build of the block, it is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dyntc_spark.engines.lanes.build import UNBOUNDED, Recycled
from dyntc_spark.engines.lanes.graph import Shipped
from dyntc_spark.engines.lanes.tasks import CHANGED, LOOKED, Overlay, Row, Task, each_row, written
from dyntc_spark.kernels.ids import Offsets
from dyntc_spark.kernels.lanes import answers, build, payload, slots, steps
from dyntc_spark.kernels.lanes.graph import Merges, condensed
from dyntc_spark.kernels.lanes.payload import Block
from dyntc_spark.kernels.lanes.steps import Held, Lost
from dyntc_spark.kernels.lanes.stripes import Stripes

#: Looks that a block may take, however small it is, and for each that its part of a build takes.
LEAST_LOOKS, MOST_BUILDS = 4096, 2


class Work(NamedTuple):
    """What the tasks of a batch share."""

    graph: Shipped
    lost: Lost
    parts: Merges
    inserted: Offsets
    most_looks: int  #: that a build of all stripes takes
    overlay: Overlay
    size: int  #: bytes of a block, about


def revising(work: Work) -> Task:
    """Make the task that brings blocks to the next version."""

    def start() -> Row:
        workshop = Workshop(work)

        def run(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
            block = Block.decode(row["payload"])
            end = work.overlay.ends[block.first]
            held = work.overlay.placed(block)
            made, counts = workshop.revised(held, block.first, end)
            reports = tuple(zip((LOOKED, CHANGED), counts, strict=True))
            yield from written(made, block.first, end, work.size, workshop.weights, reports)

        return run

    return each_row(start)


class Workshop:
    """The graphs between which a task brings stripes, and space to work in."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._before = work.graph.graph()
        self._after, self._merges = work.graph.with_edges(work.inserted)
        self._tails = work.graph.members.component[work.inserted >> 32]
        self._scratch = slots.scratch(len(work.graph.members.size))
        self._plan: build.Plan | None = None
        self.weights = answers.weights(self._after.members.size)  #: after the batch

    def revised(self, held: Stripes, first: int, end: int) -> tuple[Stripes, tuple[int, int]]:
        """Shrink and grow the stripes of a block; return also how many words were looked at, and how many changed."""
        work, counts = self._work, self._scratch.counts
        counts[:] = 0
        part = (end - first) / max(work.overlay.total, 1)
        most = LEAST_LOOKS + int(MOST_BUILDS * part * work.most_looks)
        here = Held(held, (len(held.numbers), len(held.words)), Recycled())
        found = steps.shrink(self._before, here, work.lost, work.parts, self._scratch, most)
        if found.complete:
            changes = work.inserted, self._tails, work.parts, self._merges
            found = steps.grow(self._after, found.held, *changes, self._scratch, int(counts[slots.COST]) + most)
        held = found.held.stripes if found.complete else self._built(held, first, end)
        return held, (int(counts[slots.LOOKED]), int(counts[slots.CHANGED]))

    def _built(self, held: Stripes, first: int, end: int) -> Stripes:
        if self._plan is None:
            self._plan = build.Plan(*condensed(self._after))
        made, _ = build.build(self._plan, held.width, first, end, UNBOUNDED)
        return payload.overlaid(held, np.arange(first, end), made)
