"""A location: where the tables of one closure are, as a path or as a schema of a catalog.

Nothing is taken from a location without a check: its name before it is used, what
it holds before it is read, and whatever Spark says is turned into an error of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark.errors import ConflictError, DamagedFileError, DyntcError, LocationError, SetupError, StorageError
from dyntc_spark.graph.store import delta_log, near
from dyntc_spark.graph.store.near import Where
from dyntc_spark.graph.store.witness import Notes
from dyntc_spark.session import beside, ensure_open, is_connect, parallelism

TABLES = ("commits", "log", "vertices", "blocks", "changes")
#: What tables are made with. Delta notes the least and greatest value in a file, of each column unless told which are
#: asked for; for the many of ``commits`` that is a third of the time of an append.
_PROPERTIES = {
    "commits": {"delta.dataSkippingStatsColumns": "number,version"},
    "log": {"delta.dataSkippingStatsColumns": "version"},
}

#: Tables whose rows have checksums of our own.
_CHECKED = ("blocks",)
_LONGEST = 1000
#: Where a query begins, or a signature, a key or a password is given by its name.
_QUERY = re.compile(r"(\?|\b(?:sig|signature|password|secret|[a-z]*accesskey)=).*", re.IGNORECASE | re.DOTALL)
_SCHEMA = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}", re.ASCII)
#: What Spark says when there is nothing, or no Delta table, where one is to be read.
_ABSENT = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND")
_FOREIGN = ("DELTA_MISSING_DELTA_TABLE", "DELTA_NOT_A_DELTA_TABLE", "is not a Delta table")
#: What Delta says to the second of two writers, or of two who make a table.
_CONCURRENT = ("DELTA_CONCURRENT", "DELTA_PROTOCOL_CHANGED", "DELTA_METADATA_CHANGED")
#: What Spark says of a file that is cut off, or not what its checksums say.
_UNREADABLE = ("FAILED_READ_FILE",)
_NO_DELTA = ("DATA_SOURCE_NOT_FOUND",)


class Place:
    """The tables of one closure.

    Parameters
    ----------
    spark
        The session to read and write in.
    location
        A path, which has a ``/``, or the name of a schema that is there: ``schema`` or ``catalog.schema``.
    """

    def __init__(self, spark: SparkSession, location: str) -> None:
        ensure_open(spark)
        self.spark = spark
        self.location = checked(location)
        self.is_path = "/" in self.location
        self.as_of: dict[str, int] = {}  #: the versions, as Delta counts, to read tables at; by default the last
        self._folder: str | None = None
        self.notes = Notes(lambda: self.folder, TABLES)

    @property
    def folder(self) -> str | None:
        """The folder of this machine that the location is; None where it is elsewhere, or not there yet.

        Spark tells what it takes the path for. A client of Spark Connect cannot know whose disk the server means.
        """
        if self._folder is None and self.is_path and not is_connect(self.spark):
            for uri in self._log_files("commits") or ():
                found = urlsplit(uri)
                if found.scheme == "file":
                    self._folder = str(Path(unquote(found.path)).parents[2])
                break
        return self._folder

    def log_names(self, table: str) -> list[str] | None:
        """Return the names of the files in the log of a table; None when there is none, or nobody can tell."""
        if not self.is_path:
            return None
        if self.folder is not None:
            found = Path(self.folder, table, delta_log.FOLDER)
            return [path.name for path in found.iterdir()] if found.is_dir() else None
        uris = self._log_files(table)
        return None if uris is None else [unquote(urlsplit(uri).path).rpartition("/")[2] for uri in uris]

    def log_content(self, table: str, name: str) -> bytes | None:
        """Return the content of a file in the log of a table; None when it cannot be read."""
        if self.folder is not None:
            return Path(self.folder, table, delta_log.FOLDER, name).read_bytes()
        path = f"{self._name(table)}/{delta_log.FOLDER}/{name}"
        try:
            found = self.spark.read.format("binaryFile").load(path).select("content").collect()
        except Exception as error:
            if says(error, _UNREADABLE):
                return None
            raise self.problem(error, f"reading the log of the table {table!r}") from error
        return bytes(found[0][0]) if found else b""  # Spark leaves empty files out

    def file_name(self, table: str, name: str) -> str:
        """Return a file of a table as a message names it."""
        return f"{self.location.rstrip('/')}/{table}/{name}"

    def frame(self, table: str) -> DataFrame:
        """Return a table, or raise Spark's error when it is not there."""
        reader = self.spark.read
        if table in self.as_of:
            reader = reader.option("versionAsOf", self.as_of[table])
        return reader.format("delta").load(self._name(table)) if self.is_path else reader.table(self._name(table))

    def read(self, table: str, where: Where | None = None) -> pa.Table | None:
        """Return the rows of a table, or some; None when the table is not there."""
        if self.as_of.get(table, 0) < 0:
            return None  # nothing of it can be read
        if self.folder is not None:
            checked, as_of = table in _CHECKED, self.as_of.get(table)
            found = near.read(f"{self.folder}/{table}", where, has_checksums=checked, as_of=as_of)
            if found is not None:
                return found
        return self._collect(table, lambda rows: rows.where(where(F.col)) if where else rows)

    def greatest(self, table: str, column: str) -> int | None:
        """Return the greatest number in a column; None when there is none, or no table."""
        found = self._collect(table, lambda rows: rows.agg(F.max(column)))
        return None if found is None else found.column(0)[0].as_py()

    def _collect(self, table: str, ask: Callable[[DataFrame], DataFrame]) -> pa.Table | None:
        """Have Spark answer a question about a table; None when the table is not there."""
        try:
            return ask(self.frame(table)).toArrow()
        except Exception as error:
            if says(error, _ABSENT):
                return None
            raise self.problem(error, f"reading the table {table!r}") from error

    def read_all(self, wanted: Mapping[str, Where]) -> dict[str, pa.Table | None]:
        """Return rows of several tables, by their names: read at the same time, for most of it is waiting."""
        if not wanted:
            return {}
        with ThreadPoolExecutor(len(wanted)) as threads:
            return dict(zip(wanted, threads.map(self.read, wanted, wanted.values()), strict=True))

    def exists(self, table: str) -> bool:
        """Return whether a table is there."""
        try:
            return bool(self.frame(table).columns)
        except Exception as error:
            if says(error, _ABSENT):
                return False
            raise self.problem(error, f"looking for the table {table!r}") from error

    def versions(self, table: str) -> DataFrame:
        """Return what Delta tells about the versions of a table."""
        return self.spark.sql(f"DESCRIBE HISTORY {self.identifier(table)}")

    def feed(self, table: str, version: int) -> DataFrame:
        """Return what a version of a table, which has Delta's change data feed, has added to it."""
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        return reader.option("startingVersion", version).option("endingVersion", version).load(self._name(table))

    def append(self, table: str, content: DataFrame, options: Mapping[str, str] | None = None) -> None:
        """Add rows to a table, which is made when it is not there."""
        writer = content.write.format("delta").mode("append").options(**_PROPERTIES.get(table, {}), **(options or {}))
        if self.is_path:
            writer.save(self._name(table))
        else:
            writer.saveAsTable(self._name(table))

    def delete(self, table: str, where: str) -> None:
        """Take rows out of a table; the files with them stay until they are vacuumed."""
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

    def require_free(self) -> None:
        """Refuse a location that holds something that is not ours; what a first save left half done is."""
        if not self.is_path:
            return
        folder = self.location.rstrip("/").rpartition("/")[2]
        for found in self._files():
            *_, above, table, _ = ["", "", *found.split("/")]
            if above != folder or table not in TABLES:
                raise self.refused(f"the file {found}")

    def refused(self, came: str) -> LocationError:
        """Make the error for a location that holds something else."""
        return LocationError(
            f"a closure, or nothing, at {self.location!r}", came, "Choose another location; nothing was changed there."
        )

    def conflict(self, what: str) -> ConflictError:
        """Make the error for the second of two writers."""
        return ConflictError(
            f"to be the only writer at {self.location!r}",
            f"another one who was first, {what}",
            "Nothing was changed. Call refresh() to see what was done, and then apply the batch again.",
        )

    @contextmanager
    def translating(self, what: str) -> Iterator[None]:
        """Let whatever Spark raises within become an error of ours."""
        try:
            yield
        except DyntcError:
            raise
        except Exception as error:
            raise self.problem(error, what) from error

    def problem(self, error: Exception, what: str) -> DyntcError:
        """Return an error of ours for one of Spark's."""
        if says(error, _NO_DELTA):
            return SetupError(
                "a Spark session with Delta",
                "one without",
                "Install dyntc-spark[delta] and start one by session.local(delta=True), or add Delta's jar to yours.",
            )
        if says(error, _FOREIGN):
            return self.refused(f"no Delta table, {what}")
        if says(error, _CONCURRENT):
            return self.conflict(what)
        if isinstance(error, DyntcError):
            return error
        if says(error, _UNREADABLE):
            remedy = "Put the file back from a copy, or call repair(location), which tells what can be recovered."
            return DamagedFileError(f"files that can be read, {what}", brief(error), remedy)
        remedy = "The closure is as it was; try again when the cause is gone."
        return StorageError(f"a location that works, {what}", f"{type(error).__name__}: {brief(error)}", remedy)

    def _log_files(self, table: str) -> list[str] | None:
        """Return the files in the log of a table, as Spark lists them; None when there is none. It starts no job."""
        lister = self.spark.read.format("binaryFile")
        try:
            return lister.load(f"{self._name(table)}/{delta_log.FOLDER}").inputFiles()
        except Exception as error:
            if says(error, _ABSENT):
                return None
            raise self.problem(error, f"looking for the table {table!r}") from error

    def _files(self) -> list[str]:
        """Some files below a path."""
        lister = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            return [row[0] for row in lister.load(self.location).select("path").collect()]
        except Exception as error:
            if says(error, _ABSENT):
                return []
            raise self.problem(error, "listing it") from error

    def _name(self, table: str) -> str:
        if self.is_path:
            return f"{self.location.rstrip('/')}/{table}"
        return f"{'.'.join(f'`{part}`' for part in self.location.split('.'))}.`{table}`"

    def identifier(self, table: str) -> str:
        """Return a table's name for SQL, quoted."""
        name = self._name(table)
        return "delta.`{}`".format(name.replace("`", "``")) if self.is_path else name


