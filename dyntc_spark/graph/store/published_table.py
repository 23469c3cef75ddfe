"""An ordinary Delta table with all pairs, ``src`` and ``dst``, that follows the versions of a location.

It is written after the table ``changes`` and from it, by one ``MERGE`` for each version that changed a pair. The commit
of a merge names the version in its metadata, and as the version of an application, so that a writer who comes too late
changes nothing. A writer that ends before its merge leaves the table behind; the next one finds this by
the metadata, and merges what is missing, before it publishes another version. Where the table is new, or ``changes``
does not lead from its version to the last one, the whole closure is merged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dyntc_spark.errors import LocationError
from dyntc_spark.graph.inputs.vertex_types import spark_type
from dyntc_spark.graph.store import steps
from dyntc_spark.graph.store.commits import Commits
from dyntc_spark.graph.store.place import Place, checked
from dyntc_spark.graph.store.recorded_changes import TABLE as CHANGES
from dyntc_spark.graph.store.statements import checkpoint_statement, closure_statement, require_tables
from dyntc_spark.graph.tables.views import literal
from dyntc_spark.lazy_pyspark import F
from dyntc_spark.session import beside

#: The name under which Delta remembers the last version, and under which the table says whose it is.
APPLICATION = "dyntc_spark.closure"
_OWNER = "dyntc_spark.location"
_SETTINGS = {
    "version": "spark.databricks.delta.write.txnVersion",
    "application": "spark.databricks.delta.write.txnAppId",
    "metadata": "spark.databricks.delta.commitInfo.userMetadata",
}
_INSERT = "THEN INSERT (src, dst) VALUES (c.src, c.dst)"
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){1,2}", re.ASCII)


def checked_name(name: str) -> str:
    """Return the name of a table as it is, or refuse it.

    Examples
    --------
    >>> checked_name("main.lineage.closure"), checked_name("/data/closure")
    ('main.lineage.closure', '/data/closure')
    """
    if isinstance(name, str) and "/" in name:
        return checked(name)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise LocationError(
            "a path, which has a '/', or the name of a table with its schema",
            f"{name!r:.80}",
            "Give for example 'main.lineage.closure' or 's3://bucket/closure'.",
        )
    return name


@dataclass(frozen=True)
class PublishedTable:
    """The table of one location."""

    place: Place  #: the location
    name: str

    @property
    def identifier(self) -> str:
        """The name for SQL, quoted."""
        if "/" in self.name:
            return "delta.`{}`".format(self.name.replace("`", "``"))
        return ".".join(f"`{part}`" for part in self.name.split("."))

    def create(self, commits: Commits) -> None:
        """Make the table, where there is none; refuse one that is not of this location."""
        kind = spark_type(require_tables(self.place, commits))
        with self.place.translating(f"making the table {self.name!r}"):
            self.place.spark.sql(
                f"CREATE TABLE IF NOT EXISTS {self.identifier} (src {kind}, dst {kind}) USING delta TBLPROPERTIES "
                f"('delta.enableChangeDataFeed' = 'true', '{_OWNER}' = {literal(self.place.location)})"
            )
            owner = (self._detail("properties") or {}).get(_OWNER)
        if owner != self.place.location:
            raise LocationError(
                f"a table {self.name!r} that is kept by {self.place.location!r}, or none",
                "one that somebody else keeps",
                "Choose another name; nothing was changed there.",
            )

    def catch_up(self, commits: Commits) -> None:
        """Bring the table to the last version."""
        for version in self._missing(commits):
            if version is None:
                self._fill(commits)
            else:
                self.merge(version)

    def merge(self, version: int) -> None:
        """Bring the table from the version before to this one, by the table ``changes``."""
        changes = self.place.by_spark.identifier(CHANGES)
        changed = f"SELECT op, src, dst FROM {changes} WHERE version = {version}"  # noqa: S608  (quoted)
        clauses = f"WHEN MATCHED AND c.op = 'delete' THEN DELETE WHEN NOT MATCHED AND c.op = 'insert' {_INSERT}"
        self._write(version, f"{self._merging(changed)} {clauses}")

    def _fill(self, commits: Commits) -> None:
        """Bring the table to the last version, whatever it has."""
        version, start = commits.head.version, commits.checkpoints()[0]
        # Where the last version is a checkpoint, as after a save, Spark plans and reads a third of the tables.
        last = start.version == version
        every = checkpoint_statement(self.place, start.token) if last else closure_statement(self.place)
        if self._detail("numFiles"):
            text = f"{self._merging(every)} WHEN NOT MATCHED {_INSERT} WHEN NOT MATCHED BY SOURCE THEN DELETE"
        else:
            text = f"INSERT INTO {self.identifier} {every}"
        self._write(version, text)

    def _merging(self, rows: str) -> str:
        return f"MERGE INTO {self.identifier} AS t USING ({rows}) AS c ON t.src = c.src AND t.dst = c.dst"

    def _detail(self, column: str) -> Any:  # noqa: ANN401  (as the column is)
        """Return what Delta says about the table."""
        return self.place.spark.sql(f"DESCRIBE DETAIL {self.identifier}").select(column).collect()[0][0]

    def _write(self, version: int, text: str) -> None:
        """Run a statement whose commit names a version; nothing where the table has had that version."""
        told = {
            "version": str(version),
            "application": APPLICATION,
            "metadata": json.dumps({"location": self.place.location, "version": version}),
        }

        def write() -> None:
            with beside(self.place.spark, {_SETTINGS[key]: value for key, value in told.items()}) as spark:
                spark.sql(text).collect()

        with self.place.translating(f"writing version {version} to the table {self.name!r}"):
            steps.run("target", write)

    def _missing(self, commits: Commits) -> Iterable[int | None]:
        """Return the versions to be merged, in their order; None: everything, in one step."""
        have = self.version()
        later = [commit for commit in commits.after(0) if have is None or commit.version > have]
        if have is None or any(commit.kind == "repair" or not commit.recording for commit in later):
            return [None]
        return [commit.version for commit in later if commit.won is None or commit.won or commit.lost]

    def version(self) -> int | None:
        """Return the version that the table has; None when it does not say."""
        with self.place.translating(f"reading the history of the table {self.name!r}"):
            told = self.place.spark.sql(f"DESCRIBE HISTORY {self.identifier}").where("userMetadata IS NOT NULL")
            found = told.orderBy(F.desc("version")).select("userMetadata").collect()
        for row in found:
            try:
                said = json.loads(row[0])
                if said["location"] == self.place.location:
                    return int(said["version"])
            except (ValueError, KeyError, TypeError):  # noqa: PERF203  (a commit of somebody else, who compacts the table)
                continue
        return None
