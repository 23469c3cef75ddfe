"""The benchmark on a cluster: what it measures of tasks, without the cluster."""

from __future__ import annotations

import pytest

from benchmarks import scale_out, scale_out_driver


@pytest.mark.long
def test_a_build_that_is_cut_makes_the_same_blocks(tmp_path):
    task = {"graph": "grid60", "graphs": None, "file": str(tmp_path / "graph.npz")}
    scale_out_driver.save(task)
    one, *cut = scale_out_driver.work(task)["work"]
    assert one["ranges"] == one["share"] == 1
    assert one["looks"] > 0
    for each in cut:
        assert each["looks"] >= one["looks"]
        assert each["share"] < 1
        assert each["bytes"] == pytest.approx(one["bytes"], rel=0.1)  # a header for each block


def test_a_process_is_known_by_its_command():
    daemon = "dyntc_spark.worker_daemon"
    commands = {
        f"python -m {daemon}": "Python worker",
        f"java org.apache.spark.deploy.SparkSubmit --conf spark.python.daemon.module={daemon}": "driver's JVM",
        f"java -Dspark.python.daemon.module={daemon} spark.executor.CoarseGrainedExecutorBackend": "executor",
        "java -version": None,
    }
    assert {command: scale_out.role_of(command) for command in commands} == commands
