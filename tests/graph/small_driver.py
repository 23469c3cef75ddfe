"""A driver in a process of its own that may not take the memory that the closure would: see test_driver_memory.py.

    python -m tests.graph.small_driver <url of a Spark Connect server> <engine> <layers> <width> <bytes>

It asks everything of a small graph first, so that all that is loaded or compiled once is there. Then it lets the
system refuse any memory beyond so many bytes more, and asks the same of the large graph. It prints a line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from dyntc_spark import DynamicClosure
from dyntc_spark.kernels.plain_first import compiling_all

#: What is asked of a closure; each answer is small. ``query(df)`` and ``changes()`` are one line each.
CALLS: dict[str, Callable[[DynamicClosure], object]] = {
    "pairs": lambda c: c.pairs().count(),
    "stats": lambda c: c.stats()["pairs"],
    "verify": lambda c: bool(c.verify()),
    "descendants": lambda c: c.descendants(0).count(),
    "query": lambda c: c.query(c.edges()).where("reachable").count(),
    "changes": lambda c: c.changes().count(),
}


def edges(layers: int, width: int) -> pa.Table:
    """Return a DAG in layers: each vertex has two edges into the next one, to its column and the one beside it."""
    sources = np.arange((layers - 1) * width)
    straight = sources + width
    across = straight - straight % width + (straight + 1) % width
    return pa.table({"src": np.append(sources, sources), "dst": np.append(straight, across)})


def ask(spark: SparkSession, engine: str, layers: int, width: int) -> dict[str, Any]:
    """Build, show the views, build again, apply a batch, and ask everything."""
    graph = edges(layers, width)
    closure = DynamicClosure.from_edges(graph, spark, engine, "spark")
    closure.create_views("small_driver")
    found: dict[str, Any] = {"views": spark.sql("SELECT * FROM small_driver_closure").count()}
    closure = DynamicClosure.from_edges(graph, spark, engine, "spark")
    closure.apply([("insert", 0, width * (layers - 1) + 1), ("delete", 0, width)])
    return found | {name: call(closure) for name, call in CALLS.items()}


def size(kind: str) -> int:
    """Return the bytes of address space that this process has (``VmSize``), or had at most (``VmPeak``)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(kind))


def main(url: str, engine: str, layers: int, width: int, more: int) -> None:
    """Ask the large graph under the limit; then take what the closure takes, four bytes a pair: that is refused."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    with compiling_all():  # small work would be interpreted, and kernels compiled under the limit
        ask(spark, engine, 6, 4)
    before = size("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (before + more, before + more))
    found = ask(spark, engine, layers, width)
    found["taken"] = size("VmPeak") - before
    try:
        found["refused"] = not np.empty(found["pairs"], np.int32).nbytes
    except MemoryError:
        found["refused"] = True
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
