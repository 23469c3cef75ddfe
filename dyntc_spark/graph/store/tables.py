"""What a location asks of the tables in it: to be read and written as Arrow tables, by Spark or without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa

from dyntc_spark.kernels.row_hash import checksum, row_hashes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: A condition on rows, made by a function that gives a column by its name: Spark's ``col`` or Arrow's ``field``.
Where = Callable[[Callable[[str], Any]], Any]
#: Up to so many bytes, what is appended at once is one file.
ONE_FILE = 2**26
#: The column by which ``runs`` is partitioned: a range of stripes.
PART = "part"


@dataclass(frozen=True)
class Transaction:
    """A number that Delta remembers for an application: an append with a number that is not higher adds nothing.

    Of two appends with one number at the same moment, one is refused.
    """

    application: str
    version: int


class LeftToSparkError(Exception):
    """A table that only Spark can read or write."""


class Tables(Protocol):
    """The Delta tables of one location, by their names. Errors are those of the library that is used."""

    def exists(self, table: str) -> bool:
        """Return whether a table is there."""

    def read(self, table: str, where: Where | None, as_of: int | None) -> pa.Table | None:
        """Return the rows of a table, or some, as of a version of Delta's; None when the table is not there."""

    def columns(self, table: str) -> list[str] | None:
        """Return the names of the columns of a table; None when it is not there."""

    def greatest(self, table: str, column: str) -> int | None:
        """Return the greatest number in a column; None when there is none, or no table."""

    def append(
        self, table: str, content: pa.Table, once: Transaction | None, properties: Mapping[str, str] | None
    ) -> None:
        """Add rows to a table, which is made with these properties when it is not there."""

    def delete(self, table: str, where: str) -> None:
        """Take rows out of a table, by a condition in SQL; the files with them stay until they are cleared."""

    def compact(self, table: str) -> None:
        """Write the rows of small files as few larger ones."""

    def clear_files(self, table: str) -> None:
        """Remove files that no version of the table in Delta's retention period uses."""

    def log_names(self, table: str) -> list[str] | None:
        """Return the names of the files in the log of a table; None when there is none, or nobody can tell."""

    def log_content(self, table: str, name: str) -> bytes | None:
        """Return the content of a file in the log of a table; None when it cannot be read."""

    def foreign_file(self) -> str | None:
        """Return a file at the location that belongs to none of its tables; None where there is none."""


#: What a Spark writer can add beside Arrow tables.
Rows: TypeAlias = "pa.Table | DataFrame"


def row_checksum(table: pa.Table) -> int:
    """Return the checksum of rows of integers without nulls.

    Examples
    --------
    >>> row_checksum(pa.table({"stripe": pa.array([1], pa.int32()), "word": [2]}))
    2360248972619621018
    """
    return checksum(row_hashes([column.to_numpy() for column in table.columns]))
