"""Two writer processes at one location, with Spark or without: every batch counts once, in one order."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import ConflictError
from dyntc_spark.graph.store import steps, writer_lock
from tests.store.closures import START, pairs, recomputed, saved, seen
from tests.store.conftest import without_spark

ROOT = Path(__file__).parents[2]
#: Batches of a writer with Spark, which takes a second for each, and of one without.
COUNT, MANY = 5, 60
#: A JVM that lives for some seconds is better off without the second compiler.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.mark.long
@pytest.mark.parametrize("batches", [12, pytest.param(40, marks=pytest.mark.slow)])
def test_two_processes_without_spark(tmp_path, batches):
    with without_spark():
        race(None, str(tmp_path / "deps"), {"one": ("disk", batches), "two": ("disk", batches)})


@pytest.mark.slow
@pytest.mark.parametrize("other", ["spark", "disk"])
def test_two_processes_write(delta, tmp_path, other):
    kind = f"sc://{delta.client._builder.endpoint}" if session.is_connect(delta) else "spark"
    second = (kind, COUNT) if other == "spark" else ("disk", MANY)
    race(delta, str(tmp_path / "deps"), {"one": (kind, COUNT), "two": second})


@pytest.mark.parametrize("late", ["spark", "disk"])
def test_one_of_the_other_kind_comes_between_two_steps(delta, tmp_path, monkeypatch, late):
    """Without the lock, in which not every writer takes part: of two commits with one number one counts."""
    monkeypatch.setattr(writer_lock, "held", lambda _: contextlib.nullcontext())
    location, real = str(tmp_path / "deps"), steps.run
    saved(None, location)
    writers = {"spark": DynamicClosure.open(location, spark=delta)}
    writers["spark"]._parts.attachment.store.place.__dict__["_alone"] = None  # Spark reads and writes all of it
    with without_spark():
        writers["disk"] = DynamicClosure.open(location)
    slow, quick = writers.pop(late), *writers.values()
    for number, step in enumerate(["log", "publish", "confirm"]):
        wins = step == "confirm"  # then it has published

        def run(name, write, step=step, wins=wins, number=number):
            if name == step:
                monkeypatch.setattr(steps, "run", real)
                with pytest.raises(ConflictError) if wins else contextlib.nullcontext():
                    quick.insert([(f"quick {number}", "a")])
            return real(name, write)

        monkeypatch.setattr(steps, "run", run)
        with contextlib.nullcontext() if wins else pytest.raises(ConflictError, match="another one who was first"):
            slow.insert([(f"slow {number}", "a")])
        assert steps.run is real
        winner, loser = (slow, quick) if wins else (quick, slow)
        assert (winner.version, loser.version) == (number + 1, number)
        assert loser.refresh() == number + 1
        assert seen(loser) == seen(winner) == seen(DynamicClosure.open(location, spark=delta))
        assert pairs(winner) == recomputed(winner)
    wanted = {("quick 0", "a"), ("quick 1", "a"), ("slow 2", "a")}
    assert seen(slow)[2] == {*START, *wanted}


def race(delta, location, rivals):
    """Let writers work at once: by their names, what they are and how many batches they have."""
    count = sum(each for _, each in rivals.values())
    saved(delta, location)
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.rival", location, name, str(each), kind],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "JDK_JAVA_OPTIONS": JVM},
        )
        for name, (kind, each) in rivals.items()
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
    assert sorted(versions) == list(range(1, count + 1)), found
    closure = DynamicClosure.open(location, spark=delta)
    assert closure.version == count
    edges = closure.arrow.edges()
    wanted = {(f"{name} {number}", "a") for name, (_, each) in rivals.items() for number in range(each)}
    assert set(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True)) == {*START, *wanted}
    assert pairs(closure) == recomputed(closure)
    assert closure.arrow.history()["version"].to_pylist() == list(range(count + 1))
    for version in range(count + 1):
        assert len(DynamicClosure.open(location, version, spark=delta).arrow.edges()) == len(START) + version


def _begun(writers):
    """Let both begin at once."""
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    return writers
