"""Pathway's ``iterate`` as an incremental closure, in a process of its own: times and peak memory as JSON.

``python benchmarks/pathway_peer.py steps.parquet`` reads rows ``step, op, src, dst``: step 0 is the graph, each
later one a batch. With ``-`` the steps come from standard input, one a line, as ``{"insert": [[src, dst], …],
"delete": …}``, and the answers tell the digest of the closure, too. A batch is committed when the one before has
been answered, and is answered when Pathway has finished its time. Memory is what the process took more than
before it began. What is asked for is the number of pairs, so that little but the closure costs time.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import pathway as pw
import pyarrow.parquet as pq

PRIME, A, B = 2**31 - 1, 1_103_515_245, 362_436_069  # of benchmarks.suite.digest, which this process does not load


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
        self.answer = {}

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
            told = {"step": number, "seconds": seconds, "peak": peak() - self._before, **self.answer}
            print(json.dumps(told), flush=True)

    def on_change(self, key, row, time, is_addition):
        del key, time
        if is_addition:
            self.answer = {name: row[name] for name in ("pairs", "total") if name in row}

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


def asked_steps():
    """Yield the steps that standard input brings."""
    for line in sys.stdin:
        step = json.loads(line)
        yield [(op, src, dst) for op in ("delete", "insert") for src, dst in step[op]]


def stored_steps(path):
    """Return the steps of a file."""
    table = pq.read_table(path)
    steps = [[] for _ in range(table["step"][-1].as_py() + 1)]
    for step, *row in zip(*(table[name].to_pylist() for name in ("step", "op", "src", "dst")), strict=True):
        steps[step].append(row)
    return steps


def digests(table):
    """Return the digest of a table of pairs, as ``benchmarks.suite.digest`` defines it."""
    proper = table.filter(table.src != table.dst)
    mixed = (proper.src * A + proper.dst * B) % PRIME
    hashed = proper.select(value=mixed * mixed % PRIME * mixed % PRIME)
    return hashed.reduce(pairs=pw.reducers.count(), total=pw.reducers.sum(hashed.value))


def main():
    asked = sys.argv[1] == "-"
    subject = Batches(asked_steps() if asked else stored_steps(sys.argv[1]))
    edges = pw.io.python.read(subject, schema=Edge, autocommit_duration_ms=None)
    plain = edges.groupby(edges.src, edges.dst).reduce(edges.src, edges.dst)
    closed = pw.iterate(longer, closed=pw.iterate_universe(plain), edges=plain).closed
    # What stands for the edges changes with every batch, so that none is silent.
    if asked:
        counted, present = digests(closed), digests(plain)
        answer = counted.join(present).select(counted.pairs, counted.total, edges=present.total)
    else:
        counted, present = closed.reduce(pairs=pw.reducers.count()), plain.reduce(edges=pw.reducers.count())
        answer = counted.join(present).select(counted.pairs, present.edges)
    pw.io.subscribe(answer, on_change=subject.on_change, on_time_end=subject.on_time_end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


if __name__ == "__main__":
    main()
