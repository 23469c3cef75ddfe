"""What the statements in ``sql/location/`` are about: the tables of a location, all of which have to be there."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from dyntc_spark.errors import LocationError
from dyntc_spark.graph.store import recorded_changes
from dyntc_spark.graph.store.commits import Commits
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.replay import COPIES
from dyntc_spark.graph.store.stored_types import kind_of, to_storage
from dyntc_spark.graph.store.tables import PART
from dyntc_spark.graph.tables.views import filled, literal, statement

TABLES = ("commits", "log", "vertices", "runs", "changes")


def closure_statement(place: Place) -> str:
    """Return the query that gives the closure at the last version, which is a checkpoint or recorded since one."""
    return filled(statement("location/closure"), relations_of(place))


def checkpoint_statement(place: Place, token: str) -> str:
    """Return the query that gives the closure of a checkpoint, of which all rows are known to be there."""
    return f"WITH {_stored(relations_of(place), literal(token))}\nSELECT src, dst FROM stored"


def relations_of(place: Place) -> dict[str, str]:
    """Return what the names in the statements stand for."""
    relations = {table: place.by_spark.identifier(table) for table in TABLES}
    # Spark skips the other parts, where a filter has left few sources. Tables of older releases have no parts.
    parted = PART in (place.columns("runs") or ())
    relations |= {"part": f", {PART}" if parted else "", "same_part": f" AND s.{PART} = r.{PART}" if parted else ""}
    relations["stored"] = _stored(relations, "(SELECT token FROM start)")
    return {**relations, "published": filled(statement("location/published"), relations)}


def _stored(relations: Mapping[str, str], token: str) -> str:
    return filled(statement("location/stored"), {**relations, "token": token}).rstrip()


def require_tables(place: Place, commits: Commits) -> pa.DataType:
    """Have all tables there that the statements are about; return the type of vertices as they are stored."""
    last = commits.checkpoints()[0]
    if last.format == 1:
        raise LocationError(
            f"a location of format 2 at {place.location!r}",
            "one whose last checkpoint is of format 1",
            "open() it and save() it to the same location, which writes a checkpoint of format 2.",
        )
    if not last.vertices:
        raise LocationError(
            f"a closure with vertices at {place.location!r}",
            "a checkpoint without any",
            "Insert edges and save() it to the same location.",
        )
    nothing = to_storage(pa.array([], kind_of(last.vertex)))
    ends = {"op": pa.array([], pa.string()), "src": nothing, "dst": nothing}
    version, token = pa.array([], pa.int64()), pa.array([], pa.string())
    counted = {} if last.copies is None else {COPIES: pa.array([], pa.int64())}
    with place.translating("making tables that no batch has written to yet"):
        if not place.exists("log"):
            place.append("log", pa.table({"version": version, "token": token, **ends, **counted}))
        if not place.exists(recorded_changes.TABLE):
            recorded_changes.create(place, pa.table({"version": version, **ends}))
    return nothing.type
