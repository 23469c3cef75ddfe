"""A closure that is attached to a location: each batch is durable there before the call that makes it returns.

A closure is attached when it is saved to a location or opened from one. A batch is worked out in
this process, then written and published; when that fails, the closure is brought back to what it was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dyntc_spark.engines import registry
from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import ConflictError, DyntcError, OptionError
from dyntc_spark.graph.arrow import ArrowAnswers
from dyntc_spark.graph.asking import changes_table
from dyntc_spark.graph.changed import Changed, Stored, changed_between
from dyntc_spark.graph.frames import frame
from dyntc_spark.graph.history import Graph, Tally, Version
from dyntc_spark.graph.past import Past
from dyntc_spark.graph.relations import Touched
from dyntc_spark.graph.showing import Shown
from dyntc_spark.graph.store import recorded
from dyntc_spark.graph.store.checkpoint import Content
from dyntc_spark.graph.store.commits import Commits
from dyntc_spark.graph.store.following import create_location_views
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.recovery import recover
from dyntc_spark.graph.store.replay import Batch
from dyntc_spark.graph.store.store import CHECKPOINTS, Standing, Store
from dyntc_spark.graph.store.target import Target, checked_name
from dyntc_spark.graph.surviving import surviving
from dyntc_spark.progress import progress
from dyntc_spark.session import session_at_hand, session_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Self

_LONGEST_ID = 500

_log = logging.getLogger(__name__)


class Attached(Shown):
    """A closure that may be attached to a location."""

    def __init__(self, engine: Engine, spark: SparkSession | None = None) -> None:
        super().__init__(engine, spark)
        self._store: Store | None = None
        self._is_past = False  # whether it was opened at a version that may not be the last
        self._asked, self._names = ("auto", "auto"), "auto"
        self._started = 0.0

    @classmethod
    def open(cls, location: str, version: int | None = None, spark: SparkSession | None = None) -> Self:
        """Open the closure that was saved at a location, and attach it to that.

        Parameters
        ----------
        location
            A path, which has a ``/``, or a schema of the catalog.
        version
            An older version, to be asked as of then; such a closure takes no changes. By default the last one.
        spark
            The session to read and write in; by default the active one. Without one, a path of this machine is read
            and written without Spark, and for other locations a local session is started.
        """
        spark = session_at_hand(spark)
        return cls._open_at(Place(spark, location), version, spark)

    @classmethod
    def _open_at(cls, place: Place, version: int | None = None, spark: SparkSession | None = None) -> Self:
        """Open the closure at a place, which is read and written as that says, for answers in a session."""
        commits = Store.required(place)
        closure = cls._made(place, commits, commits.upto(version), spark, repairing=False)
        closure._is_past = version is not None and version < commits.head.version  # noqa: SLF001
        return closure

    @classmethod
    def repair(cls, location: str, spark: SparkSession | None = None, *, version: int | None = None) -> Self:
        """Open a closure of which files are damaged, and mend its location.

        The closure is built again from its edges: those of a checkpoint that is whole, and the log behind it. What is
        damaged is put aside, into the folder ``_damaged`` of the location, and a new checkpoint is written.

        Where a published version is lost, nothing is changed: the error tells which version can be recovered. With
        that as ``version`` it becomes the last one, under a new number, and older versions are let go.
        """
        spark = session_at_hand(spark)
        return cls._repair_at(Place(spark, location), version, spark)

    @classmethod
    def _repair_at(cls, place: Place, version: int | None = None, spark: SparkSession | None = None) -> Self:
        """Open a closure at a place of which files are damaged, and mend it."""
        found = recover(place, version)
        closure = cls._made(place, found.commits, found.commits.upto(found.version), spark, repairing=True)
        if not found.lost:
            closure._begin()  # noqa: SLF001
            closure._publish("checkpoint")  # noqa: SLF001
            return closure
        closure._attached().unsure_from = None  # noqa: SLF001  (what a lost version changed cannot be recorded)
        closure._begin()  # noqa: SLF001
        closure._renumber(found.published + 1)  # noqa: SLF001
        closure._publish("repair", oldest=closure.version)  # noqa: SLF001
        for _ in range(found.lost_commits):  # a writer that still knows the lost ones has to see a conflict
            closure._publish("record", recording=closure._attached().recording)  # noqa: SLF001
        return closure

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
            store = self._attached()
            self._begin()
            if name is not None:
                Target(store.place, name).create(Store.required(store.place))
            self._publish("checkpoint", recording=store.recording or name is not None, target=name)
            store.target_version = None
            store.follow_target(now.number)

    def save(self, location: str, *, record_changes: bool = False, publish: str | None = None) -> None:
        """Save the closure to a location, a path or a schema of the catalog, and attach it to that.

        From then on each batch is durable there before the call returns. At the location that the closure is
        attached to already, this writes a checkpoint, from which opening is fastest.

        With ``record_changes``, what each later batch changes is kept in the table ``changes`` there: ``version``,
        ``op``, ``src``, ``dst``, with Delta's change data feed. It stays so for this location. ``publish`` names
        a table that has all pairs at the last version (see `publish`).
        """
        self._save_at(Place(session_at_hand(self._spark), location), record_changes=record_changes)
        if publish is not None:
            self.publish(publish)

    def _save_at(self, place: Place, *, record_changes: bool = False) -> None:
        """Save the closure to a place."""
        with self._door.changing() as now:
            if now.graph.vertices.on_spark:
                raise OptionError(
                    "names of vertices in this process, for a closure at a location",
                    f"{len(now.graph.vertices)} names on Spark",
                    "Build it with from_edges(..., names='driver'), or write edges() to a table of your own.",
                )
            if self._store is not None and self._store.place.location == place.location:
                self._begin()
                self._publish("checkpoint")
                self._record(wanted=record_changes)
                return
            if Store.commits(place) is not None:
                raise place.refused("a closure, which this one is not attached to")
            place.require_free()
            before = self._store, self._is_past
            self._store, self._is_past = Store(place), False
            try:
                self._begin()
                self._publish("save", counts=now.tally, recording=record_changes)
            except BaseException:
                self._store, self._is_past = before
                raise

    def close(self) -> None:
        """Let go of all that the closure has here and on Spark, and of its location; what was saved there stays.

        A ``with`` statement does so at its end. Whatever is asked or changed afterwards is a ``ClosedError``. Answers
        that were given stay, and so do views, at the last version. Stop a stream before.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> with DynamicClosure.from_edges([("a", "b")]) as c:
        ...     c.reaches("a", "b")
        True
        >>> c
        DynamicClosure(closed)
        """
        self._door.close()
        self._store, self._views, self._sent = None, [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    create_location_views = staticmethod(create_location_views)

    @property
    def arrow(self) -> ArrowAnswers:
        """The same questions, and `history`, answered as Arrow tables: with the state in this process without Spark.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
        >>> c.arrow.query([("a", "c"), ("c", "a")])["reachable"].to_pylist()
        [True, False]
        """
        return ArrowAnswers(self._door, Past(self._door, self._attached))

    def history(self) -> DataFrame:
        """The batches at the location, the first first: version, batch_id, author, time, counts and seconds.

        The row of kind ``save`` is the start; its counts are those of all batches before. ``won`` and ``lost`` are the
        pairs that a version made reachable and unreachable; null where changes are not recorded.
        """
        return frame(session_for(self._spark), self.arrow.history())

    def at(self, version: int) -> Self:
        """The closure as it was at an older version of its location: it can be asked, but takes no changes."""
        return self.open(self._attached().place.location, version, self._spark)

    def changes(self, since: int | None = None) -> DataFrame:
        """The pairs that the last batch made reachable or unreachable: ``src``, ``dst``, ``op``, ``version``.

        Worked out when asked for. Where the closure is on Spark, Spark does so when the DataFrame is read, and no
        pair comes to this process; it stays at this version.

        ``since`` is an older version of the location: then what is different from that one, each pair once. The graph
        of then is read and closed again for it.
        """
        if since is None:
            return super().changes()
        spark = session_for(self._spark)
        number, found = Past(self._door, self._attached).changed(since, lambda: spark)
        return found.named(number) if isinstance(found, Changed) else frame(spark, changes_table(found, number))

    def refresh(self) -> int:
        """Bring the closure to the last version at its location, and give that.

        A reader follows a writer by this, and a writer goes on by it after a ``ConflictError``.
        """
        with self._door.changing():
            store = self._attached()
            commits = Store.required(store.place)
            past, self._is_past = self._is_past, False
            try:
                self._follow(store, commits)
            except BaseException:
                self._is_past = past
                raise
            return self.version

    def vacuum(self, keep: int, *, files: bool = True) -> None:
        """Let older versions go, but for the last ``keep``; ``history`` still tells about them.

        ``files``: whether to put small files together, and to remove those that Delta's retention period allows
        to remove; by default it is a week.
        """
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
            raise OptionError("at least 1 version to keep", f"{keep!r}", "The last one has to stay.")
        with self._door.changing():
            store = self._attached()
            self._begin()
            oldest = max(store.oldest, self.version - keep + 1)
            self._publish("vacuum", oldest=oldest)
            store.clear(Store.required(store.place), files=files)

    # --- batches -----------------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin a batch: refuse it where it could not be published."""
        self._started = time.perf_counter()
        if self._store is None:
            return
        if self._is_past:
            raise ConflictError(
                "the last version of a closure, for changes",
                f"version {self.version}, which was opened to be asked only",
                "Call refresh() or open the last version, or save this one to another location.",
            )
        if self._store.uncertain:
            raise ConflictError(
                "a closure that knows what is published",
                "one whose last commit may have been or not",
                "Call refresh() first.",
            )
        self._door.restore()
        if self._store.lacks(self.version):
            self._record_version(self._store, self._graph_before())
        self._store.flush()
        self._store.follow_target(self.version)

    def _is_known(self, batch_id: str | int | None) -> bool:
        """Return whether a batch was published before; refuse an id that cannot be remembered."""
        if batch_id is None:
            return False
        if self._store is None:
            raise OptionError("a closure at a location, for a batch_id", "one in memory only", "Call save() first.")
        if (
            isinstance(batch_id, bool)
            or not isinstance(batch_id, str | int)
            or not 0 < len(str(batch_id)) <= _LONGEST_ID
        ):
            expected = f"a batch_id that is a number or a text of 1 to {_LONGEST_ID} characters"
            raise OptionError(expected, f"{batch_id!r:.80}", "Leave it out where batches are not repeated.")
        return self._store.has(str(batch_id))

    def _committed(self, version: Version, touched: Touched | None, batch: Batch | None = None) -> None:
        """Publish the batch that is done; then make its version the current one and let the views see it."""
        store = self._store
        if store is None or batch is None:
            super()._committed(version, touched)
            return
        store.publish(batch.kind, self._standing(version, version.last), batch, self._changes_of(version, store))
        super()._committed(version, touched)
        self._after(store)

    def _changes_of(self, version: Version, store: Store) -> pa.Table | Stored | None:
        """Return what is to be recorded of a version that the engine is at; None where nobody can tell now."""
        if not store.recording:
            return None
        try:
            found = changed_between(version.before, version.graph, self._engine.current, lambda: store.place.spark)
            return recorded.rows(version.number, found)
        except DyntcError as error:
            _log.debug("The changes of version %d are worked out when it is published: %s", version.number, error)
            return None

    def _after(self, store: Store) -> None:
        """Write what follows a batch that is published; what fails is made good by a later one."""
        try:
            if store.lacks(self.version):
                self._record_version(store, self._door.now.before)
            store.flush()
            store.follow_target(self.version)
            if store.is_due:
                self._publish("checkpoint")
            if store.is_scattered:
                store.compact()
        except DyntcError as error:
            _log.warning("Version %d is published, but not what follows it: %s", self.version, error)

    def _record(self, *, wanted: bool) -> None:
        """Have the location keep what batches change from now on, where that is wanted."""
        if wanted and not self._attached().recording:
            self._publish("record", recording=True)

    def _record_version(self, store: Store, before: Graph) -> None:
        """Have what the last version changed recorded: the difference to the graph before it."""

        def record(version: Version, closure: Engine) -> None:
            found = changed_between(before, version.graph, closure, lambda: store.place.spark)
            store.record(version.number, recorded.rows(version.number, found))

        self._door.ask(record)

    def _graph_before(self) -> Graph:
        """Read the version before the last one, which an earlier writer has published but not recorded."""
        store = self._attached()
        return store.load(Store.required(store.place).upto(self.version - 1)).graph

    def _publish(self, kind: str, counts: Tally | None = None, **facts: Any) -> None:  # noqa: ANN401  (as fields are)
        """Publish something about the version that there is."""
        with progress("saving", 1):
            store, standing = self._attached(), self._standing(self._door.now, counts or Tally())
            if kind in CHECKPOINTS:
                standing = replace(standing, content=self._content(lambda: store.place.spark))
            store.publish(kind, standing, None, **facts)

    def _content(self, session: Callable[[], SparkSession]) -> Content:
        """Return the graph and the closure for a checkpoint."""
        return self._door.ask(lambda version, closure: Content.of(version.graph, closure, session))

    def _standing(self, version: Version, counts: Tally) -> Standing:
        return Standing(version.number, version.graph, self._asked, counts, self._started)

    # --- versions ----------------------------------------------------------------------------

    @classmethod
    def _made(
        cls, place: Place, commits: Commits, wanted: Commits, spark: SparkSession | None, *, repairing: bool
    ) -> Self:
        """Read a version, and make a closure of it."""
        store, asked = Store(place, commits), (wanted.head.engine, wanted.head.backend)
        closure = cls(registry.create(*asked, spark), spark)
        loaded = store.load(wanted, repairing=repairing)
        graph = loaded.graph
        surviving(lambda: closure._engine.init(graph.edges.edges, graph.vertices.extent), lambda: None)
        closure._asked, closure._store = asked, store
        closure._door.publish(Version(graph, graph, loaded.commit.version, loaded.counts))
        return closure

    def _follow(self, store: Store, commits: Commits) -> None:
        """Bring graph and engine to the last version; nothing is replaced before the engine has it."""
        now = self._door.now
        self._door.restore()
        if commits.head.number == store.number and commits.head.version == now.number:
            store.uncertain = False
            return
        graph, anew = store.follow(now.graph, commits, now.number)

        def bring() -> None:
            if anew:
                self._engine.init(graph.edges.edges, graph.vertices.extent)
                return
            self._engine.grow(max(self._engine.vertices, graph.vertices.extent))
            inserted, deleted = graph.edges.minus(now.graph.edges), now.graph.edges.minus(graph.edges)
            if len(inserted) or len(deleted):
                self._engine.apply(inserted, deleted)

        self._door.advance(bring)
        self._store = Store(store.place, commits)
        self._door.publish(Version(graph, graph, commits.head.version, commits.counts()))
        self._show(None)

    def _attached(self) -> Store:
        self._door.require_open()
        if self._store is None:
            raise OptionError("a closure at a location", "one in memory only", "Call save() first, or open().")
        return self._store
