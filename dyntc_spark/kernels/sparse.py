"""Sparse blocks: a matrix over a ring as the sorted list of its entries that are not zero.

A block of shape ``m`` by ``n`` is a finite map from coordinates ``(row, column)``
to ring elements, kept as its graph: coordinates in ascending order, each once,
with ``values[plane, entry]``. The ring is read off the block and the argument
``modulus``:

- Boolean: no planes, ``values`` has shape ``(0, nnz)`` and type int32;
- counting (``modulus`` is None): one plane; results are int64, narrower operands are taken;
- residues (``modulus`` is a tuple of primes below 2**31): one int32 plane a prime,
  ``0 <= value < prime``.

An entry is zero when it is zero in every plane, and a zero entry is never kept.
Orders and look-ups go through one int64 key a coordinate, ``row * 2**32 + column``,
whose order is the order of the coordinates. Below, ``nnz`` counts entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.errors import (
    EntryValueError,
    IndexOutsideError,
    OverflowingCountError,
    RingMismatchError,
    ShapeMismatchError,
)
from dyntc_spark.kernels.block import Ints, Shape, Sparse
from dyntc_spark.kernels.ids import Flags, Offsets

if TYPE_CHECKING:
    import scipy.sparse as sp

Modulus: TypeAlias = tuple[int, ...] | None

LARGEST_COUNT = 2**63 - 1


def from_coordinates(
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    values: npt.ArrayLike | None,
    shape: Shape,
    modulus: Modulus = None,
) -> Sparse:
    """Return the block that is the sum of the entries listed, in any order and with repetitions.

    Parameters
    ----------
    rows, columns
        Coordinates within ``shape``.
    values
        ``values[plane, entry]``, or ``values[entry]`` for one plane; None for a
        Boolean block, where the sum is the logical or.
    shape
        Number of rows and of columns.
    modulus
        The primes to reduce by, one a plane; None for counts.

    Notes
    -----
    Costs one sort of the keys, or one linear pass when they already ascend.

    Examples
    --------
    >>> block = from_coordinates([1, 0, 1], [2, 0, 2], [5, 1, -4], (2, 3))
    >>> block.rows.tolist(), block.columns.tolist(), block.values.tolist()
    ([0, 1], [0, 2], [[1, 1]])
    """
    keys = _request(rows, columns, shape)
    return _canonical(keys, _planes(values, len(keys), modulus), shape, modulus)


def add(a: Sparse, b: Sparse, modulus: Modulus = None, sign: Literal[1, -1] = 1) -> Sparse:
    """Return ``a + b``, or ``a - b`` for ``sign=-1``; for Boolean blocks the union.

    Linear in the entries of both: two ascending lists are merged.
    """
    require_one_ring(a, b, modulus)
    _require_one_shape(a, b)
    if sign == -1 and not len(a.values):
        raise RingMismatchError("a ring with subtraction", "Boolean blocks", "Use difference instead.")
    keys = np.concatenate([_keys(a), _keys(b)])
    values = np.concatenate([a.values, b.values.astype(np.int64) * sign], axis=1)
    return _canonical(keys, values, a.shape, modulus, runs=True)


def difference(a: Sparse, b: Sparse) -> Sparse:
    """Return the entries of ``a`` at coordinates where ``b`` has none, with their values."""
    _require_one_shape(a, b)
    return select(a, ~_found(_keys(b), _keys(a))[1])


def equal(a: Sparse, b: Sparse) -> bool:
    """Return whether both are the same matrix; the integer types of their values may differ."""
    return (
        a.shape == b.shape
        and np.array_equal(a.rows, b.rows)
        and np.array_equal(a.columns, b.columns)
        and np.array_equal(a.values, b.values)
    )


def transpose(block: Sparse) -> Sparse:
    """Return the block with rows and columns exchanged; a counting sort, linear in entries plus columns."""
    places = np.arange(block.nnz, dtype=np.int64)
    turned = csr(block, places).transpose().tocsr()
    rows = rows_of(turned.indptr)
    columns = turned.indices.astype(np.int32, copy=False)
    return Sparse((block.shape[1], block.shape[0]), rows, columns, block.values[:, turned.data])


def take_rows(block: Sparse, ids: npt.ArrayLike) -> Sparse:
    """Return the block whose row ``k`` is row ``ids[k]``, for ids in any order and repeated at will.

    Costs a binary search an id plus the entries taken.

    Examples
    --------
    >>> block = from_coordinates([0, 1], [2, 0], None, (2, 3))
    >>> taken = take_rows(block, [1, 0, 1])
    >>> taken.shape, taken.rows.tolist(), taken.columns.tolist()
    ((3, 3), [0, 1, 2], [0, 2, 0])
    """
    wanted = _within(ids, block.shape[0], "row")
    starts = np.searchsorted(block.rows, wanted, side="left")
    lengths = np.searchsorted(block.rows, wanted, side="right") - starts
    ends = np.cumsum(lengths)
    places = np.arange(lengths.sum()) + np.repeat(starts - (ends - lengths), lengths)
    rows = np.repeat(np.arange(len(wanted), dtype=np.int32), lengths)
    return Sparse((len(wanted), block.shape[1]), rows, block.columns[places], block.values[:, places])


def take_columns(block: Sparse, ids: npt.ArrayLike) -> Sparse:
    """Return the block whose column ``k`` is column ``ids[k]``; costs two transpositions."""
    _within(ids, block.shape[1], "column")
    return transpose(take_rows(transpose(block), ids))


def get_entries(block: Sparse, rows: npt.ArrayLike, columns: npt.ArrayLike) -> Ints:
    """Return ``values[plane, query]`` at the coordinates asked for; of a Boolean block, one bool a query.

    Costs a pass over the entries and a binary search a query.
    """
    wanted = _request(rows, columns, block.shape)
    places, found = _found(_keys(block), wanted)
    if not len(block.values):
        return found
    values = np.zeros((len(block.values), len(wanted)), dtype=block.values.dtype)
    values[:, found] = block.values[:, places[found]]
    return values


def set_entries(
    block: Sparse,
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    values: npt.ArrayLike | None = None,
    modulus: Modulus = None,
) -> Sparse:
    """Return the block with the entries listed replaced or inserted; the value 0 removes an entry.

    ``values`` is as in `from_coordinates`; for a Boolean block it is one truth
    value a coordinate, or None to set all. Of a coordinate that is listed twice,
    the last value holds. Linear in the block, plus a sort of the request.

    Examples
    --------
    >>> block = from_coordinates([0, 1], [0, 1], [3, 4], (2, 2))
    >>> changed = set_entries(block, [0, 1], [1, 1], [7, 0])
    >>> changed.rows.tolist(), changed.columns.tolist(), changed.values.tolist()
    ([0, 0], [0, 1], [[3, 7]])
    """
    asked = _request(rows, columns, block.shape)
    order = np.argsort(asked, kind="stable")
    last = order[_ends_of_runs(asked[order])]  # the last mention of each coordinate, in ascending order
    if len(block.values):
        new = _canonical(asked[last], _planes(values, len(asked), modulus)[:, last], block.shape, modulus)
    else:
        true = last if values is None else last[np.asarray(values, dtype=np.bool_)[last]]
        new = _canonical(asked[true], _planes(None, len(true), None), block.shape, None)
    return add(clear_entries(block, rows, columns), new, modulus)


def clear_entries(block: Sparse, rows: npt.ArrayLike, columns: npt.ArrayLike) -> Sparse:
    """Return the block without the entries at the coordinates listed, whether or not it has them."""
    wanted = np.sort(_request(rows, columns, block.shape))
    return select(block, ~_found(wanted, _keys(block))[1])


def _keys(block: Sparse) -> Offsets:
    return _key(block.rows, block.columns)


def _key(rows: Ints, columns: Ints) -> Offsets:
    keys: Offsets = (rows.astype(np.int64) << 32) | columns.astype(np.int64)
    return keys


def _request(rows: npt.ArrayLike, columns: npt.ArrayLike, shape: Shape) -> Offsets:
    """Return the keys of coordinates that came from outside, after a check that ``shape`` has them."""
    i, j = _within(rows, shape[0], "row"), _within(columns, shape[1], "column")
    if len(i) != len(j):
        raise ShapeMismatchError("as many rows as columns", f"{len(i)} and {len(j)}", "Give one of each an entry.")
    return _key(i, j)


def _within(ids: npt.ArrayLike, size: int, name: str) -> Ints:
    found = np.asarray(ids)
    if not found.size:
        return np.zeros(0, dtype=np.int32)
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= size:
        came = f"{found.dtype} from {found.min()} to {found.max()}"
        raise IndexOutsideError(f"{name} numbers from 0 to {size - 1}", came, "Check the numbering of the block.")
    return found


def _planes(values: npt.ArrayLike | None, count: int, modulus: Modulus) -> Ints:
    """Return a copy, ``values[plane, entry]``, of values that came from outside."""
    if values is None:
        return np.zeros((0, count), dtype=np.int32)
    found = np.atleast_2d(np.array(values))
    if not found.size:
        found = found.astype(np.int64)
    if not np.can_cast(found.dtype, np.int64) or largest(found) > LARGEST_COUNT:
        came = f"{found.dtype} from {found.min()} to {found.max()}"
        raise EntryValueError("integers between -2**63 and 2**63", came, "Convert the values first.")
    if found.shape[1:] != (count,):
        raise ShapeMismatchError(f"{count} values a plane", f"shape {found.shape}", "Give a value for each coordinate.")
    _require_ring(len(found), modulus)
    return found


def _canonical(keys: Offsets, values: Ints, shape: Shape, modulus: Modulus, runs: bool = False) -> Sparse:
    """Sort, sum what has one key, reduce and drop zeros; ``runs`` picks the sort that merges a few sorted runs."""
    primes = None if modulus is None else np.array(modulus, dtype=np.int64)[:, np.newaxis]
    if len(values):
        values = values.astype(np.int64, copy=False) if primes is None else values % primes
    if not (keys[1:] > keys[:-1]).all():
        kind: Literal["stable", "quicksort"] = "stable" if runs else "quicksort"
        if len(values):
            order = np.argsort(keys, kind=kind)
            keys, values = keys[order], values[:, order]
        else:
            keys = np.sort(keys, kind=kind)
        ends = np.flatnonzero(_ends_of_runs(keys))
        keys = keys[ends]
        values = _sums(values, ends) if primes is None else _sums(values, ends) % primes
    if len(values):
        keep = values.any(axis=0)
        if not keep.all():
            keys, values = keys[keep], values[:, keep]
    kept = values.astype(np.int64 if modulus is None and len(values) else np.int32, copy=False)
    return Sparse(shape, (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32), kept)


def _sums(values: Ints, ends: npt.NDArray[np.intp]) -> Ints:
    """Sum each plane over the runs of entries that end at ``ends``."""
    lengths = np.diff(ends, prepend=-1)
    if len(ends) == values.shape[1] or not len(values):
        return values[:, : len(ends)]
    starts = ends - lengths + 1
    if largest(values) * int(lengths.max()) > LARGEST_COUNT:
        exact = np.add.reduceat(values.astype(object), starts, axis=1)
        if largest(exact) > LARGEST_COUNT:
            raise OverflowingCountError("sums below 2**63", f"{largest(exact)}", "Count modulo primes instead.")
    return np.add.reduceat(values, starts, axis=1)


def _ends_of_runs(keys: Offsets) -> Flags:
    """Mark the last of each run of equal keys."""
    return np.append(keys[1:] != keys[:-1], True)[: len(keys)]


def _found(keys: Offsets, wanted: Offsets) -> tuple[npt.NDArray[np.intp], Flags]:
    """Return each wanted key's place in the ascending ``keys``, and whether it is there."""
    places = np.searchsorted(keys, wanted)
    found = places < len(keys)
    found[found] = keys[places[found]] == wanted[found]
    return places, found


