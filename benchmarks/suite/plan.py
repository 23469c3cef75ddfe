"""Which systems meet on which workloads: quick (below five minutes in all), full (for the tables), tiny (for tests)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.suite import ours, systems, workloads
from benchmarks.suite.workloads import Workload

MIXED = ("mixed",)
EVERY = tuple(workloads.SCRIPTS)
LIBRARIES = ("DuckDB", "igraph", "networkx", "GraphBLAS", "roaring rows", "scipy", "search")
ROWS = tuple(f"{name}@spark" for name in ours.ROWS)  # engines with sparse rows, whatever n is
FEW = ("DuckDB", "igraph", "roaring rows", "search")
Repeats = Mapping[int, int]


@dataclass(frozen=True)
class Entry:
    """A workload and the systems that meet on it."""

    name: str
    make: Callable[[], Workload]
    systems: tuple[str, ...]
    limit: float | None = None  #: seconds that a cell may take; by default the plan's


@dataclass(frozen=True)
class Plan:
    """What a run does."""

    entries: tuple[Entry, ...]
    limit: float  #: seconds that a cell may take
    slow: float  #: seconds from which a phase is not repeated
    most_vertices: int = 1_100  #: for engines that are there to study the paper
    growth: tuple[int, ...] = ()  #: sizes of graphs to which growth is fitted
    profile: int = 0  #: vertices of the graph that Spark's share is measured on
    scaling: bool = False  #: whether that is measured on one core, too


def _debian(name: str, repeats: Repeats, copies: int = 1, part: int | None = None) -> Workload:
    graph, real = workloads.debian(copies, part)
    return workloads.made(name, graph, repeats, MIXED, real=real)


def _entry(
    name: str, graph: Callable[[], workloads.Graph], repeats: Repeats, scripts: tuple[str, ...], who: tuple[str, ...]
) -> Entry:
    return Entry(name, lambda: workloads.made(name, graph(), repeats, scripts), who)


def _recent(n: int, peers: tuple[str, ...]) -> Entry:
    """Return long rows, and edges that came a moment ago and go again: where ``centres`` may be the fastest."""
    who = (*ours.ROWS, "centres", "algebraic", *peers)
    return _entry("recent", lambda: workloads.long_rows(n), {1: 9, 10: 7, 100: 5}, (workloads.RECENT,), who)


def tiny() -> Plan:
    """Return a plan of seconds, without Spark."""
    repeats = {1: 2, 10: 2}
    who = ("recompute", "lanes", "path_counting", "scipy", "search")
    return Plan(
        (
            _entry("lineage", lambda: workloads.lineage(128), repeats, MIXED, who),
            _entry("random-2.0", lambda: workloads.random_digraph(60, 2.0), repeats, MIXED, who),
        ),
        limit=60,
        slow=1,
    )


def quick() -> Plan:
    """Return the plan that takes minutes."""
    repeats = {1: 7, 10: 5, 100: 3, 1_000: 3, 10_000: 3}
    near, light, few = systems.NEAR, ("Pathway", *LIBRARIES), FEW
    return Plan(
        (
            Entry(
                "debian-part",
                lambda: _debian("debian-part", repeats, part=3_000),
                (*near, "lanes@spark", "algebraic@spark", *LIBRARIES),
            ),
            Entry("debian", lambda: _debian("debian", repeats), (*ours.ROWS, *few)),
            *(
                _entry(
                    f"random-{degree}",
                    lambda degree=degree: workloads.random_digraph(1_000, degree),
                    repeats,
                    MIXED,
                    (*near, *peers),
                )
                for degree, peers in ((0.5, few), (1.0, light), (2.0, few))
            ),
            _entry("lineage", lambda: workloads.lineage(2_048), repeats, EVERY, (*near, *few)),
            _entry(
                "lineage-small",
                lambda: workloads.lineage(256, 8),
                {1: 3, 10: 3},
                MIXED,
                (*near, "joins", "recursive query"),
            ),
            _entry(
                "groups",
                lambda: workloads.groups(4_000),
                repeats,
                ("delete-heavy",),
                (*near, *few),
            ),
            _entry("dense", lambda: workloads.dense(256), repeats, MIXED, (*near, *LIBRARIES)),
            _recent(512, few),
        ),
        limit=10,
        slow=0.5,
        most_vertices=200,
        growth=(256, 512, 1_024),
        profile=6_000,
    )


def full() -> Plan:
    """Return the plan for the tables: about an hour."""
    repeats = {1: 9, 10: 7, 100: 5, 1_000: 5, 10_000: 3}
    near, few = systems.NEAR, FEW
    sparse = (*ours.ROWS, "algebraic")  # engines whose state is not n x n
    every = (*near, *systems.FAR, *systems.SPARK_PEERS, "Pathway", *LIBRARIES)
    return Plan(
        (
            Entry(
                "debian",
                lambda: _debian("debian", repeats),
                (*sparse, *ROWS, "algebraic@spark", *systems.SPARK_PEERS, "Pathway", *LIBRARIES),
            ),
            Entry("debian-x10", lambda: _debian("debian-x10", repeats, 10), (*ours.ROWS, *ROWS, *few), limit=150),
            *(
                _entry(
                    f"random-{degree}",
                    lambda degree=degree: workloads.random_digraph(4_000, degree),
                    repeats,
                    MIXED,
                    (*near, *LIBRARIES),
                )
                for degree in (0.5, 1.0, 2.0)
            ),
            *(
                _entry(
                    f"random-1.0-n{n}",
                    lambda n=n: workloads.random_digraph(n, 1.0),
                    repeats,
                    MIXED,
                    (*sparse, *few),
                )
                for n in (16_000, 64_000)
            ),
            _entry("lineage", lambda: workloads.lineage(8_192), repeats, EVERY, (*near, *ROWS, *few)),
            _entry("lineage-small", lambda: workloads.lineage(256, 8), {1: 5, 10: 5, 100: 3}, MIXED, every),
            _entry("groups", lambda: workloads.groups(40_000), repeats, EVERY, (*sparse, *ROWS, *few)),
            _entry("dense", lambda: workloads.dense(1_024), repeats, MIXED, (*near, "path_counting@spark", *LIBRARIES)),
            _recent(2_048, few),
            Entry(
                "debian-x100",
                lambda: _debian("debian-x100", {1: 3, 100: 3}, 100),
                ("lanes", "search"),
                limit=400,
            ),
        ),
        limit=60,
        slow=3,
        growth=(512, 1_024, 2_048, 4_096),
        profile=64_000,
        scaling=True,
    )


PLANS = {"tiny": tiny, "quick": quick, "full": full}
