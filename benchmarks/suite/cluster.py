"""Cells on a Spark standalone cluster of several processes, with a state that does not fit one executor's memory.

``python -m benchmarks.suite.cluster [--workers 3] [--memory 512m] [--copies 10] [--systems …]``

Master and workers are started from the pyspark package on 127.0.0.1, run what the suite runs in its cells, and are
ended by their numbers. The state is copies of Debian's graph; the results say how much of it each executor held in
memory and on disk.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS
from benchmarks.suite import cell, oracle, report, runner, workloads
from dyntc_spark import machine

START_SECONDS = 240
SYSTEMS = ("recompute@spark", "lanes@spark")
LIMIT = 280.0


@contextlib.contextmanager
def cluster(workers: int, memory: str) -> Iterator[str]:
    """Start a master and workers of one core each; give the master's address; end them all."""
    port = _free_port()
    started: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder, machine.environment():
        try:
            log = Path(folder, "master.log")
            started.append(
                _process(log, "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
            )
            _wait_until_open(port, started[0], log)
            address = f"spark://127.0.0.1:{port}"
            for number in range(workers):
                size = ("--cores", "1", "--memory", memory, "--work-dir", str(Path(folder, f"work{number}")))
                place = ("--host", "127.0.0.1", "--webui-port", "0")
                log = Path(folder, f"worker{number}.log")
                started.append(_process(log, "worker.Worker", *place, *size, address))
            for number in range(workers):
                _wait_until_said(Path(folder, f"worker{number}.log"), "Successfully registered", started[1 + number])
            yield address
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=20)
                if process.poll() is None:
                    process.kill()


def _process(log: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [str(machine.spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m"}
    with log.open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)  # noqa: S603


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _wait_until_open(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in _ticks(process, log):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return


def _wait_until_said(log: Path, words: str, process: subprocess.Popen[bytes]) -> None:
    for _ in _ticks(process, log):
        if words in log.read_text(encoding="utf-8", errors="replace"):
            return


def _ticks(process: subprocess.Popen[bytes], log: Path) -> Iterator[None]:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        yield
        time.sleep(0.2)
    raise RuntimeError(
        f"part of the cluster did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}"
    )


def run(workers: int, memory: str, copies: int, systems: tuple[str, ...], folder: Path = RESULTS) -> bool:
    """Run the cells and write the results; whether all were right."""
    graph, real = workloads.debian(copies)
    name = f"debian-x{copies}"
    workload = workloads.made(name, graph, {100: 3}, ("mixed",), real=real)
    expected, answers = oracle.expected(workload)
    cores = min(workers, os.cpu_count() or workers)
    about = {"mode": "cluster", "workers": workers, "executor_memory": memory, "cores": cores, "limit_seconds": LIMIT}
    results: dict[str, Any] = {"about": about, "workloads": {name: runner.facts(workload, expected)}, "cells": []}
    print(
        f"{name}: {workload.vertices:,} vertices, {expected[0].pairs:,} pairs; {workers} executors of {memory}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as scratch, cluster(workers, _worker_memory(memory)) as address:
        where = {"DYNTC_BENCH_MASTER": address, "DYNTC_BENCH_EXECUTOR_MEMORY": memory}
        file = Path(scratch, "workload.npz")
        workload.save(file)
        for system in systems:
            task = cell.Task(file, system, tuple(expected), answers, workers, environment=where)
            for told in runner.in_its_process(task, LIMIT):
                record = {"workload": name, "system": system, **runner.summed(told)}
                results["cells"].append(record)
                print(f"  {system:24}{report.line(record)}  {record.get('facts', {}).get('executors', '')}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite-cluster.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    return all(record["status"] == "ok" for record in results["cells"])


def _worker_memory(memory: str) -> str:
    """Return what a worker offers: an executor's heap, and as much again for what Spark adds to it."""
    return f"{2 * int(memory[:-1])}{memory[-1]}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.suite.cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--memory", default="512m", help="heap of an executor")
    parser.add_argument("--copies", type=int, default=10, help="of Debian's graph: 3.9 million pairs each")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--folder", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    return 0 if run(chosen.workers, chosen.memory, chosen.copies, tuple(chosen.systems), chosen.folder) else 1


if __name__ == "__main__":
    sys.exit(main())
