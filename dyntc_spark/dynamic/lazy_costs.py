"""When a lazy matrix is rebuilt: the ε of section 4.2 from what reading and rebuilding were seen to cost."""

from __future__ import annotations

import math


class Costs:
    """Measured costs, and the ε that follows from them.

    A read that passes buffers of rank ``t`` costs ``c·t``, a rebuild ``R``. A period
    of ``r`` updates costs ``c·r²/2 + R``, which is least an update for
    ``r = sqrt(2·R/c)``: then reading and rebuilding cost the same.
    """

    def __init__(self) -> None:
        self.work = 0
        self.rebuilds = 0
        self.rebuilding = 0.0
        self._reading, self._ranks = 0.0, 0
        self._balance: float | None = None

    def note_reading(self, seconds: float, rank: int) -> None:
        """Note a read and the rank of the buffers that it passed."""
        self._reading += seconds
        self._ranks += rank

    def close_period(self) -> None:
        """Take the costs of the period that a rebuild ends into account."""
        if self._ranks:
            self._balance = math.sqrt(2 * self.rebuilding * self._ranks / max(self._reading, 1e-9))
        self.rebuilds += 1
        self.rebuilding, self._reading, self._ranks = 0.0, 0.0, 0

    def balance(self, n: int) -> int | None:
        """The rank at which a rebuild is due, between ``n^0.25`` and ``n``; None before one was measured."""
        return None if self._balance is None else int(min(max(self._balance, n**0.25, 2), n))
