"""Sets of edges as ascending keys: a long array that many sets share, and two short ones of what differs from it.

A set with the parts ``base``, ``added`` and ``gone`` has the keys of ``base`` without those of ``gone``, and those of
``added``. The keys of ``gone`` are in ``base``, those of ``added`` are not.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Flags, Offsets
from dyntc_spark.kernels.reach import without


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
