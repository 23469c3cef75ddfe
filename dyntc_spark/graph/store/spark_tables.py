"""Delta tables that Spark reads and writes: at any path that it can reach, or in a schema of its catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from dyntc_spark.graph.store import delta_log
from dyntc_spark.graph.store.tables import ONE_FILE, PART, Rows, Transaction, Where
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.lazy_pyspark import F, is_frame, spark_errors
from dyntc_spark.session import beside, parallelism

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What Spark says when there is nothing, or no Delta table, where one is to be read.
_ABSENT = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND")
#: What Spark says of a file that is cut off, or not what its checksums say.
UNREADABLE = ("FAILED_READ_FILE",)

_Answer = TypeVar("_Answer")


class SparkTables:
    """Tables by way of a Spark session.

    Parameters
    ----------
    spark
        The session to read and write in.
    location
        A path, which has a ``/``, or the name of a schema.
    names
        The tables that belong to the location.
    """

    def __init__(self, spark: SparkSession, location: str, names: Sequence[str]) -> None:
        self.spark, self._location, self._names = spark, location, names
        self._is_path = "/" in location

    def root(self) -> str | None:
        """Return the path as Spark takes it, such as ``file:/data/deps``; None where nobody can tell. No job."""
        below = f"/commits/{delta_log.FOLDER}"
        try:
            found = self._log_files("commits")
        except spark_errors.PySparkException as error:
            if not says(error, _ABSENT):
                raise
            told = (error.getMessageParameters() or {}).get("path", "")
            return told.removesuffix(below) if told.endswith(below) else None
        return unquote(found[0]).rpartition(below)[0] if found else None

    def exists(self, table: str) -> bool:
        """Return whether a table is there."""
        return _unless_absent(lambda: bool(self.frame(table).columns)) or False

    def read(self, table: str, where: Where | None, as_of: int | None) -> pa.Table | None:
        """Return the rows of a table, or some; None when the table is not there."""
        return self._collect(table, lambda rows: rows.where(where(F.col)) if where else rows, as_of)

    def columns(self, table: str) -> list[str] | None:
        """Return the names of the columns of a table; None when it is not there."""
        return _unless_absent(lambda: self.frame(table).columns)

    def greatest(self, table: str, column: str) -> int | None:
        """Return the greatest number in a column; None when there is none, or no table."""
        found = self._collect(table, lambda rows: rows.agg(F.max(column)))
        return None if found is None else found.column(0)[0].as_py()

    def checksum(self, table: str, columns: Sequence[str], where: Where) -> tuple[int, int] | None:
        """Return how many rows there are, and the checksum of their columns; None when the table is not there."""
        told = F.count("*"), F.coalesce(F.bit_xor(F.xxhash64(*columns)), F.lit(0).cast("bigint"))
        found = self._collect(table, lambda rows: rows.where(where(F.col)).agg(*told))
        return None if found is None else (found.column(0)[0].as_py(), found.column(1)[0].as_py())

    def append(self, table: str, content: Rows, once: Transaction | None, properties: Mapping[str, str] | None) -> None:
        """Add rows to a table, which is made with these properties when it is not there."""
        if not is_frame(content):
            rows = frame(self.spark, content)
            content = rows.coalesce(1) if content.nbytes <= ONE_FILE else rows
        options = dict(properties or {})
        if once is not None:
            options |= {"txnAppId": once.application, "txnVersion": str(once.version)}
        parted = table == "runs" and PART in content.columns
        if parted:
            content = content.sortWithinPartitions(PART, "stripe", "first")
        writer = content.write.format("delta").mode("append").options(**options)
        if parted:
            writer = writer.partitionBy(PART)
        if self._is_path:
            writer.save(self.name(table))
        else:
            writer.saveAsTable(self.name(table))

    def delete(self, table: str, where: str) -> None:
        """Take rows out of a table."""
        self.spark.sql(f"DELETE FROM {self.identifier(table)} WHERE {where}").collect()  # noqa: S608  (quoted)

    def compact(self, table: str) -> None:
        """Write the rows of small files as few larger ones."""
        self.spark.sql(f"OPTIMIZE {self.identifier(table)}").collect()

    def clear_files(self, table: str) -> None:
        """Remove files that no version of the table in Delta's retention period uses."""
        # Delta lists the files of a table, which are few and in one folder, with as many tasks as this: else 10,000.
        listing = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": str(parallelism(self.spark))}
        with beside(self.spark, listing) as spark:
            spark.sql(f"VACUUM {self.identifier(table)}").collect()

    def log_names(self, table: str) -> list[str] | None:
        """Return the names of the files in the log of a table; None when there is none, or nobody can tell."""
        if not self._is_path:
            return None
        uris = _unless_absent(lambda: self._log_files(table))
        return None if uris is None else [unquote(urlsplit(uri).path).rpartition("/")[2] for uri in uris]

    def log_content(self, table: str, name: str) -> bytes | None:
        """Return the content of a file in the log of a table; None when it cannot be read."""
        path = f"{self.name(table)}/{delta_log.FOLDER}/{name}"
        try:
            found = self.spark.read.format("binaryFile").load(path).select("content").collect()
        except Exception as error:
            if says(error, UNREADABLE):
                return None
            raise
        return bytes(found[0][0]) if found else b""  # Spark leaves empty files out

    def foreign_file(self) -> str | None:
        """Return a file below a path that belongs to none of the tables; None where there is none."""
        if not self._is_path:
            return None
        lister = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        rows = _unless_absent(lambda: lister.load(self._location).select("path").collect()) or []
        folder = self._location.rstrip("/").rpartition("/")[2]
        for row in rows:
            names = [name for name in str(row[0]).split("/") if not name.startswith(f"{PART}=")]
            *_, above, table, _ = ["", "", *names]
            if above != folder or table not in self._names:
                return str(row[0])
        return None

    # --- what only Spark has -----------------------------------------------------------------

    def has_schema(self) -> bool:
        """Return whether the schema is there that the location names."""
        return self.spark.catalog.databaseExists(self._location)

    def frame(self, table: str, as_of: int | None = None) -> DataFrame:
        """Return a table, or raise Spark's error when it is not there."""
        reader = self.spark.read
        if as_of is not None:
            reader = reader.option("versionAsOf", as_of)
        return reader.format("delta").load(self.name(table)) if self._is_path else reader.table(self.name(table))

    def versions(self, table: str) -> DataFrame:
        """Return what Delta tells about the versions of a table."""
        return self.spark.sql(f"DESCRIBE HISTORY {self.identifier(table)}")

    def feed(self, table: str, version: int) -> DataFrame:
        """Return what a version of a table, which has Delta's change data feed, has added to it."""
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        return reader.option("startingVersion", version).option("endingVersion", version).load(self.name(table))

    def name(self, table: str) -> str:
        """Return the path or the name of a table."""
        if self._is_path:
            return f"{self._location.rstrip('/')}/{table}"
        return f"{'.'.join(f'`{part}`' for part in self._location.split('.'))}.`{table}`"

    def identifier(self, table: str) -> str:
        """Return a table's name for SQL, quoted."""
        name = self.name(table)
        return "delta.`{}`".format(name.replace("`", "``")) if self._is_path else name

    def _collect(self, table: str, ask: Callable[[DataFrame], DataFrame], as_of: int | None = None) -> pa.Table | None:
        """Have Spark answer a question about a table; None when the table is not there."""
        return _unless_absent(lambda: ask(self.frame(table, as_of)).toArrow())

    def _log_files(self, table: str) -> list[str]:
        """Return the files in the log of a table, as Spark lists them; no job."""
        return self.spark.read.format("binaryFile").load(f"{self.name(table)}/{delta_log.FOLDER}").inputFiles()


def says(error: Exception, words: tuple[str, ...]) -> bool:
    """Return whether an error is about one of these."""
    text = f"{type(error).__name__}: {error}"
    return any(word in text for word in words)


def _unless_absent(ask: Callable[[], _Answer]) -> _Answer | None:
    """Return an answer; None where Spark says that there is no table."""
    try:
        return ask()
    except Exception as error:
        if says(error, _ABSENT):
            return None
        raise
