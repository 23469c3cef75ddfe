"""``dyntc warm-up``."""

from __future__ import annotations

from argparse import Namespace

from numba.core import event

from dyntc_spark import session
from dyntc_spark import warm_up as work


def warm_up(options: Namespace) -> int:
    """Compile ahead, and say how much there was to compile."""
    with event.install_recorder("numba:compile") as seen:
        work.warm_up(session.local() if options.spark else None)
    kernels = sum(found.is_end for _, found in seen.buffer)
    print(f"{kernels} functions compiled" if kernels else "nothing to compile: all of it is in the cache")
    return 0
