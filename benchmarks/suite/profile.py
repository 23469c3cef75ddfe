"""Where an operation on Spark spends its time: empty jobs, Arrow between the JVM and Python, kernels, the rest.

- *jobs*: as many times what a job takes that does nothing;
- *transfer*: bytes that Spark says have gone to Python workers and back, over the rate of a ``mapInArrow`` that does
  nothing;
- *kernels*: what Spark says Python code took in tasks, without the transfer, over the number of cores;
- *tasks*: what else Spark says tasks took, over the number of cores: waiting for a Python worker, and the JVM;
- *rest*: what remains: planning, checkpoints, and what the driver computes; below 0 where the others overlap.

What the same operation takes in one process without Spark stands beside it. The same with one core and with two gives
the strong scaling.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.suite import ours, workloads
from benchmarks.suite.on_spark import Session

ENGINES = ("recompute", "lanes", "algebraic")
ROW_BYTES, ROWS = 1 << 18, 128  # of what is passed through: 32 MiB
REPEATS = 3
#: What Spark measures of a stage, under its own names; times are in milliseconds.
MEASURED = {
    "internal.metrics.executorRunTime": "tasks",
    "time to execute Python code": "code",
    "data sent to Python workers": "bytes",
    "data returned from Python workers": "bytes",
}


def measured(vertices: int, cores: Sequence[int], engines: Sequence[str] = ENGINES) -> dict[str, Any]:
    """Measure engines with so many cores, each time in a process of its own."""
    found: dict[str, Any] = {}
    for count in cores:
        command = [sys.executable, "-m", "benchmarks.suite.profile", str(vertices), str(count), *engines]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603  (ourselves)
        found[f"{count} cores"] = json.loads(done.stdout.splitlines()[-1])
        print(f"  {count} cores: {json.dumps(found[f'{count} cores']['machine'])}", flush=True)
    return found


class EventLog:
    """What Spark writes of its stages, read as it grows: seconds over all tasks, and bytes to Python and back."""

    def __init__(self, folder: str) -> None:
        self._folder, self._read = Path(folder), 0
        self.config = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self._folder.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }

    def new(self) -> dict[str, float]:
        """Sum up the stages that have ended since the last call."""
        (path,) = (file for file in self._folder.iterdir() if not file.name.startswith("."))
        found = dict.fromkeys(MEASURED.values(), 0.0)
        with path.open("rb") as file:
            file.seek(self._read)
            lines = [line for line in file if line.endswith(b"\n")]
        self._read += sum(map(len, lines))
        for event in map(json.loads, lines):
            if event["Event"] == "SparkListenerStageCompleted":
                for one in event["Stage Info"]["Accumulables"]:
                    if one.get("Name") in MEASURED:
                        found[MEASURED[one["Name"]]] += float(one["Value"]) / (1 if "data" in one["Name"] else 1_000)
        return found


def _profile(vertices: int, cores: int, engines: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return _profiled(vertices, cores, engines, EventLog(folder))


def _profiled(vertices: int, cores: int, engines: Sequence[str], log: EventLog) -> dict[str, Any]:
    graph, real = workloads.debian(part=vertices if vertices < 64_000 else None)
    workload = workloads.made("debian", graph, {}, (), real=real)
    asked = tuple(side[:10_000] for side in workload.questions)
    session = Session(cores, **log.config)
    job = statistics.median(_seconds(lambda: session.spark.range(1, numPartitions=1).collect()) for _ in range(15))
    rate = _rate(session, cores)
    found: dict[str, Any] = {"machine": {"empty job": job, "bytes a second": rate}, "operations": []}
    for name in engines:
        near, far = ours.Ours(name, "local"), ours.Ours(name, "spark")
        near.start(cores)
        far.start(cores)  # the same session
        actions: dict[str, Callable[[ours.Ours], object]] = {
            "init": lambda system: system.init(workload.edges, workload.vertices),
            "batch": lambda system: system.apply(*real),
            "batch back": lambda system: system.apply(real[1], real[0]),
            "10,000 questions": lambda system: system.query(*asked),
        }
        for what, action in actions.items():
            times = 1 if what.startswith("batch") else REPEATS
            before, _ = session.counters(), log.new()
            seconds = [_seconds(partial(action, far)) for _ in range(times)]
            after = session.counters()
            jobs, shuffled = ((after[name] - before[name]) / times for name in ("jobs", "shuffled"))
            used = {name: value / times for name, value in log.new().items()}
            here = min(_seconds(partial(action, near)) for _ in range(times))
            total = statistics.fmean(seconds)
            transfer = used["bytes"] / rate
            kernels = max(used["code"] / cores - transfer, 0.0)
            in_tasks = max(used["tasks"] - used["code"], 0.0) / cores
            shares = {"jobs": jobs * job, "transfer": transfer, "kernels": kernels, "tasks": in_tasks}
            shares["rest"] = total - sum(shares.values())
            found["operations"].append(
                {
                    "engine": name,
                    "what": what,
                    "seconds": total,
                    "jobs": jobs,
                    "bytes": used["bytes"],
                    "shuffled": shuffled,
                    "in process": here,
                    **{f"{k} seconds": v for k, v in shares.items()},
                }
            )
    session.stop()
    return found


def _rate(session: Session, cores: int) -> float:
    """Bytes a second that pass from the JVM through Python and back, on all cores."""
    table = pa.table({"payload": [np.random.default_rng(k).bytes(ROW_BYTES) for k in range(ROWS)]})
    frame = session.spark.createDataFrame(table).repartition(cores).localCheckpoint()
    passed = frame.mapInArrow(_same, frame.schema).selectExpr("sum(length(payload))")
    kept = frame.selectExpr("sum(length(payload))")
    with_python, without = (min(_seconds(each.collect) for _ in range(4)) for each in (passed, kept))
    return ROW_BYTES * ROWS / max(with_python - without, 1e-3)


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


if __name__ == "__main__":
    print(json.dumps(_profile(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
