"""One block of ``Prod``: triples that a Set reveals, and triples that a Reset takes away.

A *slot* is one middle index ``y`` with the entries ``X1[x,y]`` and ``X2[y,z]`` that
meet there, each with its ``LastFlip``. The paper's property

    P(x,y,z): max(LastFlip_1[x,y], LastFlip_2[y,z]) <= max(rows[x], middle[y], columns[z])

decides which of the pairs ``(x, z)`` of a slot are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels import codec, counts
from dyntc_spark.kernels.block import Bits, Block, Dense, Ints, Shape, Sparse
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Flags

Times = npt.NDArray[np.int32]
#: ``starts[s] … starts[s + 1]`` are the entries of slot ``s``: their places on the other side, and their stamps.
Slots = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Times]

#: The type of LastFlip, LastRow and LastCol.
STAMP = np.dtype(np.int32)
SPARSE_SHARE = 32  # a block is kept sparse below one entry in so many, where finding them again is worth the memory


def writable(block: Block | None, shape: Shape, dtype: npt.DTypeLike) -> Ints:
    """Return a block of integers as a new array."""
    if isinstance(block, Dense):
        copy: Ints = block.values[0].astype(dtype)
        return copy
    array = np.zeros(shape, dtype)
    if isinstance(block, Sparse):
        array[block.rows, block.columns] = block.values[0]
    return array


def stored(array: Ints) -> Block | None:
    """Return an array as a block, dense or sparse, in the type that it has."""
    nonzero = int(np.count_nonzero(array))
    if nonzero * SPARSE_SHARE >= array.size:
        return Dense(array[None]) if nonzero else None
    return codec.sparsify(Dense(array[None])) if nonzero else None


def support(block: Block | None) -> Block | None:
    """Return where a block is positive, as a Boolean block."""
    match block:
        case Dense():
            return codec.compact(Bits(block.shape, counts.positive(block.values[0])))
        case Sparse():
            return Sparse(block.shape, block.rows, block.columns, np.zeros((0, block.nnz), np.int32))
    return block


def count_dtype(bound: int) -> np.dtype[Any]:
    """Return the narrowest type that holds counts up to ``bound``.

    >>> [count_dtype(bound).name for bound in (100, 1000, 100_000)]
    ['int8', 'int16', 'int32']
    """
    return np.dtype(np.int8) if bound <= 127 else counts.smallest_dtype(bound)


def slots(rows: Ints, columns: Ints, stamps: Ints, count: int) -> Slots:
    """Return entries ``(slot, place, stamp)`` sorted by slot."""
    order = np.argsort(rows, kind="stable")
    starts = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=count), out=starts[1:])
    return starts, columns[order].astype(np.int32), stamps[order].astype(np.int32)


def reveal(prod: Ints, left: Slots, right: Slots, rows: Times, middle: Times, columns: Times) -> Flags:
    """Count the pairs of each slot that the property leaves out, in place; return the entries that became positive."""
    changed = np.zeros(prod.shape, np.bool_)
    _reveal(prod, changed, *left, *right, rows, middle, columns)
    return changed


def witnesses(shape: Shape, left: Slots, right: Slots, rows: Times, middle: Times, columns: Times) -> Ints:
    """Return the number of pairs of all slots that the property counts, for each ``(x, z)``.

    The ``left`` entries are those that a Reset takes away. One that no row or middle stamp
    reveals is counted only with columns ``z`` where ``columns[z]`` is at least its
    stamp: they are a prefix of the columns in descending order of their stamps,
    and nothing else is looked at (lines 9 to 12 of the paper's Reset; errata 1 and 2 are corrected).
    """
    found = np.zeros(shape, np.int32)
    order = np.argsort(-columns.astype(np.int64), kind="stable").astype(np.int32)
    _witnesses(found, *left, *right, rows, middle, columns, order)
    return found


@compiled
def _reveal(
    prod: Ints,
    changed: Flags,
    left_starts: Ints,
    left_places: Ints,
    left_stamps: Times,
    right_starts: Ints,
    right_places: Ints,
    right_stamps: Times,
    rows: Times,
    middle: Times,
    columns: Times,
) -> None:
    for s in range(len(middle)):
        for e in range(left_starts[s], left_starts[s + 1]):
            x, flip = left_places[e], left_stamps[e]
            last = max(rows[x], middle[s])
            for f in range(right_starts[s], right_starts[s + 1]):
                z = right_places[f]
                if max(flip, right_stamps[f]) > max(last, columns[z]):
                    prod[x, z] += 1
                    if prod[x, z] == 1:
                        changed[x, z] = True


@compiled
def _witnesses(  # noqa: C901  (a loop that numba compiles as one piece)
    found: Ints,
    left_starts: Ints,
    left_places: Ints,
    left_stamps: Times,
    right_starts: Ints,
    right_places: Ints,
    right_stamps: Times,
    rows: Times,
    middle: Times,
    columns: Times,
    order: Ints,
) -> None:
    row = np.zeros(len(columns), np.int32)  # LastFlip_2[y,:] of the slot, 0 where X2[y,z] = 0
    for s in range(len(middle)):
        first, beyond = right_starts[s], right_starts[s + 1]
        for f in range(first, beyond):
            row[right_places[f]] = right_stamps[f]
        for e in range(left_starts[s], left_starts[s + 1]):
            x, flip = left_places[e], left_stamps[e]
            last = max(rows[x], middle[s])
            if last >= flip:  # line 4
                for f in range(first, beyond):
                    z = right_places[f]
                    if right_stamps[f] <= max(last, columns[z]):
                        found[x, z] += 1
            else:
                for z in order:  # line 10: the others have not seen a Set since the flip
                    if columns[z] < flip:
                        break
                    if 0 < row[z] <= columns[z]:
                        found[x, z] += 1
        for f in range(first, beyond):
            row[right_places[f]] = 0
