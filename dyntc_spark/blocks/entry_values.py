"""Values of entries as users give them: checked, and as int64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyntc_spark.errors import EntryValueError, ShapeMismatchError


def layers(values: npt.ArrayLike, count: int, planes: int) -> npt.NDArray[np.int64]:
    """Return ``count`` integers in one layer or in ``planes``."""
    given = integers(values)
    if given.shape not in {(count,), (1, count), (planes, count)}:
        raise ShapeMismatchError(
            f"{count} values" + (f", or {planes} layers of them" if planes > 1 else ""),
            f"an array of shape {given.shape}",
            "Pass one value for each entry; residues may come in layers, one for each prime.",
        )
    return np.atleast_2d(given)


def integers(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return ``values`` as int64; refuse fractions, text, nulls and what does not fit."""
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise ShapeMismatchError("values that make an array", f"{error}", "Make the layers equally long.") from error
    if given.size == 0:
        return given.astype(np.int64)
    if given.dtype.kind in "bi":
        return given.astype(np.int64, copy=False)
    if given.dtype.kind == "u" and given.max() <= np.iinfo(np.int64).max:
        return given.astype(np.int64)
    raise EntryValueError(
        "integer entries that fit 64 bits",
        f"{given.dtype} such as {given.ravel()[0]!r}",
        "Cast the values to integers first.",
    )
