"""The Parquet files of a Delta table that is written without Spark: which rows are in which, and what the log notes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dyntc_spark.graph.store.tables import ONE_FILE, PART

#: Columns whose least and greatest value in a file is noted, for readers who want some rows.
_NOTED = ("version", "number", "token", "stripe")
#: Rows of a part of a file that a reader can skip, in a table that is sorted; others have a million.
_SORTED, _GROUP = ("runs",), 1 << 17
#: Tables of checkpoints, which are read sooner without compression; columns of them whose values come again and again.
_CHECKPOINTED = ("vertices", "runs")
_REPEATED = {"vertices": ["version", "token", "stripe", "lane", PART]}


def write_rows(rows: pa.Table, to: Path | pa.NativeFile, table: str) -> None:
    """Write rows as one file."""
    pq.write_table(
        rows,
        to,
        row_group_size=_GROUP if table in _SORTED else None,
        use_dictionary=_REPEATED.get(table, True),
        compression="none" if table in _CHECKPOINTED else "snappy",
        write_page_checksum=True,
        write_page_index=table in _SORTED,
        store_schema=False,
    )


def plain(content: pa.Table) -> pa.Table:
    """Return rows without dictionaries, which Delta does not have."""
    fields = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in content.schema
    ]
    return content.cast(pa.schema(fields))


def parts_of(table: str, schema: pa.Schema) -> list[str] | None:
    """Return the column by which a table is partitioned."""
    return [PART] if table in _SORTED and PART in schema.names else None


def pieces(table: str, content: pa.Table) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """Cut rows into files: those of each part by themselves, and no more of them than fit one file.

    The column of the part is not in the file. The log has it.
    """
    ends, parts = [0, content.num_rows], None
    if parts_of(table, content.schema):
        parts = content.column(PART).to_numpy()
        ends = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), content.num_rows]
        content = content.drop_columns(PART)
    for begin, end in pairwise(ends):
        values: dict[str, str | None] = {} if parts is None or begin == end else {PART: str(parts[begin])}
        piece = content.slice(begin, end - begin)
        step = max(1, -(-piece.num_rows // max(1, -(-piece.nbytes // ONE_FILE))))
        for first in range(0, piece.num_rows, step):
            yield values, piece.slice(first, step)


def noted(part: pa.Table) -> dict[str, Any]:
    """Return what the log notes about a file: how many rows, and the least and greatest of some columns."""
    names = [name for name in _NOTED if name in part.column_names]
    found = {name: pc.min_max(part.column(name)).as_py() for name in names}
    return {
        "numRecords": part.num_rows,
        "minValues": {name: each["min"] for name, each in found.items()},
        "maxValues": {name: each["max"] for name, each in found.items()},
        "nullCount": {name: part.column(name).null_count for name in names},
    }


def noted_in(files: pa.Table) -> list[str]:
    """Return the columns of which the log has noted something, by its entries as a table."""
    told = ("min", "max", "null_count")
    return [name for name in _NOTED if all(f"{each}.{name}" in files.column_names for each in told)]
