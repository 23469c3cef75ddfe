"""A closure's place at a location: what it has read there, and the commits that it writes.

A writer knows the number of the last commit that it has seen, and publishes the next. When
another one was first it gets a ``ConflictError``, and nothing of what it wrote counts.
"""

from __future__ import annotations

import datetime as dt
import getpass
import logging
import time
import uuid
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dyntc_spark.errors import (
    DamagedBlockError,
    DamagedFileError,
    DyntcError,
    LocationError,
    StorageError,
    VertexTypeError,
)
from dyntc_spark.graph.changes.difference_on_spark import StoredDifference
from dyntc_spark.graph.store import checkpoint, damaged_files, delta_log, recorded_changes, steps
from dyntc_spark.graph.store.commits import APPLICATION, FORMAT, VERSIONS, Commit, Commits
from dyntc_spark.graph.store.engine_start import Checkpoint
from dyntc_spark.graph.store.location_kind import refuse_labelled
from dyntc_spark.graph.store.place import Place, brief
from dyntc_spark.graph.store.published_note import PublishedCommit
from dyntc_spark.graph.store.published_table import PublishedTable
from dyntc_spark.graph.store.replay import Batch, log_table, replayed
from dyntc_spark.graph.store.stored_types import kind_text
from dyntc_spark.graph.store.tables import Transaction, Where
from dyntc_spark.graph.version import Graph, Tally

#: So many batches, or bytes in the log, after a checkpoint there is another one.
CHECKPOINT_BATCHES = 64
CHECKPOINT_BYTES = 2**26
#: After so many commits, whose rows are files of their own, ``commits`` and ``log`` are written as few files.
COMPACT_COMMITS = 64
#: Tables that checkpoints are in, or were in format 1.
CHECKPOINTED = ("vertices", "runs", "blocks")
#: Kinds of commits that are checkpoints.
CHECKPOINTS = ("save", "checkpoint", "repair")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ToPublish:
    """A closure as it is to be published."""

    version: int
    graph: Graph
    asked: tuple[str, str]  #: the engine and the backend that the user asked for
    counts: Tally  #: of the batch, or for a save of all so far
    started: float  #: by ``time.perf_counter``
    content: checkpoint.Content | None = None  #: for a checkpoint: what that is to hold


@dataclass
class Loaded:
    """A version as it was read: a checkpoint with the log behind it."""

    commit: Commit  #: the last commit up to the version
    graph: Graph
    counts: Tally
    checkpoint: Checkpoint | None = None  #: from which the version is reached; None where it begins anew after that


