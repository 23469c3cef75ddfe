"""Pathway: a dataflow that keeps a closure up to date by differences, in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.suite.digest import Digest
from benchmarks.suite.system import NotTriedError, System
from benchmarks.suite.workloads import Workload
from dyntc_spark.edges import Edges

PROGRAM = Path(__file__).parents[1] / "pathway_peer.py"


class Pathway(System):
    """Pathway's ``iterate``; it times each step from the first row that it is given to its answer."""

    incremental = True
    repeatable = False

    def check(self, workload: Workload) -> None:
        del workload
        if not importlib.util.find_spec("pathway"):
            raise NotTriedError("not installed: pathway")

    def start(self, cores: int) -> None:
        del cores
        self._process = subprocess.Popen(  # noqa: S603  (our own program)
            [sys.executable, str(PROGRAM), "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def init(self, edges: Edges, vertices: int) -> None:
        del vertices
        self._step(edges, Edges.of())

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        self._step(inserted, deleted)

    def _step(self, inserted: Edges, deleted: Edges) -> None:
        step = {
            name: list(zip(part.sources.tolist(), part.targets.tolist(), strict=True))
            for name, part in (("insert", inserted), ("delete", deleted))
        }
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("not started")
        print(json.dumps(step), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"Pathway ended with code {self._process.wait()}")
        answer = json.loads(line)
        self.reported = answer["seconds"]
        self._digest = Digest(answer["pairs"], answer["total"])

    def digest(self) -> Digest:
        return self._digest

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
