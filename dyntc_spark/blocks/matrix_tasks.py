"""The tasks of Spark's workers that make, check and list matrices: products, blocks of entries, stored blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from dyntc_spark.blocks.local import check_block, duplicate
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.blocks.workers import (
    REPORT_TYPE,
    Batches,
    Columns,
    columns_of,
    coordinates_of,
    decode,
    decoded,
    error_batch,
    error_row,
    loader,
    payloads_of,
)
from dyntc_spark.errors import DyntcError, EntryValueError, IndexOutsideError
from dyntc_spark.kernels.accumulate import Accumulator
from dyntc_spark.kernels.block import Block


def transposing(kind: Kind, name: str) -> Callable[[Batches], Batches]:
    """Make the task that transposes blocks."""

    def task(batches: Batches) -> Batches:
        try:
            for batch in batches:
                columns = columns_of(batch)
                done = [
                    (bj, bi, kind.ring.encode(kind.ring.transpose(decoded(columns, "payload", kind, place, name))))
                    for place, (bi, bj) in enumerate(coordinates_of(columns))
                ]
                yield _cells(done)
        except DyntcError as error:
            yield _error_cell(error)

    return task


def multiplying(
    kind: Kind, factors: Kind, names: tuple[str, str], carried: tuple[str, ...]
) -> Callable[[Batches], Batches]:
    """Make the task of a product: the factors' blocks by inner index, then the cells of the output.

    Rows come sorted by ``part`` and ``inner``; ``side`` is 0 for a left block at
    block row ``bi``, 1 for a right one at block column ``bj``, and 2 for an
    output cell (its inner index is beyond all others) with the payloads it
    carries. Beside the sums of its part, a task holds one slice of the inner
    index at a time.
    """

    def task(batches: Batches) -> Batches:
        product = PartialProduct(kind)
        try:
            for batch in batches:
                columns = columns_of(batch)
                keys = (columns[key].to_pylist() for key in ("part", "inner", "side"))
                done, places = [], []
                for place, (part, inner, side, (bi, bj)) in enumerate(zip(*keys, coordinates_of(columns), strict=True)):
                    product.move_to((part, inner))
                    if side == 2:
                        done.append((bi, bj, product.take(bi, bj)))
                        places.append(place)
                    else:
                        line, at = (bj, (inner, bj)) if side else (bi, (bi, inner))
                        product.hold(side, line, decode(columns["payload"], factors, place, names[side], *at))
                if done:
                    yield _cells(done, {name: columns[name].take(pa.array(places)) for name in carried})
        except DyntcError as error:
            yield _error_cell(error, carried)

    return task


class PartialProduct:
    """The sums of one part of a product, fed with one slice of the inner index after the other."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._sums: dict[tuple[int, int], Accumulator] = {}
        self._slice: tuple[list[tuple[int, Block]], list[tuple[int, Block]]] = ([], [])
        self._at: tuple[int, int] | None = None

    def move_to(self, at: tuple[int, int]) -> None:
        """Multiply out the slice that is held, if the next row belongs to another one."""
        if at == self._at:
            return
        left, right = self._slice
        for bi, a in left:
            for bj, b in right:
                if (bi, bj) not in self._sums:
                    self._sums[bi, bj] = self._kind.ring.accumulator(self._kind.grid.extent(bi, bj))
                self._sums[bi, bj].add_product(a, b)
        left.clear()
        right.clear()
        self._at = at

    def hold(self, side: int, line: int, block: Block | None) -> None:
        """Hold a block of the current slice: ``side`` 0 is left, 1 is right."""
        if block is not None:
            self._slice[side].append((line, block))

    def take(self, bi: int, bj: int) -> bytes | None:
        """Return the payload of a finished cell and forget its sum."""
        total = self._sums.pop((bi, bj), None)
        return None if total is None else self._kind.ring.encode(total.block())


def sorting(kind: Kind) -> Callable[[Batches], Batches]:
    """Make the task that turns entries, sorted by cell, into blocks.

    A row with ``seed`` stands for the cell itself, so that every cell comes out.
    """

    def task(batches: Batches) -> Batches:
        cell: tuple[int, int] | None = None
        held: list[tuple[Any, Any, Any]] = []
        try:
            for batch in batches:
                columns, done = columns_of(batch), []
                bis, bjs = (columns[side].to_numpy() for side in ("bi", "bj"))
                starts = np.flatnonzero((np.diff(bis) != 0) | (np.diff(bjs) != 0)) + 1
                for start, stop in zip([0, *starts], [*starts, len(bis)], strict=True):
                    if start == stop:
                        continue
                    at = int(bis[start]), int(bjs[start])
                    if cell is not None and at != cell:
                        done.append((*cell, _block_of(held, kind, cell)))
                        held = []
                    cell = at
                    held.append(_checked_entries(columns, int(start), int(stop), kind))
                if done:
                    yield _cells(done)
            if cell is not None:
                yield _cells([(*cell, _block_of(held, kind, cell))])
        except DyntcError as error:
            yield _error_cell(error)

    return task


