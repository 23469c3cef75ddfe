"""The digest of a closure: how many pairs it has, and a sum over them that no order changes.

Let P = 2^31 - 1. The digest of a set of pairs C is (|C|, Σ_{(u,v) ∈ C} h(u,v)) with
h(u,v) = (a·u + b·v mod P)³ mod P. All of it fits 64 bits, so that every system computes it where its closure is: in
numpy, in SQL, in a dataflow. Two closures of one size that differ have the same sum with a chance of about 1/P.
Pairs (v, v) are left out: some systems hold them always, some only on cycles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PRIME = 2**31 - 1
A, B = 1_103_515_245, 362_436_069  # below P, without a common meaning
_MIXED = f"((src * {A} + dst * {B}) % {PRIME})"
#: h(u,v) over the columns ``src`` and ``dst``, for SQL.
SQL = f"({_MIXED} * {_MIXED} % {PRIME}) * {_MIXED} % {PRIME}"
#: The digest over such columns, for SQL.
SQL_DIGEST = ("count(*) AS pairs", f"coalesce(sum({SQL}), 0) AS total")


@dataclass(frozen=True)
class Digest:
    """What stands for a closure when answers are compared."""

    pairs: int
    total: int

    @classmethod
    def of(cls, parts: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]) -> Digest:
        """Digest pairs that come in parts; no pair may come twice."""
        pairs = total = 0
        for sources, targets in parts:
            u, v = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
            u, v = u[u != v], v[u != v]
            mixed = (u * A + v * B) % PRIME
            pairs += len(u)
            total += int((mixed * mixed % PRIME * mixed % PRIME).sum())
        return cls(pairs, total)
