"""A closure in lanes as a checkpoint has it, taken over instead of closing the graph again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.lanes.build import pools
from dyntc_spark.engines.lanes.graph import SPARE_PART
from dyntc_spark.engines.lanes.in_process import InProcess
from dyntc_spark.engines.lanes.state import State
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels.components import strong_components
from dyntc_spark.kernels.ids import Ids, Indices
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.loaded import UNSORTED, Loaded, loaded, members_of
from dyntc_spark.kernels.lanes.runs import Runs
from dyntc_spark.kernels.row_hash import frozen


class StoredClosure(NamedTuple):
    """The closure of a graph as it is stored."""

    numbers: Indices  #: of the vertices
    component: Ids  #: of each of these
    width: int  #: lanes of a stripe
    rows: int  #: how many runs there are
    checksum: int  #: of the runs
    runs: Callable[[], pa.Table]  #: reads them: ``stripe``, ``first``, ``last``, ``word``


def state_of(stored: StoredClosure, edges: EdgeSet, vertices: int, budget: int | None) -> State:
    """Return the state of a closure, whose stripes are in this process; ``DamagedBlockError`` if it is none of these.

    Its working graph is made of the edges when a batch needs it.
    """
    width, room = stored.width, vertices + vertices // SPARE_PART + 16
    members = members_of(_all_components(stored, vertices), room)
    table, count = stored.runs(), -(-room // width)
    if table.num_rows != stored.rows or any(column.null_count for column in table.columns):
        raise _damaged(f"{stored.rows} rows", table.num_rows)
    found = loaded(_batches(table), stored.rows, members, width, count)
    if found == UNSORTED:  # files need not come in the order in which they were written
        table = table.sort_by([("stripe", "ascending"), ("first", "ascending")])
        found = loaded(_batches(table), stored.rows, members, width, count)
    if not isinstance(found, Loaded):
        raise _damaged("runs of these components that do not overlap", "others")
    if found.checksum != stored.checksum:
        raise _damaged(f"the checksum {stored.checksum}", found.checksum)
    state = State(EdgeSet.of(Edges.of()), 0, width, InProcess(), budget)
    numbers, words = (len(pool) for pool in pools(*found.used))
    held = found.stripes._replace(numbers=found.stripes.numbers[:numbers], words=found.stripes.words[:words])
    looks = found.reached + found.reached * len(edges) // max(vertices, 1)
    state.take(Version(members, held, vertices, len(edges)), found.used, looks, edges)
    return state


def has_components(version: Version, edges: EdgeSet) -> bool:
    """Return whether the components of a version are the strongly connected components of these edges."""
    component, count = strong_components(*edges.adjacency(version.vertices))
    kept, numbers = version.members.component[: version.vertices], np.zeros(count, np.int32)
    numbers[component] = kept
    return bool((numbers[component] == kept).all()) and len(np.unique(numbers)) == count


def no_runs() -> pa.Table:
    """Return a table of runs without rows."""
    kinds = {"stripe": pa.int32(), "first": pa.int32(), "last": pa.int32(), "word": pa.int64()}
    return pa.schema(list(kinds.items())).empty_table()


def _all_components(stored: StoredClosure, vertices: int) -> Ids:
    """Return the component of each number; numbers that no vertex has get components without others."""
    component = np.full(vertices, -1, np.int32)
    if len(stored.component) and not 0 <= stored.component.min() <= stored.component.max() < vertices:
        raise _damaged("components below the number of vertices", "others")
    component[stored.numbers] = stored.component
    unused = np.flatnonzero(component < 0)
    if len(unused):
        taken = np.zeros(vertices, np.bool_)
        taken[stored.component] = True
        component[unused] = np.flatnonzero(~taken)[: len(unused)]
    return component


def _batches(table: pa.Table) -> Iterator[Runs]:
    """Yield runs as the arrays that Arrow has them in."""
    for batch in table.to_batches():
        stripe, first, last, word = (frozen(column.to_numpy()) for column in batch.columns)
        yield Runs(stripe, first, last, word.view(np.uint64))


def _damaged(expected: str, came: object) -> DamagedBlockError:
    return DamagedBlockError(
        f"{expected} in the table 'runs'", str(came), "save() to the same location writes a whole checkpoint."
    )
