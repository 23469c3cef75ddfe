"""What is done with a location: a closure is saved there, opened, mended, brought up to date; old versions go."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from dyntc_spark.errors import LocationError, OptionError
from dyntc_spark.graph.argument_checks import require_kept
from dyntc_spark.graph.attachment import Attachment
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.lost_blocks import retry_after_loss
from dyntc_spark.graph.store.commits import Commits
from dyntc_spark.graph.store.engine_start import begin, bring
from dyntc_spark.graph.store.location_kind import refuse_labelled
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.published_table import PublishedTable, checked_name
from dyntc_spark.graph.store.recovery import Recovered, recover
from dyntc_spark.graph.store.store import Store
from dyntc_spark.graph.tables.current_views import CurrentViews
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.graph.version import Version
from dyntc_spark.session import session_at_hand


class StoredVersion(NamedTuple):
    """A version of a closure at a place, which has not been read yet."""

    place: Place
    commits: Commits  #: all of the place
    upto: Commits  #: those up to the version
    found: Recovered | None = None  #: what to mend

    @classmethod
    def at(cls, place: Place, version: int | None = None) -> StoredVersion:
        """Find a version, by default the last one."""
        commits = Store.required(place)
        return cls(place, commits, commits.upto(version))

    @classmethod
    def damaged(cls, place: Place, version: int | None) -> StoredVersion:
        """Find what can be recovered at a place whose files are damaged."""
        found = recover(place, version)
        return cls(place, found.commits, found.commits.upto(found.version), found)

    @property
    def asked(self) -> tuple[str, str]:
        """The engine and the backend that it was saved with."""
        return self.upto.head.engine, self.upto.head.backend


class Location:
    """The location of a closure, as users see it."""

    def __init__(self, door: Door, attachment: Attachment, tables: SessionTables, views: CurrentViews) -> None:
        self._door, self._attachment, self._tables, self._views = door, attachment, tables, views

    def open(self, stored: StoredVersion) -> None:
        """Read a version and attach the closure, which is new, to its place; mend the place where that is wanted."""
        store, engine = Store(stored.place, stored.commits), self._door.engine
        loaded = store.load(stored.upto, repairing=stored.found is not None)
        graph, start = loaded.graph, loaded.checkpoint if stored.found is None else None  # a repair writes it again
        retry_after_loss(lambda: begin(engine, graph, start), lambda: None)
        self._attachment.asked, self._attachment.store = stored.asked, store
        self._attachment.is_past = stored.found is None and stored.upto.head.version < stored.commits.head.version
        self._door.publish(Version(graph, graph, loaded.commit.version, loaded.counts))
        if stored.found is not None:
            self._mend(stored.found, store)

    def save(self, location: str, *, record_changes: bool = False, publish: str | None = None) -> None:
        """Save the closure to a location, a path or a schema of the catalog, and attach it to that.

        From then on each batch is durable there before the call returns. At the location that the closure is
        attached to already, this writes a checkpoint, from which opening is fastest.

        With ``record_changes``, what each later batch changes is kept in the table ``changes`` there: ``version``,
        ``op``, ``src``, ``dst``, with Delta's change data feed. It stays so for this location. ``publish`` names
        a table that has all pairs at the last version (see `publish`).
        """
        self.save_at(Place(session_at_hand(self._tables.spark), location), record_changes=record_changes)
        if publish is not None:
            self.publish(publish)

    def save_at(self, place: Place, *, record_changes: bool = False) -> None:
        """Save the closure to a place, and attach it to that."""
        with self._door.changing() as now:
            if now.graph.vertices.on_spark:
                raise OptionError(
                    "names of vertices in this process, for a closure at a location",
                    f"{len(now.graph.vertices)} names on Spark",
                    "Build it with from_edges(..., names='driver'), or write edges() to a table of your own.",
                )
            attachment = self._attachment
            if attachment.store is not None and attachment.store.place.location == place.location:
                attachment.begin()
                attachment.publish("checkpoint")
                attachment.record(wanted=record_changes)
                return
            if Store.commits(place) is not None:
                raise LocationError(
                    f"no closure at {place.location!r}, or the one that this one was opened from or saved as",
                    "another one",
                    "Choose another location; or open() that closure and reset() its edges. Nothing was changed there.",
                )
            refuse_labelled(place)
            place.require_free()
            before = attachment.store, attachment.is_past
            attachment.store, attachment.is_past = Store(place), False
            try:
                attachment.begin()
                attachment.publish("save", counts=now.tally, recording=record_changes)
            except BaseException:
                attachment.store, attachment.is_past = before
                raise

    def publish(self, target: str | None) -> None:
        """Keep an ordinary Delta table with all pairs, ``src`` and ``dst``, at the last version of the location.

        It is filled now; from then on each batch that changes a pair is one commit there, which names the version in
        its metadata. The table has Delta's change data feed. What batches change is recorded, as by ``save`` with
        ``record_changes``. The location remembers the table: it is kept current after `open`, too.

        Parameters
        ----------
        target
            A table with its schema (``"main.lineage.closure"``), or a path. None: no table is kept any more.
        """
        name = None if target is None else checked_name(target)
        with self._door.changing() as now:
            store = self._attachment.required()
            self._attachment.begin()
            if name is not None:
                PublishedTable(store.place, name).create(Store.required(store.place))
            self._attachment.publish("checkpoint", recording=store.recording or name is not None, target=name)
            store.target_version = None
            store.follow_target(now.number)

    def refresh(self) -> int:
        """Bring the closure to the last version at its location, and give that.

        A reader follows a writer by this, and a writer continues by it after a ``ConflictError``.
        """
        with self._door.changing():
            store, attachment = self._attachment.required(), self._attachment
            commits = Store.required(store.place)
            past, attachment.is_past = attachment.is_past, False
            try:
                self._follow(store, commits)
            except BaseException:
                attachment.is_past = past
                raise
            return self._door.now.number

    def vacuum(self, keep: int, *, files: bool = True) -> None:
        """Remove older versions, but for the last ``keep``; ``history`` still lists them.

        ``files``: whether to put small files together, and to remove those that Delta's retention period allows
        to remove; by default it is a week.
        """
        require_kept(keep)
        with self._door.changing() as now:
            store = self._attachment.required()
            self._attachment.begin()
            oldest = max(store.oldest, now.number - keep + 1)
            self._attachment.publish("vacuum", oldest=oldest)
            store.clear(Store.required(store.place), files=files)

    def _mend(self, found: Recovered, store: Store) -> None:
        """Write what is whole of a damaged location; a version that was recovered becomes the last one."""
        if not found.lost:
            self._attachment.begin()
            self._attachment.publish("checkpoint")
            return
        store.unsure_from = None  # what a lost version changed cannot be recorded
        self._attachment.begin()
        with self._door.changing() as now:
            self._door.publish(replace(now, number=found.published + 1))
        self._attachment.publish("repair", oldest=self._door.now.number)
        for _ in range(found.lost_commits):  # a writer that still knows the lost ones has to see a conflict
            self._attachment.publish("record", recording=store.recording)

    def _follow(self, store: Store, commits: Commits) -> None:
        """Bring graph and engine to the last version; nothing is replaced before the engine has it."""
        now = self._door.now
        self._door.restore()
        if commits.head.number == store.number and commits.head.version == now.number:
            store.uncertain = False
            return
        graph, anew = store.follow(now.graph, commits, now.number)
        engine = self._door.engine

        def follow() -> None:
            if anew:
                engine.init(graph.edges.edges, graph.vertices.extent)
            else:
                bring(engine, now.graph, graph)

        self._door.advance(follow)
        self._attachment.store = Store(store.place, commits)
        self._door.publish(Version(graph, graph, commits.head.version, commits.counts()))
        self._views.show()
