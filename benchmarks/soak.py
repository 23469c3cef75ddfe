"""Soak: mixed actions on a closure at a location for a long time, with restarts among them.

    python -m benchmarks.soak --minutes 30 --actions 10000 --seed 0

After each action the closure is compared with a plain set of edges, by some questions; now and then wholly, with a
search over all edges. A restart lets the closure go and opens the location again. The run ends when both the minutes
and the actions are done, and prints how many actions and restarts there were, how often an answer was wrong (0), and
the memory of this process and of the JVM at the beginning and at the end, which are to be the same. The beginning is
after a tenth of the run: warming up takes some.
"""

from __future__ import annotations

import argparse
import collections
import gc
import random
import sys
import tempfile
import time
from pathlib import Path

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import DyntcError

VERTICES = 211
WHOLE_EVERY = 200
VACUUM_EVERY = 500


class Model:
    """A graph as a set of edges, and a search for every question."""

    def __init__(self):
        self.edges: set[tuple[str, str]] = set()
        self.next: dict[str, set[str]] = {}

    def apply(self, changes):
        for op, tail, head in changes:
            if op == "insert":
                self.edges.add((tail, head))
                self.next.setdefault(tail, set()).add(head)
            elif (tail, head) in self.edges:
                self.edges.remove((tail, head))
                self.next[tail].discard(head)

    def reset(self, edges):
        self.edges, self.next = set(), {}
        self.apply([("insert", *edge) for edge in edges])

    def reached(self, vertex):
        found, frontier = {vertex}, [vertex]
        for tail in frontier:
            for head in self.next.get(tail, ()):
                if head not in found:
                    found.add(head)
                    frontier.append(head)
        return found


class Soak:
    """One run: a closure, its model, and what was seen."""

    def __init__(self, spark, folder, seed):
        self.spark, self.rng = spark, random.Random(seed)  # noqa: S311
        self.location, self.number = str(Path(folder) / "closure"), 0
        self.model, self.done = Model(), collections.Counter()
        self.divergences: list[str] = []
        start = self._edges(2 * VERTICES)
        self.model.reset(start)
        self.closure = DynamicClosure.from_edges(start, spark=spark)
        self.closure.save(self.location)
        self.kinds = {  # what writes takes a second or two, so that most actions are questions
            "question": 400, "batch": 20, "insert": 4, "delete": 4, "replayed batch": 6, "refused": 8, "restart": 2,
            "checkpoint": 1, "reader": 2, "reset": 1,
        }  # fmt: skip

    def act(self):
        """Do one thing, and look whether the closure is right."""
        (kind,) = self.rng.choices(list(self.kinds), list(self.kinds.values()))
        self.done[kind] += 1
        getattr(self, f"_{kind.replace(' ', '_')}")()
        if sum(self.done.values()) % VACUUM_EVERY == 0:
            self.closure.vacuum(keep=5, files=False)
        if sum(self.done.values()) % WHOLE_EVERY == 0:
            self._check_all(kind)
        else:
            self._check(kind)

    # --- what is done ------------------------------------------------------------------------

    def _vertex(self):
        return f"v{int(VERTICES * self.rng.random() ** 1.5)}"

    def _edges(self, count):
        return [(self._vertex(), self._vertex()) for _ in range(count)]

    def _changes(self):
        gone = self.rng.sample(sorted(self.model.edges), min(len(self.model.edges), self.rng.randint(0, 12)))
        changes = [("delete", *edge) for edge in gone]
        changes += [("insert", *edge) for edge in self._edges(self.rng.randint(0, 12))]
        self.rng.shuffle(changes)
        return changes

    def _batch(self):
        changes = self._changes()
        self.closure.apply(changes, batch_id=self.number + 1)
        self.model.apply(changes)
        self.number += bool(changes)  # a batch without changes leaves no id: the next one takes it

    def _insert(self):
        edges = self._edges(self.rng.randint(1, 5))
        self.closure.insert(edges)
        self.model.apply([("insert", *edge) for edge in edges])

    def _delete(self):
        edges = self.rng.sample(sorted(self.model.edges), min(len(self.model.edges), 3))
        self.closure.delete(edges)
        self.model.apply([("delete", *edge) for edge in edges])

    def _replayed_batch(self):
        if self.number:
            self.closure.apply(self._changes(), batch_id=self.rng.randint(max(1, self.number - 50), self.number))

    def _question(self):
        vertex = self._vertex()
        self.closure.arrow.explain([(vertex, vertex)] if self._known(vertex) else [])
        self.closure.arrow.changes()

    def _refused(self):
        version = self.closure.version
        for wrong in ([("insert", None, "v1")], [("upsert", "v1", "v2")], [("insert", 1, 2)], [("insert", "v1")]):
            try:
                self.closure.apply(wrong)
            except DyntcError:
                continue
            self.divergences.append(f"{wrong} was taken")
        if self.closure.version != version:
            self.divergences.append("a refused batch made a version")

    def _restart(self):
        del self.closure
        gc.collect()
        self.closure = DynamicClosure.open(self.location, spark=self.spark)

    def _checkpoint(self):
        self.closure.save(self.location)

    def _reader(self):
        version = max(self.closure.version - self.rng.randint(0, 3), 0)
        reader = DynamicClosure.open(self.location, version, spark=self.spark)
        if reader.version != version:
            self.divergences.append(f"version {reader.version} was opened for {version}")

    def _reset(self):
        edges = self._edges(2 * VERTICES)
        self.closure.reset(edges)
        self.model.reset(edges)

    # --- whether it is right -----------------------------------------------------------------

    def _known(self, vertex):
        return self.closure.reaches(vertex, vertex, unknown="false")

    def _check(self, kind):
        for vertex in {self._vertex() for _ in range(3)}:
            found = {vertex}
            if self._known(vertex):
                found |= set(self.closure.arrow.descendants(vertex)["vertex"].to_pylist())
            if found != self.model.reached(vertex):
                self.divergences.append(f"action {sum(self.done.values())} ({kind}): what {vertex} reaches")

    def _check_all(self, kind):
        table = self.closure.arrow.edges()
        if set(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True)) != self.model.edges:
            self.divergences.append(f"action {sum(self.done.values())} ({kind}): the edges")
        table = self.closure.arrow.pairs()
        found = set(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))
        wanted = {(tail, head) for tail in self.model.next for head in self.model.reached(tail) if head != tail}
        if found != wanted or not self.closure.verify():
            self.divergences.append(f"action {sum(self.done.values())} ({kind}): the closure")


