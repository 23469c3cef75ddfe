"""The suite: workloads by systems in one run, every answer checked before its time counts.

``dyntc bench`` (``python3 run.py bench suite`` in a fresh checkout) runs it; ``docs/explanation/benchmarks.md`` says
what is measured and how, and shows the tables and pictures of a run.
"""

from __future__ import annotations


def run(*, quick: bool = False) -> bool:
    """Run the suite and write its results; whether no answer was wrong."""
    from benchmarks.suite import runner  # noqa: PLC0415  (workers of the suite import this package, too)

    return runner.run("quick" if quick else "full")
