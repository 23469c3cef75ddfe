"""Arrays of one kind of number each: the names that all layers use for them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

#: Numbers of vertices or components, as they are kept.
Ids: TypeAlias = npt.NDArray[np.int32]
#: Numbers of vertices or entries of a matrix, to calculate with.
Indices: TypeAlias = npt.NDArray[np.int64]
#: Where parts of an array begin, and keys of pairs.
Offsets: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Marks: TypeAlias = npt.NDArray[np.int8]
Floats: TypeAlias = npt.NDArray[np.float64]