def memory(spark):
    """MiB that this process has, and that the JVM's heap has after it was cleared."""
    gc.collect()
    jvm = spark.sparkContext._jvm.java.lang  # noqa: SLF001  (there is no other way to ask)
    jvm.System.gc()
    runtime = jvm.Runtime.getRuntime()
    pages = next(line for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines() if "VmRSS" in line)
    return int(pages.split()[1]) >> 10, (runtime.totalMemory() - runtime.freeMemory()) >> 20


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--actions", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    spark = session.local(delta=True)
    started, first, lines = time.monotonic(), None, 0
    with tempfile.TemporaryDirectory(prefix="dyntc soak ") as folder:
        soak = Soak(spark, folder, chosen.seed)
        while True:
            soak.act()
            count, seconds = sum(soak.done.values()), time.monotonic() - started
            part = min(seconds / (60 * chosen.minutes), count / chosen.actions)
            if first is None and part >= 0.1:
                first = memory(spark)
            if part >= lines / 10:
                python, heap = memory(spark)
                print(
                    f"{seconds / 60:5.1f} min  {count} actions  {soak.done['restart']} restarts  "
                    f"{len(soak.divergences)} divergences  {python} MiB Python  {heap} MiB JVM",
                    flush=True,
                )
                lines += 1
            if part >= 1 or soak.divergences:
                break
        last = memory(spark)
    spark.stop()
    print("actions:", count, dict(soak.done.most_common()))
    print("restarts:", soak.done["restart"])
    print("divergences:", len(soak.divergences), *soak.divergences[:5])
    print("MiB of Python, of the JVM's heap: at the start", *(first or last), "at the end", *last)
    print("seed:", chosen.seed)
    return int(bool(soak.divergences))


if __name__ == "__main__":
    sys.exit(main())
