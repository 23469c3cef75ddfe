"""A location: where the tables of one closure are, as a path or as a schema of a catalog.

Nothing is taken from a location without a check: its name before it is used, what
it holds before it is read, and whatever Spark says is turned into an error of ours.

A path on a disk of this machine is read and written without Spark (`DiskTables`), and so is one in S3 where there is
no session (`ObjectTables`); other places by Spark (`SparkTables`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa

from dyntc_spark.errors import ConflictError, DamagedFileError, DyntcError, LocationError, SetupError, StorageError
from dyntc_spark.graph.store import writer_lock
from dyntc_spark.graph.store.delta_tables import DeltaTables
from dyntc_spark.graph.store.disk_tables import DiskTables
from dyntc_spark.graph.store.object_tables import SCHEMES, ObjectTables
from dyntc_spark.graph.store.published_note import Notes
from dyntc_spark.graph.store.spark_tables import UNREADABLE, SparkTables, says
from dyntc_spark.graph.store.tables import LeftToSparkError, Rows, Tables, Transaction, Where, row_checksum
from dyntc_spark.lazy_pyspark import is_frame
from dyntc_spark.session import ensure_open, is_connect, session_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: ``blocks`` is that of format 1, ``labelled`` that of a labelled graph.
TABLES = ("commits", "log", "vertices", "runs", "blocks", "changes", "labelled")
#: What tables are made with. Delta notes the least and greatest value in a file, of each column unless told which are
#: asked for; for the many of ``commits`` that is a third of the time of an append.
_PROPERTIES = {
    "commits": {"delta.dataSkippingStatsColumns": "number,version"},
    "log": {"delta.dataSkippingStatsColumns": "version"},
}

_LONGEST = 1000
#: Where a query begins, or a signature, a key or a password is given by its name.
_QUERY = re.compile(r"(\?|\b(?:sig|signature|password|secret|[a-z]*accesskey)=).*", re.IGNORECASE | re.DOTALL)
_SCHEMA = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}", re.ASCII)
_FOREIGN = ("DELTA_MISSING_DELTA_TABLE", "DELTA_NOT_A_DELTA_TABLE", "is not a Delta table")
#: What Delta says to the second of two writers, or of two who make a table.
_CONCURRENT = ("DELTA_CONCURRENT", "DELTA_PROTOCOL_CHANGED", "DELTA_METADATA_CHANGED", "CommitFailedError")
_NO_DELTA = ("DATA_SOURCE_NOT_FOUND",)

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class Place:
    """The tables of one closure.

    Parameters
    ----------
    spark
        The session to read and write in where that is needed; None: one is started then.
    location
        A path, which has a ``/``, or the name of a schema that is there: ``schema`` or ``catalog.schema``.
    """

    def __init__(self, spark: SparkSession | None, location: str) -> None:
        if spark is not None:
            ensure_open(spark)
        self._session = spark
        self.location = checked(location)
        self.is_path = "/" in self.location
        self.as_of: dict[str, int] = {}  #: the versions, as Delta counts, to read tables at; by default the last
        self.notes = Notes(lambda: self.folder, TABLES)
        self._is_writing = False

    @property
    def spark(self) -> SparkSession:
        """The session, which is started where none was given."""
        if self._session is None:
            try:
                self._session = session_for(None)
            except SetupError as error:
                raise SetupError(error.expected, error.came, error.remedy + self.hint) from error
        return self._session

    @property
    def hint(self) -> str:
        """What a remedy adds where a name may be meant for a folder."""
        said = f" {self.location!r} is taken for a schema of the catalog; for a folder write './{self.location}'."
        return "" if self.is_path else said

    @cached_property
    def by_spark(self) -> SparkTables:
        """The tables as Spark reads and writes them."""
        return SparkTables(self.spark, self.location, TABLES)

    @cached_property
    def folder(self) -> str | None:
        """The folder of this machine that the location is, which need not be there; None where it is elsewhere.

        Spark tells what it takes the path for. A client of Spark Connect cannot know whose disk the server means.
        Without a session, a path that names no other scheme than ``file`` is on this machine.
        """
        if not self.is_path or (self._session is not None and is_connect(self._session)):
            return None
        found: str | None = self.location
        if self._session is not None:
            with self.translating("looking for it"):
                found = self.by_spark.root()
        if found is None:
            return None
        scheme = urlsplit(found).scheme if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", found) else ""
        if scheme not in {"", "file"}:
            return None
        path = re.sub(r"^file:(//(?=/))?", "", found)
        return str(Path(path).absolute())

    @cached_property
    def _alone(self) -> DeltaTables | None:
        """The tables as they are read and written without Spark; None where they are not."""
        if self._session is None and urlsplit(self.location).scheme in SCHEMES:
            return ObjectTables(self.location, TABLES)
        try:
            return None if self.folder is None else DiskTables(self.folder, TABLES)
        except LeftToSparkError:
            return None

    @property
    def reads_alone(self) -> bool:
        """Whether rows are read without Spark: then many cost little."""
        return self._alone is not None

    def _tables(self) -> Tables:
        return self._alone or self.by_spark

    def log_names(self, table: str) -> list[str] | None:
        """Return the names of the files in the log of a table; None when there is none, or nobody can tell."""
        with self.translating(f"looking for the table {table!r}"):
            return self._tables().log_names(table)

    def log_content(self, table: str, name: str) -> bytes | None:
        """Return the content of a file in the log of a table; None when it cannot be read."""
        with self.translating(f"reading the log of the table {table!r}"):
            return self._tables().log_content(table, name)

    def file_name(self, table: str, name: str) -> str:
        """Return a file of a table as a message names it."""
        return f"{self.location.rstrip('/')}/{table}/{name}"

    def frame(self, table: str) -> DataFrame:
        """Return a table as a DataFrame, or raise Spark's error when it is not there."""
        return self.by_spark.frame(table, self.as_of.get(table))

    def read(self, table: str, where: Where | None = None) -> pa.Table | None:
        """Return the rows of a table, or some; None when the table is not there."""
        as_of = self.as_of.get(table)
        if as_of is not None and as_of < 0:
            return None  # nothing of it can be read
        with self.translating(f"reading the table {table!r}"):
            return self._ask(lambda tables: tables.read(table, where, as_of))

    def columns(self, table: str) -> list[str] | None:
        """Return the names of the columns of a table; None when it is not there."""
        with self.translating(f"looking for the table {table!r}"):
            return self._ask(lambda tables: tables.columns(table))

    def greatest(self, table: str, column: str) -> int | None:
        """Return the greatest number in a column; None when there is none, or no table."""
        with self.translating(f"reading the table {table!r}"):
            return self._ask(lambda tables: tables.greatest(table, column))

    def checksum(self, table: str, columns: Sequence[str], where: Where) -> tuple[int, int] | None:
        """Return how many rows there are, and the checksum (``kernels.row_hash``) of their columns of integers.

        None when the table is not there.
        """
        if self._alone is not None:
            found = self.read(table, where)
            return None if found is None else (found.num_rows, row_checksum(found.select(columns)))
        with self.translating(f"reading the table {table!r}"):
            return self.by_spark.checksum(table, columns, where)

    def read_all(self, wanted: Mapping[str, Where]) -> dict[str, pa.Table | None]:
        """Return rows of several tables, by their names: read at the same time, for most of it is waiting."""
        if not wanted:
            return {}
        with ThreadPoolExecutor(len(wanted)) as threads:
            return dict(zip(wanted, threads.map(self.read, wanted, wanted.values()), strict=True))

    def exists(self, table: str) -> bool:
        """Return whether a table is there."""
        with self.translating(f"looking for the table {table!r}"):
            return self._tables().exists(table)

    def append(
        self,
        table: str,
        content: Rows,
        once: Transaction | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Add rows to a table, which is made with these properties when it is not there.

        Rows that are on Spark are written by Spark.
        """
        made_with = {**_PROPERTIES.get(table, {}), **(properties or {})}
        if is_frame(content):
            self.by_spark.append(table, content, once, made_with)
        else:
            self._write(lambda tables: tables.append(table, content, once, made_with))

    def delete(self, table: str, where: str) -> None:
        """Take rows out of a table, by a condition in SQL; the files with them stay until they are cleared."""
        self._write(lambda tables: tables.delete(table, where))

    def compact(self, table: str) -> None:
        """Write the rows of small files as few larger ones."""
        self._write(lambda tables: tables.compact(table))

    def clear_files(self, table: str) -> None:
        """Remove files that no version of the table in Delta's retention period uses."""
        self._write(lambda tables: tables.clear_files(table))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one of this machine's writers, where the location is on its disk."""
        if self.folder is None or self._is_writing:
            yield
            return
        with ExitStack() as stack:
            with self.translating("waiting for other writers"):
                stack.enter_context(writer_lock.held(self.folder))
            self._is_writing = True
            try:
                yield
            finally:
                self._is_writing = False

    def require_free(self) -> None:
        """Refuse a location that holds something that is not ours; what a first save left half done is."""
        with self.translating("listing it"):
            if not self.is_path and not self.by_spark.has_schema():
                raise LocationError(
                    f"a schema {self.location!r} of the catalog", "none", f"Create it, or name another one.{self.hint}"
                )
            found = self._tables().foreign_file()
        if found is not None:
            raise self.refused(f"the file {found}")

    def _ask(self, question: Callable[[Tables], _Answer]) -> _Answer:
        """Put a question to the tables. What cannot be read without Spark, Spark reads, or says more about it."""
        if self._alone is not None:
            try:
                return question(self._alone)
            except Exception as error:  # whatever it is, Spark finds out more
                if self._session is None:
                    raise
                _log.debug("%s is left to Spark: %s", self.location, error)
        return question(self.by_spark)

    def _write(self, act: Callable[[Tables], None]) -> None:
        """Change the tables; those that only Spark can write are left to Spark, where there is a session."""
        if self._alone is not None:
            try:
                act(self._alone)
            except LeftToSparkError as error:
                if self._session is None:
                    raise
                _log.debug("%s is left to Spark: %s", self.location, error)
            else:
                return
        act(self.by_spark)

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

    def problem(self, error: Exception, what: str) -> DyntcError:  # noqa: PLR0911  (one for each kind)
        """Return an error of ours for one of Spark, of deltalake or of the system."""
        if says(error, _NO_DELTA):
            return SetupError(
                "a Spark session with Delta",
                "one without",
                "Install dyntc-spark[delta] and start one by session.local(delta=True), or add Delta's jar to yours.",
            )
        if isinstance(error, LeftToSparkError):
            return SetupError(
                "tables that can be read and written without Spark",
                f"{brief(error)}",
                "Give a session with Delta, as spark=session.local(delta=True).",
            )
        if says(error, _FOREIGN):
            return self.refused(f"no Delta table, {what}")
        if says(error, _CONCURRENT):
            return self.conflict(what)
        if isinstance(error, DyntcError):
            return error
        if says(error, UNREADABLE):
            remedy = "Put the file back from a copy, or call repair(location), which tells what can be recovered."
            return DamagedFileError(f"files that can be read, {what}", brief(error), remedy)
        remedy = f"The closure is as it was; try again when the cause is gone.{self.hint}"
        return StorageError(f"a location that works, {what}", f"{type(error).__name__}: {brief(error)}", remedy)


def checked(location: str) -> str:
    """Return the location as it is, or refuse it.

    Examples
    --------
    >>> checked("/data/deps"), checked("main.deps")
    ('/data/deps', 'main.deps')
    """
    remedy = "Give a path, which has a '/', or the name of a schema: 's3://bucket/deps', './deps', 'main.deps'."
    if not isinstance(location, str):
        raise LocationError("a location that is a str", f"{location!r:.80}", remedy)
    if not 0 < len(location) <= _LONGEST:
        raise LocationError(f"a location of 1 to {_LONGEST} characters", f"{without_secrets(location)!r:.80}", remedy)
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


#: What a Python worker raised: the line behind its traceback.
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t]+.*\n)+(\S.*)$", re.MULTILINE)

#: What `deltalake` puts before a cause, each on a line of its own.
_CAUSE = re.compile(r"\s*(?:\x1b\[\d+m)?↳(?:\x1b\[\d+m)?\s*")


def brief(error: Exception) -> str:
    """Return the line that says most: what a Python worker raised, else the first one without Java's stack."""
    text = _CAUSE.sub(": ", str(error))
    lines: list[str] = _RAISED.findall(text)[-1:] or [
        line.strip(" :") for line in text.splitlines() if line.strip() and "error occurred while" not in line
    ]
    return (lines[0] if lines else "")[:300]
