"""The engine ``algebraic`` against ``lanes`` and ``recompute``, on the dependencies of Debian's packages.

1. building the closure;
2. the real batch of 660 changes, and its inverse in turn;
3. a single deletion and a single insertion, of edges drawn at random;
4. the certificate: of the whole closure, and of what the batch touches;
5. many rows, few pairs: an edge from the most wanted package to a new one, inserted and deleted; and fifty of them;
6. a dense digraph, one component of all its vertices: the deletion and insertion of an edge;
7. a giant component: an edge from a package without dependencies to one that depends on it through most others;
8. the inverse of a component of thousands of vertices, by block elimination and by elimination at once.

On one copy of the graph, and on ten that fifty random links join; on Spark on one copy.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

import numpy as np

from benchmarks.harness import Line, report, take_turns
from benchmarks.packages import Packages
from dyntc_spark import session
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.rings import Modular
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.engines.algebraic.eliminate import inverted
from dyntc_spark.engines.algebraic.engine import Algebraic
from dyntc_spark.engines.base import Edges, Engine
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.kernels import modular_solve, sparse

NONE = Edges.of()


def engines(backend: Backend | None = None) -> dict[str, Engine]:
    """Return the contestants."""
    return {
        "algebraic": Algebraic(backend, seed=1),
        "algebraic, not verified": Algebraic(backend, seed=1, verify=False),
        "lanes": Lanes(),
        "recompute": Recompute(),
    }


def contest(graph: Packages, label: str, repeats: int) -> list[Line]:
    """Run the first five in process."""
    contestants = engines()
    init = {name: partial(engine.init, graph.edges, graph.vertices) for name, engine in contestants.items()}
    lines = [_line(f"1. init, {label}", take_turns(init, repeats))]
    batch = {name: _back_and_forth(engine, graph.inserted, graph.deleted) for name, engine in contestants.items()}
    lines.append(_line(f"2. batch of 660, {label}", take_turns(batch, 2 * repeats)))
    chosen = np.random.default_rng(3).permutation(len(graph.edges))[:60]
    for kind in ("deletion", "insertion"):
        single = {name: _singles(engine, graph, chosen, kind) for name, engine in contestants.items()}
        lines.append(_line(f"3. single {kind}, {label}", take_turns(single, 40, warmup=5)))
    lines += _certificates(contestants["algebraic"], graph, label, repeats)
    popular = np.bincount(graph.edges.targets).argmax()
    alone = np.setdiff1d(np.arange(graph.vertices), np.append(graph.edges.sources, graph.edges.targets))
    for count in (1, 50):
        new = Edges.of(np.full(count, popular), alone[:count])
        few = {name: _back_and_forth(engine, new, NONE) for name, engine in contestants.items()}
        lines.append(_line(f"5. many rows, {count} pairs each, {label}", take_turns(few, 2 * repeats)))
    return lines


def giant(graph: Packages) -> list[Line]:
    """Run the seventh: a component of over a thousand is born and broken."""
    contestants = engines()
    for engine in contestants.values():
        engine.init(graph.edges, graph.vertices)
    everything = contestants["lanes"].descendants(np.arange(graph.vertices))
    below, above = (np.bincount(side, minlength=graph.vertices) for side in (everything.sources, everything.targets))
    root = int(below.argmax())
    reached = contestants["lanes"].descendants([root]).targets
    leaves = reached[below[reached] == 1]
    closing = Edges.of([leaves[above[leaves].argmax()]], [root])
    flip = {name: _back_and_forth(engine, closing, NONE) for name, engine in contestants.items()}
    return [_line("7. a giant component is born and broken", take_turns(flip, 4, warmup=2))]


def inverses(size: int) -> list[Line]:
    """Run the last: modulo one prime of 23 bits."""
    rng, ring = np.random.default_rng(6), Modular((8388593,))
    square = np.eye(size, dtype=np.int64)
    square[rng.integers(size, size=4 * size), rng.integers(size, size=4 * size)] = rng.integers(1, 8388593, 4 * size)
    rows, columns = np.nonzero(square)
    sparse_square = sparse.from_coordinates(rows, columns, square[None, rows, columns], square.shape, ring.modulus)
    ways = {
        "algebraic": partial(inverted, sparse_square, ring, LocalBackend()),
        "at once": partial(modular_solve.inverse, square, 8388593),
    }
    return [_line(f"8. the inverse of a component of {size}", take_turns(ways, 2))]


def dense(vertices: int, degree: int, repeats: int) -> list[Line]:
    """Run the sixth: an edge whose deletion changes no pair but affects every row."""
    rng = np.random.default_rng(5)
    pairs = np.unique(rng.integers(vertices, size=(vertices * degree, 2)), axis=0)
    edges, edge = Edges.of(*pairs.T), Edges.of(*pairs[:1].T)
    contestants = engines()
    for engine in contestants.values():
        engine.init(edges, vertices)
    flip = {name: _back_and_forth(engine, NONE, edge) for name, engine in contestants.items()}
    return [_line(f"6. one edge of a dense digraph of {vertices}", take_turns(flip, 2 * repeats))]


def on_spark(graph: Packages, repeats: int) -> list[Line]:
    """Init, the batch, single changes and the certificate, with the state on Spark."""
    spark = session.local()
    engine = Algebraic(SparkBackend(spark), seed=1)
    lines = [_line("1. init, on Spark", take_turns({"algebraic": _init(engine, graph)}, 2, warmup=1))]
    batch = {"algebraic": _back_and_forth(engine, graph.inserted, graph.deleted)}
    lines.append(_line("2. batch of 660, on Spark", take_turns(batch, 2 * repeats)))
    chosen = np.random.default_rng(3).permutation(len(graph.edges))[:60]
    for kind in ("deletion", "insertion"):
        single = {"algebraic": _singles(engine, graph, chosen, kind)}
        lines.append(_line(f"3. single {kind}, on Spark", take_turns(single, 2 * repeats)))
    lines.append(_line("4. certificate of everything, on Spark", take_turns({"algebraic": engine.verify}, repeats)))
    spark.stop()
    return lines


def _init(engine: Engine, graph: Packages) -> Callable[[], object]:
    return partial(engine.init, graph.edges, graph.vertices)


def _certificates(engine: Engine, graph: Packages, label: str, repeats: int) -> list[Line]:
    """Time the certificate of everything, and the batch with and without its own."""
    lines = [_line(f"4. certificate of everything, {label}", take_turns({"algebraic": engine.verify}, repeats))]
    seconds = []
    for _ in range(repeats + 2):
        engine.apply(graph.inserted, graph.deleted)
        touched = engine._touched  # noqa: SLF001  (what the engine certifies at each batch)
        started = time.perf_counter()
        touched.certified(engine.matrix, engine._graph)  # noqa: SLF001
        seconds.append(time.perf_counter() - started)
        engine.apply(graph.deleted, graph.inserted)
    return [*lines, _line(f"4. certificate of what the batch touches, {label}", {"algebraic": seconds[2:]})]


def _back_and_forth(engine: Engine, inserted: Edges, deleted: Edges) -> Callable[[], None]:
    """A batch, at the next call its inverse, and so on."""
    steps = cycle([(inserted, deleted), (deleted, inserted)])
    return lambda: engine.apply(*next(steps))


def _singles(engine: Engine, graph: Packages, chosen: np.ndarray, kind: str) -> Callable[[], None]:
    """Delete random edges one by one; or put them back, after all are gone."""

    def changes() -> Iterator[None]:
        edges = [Edges(graph.edges.sources[k : k + 1], graph.edges.targets[k : k + 1]) for k in chosen]
        for edge in edges:
            engine.apply(*((NONE, edge) if kind == "deletion" else (edge, NONE)))
            yield

    steps = changes()
    return lambda: next(steps)


def _line(name: str, times: dict[str, list[float]]) -> Line:
    detail = {who: {"median": statistics.median(s), "low": min(s), "high": max(s)} for who, s in times.items()}
    return Line(name, 1e3 * detail["algebraic"]["median"], "ms", detail=detail)


def run(*, quick: bool = False) -> bool:
    """Run it on one copy and on ten and on Spark; ``quick`` on one, with fewer turns."""
    packages = Packages.load()
    lines = contest(packages, "1 copy", 3 if quick else 7)
    lines += dense(1000 if quick else 2500, 8, 3)
    lines += giant(packages)
    lines += inverses(1500 if quick else 3000)
    if not quick:
        lines += contest(packages.copies(10), "10 copies", 2)
        lines += on_spark(packages, 3)
    return report("algebraic" + ("-quick" if quick else ""), lines)


if __name__ == "__main__":
    run()
