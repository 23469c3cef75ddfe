"""Combinations of sparse lines of residues whose products are nearly all there: dense products on BLAS.

``base + coefficients · lines`` costs the products that it forms, wherever it is formed; on BLAS one
of them costs a tenth. So where the coefficients fill their rows and the lines share their columns,
as they do around a large component, both are written out as dense blocks, of the rows
that change and the columns that are used only, and the product is merged with the base. Lines for
which that does not pay are left to the sparse sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dyntc_spark.kernels import modular, sparse
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Indices
from dyntc_spark.kernels.sparse import Modulus

MANY_PRODUCTS = 2**21  #: residues: from so many on, products may be formed as dense blocks,
FULL = 8  #: if they are at least this part of those of dense blocks
FEW = 4  #: fewer lines than that are added up as fast where they are
TILE = 2**21  #: entries of a dense result at a time


def heavy(coefficients: Sparse, lines: Sparse, modulus: Modulus) -> Indices:
    """Return those of the lines, ascending, whose part of the products is better formed densely; none, if few are.

    Such lines are long and enter many sums, and together they fill the rows that they change.
    """
    none = np.zeros(0, np.int64)
    if modulus is None or coefficients.nnz * lines.nnz < MANY_PRODUCTS:
        return none
    uses, lengths = (np.bincount(ids, minlength=lines.shape[0]) for ids in (coefficients.columns, lines.rows))
    often, long = (FULL * numbers >= numbers.max() for numbers in (uses, lengths))
    chosen = often & long
    products = int((uses * lengths)[chosen].sum())
    if products < MANY_PRODUCTS or chosen.sum() < FEW:
        return none
    rows = len(np.unique(coefficients.rows[chosen[coefficients.columns]]))
    columns = len(np.unique(lines.columns[chosen[lines.rows]]))
    return np.flatnonzero(chosen) if FULL * products > rows * columns * int(chosen.sum()) else none


def merged(
    base: Sparse, coefficients: Sparse, lines: Sparse, modulus: tuple[int, ...], starts_of: Callable[[Sparse], Indices]
) -> tuple[Indices, Ids, Ints]:
    """Return ``base + coefficients · lines``: where each line begins, columns, and residues ``[plane, entry]``.

    ``starts_of`` tells where the lines of a stack begin.
    """
    used, places = np.unique(lines.columns, return_inverse=True)
    right = np.zeros((len(modulus), lines.shape[0], len(used)), np.int32)
    right[:, lines.rows, places] = lines.values
    factors = [modular.centred(layer, p) for layer, p in zip(right, modulus, strict=True)]
    changed = np.flatnonzero(np.diff(starts_of(coefficients)))
    left, begins, count = sparse.take_rows(coefficients, changed), starts_of(base), base.shape[0]
    entries, step = starts_of(left), max(1, TILE // max(len(used), 1))
    met = np.zeros(base.shape[1], np.bool_)
    met[used] = True
    moved = np.zeros(count, np.bool_)
    moved[changed] = True
    both = int(np.count_nonzero(met[base.columns] & moved[base.rows]))
    room = base.nnz + len(changed) * len(used) - both  # less what becomes 0
    columns, values, starts = np.empty(room, np.int32), np.empty((len(modulus), room), np.int32), np.zeros_like(begins)
    first = 0
    for start in range(0, len(changed), step):
        rows = changed[start : start + step]
        some = slice(entries[start], entries[start + len(rows)])
        tile = np.zeros((len(modulus), len(rows), lines.shape[0]), np.int32)
        tile[:, left.rows[some] - start, left.columns[some]] = left.values[:, some]
        dense = np.stack([modular.product(one, two, p) for one, two, p in zip(tile, factors, modulus, strict=True)])
        last = count if start + step >= len(changed) else int(rows[-1]) + 1
        primes = np.array(modulus, np.int64)
        _merge(first, last, begins, base.columns, base.values, rows, used, dense, primes, starts, columns, values)
        first = last
    if starts[-1] < room:
        columns, values = columns[: starts[-1]].copy(), values[:, : starts[-1]].copy()
    return starts, columns, values


def sums(
    base: Sparse, coefficients: Sparse, lines: Sparse, modulus: tuple[int, ...], starts_of: Callable[[Sparse], Indices]
) -> Sparse:
    """Return the same as a stack of lines."""
    starts, columns, values = merged(base, coefficients, lines, modulus, starts_of)
    rows = np.repeat(np.arange(base.shape[0], dtype=np.int32), np.diff(starts))
    return Sparse(base.shape, rows, columns, values)


@compiled
def _merge(
    first: int, last: int, begins: Indices, ids: Ids, values: Ints, rows: Indices, used: Ids, dense: Ints,
    primes: Indices, starts: Indices, out_ids: Ids, out: Ints,
) -> None:  # fmt: skip  # pragma: no cover  (compiled)
    """Write the lines from ``first`` to ``last``: ``rows`` of them with dense ones added at the columns ``used``."""
    planes, q, at = len(primes), 0, starts[first]
    for row in range(first, last):
        e, end, k, stop = begins[row], begins[row + 1], 0, 0
        if q < len(rows) and rows[q] == row:
            stop = len(used)
        while e < end or k < stop:
            old = e < end and (k == stop or ids[e] <= used[k])
            new = k < stop and (e == end or used[k] <= ids[e])
            some = False
            for plane in range(planes):
                total = (np.int64(values[plane, e]) if old else 0) + (np.int64(dense[plane, q, k]) if new else 0)
                if total >= primes[plane]:
                    total -= primes[plane]
                out[plane, at] = total
                some = some or total != 0
            out_ids[at] = ids[e] if old else used[k]
            at += some
            e += old
            k += new
        q += stop > 0
        starts[row + 1] = at
