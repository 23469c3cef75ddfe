"""What durability costs and gives: batches at a location against memory, and opening against building anew.

On the dependencies of Debian's packages, in one local session, tables on the local disk:

1. without Spark: the first save of a small graph, at most a second, and then one change, at most 60 ms (the median);
2. `dyntc query`, a new process without Spark: at most 2 s;
3. opening against building anew, without Spark, by the CPU time of this process: at most a fifth;
4. batches of 1, 100 and 10,000 changes (edges deleted and inserted again, in turn): seconds a batch and changes a
   second in memory, at a location that this process writes, at one that Spark writes, and of the bare commits: the
   same rows appended to tables of the same columns, one for the log and one for the commits, by Spark and Delta alone;
5. the real batch of 660 changes and its inverse, likewise: where Spark writes, at most twice that in memory and the
   bare commits;
6. the same batches where `publish` keeps a table of all pairs, against Delta's merge of the same changed pairs into
   the same table, by Spark alone: at most twice as long;
7. opening, against building anew on Spark: `from_edges` of the same edges, which are in a Delta table too; at most a
   fifth;
8. opening after so many batches since the last checkpoint.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from benchmarks.harness import Line, ratio, report, take_turns
from dyntc_spark import DynamicClosure, datasets, session
from dyntc_spark.graph.store import store
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.tables.frames import frame

SIZES = (1, 100, 10_000)
COPIES = 10
TIMES, BOUND = 2.0, 0.2
#: Seconds that the first save of a small graph and one change may take, without Spark.
FIRST_SAVE, ONE_CHANGE, CHANGES = 1.0, 0.06, 200
#: Seconds that one question of the command line may take.
ONE_QUESTION = 2.0


def run(*, quick: bool = False) -> bool:
    """Measure all of it; tell whether the bounds were kept."""
    folder = Path(tempfile.mkdtemp(prefix="dyntc-durable-"))
    try:
        lines = []
        for line in _measured(folder, quick=quick):
            print(f"{line.name}: {line.value:.3f} {line.unit}", file=sys.stderr, flush=True)  # it takes a while
            lines.append(line)
        return report("durable", lines)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measured(folder: Path, *, quick: bool) -> Iterator[Line]:
    yield from _without_spark(folder / "alone")  # before there is a session
    yield from _one_question(folder / "asked")
    yield from _opening_alone(folder / "ten copies", 1 if quick else COPIES)
    yield from _lines(session.local(2, delta=True), folder, quick=quick)


def _without_spark(folder: Path) -> Iterator[Line]:
    """Save a small graph, and change it often enough for checkpoints and compactions to be among it."""
    closure = DynamicClosure.from_edges([(vertex, vertex + 1) for vertex in range(100)])
    closure.apply([("insert", 7, 3)])  # compiled once
    first = _seconds(lambda: closure.save(str(folder)))
    yield Line("the first save of 101 vertices, without Spark", first, "s", f"<= {FIRST_SAVE}", first <= FIRST_SAVE)
    times = []
    for number in range(CHANGES):
        batch = [("insert" if number % 2 else "delete", 50, 51)]
        times.append(_seconds(lambda batch=batch: closure.apply(batch)))
    middle = statistics.median(times)
    detail = {"seconds": {"median": middle, "low": min(times), "high": max(times)}}
    yield Line(
        "one durable change, without Spark", middle, "s", f"<= {ONE_CHANGE}", middle <= ONE_CHANGE, detail=detail
    )
    opened = _seconds(lambda: DynamicClosure.open(str(folder)))
    yield Line(f"opening after {CHANGES} changes, without Spark", opened, "s")


def _one_question(folder: Path) -> Iterator[Line]:
    """Ask in new processes, after one that may have had to compile."""
    edges = datasets.debian_dependencies()
    DynamicClosure.from_edges(edges).save(str(folder))
    # Python keeps what it has compiled, as it does where nobody tells it not to.
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings["PYTHONPYCACHEPREFIX"] = f"{folder} compiled"
    words = [sys.executable, "-m", "dyntc_spark", "query", str(folder), *edges.slice(0, 1).to_pylist()[0].values()]

    def ask() -> tuple[float, float]:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = _seconds(lambda: subprocess.run(words, check=True, env=settings, stdout=subprocess.DEVNULL))  # noqa: S603
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    seen = [ask() for _ in range(6)][1:]
    clock, cpu = (statistics.median(each) for each in zip(*seen, strict=True))
    yield Line("dyntc query, a new process", clock, "s", f"<= {ONE_QUESTION}", clock <= ONE_QUESTION)
    yield Line("dyntc query, a new process, CPU time", cpu, "s", f"<= {ONE_QUESTION}", cpu <= ONE_QUESTION)


def _opening_alone(folder: Path, copies: int) -> Iterator[Line]:
    """Compare the CPU time of opening a closure with that of building it of a Delta table of its edges."""
    edges = _copied(datasets.debian_dependencies(), copies)
    table, location = str(folder / "edges"), str(folder / "deps")
    folder.mkdir()
    write_deltalake(table, edges)
    DynamicClosure.from_edges(edges).save(location)
    contestants = {
        "open": lambda: DynamicClosure.open(location),
        "build anew": lambda: DynamicClosure.from_edges(DeltaTable(table).to_pyarrow_table()),
    }
    turns = [{who: _cpu_seconds(act) for who, act in contestants.items()} for _ in range(6)][1:]
    times = {who: [turn[who] for turn in turns] for who in contestants}
    for who, seen in times.items():
        yield Line(f"{who}, {len(edges)} edges without Spark, CPU time", statistics.median(seen), "s")
    yield ratio(f"opening {len(edges)} edges without Spark, CPU time", times, "open", "build anew", BOUND)


def _lines(spark: SparkSession, folder: Path, *, quick: bool) -> Iterator[Line]:
    edges, changes = datasets.debian_dependencies(), datasets.debian_security_changes()
    repeats = 3 if quick else 5
    closures = _Closures(spark, folder / "deps", edges)
    for size in SIZES:
        times = closures.race(_there_and_back(edges, size), repeats)
        yield from _throughput(size, times)
    times = closures.race(_inverse(changes), repeats)
    yield from _throughput(len(changes), times)
    middle = {who: statistics.median(seen) for who, seen in times.items()}
    allowed = TIMES * middle["in memory"] + middle["bare commits"]
    value = middle["Spark writes"] / allowed
    yield Line(
        f"a batch of {len(changes)} that Spark writes, against {TIMES:.0f} in memory and the bare commits",
        value,
        "x",
        "<= 1",
        value <= 1,
    )
    yield from _published(spark, folder / "published", edges, changes, repeats)
    for copies in (1,) if quick else (1, COPIES):
        yield _opening(spark, folder / f"{copies} copies", _copied(edges, copies), 3 if quick else 5)
    yield from _recovery(spark, folder / "log", edges, changes, (0, 8) if quick else (0, 8, 32, 128))


class _Closures:
    """A closure in memory, one at a location that this process writes, one that Spark writes, and the bare commits."""

    def __init__(self, spark: SparkSession, folder: Path, edges: pa.Table) -> None:
        self._memory, self._stored, self._by_spark = (DynamicClosure.from_edges(edges, spark=spark) for _ in range(3))
        self._stored.save(str(folder))
        self._by_spark.save(f"{folder} 100%")  # a path with this sign is left to Spark
        self._spark, self._place, self._bare = spark, Place(spark, str(folder)), f"{folder} bare"
        self._number = 0

    def race(self, batches: Iterator[pa.Table], repeats: int) -> dict[str, list[float]]:
        """Let batches come to all in turns, with the bare commits of the same rows after them."""
        contestants = {"in memory": self._memory, "at a location": self._stored, "Spark writes": self._by_spark}
        times: dict[str, list[float]] = {name: [] for name in (*contestants, "bare commits")}
        for turn in range(repeats + 2):
            batch = next(batches)
            seen = {who: _seconds(lambda to=to, batch=batch: to.apply(batch)) for who, to in contestants.items()}
            seen["bare commits"] = self._commit()
            for who, seconds in seen.items():
                if turn > 1:
                    times[who].append(seconds)
        return times

    def _commit(self) -> float:
        version = self._stored.version
        rows, row = (
            self._place.read(table, lambda column: column("version") == version) for table in ("log", "commits")
        )
        row = row.slice(0, 1)
        self._number += 1

        def write() -> None:
            for table, content in (("log", rows), ("commits", row)):
                writer = frame(self._spark, content).coalesce(1).write.format("delta").mode("append")
                once = {"txnAppId": "bare", "txnVersion": str(self._number)} if table == "commits" else {}
                writer.options(**once).save(f"{self._bare}/{table}")

        return _seconds(write)


def _throughput(size: int, times: dict[str, list[float]]) -> Iterator[Line]:
    for who, seen in times.items():
        middle = statistics.median(seen)
        detail = {"seconds": {"median": middle, "low": min(seen), "high": max(seen)}}
        yield Line(f"a batch of {size}, {who}", size / middle, "changes/s", detail=detail)


def _published(spark: SparkSession, folder: Path, edges: pa.Table, changes: pa.Table, repeats: int) -> Iterator[Line]:
    """Compare batches at a location with a published table with the merges of what they change."""
    closure = DynamicClosure.from_edges(edges, spark=spark)
    location, table, twin = (str(folder / name) for name in ("deps", "closure", "twin"))
    closure.save(location, publish=table)
    pairs_there = spark.read.format("delta").load(table)
    pairs_there.write.format("delta").option("delta.enableChangeDataFeed", "true").save(twin)  # as the other one has it
    for size, batches in {1: _inverse(_needed(edges)), len(changes): _inverse(changes)}.items():
        times: dict[str, list[float]] = {"published": [], "bare merge": []}
        pairs = []
        for turn in range(repeats + 2):
            batch = next(batches)
            seconds = _seconds(lambda batch=batch: closure.apply(batch))
            changed = f"SELECT op, src, dst FROM delta.`{location}/changes` WHERE version = {closure.version}"  # noqa: S608
            merge = f"MERGE INTO delta.`{twin}` AS t USING ({changed}) AS c ON t.src = c.src AND t.dst = c.dst"
            does = "WHEN MATCHED AND c.op = 'delete' THEN DELETE WHEN NOT MATCHED AND c.op = 'insert' THEN INSERT *"
            bare = _seconds(lambda text=f"{merge} {does}": spark.sql(text).collect())
            if turn > 1:
                times["published"].append(seconds)
                times["bare merge"].append(bare)
                pairs.append(spark.sql(changed).count())
        line = ratio(f"a published batch of {size}, against the bare merge", times, "published", "bare merge", TIMES)
        line.detail["changed pairs, the median"] = statistics.median(pairs)
        yield line


def _opening(spark: SparkSession, folder: Path, edges: pa.Table, repeats: int) -> Line:
    table, location = str(folder / "edges"), str(folder / "deps")
    frame(spark, edges).write.format("delta").save(table)
    DynamicClosure.from_edges(edges, spark=spark).save(location)
    contestants = {
        "open": lambda: DynamicClosure.open(location, spark=spark),
        "build anew": lambda: DynamicClosure.from_edges(spark.read.format("delta").load(table)),
    }
    times = take_turns(contestants, repeats, warmup=1)
    return ratio(f"opening {len(edges)} edges against building anew", times, "open", "build anew", BOUND)


def _recovery(
    spark: SparkSession, folder: Path, edges: pa.Table, changes: pa.Table, lengths: tuple[int, ...]
) -> Iterator[Line]:
    """Open after so many batches since the checkpoint, of which there is only the first."""
    kept, store.CHECKPOINT_BATCHES = store.CHECKPOINT_BATCHES, 2**30
    try:
        closure = DynamicClosure.from_edges(edges, spark=spark)
        closure.save(str(folder))
        batches = _inverse(changes)
        for length in lengths:
            while closure.version < length:  # a batch a version
                closure.apply(next(batches))
            times = [_seconds(lambda: DynamicClosure.open(str(folder), spark=spark)) for _ in range(3)]
            yield Line(f"opening with {length} batches of {len(changes)} in the log", statistics.median(times), "s")
    finally:
        store.CHECKPOINT_BATCHES = kept


def _there_and_back(edges: pa.Table, size: int) -> Iterator[pa.Table]:
    """Delete edges drawn at random, and insert them again; then others."""
    rng = np.random.default_rng(size)
    while True:
        drawn = edges.take(rng.choice(len(edges), size, replace=False))
        for op in ("delete", "insert"):
            yield drawn.add_column(0, "op", pa.array([op] * size))


def _needed(edges: pa.Table) -> pa.Table:
    """Return the deletion of an edge that changes a pair: the only one that leaves its vertex."""
    counts = edges["src"].value_counts()
    source = next(each["values"] for each in counts.to_pylist() if each["counts"] == 1)
    return edges.filter(pc.equal(edges["src"], source)).add_column(0, "op", pa.array(["delete"]))


def _inverse(changes: pa.Table) -> Iterator[pa.Table]:
    """Return changes and their inverse in turns."""
    other = {"insert": "delete", "delete": "insert"}
    back = changes.set_column(0, "op", pa.array([other[op] for op in changes["op"].to_pylist()]))
    return cycle([changes, back])


def _copied(edges: pa.Table, count: int) -> pa.Table:
    """Put so many copies side by side."""
    names = [edges[side].to_pylist() for side in ("src", "dst")]
    copies = [[f"{name} {copy}" for copy in range(count) for name in side] for side in names]
    return edges if count == 1 else pa.table({"src": copies[0], "dst": copies[1]})


def _cpu_seconds(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
