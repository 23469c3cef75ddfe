"""The run: every cell in a process of its own, one at a time; results as JSON, as a table, as pictures."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import platform
import signal
import statistics
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, commit
from benchmarks.suite import cell, growth, limits, memory, oracle, profile, report
from benchmarks.suite.digest import Digest
from benchmarks.suite.plan import PLANS, Entry, Plan
from benchmarks.suite.workloads import Workload

Record = dict[str, Any]
START_SECONDS = 180  # for a system to load and warm up
STOP_SECONDS = 10  # for it to clean up
END = "end"


def run(
    mode: str,
    only: Sequence[str] = (),
    systems: Sequence[str] = (),
    folder: Path = RESULTS,
    cores: int = 2,
    *,
    resume: bool = False,
    against: Path | None = None,
) -> bool:
    """Run a plan, or only some workloads and systems of it; whether no system gave a wrong answer.

    With ``resume``, workloads that an interrupted run has finished are taken from its results. The results ``against``
    which these are held are a file of an earlier run.
    """
    plan = PLANS[mode]()
    started = time.monotonic()
    about = {
        "mode": mode,
        "commit": commit(),
        "cores": cores,
        "limit_seconds": plan.limit,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
    }
    results: dict[str, Any] = {"about": about, "workloads": {}, "cells": []}
    partial = bool(only or systems)
    path = folder / f"suite-{mode}{'-part' if partial else ''}.json"
    folder.mkdir(parents=True, exist_ok=True)
    before = 0
    if resume and path.exists():
        results = json.loads(path.read_text(encoding="utf-8"))
        before = results["about"].get("seconds", 0)
    about = results["about"]
    with tempfile.TemporaryDirectory() as scratch:
        for entry in plan.entries:
            if (only and entry.name not in only) or entry.name in results["workloads"]:
                continue
            chosen = [name for name in entry.systems if not systems or name in systems]
            _workload(entry, chosen, plan, results, Path(scratch), cores)
            about["seconds"] = before + round(time.monotonic() - started)
            path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if not partial:
        if plan.growth:
            print(f"\ngrowth, {time.strftime('%H:%M:%S')}", flush=True)
            results["growth"] = growth.measured(plan.growth)
            results["limits"] = limits.measured()
        if plan.profile:
            print(f"\nprofile, {time.strftime('%H:%M:%S')}", flush=True)
            results["profile"] = profile.measured(plan.profile, sorted({1, cores}) if plan.scaling else [cores])
    about["seconds"] = before + round(time.monotonic() - started)
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    report.write(results, path, json.loads(against.read_text(encoding="utf-8")) if against else None)
    return all(record["status"] != "wrong" for record in results["cells"])


def _workload(
    entry: Entry, chosen: Sequence[str], plan: Plan, results: dict[str, Any], scratch: Path, cores: int
) -> None:
    """Run the systems on one workload."""
    workload = entry.make()
    file = scratch / f"{entry.name}.npz"
    workload.save(file)
    expected, answers = oracle.expected(workload)
    tried = oracle.tried(workload)
    results["workloads"][entry.name] = facts(workload, expected)
    size = f"{workload.vertices:,} vertices, {len(workload.edges):,} edges, {expected[0].pairs:,} pairs"
    print(f"\n{entry.name}: {size}, {time.strftime('%H:%M:%S')}", flush=True)
    for name in chosen:
        task = cell.Task(
            file,
            name,
            tuple(expected),
            answers,
            cores,
            slow=plan.slow,
            most_vertices=plan.most_vertices,
            tried=tried,
        )
        for told in in_its_process(task, entry.limit or plan.limit):
            record = {"workload": entry.name, "system": name, **summed(told)}
            results["cells"].append(record)
            print(f"  {name:24}{report.line(record)}", flush=True)


def facts(workload: Workload, expected: Sequence[Digest]) -> dict[str, Any]:
    """Return what a workload is like, and its closure at the start and after each group."""
    return {
        "vertices": workload.vertices,
        "edges": len(workload.edges),
        "pairs": expected[0].pairs,
        "pairs_after": [digest.pairs for digest in expected[1:]],
        "groups": [group.name for group in workload.groups],
        "what_if": cell.what_if_phase(workload),
        "acyclic": workload.acyclic,
        "largest_component": workload.largest_component,
    }


def summed(told: Record) -> Record:
    """Return a phase with the median and the spread of its runs."""
    if not told.get("runs"):
        return told
    return {**told, "median": statistics.median(told["runs"]), "low": min(told["runs"]), "high": max(told["runs"])}


def in_its_process(task: cell.Task, limit: float) -> list[Record]:
    """Run a cell and give its phases; what is not done after ``limit`` seconds is ended and said to be."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.suite.cell"])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, theirs))
    started = time.monotonic()
    process.start()
    theirs.close()
    try:
        told, finished, over = _listened(ours, started, limit)
        process.join(STOP_SECONDS if finished else 0)
    finally:
        _end(process.pid)
    process.join()
    if finished:
        return told
    message = f"> {limit:g} s for the whole cell" if over else f"its process ended with code {process.exitcode}"
    where = f"after {told[-1]['phase']}" if told else "init"
    return [*told, {"phase": where, "status": "limit" if over else "failed", "message": message}]


def _listened(told_by: Connection, started: float, limit: float) -> tuple[list[Record], bool, bool]:
    """Take what a cell tells; whether it has finished, and whether it took too long. A start has a limit of its own."""
    told: list[Record] = []
    end = started + START_SECONDS
    while (left := end - time.monotonic()) > 0:
        try:
            if not told_by.poll(left):
                continue
            news = told_by.recv()
        except EOFError:
            return told, False, False
        if news["phase"] == END:
            return told, True, False
        if news["phase"] == cell.STARTED:
            end = time.monotonic() + limit
        else:
            told.append(news)
    return told, False, True


def _work(task: cell.Task, connection: Connection) -> None:
    """Run in the cell's process: chatter of libraries goes nowhere."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.environ.update(task.environment)
    cell.run(task, connection.send)
    connection.send({"phase": END})


def _end(root: int | None) -> None:
    """End a process and all below it."""
    for pid in [] if root is None else reversed(list(memory.descendants(root))):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.suite", description=__doc__)
    parser.add_argument("mode", nargs="?", default="quick", choices=list(PLANS))
    parser.add_argument("--workloads", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--systems", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--cores", type=int, default=2, help="of Spark and of the libraries that use several")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results go")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was interrupted")
    parser.add_argument("--against", type=Path, metavar="FILE", help="results of an earlier run: lists what is slower")
    chosen = parser.parse_args(arguments)
    right = run(
        chosen.mode,
        chosen.workloads,
        chosen.systems,
        chosen.folder,
        chosen.cores,
        resume=chosen.resume,
        against=chosen.against,
    )
    return 0 if right else 1
