"""Our engines, in this process and on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from benchmarks.suite import on_spark
from benchmarks.suite.digest import Digest
from benchmarks.suite.system import NotTriedError, System
from benchmarks.suite.workloads import RECENT, Workload, lineage, made, random_digraph
from dyntc_spark.edges import Edges
from dyntc_spark.engines import registry
from dyntc_spark.engines.abilities import TriesBatches, changes_of, rows_on_spark
from dyntc_spark.engines.base import Engine
from dyntc_spark.kernels.plain_first import compiling_all

#: Engines with n x n states that are there to study the paper; on Spark they are tried up to `FAR_VERTICES`.
STUDIES = ("logarithmic", "divide_conquer")
FAR_VERTICES = 300
#: Vertices up to which other engines with n x n states are tried: in this process, on Spark.
MOST_VERTICES = {"centres": (4_200, 1_100)}
#: Vertices of one strongly connected component, whose inverse modulo primes is dense: in this process, on Spark.
MOST_CONNECTED = {"algebraic": (4_200, 1_700)}
DIGEST_PAIRS = 4_000_000
ROWS = ("recompute", "lanes")  #: engines that keep the closure and nothing else


class Ours(System):
    """One of our engines."""

    incremental = True

    def __init__(self, engine: str, backend: str, most_vertices: int = 1_100) -> None:
        self._name, self._backend = engine, backend
        self._most = dict.fromkeys(STUDIES, (most_vertices, FAR_VERTICES)) | MOST_VERTICES
        self._far = backend == "spark"
        self._engine: Engine | None = None
        self._session: on_spark.Session | None = None

    def check(self, workload: Workload) -> None:
        if self._name == "path_counting" and not workload.acyclic:
            raise NotTriedError("it takes acyclic graphs only")
        for limits, size, what in (
            (self._most, workload.vertices, "n too large"),
            (MOST_CONNECTED, workload.largest_component, "component too large"),
        ):
            most = limits.get(self._name, (size, size))[self._far]
            if size > most:
                raise NotTriedError(f"{what}: {size:,} vertices, tried up to {most:,}")

    def start(self, cores: int) -> None:
        if self._far:
            self._session = on_spark.Session(cores)
        self._engine = registry.create(self._name, self._backend, self._session.spark if self._session else None)
        with compiling_all():  # small work would be interpreted, and kernels compiled while the clock runs
            self._warm_up(self._engine)
            self.digest()

    def _warm_up(self, engine: Engine) -> None:
        """Take every kind of step, so that what is compiled at first use is compiled."""
        graph = lineage(64, 8) if self._name == "path_counting" else random_digraph(60, 2.0)
        short = self._far or self._name in STUDIES
        repeats = {1: 1, 5: 1} if short else {1: 3, 10: 3, 50: 3}
        small = made("warm-up", graph, repeats, ("mixed", RECENT), questions=2_000)
        for _ in range(1 if short else 2):
            engine.init(small.edges, small.vertices)
            for group in small.groups:
                for batch in group.batches:
                    engine.apply(*batch)
            engine.query(*small.questions)
            engine.query(*(side[:1] for side in small.questions))
            self.what_if(*small.trial)
        if not short and self._name in ROWS:  # other kernels close more components than these
            large = random_digraph(8192, 0.5)
            engine.init(large.edges, large.vertices)

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("not started")
        return self._engine

    def init(self, edges: Edges, vertices: int) -> None:
        self.engine.init(edges, vertices)

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        self.engine.apply(inserted, deleted)

    def digest(self) -> Digest:
        """Digest the closure where it is: on Spark by SQL, when its rows are there."""
        rows = rows_on_spark(self.engine, self._session.spark) if self._session else None
        if rows is None:
            return Digest.of(self._parts())
        pairs = rows.selectExpr("CAST(number AS BIGINT) AS src", "explode(CAST(reached AS ARRAY<BIGINT>)) AS dst")
        return on_spark.digest(pairs)

    def _parts(self) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Yield the closure, some rows at a time, so that asking takes little memory."""
        engine, n = self.engine, self.engine.vertices
        pairs = int(engine.stats().get("pairs", n * n))
        width = max(1, int(n * min(1.0, DIGEST_PAIRS / max(pairs, 1))))
        for first in range(0, n, width):
            part = engine.descendants(np.arange(first, min(n, first + width)))
            yield part.sources, part.targets

    def query(self, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        return self.engine.query(sources, targets)

    def what_if(self, inserted: Edges, deleted: Edges) -> Callable[[], tuple[Digest, Digest]] | None:
        if self._far or not isinstance(self.engine, TriesBatches):
            return None
        trial = self.engine.trial()
        trial.apply(inserted, deleted)
        won, lost = changes_of(trial) or (Edges.of(), Edges.of())
        return lambda: (Digest.of([(won.sources, won.targets)]), Digest.of([(lost.sources, lost.targets)]))

    def counters(self) -> Mapping[str, int]:
        return self._session.counters() if self._session else {}

    def facts(self) -> Mapping[str, object]:
        stats = self.engine.stats()
        known = {key: stats[key] for key in ("bytes", "moves", "affected", "changed") if key in stats}
        return {**known, "executors": self._session.executors()} if self._session else known

    def stop(self) -> None:
        if self._session:
            self._session.stop()
