"""A closure as payloads, and back: what is stored of an engine so that it need not be worked out again.

The stored matrices are stripes (``kernels.stripe``): ``edges`` has the targets of each vertex,
``members`` the vertices of each strong component, ``rows`` the components that each of them
reaches. The first is enough for every engine; the other two spare the engines that keep rows of
components their build. Rows on Spark go to storage and come back from there by its tasks, none by way of
this process. A payload is checked before it is used: by its checksum, and then by what it says (``stored_rows``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from pyspark.sql import DataFrame

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.closure.components import Components
from dyntc_spark.closure.condensed import State
from dyntc_spark.closure.edge_set import EdgeSet
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.closure.far import FarState
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from dyntc_spark.closure.stored_rows import REMEDY, ROWS, cleared, require
from dyntc_spark.closure.stripes import STRIPE_NUMBERS
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels import pool
from dyntc_spark.kernels.reach import Ids as Numbers
from dyntc_spark.kernels.reach import Offsets
from dyntc_spark.kernels.stripe import Stripe

if TYPE_CHECKING:
    from typing_extensions import Buffer

EDGES, MEMBERS = "edges", "members"

Payloads: TypeAlias = "Mapping[str, Sequence[Buffer]]"


def stored(engine: Engine, edges: EdgeSet, vertices: int) -> Iterator[tuple[str, bytes]]:
    """Give the payloads of a closure with their matrices, in order, but for rows on Spark (`stored_far`)."""
    for stripe in Stripe(0, *edges.adjacency(vertices)).cut(STRIPE_NUMBERS):
        yield EDGES, stripe.encode()
    state = getattr(engine.current, "state", None)
    if not isinstance(state, State):
        return
    matrices = [(MEMBERS, state.members())]
    if not isinstance(state, FarState):
        matrices.append((ROWS, pool.taken(state.graph.rows, np.arange(len(state.graph.size), dtype=np.int32))))
    for name, matrix in matrices:
        for stripe in Stripe(0, *matrix).cut(STRIPE_NUMBERS):
            yield name, stripe.encode()


def stored_far(engine: Engine) -> tuple[DataFrame, int] | None:
    """Give the rows that are on Spark, ``first`` and ``payload``, and their bytes; None where there are none."""
    state = getattr(engine.current, "state", None)
    rows = state.folded() if isinstance(state, FarState) else None
    return None if rows is None or not isinstance(state, FarState) else (rows, state.stripes.bytes)


def read_edges(payloads: Payloads, vertices: int) -> EdgeSet:
    """Give the stored edges."""
    offsets, targets = _matrix(payloads, EDGES)
    _require_below(vertices, targets, EDGES)
    require(len(offsets) - 1 <= vertices, EDGES, f"{vertices} rows at most", f"{len(offsets) - 1}")
    sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return EdgeSet.of(Edges(sources, targets.astype(np.int64)))


def restore(
    engine: Engine, payloads: Payloads, edges: EdgeSet, vertices: int, far: tuple[SparkBackend, DataFrame] | None = None
) -> None:
    """Let an engine have a stored closure; it is built from the edges where that was not stored, or does not fit.

    ``far`` has the stored rows as a DataFrame, with the column ``payload``, where these are to be on Spark.
    """
    if payloads.get(MEMBERS) and (far or payloads.get(ROWS)) and isinstance(engine.current, Refresh | Recompute):
        parts = _components(payloads, edges, vertices)
        if engine.take(FarState.stored(parts, *far) if far else _state(payloads, parts)):
            engine.grow(max(engine.vertices, vertices))
            return
    engine.init(edges.edges, vertices)


def _components(payloads: Payloads, edges: EdgeSet, vertices: int) -> Components:
    """Give the stored components, checked."""
    member_offsets, members = _matrix(payloads, MEMBERS)
    _require_below(len(members), members, MEMBERS)
    component = np.full(len(members), -1, np.int32)
    component[members] = np.repeat(np.arange(len(member_offsets) - 1, dtype=np.int32), np.diff(member_offsets))
    require(bool((component >= 0).all()), MEMBERS, "each vertex once", "one that is missing")
    require(len(component) >= vertices, MEMBERS, f"{vertices} vertices", f"{len(component)}")
    return Components(*edges.adjacency(len(component)), component, member_offsets, members)


def _state(payloads: Payloads, parts: Components) -> State:
    """Give the stored components with their rows, checked."""
    offsets, heads = _matrix(payloads, ROWS)
    require(len(offsets) - 1 == len(parts.sizes), ROWS, f"{len(parts.sizes)} rows", f"{len(offsets) - 1}")
    return State(parts, *cleared(0, offsets, heads, parts.sizes))


def _matrix(payloads: Payloads, name: str) -> tuple[Offsets, Numbers]:
    """Join the stripes of a matrix. What its numbers say is for the caller to check."""
    found = payloads.get(name, ())
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # checksums and copies leave Python's lock alone
        stripes = list(threads.map(lambda place: _stripe(found[place], place, name), range(len(found))))
        rows = np.cumsum([0, *(stripe.rows for stripe in stripes)])
        numbers = np.cumsum([0, *(len(stripe.heads) for stripe in stripes)])
        offsets, heads = np.zeros(rows[-1] + 1, np.int64), np.empty(numbers[-1], np.int32)

        def put(place: int) -> None:
            first, ends, held = stripes[place]
            require(first == rows[place], name, f"row {rows[place]} at the beginning of block {place}", f"{first}")
            np.add(ends, numbers[place], out=offsets[first : first + len(ends)])
            heads[numbers[place] : numbers[place + 1]] = held

        list(threads.map(put, range(len(stripes))))
    return offsets, heads


def _stripe(payload: Buffer, place: int, name: str) -> Stripe:
    try:
        return Stripe.decode(payload)
    except DamagedBlockError as error:
        raise DamagedBlockError(f"{error.expected} in block {place} of {name!r}", error.came, REMEDY) from error


def _require_below(bound: int, numbers: Numbers, name: str) -> None:
    inside = numbers.min(initial=0) >= 0 and numbers.max(initial=-1) < bound
    require(bool(inside), name, "numbers of the graph", "one outside")
