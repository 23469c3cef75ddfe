"""The inverse of a large square matrix modulo primes, by block elimination: one superstep a block of pivots.

Gauss and Jordan in place. Let ``K`` be the next rows and columns to eliminate, ``C = A[:,K]``,
``R = A[K,:]``, and ``P = A[K,K]⁻¹``. The step that eliminates them all is an update of rank ``|K|``,

    A ← A - (C - E)·P·(R + Eᵀ),        E the unit matrix in the rows K,

for it makes ``A[K,K]`` into ``P``, the rest of the rows ``K`` into ``P·R``, the rest of the columns into
``-C·P``, and takes ``C·P·R`` from everything else. After the last one ``A`` is its own inverse:
``2n³`` products, all in the blocks, ``n²·|K|`` at the driver. The matrix lies in stripes of rows. The job
of a step updates every stripe and brings the next ``C`` and ``R`` to the driver, which inverts ``A[K,K]``.

Pivots are not searched for across blocks. For ``I - W`` with random weights that is no loss:
every leading minor is a polynomial in the weights with the constant term 1.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.blocks.grid import Axis, Grid
from dyntc_spark.blocks.operations import Gather, RankUpdate
from dyntc_spark.blocks.rings import Ring
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.blocks.where import Lines
from dyntc_spark.engines.algebraic.woodbury import with_identity
from dyntc_spark.kernels import codec, modular, modular_solve, sparse
from dyntc_spark.kernels.block import Block, Dense, Ints, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines

HEIGHT = 256  #: rows of a stripe, and pivots that are eliminated at a time
_NAME = "matrix"


def inverted(matrix: Sparse, ring: Ring, backend: Backend, height: int = HEIGHT) -> State:
    """Return a state whose one matrix is the inverse of a square one, in stripes of rows: on Spark a job a stripe.

    Raises ``SingularMatrixError`` when a block of pivots has no inverse modulo one of the primes.

    Examples
    --------
    >>> from dyntc_spark.blocks.local import LocalBackend
    >>> from dyntc_spark.blocks.rings import Modular
    >>> ring = Modular((7,))
    >>> matrix = sparse.from_coordinates([0, 0, 1, 1], [0, 1, 0, 1], [[1, 2, 3, 4]], (2, 2), ring.modulus)
    >>> inverted(matrix, ring, LocalBackend(), height=1).entries("matrix").values
    array([[5, 1, 5, 3]])
    """
    n = matrix.shape[0]
    kind = Kind(Grid(Axis(n, height), Axis(n, max(n, 1))), ring)
    state = backend.from_entries((matrix.rows, matrix.columns, matrix.values), kind, _NAME)
    if not n:
        return state
    columns, rows = state.run(*_next(kind, 0))[1]
    for first in range(0, n, height):
        update = _step(columns, rows, first, kind)
        following = _next(kind, first + height) if first + height < n else ()
        state, (_, *lines) = state.run(update, *following)
        if lines:
            columns, rows = lines
    return state


def _next(kind: Kind, first: int) -> tuple[Gather, Gather]:
    """Ask for the columns and the rows of the pivots from ``first`` on."""
    pivots = np.arange(first, min(first + kind.grid.down.step, kind.grid.shape[0]))
    columns, rows = (Gather(_NAME, kind.ring, Lines(kind.grid, pivots, upright)) for upright in (True, False))
    return columns, rows


def _step(columns: Strip, rows: Strip, first: int, kind: Kind) -> RankUpdate:
    """Return the update that eliminates these pivots."""
    c, r = _array(columns), _array(rows)
    pivots = slice(first, first + c.shape[2])
    own = np.arange(c.shape[2])
    for plane, p in enumerate(kind.ring.modulus or ()):
        inverse = modular_solve.inverse(c[plane, pivots], p)
        c[plane, first + own, own] = (c[plane, first + own, own] - 1) % p
        c[plane] = modular.product(c[plane], inverse, p)
        r[plane, own, first + own] = (r[plane, own, first + own] + 1) % p
    down, across = kind.grid.down, kind.grid.across
    upright = {
        block: piece
        for block in range(down.blocks)
        if (piece := codec.compact(Dense(c[:, block * down.step : (block + 1) * down.step])))
    }
    lying = {0: piece} if (piece := codec.compact(Dense(r))) else {}
    return RankUpdate(
        _NAME,
        Strip(kind.ring, down, c.shape[2], True, upright),
        Strip(kind.ring, across, c.shape[2], False, lying),
        sign=-1,
    )


def _array(strip: Strip) -> Ints:
    """The strip as residues of 32 bits: ``[plane, row, column]``."""
    shape = (strip.axis.length, strip.count) if strip.upright else (strip.count, strip.axis.length)
    out = np.zeros((strip.ring.planes, *shape), np.int32)
    for block, piece in strip.slices.items():
        run = slice(block * strip.axis.step, (block + 1) * strip.axis.step)
        out[(slice(None), run) if strip.upright else (slice(None), slice(None), run)] = _dense(piece)
    return out


def _dense(piece: Block | None) -> Ints:
    assert piece is not None  # noqa: S101  (a strip at the driver has its slices)
    found = codec.densify(piece)
    assert isinstance(found, Dense)  # noqa: S101  (of a ring of residues)
    return found.values


def through(weights: Sparse, ids: Indices, rows: Sparse, ring: Ring, backend: Backend, height: int = HEIGHT) -> Sparse:
    """Return the lines ``X = ((I - W)⁻¹ - I)·V`` of a component: what its own edges add to its rows.

    Parameters
    ----------
    weights
        ``W``, between the vertices of the component in the order of ``ids``, which ascend.
    rows
        ``V``: the rows of ``M`` of these vertices without the component's own edges, so that each has a 1 at its
        own vertex and nothing at the others.
    """
    count, modulus = len(ids), ring.modulus
    unit = with_identity(sparse_lines.nothing(count, count, ring.planes, modulus), np.arange(count), ring)
    state = inverted(sparse.add(unit, weights, modulus, sign=-1), ring, backend, height)
    inner = sparse.add(_lines(state, _NAME), unit, modulus, sign=-1)
    inner = Sparse((count, rows.shape[1]), inner.rows, ids[inner.columns].astype(np.int32), inner.values)
    outside = ~np.isin(rows.columns, ids)
    if not outside.any():
        return inner
    far, places = np.unique(rows.columns[outside], return_inverse=True)
    beyond = Sparse((count, len(far)), rows.rows[outside], places.astype(np.int32), rows.values[:, outside])
    kind = Kind(Grid(state.kinds[_NAME].grid.across, Axis(len(far), height)), ring)
    right = backend.from_entries((beyond.rows, beyond.columns, beyond.values), kind, "right")
    product = _lines(state.join(right).multiply(_NAME, "right", "product", keep=False), "product")
    more = sparse.add(product, beyond, modulus, sign=-1)  # (G - I)·V
    return sparse.add(inner, Sparse(inner.shape, more.rows, far[more.columns], more.values), modulus)


def _lines(state: State, name: str) -> Sparse:
    """A matrix in stripes, at the driver."""
    rows, columns, values = (side.astype(np.int32) for side in state.entries(name))
    return Sparse(state.kinds[name].grid.shape, rows, columns, values)
