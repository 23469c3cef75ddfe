"""Pathway's ``iterate`` as an incremental closure, in a process of its own: times and peak memory as JSON.

``python benchmarks/pathway_peer.py steps.parquet`` reads rows ``step, op, src, dst``: step 0 is the graph, each
later one a batch. A batch is committed when the one before has been answered, and is answered when Pathway
has finished its time. Memory is what the process took more than before it began. What is asked for is the
number of pairs, so that nothing but the closure costs time.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import pathway as pw
import pyarrow.parquet as pq


class Edge(pw.Schema):
    src: int = pw.column_definition(primary_key=True)
    dst: int = pw.column_definition(primary_key=True)


class Batches(pw.io.python.ConnectorSubject):
    """Feeds the steps, each when the one before has been answered, and times them."""

    def __init__(self, steps):
        super().__init__()
        self._steps = steps
        self._before = peak()
        self.answered = threading.Event()
        self.pairs = 0
        self.found = []

    @property
    def _deletions_enabled(self):
        return True

    def run(self):
        for number, step in enumerate(self._steps):
            self.answered.clear()
            started = time.perf_counter()
            for op, src, dst in step:
                (self.next if op == "insert" else self.delete)(src=src, dst=dst)
            self.commit()
            self.answered.wait()
            seconds = time.perf_counter() - started
            told = {"step": number, "seconds": seconds, "pairs": self.pairs, "peak": peak() - self._before}
            print(json.dumps(told), flush=True)

    def on_change(self, key, row, time, is_addition):
        del key, time
        if is_addition:
            self.pairs = row["pairs"]

    def on_time_end(self, time):
        del time
        self.answered.set()


def peak():
    """Bytes that this process has taken at most; that of ``getrusage`` would count its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def longer(closed, edges):
    """One step: what is closed, and what an edge more reaches."""
    joined = closed.join(edges, closed.dst == edges.src).select(src=closed.src, dst=edges.dst)
    both = closed.concat_reindex(joined)
    return {"closed": both.groupby(both.src, both.dst).reduce(both.src, both.dst), "edges": edges}


def main():
    table = pq.read_table(sys.argv[1])
    steps = [[] for _ in range(table["step"][-1].as_py() + 1)]
    for step, *row in zip(*(table[name].to_pylist() for name in ("step", "op", "src", "dst")), strict=True):
        steps[step].append(row)
    subject = Batches(steps)
    edges = pw.io.python.read(subject, schema=Edge, autocommit_duration_ms=None)
    plain = edges.groupby(edges.src, edges.dst).reduce(edges.src, edges.dst)
    closed = pw.iterate(longer, closed=pw.iterate_universe(plain), edges=plain).closed
    counted, present = closed.reduce(pairs=pw.reducers.count()), plain.reduce(edges=pw.reducers.count())
    answer = counted.join(present).select(counted.pairs, present.edges)  # changes with every batch: none is silent
    pw.io.subscribe(answer, on_change=subject.on_change, on_time_end=subject.on_time_end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


if __name__ == "__main__":
    main()
