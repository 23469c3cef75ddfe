"""The machine's limits, and how near we come: memory bandwidth, BLAS, a Spark job that does nothing.

A closure of P pairs is at least 4 P bytes that are written once; an Init below that time is not possible. A
state on Spark costs at least one job. The gap is how many times that we take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.suite import compare

COPIED = 1 << 28  # bytes
ORDER = 1_024
PAIR_BYTES = 4


def measured() -> dict[str, float]:
    """Measure bytes a second of a copy (read and written count once) and floating-point operations a second of BLAS."""
    source = np.ones(COPIED // 8)
    target = np.empty_like(source)
    copy = _best(lambda: np.copyto(target, source))
    square = np.random.default_rng(0).random((ORDER, ORDER))
    product = _best(lambda: square @ square)
    return {"bytes a second": COPIED / copy, "operations a second": 2 * ORDER**3 / product}


@dataclass(frozen=True)
class Gap:
    """What is taken, against what the machine would need at least."""

    what: str
    limit: str
    seconds: float
    least: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.least


def gaps(results: dict[str, Any]) -> list[Gap]:
    """Return the distance to the machine's limits, the largest first."""
    return sorted(_gaps(results), key=lambda gap: -gap.ratio)


def _gaps(results: dict[str, Any]) -> Iterator[Gap]:
    seconds, rate = compare.medians(results), results["limits"]["bytes a second"]
    for workload, facts in results["workloads"].items():
        for system in ("recompute", "lanes"):
            taken = seconds.get((workload, "init", system))
            if taken and facts["largest_component"] * 10 < facts["vertices"] and facts["pairs"] > 10**5:
                least = PAIR_BYTES * facts["pairs"] / rate
                yield Gap(f"{workload}: Init of {system}", "memory bandwidth, 4 bytes a pair", taken, least)
    for found in (results.get("profile") or {}).values():
        job = found["machine"]["empty job"]
        for op in found["operations"]:
            if op["jobs"]:
                what = f"{op['engine']} on Spark, {op['what']}, {op['jobs']:.0f} jobs"
                yield Gap(what, "jobs that do nothing", op["seconds"], job * op["jobs"])


def _best(action: Callable[[], object]) -> float:
    found = []
    for _ in range(7):
        started = time.perf_counter()
        action()
        found.append(time.perf_counter() - started)
    return min(found)
