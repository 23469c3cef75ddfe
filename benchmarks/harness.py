"""How the benchmarks measure.

Contestants take turns, so that a slow minute of the machine slows them all;
the first rounds warm up and do not count; what is reported is the median, its
spread, and the ratio to the contestant that is named as the yardstick.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
#: The results that the documentation speaks of: copied from RESULTS, and kept with the code.
PUBLISHED = Path(__file__).parent / "published"


@dataclass
class Line:
    """One measured figure and, where there is one, the bound that it should keep."""

    name: str
    value: float
    unit: str
    bound: str = ""
    kept: bool | None = None
    detail: dict[str, object] = field(default_factory=dict)


def commit() -> str:
    """Return the commit that is checked out, with ``-dirty`` where files differ from it; nothing without git."""
    words = [shutil.which("git") or "git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return ""
    return done.stdout.strip()


def take_turns(contestants: dict[str, Callable[[], object]], repeats: int, warmup: int = 2) -> dict[str, list[float]]:
    """Time each contestant ``repeats`` times, in turns, after ``warmup`` rounds that do not count."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(warmup + repeats):
        for name, action in contestants.items():
            start = time.perf_counter()
            action()
            if turn >= warmup:
                times[name].append(time.perf_counter() - start)
    return times


def ratio(name: str, times: dict[str, list[float]], ours: str, yardstick: str, at_most: float) -> Line:
    """Compare two contestants by their medians."""
    middle = {who: statistics.median(seen) for who, seen in times.items()}
    value = middle[ours] / middle[yardstick]
    detail = {who: {"median": middle[who], "low": min(seen), "high": max(seen)} for who, seen in times.items()}
    return Line(name, value, "x", f"<= {at_most}", value <= at_most, detail)


def report(suite: str, lines: list[Line], folder: Path = RESULTS) -> bool:
    """Print the lines as a table, write them as JSON, and say whether all bounds were kept."""
    wide = max(len(line.name) for line in lines)
    print(f"\n{suite}")
    for line in lines:
        verdict = {True: "kept", False: "MISSED", None: ""}[line.kept]
        print(f"  {line.name:<{wide}}  {line.value:10.3f} {line.unit:<12} {line.bound:<8} {verdict}")
        for who, seen in line.detail.items():
            if isinstance(seen, dict):
                print(f"    {who:<40} {seen['median']:9.4f} s   ({seen['low']:.4f} … {seen['high']:.4f})")
            else:
                print(f"    {who:<40} {seen}")
    folder.mkdir(exist_ok=True)
    about = {"suite": suite, "python": platform.python_version(), "machine": platform.machine()}
    path = folder / f"{suite}.json"
    path.write_text(json.dumps({**about, "lines": [asdict(line) for line in lines]}, indent=1))
    print(f"  written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    return all(line.kept is not False for line in lines)


def cause(message: str) -> str:
    """Return the line of a message that says most: the first with Spark's name of an error, else the first of all."""
    lines = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    return next((line for line in lines if re.search(r"\[[A-Z_.]{6,}\]|OutOfMemory", line)), lines[0])[:300]
