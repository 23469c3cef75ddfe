"""Members of groups, out of a CSV file."""

from __future__ import annotations

import csv
import io

import pyarrow as pa

from dyntc_spark.errors import FileFormatError, OptionError
from dyntc_spark.importers.documents import Edge, File, edge_table, file_name, read_text

_REMEDY = "Repair the row."
_COLUMNS = "Name the columns with member=, group= and label=, and what is between them with delimiter=."
#: What other programs put between columns.
_DELIMITERS = ",;\t|:"


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
        What is between two columns: one character.

    Examples
    --------
    >>> from dyntc_spark import datasets
    >>> group_memberships(datasets.sample("memberships.csv")).to_pylist()[0]
    {'src': 'group:backend', 'dst': 'group:engineering', 'label': 'member'}
    """
    wanted = [member, group, *([] if label is None else [label])]
    _require_options(wanted, delimiter)
    name, text = file_name(file), read_text(file)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    edges: list[Edge] = []
    try:
        header = next(reader, [])
        for column in wanted:
            if header.count(column) != 1:
                came = f"{header.count(column) or 'no'} {column!r} among {header}"
                expected = f"the columns {', '.join(wanted)}, each once"
                raise FileFormatError.of(name, "line 1", expected, came, _columns_remedy(text, wanted, delimiter))
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
        # quotes around names are an error under another delimiter
        remedy = _columns_remedy(text, wanted, delimiter) if reader.line_num == 1 else _REMEDY
        raise FileFormatError.of(name, f"line {reader.line_num}", "CSV", f"{error}", remedy) from error
    return edge_table(edges)


def _require_options(wanted: list[str], delimiter: str) -> None:
    if not all(isinstance(column, str) for column in wanted):
        remedy = "Give member=, group= and label= as the header of the file has them."
        raise OptionError("names of columns, which are texts", f"{wanted!r:.80}", remedy)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"\0':
        remedy = "Give one such as ',' or ';' or '\\t'."
        raise OptionError("a delimiter of one character, no quote and no end of a line", f"{delimiter!r:.80}", remedy)


def _columns_remedy(text: str, wanted: list[str], given: str) -> str:
    """Return what helps against a header without the columns: another delimiter, where they are there with it."""
    first = text.partition("\n")[0].rstrip("\r")
    for delimiter in _DELIMITERS.replace(given, ""):
        header = [name.strip('"') for name in first.split(delimiter)]
        if all(header.count(column) == 1 for column in wanted):
            return f"Give delimiter={delimiter!r}."
    return _COLUMNS
