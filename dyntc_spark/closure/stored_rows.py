"""Rows that come from storage: what they have to say before a kernel sees them, whether here or in a task of Spark.

Kernels trust the numbers that they are given. So a row is refused unless it ascends, names components of the
graph only, and has its own component in it. A number that no component has may have left a row behind; it is cleared.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels import reach
from dyntc_spark.kernels.reach import Ids, Offsets
from dyntc_spark.kernels.stripe import offsets_of

ROWS = "rows"
REMEDY = "Call repair() at the location, or open an older version."


def cleared(first: int, offsets: Offsets, heads: Ids, sizes: Ids) -> tuple[Offsets, Ids]:
    """Give the rows from ``first`` on, where components have these ``sizes``, or refuse them.

    Examples
    --------
    >>> cleared(1, np.array([0, 2, 3]), np.array([1, 3, 0], np.int32), np.array([1, 1, 0, 1], np.int32))
    (array([0, 2, 2]), array([1, 3], dtype=int32))
    """
    rows = len(offsets) - 1
    require(first + rows <= len(sizes), ROWS, f"{len(sizes)} rows", f"{first + rows}")
    inside = bool((heads >= 0).all() and (heads < len(sizes)).all())
    require(inside, ROWS, "numbers of the graph", "one outside")
    lengths = np.diff(offsets).astype(np.int32)
    kept = sizes[first : first + rows] > 0
    heads, lengths = heads[np.repeat(kept, lengths)], np.where(kept, lengths, 0).astype(np.int32)
    offsets = offsets_of(lengths)
    inner = np.ones(len(heads), np.bool_)
    inner[offsets[:-1][lengths > 0]] = False
    require(bool((np.diff(heads, prepend=0)[inner] > 0).all()), ROWS, "ascending rows", "others")
    own = np.flatnonzero(kept).astype(np.int32)
    found = reach.holds(offsets, heads, own, own + np.int32(first))
    require(bool(found.all()), ROWS, "a component in its own row", "a row without")
    return offsets, heads


def require(condition: bool, name: str, expected: str, came: str) -> None:
    """Refuse a stored matrix that is not what was written."""
    if not condition:
        raise DamagedBlockError(f"{expected} in the stored matrix {name!r}", came, REMEDY)
