"""One cell: a system on a workload, in a process of its own; every phase is told as soon as it is done.

A phase is Init, a group of batches, or questions. Its times count when the closure has the digest, or the answers are
those, that a search from every vertex gave; else the cell ends there with what came instead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.harness import cause
from benchmarks.suite import memory, systems
from benchmarks.suite.digest import Digest
from benchmarks.suite.oracle import coded
from benchmarks.suite.system import NotTriedError, Recomputing, System
from benchmarks.suite.workloads import Batch, Group, Workload
from dyntc_spark.edges import Edges

Tell = Callable[[dict[str, Any]], None]
SLOW_STARTS = 4  #: so many times ``slow`` may the first Init take before a second one is too long
STARTED = "started"  #: told when libraries are loaded and warm: time begins here


@dataclass(frozen=True)
class Task:
    """What a cell's process is to do."""

    workload: Path
    system: str
    expected: tuple[Digest, ...]  #: at the start, and after each group
    answers: npt.NDArray[np.bool_]  #: to the questions, at the end
    cores: int = 2
    repeats: int = 3  #: of Init, and of questions
    slow: float = 2.0  #: seconds from which a phase is not repeated
    most_vertices: int = 1_100  #: for engines that are there to study the paper
    tried: Digest | None = None  #: of the closure after the batch that is only tried
    environment: Mapping[str, str] = field(default_factory=dict)  #: variables that its process gets


class WrongAnswerError(Exception):
    """A system's answer is not the right one."""


def run(task: Task, tell: Tell) -> None:
    """Run a cell and tell its phases."""
    phase = "start"
    try:
        workload, system = Workload.load(task.workload), systems.make(task.system, task.most_vertices)
        system.check(workload)
        system.start(task.cores)
        tell({"phase": STARTED})
        watch = _Watch(system, task, tell)
        try:
            phase = "init"
            first = watch.init(workload)
            for number, group in enumerate(workload.groups, 1):
                phase = group.name
                last = number == len(workload.groups)
                if isinstance(system, Recomputing):
                    wanted = last or first < task.slow
                    watch.recompute(group, task.expected[number], workload.vertices, wanted=wanted)
                else:
                    watch.group(group, task.expected[number], workload.vertices)
            for count in (1, len(workload.questions[0])):
                phase = f"query/{count}"
                watch.query(workload, count)
            if task.tried is not None:
                phase = what_if_phase(workload)
                watch.what_if(workload, task.expected[-1], task.tried)
        finally:
            system.stop()
    except NotTriedError as reason:
        tell({"phase": "init", "status": "not tried", "message": str(reason)})
    except WrongAnswerError as error:
        tell({"phase": phase, "status": "wrong", "message": str(error)})
    except ImportError as error:
        tell({"phase": "init", "status": "not tried", "message": f"not installed: {error.name}"})
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the result)
        tell({"phase": phase, "status": "failed", "message": f"{type(error).__name__}: {cause(str(error))}"})


