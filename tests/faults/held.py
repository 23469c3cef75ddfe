"""A process that changes a closure on Spark many times: ``python -m tests.faults.held KIND WORK COUNT FOLDER``.

KIND is ``classic`` or ``connect``: a JVM of 512 MiB in either case. WORK is ``builds`` (the engine ``recompute`` closes
a chain again and again) or ``batches`` (``lanes``, with views and questions). It prints lines of JSON: what Spark and
the processes hold after a step.
"""

from __future__ import annotations

import contextlib
import gc
import json
import socket
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np

from dyntc_spark import DynamicClosure, session
from dyntc_spark.edges import Edges
from dyntc_spark.engines import registry
from tests import conftest

MEMORY = "512m"
#: Vertices of the chain that is built again: 4.5 MB of rows.
LENGTH = 1500
#: Seconds to wait until what is no longer used has been released.
PATIENCE = 120


class Watch:
    """What a session holds, by Spark's own pages and by the system."""

    def __init__(self, spark, port, folder):
        self.spark, self.folder = spark, folder
        base = f"http://127.0.0.1:{port}/api/v1/applications"
        self._application = f"{base}/{_fetched(base)[0]['id']}"

    def stored(self):
        """Return the bytes in memory of each thing that is stored."""
        return [rdd["memoryUsed"] for rdd in _fetched(f"{self._application}/storage/rdd") if rdd["memoryUsed"]]

    def settled(self, most):
        """Wait until no more than so many things are stored in memory, and give the bytes of all."""
        for _ in range(PATIENCE * 20):
            if len(self.stored()) <= most:
                break
            time.sleep(0.05)
        return self.stored()

    def everything(self):
        """Return all that must not grow, after a collection in both processes."""
        gc.collect()
        heap = 0
        if not session.is_connect(self.spark):
            jvm = self.spark.sparkContext._jvm
            for _ in range(3):
                jvm.System.gc()
                time.sleep(0.3)  # for Spark's own cleaner
            runtime = jvm.java.lang.Runtime.getRuntime()
            heap = runtime.totalMemory() - runtime.freeMemory()
        return {
            "heap": heap,
            "stored": len(self.stored()),
            "memory": sum(self.stored()),
            "views": len(self.spark.catalog.listTables()),
            "threads": threading.active_count(),
            "files": len(list(Path("/proc/self/fd").iterdir())),
            "disk": sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file()),
        }


def _fetched(url):
    with urllib.request.urlopen(url) as answer:  # noqa: S310  (a page of our own)
        return json.load(answer)


def builds(spark, watch, count):
    """Close a chain again and again; each step tells what is stored after it."""
    engine = registry.create("recompute", "spark", spark)
    engine.init(Edges.of(np.arange(LENGTH - 1), np.arange(1, LENGTH)), LENGTH)
    last, none = Edges.of([LENGTH - 2], [LENGTH - 1]), Edges.of()
    for step in range(count):
        engine.apply(*((none, last) if step % 2 == 0 else (last, none)))
        yield {"stored": watch.settled(1)}
    assert engine.query([0, 5], [LENGTH - 2, 3]).tolist() == [True, False]


def batches(spark, watch, count):
    """Change a graph with views on it; every fiftieth step tells everything."""
    edges = [(v, v + k) for v in range(300) for k in (1, 7)]
    closure = DynamicClosure.from_edges(edges, spark=spark, engine="lanes", backend="spark")
    closure.create_views("held")
    for step in range(1, count + 1):
        edge = edges[37 * ((step - 1) // 2) % len(edges)]
        closure.apply([("delete" if step % 2 else "insert", *edge)], strict=True)
        if step % 10 == 0:
            closure.reset(edges)  # another build
            assert spark.table("held_closure").count() == len(closure.arrow.pairs())
        if step % 50 == 0:
            yield watch.everything()


def main(kind, work, count, folder):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        **conftest._settings(),
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.driver.memory": MEMORY,
        "spark.local.dir": folder,
    }
    with contextlib.ExitStack() as stack:
        if kind == "connect":
            conftest._settings = lambda: settings
            spark = stack.enter_context(conftest._connect(Path(folder), {}))
        else:
            spark = session.local(2, memory=MEMORY, config=settings, delta=False)
            stack.callback(spark.stop)
        for line in {"builds": builds, "batches": batches}[work](spark, Watch(spark, port, Path(folder)), int(count)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
