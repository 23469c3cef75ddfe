"""The table ``commits``: what was published at a location, a row each, and the only place that says so.

Rows are numbered without gaps. Each is appended by a Delta transaction that names its
number as the version of an application, so that of two writers of one number Delta lets
one through: the second sees a conflict, or writes nothing because the number is there.
A blind append alone would let both in.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.errors import DamagedBlockError, LocationError, VersionError
from dyntc_spark.graph.store.published_note import PublishedCommit
from dyntc_spark.graph.version import Tally

#: Of the tables; ``docs/reference/format.md`` tells what each had. A writer writes the last one, and reads all of them.
FORMAT = 2
#: The name under which Delta remembers the number of the last row.
APPLICATION = "dyntc_spark.commits"
#: Kinds of commits that make a version; the others say something about the versions that are there.
VERSIONS = ("save", "batch", "drop", "reset", "repair")
KINDS = (*VERSIONS, "checkpoint", "vacuum", "record")


@dataclass(frozen=True)
class Commit:
    """A row of the table."""

    number: int
    version: int
    kind: str  #: one of ``KINDS``
    token: str  #: what the rows of this commit carry in the other tables
    checkpoint: bool  #: whether ``vertices`` and ``runs`` have the graph and its closure at this version
    logged: int  #: rows in ``log``
    bytes: int  #: of these, or of the checkpoint
    oldest: int  #: the oldest version that can be opened
    vertex: str  #: the type of the vertices, see ``store.stored_types``
    extent: int  #: the numbers of all vertices are below this
    batch_id: str | None
    author: str
    time: dt.datetime
    seconds: float  #: from the call to the row
    inserted: int
    deleted: int
    insertions_ignored: int
    deletions_ignored: int
    vertices: int
    edges: int
    engine: str
    backend: str
    recording: bool = False  #: whether ``changes`` has the pairs that later versions change
    format: int = FORMAT
    # Since format 2:
    runs: int = 0  #: rows of the checkpoint in ``runs``
    runs_checksum: int = 0  #: of these, see ``kernels.row_hash``
    vertices_checksum: int = 0  #: of the numbers of the checkpoint in ``vertices``
    won: int | None = None  #: pairs that the version made reachable, where these are recorded
    lost: int | None = None  #: pairs that it made unreachable
    target: str | None = None  #: the table with all pairs that is kept current
    copies: int | None = None  #: edges of a multigraph with all their copies; None where each edge is there once

    @property
    def published(self) -> PublishedCommit:
        """What others can note of it."""
        return PublishedCommit(self.number, self.version, self.token)

    def table(self) -> pa.Table:
        """Return the row."""
        return pa.Table.from_pylist([asdict(self)], SCHEMA)


_ARROW = {
    "int": pa.int64(),
    "int | None": pa.int64(),
    "str": pa.string(),
    "str | None": pa.string(),
    "bool": pa.bool_(),
    "float": pa.float64(),
    "dt.datetime": pa.timestamp("us", "UTC"),
}
SCHEMA = pa.schema([(field.name, _ARROW[str(field.type)]) for field in fields(Commit)])
#: Columns that may be null.
NULLABLE = tuple(field.name for field in fields(Commit) if str(field.type).endswith("None"))
#: Columns that format 1 did not have, with what a row of it says there.
_ADDED = {name: getattr(Commit, name) for name in SCHEMA.names[SCHEMA.get_field_index("format") + 1 :]}

_RESTORE = "Restore the table to an older state with Delta's RESTORE."
#: What `DynamicClosure.history` shows of the commits that made a version.
SHOWN = (
    "version",
    "kind",
    "batch_id",
    "author",
    "time",
    "inserted",
    "deleted",
    "insertions_ignored",
    "deletions_ignored",
    "vertices",
    "edges",
    "seconds",
    "won",
    "lost",
)


class Commits(Sequence[Commit]):
    """The published commits of a location, in their order."""

    def __init__(self, rows: Sequence[Commit], oldest: int = 0) -> None:
        self._rows = sorted(rows, key=lambda commit: commit.number)
        self.oldest = max(oldest, self.head.oldest)  #: the oldest version that can be opened
        for place, commit in enumerate(self._rows, 1):
            if commit.number != place or commit.kind not in KINDS:
                raise DamagedBlockError(
                    f"the commit {place} in the table 'commits'",
                    f"{commit.kind} {commit.number}",
                    _RESTORE,
                )

    @classmethod
    def read(cls, table: pa.Table, location: str) -> Commits:
        """Read the table, of which the location is known; refuse one that is not ours."""
        for name in _ADDED.keys() - set(table.column_names):
            table = table.append_column(name, pa.nulls(table.num_rows, SCHEMA.field(name).type))
        if set(table.column_names) != set(SCHEMA.names):
            raise LocationError(
                f"a closure at {location!r}", "a table 'commits' with other columns", "Choose another location."
            )
        formats = set(table.column("format").to_pylist())
        unknown = formats - {None} - set(range(1, FORMAT + 1))
        if unknown:
            raise LocationError(
                f"a closure in a format up to {FORMAT} at {location!r}",
                f"one in format {max(unknown)}",
                "Use a later release of dyntc_spark.",
            )
        _refuse_nulls(table, location)
        try:
            rows = table.select(SCHEMA.names).cast(SCHEMA).to_pylist()
        except (pa.ArrowException, ValueError, OverflowError) as error:  # other types, years that Python does not have
            raise DamagedBlockError(
                f"the table 'commits' at {location!r} as it was written", f"{error!s:.200}", _RESTORE
            ) from error
        return cls([Commit(**(row | _ADDED if row["format"] == 1 else row)) for row in rows])

    @property
    def head(self) -> Commit:
        """The last one."""
        return self._rows[-1]

    def has(self, published: PublishedCommit) -> bool:
        """Return whether a commit is among them that was published."""
        return published.number <= len(self) and self[published.number - 1].token == published.token

    def upto(self, version: int | None) -> Commits:
        """Return the commits up to a version, by default all; refuse a version that cannot be opened."""
        oldest, newest = self.oldest, self.head.version
        if version is None:
            return self
        if isinstance(version, bool) or not isinstance(version, int) or not oldest <= version <= newest:
            raise VersionError(
                f"a version from {oldest} to {newest}", f"{version!r}", "history() tells about all of them."
            )
        return Commits([commit for commit in self._rows if commit.version <= version], oldest)

    def checkpoints(self) -> list[Commit]:
        """Return the checkpoints that are needed to open a version, the last first."""
        found = [commit for commit in reversed(self._rows) if commit.checkpoint]
        kept = next(place for place, commit in enumerate(found) if commit.version <= self.oldest)
        return found[: kept + 1]

    def after(self, number: int) -> list[Commit]:
        """Return the commits with a version of their own behind a number."""
        return [commit for commit in self._rows[number:] if commit.kind in VERSIONS]

    def history(self) -> pa.Table:
        """Return what is shown of the commits that made a version, in their order."""
        rows = [asdict(commit) for commit in self._rows if commit.kind in VERSIONS]
        return pa.Table.from_pylist(rows, SCHEMA).select(SHOWN)

    @property
    def recorded_from(self) -> int | None:
        """The first version that ``changes`` is to have; None where nothing is recorded."""
        return next((commit.version + 1 for commit in self._rows if commit.recording), None)

    def counts(self) -> Tally:
        """Return what all batches came to, those before the save included."""
        total = Tally()
        for commit in self._rows:
            if commit.kind in {"save", "batch"}:
                total += Tally(**{name: getattr(commit, name) for name in Tally().as_dict()})
        return total

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204  (an index or a slice)
        return self._rows[place]


def _refuse_nulls(table: pa.Table, location: str) -> None:
    """Raise the error that names a column with nulls, which only damage makes."""
    later = table.filter(pc.greater(table.column("format"), 1))
    for name in (name for name in SCHEMA.names if name not in NULLABLE):
        if (later if name in _ADDED else table).column(name).null_count:
            raise DamagedBlockError(
                f"a value of {name!r} in every row of the table 'commits' at {location!r}", "null", _RESTORE
            )