def placing(kind: Kind, name: str) -> Callable[[Batches], Batches]:
    """Make the task that takes stored blocks, sorted by cell, each checked; seeds as in ``sorting``."""

    def task(batches: Batches) -> Batches:
        cells: dict[tuple[int, int], bytes | None] = {}
        filled: set[tuple[int, int]] = set()
        try:
            for batch in batches:
                columns = columns_of(batch)
                for place, (at, seed) in enumerate(
                    zip(coordinates_of(columns), columns["seed"].to_pylist(), strict=True)
                ):
                    if seed:
                        cells.setdefault(at, None)
                        continue
                    check_block(name, kind, *at, decoded(columns, "payload", kind, place, name))
                    if at in filled:
                        raise duplicate(name, *at)
                    filled.add(at)
                    cells[at] = columns["payload"][place].as_py()
            yield _cells([(*at, payload) for at, payload in cells.items()])
        except DyntcError as error:
            yield _error_cell(error)

    return task


def checking(kinds: Mapping[str, Kind]) -> Callable[[Batches], Batches]:
    """Make the task that reads every block of the cells of one part and reports the first that is wrong."""

    def task(batches: Batches) -> Batches:
        seen: set[tuple[int, int]] = set()
        try:
            for batch in batches:
                columns = columns_of(batch)
                for place, at in enumerate(coordinates_of(columns)):
                    load = loader(columns, kinds, place)
                    for name, kind in kinds.items():
                        if (block := load(name)) is not None:
                            check_block(name, kind, *at, block)
                    if at in seen:
                        raise duplicate(", ".join(kinds), *at)
                    seen.add(at)
        except DyntcError as error:
            yield error_batch(error)

    return task


def unfolding(kind: Kind) -> Callable[[Batches], Batches]:
    """Make the task that turns blocks into entries ``row, column, values[plane]``."""

    def task(batches: Batches) -> Batches:
        for batch in batches:
            columns = columns_of(batch)
            for (bi, bj), payload in zip(coordinates_of(columns), payloads_of(columns["payload"]), strict=True):
                rows, across, values = kind.ring.coordinates(kind.ring.decode(payload))
                flat = pa.array(np.ascontiguousarray(values.T, np.int64).ravel())
                ends = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * len(values))
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array(rows.astype(np.int64) + bi * kind.grid.down.step),
                        pa.array(across.astype(np.int64) + bj * kind.grid.across.step),
                        pa.ListArray.from_arrays(ends, flat),
                    ],
                    names=["row", "column", "values"],
                )

    return task


def _cells(done: list[tuple[int, int, bytes | None]], carried: Columns | None = None) -> pa.RecordBatch:
    """Return finished cells: coordinates, payload, what was carried, and no report."""
    bis, bjs, payloads = zip(*done, strict=True) if done else ((), (), ())
    extra = dict(carried or {})
    arrays = [pa.array(bis, pa.int32()), pa.array(bjs, pa.int32()), pa.array(payloads, pa.binary())]
    names = ["bi", "bj", "payload", *extra, "reports"]
    return pa.RecordBatch.from_arrays([*arrays, *extra.values(), pa.nulls(len(done), REPORT_TYPE)], names=names)


def _error_cell(error: DyntcError, carried: tuple[str, ...] = ()) -> pa.RecordBatch:
    """Return a row that is no cell but a report."""
    empty = [
        pa.nulls(1, pa.int32()),
        pa.nulls(1, pa.int32()),
        *(pa.nulls(1, pa.binary()) for _ in ("payload", *carried)),
    ]
    return pa.RecordBatch.from_arrays(
        [*empty, pa.array([[error_row(error)]], REPORT_TYPE)], names=["bi", "bj", "payload", *carried, "reports"]
    )


def _block_of(held: list[tuple[Any, Any, Any]], kind: Kind, at: tuple[int, int]) -> bytes | None:
    rows, columns, values = (np.concatenate(side, axis=-1) for side in zip(*held, strict=True))
    inside = rows % kind.grid.down.step, columns % kind.grid.across.step
    block = kind.ring.from_coordinates(*inside, values if kind.ring.planes else None, kind.grid.extent(*at))
    return kind.ring.encode(block)


def _checked_entries(columns: Columns, start: int, stop: int, kind: Kind) -> tuple[Any, Any, Any]:
    """Return the entries of a run of rows, seeds left out; refuse nulls and places outside the matrix."""
    run = {name: column.slice(start, stop - start) for name, column in columns.items()}
    real = pa.compute.invert(run["seed"])
    picked = {name: run[name].filter(real) for name in ("row", "column", "value")}
    for name, column in picked.items():
        if column.null_count:
            raise EntryValueError(f"no nulls in column {name!r}", "a null", "Drop or fill such rows first.")
    places = []
    for name, axis in (("row", kind.grid.down), ("column", kind.grid.across)):
        ids = picked[name].to_numpy()
        if len(ids) and (ids.min() < 0 or ids.max() >= axis.length):
            wrong = ids.min() if ids.min() < 0 else ids.max()
            raise IndexOutsideError(
                f"{name} numbers from 0 to {axis.length - 1}", f"{wrong}", "Check the shape that was given."
            )
        places.append(ids)
    return *places, kind.ring.values(picked["value"].to_numpy(), len(places[0]))
