"""When a build from scratch is likely to be faster than a search for the rows that a batch affects.

The constants are seconds, measured on a machine with two cores and rounded; only their
ratios matter. A changed edge is the least certain of them: 1 to 4 microseconds in batches
of real changes, up to 20 where edges come and go at random.
"""

from __future__ import annotations

VERTEX, EDGE = 200e-9, 70e-9  #: to condense a graph: a vertex and an edge
NUMBER = 2.5e-9  #: to close it: a number in a row
JOB, FAR_NUMBER = 0.06, 180e-9  #: to close it on Spark: a job, and a number that a task writes
CHANGE = 1.5e-6  #: a changed edge, beside what it affects
AFFECTED = 210e-9  #: an edge at an affected vertex
REBUILT = 10e-9  #: a number in a row that is built again


def affected_limit(changes: int, vertices: int, edges: int, numbers: int, *, on_spark: bool) -> float:
    """Return how many vertices a batch may affect before a build from scratch is likely to be faster.

    Negative when the ``changes`` by themselves take longer than a build. ``numbers`` are those in all rows.

    >>> affected_limit(1, 1000, 2000, 100_000, on_spark=False) > 0
    True
    >>> affected_limit(1000, 1000, 2000, 100_000, on_spark=False) > 0
    False
    """
    build = VERTEX * vertices + EDGE * edges + (JOB + FAR_NUMBER * numbers if on_spark else NUMBER * numbers)
    n = max(vertices, 1)
    return (build - CHANGE * changes) / (AFFECTED * edges / n + REBUILT * (1 + numbers / n))
