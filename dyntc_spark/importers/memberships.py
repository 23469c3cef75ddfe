"""Members of groups, out of a CSV file."""

from __future__ import annotations

import csv
import io
import os

import pyarrow as pa

from dyntc_spark.errors import FileFormatError
from dyntc_spark.importers.documents import Edge, File, edge_table, read_text

_REMEDY = "Name the columns with member=, group= and label=, and repair the row."


def group_memberships(
    file: File, *, member: str = "member", group: str = "group", label: str | None = None, delimiter: str = ","
) -> pa.Table:
    """Return the edges from members to their groups; a member may be a group.

    Parameters
    ----------
    file
        A CSV file with a header, in UTF-8.
    member, group
        What these columns are called.
    label
        The column that has the label, such as the role in the group; by default every edge is a ``member``.
    delimiter
        What is between two columns.

    Examples
    --------
    >>> from dyntc_spark import datasets
    >>> group_memberships(datasets.sample("memberships.csv")).to_pylist()[0]
    {'src': 'group:backend', 'dst': 'group:engineering', 'label': 'member'}
    """
    name, wanted = os.fspath(file), [member, group, *([] if label is None else [label])]
    text = read_text(file)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    edges: list[Edge] = []
    try:
        header = next(reader, [])
        for column in wanted:
            if header.count(column) != 1:
                came = f"{header.count(column) or 'no'} {column!r} among {header}"
                raise FileFormatError.of(name, "line 1", f"the columns {', '.join(wanted)}, each once", came, _REMEDY)
        places = [header.index(column) for column in wanted]
        for row in reader:
            if not row:
                continue
            at = f"line {reader.line_num}"
            if len(row) != len(header):
                raise FileFormatError.of(name, at, f"{len(header)} values", f"{len(row)}", _REMEDY)
            found = [row[place].strip() for place in places]
            if not all(found):
                column = wanted[found.index("")]
                raise FileFormatError.of(name, at, f"a value in column {column!r}", "none", _REMEDY)
            edges.append((found[0], found[1], found[2] if label is not None else "member"))
    except csv.Error as error:
        raise FileFormatError.of(name, f"line {reader.line_num}", "CSV", f"{error}", _REMEDY) from error
    return edge_table(edges)
