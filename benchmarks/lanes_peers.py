"""What else closes a graph on one machine, beside lanes: libraries from scratch, one dataflow, rows as roaring bitmaps.

``python -m benchmarks.lanes_peers NAME FILE`` closes the graph in a file (`benchmarks.lanes_graphs.Graph.save`) in
this process, with one core, and prints the seconds and the digest of its closure as JSON. None of them is needed:
one that is not installed says so. Libraries that close a graph from scratch take as long again for every batch.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import cause
from benchmarks.suite import single_machine, streaming
from benchmarks.suite.digest import Digest
from benchmarks.suite.system import NotTriedError, Recomputing, System
from benchmarks.suite.workloads import Workload
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

    def facts(self) -> dict[str, object]:
        return {"row_bytes": sum(len(row.serialize()) for row in self._rows)}


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


#: By name: how to make it, and pairs up to which it is tried.
PEERS: dict[str, tuple[type[System], float]] = {
    "roaring rows": (RoaringRows, 2 * 10**7),
    "igraph": (single_machine.IGraph, 2 * 10**7),
    "DuckDB": (single_machine.DuckDB, 5 * 10**6),
    "GraphBLAS": (single_machine.GraphBLAS, 5 * 10**6),
    "Pathway": (streaming.Pathway, 10**6),
}


def closed(name: str, path: Path, seconds: float) -> dict[str, Any]:
    """Let a peer close the graph of a file in a process of its own; ``skipped`` says why it did not."""
    command = [sys.executable, "-m", "benchmarks.lanes_peers", name, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return {"skipped": f"not finished after {seconds:.0f} s"}
    if done.returncode:
        return {"skipped": f"exit {done.returncode}: {cause(done.stderr[-300:])}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _close(name: str, path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        edges, vertices, asked = Edges.of(*file["edges"]), int(file["vertices"]), tuple(file["questions"])
    system = PEERS[name][0]()
    try:
        system.check(Workload(path.stem, vertices, edges, (), asked, acyclic=False, largest_component=vertices))
        system.start(1)
    except ImportError as error:
        return {"skipped": f"not installed: {error.name}"}
    except NotTriedError as reason:
        return {"skipped": str(reason)}
    try:
        begun = time.process_time()
        system.init(edges, vertices)
        seconds = time.process_time() - begun if system.reported is None else system.reported
        digest = system.digest()
        return {"seconds": seconds, "pairs": digest.pairs, "total": digest.total, **system.facts()}
    finally:
        system.stop()


if __name__ == "__main__":
    print(json.dumps(_close(sys.argv[1], Path(sys.argv[2]))))
