"""A closure as payloads, and back: what is stored of an engine so that it need not be worked out again.

The stored matrices are stripes (``kernels.stripe``): ``edges`` has the targets of each vertex,
``members`` the vertices of each strong component, ``rows`` the components that each of them
reaches. The first is enough for every engine; the other two spare the engines that keep rows of
components in this process their build. A payload is checked before it is used: by its
checksum, and then by what it says, for kernels trust the numbers that they are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.auto import Auto
from dyntc_spark.closure.condensed import State
from dyntc_spark.closure.edge_set import EdgeSet
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.closure.far import FarState
from dyntc_spark.closure.recompute import Condensation
from dyntc_spark.closure.refresh import Refresh
from dyntc_spark.closure.stripes import STRIPE_NUMBERS
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels import pool, reach
from dyntc_spark.kernels.reach import Ids as Numbers
from dyntc_spark.kernels.reach import Offsets
from dyntc_spark.kernels.stripe import Stripe

EDGES, MEMBERS, ROWS = "edges", "members", "rows"
_REMEDY = "Call repair() at the location, or open an older version."

Payloads = Mapping[str, Sequence[bytes]]


def stored(engine: Engine, edges: EdgeSet, vertices: int) -> Iterator[tuple[str, bytes]]:
    """Give the payloads of a closure with their matrices, in order; of a state that is elsewhere the edges only."""
    for stripe in Stripe(0, *edges.adjacency(vertices)).cut(STRIPE_NUMBERS):
        yield EDGES, stripe.encode()
    state = getattr(engine.current, "state", None)
    if not isinstance(state, State) or isinstance(state, FarState):
        return
    rows = pool.taken(state.graph.rows, np.arange(len(state.graph.size), dtype=np.int32))
    for name, matrix in ((MEMBERS, state.members()), (ROWS, rows)):
        for stripe in Stripe(0, *matrix).cut(STRIPE_NUMBERS):
            yield name, stripe.encode()


def read_edges(payloads: Payloads, vertices: int) -> EdgeSet:
    """Give the stored edges."""
    offsets, targets = _matrix(payloads, EDGES, vertices)
    _require(len(offsets) - 1 <= vertices, EDGES, f"{vertices} rows at most", f"{len(offsets) - 1}")
    sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return EdgeSet.of(Edges(sources, targets.astype(np.int64)))


def restore(engine: Engine, payloads: Payloads, edges: EdgeSet, vertices: int) -> None:
    """Let an engine have a stored closure; it is built from the edges where that was not stored, or does not fit."""
    if payloads.get(ROWS) and isinstance(engine, Auto | Refresh):
        made = Refresh()
        condensed = _condensation(payloads)
        found = len(condensed.component)
        _require(found >= vertices, MEMBERS, f"{vertices} vertices", f"{found}")
        made.take_state(condensed.state(edges))
        if engine.take(made):
            engine.grow(max(engine.vertices, vertices))
            return
    engine.init(edges.edges, vertices)


def _condensation(payloads: Payloads) -> Condensation:
    """Give the stored components and rows, checked."""
    member_offsets, members = _matrix(payloads, MEMBERS, None)
    count = len(member_offsets) - 1
    row_offsets, heads = _matrix(payloads, ROWS, count)
    _require(len(row_offsets) - 1 == count, ROWS, f"{count} rows", f"{len(row_offsets) - 1}")
    component = np.full(len(members), -1, np.int32)
    _require(bool((members >= 0).all() and (members < len(members)).all()), MEMBERS, "vertices", "other numbers")
    component[members] = np.repeat(np.arange(count, dtype=np.int32), np.diff(member_offsets))
    _require(bool((component >= 0).all()), MEMBERS, "each vertex once", "one that is missing")
    inner = np.ones(len(heads), np.bool_)
    inner[row_offsets[:-1][np.diff(row_offsets) > 0]] = False
    _require(bool((np.diff(heads, prepend=0)[inner] > 0).all()), ROWS, "ascending rows", "others")
    used = np.flatnonzero(np.diff(member_offsets)).astype(np.int32)
    own = reach.holds(row_offsets, heads, used, used)
    _require(bool(own.all()), ROWS, "a component in its own row", "a row without")
    return Condensation(component, member_offsets, members, row_offsets, heads)


def _matrix(payloads: Payloads, name: str, bound: int | None) -> tuple[Offsets, Numbers]:
    """Join the stripes of a matrix, whose numbers are to be below ``bound``."""
    lengths: list[Ids] = []
    heads: list[Numbers] = []
    row = 0
    for place, payload in enumerate(payloads.get(name, ())):
        try:
            stripe = Stripe.decode(payload)
        except DamagedBlockError as error:
            raise DamagedBlockError(f"{error.expected} in block {place} of {name!r}", error.came, _REMEDY) from error
        _require(stripe.first == row, name, f"row {row} at the beginning of block {place}", f"{stripe.first}")
        row += stripe.rows
        lengths.append(np.diff(stripe.offsets))
        heads.append(stripe.heads)
    every = np.concatenate([np.zeros(0, np.int64), *lengths])
    _require(bool((every >= 0).all()), name, "lengths of rows", "one below 0")
    found = np.concatenate([np.zeros(0, np.int32), *heads]).astype(np.int32)
    inside = bool((found >= 0).all()) and (bound is None or bool((found < bound).all()))
    _require(inside, name, "numbers of the graph", "one outside")
    return np.append(0, np.cumsum(every)).astype(np.int64), found


def _require(condition: bool, name: str, expected: str, came: str) -> None:
    if not condition:
        raise DamagedBlockError(f"{expected} in the stored matrix {name!r}", came, _REMEDY)
