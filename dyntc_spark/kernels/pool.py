"""Many ascending rows of numbers in one pool, of which single rows are replaced.

Row ``r`` is ``values[starts[r] : starts[r] + lengths[r]]``. A row that changes is
written behind all others, and becomes the row when its start and its length are
assigned: until then the old one stands. What it leaves is garbage. Most of the new
rows fit where old ones were, and `settle` moves them there when nobody needs the
old ones any more; what garbage is left, `compact` squeezes out when it is much. So
a change costs the rows that it concerns, and one that is given up costs space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.reach import Flags, Ids, Offsets, within

_LOW = 2**32 - 1
_NONE = 2**31 - 1  # above every number in a row


class Rows(NamedTuple):
    """Rows in a pool: where each begins, how long it is, and the pool."""

    starts: Offsets
    lengths: Ids
    values: Ids


@compiled
def revised(rows: Rows, used: int, touched: Ids, inserted: Offsets, deleted: Offsets) -> tuple[Offsets, Ids]:
    """Write the rows ``touched`` without ``deleted`` and with ``inserted`` from ``used`` on; give starts and lengths.

    Changes are ascending keys ``row * 2**32 + number``; ``touched`` has their rows, ascending. One pass over
    these rows; the pool needs room for them and for what is inserted.

    Examples
    --------
    >>> rows = Rows(np.array([0, 2]), np.array([2, 1], np.int32), np.array([3, 5, 4, 0, 0, 0, 0], np.int32))
    >>> starts, lengths = revised(rows, 3, np.array([0], np.int32), np.array([1, 7]), np.array([5]))
    >>> rows.values[starts[0] : starts[0] + lengths[0]]
    array([1, 3, 7], dtype=int32)
    """
    starts, lengths = np.empty(len(touched), np.int64), np.empty(len(touched), np.int32)
    values, end, new, gone = rows.values, used, 0, 0
    for t in range(len(touched)):
        row = np.int64(touched[t])
        place, stop = rows.starts[row], rows.starts[row] + rows.lengths[row]
        starts[t] = end
        while True:
            coming = inserted[new] & _LOW if new < len(inserted) and inserted[new] >> 32 == row else _NONE
            present = np.int64(values[place]) if place < stop else _NONE
            number = min(coming, present)
            if number == _NONE:
                break
            kept = coming == number
            new += kept
            if present == number:
                place += 1
                while gone < len(deleted) and deleted[gone] < (row << 32) + number:
                    gone += 1
                kept = kept or gone == len(deleted) or deleted[gone] != (row << 32) + number
            if kept:
                values[end] = number
                end += 1
        lengths[t] = end - starts[t]
    return starts, lengths


@compiled
def settle(rows: Rows, base: int, moved: Ids, starts: Offsets, lengths: Ids) -> int:
    """Move the rows ``moved``, all that lie from ``base`` on, in this order, into holes; give where the pool ends now.

    The longest row takes the longest of the holes (``lengths`` from ``starts`` on) if it fits, and so on, by
    which as many rows as can be find a hole; the others move together. Linear in the rows but for the sorting.
    """
    free = np.argsort(lengths)
    last = len(free) - 1
    for k in np.argsort(rows.lengths[moved])[::-1]:
        row = moved[k]
        if last >= 0 and 0 < rows.lengths[row] <= lengths[free[last]]:
            _move(rows, row, starts[free[last]])
            last -= 1
    end = base
    for row in moved:
        if rows.starts[row] >= base:
            _move(rows, row, end)
            end += rows.lengths[row]
    return end


@compiled
def _move(rows: Rows, row: int, start: int) -> None:
    begin = rows.starts[row]
    for k in range(rows.lengths[row]):
        rows.values[start + k] = rows.values[begin + k]
    rows.starts[row] = start


@compiled
def compact(rows: Rows, used: int) -> int:
    """Move the rows together in the order in which they lie; give where they end.

    One pass without sorting: the first number of each row is set aside and the number of the row is left in
    its place, below zero, so that the pass over the pool knows a row from garbage and whose it is.
    """
    firsts = np.empty(len(rows.starts), np.int32)
    for r in range(len(rows.starts)):
        if rows.lengths[r]:
            firsts[r] = rows.values[rows.starts[r]]
            rows.values[rows.starts[r]] = -1 - r
    end = place = 0
    while place < used:
        if rows.values[place] >= 0:
            place += 1
            continue
        r = -1 - rows.values[place]
        rows.values[place] = firsts[r]
        _move(rows, r, end)
        end += rows.lengths[r]
        place += rows.lengths[r]
    return end


@compiled
def holds(rows: Rows, row: int, number: int) -> bool:
    """Tell whether a row holds a number: a binary search."""
    return within(rows.values, rows.starts[row], rows.lengths[row], number)


@compiled
def holds_each(rows: Rows, which: Ids, numbers: Ids) -> Flags:
    """Tell for each ``q`` whether row ``which[q]`` holds ``numbers[q]``."""
    found = np.empty(len(which), np.bool_)
    starts, lengths, values = rows
    for q in range(len(which)):
        found[q] = within(values, starts[which[q]], lengths[which[q]], numbers[q])
    return found


@compiled
def joined(component: Ids, starts: Offsets, lengths: Ids, values: Ids, sources: Offsets, targets: Offsets) -> Flags:
    """Tell for each ``q`` whether vertex ``sources[q]`` reaches ``targets[q]``; nothing where one is no vertex."""
    found = np.empty(len(sources) if len(sources) == len(targets) else 0, np.bool_)
    for q in range(len(found)):
        u, v = sources[q], targets[q]
        if min(u, v) < 0 or max(u, v) >= len(component):
            return found[:0]
        row = component[u]
        found[q] = within(values, starts[row], lengths[row], component[v])
    return found


@compiled
def taken(rows: Rows, which: Ids) -> tuple[Offsets, Ids]:
    """Give some of the rows, in the order of ``which``, as offsets and numbers."""
    offsets = np.zeros(len(which) + 1, np.int64)
    for k in range(len(which)):
        offsets[k + 1] = offsets[k] + rows.lengths[which[k]]
    found = np.empty(offsets[-1], np.int32)
    for k in range(len(which)):
        start = rows.starts[which[k]]
        found[offsets[k] : offsets[k + 1]] = rows.values[start : start + rows.lengths[which[k]]]
    return offsets, found


@compiled
def keys(rows: Rows) -> Offsets:
    """Give the keys ``row * 2**32 + number`` of all that the rows hold, ascending."""
    found = np.empty(rows.lengths.sum(), np.int64)
    end = 0
    for r in range(len(rows.starts)):
        for place in range(rows.starts[r], rows.starts[r] + rows.lengths[r]):
            found[end] = (np.int64(r) << 32) + rows.values[place]
            end += 1
    return found
