"""Stripes on Spark: a DataFrame of blocks.

A block is a range of consecutive stripes (``kernels.lanes.payload``), about a MiB of them. The driver knows where each
block begins and how many bytes each stripe takes; a block ends where the next one begins, and the last one has all
further stripes. They are rows ``first, origin, payload`` in layers (``blocks.layers``); when there are many layers, a
job that changes some blocks writes all of them into one layer. Blocks that a question has read stay at the driver
(``known``), also after a batch that did not replace them.

A layer keeps the plan by which Spark made it: when an executor is lost, Spark makes its blocks again, and no others.
Blocks that were *built* are made of the graph. Blocks that were *revised* are made of older blocks, and these of
older ones; after `MOST_REVISED` such steps they are built again, so that a plan stays short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.layers import Layer, Layers
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.workers import REPORT_TYPE, read_reports
from dyntc_spark.engines.lanes import in_process, tasks
from dyntc_spark.engines.lanes.graph import longer
from dyntc_spark.engines.lanes.known import Known
from dyntc_spark.engines.lanes.tasks import STRIPES, Overlay, Task, Telling
from dyntc_spark.kernels.ids import Flags, Ids, Offsets
from dyntc_spark.kernels.lanes import build, payload
from dyntc_spark.kernels.lanes.payload import Block
from dyntc_spark.kernels.lanes.stripes import Stripes
from dyntc_spark.lazy_pyspark import row_type
from dyntc_spark.session import ensure_open

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Ranges of stripes that tasks build, for each task that runs at a time.
RANGES = 8
#: Layers of blocks, above which all are written into one; and how often blocks are revised between two builds.
MOST_LAYERS, MOST_REVISED = 6, 2


class Blocks:
    """Stripes as blocks in layers; a value, of which a job makes another one."""

    def __init__(self, layers: Layers, sizes: Offsets, pairs: Offsets, known: Known | None = None) -> None:
        self.backend = layers.backend
        self.layers = layers
        self.sizes = sizes  #: bytes of each stripe
        self.pairs = pairs  #: pairs of vertices of different components of each stripe, when its block was written
        self.known = known or Known()  #: blocks that are at the driver, too

    @classmethod
    def nothing(cls, backend: SparkBackend, count: int = 0) -> Blocks:
        """Return so many empty stripes."""
        return cls(Layers(backend, "first"), np.zeros(count, np.int64), np.zeros(count, np.int64))

    @property
    def firsts(self) -> Offsets:
        """The first stripe of each block, ascending."""
        return self.layers.keys

    @classmethod
    def built(
        cls, backend: SparkBackend, plan: build.Plan, sizes: Ids, width: int, count: int
    ) -> tuple[Blocks, dict[int, int]]:
        """Build the stripes of an acyclic graph, whose components have ``sizes``: one job; return also its counts."""
        total = -(-len(plan.indices) // width)
        nothing = cls.nothing(backend, count)
        if not total:
            return nothing, {tasks.BUILT: 0}
        step = -(-total // (RANGES * backend.parallelism * build.TOGETHER)) * build.TOGETHER
        begins = np.arange(0, total, step)
        ends = np.minimum(begins + step, total)
        return nothing._with_built(plan, sizes, width, begins, ends)  # noqa: SLF001  (one of us)

    def rebuilt(self, plan: build.Plan, sizes: Ids, width: int, which: Ids) -> tuple[Blocks, dict[int, int]]:
        """Build the blocks anew that some stripes are in: one job; return also its counts."""
        if not len(self.firsts):
            return Blocks.built(self.backend, plan, sizes, width, len(self.sizes))
        firsts, ends = self.rewritable(which), self.ends
        return self._with_built(plan, sizes, width, firsts, np.array([ends[first] for first in firsts.tolist()]))

    def _with_built(
        self, plan: build.Plan, sizes: Ids, width: int, begins: Offsets, ends: Offsets
    ) -> tuple[Blocks, dict[int, int]]:
        """Build ranges of stripes; blocks that begin there are replaced.

        A task takes ranges that follow each other in the list, and neighbours take about the same time: so those
        that lie side by side are far from each other in the list.
        """
        step = self.backend.parallelism
        order = np.concatenate([np.arange(k, len(begins), step) for k in range(step)])
        ranges = list(zip(begins[order].tolist(), ends[order].tolist(), strict=True))
        task = tasks.building(plan, sizes, width, in_process.BLOCK_BYTES, ranges)
        ensure_open(self.backend.spark)
        made = self.backend.spark.range(len(ranges)).mapInArrow(task, row_type(STRIPES))
        return self._with_layer("build stripes", made, begins, 0)

    @property
    def ends(self) -> dict[int, int]:
        """The stripe after the last of each block, by its first."""
        return dict(pairwise(np.append(self.firsts, len(self.sizes)).tolist()))

    def padded(self, count: int) -> Blocks:
        """Return the blocks of more stripes; the new ones are empty."""
        return Blocks(self.layers, longer(self.sizes, count), longer(self.pairs, count), self.known)

    def overlay(self, which: Ids, made: Stripes) -> Overlay:
        """Return what a task needs to see some stripes as they are here."""
        return Overlay(which, made, self.ends, len(self.sizes))

    def touched(self, which: Ids) -> Offsets:
        """Return where the blocks begin that stripes are in."""
        if not len(self.firsts):
            return self.firsts
        places = np.maximum(np.searchsorted(self.firsts, which, "right") - 1, 0)
        found: Offsets = self.firsts[np.unique(places)]
        return found

    def inside(self, firsts: Offsets) -> Flags:
        """Return which stripes are in the blocks that begin at ``firsts``; all where there is no block yet."""
        found, ends = np.full(len(self.sizes), not len(self.firsts)), self.ends
        for first in firsts.tolist():
            found[first : ends[first]] = True
        return found

    def read(self, which: Ids) -> Stripes:
        """Bring stripes here, which ascend: one job that reads the blocks they are in, if any is not known."""
        found = [Block.decode(each).stripes for _, each in self.told("read stripes", tasks.reading(which), which)]
        return joined(found) if found else payload.picked(payload.absent(1, 1), which[:0])

    def rewritable(self, which: Ids) -> Offsets:
        """Return the blocks that a job writes which changes some stripes: all when there are many layers."""
        return self.firsts if len(self.layers) >= MOST_LAYERS else self.touched(which)

    def revised(self, firsts: Offsets) -> int:
        """Return how often the blocks that begin at ``firsts`` were revised since a build, at most."""
        return max((layer.revised for layer in self.layers.holding(firsts)), default=0)

    def replaced(self, what: str, task: Task, firsts: Offsets) -> tuple[Blocks, dict[int, int]]:
        """Let a task make other blocks of those that begin at ``firsts``: one job; return also what it counted."""
        return self._with_layer(
            what, self.layers.rows(firsts).mapInArrow(task, row_type(STRIPES)), firsts, 1 + self.revised(firsts)
        )

    def _with_layer(self, what: str, made: DataFrame, firsts: Offsets, revised: int) -> tuple[Blocks, dict[int, int]]:
        """Write a layer of blocks in the place of those that begin at ``firsts``."""
        each, ends = {tasks.SIZES: self.sizes.copy(), tasks.PAIRS: self.pairs.copy()}, self.ends
        for first in firsts.tolist():
            for found in each.values():
                found[first : ends.get(first, first)] = 0
        kept, told = self.backend.persist(what, made)
        begins, counts = _read(told, each)
        layers = self.layers.replaced(firsts, Layer(kept, begins, len(begins), revised))
        known = self.known.without([*firsts.tolist(), *begins.tolist()])
        return Blocks(layers, each[tasks.SIZES], each[tasks.PAIRS], known), counts

    def told(
        self, what: str, tell: Telling, which: Ids, most: int = 0, keep: int = 0
    ) -> Sequence[tuple[int, bytes | pa.Buffer]]:
        """Return what is told of the blocks that stripes are in: one job at most.

        By no job where the blocks are known. Where those that are not take at most ``most`` bytes, they are brought
        here, and up to ``keep`` bytes of blocks are known then. Otherwise tasks tell.
        """
        firsts = self.touched(which)
        blocks = self._near(firsts, most, keep)
        if blocks is None:
            return self.ask(what, tasks.telling(tell), which)
        return [each for first in firsts.tolist() for each in tell(blocks[first])]

    def _near(self, firsts: Offsets, most: int, keep: int) -> Mapping[int, Block] | None:
        """Return at least the blocks that begin at ``firsts``, all of them where these are few; None if too many."""
        known = self.known.blocks
        if all(first in known for first in firsts.tolist()):
            return known
        every, wanted = (np.setdiff1d(some, list(known)) for some in (self.firsts, firsts))
        for absent in (every, wanted) if self.sizes.sum() <= keep else (wanted,):
            if self.sizes[self.inside(absent)].sum() <= most:
                told = self.answers(self.backend.collect("read blocks", self.layers.rows(absent)))
                found = {first: Block.decode(each) for first, each in told}
                self.known.add(found, keep)
                return {**known, **found}
        return None

    def ask(self, what: str, task: Task, which: Ids | None = None) -> list[tuple[int, pa.Buffer]]:
        """Run a task on the blocks that stripes are in, or on all; return the answers by their keys."""
        firsts = self.firsts if which is None else self.touched(which)
        if not len(firsts):
            return []
        return self.answers(self.backend.collect(what, self.layers.rows(firsts).mapInArrow(task, row_type(STRIPES))))

    @staticmethod
    def answers(table: pa.Table) -> list[tuple[int, pa.Buffer]]:
        """Return what tasks answered, by keys, or raise the error that one of them reported."""
        if table.column("first").null_count:
            read_reports(table.filter(table.column("first").is_null()), ())
        found = (each.as_buffer() for each in table.column("payload"))
        return sorted(zip(table.column("first").to_pylist(), found, strict=True), key=lambda pair: pair[0])


def joined(parts: Iterable[Stripes]) -> Stripes:
    """Return stripes one behind the other."""
    found = list(parts)
    numbers, words = (
        np.cumsum([0, *(len(part.numbers) for part in found)]),
        np.cumsum([0, *(len(part.words) for part in found)]),
    )
    return Stripes(
        np.concatenate([part.starts + at for part, at in zip(found, numbers[:-1], strict=True)]),
        np.concatenate([part.lengths for part in found]),
        np.concatenate(
            [
                np.where(part.places < 0, part.places, part.places + at)
                for part, at in zip(found, words[:-1], strict=True)
            ]
        ),
        np.concatenate([part.numbers for part in found]),
        np.concatenate([part.words for part in found]),
        found[0].width,
    )


def _read(told: pa.Table, each: dict[int, Offsets]) -> tuple[Offsets, dict[int, int]]:
    """Return where blocks begin that were materialised, and what was counted; ``each`` gets what is told of stripes."""
    firsts = set()
    counts = dict.fromkeys((tasks.BUILT, tasks.LOOKED, tasks.CHANGED), 0)
    for reports in told.column("reports").to_pylist():
        for report in reports:
            what, key = report["operation"], report["key"]
            if what in each:
                found = np.frombuffer(report["payload"], np.int64)
                each[what][key : key + len(found)] = found
                firsts.add(key)
            else:
                counts[what] += key
    return np.array(sorted(firsts), np.int64), counts


def table_of(blocks: list[Block]) -> pa.Table:
    """Return blocks that are in this process as a table with the columns `STRIPES`."""
    firsts = pa.array([block.first for block in blocks], pa.int32())
    return pa.table(
        {
            "first": firsts,
            "origin": firsts,
            "payload": pa.array([block.encode() for block in blocks], pa.binary()),
            "reports": pa.nulls(len(blocks), REPORT_TYPE),
        }
    )
