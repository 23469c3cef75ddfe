"""Two writer processes at one location, each with a Spark of its own: every batch counts once, in one order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure, session
from tests.store.closures import START, pairs, recomputed, saved

ROOT = Path(__file__).parents[2]
NAMES, COUNT = ("one", "two"), 5
#: A JVM that lives for some seconds is better off without the second compiler.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.mark.slow
def test_two_processes_write(delta, tmp_path):
    location = str(tmp_path / "deps")
    saved(delta, location)
    server = [f"sc://{delta.client._builder.endpoint}"] if session.is_connect(delta) else []
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.rival", location, name, str(COUNT), *server],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "JDK_JAVA_OPTIONS": JVM},
        )
        for name in NAMES
    ]
    try:
        for writer in writers:
            while writer.stdout.readline().strip() != "ready":
                assert writer.poll() is None
        told = [writer.communicate("\n", timeout=400)[0] for writer in _begun(writers)]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait(timeout=30)
    found = [json.loads(text) for text in told]
    versions = [version for each in found for version in each["versions"]]
    assert sorted(versions) == list(range(1, 2 * COUNT + 1)), found
    closure = DynamicClosure.open(location, spark=delta)
    assert closure.version == 2 * COUNT
    edges = closure.arrow.edges()
    wanted = {(f"{name} {number}", "a") for name in NAMES for number in range(COUNT)}
    assert set(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True)) == {*START, *wanted}
    assert pairs(closure) == recomputed(closure)
    assert [row.version for row in closure.history().collect()] == list(range(2 * COUNT + 1))
    for version in range(2 * COUNT + 1):
        assert len(DynamicClosure.open(location, version, spark=delta).arrow.edges()) == len(START) + version


def _begun(writers):
    """Let both begin at once."""
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    return writers
