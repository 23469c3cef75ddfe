"""Rows as roaring bitmaps: what one would write with pyroaring to keep a closure small, from scratch each time."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.suite.digest import Digest
from benchmarks.suite.single_machine import Answers
from benchmarks.suite.system import Recomputing
from dyntc_spark.edges import Edges
from dyntc_spark.kernels.ids import Indices


class RoaringRows(Recomputing):
    """A roaring bitmap for each strong component, the union of those of its successors, last components first."""

    def start(self, cores: int) -> None:
        del cores
        import pyroaring  # noqa: PLC0415  (only this contestant needs it)
        from scipy import sparse  # noqa: PLC0415
        from scipy.sparse import csgraph  # noqa: PLC0415

        self._bitmap, self._sparse, self._csgraph = pyroaring.BitMap, sparse, csgraph

    def close(self, edges: Edges, vertices: int) -> None:
        ones = np.ones(len(edges), np.int8)
        matrix = self._sparse.csr_array((ones, (edges.sources, edges.targets)), shape=(vertices, vertices))
        count, component = self._csgraph.connected_components(matrix, connection="strong")
        members = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component))[:-1])
        tails, heads = component[edges.sources], component[edges.targets]
        keys = np.unique((tails.astype(np.int64) * count + heads)[tails != heads])
        successors = np.split(keys % count, np.searchsorted(keys // count, np.arange(1, count)))
        rows: list[Any] = [None] * count
        for c in _last_first(keys // count, keys % count, count).tolist():
            row = self._bitmap(members[c])
            for d in successors[c].tolist():
                row |= rows[d]
            rows[c] = row
        for row in rows:
            row.run_optimize()
        self._rows, self._component = rows, component

    def digest(self) -> Digest:
        return Digest.of(
            (np.full(len(row), v), row)
            for v, row in ((v, np.array(self._rows[c].to_array())) for v, c in enumerate(self._component.tolist()))
        )

    def query(self, sources: Indices, targets: Indices) -> Answers:
        rows, component = self._rows, self._component[sources].tolist()
        found = (t in rows[c] for c, t in zip(component, targets.tolist(), strict=True))
        return np.fromiter(found, bool, len(sources))

    def facts(self) -> dict[str, object]:
        size = sum(len(row.serialize()) for row in self._rows)
        return {"bytes": size, "row_bytes": size}


def _last_first(tails: Indices, heads: Indices, count: int) -> Indices:
    """Return the vertices of an acyclic graph, each behind its successors."""
    left, by_head = np.bincount(tails, minlength=count), np.argsort(heads, kind="stable")
    starts = np.searchsorted(heads[by_head], np.arange(count + 1))
    order, ready = [], np.flatnonzero(left == 0)
    while len(ready):
        order.append(ready)
        lengths = starts[ready + 1] - starts[ready]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        before = tails[by_head[np.repeat(starts[ready], lengths) + within]]
        np.subtract.at(left, before, 1)
        ready = np.unique(before[left[before] == 0])
    return np.concatenate(order)
