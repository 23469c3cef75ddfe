"""The capacity model: what a closure of V vertices, E edges and P pairs takes, in bytes, jobs and seconds.

One process (the rows of version 0.1; ``lanes`` takes less, by how much depends on the graph)::

    bytes   = 5.8 P + 40 E + 60 V
    Init    = 250 ns E + 6 ns P

Spark with c cores, edges at the driver::

    bytes   = 5.8 P on executors, 60 E + 60 V on the driver
    Init    = 3 jobs + 250 ns E + 100 ns P / c

A closure with large components takes less: rows are kept a component, not a vertex; there the model is an upper bound.
`check` holds it against every measured Init of the suite and of the scale benchmark: ``FACTOR`` says how near it comes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import PUBLISHED

PAIR_BYTES, EDGE_BYTES, VERTEX_BYTES = 5.8, 40, 60
DRIVER_EDGE_BYTES = 60
EDGE_SECONDS, PAIR_SECONDS, FAR_PAIR_SECONDS = 250e-9, 6e-9, 100e-9
FIXED_SECONDS = 2e-4  # of an Init in process, whatever it closes
JOB_SECONDS, INIT_JOBS = 0.06, 3
#: A measured Init takes the modelled seconds times or over this at most, and its bytes a pair likewise.
FACTOR, BYTES_FACTOR = 3.0, 2.0
#: Below this a measurement shows the clock and the machine's noise rather than the size.
LEAST_PAIRS = 1_000_000
DEBIAN = (64_047, 282_432, 3_860_000)  #: vertices, edges and pairs of one copy
SCALED = re.compile(r"(\d+) cop(?:y|ies), (?:refresh |lanes |recompute )(in process|on Spark): Init")
EXECUTOR_BYTES = 16 * 2**30
EXECUTOR_CORES = 4
USABLE = 0.5  #: of an executor's memory, for blocks; the rest is Spark's and Python's


@dataclass(frozen=True)
class Need:
    """What a closure takes."""

    where: str
    state_bytes: float
    driver_bytes: float
    executors: int  #: of 16 GiB and 4 cores; 0 in one process
    jobs: int
    init_seconds: float


def in_process(vertices: float, edges: float, pairs: float) -> Need:
    """Model a closure in one process."""
    held = PAIR_BYTES * pairs + EDGE_BYTES * edges + VERTEX_BYTES * vertices
    return Need("in process", held, held, 0, 0, FIXED_SECONDS + EDGE_SECONDS * edges + PAIR_SECONDS * pairs)


def on_spark(vertices: float, edges: float, pairs: float, cores: int | None = None) -> Need:
    """Model a closure on Spark; with as many executors as its state needs, or so many ``cores``."""
    held = PAIR_BYTES * pairs
    executors = _executors(held)
    seconds = JOB_SECONDS * INIT_JOBS + EDGE_SECONDS * edges + FAR_PAIR_SECONDS * pairs / _cores(executors, cores)
    return Need("Spark", held, DRIVER_EDGE_BYTES * edges + VERTEX_BYTES * vertices, executors, INIT_JOBS, seconds)


def _executors(held: float) -> int:
    return max(1, math.ceil(held / (USABLE * EXECUTOR_BYTES)))


def _cores(executors: int, cores: int | None) -> int:
    return cores or executors * EXECUTOR_CORES


@dataclass(frozen=True)
class Point:
    """A measured Init."""

    name: str
    seconds: float
    bytes_a_pair: float | None
    pairs: float
    model: Need

    @property
    def off(self) -> float:
        """How many times the model is off, either way."""
        return max(self.seconds / self.model.init_seconds, self.model.init_seconds / self.seconds)


def measured(folder: Path = PUBLISHED) -> list[Point]:
    """Give every Init that the results in ``folder`` tell and the model speaks of."""
    scale = (_scaled(json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("scale*.json")))
    suite = (_points(json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("suite-*.json")))
    return [point for points in (*scale, *suite) for point in points]


def _scaled(results: dict[str, Any]) -> Iterator[Point]:
    """Give what the scale benchmark measured: copies of Debian's graph, up to a hundred."""
    for line in results["lines"]:
        about = SCALED.fullmatch(line["name"])
        if about and results["suite"] != "scale-quick" and not line["detail"].get("failed"):
            vertices, edges, pairs = (int(about[1]) * one for one in DEBIAN)
            near = about[2] == "in process"
            model = in_process(vertices, edges, pairs) if near else on_spark(vertices, edges, pairs, cores=2)
            seconds = line["value"] / (1 if line["unit"] == "s" else 1e3)
            yield Point(f"{results['suite']}: {line['name']}", seconds, None, pairs, model)


def _points(results: dict[str, Any]) -> Iterator[Point]:
    for record in results["cells"]:
        facts = results["workloads"][record["workload"]]
        engine, _, far = record["system"].partition("@")
        if engine not in {"recompute", "refresh", "lanes"} or record["phase"] != "init" or record["status"] != "ok":
            continue
        if facts["pairs"] < LEAST_PAIRS or facts["largest_component"] > facts["vertices"] / 10:
            continue
        sizes = facts["vertices"], facts["edges"], facts["pairs"]
        model = on_spark(*sizes, cores=results["about"]["cores"]) if far else in_process(*sizes)
        held = record["facts"].get("bytes")
        name = f"{results['about']['mode']}: {record['workload']}, {record['system']}"
        yield Point(name, record["median"], held / facts["pairs"] if held else None, facts["pairs"], model)


#: Edges and pairs a vertex: Debian's packages have 4.4 and 61.
SHAPES = {
    "few pairs (10 a vertex)": (2.0, 10.0),
    "packages (61 a vertex)": (4.4, 61.0),
    "many (1,000 a vertex)": (4.4, 1_000.0),
}


def page() -> Iterator[str]:
    """Give the tables of ``docs/capacity.md``."""
    for shape, (degree, row) in SHAPES.items():
        yield f"### {shape[0].upper()}{shape[1:]}, {degree:g} edges a vertex"
        yield ""
        yield "| vertices | pairs | where | state | driver | executors of 16 GiB, 4 cores | jobs | Init |"
        yield "|---|---|---|---|---|---|---|---|"
        for power in range(6, 9):
            n = 10.0**power
            fits = in_process(n, degree * n, row * n)
            need = fits if fits.state_bytes < 2**30 else on_spark(n, degree * n, row * n)
            sizes = f"{_bytes(need.state_bytes)} | {_bytes(need.driver_bytes)}"
            yield (
                f"| 10^{power} | {row * n:.2g} | {need.where} | {sizes} | "
                f"{need.executors or ''} | {need.jobs or ''} | {_seconds(need.init_seconds)} |"
            )
        yield ""


def _bytes(count: float) -> str:
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count / 2**20:.0f} MiB"


def _seconds(seconds: float) -> str:
    return (
        f"{seconds:.1f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


if __name__ == "__main__":
    print("\n".join(page()))
    for point in measured():
        print(f"{point.off:6.2f}x  {point.name}: {point.seconds:.4f} s, model {point.model.init_seconds:.4f} s")
