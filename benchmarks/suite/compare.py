"""What the results say when put side by side: the default engine, crossovers to a recompute, gaps to the best peer.

All of it is computed from the records that a run has written.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.suite import systems
from dyntc_spark.engines import registry

Record = dict[str, Any]
WITHIN = 1.5  #: the default engine is to take at most this times the cheapest engine
NOISE = 1.2  #: less is no difference between two runs
BEFORE = "refresh"  #: the default engine of release 0.1
#: A search that stores nothing is a bound, not a system.
NO_STORE = "search"


def medians(results: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    """Return the seconds of every phase that was done and right: by workload, phase, system."""
    return {(r["workload"], r["phase"], r["system"]): r["median"] for r in results["cells"] if r["status"] == "ok"}


@dataclass(frozen=True)
class Choice:
    """How the default engine compares with the cheapest of the others."""

    workload: str
    phase: str
    backend: str
    best: str
    best_seconds: float
    seconds: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.best_seconds


def choices(results: dict[str, Any]) -> list[Choice]:
    """Compare the default engine with every other one on the same backend, phase by phase, worst first."""
    seconds, found = medians(results), []
    for (workload, phase, system), value in seconds.items():
        if system.partition("@")[0] != registry.ALIASES["auto"]:
            continue
        rivals = {
            name: seconds[workload, phase, name]
            for name in (systems.FAR if "@" in system else systems.NEAR)
            if name != system and (workload, phase, name) in seconds
        }
        if rivals:
            best = min(rivals, key=rivals.__getitem__)
            found.append(Choice(workload, phase, "Spark" if "@" in system else "in process", best, rivals[best], value))
    return sorted(found, key=lambda choice: -choice.ratio)


def machine(results: dict[str, Any], before: dict[str, Any]) -> float:
    """Return how long the machine takes beside that of an earlier run: the median of a search that has not changed."""
    now, then = medians(results), medians(before)
    ratios = [value / then[key] for key, value in now.items() if key[2] == NO_STORE and key in then]
    return statistics.median(ratios) if ratios else 1.0


def slower(results: dict[str, Any], before: dict[str, Any], speed: float) -> list[Choice]:
    """Compare the default engine with the default of an earlier run; return what is slower now, worst first.

    The seconds of the earlier run are multiplied by ``speed``: that of today's `machine`.
    """
    now, then, found = medians(results), medians(before), []
    default = registry.ALIASES["auto"]
    for (workload, phase, system), value in now.items():
        engine, _, backend = system.partition("@")
        names = [name if not backend else f"{name}@{backend}" for name in (default, BEFORE)]
        old = next((then[workload, phase, name] for name in names if (workload, phase, name) in then), None)
        if engine == default and old is not None and value > NOISE * speed * old:
            found.append(Choice(workload, phase, "Spark" if backend else "in process", BEFORE, speed * old, value))
    return sorted(found, key=lambda choice: -choice.ratio)


@dataclass(frozen=True)
class Crossover:
    """From which size of batches on a recompute from scratch is cheaper than a system that follows changes."""

    workload: str
    script: str
    system: str
    size: float | None  #: None: at no size that was measured
    recompute: str  #: the cheapest system that starts from scratch
    recompute_seconds: float
    smallest: int  #: batches that were measured
    largest: int


def crossovers(results: dict[str, Any]) -> list[Crossover]:
    """Return the crossover of every system that follows changes, by interpolation between sizes on logarithms."""
    seconds = medians(results)
    found = []
    for workload, about in results["workloads"].items():
        floors = {
            name: value
            for (where, phase, name), value in seconds.items()
            if where == workload and phase == "init" and _starts_again(name) and name != NO_STORE
        }
        if not floors:
            continue
        best = min(floors, key=floors.__getitem__)
        for script in dict.fromkeys(name.partition("/")[0] for name in about["groups"]):
            sizes = [int(name.partition("/")[2]) for name in about["groups"] if name.startswith(f"{script}/")]
            if len(sizes) < 2:
                continue
            for system in systems.ALL:
                curve = [
                    (s, seconds[workload, f"{script}/{s}", system])
                    for s in sizes
                    if (workload, f"{script}/{s}", system) in seconds
                ]
                if not _starts_again(system) and len(curve) > 1:
                    at = _crossing(curve, floors[best])
                    found.append(Crossover(workload, script, system, at, best, floors[best], curve[0][0], curve[-1][0]))
    return found


def _starts_again(name: str) -> bool:
    engine = name.partition("@")[0]
    return engine == "recompute" if systems.is_ours(name) else name != "Pathway"


def _crossing(curve: list[tuple[int, float]], floor: float) -> float | None:
    """Return the size at which a curve reaches a floor; its first size if it begins above, None if it never does."""
    if curve[0][1] >= floor:
        return float(curve[0][0])
    for (size, low), (next_size, high) in pairwise(curve):
        if high >= floor:
            part = math.log(floor / low) / math.log(high / low)
            return float(size * (next_size / size) ** part)
    return None


@dataclass(frozen=True)
class Gap:
    """How far our best is behind the best peer (above 1) or before it."""

    workload: str
    phase: str
    ours: str
    our_seconds: float
    peer: str
    peer_seconds: float

    @property
    def ratio(self) -> float:
        return self.our_seconds / self.peer_seconds


def gaps(results: dict[str, Any]) -> list[Gap]:
    """Compare our best with the best peer in every phase, the worst for us first."""
    return sorted(_gaps(medians(results)), key=lambda gap: -gap.ratio)


def _gaps(seconds: dict[tuple[str, str, str], float]) -> Iterator[Gap]:
    for workload, phase in dict.fromkeys((workload, phase) for workload, phase, _ in seconds):
        here = {name: value for (where, what, name), value in seconds.items() if (where, what) == (workload, phase)}
        mine = {name: value for name, value in here.items() if systems.is_ours(name)}
        theirs = {name: value for name, value in here.items() if not systems.is_ours(name)}
        if mine and theirs:
            best, peer = min(mine, key=mine.__getitem__), min(theirs, key=theirs.__getitem__)
            yield Gap(workload, phase, best, mine[best], peer, theirs[peer])