def checked(location: str) -> str:
    """Return the location as it is, or refuse it.

    Examples
    --------
    >>> checked("/data/deps"), checked("main.deps")
    ('/data/deps', 'main.deps')
    """
    remedy = "Give a path, which has a '/', or the name of a schema: 's3://bucket/deps', './deps', 'main.deps'."
    if not isinstance(location, str) or not 0 < len(location) <= _LONGEST:
        came = f"{without_secrets(location)!r:.80}" if isinstance(location, str) else f"{location!r:.80}"
        raise LocationError(f"a location of 1 to {_LONGEST} characters", came, remedy)
    if "/" not in location:
        if not _SCHEMA.fullmatch(location):
            raise LocationError("a path or the name of a schema", f"{without_secrets(location)!r}", remedy)
        return location
    shown = without_secrets(location)
    wrong = sorted({sign for sign in location if sign in "*?[]{}\\^" or not sign.isprintable()})
    if wrong or not location.strip("/. ") or ".." in location.split("/"):
        raise LocationError(
            "a path without any of *?[]{}\\^, control characters and '..', and not a root", f"{shown!r}", remedy
        )
    if shown != location:  # Spark and Delta would repeat it in their messages, logs and tables
        raise LocationError(
            "a location without credentials",
            f"{shown!r}",
            "Give them to Spark, as settings of the file system (spark.hadoop.fs.s3a.access.key) or by a provider.",
        )
    return location


