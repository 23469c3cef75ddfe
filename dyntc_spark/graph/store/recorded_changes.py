"""The table ``changes``: the pairs that each version made reachable or unreachable, for whoever goes on from there.

Its readers need not know about tokens. So a version is written there after it is published, by one
Delta transaction that names the version as that of an application: it is there as a whole and once. A
writer that ends between the two leaves the last version out; the next writer works it out again and
writes it before it publishes another one. So versions are there in their order, without gaps from the
one that recording began with. A version that changed no pair has no rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.graph.changes.difference_on_spark import DifferenceOnSpark, StoredDifference
from dyntc_spark.graph.inputs.read import INSERT
from dyntc_spark.graph.store import steps
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.stored_types import to_storage
from dyntc_spark.graph.store.tables import Transaction
from dyntc_spark.graph.version import Difference
from dyntc_spark.lazy_pyspark import is_frame

TABLE = "changes"
#: The name under which Delta remembers the last version.
APPLICATION = "dyntc_spark.changes"
#: So many rows are one file.
ONE_FILE = 2**20

_FEED = {"delta.enableChangeDataFeed": "true"}


def rows(version: int, difference: Difference | DifferenceOnSpark) -> pa.Table | StoredDifference:
    """Return what a version changed: ``version``, ``op``, ``src``, ``dst``; of a closure on Spark they stay there."""
    if isinstance(difference, DifferenceOnSpark):
        return difference.stored(version)
    ends, op = difference.named()
    return pa.table(
        {
            "version": pa.array(np.full(len(ends), version)),
            "op": op,
            "src": to_storage(ends.src),
            "dst": to_storage(ends.dst),
        }
    )


def counts(found: pa.Table | StoredDifference) -> tuple[int, int]:
    """Return how many pairs became reachable, and how many unreachable."""
    if isinstance(found, StoredDifference):
        return found.won, found.lost
    won = pc.sum(pc.equal(found.column("op"), INSERT)).as_py() or 0
    return won, found.num_rows - won


def append(place: Place, version: int, found: pa.Table | StoredDifference) -> None:
    """Write the rows of a version, unless they are there; the table is made with the first."""
    count = sum(counts(found))
    if not count:
        return
    content = found.rows if isinstance(found, StoredDifference) else found
    if is_frame(content) and count <= ONE_FILE:
        content = content.coalesce(1)
    once = Transaction(APPLICATION, version)
    with place.translating(f"writing the changes of version {version}"), place.writing():
        steps.run("changes", lambda: place.append(TABLE, content, once, _FEED))


def create(place: Place, nothing: pa.Table) -> None:
    """Make the table without rows, for those who read it before there are any."""
    place.append(TABLE, nothing, None, _FEED)


def last(place: Place) -> int:
    """Return the last version that has rows; -1 when none has."""
    found = place.greatest(TABLE, "version")
    return -1 if found is None else found
