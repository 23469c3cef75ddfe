"""Rows that come from storage: what they have to say before a kernel sees them, whether here or in a task of Spark.

Kernels trust the numbers that they are given. So a row is refused unless it ascends, names components of the
graph only, and has its own component in it. A number that no component has may have left a row behind; it is cleared.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels.reach import Ids, Offsets
from dyntc_spark.kernels.stripe import NO_FAULT, OUTSIDE, UNORDERED, examined, offsets_of

ROWS = "rows"
REMEDY = "Call repair() at the location, or open an older version."


def cleared(first: int, offsets: Offsets, heads: Ids, sizes: Ids) -> tuple[Offsets, Ids, int]:
    """Give the rows from ``first`` on, where components have these ``sizes``, and their pairs; or refuse them.

    Examples
    --------
    >>> cleared(1, np.array([0, 2, 3]), np.array([1, 3, 0], np.int32), np.array([1, 1, 0, 1], np.int32))
    (array([0, 2, 2]), array([1, 3], dtype=int32), 2)
    """
    rows = len(offsets) - 1
    require(first + rows <= len(sizes), ROWS, f"{len(sizes)} rows", f"{first + rows}")
    fault, pairs = examined(first, offsets, heads, sizes)
    require(fault != OUTSIDE, ROWS, "numbers of the graph", "one outside")
    require(fault != UNORDERED, ROWS, "ascending rows", "others")
    require(fault == NO_FAULT, ROWS, "a component in its own row", "a row without")
    lengths, left = np.diff(offsets), sizes[first : first + rows] == 0
    if lengths[left].any():
        heads, lengths = heads[np.repeat(~left, lengths)], np.where(left, 0, lengths)
        offsets = offsets_of(lengths)
    return offsets, heads, pairs


def require(condition: bool, name: str, expected: str, came: str) -> None:
    """Refuse a stored matrix that is not what was written."""
    if not condition:
        raise DamagedBlockError(f"{expected} in the stored matrix {name!r}", came, REMEDY)
