"""When a lazy matrix is rebuilt: the ε of section 4.2 from what reading and rebuilding were seen to cost."""

from __future__ import annotations

import math


class Costs:
    """Measured costs, and the ε that follows from them.

    A read that passes buffers of rank ``t`` costs a share of ``t``, so that all reads of a period that ends at rank
    ``r`` cost ``a·r²``, whatever the ranks of its updates; a rebuild costs ``R``. A period then costs ``a·r + R/r`` a
    rank, which is least for ``r = sqrt(R/a)``: reading and rebuilding cost the same.
    """

    def __init__(self) -> None:
        self.work = 0
        self.rebuilds = 0
        self.rebuilding = 0.0
        self._reading = 0.0
        self._balance: float | None = None

    def note_reading(self, seconds: float) -> None:
        """Note a read that passed the buffers."""
        self._reading += seconds

    def close_period(self, rank: int) -> None:
        """Take the costs of the period that a rebuild of buffers of this rank ends into account."""
        if self._reading:
            self._balance = rank * math.sqrt(self.rebuilding / max(self._reading, 1e-9))
        self.rebuilds += 1
        self.rebuilding, self._reading = 0.0, 0.0

    def balance(self, n: int) -> int | None:
        """The rank at which a rebuild is due, between ``n^0.25`` and ``n``; None before one was measured."""
        return None if self._balance is None else int(min(max(self._balance, n**0.25, 2), n))
