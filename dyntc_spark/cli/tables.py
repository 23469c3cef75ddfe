"""Tables in files: CSV, Parquet and Delta, without Spark where that can be."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from dyntc_spark.errors import InputError, MissingColumnError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("csv", "parquet", "delta")


def format_of(path: str, given: str | None = None, flag: str = "--format") -> str:
    """Return the format of a file: the ``given`` one by a flag, else by its name, else by what is in the folder.

    Examples
    --------
    >>> format_of("edges.csv"), format_of("-"), format_of("x", "delta")
    ('csv', 'csv', 'delta')
    """
    if given:
        return given
    place = Path(path)
    if path == "-" or place.suffix in {".csv", ".tsv", ".txt"}:
        return "csv"
    if (place / "_delta_log").is_dir():
        return "delta"
    if place.suffix in {".parquet", ".pq"} or any(place.glob("*.parquet")):
        return "parquet"
    if place.suffix == ".delta":
        return "delta"
    if (place / "commits" / "_delta_log").is_dir():
        remedy = "STORE is the last argument. For a second closure like this one, copy the folder."
        raise InputError("a table", f"{path!r}, which is the folder of a closure", remedy)
    raise InputError(
        f"a file whose name ends in .csv, .tsv, .parquet or .delta, or {flag} {'|'.join(FORMATS)}",
        f"{path!r}",
        "Rename it or name the format.",
    )


def read(
    path: str,
    given: str | None = None,
    columns: dict[str, pa.DataType] | None = None,
    *,
    header: bool = True,
    delimiter: str | None = None,
) -> pa.Table:
    """Read a table; ``-`` is CSV on standard input.

    ``columns`` have to be there; in CSV, which has no types, they are of these. Without a ``header``, the first columns
    of CSV are these, in their order. A ``delimiter`` is between the columns of CSV.
    """
    if path != "-" and not Path(path).exists():
        raise InputError("a file or folder that is there", f"{path!r}, which is not", "Check the path.")
    kind, columns = format_of(path, given), columns or {}
    try:
        if kind == "csv":
            between = _between(delimiter, path)
            found = _csv(sys.stdin.buffer if path == "-" else path, columns, header=header, delimiter=between)
        else:
            found = pq.read_table(path) if kind == "parquet" else _delta(path)
    except (pa.ArrowException, OSError) as error:
        came = f"{path!r}: {error}".rstrip(".")
        raise InputError(f"a table in the format {kind}", came, _remedy(str(error))) from error
    _require_columns(found, path, list(columns), kind, header=header)
    return found


def _require_columns(found: pa.Table, path: str, columns: list[str], kind: str, *, header: bool) -> None:
    """Raise the error that names a column that is not there, or is there twice, and the flag that helps."""
    names = found.column_names
    wrong = [name for name in columns if names.count(name) != 1]
    if not wrong:
        return
    listed = ", ".join(map(repr, names))
    if kind == "csv" and not header:
        came, remedy = f"{len(names)} columns", "Without a header, they have to be there in this order."
    else:
        came = f"{wrong[0]!r} more than once in {listed}" if wrong[0] in names else f"no {wrong[0]!r} among {listed}"
        remedy = _flags(names, columns, wrong, kind)
    raise MissingColumnError(f"the columns {', '.join(columns)} in {path!r}", came, remedy)


def _flags(found: list[str], columns: list[str], wrong: list[str], kind: str) -> str:
    """Return which flags make a table fit that has some columns not at all, or twice."""
    flags = dict(zip(columns, ("--op", "--src", "--dst")[-len(columns) :], strict=True))
    between = next((mark for mark in ";\t| " if kind == "csv" and len(found) == 1 and mark in found[0]), None)
    if between is not None:
        return f"Name what is between the columns: --delimiter {'tab' if between == chr(9) else repr(between)}."
    near = {name: [each for each in found if each.strip().casefold() == name.casefold()] for name in wrong}
    if all(len(each) == 1 for each in near.values()):
        return f"Say {' '.join(f'{flags[name]} {shlex.quote(each[0])}' for name, each in near.items())}."
    if flags[wrong[0]] == "--op" and len(wrong) == 1:
        return "Changes have a column op, with insert or delete in each row; --op names it otherwise."
    *first, last = flags.values()
    told = f"Say what they are called with {', '.join(first)} and {last}"
    return told + (", or --no-header if the first line is no header." if kind == "csv" else ".")


def _between(delimiter: str | None, path: str) -> str:
    """Return what is between columns."""
    if delimiter is None:
        return "\t" if path.endswith(".tsv") else ","
    one = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(one) != 1 or not one.isascii():
        raise InputError("one character after --delimiter", repr(delimiter), "For a tab: --delimiter tab.")
    return one


def _csv(
    source: Any,  # noqa: ANN401  (a path or stream)
    columns: dict[str, pa.DataType],
    *,
    header: bool,
    delimiter: str,
) -> pa.Table:
    names = list(columns)
    kinds = columns if header else {f"f{place}": columns[name] for place, name in enumerate(names)}
    options = pc.ConvertOptions(column_types=kinds, null_values=[""], strings_can_be_null=True)
    reading, parsing = pc.ReadOptions(autogenerate_column_names=not header), pc.ParseOptions(delimiter=delimiter)
    found = pc.read_csv(source, read_options=reading, parse_options=parsing, convert_options=options)
    return found if header else found.rename_columns([*names, *found.column_names[len(names) :]][: found.num_columns])


def _remedy(error: str) -> str:
    if "conversion error to int" in error:
        return "Mend the row, or leave --ids integer out: vertices are words then."
    if "Empty CSV file" in error:
        return "Give a file with a header, src,dst."
    if "CSV parse error" in error:
        return "Mend that line, or name another --delimiter or --format."
    return "Name another --format."


def _delta(path: str) -> pa.Table:
    """Read a Delta table; one with features that only Spark knows is read by Spark."""
    from deltalake import DeltaTable  # noqa: PLC0415  (it takes a while)
    from deltalake.exceptions import DeltaProtocolError, TableNotFoundError  # noqa: PLC0415

    folder = str(Path(path).absolute())
    try:
        if "%" not in folder:  # see `DiskTables`
            return DeltaTable(folder).to_pyarrow_table()
    except DeltaProtocolError:
        pass
    except TableNotFoundError as error:
        raise InputError("a Delta table", f"{path!r}, which is none", "Name another --format.") from error
    return _spark().read.format("delta").load(folder).toArrow()


def require_writable(path: str, given: str | None = None) -> None:
    """Refuse a file that cannot be written, before anything is changed."""
    folder = Path(path).absolute().parent
    if format_of(path, given, "--out-format") and path != "-" and not os.access(folder, os.W_OK):
        came = f"{path!r}, whose folder " + ("takes no files" if folder.is_dir() else "is not there")
        raise InputError("a file that can be written, after --out", came, "Name another --out.")


def write(table: pa.Table, path: str, given: str | None = None) -> None:
    """Write a table in place of whatever table is there; ``-`` is CSV on standard output."""
    kind = format_of(path, given, "--out-format")
    plain = pa.table({name: _plain(table[name]) for name in table.column_names})
    if path == "-":
        sys.stdout.flush()
        pc.write_csv(plain, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    require_writable(path, given)
    if kind == "csv":
        pc.write_csv(plain, path, pc.WriteOptions(delimiter=_between(None, path)))
    elif kind == "parquet":
        pq.write_table(table, path)
    else:
        from deltalake import write_deltalake  # noqa: PLC0415

        write_deltalake(Path(path).absolute(), plain, mode="overwrite", schema_mode="overwrite")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _spark() -> SparkSession:
    from dyntc_spark import session  # noqa: PLC0415  (it takes a second)

    return session.local(delta=True)
