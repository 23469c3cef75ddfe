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
from benchmarks.suite import roaring, single_machine, streaming
from benchmarks.suite.system import NotTriedError, System
from benchmarks.suite.workloads import Workload
from dyntc_spark.edges import Edges

#: By name: how to make it, and pairs up to which it is tried.
PEERS: dict[str, tuple[type[System], float]] = {
    "roaring rows": (roaring.RoaringRows, 2 * 10**7),
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
