"""The rows of a condensation on Spark: a DataFrame of stripes.

A stripe holds the rows of components with consecutive numbers (``kernels.stripe``),
about a MiB of them, so that a few rows are read from a few stripes. The driver
knows where each stripe begins and how long each row is; it condenses the graph and
hands each task a range of components with all that these reach
(``kernels.subgraph``), which the task closes by itself: one job, and no task reads
what another one wrote. Rows that changed meanwhile are an overlay at the driver;
`rewritten` brings them into the stripes that they touch, and leaves all others where
they are, in an older layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from dyntc_spark.blocks.lineage import Kept, looking
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.workers import REPORT_TYPE, read_reports
from dyntc_spark.closure import stripe_tasks
from dyntc_spark.closure.stored_rows import require
from dyntc_spark.closure.stripe_tasks import LENGTHS, PAIRS, STRIPES, Overlay
from dyntc_spark.kernels import subgraph
from dyntc_spark.kernels.reach import Flags, Ids, Offsets
from dyntc_spark.kernels.stripe import HEADER_SIZE, Stripe, offsets_of

#: Numbers in a stripe, about: a MiB.
STRIPE_NUMBERS = 2**18
#: A range of components that a task closes has so many at least, unless there are fewer.
LEAST_RANGE = 1024
#: Layers of stripes, above which all are rewritten into one.
MOST_LAYERS = 6


@dataclass(frozen=True)
class Layer:
    """Stripes that were written at the same time, and which of them are still in use."""

    kept: Kept
    firsts: frozenset[int]


class Stripes:
    """Rows of components, as stripes in layers; a value, of which a rewrite makes another."""

    def __init__(self, backend: SparkBackend, layers: tuple[Layer, ...], lengths: Ids) -> None:
        self.backend = backend
        self.layers = layers
        self.lengths = lengths  #: of each row
        self.firsts = np.array(sorted(first for layer in layers for first in layer.firsts), np.int64)
        self.numbers = int(lengths.sum(dtype=np.int64))  #: in all rows

    def __deepcopy__(self, memo: dict[int, Any]) -> Stripes:
        return self  # a value

    @property
    def bytes(self) -> int:
        """Bytes of all payloads."""
        return 4 * (self.numbers + len(self.lengths)) + HEADER_SIZE * len(self.firsts)

    @classmethod
    def closed(cls, backend: SparkBackend, offsets: Offsets, targets: Ids, sizes: Ids) -> tuple[Stripes, int]:
        """Close a condensation, given by the edges between its components: one job.

        Gives the stripes, and the number of pairs of vertices where components have these ``sizes``.
        """
        count = len(offsets) - 1
        if not count:
            return cls(backend, (), np.zeros(0, np.int32)), 0
        parts = subgraph.cut(offsets, targets, min(backend.parallelism, max(1, count // LEAST_RANGE)))
        table, close = stripe_tasks.parts_table(parts, sizes), stripe_tasks.closing(STRIPE_NUMBERS)
        made = backend.build("close stripes", table, lambda source: source.mapInArrow(close, STRIPES))
        layer, lengths, pairs = _layer(*made, count)
        return cls(backend, (layer,), lengths), pairs

    @classmethod
    def of_rows(cls, backend: SparkBackend, offsets: Offsets, heads: Ids) -> Stripes:
        """Take rows that are in this process: one job."""
        if len(offsets) == 1:
            return cls(backend, (), np.zeros(0, np.int32))
        stripes = list(Stripe(0, offsets, heads).cut(STRIPE_NUMBERS))
        kept, _ = backend.keep("stripes from this process", backend.spark.createDataFrame(_table(stripes)), {})
        layer = Layer(kept, frozenset(stripe.first for stripe in stripes))
        return cls(backend, (layer,), np.diff(offsets).astype(np.int32))

    @classmethod
    def stored(cls, backend: SparkBackend, frame: DataFrame, sizes: Ids) -> tuple[Stripes, int]:
        """Take stripes from storage, their column ``payload``: one job, which checks what they say.

        Gives also the number of pairs of vertices where components have these ``sizes``.
        """
        if not len(sizes):
            return cls(backend, (), np.zeros(0, np.int32)), 0
        made = frame.mapInArrow(stripe_tasks.admitting(sizes), STRIPES)
        layer, lengths, pairs = _layer(*backend.keep("take stored stripes", made, {}), len(sizes))
        require(bool((lengths[sizes > 0] > 0).all()), "rows", "a row of each component", "fewer")
        return cls(backend, (layer,), lengths), pairs

    def read(self, numbers: Ids) -> tuple[Offsets, Ids]:
        """Give the rows ``numbers``, which ascend, as offsets and heads: one job that reads the stripes they are in."""
        payloads = self._ask("read rows", stripe_tasks.reading(numbers), numbers)
        found = [Stripe.decode(payload) for _, payload in payloads]
        heads = [stripe.heads for stripe in found]
        return offsets_of(self.lengths[numbers]), np.concatenate([np.zeros(0, np.int32), *heads])

    def read_all(self) -> tuple[Offsets, Ids]:
        """Give all rows: one job."""
        return self.read(np.arange(len(self.lengths), dtype=np.int32))

    def holds(self, rows: Ids, columns: Ids) -> Flags:
        """Tell for each ``q`` whether row ``rows[q]`` holds ``columns[q]``: one job."""
        order = np.argsort(rows, kind="stable")
        answers = self._ask("query pairs", stripe_tasks.asking(rows[order], columns[order]), rows)
        found = np.empty(len(rows), np.bool_)
        found[order] = np.frombuffer(b"".join(bytes(payload) for _, payload in answers), np.bool_)
        return found

    def holders(self, numbers: Ids, count: int) -> tuple[Ids, Ids]:
        """Give the rows that hold one of ``numbers``, with that number: one job over all stripes."""
        wanted = np.zeros(count, np.bool_)
        wanted[numbers] = True
        return self._pairs("find holders", stripe_tasks.holding(wanted))

    def lacking(self, stale: Flags, offsets: Offsets, targets: Ids) -> tuple[Ids, Ids]:
        """Give the rows that lack something by these edges, with one number each: one job over all stripes."""
        return self._pairs("certify rows", stripe_tasks.certifying(stale, offsets, targets))

    def _pairs(self, what: str, task: Callable[..., Any]) -> tuple[Ids, Ids]:
        answers = self._ask(what, task, self.firsts.astype(np.int32))
        pairs = [np.frombuffer(payload, np.int32).reshape(2, -1) for _, payload in answers]
        rows, found = np.concatenate([np.zeros((2, 0), np.int32), *pairs], axis=1)
        return rows, found

    def rewritten(self, overlay: Overlay) -> Stripes:
        """Give the stripes with other rows for some numbers: one job that writes the stripes that these are in."""
        if not len(overlay.numbers):
            return self
        if not len(self.firsts):  # nothing was stored yet
            empty = Stripe(0, np.zeros(1, np.int64), np.zeros(0, np.int32)).replaced(*overlay)
            return Stripes.of_rows(self.backend, empty.offsets, empty.heads)
        everything = len(self.layers) >= MOST_LAYERS
        touched = self.firsts if everything else np.unique(self.firsts[self._places(overlay.numbers)])
        count = max(len(self.lengths), int(overlay.numbers[-1]) + 1)
        bounds = np.append(self.firsts, count)
        ends = dict(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        task = stripe_tasks.rewriting(overlay, ends, STRIPE_NUMBERS)
        made = self._frame(touched).mapInArrow(task, STRIPES)
        layer, lengths, _ = _layer(*self.backend.keep("rewrite stripes", made, {}), count)
        old = np.zeros(count, np.int32)
        old[: len(self.lengths)] = self.lengths
        for first in touched.tolist():
            old[first : ends[first]] = lengths[first : ends[first]]
        gone = frozenset(touched.tolist())
        left = (Layer(older.kept, older.firsts - gone) for older in self.layers)
        return Stripes(self.backend, (*(older for older in left if older.firsts), layer), old)

    def look(self) -> None:
        """Raise ``LostBlocksError`` where Spark has lost stripes: one job that moves nothing."""
        if self.layers:
            self.backend.collect("look for stripes", looking(layer.kept for layer in self.layers))

    def frame(self) -> DataFrame | None:
        """All stripes: ``first``, ``payload``; None when there are none."""
        return self._frame(self.firsts) if len(self.firsts) else None

    def _frame(self, firsts: Ids | Offsets) -> DataFrame:
        """The stripes that begin at ``firsts``, some of all."""
        wanted = frozenset(firsts.tolist())
        frames = [_where(layer.kept, layer.firsts & wanted) for layer in self.layers if layer.firsts & wanted]
        return reduce(DataFrame.unionAll, frames)

    def touched(self, numbers: Ids) -> int:
        """How many stripes these rows are in."""
        return len(np.unique(self._places(numbers)))

    def _places(self, numbers: Ids) -> Offsets:
        return np.searchsorted(self.firsts, numbers, "right") - 1

    def _ask(self, what: str, task: Callable[..., Any], numbers: Ids) -> list[tuple[int, pa.Buffer]]:
        """Run a task on the stripes that ``numbers`` are in; give the answers by their keys."""
        if not len(numbers) or not len(self.firsts):
            return []
        frame = self._frame(np.unique(self.firsts[self._places(numbers)]))
        table = self.backend.collect(what, frame.mapInArrow(task, STRIPES))
        if table.column("first").null_count:
            read_reports(table.filter(table.column("first").is_null()), ())
        payloads = (payload.as_buffer() for payload in table.column("payload"))
        return sorted(zip(table.column("first").to_pylist(), payloads, strict=True), key=lambda pair: pair[0])


def _where(kept: Kept, firsts: Iterable[int]) -> DataFrame:
    listed = ", ".join(map(str, sorted(firsts)))
    return kept.frame.where(f"first IN ({listed})")


def _layer(kept: Kept, answers: pa.Table, count: int) -> tuple[Layer, Ids, int]:
    """Return stripes that were materialised, the lengths of their rows by number, and the pairs that were reported."""
    lengths, firsts, pairs = np.zeros(count, np.int32), [], 0
    for reports in answers.column("reports").to_pylist():
        for report in reports:
            if report["operation"] == LENGTHS:
                found = np.frombuffer(report["payload"], np.int32)
                lengths[report["key"] : report["key"] + len(found)] = found
                firsts.append(report["key"])
            elif report["operation"] == PAIRS:
                pairs += report["key"]
    return Layer(kept, frozenset(firsts)), lengths, pairs


def _table(stripes: list[Stripe]) -> pa.Table:
    columns = {
        "first": pa.array([stripe.first for stripe in stripes], pa.int32()),
        "payload": pa.array([stripe.encode() for stripe in stripes], pa.binary()),
        "reports": pa.nulls(len(stripes), REPORT_TYPE),
    }
    return pa.table(columns)
