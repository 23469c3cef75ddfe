"""The driver is killed at any moment, again and again: what was acknowledged is there, and nothing is half there.

On classic Spark the JVM dies with Python, at once. On Spark Connect only the client dies, and the server may
still finish what it was asked for.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.graph.store import steps
from tests.faults.batches import batch, start
from tests.graph.oracle import Plain
from tests.store.closures import pairs, recomputed
from tests.store.conftest import without_spark

ROOT = Path(__file__).parents[2]
SEED = 20_241
START_SECONDS, STEP_SECONDS = 300, 300
#: A JVM that lives for some seconds is better off without the second compiler.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: Where kills are aimed: at a moment of a step, or at any moment after the location is asked for.
AIMS = (*steps.STEPS, "vacuum", "open", "start", "any", "any", "any")


class Writer:
    """A process that writes, with its JVM in one group of processes."""

    def __init__(self, location, folder, kind):
        self.journal = folder / "journal"
        self.journal.write_text("")
        self._errors = (folder / "errors").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.writer", location, str(folder), str(SEED), kind],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=self._errors,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "JDK_JAVA_OPTIONS": JVM},
        )

    def go(self):
        """Let it open the location once it has started."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def await_line(self, *wanted, seconds):
        """Wait until the journal has a line; its end may come first, which is told."""
        known = len(self.lines)
        for _ in range(seconds * 500):
            if any(line in wanted for line in self.lines[known - 1 :]):
                return True
            if self.process.poll() is not None:
                return False
            time.sleep(0.002)
        return False

    @property
    def lines(self):
        return self.journal.read_text(encoding="utf-8").splitlines() or ["nothing"]

    def kill(self):
        """Kill Python and the JVM at once; give the last line of the journal."""
        assert self.process.poll() is None, self.errors
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=30)
        return self.lines[-1]

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=30)
        self.process.stdin.close()
        self._errors.close()

    @property
    def errors(self):
        return Path(self._errors.name).read_text(encoding="utf-8", errors="replace")[-3000:]


class Kills:
    """A location, the script that writers play there, and what has hit them."""

    def __init__(self, spark, folder):
        self.spark, self.folder = spark, folder
        self.location = str(folder / "deps")
        self.kind = "disk" if spark is None else "spark"
        if session.is_connect(spark):
            self.kind = f"sc://{spark.client._builder.endpoint}"
        self.pace = 0.05 if spark is None else 1.0  # how long things take, against Spark
        self.rng = random.Random(SEED)  # noqa: S311
        self.hits, self.published_unacknowledged = Counter(), 0
        (folder / "acknowledged").touch()
        DynamicClosure.from_edges(start(SEED), spark=spark).save(self.location)

    def strike(self, writer, aim):
        """Let a writer work and kill it at its aim."""
        if aim == "start":
            time.sleep(self.rng.uniform(0, 6) * self.pace)
            return writer.kill()
        assert writer.await_line("wait", seconds=START_SECONDS), writer.errors
        writer.go()
        if aim == "any":
            assert writer.await_line("work", seconds=START_SECONDS), writer.errors
            time.sleep(self.rng.uniform(0, 8) * self.pace)
        else:
            assert writer.await_line(aim, seconds=STEP_SECONDS), writer.errors
            time.sleep(self.rng.uniform(0, 0.5) ** 2 * 2 * self.pace)  # most steps take some 0.3 s, or 0.01
        return writer.kill()

    def check(self):
        """Look at what a killed writer has left."""
        acknowledged = [int(line) for line in (self.folder / "acknowledged").read_text(encoding="utf-8").split()]
        last = max(acknowledged, default=0)
        assert acknowledged == list(range(1, last + 1))
        closure = DynamicClosure.open(self.location, spark=self.spark)
        assert closure.version in {last, last + 1}, (closure.version, last)
        self.published_unacknowledged += closure.version > last
        plain = Plain(start(SEED))
        for number in range(1, closure.version + 1):
            plain.apply(batch(SEED, number))
        edges = closure.arrow.edges()
        assert set(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True)) == plain.edges
        assert set(closure.arrow.vertices()["vertex"].to_pylist()) == plain.vertices
        assert pairs(closure) == recomputed(closure)
        assert closure.verify()
        return closure

    def run(self, count):
        """Kill so many writers; while one starts, what the one before has left is looked at."""
        writer = None
        try:
            for number in range(count):
                aim = AIMS[number % len(AIMS)]
                writer = Writer(self.location, self.folder, self.kind)
                if number and aim != "start":
                    self.check()
                self.hits[self.strike(writer, aim)] += 1
                writer.end()
        finally:
            if writer is not None:
                writer.end()
        return self.check()

    def tell(self, count, where, closure):
        """Print what `tests.release` shows, and what was going on at the kills."""
        lost = f"{self.published_unacknowledged} published but not acknowledged"
        print(f"\n{count} kills {where}: {closure.version} versions, {lost}")
        print("last thing begun or done before the kill:", dict(self.hits.most_common()))


@pytest.fixture
def kills(delta, tmp_path):
    if not session.is_connect(delta) and delta.sparkContext.master.startswith("local-cluster"):
        pytest.skip("the writers bring a Spark of their own: on classic Spark this is done already")
    return Kills(delta, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("count", [3, pytest.param(110, marks=pytest.mark.slow)])
def test_a_writer_without_spark_is_killed_at_any_moment(tmp_path, count):
    with without_spark():
        kills = Kills(None, tmp_path)
        closure = kills.run(count)
        kills.tell(count, "without Spark", closure)


@pytest.mark.slow
@pytest.mark.parametrize("count", [int(os.environ.get("DYNTC_KILLS", "110"))])
def test_a_writer_is_killed_at_any_moment(kills, count):
    closure = kills.run(count)
    spark, location = kills.spark, kills.location
    tables = {name: spark.read.format("delta").load(f"{location}/{name}") for name in ("log", "vertices", "runs")}
    published = spark.read.format("delta").load(f"{location}/commits").select("token")
    orphans = {name: table.join(published, "token", "left_anti").count() for name, table in tables.items()}
    kills.tell(count, "with Spark", closure)
    print(f"rows that count for nothing: {orphans}")
    if count > 50:
        assert set(steps.STEPS) <= set(kills.hits), "every step was hit"
        assert orphans["log"], "some were hit between the log and its publication"
