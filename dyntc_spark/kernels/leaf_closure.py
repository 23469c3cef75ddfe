"""The closure of a packed Boolean matrix: components first, then rows of bits merged from below.

Strong components are contracted, numbered so that every edge between two of them
leads to the smaller number (``kernels.components``). The row of a component is its own
members and the rows of its successors, the largest numbers first: a successor
whose members are in the row already adds nothing and is passed over.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels import bits, components
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Offsets, Words


def closed(words: Words) -> Words:
    """Return the reflexive closure of a square packed matrix.

    Cost: one pass over the entries, and for each component the rows that it merges.

    >>> closed(np.array([[2], [4], [0]], np.uint64)).tolist()
    [[7], [6], [4]]
    """
    n = len(words)
    rows, targets = bits.coordinates(words)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=offsets[1:])
    component, count = components.strong_components(offsets, targets)
    member_offsets, members = components.grouped(component, count)
    merged = np.zeros((count, words.shape[1]), np.uint64)
    _merge(offsets, targets, component, member_offsets, members, merged)
    result: Words = merged[component]
    return result


@compiled
def _merge(
    offsets: Offsets,
    targets: Ids,
    component: Ids,
    member_offsets: Offsets,
    members: Ids,
    merged: Words,
) -> None:
    count = len(member_offsets) - 1
    seen = np.full(count, -1, np.int64)
    nexts = np.empty(count, np.int32)
    for c in range(count):
        found = 0
        row = merged[c]
        for e in range(member_offsets[c], member_offsets[c + 1]):
            v = members[e]
            row[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
            for f in range(offsets[v], offsets[v + 1]):
                d = component[targets[f]]
                if d != c and seen[d] != c:
                    seen[d] = c
                    nexts[found] = d
                    found += 1
        for d in np.sort(nexts[:found])[::-1]:
            one = members[member_offsets[d]]
            if not (row[one >> 6] >> np.uint64(one & 63)) & np.uint64(1):
                for w in range(len(row)):
                    row[w] |= merged[d, w]
