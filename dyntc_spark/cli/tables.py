"""Tables in files: CSV and Parquet without Spark, Delta with a local session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from dyntc_spark.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("csv", "parquet", "delta")


def format_of(path: str, given: str | None = None) -> str:
    """Return the format of a file: the ``given`` one, else by its name, else by what is in the folder.

    Examples
    --------
    >>> format_of("edges.csv"), format_of("-"), format_of("x", "delta")
    ('csv', 'csv', 'delta')
    """
    if given:
        return given
    place = Path(path)
    if path == "-" or place.suffix in {".csv", ".txt"}:
        return "csv"
    if (place / "_delta_log").is_dir():
        return "delta"
    if place.suffix in {".parquet", ".pq"} or any(place.glob("*.parquet")):
        return "parquet"
    if place.suffix == ".delta":
        return "delta"
    raise InputError(
        f"a file whose name ends in .csv, .parquet or .delta, or --format {'|'.join(FORMATS)}",
        f"{path!r}",
        "Rename it or name the format.",
    )


def read(path: str, given: str | None = None, kinds: dict[str, pa.DataType] | None = None) -> pa.Table:
    """Read a table; ``-`` is CSV on standard input. ``kinds`` are types of columns of CSV, which has none."""
    if path != "-" and not Path(path).exists():
        raise InputError("a file or folder that is there", f"{path!r}, which is not", "Check the path.")
    kind = format_of(path, given)
    try:
        if kind == "csv":
            options = pc.ConvertOptions(column_types=kinds or {}, null_values=[""], strings_can_be_null=True)
            return pc.read_csv(sys.stdin.buffer if path == "-" else path, convert_options=options)
        if kind == "parquet":
            return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"a table in the format {kind}", f"{path!r}: {error}", "Name another --format.") from error
    return _spark().read.format("delta").load(str(Path(path).resolve())).toArrow()


def write(table: pa.Table, path: str, given: str | None = None) -> None:
    """Write a table in place of whatever table is there; ``-`` is CSV on standard output."""
    kind = format_of(path, given)
    plain = pa.table({name: _plain(table[name]) for name in table.column_names})
    if path == "-":
        sys.stdout.flush()
        pc.write_csv(plain, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif kind == "csv":
        pc.write_csv(plain, path)
    elif kind == "parquet":
        pq.write_table(table, path)
    else:
        _spark().createDataFrame(plain).write.format("delta").mode("overwrite").save(str(Path(path).resolve()))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _spark() -> SparkSession:
    from dyntc_spark import session  # noqa: PLC0415  (it takes a second)

    return session.local(delta=True)
