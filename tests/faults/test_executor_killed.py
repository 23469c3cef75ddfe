"""An executor is killed while it works: the user sees a delay, no error and no wrong answer."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure, session
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.engines.lanes import on_spark
from dyntc_spark.errors import LostBlocksError
from tests.blocks.oracle import Plain as Matrix
from tests.blocks.oracle import assert_same
from tests.store.closures import pairs, recomputed

pytestmark = pytest.mark.cluster
EXECUTORS = 2
SECONDS = 120


class Cluster:
    """The executors of the session, as processes."""

    def __init__(self, spark):
        self.spark = spark
        self._jvm = spark.sparkContext._gateway.proc.pid

    def executors(self):
        found = []
        for folder in Path("/proc").iterdir():
            try:
                words = (folder / "cmdline").read_bytes()
                parent = (
                    int((folder / "stat").read_text().rpartition(")")[2].split()[1]) if folder.name.isdigit() else 0
                )
            except (OSError, ValueError, IndexError):
                continue
            if parent == self._jvm and b"CoarseGrainedExecutorBackend" in words:
                found.append(int(folder.name))
        return sorted(found)

    def whole(self):
        """Wait until all executors are there, and take part."""
        known = self.spark.sparkContext._jsc.sc().getExecutorMemoryStatus
        for _ in range(SECONDS * 10):
            if len(self.executors()) == EXECUTORS and known().size() == EXECUTORS + 1:
                return
            time.sleep(0.1)
        pytest.fail(f"{len(self.executors())} executors are there")

    def kill(self, count):
        for pid in self.executors()[:count]:
            os.kill(pid, signal.SIGKILL)

    def struck(self, act, count=1):
        """Do something in another thread, and kill executors once it has a job."""
        result, tracker = [], self.spark.sparkContext.statusTracker()

        def run():
            try:
                result.append(act())
            except BaseException as error:  # noqa: BLE001  (handed to the test)
                result.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive() and not tracker.getActiveJobsIds():
            time.sleep(0.005)
        during = thread.is_alive()
        self.kill(count)
        thread.join(SECONDS * 4)
        assert not thread.is_alive(), "it takes too long"
        if isinstance(result[0], BaseException):
            raise result[0]
        return result[0], during


@pytest.fixture
def cluster(spark):
    if session.is_connect(spark) or not spark.sparkContext.master.startswith("local-cluster"):
        pytest.skip("the executors are no processes of their own here")
    cluster = Cluster(spark)
    cluster.whole()
    yield cluster
    cluster.whole()


EDGES = [(v, v + k) for v in range(70) for k in (1, 5)] + [(30, 20), (69, 60)]
ACTS = {
    "update": lambda c: c.apply([("delete", 10, 11), ("insert", 3, 50), ("insert", 75, 2)]),
    "rebuild": lambda c: c.reset([*EDGES, (80, 0)]),
    "question": lambda c: c.arrow.pairs(),
    "certificate": lambda c: c.verify(),
    "move": lambda c: c.in_process(),
}


def right(c):
    assert pairs(c) == recomputed(c)


@pytest.mark.parametrize("count", [1, EXECUTORS])
def test_lost_blocks_are_built_again(cluster, spark, count, monkeypatch):
    """Executors go while nothing happens: Spark builds their blocks again, also those that a batch has made."""
    monkeypatch.setattr(on_spark, "HAND_BYTES", 0)
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine="lanes", backend="spark")
    c.apply([("delete", 10, 11), ("insert", 3, 50)])
    c.create_views("deps")
    before, known = c.pairs(), recomputed(c)
    cluster.kill(count)
    time.sleep(1)
    assert c.verify()  # small questions are answered by the edges alone
    assert pairs(c) == known
    assert before.count() == spark.table("deps_closure").count() == len(known)
    c.insert([(75, 2)])
    right(c)
    assert c.stats()["details"]["losses"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, EXECUTORS])
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("engine", ["lanes", "recompute", "algebraic", "centres", "logarithmic"])
def test_an_executor_is_killed_while_it_works(cluster, spark, engine, act, count):
    c = DynamicClosure.from_edges(EDGES, spark=spark, engine=engine, backend="spark")
    _, during = cluster.struck(lambda: ACTS[act](c), count)
    print(engine, act, count, "during a job" if during else "after it", c.stats()["details"]["losses"], "losses")
    right(c)
    c.apply([("delete", 20, 21), ("insert", 90, 1)])
    right(c)
    assert c.verify()
    assert engine not in {"lanes", "recompute"} or not c.stats()["details"]["losses"]


@pytest.mark.slow
@pytest.mark.parametrize("materialisation", ["parquet", "local_checkpoint"])
def test_a_multiplication(cluster, spark, materialisation):
    """A matrix alone has no edges to be built from: it says what is lost, or is kept where nothing gets lost."""
    plain = Matrix.random(COUNTING, (90, 90), 0.2, 1)
    backend = SparkBackend(spark, materialisation)
    blocks = plain.blocks(backend, 16)
    try:
        product, _ = cluster.struck(lambda: blocks.multiply(blocks))
        assert_same(product, plain.multiply(plain))
    except LostBlocksError:
        assert materialisation == "local_checkpoint"
        cluster.whole()
        blocks = plain.blocks(backend, 16)
        assert_same(blocks.multiply(blocks), plain.multiply(plain))
    finally:
        backend.close()
