"""Products of matrices of packed bits: by the ones of the first factor, or by tables of unions of rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.bits import LINE, count, fit, frozen, lowest, places, words_for
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Words

PANEL = 4096  # rows of a product computed together: a 256 KiB panel, beside 128 KiB of tables, stays in L2

_ZERO, _ONE, _BYTE = np.uint64(0), np.uint64(1), np.uint64(255)


def union_product(into: Words, a: Words, b: Words) -> None:
    """Add the Boolean product of ``a`` (m by k) and ``b`` (k by n) to ``into`` (m by n), in place.

    With k = 1 this is the outer product of a column and a row: each row of
    ``into`` that ``a`` names gets the row ``b[0]``. ``into`` may be ``a`` or ``b``:
    the product is that of their values before the call.

    Cost: the cheaper of two ways. A sparse ``a`` adds one row of ``b`` for each
    of its ones, in ``count(a) * n / 64`` word operations. Otherwise the Method
    of Four Russians tabulates the unions of every subset of 8 rows of ``b``
    and then adds 8 rows at a lookup, in ``(m + 256) * k / 8 * n / 64``.
    """
    fit(a.shape[1] == words_for(len(b)) and into.shape == (len(a), b.shape[1]), "m x n, m x k and k x n", into, a, b)
    a, b = (frozen(side.copy() if np.may_share_memory(into, side) else side) for side in (a, b))
    lookups = (len(a) + 256) * 8 * a.shape[1]
    if 3 * count(a) < 2 * lookups:  # measured: a lookup costs 2/3 of the union of a row, as its table is in the cache
        _union_by_ones(into, a, b)
    else:
        for top in range(0, len(a), PANEL):
            rows = slice(top, top + PANEL)
            _union_by_tables(into[rows], frozen(a[rows].T), b)


def union_rows(into: Words, rows: npt.ArrayLike, columns: npt.ArrayLike, b: Words) -> None:
    """Add to ``into``, in place, the product of ``b`` and the sparse matrix with ones at (``rows[e]``, ``columns[e]``).

    That is ``into[rows[e]] |= b[columns[e]]`` for each e, in this order should
    ``b`` be ``into``. Cost: n / 64 word operations for each entry.
    """
    fit(into.shape[1] == b.shape[1], "m x n and k x n", into, b)
    i, j = places(rows, columns, (len(into), len(b)))
    _union_rows(into, i, j, frozen(b))


@compiled
def _union_row(target: Words, source: Words) -> None:
    for w in range(len(target)):
        target[w] |= source[w]


@compiled
def _union_rows(into: Words, rows: Ids, columns: Ids, b: Words) -> None:
    for e in range(len(rows)):
        _union_row(into[rows[e]], b[columns[e]])


@compiled
def _union_by_ones(into: Words, a: Words, b: Words) -> None:
    for i in range(a.shape[0]):
        for w in range(a.shape[1]):
            word = a[i, w]
            while word:
                _union_row(into[i], b[64 * w + lowest(word)])
                word &= word - _ONE


@compiled
def _union_by_tables(into: Words, a: Words, b: Words) -> None:
    """Add a line of columns at a time; ``a`` comes transposed by words: ``a[w, i]`` is word w of row i."""
    tables = np.zeros((8, 256, LINE), np.uint64)
    panel = np.empty((into.shape[0], LINE), np.uint64)
    for left in range(0, into.shape[1], LINE):
        span = min(LINE, into.shape[1] - left)
        panel[:] = _ZERO
        for w in range(a.shape[0]):
            _tabulate(tables, b[64 * w : 64 * w + 64, left : left + span])
            for i in range(into.shape[0]):
                word = a[w, i]
                row0, row4 = tables[0, word & _BYTE], tables[4, (word >> np.uint64(32)) & _BYTE]
                row1, row5 = tables[1, (word >> np.uint64(8)) & _BYTE], tables[5, (word >> np.uint64(40)) & _BYTE]
                row2, row6 = tables[2, (word >> np.uint64(16)) & _BYTE], tables[6, (word >> np.uint64(48)) & _BYTE]
                row3, row7 = tables[3, (word >> np.uint64(24)) & _BYTE], tables[7, word >> np.uint64(56)]
                for s in range(LINE):
                    panel[i, s] |= row0[s] | row1[s] | row2[s] | row3[s] | row4[s] | row5[s] | row6[s] | row7[s]
        into[:, left : left + span] |= panel[:, :span]


@compiled
def _tabulate(tables: Words, rows: Words) -> None:
    """Make ``tables[g, set]`` the union of the rows 8g + p with p in ``set``; a row that is missing counts as zero."""
    for r in range(64):
        g, p = r // 8, r % 8
        for subset in range(1 << p):
            for s in range(rows.shape[1]):
                row = rows[r, s] if r < rows.shape[0] else _ZERO
                tables[g, (1 << p) + subset, s] = tables[g, subset, s] | row
