"""Inverses of ``I - W`` on the components of a digraph, modulo primes.

The vertices stand in a topological order of the components, each of which takes a run of places
(see ``kernels.sweep``). A component without a cycle is one vertex whose inverse is 1, and has no
block. Small blocks are inverted one after the other in one compiled call, large ones by
``modular_solve.inverse`` on BLAS.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.errors import SingularMatrixError
from dyntc_spark.kernels import modular_solve
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Offsets

SMALL = 48  #: up to so many rows, plain elimination beats calls of BLAS


def component_inverses(
    offsets: Offsets, targets: Ids, weights: Ints, firsts: Ids, lasts: Ids, primes: tuple[int, ...]
) -> tuple[Offsets, Ints]:
    """Return where the block of each place's component begins (-1: there is none), and all blocks, ``[entry, plane]``.

    Raises ``SingularMatrixError`` when a component's ``I - W`` has no inverse modulo one of the primes.
    """
    blocks, total = _blocks(offsets, targets, firsts, lasts)
    inverses = np.zeros((total, len(primes)), np.int32)
    _subtracted(offsets, targets, weights, firsts, lasts, blocks, np.array(primes, np.int64), inverses)
    starts = np.flatnonzero((blocks >= 0) & (firsts == np.arange(len(firsts))))
    sizes = (lasts - firsts)[starts].astype(np.int64)
    at, small = blocks[starts], sizes <= SMALL
    for plane, p in enumerate(primes):
        if not _invert_each(inverses[:, plane], at[small], sizes[small], p):
            raise SingularMatrixError(f"components that are invertible modulo {p}", "one that is not", "Draw weights.")
        for begin, size in zip(at[~small].tolist(), sizes[~small].tolist(), strict=True):
            square = inverses[begin : begin + size**2, plane].reshape(size, size)
            inverses[begin : begin + size**2, plane] = modular_solve.inverse(square, p).reshape(-1)
    return blocks, inverses


@compiled
def _blocks(offsets: Offsets, targets: Ids, firsts: Ids, lasts: Ids) -> tuple[Offsets, int]:
    """Return where the blocks begin: components of several vertices, and vertices with an edge to themselves."""
    blocks, total = np.full(len(firsts), -1, np.int64), 0
    v = 0
    while v < len(firsts):
        size = np.int64(lasts[v] - firsts[v])
        loop = False
        if size == 1:
            for e in range(offsets[v], offsets[v + 1]):
                loop = loop or targets[e] == v
        if size > 1 or loop:
            blocks[v : v + size] = total
            total += size * size
        v += size
    return blocks, total


@compiled
def _subtracted(
    offsets: Offsets, targets: Ids, weights: Ints, firsts: Ids, lasts: Ids, blocks: Offsets, primes: Offsets, out: Ints
) -> None:
    """Write ``I - W`` of every component."""
    for v in range(len(firsts)):
        if blocks[v] < 0:
            continue
        first, size = np.int64(firsts[v]), np.int64(lasts[v] - firsts[v])
        row = blocks[v] + (v - first) * size
        for plane in range(len(primes)):
            out[row + v - first, plane] = 1
        for e in range(offsets[v], offsets[v + 1]):
            w = targets[e]
            if first <= w < lasts[v]:
                for plane in range(len(primes)):
                    place = row + w - first
                    out[place, plane] = (np.int64(out[place, plane]) - weights[e, plane]) % primes[plane]


@compiled
def _invert_each(flat: Ints, begins: Offsets, sizes: Offsets, p: int) -> bool:
    """Replace each block by its inverse; False if one has none."""
    for k in range(len(begins)):
        size, begin = sizes[k], begins[k]
        both = np.zeros((size, 2 * size), np.int64)  # the block, and the unit matrix beside it
        for i in range(size):
            for j in range(size):
                both[i, j] = flat[begin + i * size + j]
            both[i, size + i] = 1
        if not _eliminate(both, p):
            return False
        for i in range(size):
            for j in range(size):
                flat[begin + i * size + j] = both[i, size + j]
    return True


@compiled
def _eliminate(both: Offsets, p: int) -> bool:
    """Make the left half the unit matrix, by Gauss and Jordan; False if that cannot be."""
    size = len(both)
    for c in range(size):
        pivot = c
        while pivot < size and both[pivot, c] == 0:
            pivot += 1
        if pivot == size:
            return False
        for j in range(2 * size):
            both[c, j], both[pivot, j] = both[pivot, j], both[c, j]
        scale = _inverse(both[c, c], p)
        for j in range(2 * size):
            both[c, j] = both[c, j] * scale % p
        for i in range(size):
            factor = p - both[i, c]
            if i != c and factor != p:
                for j in range(2 * size):
                    both[i, j] = (both[i, j] + factor * both[c, j]) % p
    return True


@compiled
def _inverse(x: int, p: int) -> int:
    """Return ``x ** (p - 2)``."""
    result, exponent = 1, p - 2
    while exponent:
        if exponent & 1:
            result = result * x % p
        x = x * x % p
        exponent >>= 1
    return result
