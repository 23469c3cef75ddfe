"""What a closure does when Spark loses blocks of its state: build it again from the edges, and ask again.

Blocks on Spark are in the storage of its executors, and one that is gone takes its blocks with
it. The edges are in this process. So a loss costs a rebuild, which the log and `stats` tell
about, and is no error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from dyntc_spark.errors import LostBlocksError

#: The most losses during one operation that are repaired.
MOST_LOSSES = 3

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


def retry_after_loss(act: Callable[[], _Answer], mend: Callable[[], None]) -> _Answer:
    """Do something again after blocks were lost; ``mend`` repairs the loss, and blocks may be lost during that, too."""

    def mended() -> _Answer:
        mend()
        return act()

    attempt = act
    for _ in range(MOST_LOSSES):
        try:
            return attempt()
        except LostBlocksError as error:  # noqa: PERF203  (a job costs more)
            _log.warning("The closure is built again from its edges: %s", error.came)
            attempt = mended
    return attempt()
