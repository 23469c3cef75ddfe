"""Engines that take turns, each in a process of its own (`benchmarks.lanes_worker`), and must agree."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lanes_graphs import SEED, Graph, small

ROOT = Path(__file__).resolve().parents[1]
BUILDS, SINGLES, TURNS = 3, 40, 4  # deletions and insertions are made in so many turns, batches and questions in three
LONG = 5.0  # seconds from which a build is not repeated
MOST_COMPARED = 2 * 10**7  # pairs up to which all are listed, and those that a batch changed are counted
Answer = dict[str, Any]


@dataclass(frozen=True)
class Contestant:
    """An engine in processes of its own."""

    engine: str
    path: tuple[Path, ...]  #: where its package is
    folder: Path  #: for what it writes

    @contextlib.contextmanager
    def started(self) -> Iterator[Worker]:
        """Start a process."""
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        cache = {} if self.path[0] == ROOT else {"NUMBA_CACHE_DIR": str(self.folder / "compiled")}
        environment = {**os.environ, **one, **cache, "PYTHONPATH": os.pathsep.join(map(str, self.path))}
        command = [sys.executable, "-m", "benchmarks.lanes_worker", self.engine]
        with subprocess.Popen(  # noqa: S603  (our own program)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=self.folder
        ) as process:
            yield Worker(process)
            if process.stdin is not None:
                process.stdin.close()


class Worker:
    """A process that measures."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, *what: object) -> Answer:
        """Let it do something; what it took."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("not started")
        print(json.dumps(what), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"a process that measures ended with code {self._process.wait()}; its message is above")
        answer: Answer = json.loads(line)
        return answer


def warm(worker: Worker, path: Path) -> None:
    """Let a process load or compile what is needed: a small graph goes through every phase."""
    graph = small()
    graph.save(path)
    Match(graph, {"": worker}).play(path)


class Match:
    """Engines that take turns on one graph."""

    def __init__(self, graph: Graph, workers: Mapping[str, Worker]) -> None:
        self._graph, self._workers = graph, workers
        self._seconds: dict[str, dict[str, list[float]]] = {name: {} for name in workers}

    def play(self, path: Path) -> dict[str, Answer]:
        """Play every phase; return what each engine took for it, in seconds, and its sizes."""
        for worker in self._workers.values():
            worker.ask("open", str(path))
        self._build(1)
        built = {name: worker.ask("facts")["peak"] for name, worker in self._workers.items()}
        self._build(BUILDS - 1)
        self._change()
        self._ask()
        facts = {name: {**worker.ask("facts"), "built": built[name]} for name, worker in self._workers.items()}
        same("pairs", [found["pairs"] for found in facts.values()], self._graph.pairs)
        if all(found["pairs"] <= MOST_COMPARED for found in facts.values()):
            self._compare(facts)
        return {name: {**self._taken(name), **found} for name, found in facts.items()}

    def _taken(self, name: str) -> Answer:
        seconds = self._seconds[name]
        middle = {phase: (min if phase == "build" else statistics.median)(seen) for phase, seen in seconds.items()}
        return middle | {f"slowest {phase}": max(seconds[phase]) for phase in ("delete", "insert")}

    def _note(self, name: str, phase: str, *seconds: float) -> None:
        self._seconds[name].setdefault(phase, []).extend(seconds)

    def _build(self, times: int) -> None:
        for _ in range(times):
            for name, worker in self._workers.items():
                if max(self._seconds[name].get("build", [0])) < LONG:
                    self._note(name, "build", worker.ask("build")["seconds"])

    def _change(self) -> None:
        places = np.random.default_rng(SEED).integers(0, len(self._graph.edges), SINGLES)
        for part in np.array_split(places, TURNS):
            for name, worker in self._workers.items():
                for phase, seen in worker.ask("single", part.tolist()).items():
                    self._note(name, phase, *seen)
        for batch in self._graph.batches:
            for _ in range(3):
                for name, worker in self._workers.items():
                    found = worker.ask("batch", batch, False)
                    self._note(name, batch, found["there"] + found["back"])

    def _ask(self) -> None:
        for _ in range(3):
            answers = {name: worker.ask("ask") for name, worker in self._workers.items()}
            same("pairs among the questions", [found["yes"] for found in answers.values()])
            for name, found in answers.items():
                self._note(name, "100,000 questions", found["many"])
                self._note(name, "one question", found["one"])
                for kind, seconds in self._workers[name].ask("rows").items():
                    self._note(name, f"{kind} of a vertex", seconds)

    def _compare(self, facts: dict[str, Answer]) -> None:
        """Require the same changes by batches, and the same pairs after all of them; listing these takes memory."""
        for batch in self._graph.batches:
            answers = [worker.ask("batch", batch, True) for worker in self._workers.values()]
            told = [(found["came"], found["went"]) for found in answers if "came" in found]  # not after a new build
            same(f"pairs that came and went: {batch}", told)
        for name, worker in self._workers.items():
            found = worker.ask("list")
            self._note(name, "all pairs listed", found["seconds"])
            facts[name]["digest"] = [found["pairs"], found["total"]]
        same("digests of the closure", [tuple(found["digest"]) for found in facts.values()])


def same(what: str, found: Sequence[object], known: object = None) -> None:
    """End where contestants disagree, or differ from what is known."""
    if len({*found, *([] if known is None else [known])}) > 1:
        sys.exit(f"{what}: {found}" + ("" if known is None else f", known are {known}"))
