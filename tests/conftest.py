"""One Spark session for all tests, started when the first test asks for it.

The environment variable DYNTC_TEST_SPARK says what kind it is:

- ``classic`` (default): inside this process, as ``session.local`` starts it;
- ``connect``: a client of a Spark Connect server, which is a process of its own;
- ``cluster``: a driver here, a master and two executors as processes of their own.

DYNTC_GRAPHFRAMES_JAR names the jar of GraphFrames, for the tests that need it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time

import hypothesis
import pytest
from pyspark.sql import SparkSession

from dyntc_spark import machine, session
from dyntc_spark.graph.tables import views

SPARK_KIND = os.environ.get("DYNTC_TEST_SPARK") or "classic"
CLUSTER = "local-cluster[2,1,1024]"  # executors, cores of each, MiB of each
START_SECONDS = 120
INNER_LAYERS = {"blocks", "matrices", "engines"}
# Plans over a few rows: to compile Java for each takes a quarter of all processor time. The cluster and the slow tests
# run what users run, compiled code.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

# Spark makes single examples slow. CI draws the same examples every time.
hypothesis.settings.register_profile("dyntc", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("dyntc")


def pytest_addoption(parser):
    """Let the slow tests be asked for."""
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, and only these")


def pytest_collection_modifyitems(config, items):
    """Mark every test that uses the session, so that ``-m spark`` selects it; part the slow tests from the others.

    On Spark Connect all that use the session are slow but those marked ``connect``. On Spark the layers below `graph`
    come last: the tests without Spark, which `run.py test` runs beside these, begin with them and have compiled their
    kernels by then.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    items.sort(key=lambda item: "spark" in item.keywords and item.path.parent.name in INNER_LAYERS)
    if "slow" in config.option.markexpr:
        return
    wanted = config.getoption("--slow")
    config.hook.pytest_deselected(items=[item for item in items if _is_slow(item) != wanted])
    items[:] = [item for item in items if _is_slow(item) == wanted]


def _is_slow(item):
    elsewhere = SPARK_KIND == "connect" and "spark" in item.keywords and "connect" not in item.keywords
    return "slow" in item.keywords or elsewhere


@pytest.fixture(scope="session")
def spark(request, tmp_path_factory):
    """Yield the session that all tests share."""
    more = {} if request.config.getoption("--slow") else INTERPRETED
    start = {"classic": _classic, "connect": _connect, "cluster": _cluster}[SPARK_KIND]
    with start(tmp_path_factory.mktemp("spark"), more) as started:
        yield started


@pytest.fixture(autouse=True)
def _clean_catalog(request):
    """Leave no view and no cached table to the next test; the layers below `graph` make none."""
    yield
    if "spark" in request.fixturenames and request.path.parent.name not in INNER_LAYERS:
        spark = request.getfixturevalue("spark")
        spark.catalog.clearCache()
        # Spark's own function of this name first analyses the view, to find out whether it is in the cache.
        drop = spark.catalog if session.is_connect(spark) else spark._jsparkSession.sessionState().catalog()
        for view in spark.sql("SHOW VIEWS").collect():  # a fifth of what spark.catalog.listTables takes
            if view.isTemporary:
                drop.dropTempView(view.viewName)


@pytest.fixture
def only_functions(monkeypatch):
    """Let `create_views` make these SQL functions, not all eleven: Spark analyses each for some tenths of a second."""
    return lambda *names: monkeypatch.setattr(views, "FUNCTIONS", names)


@pytest.fixture
def _few_functions(only_functions):
    only_functions("descendants")


class Jobs:
    """The number of Spark jobs since this object was made."""

    def __init__(self, spark):
        self._scheduler = spark.sparkContext._jsc.sc().dagScheduler()
        self._before = self._scheduler.numTotalJobs()

    @property
    def started(self):
        """Count every job at once; the status tracker lags behind and leaves out jobs that are in a job group."""
        return self._scheduler.numTotalJobs() - self._before


@pytest.fixture(scope="session")
def job_count(spark):
    """Count real Spark jobs: ``with job_count() as jobs: ...`` and then ``jobs.started``."""
    if session.is_connect(spark):
        pytest.skip("Spark Connect's client cannot see the scheduler that counts the jobs")

    @contextlib.contextmanager
    def counting():
        yield Jobs(spark)

    return counting


def _settings():
    graphframes = os.environ.get("DYNTC_GRAPHFRAMES_JAR")
    return {**session._read_conf("test"), **({"spark.jars": graphframes} if graphframes else {})}


@contextlib.contextmanager
def _classic(_folder, more):
    spark = session.local(2, config={**_settings(), **more})
    for name in ("functions", "PythonSQLUtils", "PythonUtils"):
        # Kept, for pyspark asks for them again and again, and the JVM looks into all its jars each time.
        setattr(spark._jvm, name, getattr(spark._jvm, name))
    yield spark
    spark.stop()


@contextlib.contextmanager
def _cluster(folder, _more):
    os.environ["SPARK_WORKER_DIR"] = str(folder)  # not in the pyspark package
    spark = session.local(config={**_settings(), "spark.master": CLUSTER})
    yield spark
    spark.stop()


@contextlib.contextmanager
def _connect(folder, more):
    """Start a server, give a client of it, and stop both."""
    with connect_server(folder, **more) as url:
        spark = SparkSession.builder.remote(url).getOrCreate()
        yield spark
        spark.stop()


@contextlib.contextmanager
def connect_server(folder, **settings):
    """Start a Spark Connect server on a free port, give its address, and stop it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = folder / "server.log"
    with log.open("wb") as output, _server(port, folder, output, settings) as server:
        _wait_until_open(port, server, log)
        yield f"sc://127.0.0.1:{port}"
        if server.poll() is not None:
            _fail("ended too early", log)


@contextlib.contextmanager
def _server(port, folder, output, more):
    settings = {
        **session._read_conf("local"),
        **_settings(),
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **more,
    }
    with machine.environment():
        jars = machine.delta_jars(None, machine.ivy_dir())
        if jars:
            given = [settings["spark.jars"]] if "spark.jars" in settings else []
            settings |= {**session._read_conf("delta"), "spark.jars": ",".join([*given, *map(str, jars)])}
        server = subprocess.Popen(
            [
                str(machine.spark_home() / "bin" / "spark-submit"),
                *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
                *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
            ],
            cwd=folder,  # the server makes a folder of artifacts where it stands
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield server
    finally:
        server.terminate()
        server.wait(timeout=60)


def _wait_until_open(port, server, log):
    for _ in range(START_SECONDS * 10):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    _fail("did not start", log)


def _fail(what, log):
    pytest.fail(f"the Spark Connect server {what}:\n{log.read_text()[-4000:]}", pytrace=False)
