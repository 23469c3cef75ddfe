"""The capacity model: what a closure of V vertices, E edges and P pairs takes on Spark, in bytes and seconds.

With the engine ``lanes``::

    driver   = 320 MiB + 350 V + 110 E bytes, in its Python process, at the peak of an Init;
               270 V of these are names, which are on Spark where they are many; and twice the state, but
               at most 192 MiB, for the stripes at hand (64 MiB, held three times while a batch changes them)
    shipped  = 16 V + 4 E bytes, to every executor
    Init     = 6 ns for each look, and 1.5 ns for each byte of the state, over the cores; and a job

A *look* is a component or an edge that a sweep over 512 sources meets. How many looks and bytes a pair takes is a
matter of the graph: between 0.007 and 0.33 looks, and between 0.01 and 1 bytes, for the graphs that were measured. So
the model is scaled from a graph of the same *shape*, whose looks and bytes are known.

`measured` reads what `benchmarks.scale_out` has published, and `Point.off` says how near the model comes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import PUBLISHED

BASE_BYTES, VERTEX_BYTES, EDGE_BYTES = 320 * 2**20, 350, 110
MOST_AT_HAND = 192 * 2**20
NAME_BYTES = 270  #: of `VERTEX_BYTES`
SHIPPED_VERTEX_BYTES, SHIPPED_EDGE_BYTES = 16, 4
LOOK_SECONDS, BYTE_SECONDS = 6e-9, 1.5e-9
#: What was measured takes the modelled seconds or bytes times or over this at most.
FACTOR = 2.0
EXECUTOR_BYTES, EXECUTOR_CORES = 16 * 2**30, 4
USABLE = 0.5  #: of an executor's memory, for blocks; the rest is Spark's and Python's


@dataclass(frozen=True)
class Need:
    """What a closure takes."""

    driver_bytes: float
    name_bytes: float  #: of these
    shipped_bytes: float
    state_bytes: float
    work_seconds: float  #: of all cores together, for an Init

    @property
    def executors(self) -> int:
        """Of 16 GiB, so many that the state is in their memory."""
        return max(1, -int(-self.state_bytes // (USABLE * EXECUTOR_BYTES)))


def need(vertices: float, edges: float, state: float, looks: float) -> Need:
    """Model a closure whose state takes so many bytes, and whose Init so many looks."""
    driver = BASE_BYTES + VERTEX_BYTES * vertices + EDGE_BYTES * edges + min(2 * state, MOST_AT_HAND)
    shipped = SHIPPED_VERTEX_BYTES * vertices + SHIPPED_EDGE_BYTES * edges
    return Need(driver, NAME_BYTES * vertices, shipped, state, LOOK_SECONDS * looks + BYTE_SECONDS * state)


@dataclass(frozen=True)
class Point:
    """A graph that was measured."""

    name: str
    facts: dict[str, Any]

    @property
    def model(self) -> Need:
        """What the model says of it."""
        one = self.facts["work"][0]
        return need(self.facts["vertices"], self.facts["edges"], one["bytes"], one["looks"])

    @property
    def off(self) -> dict[str, float]:
        """How many times the model is off, either way, by what it models."""
        model, found = self.model, self.facts
        pairs = {
            "seconds of work": (found["work"][0]["seconds"], model.work_seconds),
            "bytes of the driver": (found["peaks"]["driver's Python"][0], model.driver_bytes),
            "bytes shipped": (found["pickled"], model.shipped_bytes),
        }
        return {name: max(seen / told, told / seen) for name, (seen, told) in pairs.items()}

    def scaled(self, vertices: float) -> Need:
        """Model a graph of this shape, with as many edges and pairs a vertex."""
        times, one = vertices / self.facts["vertices"], self.facts["work"][0]
        return need(vertices, times * self.facts["edges"], times * one["bytes"], times * one["looks"])


def measured(folder: Path = PUBLISHED) -> list[Point]:
    """Return the graphs whose results are in ``folder``, by their pairs."""
    files = {path.stem.removeprefix("scale_out-"): path for path in folder.glob("scale_out-*.json")}
    found = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in files.items()}
    points = [Point(name, facts) for name, facts in found.items() if "work" in facts]
    return sorted(points, key=lambda point: int(point.facts["pairs"]))


def page(points: list[Point]) -> Iterator[str]:
    """Yield the tables of ``docs/explanation/capacity.md``."""
    columns = "bytes a pair | looks a pair | work of the tasks | driver's Python"
    yield f"| graph | vertices | edges | pairs | state | {columns} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for point in points:
        found, one = point.facts, point.facts["work"][0]
        sizes = f"{found['vertices']:,} | {found['edges']:,} | {found['pairs']:.3g}"
        state = f"{_bytes(one['bytes'])} | {one['bytes'] / found['pairs']:.3f} | {one['looks'] / found['pairs']:.3f}"
        driver = _bytes(found["peaks"]["driver's Python"][0])
        yield f"| {point.name} | {sizes} | {state} | {one['seconds']:.2f} s | {driver} |"
    packages = max((point for point in points if point.name.startswith("debian")), key=lambda p: p.facts["pairs"])
    yield ""
    columns = "pairs | driver's Python | with names on Spark | graph, shipped | state | executors | work of the tasks"
    yield f"| vertices, as `{packages.name}` | {columns} |"
    yield "|---|---|---|---|---|---|---|---|"
    for power in range(6, 10):
        told = packages.scaled(10.0**power)
        pairs = packages.facts["pairs"] / packages.facts["vertices"] * 10.0**power
        driver = told.driver_bytes, told.driver_bytes - told.name_bytes
        sizes = " | ".join(_bytes(each) for each in (*driver, told.shipped_bytes, told.state_bytes))
        yield f"| 10^{power} | {pairs:.2g} | {sizes} | {told.executors} | {_seconds(told.work_seconds)} |"


def _bytes(count: float) -> str:
    if count < 2**30:
        return f"{count / 2**20:.0f} MiB"
    gib = count / 2**30
    return f"{gib:.1f} GiB" if gib < 10 else f"{float(f'{gib:.2g}'):,.0f} GiB"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


if __name__ == "__main__":
    known = measured()
    print("\n".join(page(known)))
    for each in known:
        print(each.name, {name: round(times, 2) for name, times in each.off.items()})
