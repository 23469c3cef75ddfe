"""One part of one graph of the literature, in a process of its own, so that its peak of memory is its own.

``python -m benchmarks.literature_worker '{"part": "process", "graph": "grid150", …}'`` is started by
`benchmarks.literature`; the last line that it prints is what it found, as JSON.

===========  ===================================================================================================
``graph``    make or read the graph, write it to a file, and say how many pairs its closure is to have
``process``  Init in this process: seconds, seconds of the processor, bytes, the peak of memory
``spark``    Init on a local Spark of two cores: seconds, jobs, peaks of the driver, the JVM and the workers
``parquet``  Init in this process, then every pair to a Parquet file, some rows at a time
===========  ===================================================================================================
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.literature_graphs import checked_by, counted, made, on_cycles
from benchmarks.suite import memory, ours
from dyntc_spark.edges import Edges
from dyntc_spark.kernels.ids import Indices

CORES, REPEATS = 2, 3
LONG = 5.0  #: seconds from which an Init is not repeated
CHUNK = 4_000_000  #: pairs that are listed at once, unless a single vertex reaches more
Facts = dict[str, Any]


def graph(task: Facts) -> Facts:
    """Write the graph of a name to a file."""
    found = made(task["graph"], Path(task["folder"]) if task["folder"] else None)
    np.savez(task["file"], vertices=found.vertices, sources=found.edges.sources, targets=found.edges.targets)
    return {
        "vertices": found.vertices,
        "edges": len(found.edges),
        "expected": counted(found.edges, found.vertices) if found.pairs is None else found.pairs,
        "checked by": checked_by(task["graph"], found),
        "on cycles": on_cycles(found.edges, found.vertices),
    }


def process(task: Facts) -> Facts:
    """Measure Init in this process."""
    return _init(ours.Ours("lanes", "local"), task)


def spark(task: Facts) -> Facts:
    """Measure Init on Spark."""
    return _init(ours.Ours("lanes", "spark"), task)


def _init(system: ours.Ours, task: Facts) -> Facts:
    edges, vertices = _read(task)
    system.start(CORES)
    try:
        memory.restart(os.getpid())
        jobs = system.counters().get("jobs", 0)
        runs = [_timed(system, edges, vertices)]
        found: Facts = {"peaks": memory.peaks(os.getpid())}
        if "jobs" in system.counters():
            found["jobs"] = system.counters()["jobs"] - jobs
        while len(runs) < REPEATS and runs[0][0] < LONG:
            runs.append(_timed(system, edges, vertices))
        wall, cpu = min(runs)
        if not found.get("jobs"):
            found["cpu seconds"] = cpu
        stats = system.engine.stats()
        sizes = {"pairs": stats["pairs"], "bytes": stats["row_bytes"], "bytes with the graph": stats["bytes"]}
        return {"seconds": wall, **found, **sizes}
    finally:
        system.stop()


def parquet(task: Facts) -> Facts:
    """Build the closure, and write all its pairs to a file."""
    system = ours.Ours("lanes", "local")
    edges, vertices = _read(task)
    system.start(CORES)
    target = Path(task["file"]).with_suffix(".parquet")
    write_pairs(system, target)  # of the graph that warms up
    system.init(edges, vertices)
    pairs = system.engine.stats()["pairs"]
    if pairs > task["most"]:
        return {"skipped": f"{pairs:,} pairs, more than --most-pairs {task['most']:,}", "pairs": pairs}
    memory.restart(os.getpid())
    begun = time.perf_counter()
    written = write_pairs(system, target)
    seconds = time.perf_counter() - begun
    size = target.stat().st_size
    target.unlink()
    return {"seconds": seconds, "pairs": written, "bytes": size, "peaks": memory.peaks(os.getpid())}


def write_pairs(system: ours.Ours, target: Path) -> int:
    """Write all pairs of different vertices, by number, to a Parquet file; return how many there are."""
    schema = pa.schema({"src": pa.int32(), "dst": pa.int32()})
    written = 0
    # A row is sorted: its differences take little. All readers of Parquet of the last years know this encoding.
    encodings = {"dst": "DELTA_BINARY_PACKED"}
    with pq.ParquetWriter(target, schema, use_dictionary=["src"], column_encoding=encodings) as writer:
        for some in _chunks(system):
            part = system.engine.descendants(some)
            others = part.sources != part.targets
            columns = [part.sources[others].astype(np.int32), part.targets[others].astype(np.int32)]
            writer.write_batch(pa.record_batch(columns, schema))
            written += len(columns[0])
    return written


def _chunks(system: ours.Ours) -> Iterator[Indices]:
    """Yield successive vertices that reach some millions of others together."""
    every = np.arange(system.engine.vertices)
    ends = np.cumsum(system.engine.counts(every)[0] + 1)
    first = 0
    while first < len(every):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + CHUNK)))
        yield every[first:last]
        first = last


def _timed(system: ours.Ours, edges: Edges, vertices: int) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    system.init(edges, vertices)
    return time.perf_counter() - wall, time.process_time() - cpu


def _read(task: Facts) -> tuple[Edges, int]:
    with np.load(task["file"]) as file:
        return Edges.of(file["sources"], file["targets"]), int(file["vertices"])


PARTS = {each.__name__: each for each in (graph, process, spark, parquet)}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(PARTS[given["part"]](given)))
