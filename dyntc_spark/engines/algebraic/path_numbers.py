"""Numbers of paths out of their residues (the Chinese remainder theorem), and how large they can be.

A number below the product of the primes is known by its residues. How many paths
can lead from ``x`` to anywhere is bounded by the number of paths that start in
``x``, which is kept in floating point: its relative error is far below ``ROUNDING``,
since only positive numbers are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.kernels.block import Ints

ROUNDING = 1 + 2.0**-20
#: The largest integers that Spark has.
COUNT = pa.decimal128(38, 0)


class PathCounts(NamedTuple):
    """Numbers of paths; where ``exact`` is false, there are at least that many."""

    counts: list[int]
    exact: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, residues: Ints, primes: Sequence[int], totals: npt.NDArray[np.float64]) -> PathCounts:
        """Read numbers off ``residues[prime, q]``; no more than ``totals[q]`` paths can be meant.

        Examples
        --------
        >>> PathCounts.of(np.array([[2, 1], [0, 1]]), (3, 5), np.array([9.0, 99.0]))
        PathCounts(counts=[5, 1], exact=array([ True, False]))
        """
        product = math.prod(primes)
        factors = np.array([product // p * pow(product // p, -1, p) for p in primes], object)  # Python's integers
        counts = (factors @ residues.astype(object) % product).tolist() if residues.size else []
        return cls(counts, totals * ROUNDING < float(min(product, 2**1000)))

    def known(self) -> pa.Array:
        """Return the numbers as Spark's largest integers, null where they are not exact or have more digits."""
        counts = zip(self.counts, self.exact.tolist(), strict=True)
        return pa.array([count if exact and count < 10**38 else None for count, exact in counts], COUNT)


@dataclass(frozen=True)
class Counter:
    """Reads the numbers of paths off the rows of a matrix; it travels to the tasks that have these."""

    primes: tuple[int, ...]
    totals: npt.NDArray[np.float64]  #: paths that start in each vertex

    def __call__(self, vertices: npt.NDArray[np.int32], residues: Ints) -> pa.Array:
        """Return how many paths lead from each of ``vertices`` to where ``residues`` were found; null: not known."""
        return PathCounts.of(residues, self.primes, self.totals[vertices]).known()


def bits_of(totals: npt.NDArray[np.float64], vertices: int) -> float:
    """Bits of the largest number of paths that there can be: by the totals, and ``2^n`` at most."""
    largest = float(totals.max(initial=1.0)) * ROUNDING
    return min(float(vertices), math.log2(largest)) if math.isfinite(largest) else float(vertices)