def select(block: Sparse, keep: Flags) -> Sparse:
    """Return some of the entries of a block."""
    return Sparse(block.shape, block.rows[keep], block.columns[keep], block.values[:, keep])


def rows_of(starts: Ints) -> npt.NDArray[np.int32]:
    """Return the row of each entry, given where the rows start."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))


def csr(block: Sparse, data: Ints) -> sp.csr_array[Any, tuple[int, int]]:
    """Return a scipy matrix with these data at the entries of a block; linear, nothing is sorted."""
    import scipy.sparse as sp  # noqa: PLC0415  (it takes a while, and the engine that most use needs none)

    starts = np.zeros(block.shape[0] + 1, dtype=np.int32)
    np.cumsum(np.bincount(block.rows, minlength=block.shape[0]), out=starts[1:])
    matrix = sp.csr_array((data, block.columns, starts), shape=block.shape)
    matrix.has_canonical_format = True
    return matrix


def largest(values: Ints) -> int:
    """Return the largest absolute value."""
    return max(int(values.max()), -int(values.min())) if values.size else 0


def _require_ring(planes: int, modulus: Modulus) -> None:
    if modulus is None and planes <= 1:
        return
    if modulus is None or len(modulus) != planes or not all(2 <= prime < 2**31 for prime in modulus):
        came = f"{planes} planes and modulus {modulus}"
        raise RingMismatchError("a prime below 2**31 for each plane", came, "Pass the primes the block was made with.")


def require_one_ring(a: Sparse, b: Sparse, modulus: Modulus) -> None:
    """Refuse two blocks over different rings."""
    if len(a.values) != len(b.values):
        came = f"{len(a.values)} and {len(b.values)} planes"
        raise RingMismatchError("two blocks over one ring", came, "Convert one of the blocks first.")
    _require_ring(len(a.values), modulus)


def _require_one_shape(a: Sparse, b: Sparse) -> None:
    if a.shape != b.shape:
        raise ShapeMismatchError("two blocks of one shape", f"{a.shape} and {b.shape}", "Check the block coordinates.")
