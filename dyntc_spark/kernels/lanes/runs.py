"""Stripes as runs: the form in which a closure is a table.

A *run* says that the components ``first`` to ``last`` are reached by the lanes of a stripe whose bits are in ``word``.
The runs of a stripe are its entries without the gaps between them. A component of two or more members also has a run
of its own, with its own bit: its members reach each other. So for two different vertices the first reaches
the second iff some run has the component of the second, and the bit of the first. There is one such run at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Words
from dyntc_spark.kernels.lanes.stripes import Stripes, entries

_ONE = np.uint64(1)


class Runs(NamedTuple):
    """Runs, ascending by their stripes, as four parallel arrays."""

    stripe: Ids
    first: Ids
    last: Ids
    word: Words


def runs(stripes: Stripes, which: Ids, several: Ids) -> Runs:
    """Return the runs of some stripes; ``several`` are the components of two or more members, ascending.

    Examples
    --------
    >>> held = Stripes(np.array([0]), np.array([3], np.int32), np.array([0]), np.array([1, 4, 6], np.int32),
    ...                np.array([5, 4, 0], np.uint64), 64)
    >>> found = runs(held, np.array([0], np.int32), np.array([2], np.int32))
    >>> found.first.tolist(), found.last.tolist(), found.word.tolist()
    ([1, 4, 2], [3, 5, 2], [5, 4, 4])
    """
    return _runs(stripes, which, several)


@compiled
def _runs(stripes: Stripes, which: Ids, several: Ids) -> Runs:
    width, room = stripes.width, len(several)
    for s in which:
        room += 2 * max(np.int64(stripes.lengths[s]), 0)  # a pair may begin an entry, and end one
    stripe, first, last = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    word, count = np.empty(room, np.uint64), 0
    for each in which:
        s = np.int64(each)
        numbers, words = entries(stripes, s)
        for k in range(len(numbers) - 1):
            if words[k]:
                stripe[count], first[count], last[count], word[count] = s, numbers[k], numbers[k + 1] - 1, words[k]
                count += 1
        begin, end = np.searchsorted(several, s * width), np.searchsorted(several, (s + 1) * width)
        for c in several[begin:end]:
            stripe[count], first[count], last[count], word[count] = s, c, c, _ONE << np.uint64(c - s * width)
            count += 1
    return Runs(stripe[:count], first[:count], last[:count], word[:count])
