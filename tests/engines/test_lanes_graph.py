"""The rows of the working graph always have room for the edges of a batch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.engines.lanes.graph import with_room
from dyntc_spark.kernels.lanes import adjacency

VERTICES = 80
# Most edges leave two vertices: long rows, which get much spare room when they move.
pairs = st.tuples(st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4]), st.integers(0, VERTICES - 1))


def keys(edges):
    return np.array(sorted((u << 32) | v for u, v in edges), np.int64)


def end_of_pool(rows, edges):
    """Return how much of the pool is used after these edges, as `insert` takes it; nothing is changed."""
    lengths, rooms, end = rows.lengths.tolist(), rows.rooms.tolist(), int(rows.used[0])
    for u, _ in sorted(edges):
        if lengths[u] == rooms[u]:
            rooms[u] = max(adjacency.LEAST_ROOM, 2 * lengths[u])
            end += rooms[u]
        lengths[u] += 1
    return end


def follow(start, batches):
    """Apply batches of deleted and inserted edges to rows, as a state does: room first, then deletions."""
    offsets = np.searchsorted(keys(start), np.arange(VERTICES + 1, dtype=np.int64) << 32)
    rows, held = adjacency.adjacency(offsets, (keys(start) & 0xFFFFFFFF).astype(np.int32), VERTICES), start
    for some in batches:
        gone, new = some & held, some - held
        rows = with_room(rows, keys(new))
        adjacency.delete(rows, keys(gone), np.zeros(VERTICES, np.int8))
        assert end_of_pool(rows, new) <= len(rows.values)  # before kernels write there without a look
        for u, v in sorted(new):
            adjacency.insert(rows, u, v)
        held = (held - gone) | new
        assert sorted(adjacency.keys_in(rows).tolist()) == keys(held).tolist()


@given(st.sets(pairs, max_size=60), st.lists(st.sets(pairs, max_size=30), max_size=8))
def test_there_is_room_for_every_batch(start, batches):
    follow(start, batches)


def test_a_long_row_that_loses_its_spare_room():
    """To make the pool longer moves all rows, and takes their spare room: a long row may need it in the same batch."""
    nearly_full = [{(0, 32)}, {(0, v) for v in range(33, 63)}]
    others = [{(u, 0)} for u in range(1, 60)]
    for some in range(15, 30):  # in one of these the pool is full
        follow({(0, v) for v in range(32)}, [*nearly_full, *others[:some], {(0, 63), *others[some]}])