def without_secrets(location: str) -> str:
    """Return a location with ``***`` in place of what may be a password, a key or a signature.

    Examples
    --------
    >>> without_secrets("s3a://AKIA:secret/with/slashes@bucket/deps")
    's3a://***@bucket/deps'
    >>> without_secrets("https://account/container/deps?sv=2024&sig=abc")
    'https://account/container/deps?***'
    >>> without_secrets("abfss://container@account.dfs.core.windows.net/deps")
    'abfss://container@account.dfs.core.windows.net/deps'
    """
    scheme, separator, rest = location.partition("://")
    if separator:
        host = rest.partition("/")[0]
        _, colon, password = host.partition("@")[0].partition(":")
        is_port = password.isdigit() and "@" not in host and not scheme.startswith("s3")
        if colon and not is_port and "@" in rest:
            location = f"{scheme}://***@{rest.rpartition('@')[2]}"
    return _QUERY.sub(r"\1***", location)


def says(error: Exception, words: tuple[str, ...]) -> bool:
    """Return whether Spark's error is about one of these."""
    text = f"{type(error).__name__}: {error}"
    return any(word in text for word in words)


#: What a Python worker raised: the line behind its traceback.
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t]+.*\n)+(\S.*)$", re.MULTILINE)


def brief(error: Exception) -> str:
    """Return the line that says most: what a Python worker raised, else the first one without Java's stack."""
    lines: list[str] = _RAISED.findall(str(error))[-1:] or [
        line.strip(" :") for line in str(error).splitlines() if line.strip() and "error occurred while" not in line
    ]
    return (lines[0] if lines else "")[:300]
