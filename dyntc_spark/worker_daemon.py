"""The process that Spark forks its Python workers from, with what tasks import loaded already.

A worker that imports numba and pyarrow by itself takes seconds of a core before its first row, and Spark ends workers
that nobody needs for a minute. The setting ``spark.python.daemon.module`` names this module.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress

#: What Spark calls the workers that run functions; others analyse plans, and need nothing of this.
WORKERS = "pyspark.worker"


def load() -> None:
    """Import what tasks of every engine import, and let numba load what all kernels share."""
    for name in (WORKERS, "pandas", "pyarrow.compute", "dyntc_spark.engines.registry"):
        with suppress(ImportError):  # a task that needs it says so, in Spark's words
            importlib.import_module(name)
    target = importlib.import_module("numba.core.registry").cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()


if __name__ == "__main__":
    if sys.argv[1:2] == [WORKERS]:
        load()
    importlib.import_module("pyspark.daemon").manager()
