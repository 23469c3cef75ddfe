"""One engine in a process of its own, which is told by lines of JSON what to do and answers with what it took.

``python -m benchmarks.lanes_worker MODULE:CLASS`` runs the engine of whichever package ``dyntc_spark`` is on its path,
so that an engine of an earlier commit can be measured beside one of today. All times are seconds of the
processor, with one core. A *game* is a file of arrays: see `benchmarks.lanes_graphs.Graph.save`.

==================  ==============================================================================================
``open PATH``       read a game; the peak of memory counts from here where the system can forget the one before
``build``           build the closure: ``seconds``
``single PLACES``   delete the edges at these places, one by one, and put each back: ``delete``, ``insert``
``batch NAME``      apply a batch and its inverse: ``there``, ``back``, and how many pairs ``came`` and ``went``
``ask``             100,000 questions in one call, and single questions: ``many``, ``one``
``rows``            list the descendants and the ancestors of single vertices: ``descendants``, ``ancestors``
``list``            list all pairs: ``seconds``, and their digest
``facts``           the number of pairs, bytes, and the peak of this process's memory
==================  ==============================================================================================
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.digest import Digest

ROWS, ONE_BY_ONE = 40, 2_000  # single rows that are listed, and single questions
CHUNK = 1_000  # vertices whose rows are listed at once


def clock(action: Callable[[], object]) -> float:
    """Return the seconds that the processor spent."""
    begun = time.process_time()
    action()
    return time.process_time() - begun


def peak() -> int:
    """Return the bytes that this process took at most; ``getrusage`` may count what its parent had before."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


class Worker:
    """An engine and the game that it plays."""

    def __init__(self, module: str, name: str) -> None:
        self._engine: Any = getattr(importlib.import_module(module), name)()
        home = "dyntc_spark.engines.base" if module.startswith("dyntc_spark.engines.") else "dyntc_spark.closure.engine"
        self._edges: Any = importlib.import_module(home).Edges
        self._game: dict[str, Any] = {}

    def open(self, path: str) -> dict[str, Any]:
        with np.load(path) as file:
            self._game = dict(file.items())
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return {}

    def build(self) -> dict[str, Any]:
        edges, vertices = self._edges.of(*self._game["edges"]), int(self._game["vertices"])
        return {"seconds": clock(partial(self._engine.init, edges, vertices))}

    def single(self, places: list[int]) -> dict[str, Any]:
        found: dict[str, list[float]] = {"delete": [], "insert": []}
        none = self._edges.of()
        for place in places:
            edge = self._edges.of(*self._game["edges"][:, place : place + 1])
            found["delete"].append(clock(partial(self._engine.apply, none, edge)))
            found["insert"].append(clock(partial(self._engine.apply, edge, none)))
        return found

    def batch(self, name: str, count: bool) -> dict[str, Any]:
        inserted, deleted = (self._edges.of(*self._game[f"{kind} {name}"]) for kind in ("inserted", "deleted"))
        there = clock(partial(self._engine.apply, inserted, deleted))
        changes = self._engine.changes() if count else None
        back = clock(partial(self._engine.apply, deleted, inserted))
        counts = {} if changes is None else {"came": len(changes[0]), "went": len(changes[1])}
        return {"there": there, "back": back, **counts}

    def ask(self) -> dict[str, Any]:
        sources, targets = self._game["questions"]
        single = [(sources[k : k + 1], targets[k : k + 1]) for k in range(min(ONE_BY_ONE, len(sources)))]
        query, yes = self._engine.query, int(np.count_nonzero(self._engine.query(sources, targets)))

        def one_by_one() -> None:
            for pair in single:
                query(*pair)

        return {"many": clock(partial(query, sources, targets)), "one": clock(one_by_one) / len(single), "yes": yes}

    def rows(self) -> dict[str, Any]:
        vertices = self._game["questions"][0][:ROWS]
        return {
            kind: statistics.median(clock(partial(getattr(self._engine, kind), [v])) for v in vertices)
            for kind in ("descendants", "ancestors")
        }

    def list(self) -> dict[str, Any]:
        seconds = 0.0

        def parts() -> Iterator[tuple[Any, Any]]:
            nonlocal seconds
            for first in range(0, self._engine.vertices, CHUNK):
                some = np.arange(first, min(first + CHUNK, self._engine.vertices))
                begun = time.process_time()
                pairs = self._engine.descendants(some)
                seconds += time.process_time() - begun
                yield pairs.sources, pairs.targets

        digest = Digest.of(parts())
        return {"seconds": seconds, "pairs": digest.pairs, "total": digest.total}

    def facts(self) -> dict[str, Any]:
        stats = self._engine.stats()
        size = stats.get("row_bytes", stats["bytes"])
        return {"pairs": stats["pairs"], "bytes": stats["bytes"], "row_bytes": size, "peak": peak()}


def one_core() -> None:
    """Let whatever counts cores count one."""
    os.cpu_count = lambda: 1
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def main() -> None:
    one_core()
    worker = Worker(*sys.argv[1].split(":"))
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(worker, name)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
