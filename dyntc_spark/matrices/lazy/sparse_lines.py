"""Sums of sparse lines: the arithmetic of section 4.2 where rows and columns have few entries.

A stack of ``k`` lines of length ``n`` is a ``Sparse`` block of ``k x n``. Two
sums carry everything that is built on it:

- ``combine``: ``X = B + C·L``, where row ``i`` of ``C`` says which lines of ``L``
  enter line ``i``. With ``B`` rows of *Lazy*, ``C`` rows of *Buf_J* and ``L`` all of
  *Buf_I* these are rows of ``M = Lazy + Buf_J·Buf_I``; with ``B`` a stripe of *Lazy*
  it is the stripe's rebuild;
- ``substitute``: the ``X`` with ``X = B + C·X``, for a ``C`` that is strictly
  triangular in a given order: one pass, each line from those before it.

Both cost the number of products formed, and a sort of each line of the result;
nothing costs ``n``. Residues are added in 64 bits and reduced once a line; exact
counts that might leave 63 bits are refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.rings import Ring
from dyntc_spark.errors import OverflowingCountError
from dyntc_spark.kernels import sparse
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Floats, Ids, Indices
from dyntc_spark.kernels.sparse import Modulus
from dyntc_spark.matrices.lazy import dense_lines

LIMIT = 2**62  # sums are reduced (residues) or refused (counts) beyond it
NO_PRIMES = np.zeros(0, np.int64)
_scratch = threading.local()


def starts_of(lines: Sparse) -> Indices:
    """Where each line begins among the entries, and behind them all the end."""
    return np.searchsorted(lines.rows, np.arange(lines.shape[0] + 1, dtype=np.int32)).astype(np.int64)


def nothing(count: int, length: int, planes: int, modulus: Modulus) -> Sparse:
    """``count`` lines without entries."""
    none = np.zeros(0, np.int32)
    return Sparse((count, length), none, none, np.zeros((planes, 0), np.int64 if modulus is None else np.int32))


def from_array(array: Ints, ring: Ring) -> Sparse:
    """Return lines written out, ``[line, place]`` or ``[plane, line, place]``, as a stack."""
    flat = array if array.ndim == 2 else array.any(axis=0)
    rows, columns = np.nonzero(flat)
    values = ring.values(array[..., rows, columns], len(rows))
    return sparse.from_coordinates(rows, columns, values, (flat.shape[0], flat.shape[1]), ring.modulus)


def combine(base: Sparse, coefficients: Sparse, lines: Sparse, modulus: Modulus) -> Sparse:
    """Return ``base + coefficients · lines``.

    Examples
    --------
    >>> from dyntc_spark.kernels.sparse import from_coordinates
    >>> base = from_coordinates([0], [3], [1], (2, 4))
    >>> choice = from_coordinates([0, 1, 1], [0, 0, 1], [-1, 2, 1], (2, 2))
    >>> lines = from_coordinates([0, 1], [3, 0], [1, 5], (2, 4))
    >>> sums = combine(base, choice, lines, None)
    >>> sums.rows.tolist(), sums.columns.tolist(), sums.values.tolist()
    ([1, 1], [0, 3], [[5, 2]])
    """
    if not coefficients.nnz or not lines.nnz:
        return base
    if len(some := dense_lines.heavy(coefficients, lines, modulus)):
        part, rest = split(coefficients, lines, some)
        base = dense_lines.sums(base, *part, modulus or (), starts_of)
        return combine(base, *rest, modulus) if rest[0].nnz else base
    order = np.arange(base.shape[0])
    return _sums(base, coefficients, lines, order, modulus, own=False)


def substitute(base: Sparse, coefficients: Sparse, order: Indices, modulus: Modulus) -> Sparse:
    """Return the lines ``X = base + coefficients · X``.

    Line ``i`` may depend only on lines that stand before it in ``order``.

    Examples
    --------
    >>> from dyntc_spark.kernels.sparse import from_coordinates
    >>> base = from_coordinates([0, 1], [0, 1], [1, 1], (2, 2))
    >>> solved = substitute(base, from_coordinates([0], [1], [7], (2, 2)), np.array([1, 0]), None)
    >>> solved.rows.tolist(), solved.columns.tolist(), solved.values.tolist()
    ([0, 0, 1], [0, 1, 1], [[1, 7, 1]])
    """
    if not coefficients.nnz:
        return base
    return _sums(base, coefficients, base, order, modulus, own=True)


def columns_at(lines: Sparse, ids: npt.ArrayLike) -> Sparse:
    """Return the columns ``ids`` of a stack of lines, as lines: ``len(ids) x count``.

    Costs a binary search an id and line, or a pass over all entries where that is less.
    """
    wanted = np.asarray(ids, np.int64)
    if len(wanted) * lines.shape[0] > lines.nnz:
        distinct, place = np.unique(wanted, return_inverse=True)
        return sparse.take_rows(sparse.transpose(restrict(lines, distinct)), place)
    rows, columns, places = _find(starts_of(lines), lines.columns, wanted)
    return Sparse((len(wanted), lines.shape[0]), rows, columns, lines.values[:, places])


def restrict(lines: Sparse, ids: Indices) -> Sparse:
    """Return the entries at the ascending ``ids`` only, renumbered by their place there."""
    ids = ids.astype(np.int32)  # as the columns are, which a search would convert first
    places = np.searchsorted(ids, lines.columns)
    kept = places < len(ids)
    kept[kept] = ids[places[kept]] == lines.columns[kept]
    columns = places[kept].astype(np.int32)
    return Sparse((lines.shape[0], len(ids)), lines.rows[kept], columns, lines.values[:, kept])


def split(coefficients: Sparse, lines: Sparse, some: Indices) -> tuple[tuple[Sparse, Sparse], tuple[Sparse, Sparse]]:
    """Return two products whose sum is ``coefficients · lines``: that of ``some`` lines, and that of the others."""
    others = np.setdiff1d(np.arange(lines.shape[0]), some)
    first, second = ((restrict(coefficients, ids), sparse.take_rows(lines, ids)) for ids in (some, others))
    return first, second


def dot(left: Sparse, right: Sparse, x: Indices, y: Indices, modulus: Modulus) -> Ints:
    """Return the inner product of line ``x[q]`` of ``left`` and line ``y[q]`` of ``right``: ``values[plane, q]``."""
    out = np.zeros((len(left.values), len(x)), np.int64)
    fits = _dots(
        *(starts_of(left), left.columns, left.values),
        *(starts_of(right), right.columns, right.values),
        *(x, y, _primes(modulus), out),
    )
    _check(fits)
    return out


def stacked(first: Sparse, second: Sparse) -> Sparse:
    """Return the lines of both, one stack on the other."""
    return Sparse(
        (first.shape[0] + second.shape[0], first.shape[1]),
        np.concatenate([first.rows, second.rows + np.int32(first.shape[0])]),
        np.concatenate([first.columns, second.columns]),
        np.concatenate([first.values, second.values], axis=1),
    )


@contextmanager
def zeroed(length: int) -> Iterator[Ids]:
    """Lend zeros that a kernel may use as it likes, if it leaves zeros behind: one array a thread, never cleared.

    A kernel that is interrupted may leave others behind: then the array is not kept.
    """
    slots: Ids | None = _scratch.__dict__.pop("slots", None)
    if slots is None or len(slots) < length:
        slots = np.zeros(length, np.int32)
    yield slots[:length]
    _scratch.slots = slots


def _sums(base: Sparse, coefficients: Sparse, lines: Sparse, order: Indices, modulus: Modulus, *, own: bool) -> Sparse:
    length = base.shape[1]
    with zeroed(length) as slots:
        begins, ends, columns, values, fits = _add_up(
            *(starts_of(base), base.columns, base.values),
            *(starts_of(coefficients), coefficients.columns, coefficients.values),
            *(starts_of(lines), lines.columns, lines.values),
            order,
            own,
            _primes(modulus),
            slots,
        )
    _check(fits)
    lengths = ends - begins
    rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    if own:  # the lines lie in the order in which they were made
        starts = np.cumsum(lengths) - lengths
        places = np.arange(len(rows)) + np.repeat(begins - starts, lengths)
        columns, values = columns[places], values[:, places]
    return Sparse((base.shape[0], length), rows, columns, values)


def _primes(modulus: Modulus) -> Indices:
    return NO_PRIMES if modulus is None else np.array(modulus, np.int64)


def _check(fits: bool) -> None:
    if not fits:
        remedy = "Count modulo primes instead: the ring Modular(primes)."
        raise OverflowingCountError(f"sums of counts below {LIMIT}", "one that may be larger", remedy)


@compiled
def _add_line(
    ids: Ids, values: Ints, begin: int, end: int, factors: Indices, count: int,
    slots: Ids, touched: Ids, sums: Indices, sizes: Floats, primes: Indices,
) -> int:  # fmt: skip  # pragma: no cover  (compiled)
    """Add a multiple of a line to the sum; ``slots`` says where an id has its place in it, counted from 1."""
    for e in range(begin, end):
        j = ids[e]
        slot = slots[j] - 1
        if slot < 0:
            slot = count
            count += 1
            slots[j], touched[slot] = count, j
            for plane in range(len(factors)):
                sums[plane, slot] = 0
            if len(primes) == 0:
                sizes[slot] = 0.0
        for plane in range(len(factors)):
            total = sums[plane, slot] + factors[plane] * np.int64(values[plane, e])
            if len(primes) == 0:
                sizes[slot] += abs(float(factors[0]) * float(values[0, e]))
            elif total >= LIMIT:
                total %= primes[plane]
            sums[plane, slot] = total
    return count


@compiled
def _write_line(
    touched: Ids, known: int, count: int, slots: Ids, sums: Indices, sizes: Floats, primes: Indices,
    out_ids: Ids, out_values: Ints, used: int,
) -> tuple[int, bool]:  # fmt: skip  # pragma: no cover  (compiled)
    """Write a sum behind the ``used`` entries, ids in order, and leave ``slots`` at zero."""
    fresh, fits = np.sort(touched[known:count]), True  # the first ``known`` ids are those of the base, in order
    old, new = 0, 0
    while old < known or new < len(fresh):
        if new == len(fresh) or (old < known and touched[old] < fresh[new]):
            j = touched[old]
            old += 1
        else:
            j = fresh[new]
            new += 1
        slot = slots[j] - 1
        slots[j] = 0
        some = False
        for plane in range(len(sums)):
            value = sums[plane, slot] % primes[plane] if len(primes) else sums[plane, slot]
            out_values[plane, used] = value
            some = some or value != 0
        fits = fits and (len(primes) > 0 or sizes[slot] < LIMIT)
        out_ids[used] = j
        used += some
    return used, fits


@compiled
def _most_new(choice_starts: Indices, choice_ids: Ids, line_starts: Indices, length: int) -> int:  # pragma: no cover
    """Entries that sums can have beyond those of their bases."""
    total = 0
    for i in range(len(choice_starts) - 1):
        products = 0
        for c in range(choice_starts[i], choice_starts[i + 1]):
            products += line_starts[choice_ids[c] + 1] - line_starts[choice_ids[c]]
        total += min(products, length)
    return total


@compiled
def _add_up(
    base_starts: Indices, base_ids: Ids, base_values: Ints,
    choice_starts: Indices, choice_ids: Ids, choice_values: Ints,
    line_starts: Indices, line_ids: Ids, line_values: Ints,
    order: Indices, own: bool, primes: Indices, slots: Ids,
) -> tuple[Indices, Indices, Ids, Ints, bool]:  # fmt: skip  # pragma: no cover  (compiled)
    """Form the sums line by line, in ``order``; with ``own``, out of the sums that are there already."""
    planes, length = len(base_values), len(slots)
    begins, ends = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    room = len(base_ids) + 1024 if own else len(base_ids) + _most_new(choice_starts, choice_ids, line_starts, length)
    out_ids, out_values = np.empty(room, np.int32), np.empty((planes, room), base_values.dtype)
    touched, sums = np.empty(length, np.int32), np.empty((planes, length), np.int64)
    sizes = np.empty(length if len(primes) == 0 else 0)
    ones, factors = np.ones(planes, np.int64), np.empty(planes, np.int64)
    used, fits = 0, True
    for i in order:
        count, known, first, last = 0, 0, base_starts[i], base_starts[i + 1]
        changes = choice_starts[i + 1] > choice_starts[i]
        if changes:
            count = _add_line(base_ids, base_values, first, last, ones, 0, slots, touched, sums, sizes, primes)
            known = count
            for c in range(choice_starts[i], choice_starts[i + 1]):
                w = choice_ids[c]
                for plane in range(planes):
                    factors[plane] = choice_values[plane, c]
                if own:
                    count = _add_line(out_ids, out_values, begins[w], ends[w], factors, count,
                                      slots, touched, sums, sizes, primes)  # fmt: skip
                else:
                    count = _add_line(line_ids, line_values, line_starts[w], line_starts[w + 1], factors, count,
                                      slots, touched, sums, sizes, primes)  # fmt: skip
        needed = used + (count if changes else last - first)
        if needed > room:
            room = 2 * needed
            wider_ids, wider_values = np.empty(room, np.int32), np.empty((planes, room), base_values.dtype)
            wider_ids[:used], wider_values[:, :used] = out_ids[:used], out_values[:, :used]
            out_ids, out_values = wider_ids, wider_values
        begins[i] = used
        if changes:
            used, fits_too = _write_line(touched, known, count, slots, sums, sizes, primes, out_ids, out_values, used)
            fits = fits and fits_too
        else:
            out_ids[used:needed], out_values[:, used:needed] = base_ids[first:last], base_values[:, first:last]
            used = needed
        ends[i] = used
    return begins, ends, out_ids[:used].copy(), out_values[:, :used].copy(), fits


@compiled
def _find(starts: Indices, ids: Ids, wanted: Indices) -> tuple[Ids, Ids, Indices]:  # pragma: no cover  (compiled)
    """Find each wanted id in each line: which was found, in which line, at which place."""
    room, used = 64, 0
    found = np.empty((3, room), np.int64)
    for q in range(len(wanted)):
        for line in range(len(starts) - 1):
            low, high = starts[line], starts[line + 1]
            while low < high:
                middle = (low + high) // 2
                if ids[middle] < wanted[q]:
                    low = middle + 1
                else:
                    high = middle
            if low < starts[line + 1] and ids[low] == wanted[q]:
                if used == room:
                    wider = np.empty((3, 2 * room), np.int64)
                    wider[:, :used] = found
                    found, room = wider, 2 * room
                found[0, used], found[1, used], found[2, used] = q, line, low
                used += 1
    return found[0, :used].astype(np.int32), found[1, :used].astype(np.int32), found[2, :used].copy()


@compiled
def _dots(
    left_starts: Indices, left_ids: Ids, left_values: Ints,
    right_starts: Indices, right_ids: Ids, right_values: Ints,
    x: Indices, y: Indices, primes: Indices, out: Indices,
) -> bool:  # fmt: skip  # pragma: no cover  (compiled)
    """Merge the ids of two lines at a time."""
    fits = True
    for q in range(len(x)):
        a, b, size = left_starts[x[q]], right_starts[y[q]], 0.0
        while a < left_starts[x[q] + 1] and b < right_starts[y[q] + 1]:
            if left_ids[a] < right_ids[b]:
                a += 1
            elif left_ids[a] > right_ids[b]:
                b += 1
            else:
                for plane in range(len(out)):
                    out[plane, q] += np.int64(left_values[plane, a]) * np.int64(right_values[plane, b])
                    if len(primes):
                        out[plane, q] %= primes[plane]
                    else:
                        size += abs(float(left_values[plane, a]) * float(right_values[plane, b]))
                a += 1
                b += 1
        fits = fits and size < LIMIT
    return fits
