"""What runs in the Python workers of Spark: supersteps over Arrow batches, and what tasks report to the driver.

Each function that makes a task makes a function of Arrow data and holds nothing but values,
so that Spark can ship it. Our own errors do not fail a task (Spark would try it
again and bury the message): they are reported (``error_row``), and the driver raises them (``told``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute

from dyntc_spark.blocks.local import in_block
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Cell, Kind, Load, Operation, Reports
from dyntc_spark.errors import DyntcError, from_parts
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
    """Make the function that runs ``operations`` over a batch and returns the new payloads of ``written``."""
    touched = [operation.where for operation in operations]

    def run(columns: Columns, reports: Reports) -> dict[str, list[bytes | None]]:
        out: dict[str, list[bytes | None]] = {name: [] for name in written}
        for place, (bi, bj) in enumerate(coordinates_of(columns)):
            cell = Cell(bi, bj, kinds, loader(columns, kinds, place), reports)
            for number, operation in enumerate(operations):
                if touched[number].holds(bi, bj) and kinds[operation.name].grid.holds(bi, bj):
                    left = slice_of(operation.by_row, bi, columns.get(f"left{number}"), place)
                    right = slice_of(operation.by_column, bj, columns.get(f"right{number}"), place)
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
                run(columns_of(batch), reports)
            rows = report_rows(reports)
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
            rows = report_rows(reports)
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
            columns = columns_of(batch)
            new = task(*(columns[name] for name in names))
            arrays = [columns[name] for name in kept]
            yield pa.RecordBatch.from_arrays([*arrays, new], names=[*kept, "new"])

    return run


def read_reports(table: pa.Table, operations: tuple[Operation[Any], ...]) -> Reports:
    """Add up what the tasks reported, at the driver; raise an error that one of them reported."""
    reports = Reports(operations)
    for number, key, payload in told(table):
        reports.add(number, key, operations[number].report_ring.decode(payload))
    return reports


def told(table: pa.Table) -> Iterator[tuple[int, int, bytes]]:
    """Return what tasks reported, as ``(operation, key, payload)``; raise an error that one of them reported."""
    for rows in table.column("reports").to_pylist() if table.num_columns else ():
        for row in rows or ():
            if row["operation"] == ERROR:
                raise from_parts(json.loads(row["payload"]))
            yield row["operation"], row["key"], row["payload"]


def columns_of(batch: pa.RecordBatch) -> Columns:
    """Return the columns of a batch by their names."""
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def coordinates_of(columns: Columns) -> Iterator[tuple[int, int]]:
    """Return the coordinates of the cells of a batch."""
    return zip(columns["bi"].to_pylist(), columns["bj"].to_pylist(), strict=True)


def _payload(column: pa.Array, place: int) -> Any:  # noqa: ANN401  (a buffer or None)
    return column[place].as_buffer()


def payloads_of(column: pa.Array) -> Iterator[Any]:
    """Return payloads as buffers."""
    return (item.as_buffer() for item in column)


def loader(columns: Columns, kinds: Mapping[str, Kind], place: int) -> Load:
    """Return what decodes the blocks of one row of a batch."""
    return lambda name: decoded(columns, name, kinds[name], place, name)


def decoded(columns: Columns, column: str, kind: Kind, place: int, name: str) -> Block | None:
    """Return a block of one row of a batch."""
    at = columns["bi"][place].as_py(), columns["bj"][place].as_py()
    return decode(columns[column], kind, place, name, *at)


def decode(payloads: pa.Array, kind: Kind, place: int, name: str, bi: int, bj: int) -> Block | None:
    """Return a block; an error says which one it is."""
    try:
        return kind.ring.decode(_payload(payloads, place))
    except DyntcError as error:
        raise in_block(error, name, bi, bj) from error


def slice_of(strip: Strip | None, block: int, column: pa.Array | None, place: int) -> Block | None:
    """Return a strip's slice for a cell: out of the joined column if there is one, else out of the strip itself."""
    if strip is None:
        return None
    return strip.slices.get(block) if column is None else strip.ring.decode(_payload(column, place))


def report_rows(reports: Reports) -> list[dict[str, Any]]:
    """Return what the cells of a task reported, as rows for the driver."""
    return [
        {"operation": number, "key": key, "payload": reports.operations[number].report_ring.encode(block)}
        for (number, key), block in reports.found.items()
    ]


def error_row(error: DyntcError) -> dict[str, Any]:
    """Return the report that lets the driver raise an error of a task."""
    parts = [type(error).__name__, error.expected, error.came, error.remedy]
    return {"operation": ERROR, "key": 0, "payload": json.dumps(parts).encode()}


def error_batch(error: DyntcError) -> pa.RecordBatch:
    """Return the report of an error as a batch."""
    return pa.RecordBatch.from_arrays([pa.array([[error_row(error)]], REPORT_TYPE)], names=["reports"])
