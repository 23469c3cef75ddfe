"""What Spark's workers do with stripes: close, read, search, rewrite and unfold them.

Each function here makes a function of Arrow batches that holds nothing but values, so
that Spark can ship it. A row is a stripe, ``first`` and ``payload`` (``kernels.stripe``),
and what a task tells the driver stands in ``reports``. Our own errors do not fail a
task: they are reported, and the driver raises them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.exhibit import BLOCKS_TYPE
from dyntc_spark.blocks.workers import ERROR, REPORT, REPORT_TYPE, Batches
from dyntc_spark.closure.stored_rows import cleared
from dyntc_spark.errors import DyntcError
from dyntc_spark.kernels import reach, stripe
from dyntc_spark.kernels.reach import Flags, Ids, Offsets
from dyntc_spark.kernels.stripe import Stripe
from dyntc_spark.kernels.subgraph import Subgraph

#: The columns of stripes that come out of a task.
STRIPES = f"first int, payload binary, reports {REPORT}"
ROWS = "number int, reached array<int>"
CODEC = "stripe"
LENGTHS, PAIRS = range(2)  #: reports: the lengths of a stripe's rows, and how many pairs of vertices are in it
_BATCH = 2**20  # numbers in a batch of unfolded rows


class Overlay(NamedTuple):
    """Rows that replace those of stripes: ``heads[offsets[k] : offsets[k + 1]]`` is the row of ``numbers[k]``."""

    numbers: Ids
    offsets: Offsets
    heads: Ids

    def within(self, begin: int, end: int) -> Overlay:
        """Give those with numbers from ``begin`` to ``end - 1``."""
        a, b = np.searchsorted(self.numbers, [begin, end])
        offsets = self.offsets[a : b + 1]
        return Overlay(self.numbers[a:b], offsets - offsets[0], self.heads[offsets[0] : offsets[-1]])


def parts_table(parts: Iterable[Subgraph], sizes: Ids) -> pa.Table:
    """Give ranges of components with what they reach, as rows for `closing`."""
    rows = [
        {
            "own": part.own,
            "by_search": part.by_search,
            "nodes": part.nodes.tobytes(),
            "sizes": sizes[part.nodes].tobytes(),
            "offsets": part.offsets.tobytes(),
            "targets": part.targets.tobytes(),
        }
        for part in parts
    ]
    binary = [(name, pa.binary()) for name in ("nodes", "sizes", "offsets", "targets")]
    return pa.Table.from_pylist(rows, pa.schema([("own", pa.int32()), ("by_search", pa.bool_()), *binary]))


def closing(numbers: int) -> Callable[[Batches], Batches]:
    """Make the task that closes ranges of components, and gives stripes of about so many ``numbers``."""

    def close(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        nodes, sizes, targets = (np.frombuffer(row[name], np.int32) for name in ("nodes", "sizes", "targets"))
        offsets = np.frombuffer(row["offsets"], np.int64)
        own = row["own"]
        ends, heads = Subgraph(nodes, own, offsets, targets, row["by_search"]).rows()
        weights = reach.weights(ends, heads, stripe.offsets_of(sizes))
        pairs = int(weights @ sizes[len(nodes) - own :])
        for found in Stripe(int(nodes[len(nodes) - own]), ends, nodes[heads]).cut(numbers):
            yield _row(found, pairs)
            pairs = 0

    return _each_row(close)


def rewriting(overlay: Overlay, ends: dict[int, int], numbers: int) -> Callable[[Batches], Batches]:
    """Make the task that gives stripes with the rows of an overlay, cut again where they are long by now.

    ``ends`` has the number after the last that belongs to each stripe, by its first.
    """

    def rewrite(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        old = Stripe.decode(row["payload"])
        new = old.replaced(*overlay.within(old.first, ends[old.first]))
        for found in new.cut(2 * numbers if len(new.heads) <= 2 * numbers else numbers):
            yield _row(found, 0)

    return _each_row(rewrite)


def admitting(sizes: Ids) -> Callable[[Batches], Batches]:
    """Make the task that takes stripes from storage, where components have these ``sizes``, or refuses them."""

    def admit(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        held = Stripe.decode(row["payload"])
        offsets, heads, pairs = cleared(held.first, held.offsets, held.heads, sizes)
        yield _row(Stripe(held.first, offsets, heads), pairs)

    return _each_row(admit)


def reading(wanted: Ids) -> Callable[[Batches], Batches]:
    """Make the task that gives the rows ``wanted``, which ascend; each stripe's are numbered by their places there."""

    def read(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        held = Stripe.decode(row["payload"])
        a, b = np.searchsorted(wanted, [held.first, held.first + held.rows])
        if a < b:
            found = stripe.taken(held.offsets, held.heads, wanted[a:b] - np.int32(held.first))
            yield _answer(int(a), Stripe(int(a), *found).encode())

    return _each_row(read)


def asking(rows: Ids, columns: Ids) -> Callable[[Batches], Batches]:
    """Make the task that tells whether row ``rows[q]``, ascending, holds ``columns[q]``, a byte each."""

    def ask(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        held = Stripe.decode(row["payload"])
        a, b = np.searchsorted(rows, [held.first, held.first + held.rows])
        if a < b:
            found = reach.holds(held.offsets, held.heads, rows[a:b] - np.int32(held.first), columns[a:b])
            yield _answer(int(a), found.tobytes())

    return _each_row(ask)


def holding(wanted: Flags) -> Callable[[Batches], Batches]:
    """Make the task that gives the rows that hold a wanted number, and then these numbers."""

    def look(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        held = Stripe.decode(row["payload"])
        rows, numbers = stripe.holders(held.offsets, held.heads, wanted)
        if len(rows):
            yield _answer(held.first, (rows + np.int32(held.first)).tobytes() + numbers.tobytes())

    return _each_row(look)


def certifying(stale: Flags, edge_offsets: Offsets, edge_targets: Ids) -> Callable[[Batches], Batches]:
    """Make the task that gives components whose rows lack something, and then what; those in ``stale`` are left out."""

    def look(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        held = Stripe.decode(row["payload"])
        numbers = np.arange(held.first, held.first + held.rows, dtype=np.int32)
        valid: Ids = numbers[~stale[held.first : held.first + held.rows]]
        rows = stripe.taken(held.offsets, held.heads, valid - np.int32(held.first))
        wrong, missing = stripe.lacking(valid, *rows, edge_offsets, edge_targets, len(stale))
        if len(wrong):
            yield _answer(held.first, wrong.tobytes() + missing.tobytes())

    return _each_row(look)


def unfolding(stale: Flags, member_offsets: Offsets, members: Ids) -> Callable[[Batches], Batches]:
    """Make the task that gives a row of vertices for each vertex, but for the components in ``stale``."""

    def task(batches: Batches) -> Batches:
        for batch in batches:
            for payload in batch.column("payload"):
                held = Stripe.decode(payload.as_buffer())
                inside = np.arange(held.first, held.first + held.rows)
                valid: Ids = inside[~stale[inside] & (np.diff(held.offsets) > 0)].astype(np.int32)
                rows = stripe.taken(held.offsets, held.heads, valid - np.int32(held.first))
                yield from unfolded(valid, *rows, member_offsets, members)

    return task


def unfolded(
    components: Ids, offsets: Offsets, heads: Ids, member_offsets: Offsets, members: Ids
) -> Iterator[pa.RecordBatch]:
    """Give the rows of components as rows of vertices, in batches."""
    begin = 0
    while begin < len(components):
        end = max(begin + 1, int(np.searchsorted(offsets, offsets[begin] + _BATCH, "right")) - 1)
        which = np.arange(begin, end, dtype=np.int32)
        ends, reached = reach.spread(which, offsets, heads, member_offsets, members)
        sizes = np.diff(member_offsets)[components[begin:end]]
        firsts = np.cumsum(sizes) - sizes
        places = np.repeat(member_offsets[components[begin:end]] - firsts, sizes) + np.arange(sizes.sum())
        yield from _listed(members[places], np.repeat(np.arange(end - begin, dtype=np.int32), sizes), ends, reached)
        begin = end


def showing(firsts: Offsets) -> Callable[[Batches], Batches]:
    """Make the task that shows stripes, which begin at ``firsts``, as blocks of the matrix ``rows``."""

    def task(batches: Batches) -> Batches:
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("first", "payload"))
            shown = [
                {"matrix": "rows", "bi": int(np.searchsorted(firsts, first)), "bj": 0, "codec": CODEC,
                 "nnz": len(Stripe.decode(payload).heads), "bytes": len(payload), "payload": payload}
                for first, payload in zip(*columns, strict=True)
            ]  # fmt: skip
            yield pa.RecordBatch.from_pylist(shown, BLOCKS_TYPE)

    return task


def _listed(vertices: Ids, which: Ids, offsets: Offsets, reached: Ids) -> Iterator[pa.RecordBatch]:
    """Give vertices with their lists, row ``which[k]`` each; members of one component have the same one."""
    lengths = np.cumsum(np.diff(offsets)[which])
    begin = 0
    while begin < len(vertices):
        so_far = lengths[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(lengths, so_far + _BATCH, "right")))
        ends, heads = stripe.taken(offsets, reached, which[begin:end])
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(heads))
        yield pa.RecordBatch.from_arrays([pa.array(vertices[begin:end]), lists], names=["number", "reached"])
        begin = end


def _each_row(run: Callable[[dict[str, Any]], Iterator[pa.RecordBatch]]) -> Callable[[Batches], Batches]:
    """Make a task that runs a function on each row; binary columns come as buffers, without a copy."""

    def task(batches: Batches) -> Batches:
        try:
            for batch in batches:
                for place in range(batch.num_rows):
                    values = {name: batch.column(name)[place] for name in batch.schema.names if name != "reports"}
                    yield from run({name: _value(value) for name, value in values.items()})
        except DyntcError as error:
            parts = [type(error).__name__, error.expected, error.came, error.remedy]
            report = {"operation": ERROR, "key": 0, "payload": json.dumps(parts).encode()}
            yield _batch([None], [None], [[report]])

    return task


def _value(scalar: pa.Scalar) -> Any:  # noqa: ANN401  (a number, a flag or a buffer)
    return scalar.as_buffer() if pa.types.is_binary(scalar.type) else scalar.as_py()


def _row(found: Stripe, pairs: int) -> pa.RecordBatch:
    lengths = np.diff(found.offsets).astype(np.int32).tobytes()
    reports = [{"operation": LENGTHS, "key": found.first, "payload": lengths}]
    if pairs:
        reports.append({"operation": PAIRS, "key": pairs, "payload": None})
    return _batch([found.first], [found.encode()], [reports])


def _answer(first: int, payload: bytes) -> pa.RecordBatch:
    return _batch([first], [payload], [None])


def _batch(firsts: list[Any], payloads: list[Any], reports: list[Any]) -> pa.RecordBatch:
    arrays = [pa.array(firsts, pa.int32()), pa.array(payloads, pa.binary()), pa.array(reports, REPORT_TYPE)]
    return pa.RecordBatch.from_arrays(arrays, names=["first", "payload", "reports"])
