"""The edges of a digraph by vertex, changed in place: a row of vertices for each vertex, in no order.

Row ``v`` is ``values[starts[v] : starts[v] + lengths[v]]`` and has room for ``rooms[v]``. An edge is added at the end
of its row; a row without room moves behind all others and gets twice the room. `reserve` says how much
that may take, so that the pool is made longer before a batch and never within one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.compile import compiled, lean
from dyntc_spark.kernels.ids import Flags, Ids, Offsets
from dyntc_spark.kernels.lanes.arrays import copy

#: A row that moves gets room for at least so many.
LEAST_ROOM = 4
_LOW = 2**32 - 1


class Adjacency(NamedTuple):
    """Rows of vertices in a pool, of which the first ``used[0]`` places are taken."""

    starts: Offsets
    lengths: Ids
    rooms: Ids
    values: Ids
    used: Offsets


@compiled
def adjacency(offsets: Offsets, targets: Ids, vertices: int) -> Adjacency:
    """Return rows that can be changed; vertices beyond ``offsets`` have none."""
    starts, lengths = np.zeros(vertices, np.int64), np.zeros(vertices, np.int32)
    for v in range(len(offsets) - 1):
        starts[v] = offsets[v]
        lengths[v] = offsets[v + 1] - offsets[v]
    used = np.empty(1, np.int64)
    used[0] = len(targets)
    return Adjacency(starts, lengths, lengths.copy(), targets.copy(), used)


@lean
def reserve(rows: Adjacency, keys: Offsets) -> int:
    """Return how many places the pool may need for edges, given as ascending keys ``row * 2**32 + value``."""
    needed = begin = 0
    while begin < len(keys):
        v, end = keys[begin] >> 32, begin
        while end < len(keys) and keys[end] >> 32 == v:
            end += 1
        length = np.int64(rows.lengths[v]) + end - begin
        if length > rows.rooms[v]:
            needed += 4 * length + 2 * LEAST_ROOM
        begin = end
    return needed


@compiled
def moved(rows: Adjacency, length: int, vertices: int) -> Adjacency:
    """Return the same rows, without what no row uses, for at least as many vertices, in a pool of this length."""
    starts, lengths = np.zeros(vertices, np.int64), np.zeros(vertices, np.int32)
    rooms, values = np.zeros(vertices, np.int32), np.empty(length, np.int32)
    end = np.int64(0)
    for v in range(len(rows.starts)):
        begin, n = rows.starts[v], np.int64(rows.lengths[v])
        copy(rows.values, begin, begin + n, values, end)
        starts[v], lengths[v], rooms[v] = end, n, n
        end += n
    used = np.empty(1, np.int64)
    used[0] = end
    return Adjacency(starts, lengths, rooms, values, used)


@lean
def insert(rows: Adjacency, v: int, w: int) -> None:
    """Add ``w`` to row ``v``; the pool has room (`reserve`)."""
    n = np.int64(rows.lengths[v])
    if n == rows.rooms[v]:
        begin, end = rows.starts[v], rows.used[0]
        rows.rooms[v] = max(LEAST_ROOM, 2 * n)
        copy(rows.values, begin, begin + n, rows.values, end)
        rows.starts[v] = end
        rows.used[0] = end + rows.rooms[v]
    rows.values[rows.starts[v] + n] = w
    rows.lengths[v] = n + 1


@lean
def delete(rows: Adjacency, keys: Offsets, gone: npt.NDArray[np.int8]) -> None:
    """Remove edges, given as ascending keys; ``gone`` is a mark for each vertex, 0 before and after.

    Each of them is there, and once. A pass over each row that loses something, up to the last that it loses; the last
    of the row take their places.
    """
    begin = 0
    while begin < len(keys):
        v, end = keys[begin] >> 32, begin
        while end < len(keys) and keys[end] >> 32 == v:
            gone[keys[end] & _LOW] = 1
            end += 1
        place, last = rows.starts[v], rows.starts[v] + rows.lengths[v] - 1
        least = last - (end - begin)
        while place <= last and last > least:
            if gone[rows.values[place]]:
                rows.values[place] = rows.values[last]
                last -= 1
            else:
                place += 1
        rows.lengths[v] = last + 1 - rows.starts[v]
        for k in range(begin, end):
            gone[keys[k] & _LOW] = 0
        begin = end


@compiled
def has(out: Adjacency, into: Adjacency, keys: Offsets) -> Flags:
    """Return of each key whether its edge is there: a pass over the row of its tail or of its head, the shorter one."""
    found = np.zeros(len(keys), np.bool_)
    for k in range(len(keys)):
        u, v = keys[k] >> 32, keys[k] & _LOW
        rows = out
        if into.lengths[v] < out.lengths[u]:
            rows, u, v = into, v, u
        for place in range(rows.starts[u], rows.starts[u] + rows.lengths[u]):
            if rows.values[place] == v:
                found[k] = True
                break
    return found


@compiled
def keys_in(rows: Adjacency) -> Offsets:
    """Return the keys of all edges, those of a vertex together."""
    total = 0
    for n in rows.lengths:
        total += n
    keys = np.empty(total, np.int64)
    end = 0
    for v in range(len(rows.starts)):
        for place in range(rows.starts[v], rows.starts[v] + rows.lengths[v]):
            keys[end] = (np.int64(v) << 32) | rows.values[place]
            end += 1
    return keys
