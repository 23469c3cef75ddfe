"""How many paths start in each vertex of an acyclic digraph, in floating point."""

from __future__ import annotations

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Floats, Ids, Indices


@compiled
def add_totals(
    starts: Indices, degrees: Indices, targets: Ids, vertices: Indices, totals: Floats
) -> None:  # pragma: no cover  (compiled)
    """Count all paths from each of ``vertices`` again, the empty one too; in place.

    ``vertices`` stand in topological order; their successors outside it have the
    right totals already. A total bounds the number of paths to any single vertex.
    """
    for k in range(len(vertices) - 1, -1, -1):
        v = vertices[k]
        total = 1.0
        for e in range(starts[v], starts[v] + degrees[v]):
            total += totals[targets[e]]
        totals[v] = total
