"""One of two writers at a location: ``python -m tests.faults.rival LOCATION NAME COUNT [SERVER]``.

It starts Spark, or is a client of a Spark Connect server, writes "ready", waits for a line on its input, and then
applies COUNT batches, each with an edge of its own. After a conflict it refreshes and tries again. It prints the
versions that it has made, and how often another one was first.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import ConflictError


def main(location, name, count, server=None):
    if server:
        spark = SparkSession.builder.remote(server).getOrCreate()
    else:
        spark = session.local(1, delta=True, config=session._read_conf("test"))
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
