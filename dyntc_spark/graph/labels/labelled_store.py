"""A labelled graph at a location: one Delta table, ``labelled``, to which each batch is one append.

A row is a change: ``version``, ``token``, ``op``, ``src``, ``dst``, ``label``. A version has one row with the op
``commit``, whose label is the type of the vertices; its other rows are ``insert`` and ``delete`` of labelled edges, and
``vertex`` and ``drop`` of a vertex, which is in ``src``. The first version has the graph as it was saved. An append is
all or nothing, so that a version is there with all its rows or not at all. Versions have no gaps: the append names
its number as Delta's transaction, and of two writers of one number the second is refused. A row with the op ``batch``
has as its label the name that the user gave to the batch.

To let old versions go, the graph at the oldest one that stays is appended once more, under a token of its own and
with a row ``base``. From then on nothing counts that is older, nor that version as it was written first: to delete
these rows, which is the next step, changes nothing for readers, whenever it comes.

Closures are not stored: they are built from the edges when they are asked for.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.errors import (
    ConflictError,
    DamagedBlockError,
    DyntcError,
    InputError,
    LocationError,
    StorageError,
    VersionError,
)
from dyntc_spark.graph.inputs.read import DELETE, INSERT, Ends
from dyntc_spark.graph.inputs.vertex_types import encoded, taken
from dyntc_spark.graph.labels.labelled_arrow import LabelledArrow
from dyntc_spark.graph.labels.labelled_edges import Batch, LabelledEdges
from dyntc_spark.graph.labels.rows import Rows, places_of
from dyntc_spark.graph.store import steps
from dyntc_spark.graph.store.location_kind import refuse_closure
from dyntc_spark.graph.store.place import Place, brief
from dyntc_spark.graph.store.stored_types import from_storage, kind_of, kind_text, to_storage
from dyntc_spark.graph.store.tables import Transaction
from dyntc_spark.graph.vertices.names import require_same_kind

#: The table, and the name under which Delta remembers the number of the last version.
TABLE, APPLICATION = "labelled", "dyntc_spark.labelled"
#: After this many versions, each of them a file, the table is written as few files.
COMPACT_VERSIONS = 64

_COLUMNS = ("version", "token", "op", "src", "dst", "label")
_COMMIT, _VERTEX, _DROP, _BATCH, _BASE = "commit", "vertex", "drop", "batch", "base"
#: Tokens of bases begin with it: they come after all others, so that nobody deletes the base that counts, also when
#: another one has been appended since it was looked for.
_LAST = "z"
_log = logging.getLogger(__name__)


class Change(NamedTuple):
    """What a version changes, by names."""

    inserted: pa.Table  #: ``src``, ``dst``, ``label``
    deleted: pa.Table
    vertices: pa.Array  #: that come without an edge
    dropped: pa.Array

    @classmethod
    def to(cls, edges: LabelledEdges) -> Change:
        """Return what leads from nothing to a graph."""
        found = LabelledArrow(edges)
        return cls(found.edges(), found.edges()[:0], edges.vertices.names(), edges.vertices.names([]))

    @classmethod
    def of(cls, edges: LabelledEdges, batch: Batch) -> Change:
        """Return what a batch, which leads to ``edges``, does."""
        named, nothing = LabelledArrow(edges), edges.vertices.names([])
        dropped = nothing if batch.dropped is None else batch.dropped
        return cls(named.named(batch.inserted), named.named(batch.deleted), nothing, dropped)


class ReadVersion(NamedTuple):
    """A version that was read."""

    version: int
    changes: Rows  #: of labelled edges
    vertices: pa.Array
    dropped: pa.Array


class LabelledStore:
    """The location that a labelled graph is attached to.

    Parameters
    ----------
    place
        Where it is.
    version
        The last version there that is known.
    kind
        The type of the vertices.
    """

    def __init__(self, place: Place, version: int, kind: pa.DataType) -> None:
        self.place, self.version, self._kind = place, version, kind
        self.is_past = False  #: whether it was opened at a version that need not be the last
        #: Whether there may be a version that the graph in memory has not reached.
        self.uncertain = False
        self.batches: set[str] = set()  #: the names of those that are there

    @classmethod
    def create(cls, place: Place, version: int, whole: Change, kind: pa.DataType) -> LabelledStore:
        """Save a graph to a location that is free."""
        if not len(whole.inserted) and not len(whole.vertices):
            raise InputError("a graph with vertices, which tell their type", "one without", "Save it later.")
        refuse_closure(place)
        place.require_free()
        if place.exists(TABLE):
            raise place.refused("a labelled graph, which this one is not attached to")
        store = cls(place, version - 1, kind)
        store.write(whole)
        store.reached(version)
        return store

    def require_changeable(self) -> None:
        """Refuse changes of a version that need not be the last."""
        at = f"the last version at {self.place.location!r}, for changes"
        if self.is_past:
            raise ConflictError(at, f"version {self.version}, by its number", "Open it without a version.")
        if self.uncertain:
            raise ConflictError(at, "a version that may have been published, or not", "Call refresh(), which tells.")

    def reached(self, version: int) -> None:
        """Take note that the graph in memory is at a version that is there."""
        self.version, self.uncertain = version, False

    def write(self, change: Change, batch_id: str | None = None) -> None:
        """Publish the next version; when this raises, nothing was published, unless the store is ``uncertain`` then.

        It is ``uncertain`` afterwards, too, until the graph says by `reached` that it has the version: an interrupt
        may come before.
        """
        version, token = self.version + 1, uuid.uuid4().hex
        table = self._table(version, token, change, [] if batch_id is None else [(_BATCH, batch_id)])
        failure: Exception | None = None
        with self.place.writing():
            self.uncertain = True
            try:
                once = Transaction(APPLICATION, version + 1)
                steps.run("publish", lambda: self.place.append(TABLE, table, once))
            except Exception as error:  # noqa: BLE001  (the table shows what was written)
                failure = error
            try:
                found = steps.run("confirm", lambda: self._token(version))
            except Exception as error:  # noqa: BLE001
                raise StorageError(
                    f"to see whether version {version} was published at {self.place.location!r}",
                    f"{type(error).__name__}: {brief(error)}",
                    "Call refresh(), which tells; until then the graph takes no changes.",
                ) from (failure or error)
            if found != token:
                self.uncertain = False
                if found is None and failure is not None:
                    raise self.place.problem(failure, f"publishing version {version}") from failure
                raise self.place.conflict(f"publishing version {version}") from failure
        self.batches |= {batch_id} if batch_id is not None else set()

    def vacuum(self, keep: int, *, files: bool) -> None:
        """Let older versions go, but for the last ones."""
        oldest = self.version - keep + 1
        with self.place.writing(), self.place.translating("letting versions go"):
            if oldest > pc.min(_current(_required(self.place)).column("version")).as_py():
                past, edges, vertices = loaded(self.place, oldest)
                notes = [(_BASE, None), *((_BATCH, name) for name in sorted(past.batches))]
                whole = Change.to(edges.with_vertices(vertices))
                self.place.append(TABLE, self._table(oldest, _LAST + uuid.uuid4().hex[1:], whole, notes))
            base = _base(_required(self.place))
            if base is not None:
                self.place.delete(TABLE, f"version < {base[0]} OR (version = {base[0]} AND token < '{base[1]}')")
            if files:
                self.place.compact(TABLE)
                self.place.clear_files(TABLE)

    def is_at(self, place: Place) -> bool:
        """Return whether this is the location, and the graph is still there."""
        return self.place.location == place.location and place.exists(TABLE)

    def later(self) -> list[ReadVersion]:
        """Return the versions behind the last one that is known, in their order."""
        found = _read(self.place, self.version)
        if found is None:
            return []
        if _base(found) is not None:
            raise VersionError(
                f"version {self.version}, which the graph is at, among those at {self.place.location!r}",
                "later ones only: vacuum() has let it go",
                "Open the location again.",
            )
        self.batches |= _batches(found)
        versions = found.column("version").to_numpy()
        return [_later(found.filter(pa.array(versions == each)), int(each), self._kind) for each in np.unique(versions)]

    def _token(self, version: int) -> str | None:
        found = self.place.read(TABLE, lambda column: column("version") == version)
        return found.column("token")[0].as_py() if found is not None and found.num_rows else None

    def compact(self) -> None:
        """Write the table as few files now and then. It says the same: a failure does no harm."""
        if self.version % COMPACT_VERSIONS:
            return
        try:
            with self.place.writing(), self.place.translating("compacting it"):
                self.place.compact(TABLE)
        except DyntcError as error:
            _log.warning("%s", error)

    def _table(
        self, version: int, token: str, change: Change, notes: Sequence[tuple[str, str | None]] = ()
    ) -> pa.Table:
        """Return the rows of a version; ``notes``: further ones, of which only op and label are given."""
        parts = [
            *((op, *(each.combine_chunks() for each in table.columns)) for op, table in _sides(change)),
            *((op, names, None, None) for op, names in ((_VERTEX, change.vertices), (_DROP, change.dropped))),
        ]
        stored = to_storage(pa.array([], self._kind)).type
        noted = [(_COMMIT, kind_text(self._kind)), *notes]
        ops, labels = [op for op, _ in noted], [pa.array([label for _, label in noted], pa.string())]
        sources, targets = [pa.nulls(len(noted), stored)], [pa.nulls(len(noted), stored)]
        for op, src, dst, label in parts:
            if not len(src):
                continue
            require_same_kind(self._kind, src.type)
            ops += [op] * len(src)
            sources.append(to_storage(src))
            targets.append(pa.nulls(len(src), stored) if dst is None else to_storage(dst))
            labels.append(pa.nulls(len(src), pa.string()) if label is None else label)
        rows = len(ops)
        columns = [
            pa.array(np.full(rows, version)),
            pa.array([token] * rows, pa.string()),
            pa.array(ops, pa.string()),
            *(pa.concat_arrays(each) for each in (sources, targets, labels)),
        ]
        return pa.table(columns, list(_COLUMNS))


def loaded(place: Place, version: int | None = None) -> tuple[LabelledStore, LabelledEdges, pa.Array]:
    """Read a version, by default the last: the location there, the edges, and the vertices."""
    found = _current(_required(place))
    commits = found.filter(pc.equal(found.column("op"), _COMMIT))
    numbers = sorted(commits.column("version").to_pylist())
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        remedy = "Restore the table to an older state with Delta's RESTORE."
        raise DamagedBlockError(f"versions without gaps in {place.location!r}", f"{numbers[:20]}", remedy)
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version not in numbers):
        raise VersionError(
            f"a version from {numbers[0]} to {numbers[-1]}", f"{version!r}", "By default it is the last."
        )
    last = numbers[-1] if version is None else version
    kind = kind_of(commits.column("label")[0].as_py())
    upto = found.filter(pc.less_equal(found.column("version"), last))
    every = _later(upto, last, kind)
    edges = LabelledEdges()
    store = LabelledStore(place, last, kind)
    store.is_past, store.batches = version is not None, _batches(upto)
    return store, edges.after(edges.planned(every.changes)), every.vertices


def _sides(change: Change) -> tuple[tuple[str, pa.Table], tuple[str, pa.Table]]:
    return (INSERT, change.inserted), (DELETE, change.deleted)


def _read(place: Place, after: int | None) -> pa.Table | None:
    """Return the rows of a location, or those after a version, in the order of versions; None where it has none."""
    found = place.read(TABLE, None if after is None else lambda column: column("version") > after)
    if found is None or not found.num_rows:
        return None
    if set(found.column_names) != set(_COLUMNS):
        raise place.refused(f"a table {TABLE!r} with other columns")
    return found.sort_by("version").select(_COLUMNS)


def _required(place: Place) -> pa.Table:
    """Return the rows of a location, or refuse one that has none."""
    found = _read(place, None)
    if found is None:
        refuse_closure(place)
        remedy = "Check the location; LabelledGraph.save() puts a graph there."
        raise LocationError(f"a labelled graph at {place.location!r}", "none", remedy)
    return found


def _base(rows: pa.Table) -> tuple[int, str] | None:
    """Return version and token of the oldest version that counts, where older ones were removed."""
    found = rows.filter(pc.equal(rows.column("op"), _BASE)).select(["version", "token"]).to_pylist()
    return max(((row["version"], row["token"]) for row in found), default=None)


def _current(rows: pa.Table) -> pa.Table:
    """Return the rows that count."""
    base = _base(rows)
    if base is None:
        return rows
    version, token = base
    return rows.filter(pc.or_(pc.greater(rows.column("version"), version), pc.equal(rows.column("token"), token)))


def _batches(rows: pa.Table) -> set[str]:
    """Return the names of the batches in some rows."""
    return set(rows.filter(pc.equal(rows.column("op"), _BATCH)).column("label").to_pylist())


def _later(rows: pa.Table, version: int, kind: pa.DataType) -> ReadVersion:
    """Return the net effect of rows, in the order of their versions."""
    op, versions = (rows.column(name).to_numpy(zero_copy_only=False) for name in ("op", "version"))

    def chosen(*ops: str) -> np.ndarray:
        return np.flatnonzero(np.isin(op, ops))

    def names(end: str, places: np.ndarray) -> pa.Array:
        return from_storage(rows.column(end).take(pa.array(places)), kind)

    changed, dropped, come = chosen(INSERT, DELETE), chosen(_DROP), chosen(_VERTEX)
    label = rows.column("label").take(pa.array(changed)).combine_chunks()
    ends = Ends(names("src", changed), names("dst", changed))
    changes = Rows(ends, *places_of(label, "label"), op[changed] == INSERT)
    inserted = chosen(INSERT)
    parts = [names("src", come), names("src", inserted), names("dst", inserted), names("src", dropped)]
    when = np.concatenate([versions[each] for each in (come, inserted, inserted, dropped)])
    places, different = encoded(pa.concat_arrays(parts))
    last_come, last_gone = np.full(len(different), -1), np.full(len(different), -1)
    gone = len(when) - len(dropped)
    np.maximum.at(last_come, places[:gone], when[:gone])
    np.maximum.at(last_gone, places[gone:], when[gone:])
    return ReadVersion(
        version,
        changes,
        taken(different, np.flatnonzero(last_come > last_gone)),
        taken(different, np.flatnonzero(last_gone > last_come)),
    )
