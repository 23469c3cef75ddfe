"""Sets of edges as ascending keys: a long array that many sets share, and two short ones of what differs from it.

A set with the parts ``base``, ``added`` and ``gone`` has the keys of ``base`` without those of ``gone``, and those of
``added``. The keys of ``gone`` are in ``base``, those of ``added`` are not.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.components import without
from dyntc_spark.kernels.ids import Flags, Ids, Offsets

_LOW = 2**32 - 1


@compiled
def among(base: Offsets, added: Offsets, gone: Offsets, keys: Offsets) -> Flags:
    """Return for each key, in any order, whether it is in a set with these parts: a binary search in each.

    Examples
    --------
    >>> among(np.array([2, 4, 6]), np.array([5]), np.array([4]), np.array([6, 5, 4, 3]))
    array([ True,  True, False, False])
    """
    found = np.empty(len(keys), np.bool_)
    for at in range(len(keys)):
        found[at] = _has(base, added, gone, keys[at])
    return found


@compiled
def ascending(keys: Offsets, vertices: int) -> Offsets:
    """Return the keys of edges between so many vertices in ascending order: a pass by targets, then one by sources.

    Examples
    --------
    >>> ascending(np.array([(1 << 32) + 2, 2, (1 << 32) + 1]), 3) >> 32
    array([0, 1, 1])
    """
    found = keys
    for shift in (0, 32):
        places, moved = np.zeros(vertices + 1, np.int64), np.empty_like(keys)
        for key in found:
            places[((key >> shift) & _LOW) + 1] += 1
        for v in range(vertices):
            places[v + 1] += places[v]
        for key in found:
            v = (key >> shift) & _LOW
            moved[places[v]] = key
            places[v] += 1
        found = moved
    return found


@compiled
def adjacency(keys: Offsets, vertices: int) -> tuple[Offsets, Ids]:
    """Return the edges of vertex ``v`` as ``targets[offsets[v]:offsets[v + 1]]``, for all vertices: a pass over them.

    Examples
    --------
    >>> adjacency(np.array([2, (1 << 32) + 1, (1 << 32) + 2]), 3)
    (array([0, 1, 3, 3]), array([2, 1, 2], dtype=int32))
    """
    offsets, targets = np.zeros(vertices + 1, np.int64), np.empty(len(keys), np.int32)
    for k in range(len(keys)):
        targets[k] = keys[k] & _LOW
        offsets[(keys[k] >> 32) + 1] = k + 1
    for v in range(vertices):
        offsets[v + 1] = max(offsets[v + 1], offsets[v])
    return offsets, targets


@compiled
def replaced(
    base: Offsets, added: Offsets, gone: Offsets, inserted: Offsets, deleted: Offsets
) -> tuple[Offsets, Offsets, int]:
    """Return ``added`` and ``gone`` of the set without ``deleted`` and with ``inserted``, and how many keys changed.

    Both ascend; a key in both is inserted. Costs a search of ``base`` for each key and a pass over the short parts.

    Examples
    --------
    >>> nothing = np.zeros(0, np.int64)
    >>> replaced(np.array([2, 4, 6]), nothing, nothing, np.array([4, 5]), np.array([4, 6]))
    (array([5]), array([6]), 2)
    """
    new = inserted[~among(base, added, gone, inserted)]
    lost = without(deleted[among(base, added, gone, deleted)], inserted)
    back, strange = _divided(base, new)
    held, brief = _divided(base, lost)
    return _united(without(added, brief), strange), _united(without(gone, back), held), len(new) + len(lost)


@compiled
def net_effect(
    base: Offsets, added: Offsets, gone: Offsets, keys: Offsets, order: Offsets, inserting: Flags
) -> tuple[Offsets, Offsets, Flags]:
    """Return the keys that changes come to insert, those that they come to delete, and which changed nothing.

    The changes are of a set with these parts. ``order`` sorts their keys, and leaves those of one key in their order.

    Examples
    --------
    >>> nothing, keys = np.zeros(0, np.int64), np.array([7, 7, 5])
    >>> net_effect(np.array([7]), nothing, nothing, keys, np.array([2, 0, 1]), np.array([False, False, True]))
    (array([5]), array([7]), array([False,  True, False]))
    """
    inserted, deleted = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    redundant = np.empty(len(keys), np.bool_)
    n_inserted = n_deleted = at = 0
    while at < len(keys):
        key = keys[order[at]]
        there = was = _has(base, added, gone, key)
        while at < len(keys) and keys[order[at]] == key:
            row = order[at]
            redundant[row] = inserting[row] == there
            there = inserting[row]
            at += 1
        if there and not was:
            inserted[n_inserted] = key
            n_inserted += 1
        elif was and not there:
            deleted[n_deleted] = key
            n_deleted += 1
    return inserted[:n_inserted].copy(), deleted[:n_deleted].copy(), redundant


@compiled
def _has(base: Offsets, added: Offsets, gone: Offsets, key: int) -> bool:
    return _holds(added, key) or (_holds(base, key) and not _holds(gone, key))


@compiled
def _holds(ascending: Offsets, key: int) -> bool:
    place = np.searchsorted(ascending, key)
    return bool(place < len(ascending) and ascending[place] == key)


@compiled
def _divided(ascending: Offsets, keys: Offsets) -> tuple[Offsets, Offsets]:
    """Return the keys that are among ``ascending``, and the others."""
    inside = np.empty(len(keys), np.bool_)
    for at in range(len(keys)):
        inside[at] = _holds(ascending, keys[at])
    return keys[inside], keys[~inside]


@compiled
def _united(one: Offsets, other: Offsets) -> Offsets:
    """Return the keys of two ascending arrays that share none, ascending."""
    found = np.empty(len(one) + len(other), np.int64)
    left = right = 0
    for at in range(len(found)):
        if right == len(other) or (left < len(one) and one[left] < other[right]):
            found[at] = one[left]
            left += 1
        else:
            found[at] = other[right]
            right += 1
    return found
