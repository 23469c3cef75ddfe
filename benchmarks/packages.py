"""The engine ``lanes`` against ``recompute``, on the dependencies of Debian's packages and their real changes.

1. building the closure;
2. the real batch of 660 changes, and its inverse in turn;
3. a single deletion and a single insertion, of edges drawn at random;
4. 100,000 queries;
5. bytes a pair, after all of it.

On one copy of the graph, and on ten that fifty random links join; the batch and the single changes concern one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.harness import Line, ratio, report, take_turns
from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Engine
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.recompute import Recompute

DATA = Path(__file__).parents[1] / "tests" / "data"
SINGLES = 40  # single changes that lanes makes in a turn, while recompute makes one


@dataclass(frozen=True)
class Packages:
    """A graph and a batch of changes to it."""

    vertices: int
    edges: Edges
    inserted: Edges
    deleted: Edges

    @classmethod
    def load(cls, part: int | None = None) -> Packages:
        """Read the graph with its cycles, and the changes; ``part`` keeps only what is among so many packages."""
        depends, changes = (pq.read_table(DATA / f"debian-{name}.parquet") for name in ("depends", "security-changes"))
        columns = [np.array(table[side].to_pylist()) for table in (depends, changes) for side in ("src", "dst")]
        names, numbers = np.unique(np.concatenate(columns), return_inverse=True)
        ends = np.cumsum([0, *map(len, columns)])
        src, dst, changed_src, changed_dst = (numbers[begin:end] for begin, end in pairwise(ends))
        new = np.array(changes["op"].to_pylist()) == "insert"
        n = len(names) if part is None else part
        inside, near = (src < n) & (dst < n), (changed_src < n) & (changed_dst < n)
        inserted, deleted = (Edges.of(changed_src[kind & near], changed_dst[kind & near]) for kind in (new, ~new))
        return cls(n, Edges.of(src[inside], dst[inside]), inserted, deleted)

    def copies(self, count: int, links: int = 50, seed: int = 7) -> Packages:
        """Put so many copies side by side, joined by random links."""
        rng = np.random.default_rng(seed)
        shift = np.repeat(np.arange(count) * self.vertices, len(self.edges))
        joined = rng.integers(count * self.vertices, size=(2, links if count > 1 else 0))
        sources = np.append(np.tile(self.edges.sources, count) + shift, joined[0])
        targets = np.append(np.tile(self.edges.targets, count) + shift, joined[1])
        return Packages(count * self.vertices, Edges(sources, targets), self.inserted, self.deleted)


def contest(graph: Packages, label: str, repeats: int) -> list[Line]:
    """Run all five on a graph."""
    engines: dict[str, Engine] = {engine.name: engine for engine in (Lanes(), Recompute())}
    init = {name: partial(engine.init, graph.edges, graph.vertices) for name, engine in engines.items()}
    lines = [_line(f"1. init, {label}", take_turns(init, repeats), 1.5)]
    batch = {name: _stepping(_batches(engine, graph)) for name, engine in engines.items()}
    lines.append(_line(f"2. batch of 660, {label}", take_turns(batch, 2 * repeats), 1 / 15))
    for kind in ("deletion", "insertion"):
        single = {name: _stepping(_singles(engine, graph, kind)) for name, engine in engines.items()}
        times = take_turns(single, repeats, 1)
        times["lanes"] = [seconds / SINGLES for seconds in times["lanes"]]
        lines.append(_line(f"3. single {kind}, {label}", times, 1 / 100))
    pairs = np.random.default_rng(1).integers(graph.vertices, size=(2, 100_000))
    queries = {name: partial(engine.query, *pairs) for name, engine in engines.items()}
    lines.append(_line(f"4. 100,000 queries, {label}", take_turns(queries, 9), 2))
    stats = engines["lanes"].stats()
    held = stats["bytes"] / stats["pairs"]
    lines.append(Line(f"5. memory, {label}, {stats['pairs']} pairs", held, "bytes/pair", "<= 6", held <= 6))
    return lines


def _line(name: str, times: dict[str, list[float]], at_most: float) -> Line:
    return ratio(name, times, "lanes", "recompute", round(at_most, 4))


def _stepping(steps: Iterator[None]) -> Callable[[], None]:
    return lambda: next(steps)


def _batches(engine: Engine, graph: Packages) -> Iterator[None]:
    for inserted, deleted in cycle([(graph.inserted, graph.deleted), (graph.deleted, graph.inserted)]):
        engine.apply(inserted, deleted)
        yield


def _singles(engine: Engine, graph: Packages, kind: str) -> Iterator[None]:
    """Delete edges of the graph one at a time, or insert those that were deleted at once in the warm-up turn."""
    count = SINGLES if engine.name == "lanes" else 1
    chosen = np.random.default_rng(3).permutation(len(graph.edges))[: 50 * count]
    edges = Edges(graph.edges.sources[chosen], graph.edges.targets[chosen])
    if kind == "insertion":
        engine.apply(Edges.of(), edges)
    for k in range(len(edges)):
        one = Edges(edges.sources[k : k + 1], edges.targets[k : k + 1])
        engine.apply(*((one, Edges.of()) if kind == "insertion" else (Edges.of(), one)))
        if k % count == count - 1:
            yield


def run(*, quick: bool = False) -> bool:
    """Run it on one copy and on ten; ``quick`` on one, with fewer turns."""
    packages = Packages.load()
    lines = contest(packages, "1 copy", 5 if quick else 15)
    if not quick:
        lines += contest(packages.copies(10), "10 copies", 5)
    return report("lanes" + ("-quick" if quick else ""), lines)


if __name__ == "__main__":
    run()
