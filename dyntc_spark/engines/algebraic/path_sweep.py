"""Init of section 7 without n³ work: paths counted along the edges, one stripe of vertices at a time.

The paths from ``v`` are counted by a sweep over what ``v`` reaches, in topological
order: each vertex hands its number on to its successors. This costs the edges
below ``v``, so that all of Init costs the pairs of the closure times the mean
out-degree. Vertices do not need each other's rows: on Spark the edges, which are
few, go to every task, and each task fills its own stripes. The stripes by column
are the same sweep over the edges turned round.

What is counted are the paths with at least one edge, ``N = M - I``: the empty path
of each vertex to itself is not stored, and a new vertex costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.superstep import Cell, Names, Operation
from dyntc_spark.edges import Edges
from dyntc_spark.engines.topology import Adjacency
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Floats, Ids, Indices
from dyntc_spark.matrices.lazy import sparse_lines


@dataclass(frozen=True)
class CountPaths(Operation[None]):
    """Write the numbers of paths that start in each vertex of a stripe, modulo the primes of the matrix.

    ``offsets`` and ``targets`` are the edges of an acyclic graph, by source; the
    matrix may be larger than the graph.
    """

    grid: Grid
    offsets: Indices
    targets: Ids

    @classmethod
    def along(cls, name: str, grid: Grid, edges: Edges, vertices: int) -> CountPaths:
        """Count along these edges, into the matrix ``name``."""
        graph = Adjacency(edges, vertices)
        return cls(name, grid, np.append(graph.starts, len(edges)), graph.targets)

    writes = Names("name")
    fills = True

    def apply(self, cell: Cell) -> None:
        """Sweep from each vertex of this stripe."""
        vertices, step = len(self.offsets) - 1, self.grid.down.step
        first, last = (min(stripe * step, vertices) for stripe in (cell.bi, cell.bi + 1))
        primes = np.array(cell.ring(self.name).modulus, np.int64)
        with sparse_lines.zeroed(vertices) as slots:
            found = _sweep(self.offsets, self.targets, first, last, primes, slots)
        cell[self.name] = codec.compact(Sparse(cell.shape(self.name), *found))


def path_totals(graph: Adjacency, vertices: Indices, totals: Floats) -> None:
    """Count all paths from each of ``vertices`` again, the empty one too, in floating point; in place.

    ``vertices`` stand in topological order; their successors outside it have the
    right totals already. A total bounds the number of paths to any single vertex.
    """
    _add_totals(graph.starts, graph.degrees, graph.targets, vertices, totals)


@compiled
def _sweep(  # noqa: C901  (one search, one sweep, one sorted copy)
    offsets: Indices, targets: Ids, first: int, last: int, primes: Indices, slots: Ids
) -> tuple[Ids, Ids, Ints]:  # pragma: no cover  (compiled)
    """Count the paths that start in ``first … last - 1``: rows (from 0), columns and residues, sorted."""
    planes, vertices = len(primes), len(slots)
    room, used = 1024, 0
    rows, columns = np.empty(room, np.int32), np.empty(room, np.int32)
    values = np.empty((planes, room), np.int32)
    seen, finished = np.empty(vertices, np.int32), np.empty(vertices, np.int32)
    path, cursor = np.empty(vertices, np.int32), np.empty(vertices, np.int64)
    numbers = np.empty((vertices, planes), np.int64)  # of the vertices in ``seen``; ``slots`` counts them from 1
    for source in range(first, last):
        count, done, depth = 1, 0, 0
        seen[0], slots[source] = source, 1
        path[0], cursor[0] = source, offsets[source]
        while depth >= 0:
            v = path[depth]
            if cursor[depth] == offsets[v + 1]:
                finished[done] = v
                done += 1
                depth -= 1
                continue
            w = targets[cursor[depth]]
            cursor[depth] += 1
            if slots[w] == 0:
                seen[count] = w
                count += 1
                slots[w] = count
                depth += 1
                path[depth], cursor[depth] = w, offsets[w]
        numbers[0], numbers[1:count] = 1, 0
        for k in range(done - 1, -1, -1):  # backwards, the search has finished vertices in topological order
            v = finished[k]
            slot = slots[v] - 1
            for plane in range(planes):
                if numbers[slot, plane] >= primes[plane]:
                    numbers[slot, plane] %= primes[plane]
            for e in range(offsets[v], offsets[v + 1]):
                next_slot = slots[targets[e]] - 1
                for plane in range(planes):
                    numbers[next_slot, plane] += numbers[slot, plane]
        if used + count > room:
            room = 2 * (used + count)
            wider_rows, wider_columns = np.empty(room, np.int32), np.empty(room, np.int32)
            wider_values = np.empty((planes, room), np.int32)
            wider_rows[:used], wider_columns[:used], wider_values[:, :used] = (
                rows[:used],
                columns[:used],
                values[:, :used],
            )
            rows, columns, values = wider_rows, wider_columns, wider_values
        for w in np.sort(seen[:count]):
            slot = slots[w] - 1
            slots[w] = 0
            some = False
            for plane in range(planes):
                values[plane, used] = numbers[slot, plane]
                some = some or numbers[slot, plane] != 0
            rows[used], columns[used] = source - first, w
            used += some and w != source
    return rows[:used].copy(), columns[:used].copy(), values[:, :used].copy()


@compiled
def _add_totals(
    starts: Indices, degrees: Indices, targets: Ids, vertices: Indices, totals: Floats
) -> None:  # pragma: no cover
    for k in range(len(vertices) - 1, -1, -1):
        v = vertices[k]
        total = 1.0
        for e in range(starts[v], starts[v] + degrees[v]):
            total += totals[targets[e]]
        totals[v] = total
