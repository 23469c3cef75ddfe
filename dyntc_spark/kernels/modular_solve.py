"""Systems of linear equations and inverses modulo a prime: blocked Gauss-Jordan elimination on float64 BLAS."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyntc_spark.errors import ShapeMismatchError, SingularMatrixError
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.modular import (
    Centred,
    Integers,
    Residues,
    add_multiple,
    check_entries,
    powers,
    rank_update,
    reduced,
)

PANEL = 64  # unknowns eliminated at a time


def solve(a: Integers, b: Integers, p: int) -> Residues:
    """Return the matrix ``x`` with ``a @ x = b`` modulo the prime ``p``, for a square ``a``.

    Blocked Gauss-Jordan elimination: ``n**2 * (n/2 + c)`` multiplications for
    ``n`` unknowns and ``c`` right sides, all but ``n**2 * PANEL`` of them in BLAS.
    Raises ``SingularMatrixError`` when ``a`` has no inverse.

    Examples
    --------
    >>> solve(np.array([[0, 2], [3, 1]]), np.array([[1], [2]]), 7)
    array([[4],
           [4]], dtype=int32)
    """
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ShapeMismatchError("a square matrix", f"{a.shape}", "Give as many equations as unknowns.")
    n = a.shape[0]
    if b.ndim != 2 or b.shape[0] != n:
        raise ShapeMismatchError(f"a right side of {n} rows", f"{b.shape}", "Give one row an equation, as a matrix.")
    check_entries(p, a, b)
    # The system is kept transposed, one row an unknown or a right side, so that what is left of it is contiguous.
    system = np.concatenate([a.T, b.T]).astype(np.int32, order="C")
    for start in range(0, n, PANEL):
        stop = min(start + PANEL, n)
        panel, rest = system[start:stop].astype(np.float64), system[stop:]
        for row, pivot in enumerate(_eliminate(panel, start, p), start):
            if pivot < 0:
                came = f"one of size {n} whose column {row} depends on the columns before it"
                raise SingularMatrixError(f"an invertible matrix modulo {p}", came, "Draw other weights or a prime.")
            if pivot != row:
                rest[:, [row, pivot]] = rest[:, [pivot, row]]
        pivot_rows = rest[:, start:stop].copy()
        rest[:, start:stop] = 0
        rank_update(rest, pivot_rows, panel.astype(np.int32), p)
    return np.ascontiguousarray(system[n:].T)


def inverse(a: Integers, p: int) -> Residues:
    """Return the inverse of the square matrix ``a`` modulo the prime ``p``; see ``solve``.

    Examples
    --------
    >>> inverse(np.array([[1, 2], [3, 4]]), 7)
    array([[5, 1],
           [5, 3]], dtype=int32)
    """
    return solve(a, np.eye(a.shape[0], dtype=np.int32), p)


@compiled
def _eliminate(panel: Centred, start: int, p: int) -> npt.NDArray[np.int64]:
    """Eliminate some unknowns from all equations, in place (Gauss-Jordan); return the pivots, -1 where there is none.

    ``panel[s, i]`` is the coefficient of unknown ``start + s`` in equation ``i``.
    Afterwards it is the multiple of equation ``start + s`` that enters the new
    equation ``i``, once equations ``start + s`` and ``pivots[s]`` have changed places.
    """
    width, n = panel.shape
    pivots = np.full(width, -1)
    inverse = np.empty(1)
    for s in range(width):
        target = start + s
        pivot = target
        while pivot < n and panel[s, pivot] == 0:
            pivot += 1
        if pivot == n:
            break
        pivots[s] = pivot
        for c in range(width):
            panel[c, target], panel[c, pivot] = panel[c, pivot], panel[c, target]
        powers(panel[s, target : target + 1], p - 2, p, inverse)
        for c in range(width):
            multiple = reduced(panel[c, target] * inverse[0], float(p), 1.0 / p)
            if c != s and multiple != 0:
                add_multiple(panel[c], -multiple, panel[s], p)
                panel[c, target] = multiple
        add_multiple(panel[s], -inverse[0] - 1, panel[s], p)  # times -inverse
        panel[s, target] = inverse[0]
    return pivots