class _Watch:
    """Times phases, checks them, and tells them with their memory, jobs and bytes shuffled."""

    def __init__(self, system: System, task: Task, tell: Tell) -> None:
        self._system, self._task, self._tell = system, task, tell
        self._before: dict[str, int] = {}

    def init(self, workload: Workload) -> float:
        self._begin()
        action = partial(self._system.init, workload.edges, workload.vertices)
        first = self._timed(action)
        again = self._system.repeatable and first < SLOW_STARTS * self._task.slow  # then the first run only warms up
        times = self._task.repeats if first < self._task.slow else 1
        runs = [self._timed(action) for _ in range(times)] if again else [first]
        self._end("init", runs, repeats=len(runs) + again, digest=self._task.expected[0])
        return min(runs)

    def group(self, group: Group, expected: Digest, vertices: int) -> None:
        self._begin()
        runs: list[float] = []
        for done, batch in enumerate(group.batches):
            if sum(runs[1:]) > self._task.slow:
                self._system.apply(*net(group.batches[done:], vertices))
                break
            runs.append(self._timed(partial(self._system.apply, *batch)))
        kept = runs[1:] if len(runs) > 1 else runs
        self._end(group.name, kept, repeats=len(runs), digest=expected)

    def recompute(self, group: Group, expected: Digest, vertices: int, *, wanted: bool) -> None:
        system = self._system
        if not isinstance(system, Recomputing):
            raise TypeError(system)
        system.skip(*net(group.batches[: -1 if wanted else None], vertices))
        if not wanted:
            return
        self._begin()
        runs = [self._timed(partial(system.apply, *group.batches[-1]))]
        self._end(group.name, runs, repeats=1, digest=expected)

    def query(self, workload: Workload, count: int) -> None:
        sources, targets = (side[:count] for side in workload.questions)
        self._begin()
        runs: list[float] = []
        answers = None
        while len(runs) <= self._task.repeats * (5 if count == 1 else 1) and sum(runs) < self._task.slow:
            started = time.perf_counter()
            answers = self._system.query(sources, targets)
            runs.append(time.perf_counter() - started)
            if answers is None:
                return
        if answers is None or (np.asarray(answers) != self._task.answers[:count]).any():
            raise WrongAnswerError(f"{count} questions: answers differ")
        self._end(f"query/{count}", runs[1:] or runs, repeats=len(runs))

    def what_if(self, workload: Workload, before: Digest, after: Digest) -> None:
        self._begin()
        runs: list[float] = []
        told = None
        while len(runs) <= self._task.repeats and sum(runs) < self._task.slow:
            started = time.perf_counter()
            told = self._system.what_if(*workload.trial)
            runs.append(time.perf_counter() - started)
            if told is None:
                return
        if told is None:
            return
        won, lost = told()
        if (won.pairs - lost.pairs, won.total - lost.total) != (after.pairs - before.pairs, after.total - before.total):
            raise WrongAnswerError(f"{won.pairs} pairs would come and {lost.pairs} go, from {before} to {after}")
        self._end(what_if_phase(workload), runs[1:] or runs, repeats=len(runs))

    def _timed(self, action: Callable[[], object]) -> float:
        self._system.reported = None
        started = time.perf_counter()
        action()
        seconds = time.perf_counter() - started
        return seconds if self._system.reported is None else self._system.reported

    def _begin(self) -> None:
        self._before = dict(self._system.counters())
        memory.restart(os.getpid())

    def _end(self, phase: str, runs: Sequence[float], *, repeats: int, digest: Digest | None = None) -> None:
        peaks = memory.peaks(os.getpid())
        counted = {name: (value - self._before[name]) / repeats for name, value in self._system.counters().items()}
        facts = dict(self._system.facts())
        if digest is not None:
            found = self._system.digest()
            if found != digest:
                raise WrongAnswerError(f"{found.pairs} pairs (sum {found.total}), not {digest.pairs} ({digest.total})")
            facts["pairs"] = digest.pairs
        self._tell({"phase": phase, "status": "ok", "runs": list(runs), "memory": peaks, **counted, "facts": facts})


def what_if_phase(workload: Workload) -> str:
    """Return the name of the phase in which a batch is only tried."""
    return f"what-if/{sum(map(len, workload.trial))}"


def net(batches: Sequence[Batch], vertices: int) -> Batch:
    """Return what some batches do together."""
    inserted, deleted = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for batch in batches:
        new, gone = (coded(part, vertices) for part in batch)
        deleted = np.union1d(deleted, np.setdiff1d(gone, inserted))
        inserted = np.setdiff1d(inserted, gone)
        inserted = np.union1d(inserted, np.setdiff1d(new, deleted))
        deleted = np.setdiff1d(deleted, new)
    return Edges(inserted // vertices, inserted % vertices), Edges(deleted // vertices, deleted % vertices)
