"""Pictures of the suite have one message, which is that of the results."""

import pytest

from benchmarks.suite import plots

pytestmark = pytest.mark.long


def record(system, phase, seconds, workload="w"):
    return {"workload": workload, "system": system, "phase": phase, "status": "ok", "median": seconds}


def shown(results, tmp_path):
    """Draw; return the text of each picture by its name."""
    mpl = pytest.importorskip("matplotlib")
    with mpl.rc_context({"svg.fonttype": "none"}):  # letters stay letters
        drawn = plots.draw(results, tmp_path / "x.json")
    return {path.stem.removeprefix("x-"): path.read_text() for path in drawn}


def test_pictures_say_what_the_results_say(tmp_path):
    cells = [
        record("lanes", "init", 0.5),
        record("igraph", "init", 2.0),
        record("search", "init", 0.1),
        record("lanes", "mixed/1", 0.002),
        record("lanes", "mixed/100", 0.02),
        record("lanes", "what-if/10", 0.003),
        record("DuckDB", "what-if/10", 3.0),
        *(
            record(name, f"recent/{size}", size * seconds, "recent")
            for name, seconds in (("lanes", 0.4), ("centres", 0.1))
            for size in (1, 10)
        ),
    ]
    known = {"groups": ["mixed/1", "mixed/100"], "pairs": 1, "vertices": 1, "what_if": "what-if/10"}
    recent = {"groups": ["recent/1", "recent/10"], "pairs": 1, "vertices": 7}
    found = shown({"workloads": {"w": known, "recent": recent}, "cells": cells}, tmp_path)
    assert set(found) == {"batches-w", "init-w", "recent", "what-if"}
    assert "1 change takes 2 ms; the fastest other library starts again in 2 s" in found["batches-w"]
    assert "igraph: starts again" in found["batches-w"]
    assert "search: starts again" not in found["batches-w"], "a bound is no system"
    assert "centres is 4 times as fast for one" in found["recent"]
    assert "lanes: 500 ms; the fastest other library: 2 s" in found["init-w"]
    assert "lanes: 3 ms; the fastest other library: 3 s" in found["what-if"]
