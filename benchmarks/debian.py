"""The dependencies of Debian's packages as a graph: real edges, and real changes to them.

``tests/data`` holds 282,432 dependencies between 64,047 packages and 660 changes
that security updates made. Cycles (there are few and small ones) are broken by
leaving out the back edges of a depth-first search.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from dyntc_spark.edges import Edges
from dyntc_spark.engines.topology import Topology
from dyntc_spark.errors import CycleError

DATA = Path(__file__).parents[1] / "tests" / "data"


@dataclass(frozen=True)
class Debian:
    """An acyclic graph, and a batch of changes after which it still is one."""

    vertices: int
    edges: Edges
    inserted: Edges
    deleted: Edges

    @classmethod
    def load(cls, part: int | None = None) -> Debian:
        """Read the graph; ``part`` keeps only the dependencies among so many packages."""
        depends, changes = (pq.read_table(DATA / f"debian-{name}.parquet") for name in ("depends", "security-changes"))
        tables = [depends["src"], depends["dst"], changes["src"], changes["dst"]]
        columns = [np.array(column.to_pylist()) for column in tables]
        names, numbers = np.unique(np.concatenate(columns), return_inverse=True)
        src, dst, changed_src, changed_dst = np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])
        n = len(names) if part is None else part
        inside = (src < n) & (dst < n)
        edges = without_back_edges(Edges.of(src[inside], dst[inside]), n)
        wanted = (np.array(changes["op"].to_pylist()) == "insert") & (changed_src < n) & (changed_dst < n)
        gone = (np.array(changes["op"].to_pylist()) == "delete") & (changed_src < n) & (changed_dst < n)
        graph = Topology(edges, n)
        deleted = Edges.of(changed_src[gone], changed_dst[gone])
        deleted = _where(deleted, graph.adjacency.has(deleted))
        graph.apply(Edges.of(), deleted)
        return cls(n, edges, _accepted(graph, Edges.of(changed_src[wanted], changed_dst[wanted])), deleted)

    def copies(self, count: int, links: int = 50, seed: int = 7) -> Debian:
        """So many copies side by side, joined by random links from a lower to a higher copy."""
        rng = np.random.default_rng(seed)
        shift = np.repeat(np.arange(count) * self.vertices, len(self.edges))
        lower, higher = np.sort(np.stack([rng.permutation(count)[:2] for _ in range(links)]), axis=1).T
        ends = rng.integers(self.vertices, size=(2, links))
        sources = np.append(np.tile(self.edges.sources, count) + shift, lower * self.vertices + ends[0])
        targets = np.append(np.tile(self.edges.targets, count) + shift, higher * self.vertices + ends[1])
        return Debian(count * self.vertices, Edges(sources, targets), self.inserted, self.deleted)


def without_back_edges(edges: Edges, vertices: int) -> Edges:
    """Leave out the edges that lead back to a vertex whose search is not finished."""
    order = np.lexsort((edges.targets, edges.sources))
    sources, targets = edges.sources[order], edges.targets[order]
    starts = np.searchsorted(sources, np.arange(vertices + 1)).tolist()
    heads = targets.tolist()
    mark, kept = bytearray(vertices), np.ones(len(heads), bool)
    for root in range(vertices):
        path, cursor = ([root], [starts[root]]) if not mark[root] else ([], [])
        mark[root] = mark[root] or 1
        while path:
            v, place = path[-1], cursor[-1]
            if place == starts[v + 1]:
                mark[v] = 2
                path.pop()
                cursor.pop()
                continue
            cursor[-1] += 1
            w = heads[place]
            kept[place] = mark[w] != 1
            if mark[w] == 0:
                mark[w] = 1
                path.append(w)
                cursor.append(starts[w])
    return Edges(sources[kept], targets[kept])


def _accepted(graph: Topology, wanted: Edges) -> Edges:
    """Insert the edges one by one; give those that are new and close no cycle."""
    fresh = ~graph.adjacency.has(wanted)
    for k in np.flatnonzero(fresh):
        try:
            graph.apply(Edges(wanted.sources[k : k + 1], wanted.targets[k : k + 1]), Edges.of())
        except CycleError:  # noqa: PERF203  (one edge at a time is the point)
            fresh[k] = False
    return _where(wanted, fresh)


def _where(edges: Edges, kept: np.ndarray) -> Edges:
    return Edges(edges.sources[kept], edges.targets[kept])
