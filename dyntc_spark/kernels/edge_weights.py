"""A random weight for each edge, modulo each prime, without storing any.

The weight of the edge ``(x, y)`` modulo the prime number ``k`` is a hash of ``x``, ``y``, ``k``
and a secret key, mixed twice by the finaliser of splitmix64 (Steele, Lea and Flood 2014), and is
never 0. So every task on a cluster finds the same weight, and an edge that is deleted had the
weight that is computed again. A *salt* of the source changes the weights of all edges that leave it.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Offsets, Words

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11, _S32 = (np.uint64(shift) for shift in (30, 27, 31, 11, 32))
_ONE = np.uint64(1)


def edge_weights(sources: Offsets, targets: Offsets, salts: Words, key: int, primes: tuple[int, ...]) -> Ints:
    """Return ``weights[plane, edge]`` from 1 to ``p - 1``; ``salts`` has one for each edge.

    Examples
    --------
    >>> edge_weights(np.array([0, 1]), np.array([1, 0]), np.zeros(2, np.uint64), key=7, primes=(2, 3)).min()
    np.int32(1)
    """
    moduli = np.array(primes, np.uint64)
    return _weights(sources, targets, salts, np.uint64(key), moduli)


@compiled
def _mixed(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    mixed: np.uint64 = word ^ (word >> _S31)
    return mixed


@compiled
def _weights(sources: Offsets, targets: Offsets, salts: Words, key: np.uint64, primes: Words) -> Ints:
    weights = np.empty((len(primes), len(sources)), np.int32)
    for e in range(len(sources)):
        edge = (np.uint64(sources[e]) << _S32) | np.uint64(targets[e])
        word = _mixed(_mixed(edge + key) ^ (salts[e] * _STEP + key))
        for plane in range(len(primes)):
            word = _mixed(word + _STEP)
            weights[plane, e] = np.int32((word >> _S11) % (primes[plane] - _ONE) + _ONE)
    return weights