class Store:
    """A location that a closure is attached to."""

    def __init__(self, place: Place, commits: Commits | None = None) -> None:
        self.place = place
        self.uncertain = False  #: whether a commit may have been published or not
        self.number = self.oldest = 0
        self._kind: str | None = None  # of the vertices in the tables
        self._batch_ids: set[str] = set()
        self._batches = self._bytes = 0  # since the last checkpoint
        self.recording = False  #: whether the pairs that change are kept
        self.target: str | None = None  #: the table that follows the location
        self.target_version: int | None = None  #: that it is known to have
        self._changed = True  # whether the last version may have changed a pair
        self._unwritten: list[tuple[int, pa.Table | StoredDifference]] = []  # what is still to be recorded, by version
        self._older = False  # whether the tables may lack columns that a later format has brought
        for commit in commits or ():
            self._note(commit)
        self._compacted = self.number - self.number % COMPACT_COMMITS
        #: From which version on nobody has looked whether it is recorded; None: all are, or wait here.
        self.unsure_from = commits.recorded_from if commits is not None and self.recording else None

    @classmethod
    def commits(cls, place: Place) -> Commits | None:
        """Read what was published at a location; None when nothing was. Refuse a table that has lost a commit."""
        published = place.notes.published()  # before the table, which may grow meanwhile
        damaged_files.require_end(place, "commits")
        try:
            found = cls.remaining(place)
        except StorageError as error:
            raise damaged_files.named(place, error) from error
        if published is not None and (found is None or not found.has(published)):
            raise cls._lost(place, published, found)
        if found is not None:
            place.notes.saw(found.head.published)
        return found

    @staticmethod
    def remaining(place: Place) -> Commits | None:
        """Read the commits that are there, whatever is known about others; None when there are none."""
        table = place.read("commits")
        if table is None or not table.num_rows:
            return None
        return Commits.read(table, place.location)

    @staticmethod
    def _lost(place: Place, published: PublishedCommit, found: Commits | None) -> DamagedFileError:
        """Make the error for a location whose commits are not those that were published there."""
        have = 0 if found is None else len(found)
        came = f"{have} commits" if have < published.number else f"another commit {published.number}"
        after = delta_log.entries(place.log_names("commits") or [])
        name = delta_log.name_of(after[-1] + 1 if after and have < published.number else 0)
        expected = f"commit {published.number}, which published version {published.version},"
        return DamagedFileError.of(place.file_name("commits", f"{delta_log.FOLDER}/{name}"), expected, came)

    @classmethod
    def required(cls, place: Place) -> Commits:
        """Read what was published, or refuse a location that holds no closure."""
        found = cls.commits(place)
        if found is None:
            refuse_labelled(place)
            raise LocationError(
                f"a closure at {place.location!r}",
                "none",
                f"Check the location; save() puts a closure there.{place.hint}",
            )
        return found

    def has(self, batch_id: str) -> bool:
        """Return whether a batch was published before."""
        return batch_id in self._batch_ids

    @property
    def is_due(self) -> bool:
        """Whether there is so much in the log that it is time for a checkpoint."""
        return self._batches >= CHECKPOINT_BATCHES or self._bytes >= CHECKPOINT_BYTES

    @property
    def is_scattered(self) -> bool:
        """Whether it is time to compact the tables of which every commit adds to."""
        return self.number - self._compacted >= COMPACT_COMMITS

    # --- reading -----------------------------------------------------------------------------

    def load(self, commits: Commits, *, repairing: bool = False) -> Loaded:
        """Read the last version among ``commits``; when ``repairing``, checkpoints that are damaged are passed over."""
        starts = commits.checkpoints()
        for start in starts:
            try:
                return self._load(commits, start)
            except (DamagedBlockError, StorageError) as error:  # noqa: PERF203  (there are few)
                if not repairing:
                    raise damaged_files.named(self.place, error) from error
                if start is starts[-1]:
                    raise
        raise AssertionError  # there is a checkpoint: the first commit is one

    def _load(self, commits: Commits, start: Commit) -> Loaded:
        later = commits.after(start.number)
        tables = self.place.read_all({**checkpoint.wanted(start), **_log_of(later)})
        first = checkpoint.read(start, tables)
        graph, anew = replayed(first, later, tables.get("log"))
        known = None if anew else Checkpoint(self.place, start, first, checkpoint.closure_of(self.place, start, tables))
        return Loaded(commits.head, graph, commits.counts(), known)

    def follow(self, graph: Graph, commits: Commits, version: int) -> tuple[Graph, bool]:
        """Bring a graph at a version to the last one; tell whether it was begun anew on the way."""
        later = [commit for commit in commits.after(0) if commit.version > version]
        if commits.oldest > version:  # what leads there from here is gone
            return self.load(commits).graph, True
        return replayed(graph, later, self.place.read_all(_log_of(later)).get("log"))

    # --- writing -----------------------------------------------------------------------------

    def publish(
        self,
        kind: str,
        now: ToPublish,
        batch: Batch | None = None,
        changes: pa.Table | StoredDifference | None = None,
        **facts: Any,  # noqa: ANN401  (as the fields are)
    ) -> None:
        """Write a commit by the steps of ``steps``: a batch, or without one a checkpoint.

        ``changes`` are rows that the next `flush` is to write, and ``facts`` fields of the commit that are to be
        others. When this raises, nothing was published, unless the store is ``uncertain`` then. When it returns, the
        store is uncertain until the caller has made the version current and says so: an interrupt may come between.
        """
        kept = kind_text(batch.vertex_kind(now.graph) if batch else now.graph.vertices.kind)
        self._require_kind(now.graph, kept)
        if changes is not None:
            facts["won"], facts["lost"] = recorded_changes.counts(changes)
        with self.place.writing():
            self._publish(self._written(kind, now, batch, kept, facts))
        if changes is not None:
            self.record(now.version, changes)
        elif batch is not None and self.recording:
            self.unsure_from = now.version

    def _written(self, kind: str, now: ToPublish, batch: Batch | None, kept: str, facts: dict[str, Any]) -> Commit:
        """Write what a commit is about; return the row that publishes it."""
        token, logged, size = uuid.uuid4().hex, 0, 0
        told: checkpoint.Facts = {}
        counts: dict[str, Any] = now.counts.as_dict()
        with self.place.translating(f"writing version {now.version}"):
            if batch is not None:
                table = log_table(batch, now.graph, now.version, token)
                logged, size = table.num_rows, table.nbytes
                if logged:
                    steps.run("log", lambda: self.place.append("log", table))
            elif now.content is not None:
                told = checkpoint.write(self.place, now.version, token, now.content, upgrading=self._older)
        commit = Commit(
            number=self.number + 1,
            version=now.version,
            kind=kind,
            token=token,
            checkpoint=kind in CHECKPOINTS,
            logged=logged,
            bytes=size,
            oldest=self.oldest if self.number else now.version,
            vertex=kept,
            extent=now.graph.vertices.extent,
            batch_id=batch.batch_id if batch else None,
            author=_author(),
            time=dt.datetime.now(dt.timezone.utc),
            seconds=time.perf_counter() - now.started,
            **counts,
            vertices=len(now.graph.vertices),
            edges=len(now.graph.edges),
            engine=now.asked[0],
            backend=now.asked[1],
            recording=self.recording,
            target=self.target,
            copies=None if now.graph.copies is None else now.graph.size,
        )
        return Commit(**{**vars(commit), **told, **facts})

    def _publish(self, commit: Commit) -> None:
        """Append the row, and look whether it is ours that is there: a failure may come after the fact."""
        failure: Exception | None = None
        self.uncertain = True
        once, options = Transaction(APPLICATION, commit.number), {"mergeSchema": "true"} if self._older else None
        try:
            steps.run("publish", lambda: self.place.append("commits", commit.table(), once, options))
        except Exception as error:  # noqa: BLE001  (whatever it is, the table tells what came of it)
            failure = error
        try:
            token = steps.run("confirm", lambda: self._token(commit.number))
        except Exception as error:  # noqa: BLE001
            raise StorageError(
                f"to see whether version {commit.version} was published at {self.place.location!r}",
                f"{type(error).__name__}: {brief(error)}",
                "Call refresh(), which tells; until then the closure takes no changes."
                if self.number
                else "open() tells: there is a closure at the location now, or none.",
            ) from (failure or error)
        if token == commit.token:
            self._note(commit)
            self._note_on_disk(commit)
            return
        self.uncertain = False
        what = f"publishing commit {commit.number}"
        if token is None and failure is not None:
            raise self.place.problem(failure, what) from failure
        raise self.place.conflict(what) from failure

    def _note_on_disk(self, commit: Commit) -> None:
        """Bring the commit to the disk and note it there, where that is a disk of this machine."""
        try:
            steps.run("note", lambda: self.place.notes.write(commit.published))
        except OSError as error:  # it is published; the next commit notes both
            _log.warning("Version %d is published, but may not be on the disk yet: %s", commit.version, error)

    def _token(self, number: int) -> str | None:
        """Return the token of the commit with a number; None when it is not published."""
        table = self.place.read("commits", lambda column: column("number") == number)
        return table.column("token")[0].as_py() if table is not None and table.num_rows else None

    def _require_kind(self, graph: Graph, kind: str) -> None:
        if self._kind not in {None, kind} and len(graph.vertices):
            raise VertexTypeError(
                f"vertices of type {self._kind}, as the location has them", kind, "Save it to another location."
            )

    def _note(self, commit: Commit) -> None:
        """Remember a commit that is published."""
        self.number, self.oldest = commit.number, commit.oldest
        self.recording, self.target = commit.recording, commit.target
        self._older = self._older or commit.format < FORMAT
        if commit.logged or (commit.checkpoint and commit.vertices):
            self._kind = commit.vertex
        if commit.kind in VERSIONS:
            self._changed = commit.won is None or commit.won + (commit.lost or 0) > 0
        if commit.batch_id is not None:
            self._batch_ids.add(commit.batch_id)
        self._batches, self._bytes = (0, 0) if commit.checkpoint else (self._batches + 1, self._bytes + commit.bytes)

    # --- recording ---------------------------------------------------------------------------

    def record(self, version: int, changes: pa.Table | StoredDifference) -> None:
        """Have what a published version changed written to ``changes`` by the next `flush`."""
        self._unwritten.append((version, changes))
        self.unsure_from = None

    def flush(self) -> None:
        """Write what is to be recorded."""
        while self._unwritten:
            version, found = self._unwritten[0]
            try:
                recorded_changes.append(self.place, version, found)
            except DyntcError:
                if isinstance(found, StoredDifference):  # Spark may have lost it: it is worked out again
                    self._unwritten, self.unsure_from = [], version
                raise
            del self._unwritten[0]

    def lacks(self, version: int) -> bool:
        """Return whether the last version is published and perhaps not recorded; asked until it is known."""
        first = self.unsure_from
        if first is None or version < first or version <= self.oldest or recorded_changes.last(self.place) >= version:
            self.unsure_from = None
            return False
        return True

    def follow_target(self, version: int) -> None:
        """Bring the table that follows the location, where there is one, to the last version, which is recorded."""
        if self.target is None or self.target_version == version:
            return
        target = PublishedTable(self.place, self.target)
        if self.target_version is not None and self.target_version == version - 1:
            if self._changed:
                target.merge(version)
        else:
            commits = self.required(self.place)
            target.create(commits)
            target.catch_up(commits)
        self.target_version = version

    # --- clearing ----------------------------------------------------------------------------

    def clear(self, commits: Commits, *, files: bool) -> None:
        """Delete what no version needs that can be opened."""
        first, *_ = reversed(commits.checkpoints())
        old = [commit.token for commit in commits if commit.checkpoint and commit.number < first.number]
        tokens = ", ".join(f"'{token}'" for token in old if token.isalnum())
        unneeded = f"version < {first.version}" + (f" OR token IN ({tokens})" if tokens else "")
        # Another writer may be about to publish, but not a version that is this old.
        for table, where in (("log", f"version <= {first.version}"), *((name, unneeded) for name in CHECKPOINTED)):
            with self.place.translating(f"clearing the table {table!r}"), self.place.writing():
                if self.place.exists(table):
                    self.place.delete(table, where)
                    if files:
                        self.place.compact(table)
                        self.place.clear_files(table)
        if files:
            self.compact()

    def compact(self) -> None:
        """Write the rows of ``commits`` and ``log`` as few files; their readers see no difference."""
        for table in ("commits", "log"):
            with self.place.translating(f"compacting the table {table!r}"), self.place.writing():
                if self.place.exists(table):
                    self.place.compact(table)
        self._compacted = self.number


def _log_of(later: list[Commit]) -> dict[str, Where]:
    """Return what is to be read of the log for some commits; nothing where they have logged nothing."""
    if not any(commit.logged for commit in later):
        return {}
    first, last = later[0].version, later[-1].version
    return {"log": lambda column: (column("version") >= first) & (column("version") <= last)}


def _author() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
