"""The driver of one closure on a cluster: it does what it is told and prints what that took, as JSON.

``python -m benchmarks.scale_out_driver '{"graph": "grid150", "master": "spark://…", …}'`` is started by
`benchmarks.scale_out`, in a process of its own, so that its peak of memory is that of one graph. Everything goes
through `DynamicClosure`, except for ``work``, which runs the tasks of an Init one after the other in this process.
"""

from __future__ import annotations

import json
import pickle
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle, serializers

from benchmarks import lanes_graphs
from benchmarks.lanes_graphs import Graph
from benchmarks.packages import Packages
from dyntc_spark import DynamicClosure, session
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.lanes import in_process, tasks
from dyntc_spark.engines.lanes.build import numbered
from dyntc_spark.kernels.components import contracted, grouped, strong_components
from dyntc_spark.kernels.lanes import build
from dyntc_spark.kernels.lanes.stripes import LANES

SEED, SINGLES = 11, 20
RANGES = (1, 2, 8, 32)  #: tasks into which an Init is cut, to add up their work
DROPPED = 0.02  #: of the edges of a grid
Facts = dict[str, Any]


def dropped(graph: Graph) -> Graph:
    """Return a graph without some of its edges, drawn at random."""
    kept = np.random.default_rng(SEED).random(len(graph.edges)) >= DROPPED
    return Graph(graph.vertices, _some(graph.edges, kept), {})


def packages(copies: int) -> Graph:
    """Return copies of Debian's graph, joined by fifty random links, with the real changes to one of them."""
    found = Packages.load().copies(copies)
    return Graph(found.vertices, found.edges, {"batch of 660": (found.inserted, found.deleted)})


#: Graphs by name; the others are files of the folder that the user names.
GRAPHS: dict[str, Callable[[], Graph]] = {
    "grid450": lambda: dropped(lanes_graphs.grid(450)),
    "grid300": lambda: lanes_graphs.grid(300),
    "grid250": lambda: lanes_graphs.grid(250),
    "grid150": lambda: lanes_graphs.grid(150),
    "grid60": lambda: lanes_graphs.grid(60),
    "layered24x2500": lambda: lanes_graphs.layered(24, 2_500),
    "layered6x200": lambda: lanes_graphs.layered(6, 200),
    "debian": partial(packages, 1),
    "debian2": partial(packages, 2),
    "debian30": partial(packages, 30),
    "debian100": partial(packages, 100),
}


def save(task: Facts) -> Facts:
    """Make the graph of a name and write it: in a process of its own, for that may take much memory."""
    name = task["graph"]
    graph = GRAPHS[name]() if name in GRAPHS else lanes_graphs.literature(Path(task["graphs"]), name)
    graph.save(Path(task["file"]))
    return {"vertices": graph.vertices, "edges": len(graph.edges)}


def saved(task: Facts) -> Graph:
    """Read the graph that was written, with its own batches if it has some."""
    with np.load(task["file"]) as file:
        edges = {key: Edges.of(*file[key]) for key in file if key.startswith(("edges", "inserted", "deleted"))}
        names = [key.removeprefix("inserted ") for key in edges if key.startswith("inserted ")]
        batches = {name: (edges[f"inserted {name}"], edges[f"deleted {name}"]) for name in names}
        return Graph(int(file["vertices"]), edges["edges"], batches)


class Phases(Facts):
    """What was measured, printed as it comes."""

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        seconds = [f"{run['seconds']:.3f}" for run in value] if isinstance(value, list) else value
        print(f"  {name}: {seconds}", flush=True)


