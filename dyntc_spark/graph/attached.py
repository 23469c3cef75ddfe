"""A closure that is attached to a location: each batch is durable there before the call that makes it returns.

A closure is attached when it is saved to a location or opened from one. A batch is worked out in
this process, then written and published; when that fails, the closure is brought back to what it was.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.closure import choose
from dyntc_spark.closure.engine import Engine
from dyntc_spark.errors import ConflictError, DyntcError, OptionError
from dyntc_spark.graph.changed import Changed
from dyntc_spark.graph.history import Difference, Graph, Tally, Version
from dyntc_spark.graph.relations import Touched
from dyntc_spark.graph.showing import Shown
from dyntc_spark.graph.store.commits import SHOWN, Commits
from dyntc_spark.graph.store.following import create_views
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.recovery import recover
from dyntc_spark.graph.store.replay import Batch
from dyntc_spark.graph.store.store import Standing, Store
from dyntc_spark.graph.surviving import surviving
from dyntc_spark.progress import progress
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    from typing_extensions import Self

_LONGEST_ID = 500

_log = logging.getLogger(__name__)


class Attached(Shown):
    """A closure that may be attached to a location."""

    def __init__(self, engine: Engine, spark: SparkSession | None = None) -> None:
        super().__init__(engine, spark)
        self._store: Store | None = None
        self._is_past = False  # whether it was opened at a version that may not be the last
        self._asked = ("auto", "auto")
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
            The session to read and write in; by default the active one, else a local one that is started.
        """
        place = Place(session_for(spark), location)
        commits = Store.required(place)
        closure = cls._made(place, commits, commits.upto(version), repairing=False)
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
        place = Place(session_for(spark), location)
        found = recover(place, version)
        closure = cls._made(place, found.commits, found.commits.upto(found.version), repairing=True)
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

    def save(self, location: str, *, record_changes: bool = False) -> None:
        """Save the closure to a location, a path or a schema of the catalog, and attach it to that.

        From then on each batch is durable there before the call returns. At the location that the closure is
        attached to already, this writes a checkpoint, from which opening is fastest.

        With ``record_changes``, what each later batch changes is kept in the table ``changes`` there: ``version``,
        ``op``, ``src``, ``dst``, with Delta's change data feed. It stays so for this location.
        """
        place = Place(session_for(self._spark), location)
        with self._door.changing() as now:
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

    @classmethod
    def create_location_views(
        cls, location: str, prefix: str, *, permanent: bool = False, spark: SparkSession | None = None
    ) -> list[str]:
        """Create SQL views over a location, which need neither this library nor this process to follow it.

        ``<prefix>_commits`` has the versions, ``_edges`` and ``_vertices`` the graph at the last one, and ``_changes``
        what each version changed, where that is recorded (else there is no such view). They are temporary,
        unless ``permanent``: then they are in the catalog's current schema. Gives their names.
        """
        place = Place(session_for(spark), location)
        Store.required(place)
        return create_views(place, prefix, permanent=permanent)

    def history(self) -> DataFrame:
        """The batches at the location, the first first: version, batch_id, author, time, counts and seconds.

        The row of kind ``save`` is the start; its counts are those of all batches before.
        """
        return self._attached().history().select(*SHOWN).orderBy("version")

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
        if self._store is not None and batch is not None:
            self._store.publish(batch.kind, self._standing(version, version.last), batch)
        super()._committed(version, touched)
        if self._store is not None and batch is not None:
            self._after(self._store)

    def _after(self, store: Store) -> None:
        """Write what follows a batch that is published; what fails is made good by a later one."""
        try:
            if store.recording:
                store.unsure_from = self.version  # until it is recorded
                self._record_version(store, self._door.now.before)
                store.flush()
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
            found = Changed.between(before, version.graph, closure, store.place.spark)
            store.record(version.number, found or Difference.between(before, version.graph, closure))

        now = self._door.now
        if before is not now.before or (now.backend == "spark" and before.edges is not now.graph.edges):
            self._door.ask(record)
        else:
            store.record(now.number, self._door.difference()[1])

    def _graph_before(self) -> Graph:
        """Read the version before the last one, which an earlier writer has published but not recorded."""
        store = self._attached()
        return store.load(Store.required(store.place).upto(self.version - 1)).graph

    def _publish(self, kind: str, counts: Tally | None = None, **facts: int) -> None:
        """Publish something about the version that there is."""
        with progress("saving", 1):
            self._attached().publish(kind, self._standing(self._door.now, counts or Tally()), None, **facts)

    def _standing(self, version: Version, counts: Tally) -> Standing:
        return Standing(version.number, version.graph, self._asked, counts, self._started)

    # --- versions ----------------------------------------------------------------------------

    @classmethod
    def _made(cls, place: Place, commits: Commits, wanted: Commits, *, repairing: bool) -> Self:
        """Read a version, and make a closure of it."""
        store, asked = Store(place, commits), (wanted.head.engine, wanted.head.backend)
        closure = cls(choose.create(*asked, place.spark), place.spark)
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
        if self._store is None:
            raise OptionError("a closure at a location", "one in memory only", "Call save() first, or open().")
        return self._store
