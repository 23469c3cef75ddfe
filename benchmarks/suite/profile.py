"""Where the time goes on Spark: jobs that do nothing, Arrow between the JVM and Python, kernels, the rest.

For an operation that starts j jobs and moves b bytes between the JVM and Python:

- *jobs*: j times what a job takes that does nothing;
- *transfer*: b over the rate at which a ``mapInArrow`` that does nothing passes binary rows (there and back);
- *kernels*: what the same operation takes in one process, over the number of cores;
- *rest*: what remains (planning, checkpoints, serialisation); below 0 where the others overlap.

The same with one core and with two gives the strong scaling.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.suite import ours, workloads
from benchmarks.suite.on_spark import Session

ENGINES = ("recompute", "refresh", "algebraic")
ROW_BYTES, ROWS = 1 << 18, 128  # of what is passed through: 32 MiB
REPEATS = 3


def measured(vertices: int, cores: int) -> dict[str, Any]:
    """Measure with one core and with ``cores``, each in a process of its own."""
    found: dict[str, Any] = {}
    for count in sorted({1, cores}):
        command = [sys.executable, "-m", "benchmarks.suite.profile", str(vertices), str(count)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603  (ourselves)
        found[f"{count} cores"] = json.loads(done.stdout.splitlines()[-1])
        print(f"  {count} cores: {json.dumps(found[f'{count} cores']['machine'])}", flush=True)
    return found


def _profile(vertices: int, cores: int) -> dict[str, Any]:
    graph, real = workloads.debian(part=vertices if vertices < 64_000 else None)
    workload = workloads.made("debian", graph, {}, (), real=real)
    asked = tuple(side[:10_000] for side in workload.questions)
    session = Session(cores)
    job = statistics.median(_seconds(lambda: session.spark.range(1, numPartitions=1).collect()) for _ in range(15))
    rate = _rate(session, cores)
    found: dict[str, Any] = {"machine": {"empty job": job, "bytes a second": rate}, "operations": []}
    for name in ENGINES:
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
            before = session.counters()
            seconds = [_seconds(partial(action, far)) for _ in range(times)]
            after = session.counters()
            kernel = min(_seconds(partial(action, near)) for _ in range(times))
            jobs = (after["jobs"] - before["jobs"]) / len(seconds)
            moved = int(far.facts().get("bytes", 0)) if what == "init" else 0  # type: ignore[call-overload]
            total = statistics.median(seconds)
            shares = {"jobs": jobs * job, "transfer": moved / rate, "kernels": kernel / cores}
            shares["rest"] = total - sum(shares.values())
            found["operations"].append(
                {
                    "engine": name,
                    "what": what,
                    "seconds": total,
                    "jobs": jobs,
                    "in process": kernel,
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
    print(json.dumps(_profile(int(sys.argv[1]), int(sys.argv[2]))))