class Measured:
    """A closure on a cluster, and what its operations took."""

    def __init__(self, task: Facts) -> None:
        self.graph = saved(task)
        self._task = task
        self.spark = session.local(
            memory=task["driver_memory"],
            delta=False,
            config={
                "spark.master": task["master"],
                "spark.cores.max": str(task["cores"]),
                "spark.executor.memory": task["executor_memory"],
                "spark.executor.cores": "1",
                "spark.sql.shuffle.partitions": str(2 * task["cores"]),
                "spark.default.parallelism": str(2 * task["cores"]),
                "spark.ui.showConsoleProgress": "false",
            },
        )
        self._context = self.spark.sparkContext._jsc.sc()  # noqa: SLF001  (a benchmark may look behind the API)
        self._shipped = 0
        self._count_bytes()
        self._warm()

    def _count_bytes(self) -> None:
        """Count what the driver pickles for tasks: each of it goes once to every executor."""
        dumps = serializers.CloudPickleSerializer.dumps

        def counted(serializer: Any, thing: object) -> bytes:
            found: bytes = dumps(serializer, thing)
            self._shipped += len(found)
            return found

        serializers.CloudPickleSerializer.dumps = counted  # type: ignore[method-assign]

    def _warm(self) -> None:
        """Let every worker load what it needs."""
        small = lanes_graphs.small()
        closure = self._closure(small.edges)
        closure.apply(_changes(small.batches["rings"]))
        closure.pairs().count()
        closure.verify()

    def _closure(self, edges: Edges) -> DynamicClosure:
        return DynamicClosure.from_edges(_table(edges), self.spark, "lanes", "spark")

    def took(self, action: Callable[[], object]) -> Facts:
        """Return the seconds and the jobs that something takes, and the bytes that are shipped for it."""
        jobs, shipped = self._jobs(), self._shipped
        begun = time.perf_counter()
        action()
        seconds = time.perf_counter() - begun
        return {"seconds": seconds, "jobs": self._jobs() - jobs, "shipped": self._shipped - shipped}

    def _jobs(self) -> int:
        self._context.listenerBus().waitUntilEmpty()
        return int(self._context.dagScheduler().numTotalJobs())

    def inits(self) -> Facts:
        """Build the closure so often that the JVM has compiled what it runs."""
        return {"init": [self.took(lambda: self._closure(self.graph.edges)) for _ in range(24)]}

    def all(self) -> Facts:
        """Build the closure, change it and ask it; print what each phase took when it is done."""
        made: list[DynamicClosure] = []
        found = Phases({"init": [self.took(lambda: made.append(self._closure(self.graph.edges)))]})
        (c,) = made
        found["share"] = self._largest_share(c)
        found["delete"], found["insert"] = self._singles(c)
        batches = self._batches()
        for name, batch in batches.items():
            found[name] = [self.took(partial(c.apply, _changes(each))) for each in (batch, batch[::-1]) * 2]
        stats: list[Facts] = []
        found["count"] = [self.took(lambda: stats.append(dict(c.stats())))]
        found["pairs"], found["bytes"] = stats[0]["pairs"], stats[0]["details"]["row_bytes"]
        found["verify"] = [self.took(lambda: found.update(right=bool(c.verify())))]
        if found["pairs"] <= self._task["most_listed"]:
            found["pairs().count()"] = [self.took(lambda: c.pairs().count()) for _ in range(3)]
            c.create_views("scale")
            c.apply(_changes(batches["batch of 100"]))
            source = int(self.graph.edges.sources[len(self.graph.edges) // 2])
            question = f"SELECT count(*) FROM scale_closure WHERE src = {source}"  # noqa: S608  (a number)
            found["view after a batch"] = [self.took(self.spark.sql(question).collect)]
        return found

    def _singles(self, c: DynamicClosure) -> tuple[list[Facts], list[Facts]]:
        """Delete edges one by one, and put each back."""
        places = np.random.default_rng(SEED).permutation(len(self.graph.edges))[:SINGLES]
        deleted, inserted = [], []
        for place in places:
            one = _table(_some(self.graph.edges, np.array([place])))
            deleted.append(self.took(partial(c.delete, one)))
            inserted.append(self.took(partial(c.insert, one)))
        return deleted, inserted

    def _batches(self) -> dict[str, tuple[Edges, Edges]]:
        """Return batches of the graph, random deletions, and one at the ends that many rows have in common."""
        edges, every = self.graph.edges, {}
        if "batch of 660" in self.graph.batches:
            every["batch of 660"] = self.graph.batches["batch of 660"]
        sizes = [size for size in (100, 10_000) if size < len(edges) // 2]
        return every | lanes_graphs.random_batches(edges, *sizes) | {"every row": (Edges.of(), self._common())}

    def _common(self) -> Edges:
        """Return the edges into the vertex that all others of a grid, and many of any graph, reach."""
        last = int(self.graph.edges.targets.max())
        return _some(self.graph.edges, self.graph.edges.targets == last)

    def _largest_share(self, c: DynamicClosure) -> float:
        """Return how much of the state the task made that made most of it."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415  (Spark's own convention)

        rows = c.blocks().where("matrix = 'stripes'").groupBy(F.spark_partition_id()).agg(F.sum("bytes")).collect()
        sizes = [int(row[1]) for row in rows]
        return max(sizes) / sum(sizes)


def work(task: Facts) -> Facts:
    """Run the tasks of an Init one after the other, as so many tasks each, and add up their seconds and looks."""
    graph = saved(task)
    adjacency = EdgeSet.of(graph.edges).adjacency(graph.vertices)
    component, count = strong_components(*adjacency)
    members = grouped(component, count)
    plan = numbered(*contracted(*adjacency, component, *members), LANES).plan
    sizes = np.zeros(len(plan.indices), np.int32)
    sizes[plan.numbers] = np.diff(members[0])
    total = -(-count // LANES)
    cuts = {ranges: _cut(total, ranges) for ranges in RANGES}
    pickled = {
        ranges: cloudpickle.dumps(tasks.building(plan, sizes, LANES, in_process.BLOCK_BYTES, cut))
        for ranges, cut in cuts.items()
    }
    _one_by_one(pickled[RANGES[-1]], len(cuts[RANGES[-1]]))  # compiled now
    found = [{"ranges": ranges, **_one_by_one(pickled[ranges], len(cut))} for ranges, cut in cuts.items()]
    return {"work": found, "pickled": len(pickled[1])}


def _cut(total: int, ranges: int) -> list[tuple[int, int]]:
    """Cut so many stripes into about so many ranges."""
    step = -(-total // (ranges * build.TOGETHER)) * build.TOGETHER
    return [(begin, min(begin + step, total)) for begin in range(0, total, step)]


def _one_by_one(pickled: bytes, ranges: int) -> Facts:
    """Run a task for each range, as a worker does that gets the task anew."""
    looks, begun, sizes = 0, time.process_time(), []
    for number in range(ranges):
        run = pickle.loads(pickled)  # noqa: S301  (our own)
        size = 0
        for batch in run(iter([pa.record_batch({"id": [number]})])):
            reports = batch.column("reports")[0].as_py()
            looks += sum(each["key"] for each in reports if each["operation"] == tasks.BUILT)
            size += batch.column("payload")[0].as_buffer().size
        sizes.append(size)
    seconds = time.process_time() - begun
    return {"seconds": seconds, "looks": looks, "share": max(sizes) / max(sum(sizes), 1), "bytes": sum(sizes)}


def median(runs: list[Facts]) -> float:
    """Return the median of the seconds."""
    return statistics.median(run["seconds"] for run in runs)


def _some(edges: Edges, which: Any) -> Edges:
    return Edges(edges.sources[which], edges.targets[which])


def _table(edges: Edges) -> pa.Table:
    return pa.table({"src": edges.sources, "dst": edges.targets})


def _changes(batch: tuple[Edges, Edges]) -> pa.Table:
    """Return insertions and deletions as a table of changes."""
    inserted, deleted = batch
    op = np.repeat(["insert", "delete"], [len(inserted), len(deleted)])
    ends = (np.concatenate([getattr(each, side) for each in batch]) for side in ("sources", "targets"))
    return pa.table({"op": op, **dict(zip(("src", "dst"), ends, strict=True))})


def main() -> None:
    task = json.loads(sys.argv[1])
    alone = {"save": save, "work": work}.get(task["what"])
    found = alone(task) if alone else getattr(Measured(task), task["what"])()
    print("RESULT " + json.dumps(found), flush=True)
    sys.stdin.readline()  # until the peaks were read


if __name__ == "__main__":
    main()
