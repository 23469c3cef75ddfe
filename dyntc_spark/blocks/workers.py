"""What runs in the Python workers of Spark: supersteps, products and sorting of entries, over Arrow batches.

Each function here makes a function of Arrow data and holds nothing but values,
so that Spark can ship it. Our own errors do not fail a task (Spark would try it
again and bury the message): they are reported, and the driver raises them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute

from dyntc_spark.blocks.local import check_block, duplicate, in_block
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Kind, Load, Operation, Reports
from dyntc_spark.errors import DyntcError, EntryValueError, IndexOutsideError, from_parts
from dyntc_spark.kernels.accumulate import Accumulator
from dyntc_spark.kernels.block import Block

Columns: TypeAlias = Mapping[str, pa.Array]
Batches: TypeAlias = Iterator[pa.RecordBatch]

#: One report: which operation (or -1 for an error), under which key, and the block.
REPORT = "array<struct<operation:int,key:bigint,payload:binary>>"
REPORT_TYPE = pa.list_(pa.struct([("operation", pa.int32()), ("key", pa.int64()), ("payload", pa.binary())]))
ERROR = -1


def superstep(
    operations: tuple[Operation[Any], ...], kinds: Mapping[str, Kind], written: tuple[str, ...]
) -> Callable[[Columns, Reports], dict[str, list[bytes | None]]]:
    """Make the function that runs ``operations`` over a batch and gives the new payloads of ``written``."""
    touched = [operation.where for operation in operations]

    def run(columns: Columns, reports: Reports) -> dict[str, list[bytes | None]]:
        out: dict[str, list[bytes | None]] = {name: [] for name in written}
        for place, (bi, bj) in enumerate(_coordinates(columns)):
            cell = Cell(bi, bj, kinds, _loader(columns, kinds, place), reports)
            for number, operation in enumerate(operations):
                if touched[number].holds(bi, bj) and kinds[operation.name].grid.holds(bi, bj):
                    left = _slice(operation.by_row, bi, columns.get(f"left{number}"), place)
                    right = _slice(operation.by_column, bj, columns.get(f"right{number}"), place)
                    cell.run(number, operation, left, right)
            for name in written:
                new = kinds[name].ring.encode(cell[name]) if name in cell.written else columns[name][place].as_py()
                out[name].append(new)
        return out

    return run


def reporting(operations: tuple[Operation[Any], ...], kinds: Mapping[str, Kind]) -> Callable[[Batches], Batches]:
    """Make the task of a superstep that writes nothing: blocks in, reports out, added up over the task."""
    run = superstep(operations, kinds, ())

    def task(batches: Batches) -> Batches:
        reports = Reports(operations)
        try:
            for batch in batches:
                run(_columns(batch), reports)
            rows = _report_rows(reports)
        except DyntcError as error:
            rows = [error_row(error)]
        if rows:
            yield pa.RecordBatch.from_arrays([pa.array([rows], REPORT_TYPE)], names=["reports"])

    return task


def updating(
    operations: tuple[Operation[Any], ...], kinds: Mapping[str, Kind], names: tuple[str, ...], written: tuple[str, ...]
) -> Callable[..., pa.Array]:
    """Make the function of a superstep that writes: columns in, a struct of new payloads and reports out.

    The reports of a batch are added up and stand in its first row.
    """
    run = superstep(operations, kinds, written)

    def task(*arrays: pa.Array) -> pa.Array:
        count = len(arrays[0])
        reports = Reports(operations)
        try:
            out = run(dict(zip(names, arrays, strict=True)), reports)
            rows = _report_rows(reports)
        except DyntcError as error:
            out, rows = {name: [None] * count for name in written}, [error_row(error)]
        told = [rows or None, *[None] * (count - 1)] if count else []
        payloads = [pa.array(out[name], pa.binary()) for name in written]
        return pa.StructArray.from_arrays([*payloads, pa.array(told, REPORT_TYPE)], names=[*written, "reports"])

    return task


def in_batches(
    task: Callable[..., pa.Array], names: tuple[str, ...], kept: tuple[str, ...]
) -> Callable[[Batches], Batches]:
    """Wrap what ``updating`` made as a function of whole batches, for a Spark that has no Arrow UDFs (4.0).

    Unlike a UDF, it has to carry the columns that it does not need through Python.
    """

    def run(batches: Batches) -> Batches:
        for batch in batches:
            columns = _columns(batch)
            new = task(*(columns[name] for name in names))
            arrays = [columns[name] for name in kept]
            yield pa.RecordBatch.from_arrays([*arrays, new], names=[*kept, "new"])

    return run


def transposing(kind: Kind, name: str) -> Callable[[Batches], Batches]:
    """Make the task that transposes blocks."""

    def task(batches: Batches) -> Batches:
        try:
            for batch in batches:
                columns = _columns(batch)
                done = [
                    (bj, bi, kind.ring.encode(kind.ring.transpose(_decoded(columns, "payload", kind, place, name))))
                    for place, (bi, bj) in enumerate(_coordinates(columns))
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
                columns = _columns(batch)
                keys = (columns[key].to_pylist() for key in ("part", "inner", "side"))
                done, places = [], []
                for place, (part, inner, side, (bi, bj)) in enumerate(zip(*keys, _coordinates(columns), strict=True)):
                    product.move_to((part, inner))
                    if side == 2:
                        done.append((bi, bj, product.take(bi, bj)))
                        places.append(place)
                    else:
                        line, at = (bj, (inner, bj)) if side else (bi, (bi, inner))
                        product.hold(side, line, _decode(columns["payload"], factors, place, names[side], *at))
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
                columns, done = _columns(batch), []
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
                columns = _columns(batch)
                for place, (at, seed) in enumerate(
                    zip(_coordinates(columns), columns["seed"].to_pylist(), strict=True)
                ):
                    if seed:
                        cells.setdefault(at, None)
                        continue
                    check_block(name, kind, *at, _decoded(columns, "payload", kind, place, name))
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
                columns = _columns(batch)
                for place, at in enumerate(_coordinates(columns)):
                    load = _loader(columns, kinds, place)
                    for name, kind in kinds.items():
                        if (block := load(name)) is not None:
                            check_block(name, kind, *at, block)
                    if at in seen:
                        raise duplicate(", ".join(kinds), *at)
                    seen.add(at)
        except DyntcError as error:
            rows = [error_row(error)]
            yield pa.RecordBatch.from_arrays([pa.array([rows], REPORT_TYPE)], names=["reports"])

    return task


def unfolding(kind: Kind) -> Callable[[Batches], Batches]:
    """Make the task that turns blocks into entries ``row, column, values[plane]``."""

    def task(batches: Batches) -> Batches:
        for batch in batches:
            columns = _columns(batch)
            for (bi, bj), payload in zip(_coordinates(columns), _payloads(columns["payload"]), strict=True):
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


def read_reports(table: pa.Table, operations: tuple[Operation[Any], ...]) -> Reports:
    """Add up what the tasks reported, at the driver; raise an error that one of them reported."""
    reports = Reports(operations)
    for rows in table.column("reports").to_pylist() if table.num_columns else ():
        for row in rows or ():
            number, payload = row["operation"], row["payload"]
            if number == ERROR:
                raise from_parts(json.loads(payload))
            reports.add(number, row["key"], operations[number].report_ring.decode(payload))
    return reports


def _columns(batch: pa.RecordBatch) -> Columns:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _coordinates(columns: Columns) -> Iterator[tuple[int, int]]:
    return zip(columns["bi"].to_pylist(), columns["bj"].to_pylist(), strict=True)


def _payload(column: pa.Array, place: int) -> Any:  # noqa: ANN401  (a buffer or None)
    return column[place].as_buffer()


def _payloads(column: pa.Array) -> Iterator[Any]:
    return (item.as_buffer() for item in column)


def _loader(columns: Columns, kinds: Mapping[str, Kind], place: int) -> Load:
    return lambda name: _decoded(columns, name, kinds[name], place, name)


def _decoded(columns: Columns, column: str, kind: Kind, place: int, name: str) -> Block | None:
    at = columns["bi"][place].as_py(), columns["bj"][place].as_py()
    return _decode(columns[column], kind, place, name, *at)


def _decode(payloads: pa.Array, kind: Kind, place: int, name: str, bi: int, bj: int) -> Block | None:
    """Return a block; an error says which one it is."""
    try:
        return kind.ring.decode(_payload(payloads, place))
    except DyntcError as error:
        raise in_block(error, name, bi, bj) from error


def _slice(strip: Strip | None, block: int, column: pa.Array | None, place: int) -> Block | None:
    """Return a strip's slice for a cell: out of the joined column if there is one, else out of the strip itself."""
    if strip is None:
        return None
    return strip.slices.get(block) if column is None else strip.ring.decode(_payload(column, place))


def _report_rows(reports: Reports) -> list[dict[str, Any]]:
    return [
        {"operation": number, "key": key, "payload": reports.operations[number].report_ring.encode(block)}
        for (number, key), block in reports.found.items()
    ]


def error_row(error: DyntcError) -> dict[str, Any]:
    """Return the report that lets the driver raise an error of a task."""
    parts = [type(error).__name__, error.expected, error.came, error.remedy]
    return {"operation": ERROR, "key": 0, "payload": json.dumps(parts).encode()}


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
