"""A driver that may not take the memory that the closure would: the system refuses it (RLIMIT_AS).

The driver is a client of Spark Connect, so that the process has nothing but our code in it: the JVM and the Python
workers are processes of the server. To the JVM, no job may bring more than a fraction of the closure, either
(``spark.driver.maxResultSize``): Spark refuses it, also where it is to be broadcast.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure
from tests.conftest import connect_server
from tests.graph.small_driver import CALLS, edges

ROOT = Path(__file__).parents[2]
#: For each engine the layers and the width of the graph, and the MiB that the driver may take beyond what it has when
#: all is loaded: a fraction of what the closure takes, four bytes a pair. A state of path_counting, logarithmic or
#: divide_conquer would take gigabytes for a closure that large: what comes to the driver is counted for these, below.
SIZES = {
    "lanes": (200, 64, 48),
    "centres": (200, 36, 32),
    "algebraic": (150, 36, 32),
}
#: Asks the large graph without a limit first, so that no kernel is compiled under the limit: some get other types than
#: with the small graph.
COMPILE = """
import sys
from pyspark.sql import SparkSession
from dyntc_spark.kernels.plain_first import compiling_all
from tests.graph.small_driver import ask

with compiling_all():
    ask(SparkSession.builder.remote(sys.argv[1]).getOrCreate(), sys.argv[2], *map(int, sys.argv[3:]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Yield the address of a server to whose JVM, which is a driver too, no job brings more than some mebibytes."""
    with connect_server(tmp_path_factory.mktemp("server"), **{"spark.driver.maxResultSize": "12m"}) as url:
        yield url


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and limits the address space as Linux does")
@pytest.mark.parametrize("engine", SIZES)
def test_nothing_of_the_size_of_the_closure_is_at_the_driver(server, engine):
    *size, mebibytes = SIZES[engine]
    in_a_process("-c", COMPILE, server, engine, *size)
    printed = in_a_process("-m", "tests.graph.small_driver", server, engine, *size, mebibytes * 2**20)
    found = json.loads(printed.splitlines()[-1])
    print(engine, found)
    assert found["refused"], "what the closure takes fits the limit, which proves nothing"
    assert found["pairs"] == found["stats"]
    assert abs(found["pairs"] - found["views"]) < size[0] * size[1]
    assert found["verify"]
    assert found["descendants"]


def in_a_process(*words):
    """Return what Python prints with these words."""
    environment = {
        **os.environ,
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "1",
        "PYTHONPATH": str(ROOT),
    }
    run = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


LATER = ("lanes", "logarithmic", "divide_conquer", "algebraic", "path_counting")
LONG = [pytest.param(name, marks=pytest.mark.slow) for name in LATER]


@pytest.mark.parametrize("engine", ["centres", *LONG])
def test_what_comes_to_the_driver_is_small(spark, engine, monkeypatch):
    """Less than 16 bytes a vertex for each question, where the closure takes n / 8 of them even as bits."""
    monkeypatch.setattr(
        "dyntc_spark.matrices.lazy.layered_state.NEAR_BYTES", 0
    )  # up to here, stripes are read as they are
    layers, width = 30, 20
    closure = DynamicClosure.from_edges(edges(layers, width), spark, engine, "spark")
    closure.apply([("insert", 0, width * 20 + 1), ("delete", 0, width)])
    came, frame = [], type(spark.range(1))
    read = frame.toArrow

    def noted(self):
        table = read(self)
        came.append(table.nbytes)
        return table

    monkeypatch.setattr(frame, "toArrow", noted)
    found = {name: call(closure) for name, call in CALLS.items()}
    assert found["pairs"] == found["stats"] > layers * width**2
    assert found["verify"]
    assert sum(came) < 16 * layers * width
