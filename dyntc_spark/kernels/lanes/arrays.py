"""Arrays that get longer, and copies between arrays.

Plain loops: numba takes seconds to compile an assignment of slices, for it can fail with a message about shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.compile import inner, lean_inner


@lean_inner
def copy(source: npt.NDArray[Any], begin: int, end: int, target: npt.NDArray[Any], at: int) -> None:
    """Copy ``source[begin:end]`` to ``target``, from ``at`` on.

    Indices without a sign: numba counts negative ones from the end, and with this question in a loop LLVM makes no
    vector instructions of it.
    """
    first, to = np.uint64(begin), np.uint64(at)
    for k in range(np.uint64(max(end - begin, 0))):
        target[to + k] = source[first + k]


@inner
def room(array: npt.NDArray[Any], used: int, more: int) -> npt.NDArray[Any]:
    """Return the array, or a copy of its first ``used`` values with room for at least so many more."""
    if used + more <= len(array):
        return array
    longer = np.empty(2 * (used + more), array.dtype)
    for k in range(used):
        longer[k] = array[k]
    return longer
