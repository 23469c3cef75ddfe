"""A writer who will be killed: ``python -m tests.faults.writer LOCATION FOLDER SEED KIND``.

KIND is ``disk`` (it writes without Spark), ``spark`` (it starts Spark, which writes), or the address of a Spark Connect
server. It waits for a line on its input, opens the location and applies
batches of ``batches`` with their numbers as ids, from the first never acknowledged on. In FOLDER are two files:

- ``acknowledged`` gets the number of each batch after the call has returned, on disk before the next one begins;
- ``journal`` gets a line when something begins or ends, so that it can be told where a kill has hit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import ConflictError
from dyntc_spark.graph.store import steps, store
from tests.faults.batches import batch
from tests.store.conftest import only_spark, without_spark

CHECKPOINT_BATCHES = 2
SAVE_EVERY, VACUUM_EVERY = 5, 7


class Journal:
    """A file whose lines are there as soon as they are written, whatever becomes of this process."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, line, *, to_disk=False):
        os.write(self._file, f"{line}\n".encode())
        if to_disk:
            os.fsync(self._file)


def _end_with_parent():
    """Wait for the end of the input, which comes when the parent is gone."""
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


def main(location, folder, seed, kind):
    acknowledged, journal = (Journal(Path(folder, name)) for name in ("acknowledged", "journal"))
    journal.write("start")
    with contextlib.ExitStack() as stack:
        if kind == "disk":
            spark = stack.enter_context(without_spark())
        elif kind == "spark":
            stack.enter_context(only_spark())
            spark = session.local(2, delta=True, config=session._read_conf("test"))
        else:
            spark = SparkSession.builder.remote(kind).getOrCreate()
        work(location, folder, seed, spark, acknowledged, journal)


def work(location, folder, seed, spark, acknowledged, journal):
    journal.write("wait")
    if not sys.stdin.readline():
        return
    threading.Thread(target=_end_with_parent, daemon=True).start()
    real = steps.run

    def run(step, write):
        journal.write(step)
        result = real(step, write)
        journal.write(f"after {step}")
        return result

    steps.run, store.CHECKPOINT_BATCHES = run, CHECKPOINT_BATCHES
    journal.write("open")
    closure = DynamicClosure.open(location, spark=spark)
    done = [int(line) for line in Path(folder, "acknowledged").read_text(encoding="utf-8").split()]
    number = max(done, default=0)
    while True:
        number += 1
        journal.write("work")
        try:
            closure.apply(batch(seed, number), batch_id=number)
        except ConflictError:  # a server was still at work for the one before
            journal.write("refresh")
            closure.refresh()
            closure.apply(batch(seed, number), batch_id=number)
        acknowledged.write(number, to_disk=True)
        if number % SAVE_EVERY == 0:
            journal.write("save")
            closure.save(location)
        if number % VACUUM_EVERY == 0:
            journal.write("vacuum")
            closure.vacuum(keep=3, files=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
