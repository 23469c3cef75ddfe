"""One of two writers at a location: ``python -m tests.faults.rival LOCATION NAME COUNT KIND``.

KIND is ``disk`` (it writes without Spark), ``spark`` (it starts Spark, which writes), or the address of a Spark Connect
server. It writes "ready", waits for a line on its input, and then applies COUNT batches, each with an edge of its own.
After a conflict it refreshes and tries again. It prints the versions that it has made, and how often another one was
first.
"""

from __future__ import annotations

import contextlib
import json
import sys

from pyspark.sql import SparkSession

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import ConflictError
from tests.store.conftest import only_spark, without_spark


def main(location, name, count, kind):
    with contextlib.ExitStack() as stack:
        if kind == "disk":
            spark = stack.enter_context(without_spark())
        elif kind == "spark":
            stack.enter_context(only_spark())
            spark = session.local(1, delta=True, config=session._read_conf("test"))
        else:
            spark = SparkSession.builder.remote(kind).getOrCreate()
        write(location, name, count, spark)


def write(location, name, count, spark):
    closure = DynamicClosure.open(location, spark=spark)
    print("ready", flush=True)
    sys.stdin.readline()
    versions, conflicts = [], 0
    for number in range(int(count)):
        while True:
            try:
                closure.apply([("insert", f"{name} {number}", "a")], batch_id=f"{name} {number}")
                break
            except ConflictError:
                conflicts += 1
                closure.refresh()
        versions.append(closure.version)
    print(json.dumps({"versions": versions, "conflicts": conflicts}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
