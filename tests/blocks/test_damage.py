"""What is stored wrongly, and sessions that are gone: errors of our own at the driver, never a wrong answer."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest
from pyspark.sql import functions

from dyntc_spark import session
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.spark import SparkBackend, SparkState
from dyntc_spark.errors import DamagedBlockError, DuplicateBlockError, RingMismatchError, SessionError
from tests.blocks.oracle import Plain, assert_same, payloads

SIZE, N = 16, 40


@pytest.fixture(scope="module")
def plain():
    return Plain.random(COUNTING, (N, N), 0.2, 1)


@pytest.fixture(scope="module")
def whole(plain, spark_backend):
    return plain.blocks(spark_backend, SIZE)


def with_frame(matrix, frame):
    """The same matrix with other stored blocks."""
    kept = matrix.state.kept[0]
    return BlockMatrix(SparkState(matrix.state.backend, matrix.state.kinds, (kept.derived(frame),)), matrix.name)


def with_payload(matrix, payload):
    """The same matrix with another payload in block (1, 0)."""
    here = (functions.col("bi") == 1) & (functions.col("bj") == 0)
    stored = functions.unhex(functions.lit(payload.hex()))
    column = functions.when(here, stored).otherwise(functions.col("matrix")).alias("matrix")
    return with_frame(matrix, matrix.state.frame.select("bi", "bj", column))


@pytest.fixture(scope="module")
def damaged(whole):
    payload = bytearray(payloads(whole)[1, 0])
    payload[-1] ^= 1
    return with_payload(whole, bytes(payload))


READS = {
    "multiply": lambda x: x.multiply(x),
    "gather": lambda x: x.rows([16]),
    "lookup": lambda x: x.lookup([(16, 0)]),
    "update": lambda x: x.rank_update([1] * N, [1] * N),
    "set": lambda x: x.set_entries([16], [0]),
    "vector": lambda x: x.left_multiply([1] * N),
    "transpose": lambda x: x.transpose(),
    "entries": lambda x: x.to_entries(),
    "validate": lambda x: x.validate(),
}


@pytest.mark.parametrize("what", READS)
def test_a_damaged_block(damaged, what):
    with pytest.raises(DamagedBlockError, match=r"expected the checksum .* got .* another copy") as caught:
        READS[what](damaged)
    assert "block (1, 0) of 'matrix'" in str(caught.value)


def test_what_a_damaged_block_does_not_touch(damaged, whole, plain):
    assert_same(damaged.rows([0]), Plain(COUNTING, plain.layers[:, [0]]))
    with pytest.raises(DamagedBlockError):
        damaged.nnz()
    assert_same(whole, plain)


def test_a_stored_block_of_another_ring(whole):
    other = with_payload(whole, BOOLEAN.encode(BOOLEAN.from_coordinates([0], [0], None, (16, 16))))
    for what in ("multiply", "gather", "validate"):
        with pytest.raises(RingMismatchError, match="ring 0"):
            READS[what](other)


def test_a_stored_block_that_is_there_twice(whole):
    frame = whole.state.frame
    twice = with_frame(whole, frame.unionAll(frame.where("bi = 2 AND bj = 1")))
    with pytest.raises(DuplicateBlockError, match=r"two at \(2, 1\)"):
        twice.validate()


def test_a_stored_block_of_another_shape(whole):
    other = with_payload(whole, payloads(whole)[2, 2])
    with pytest.raises(ValueError, match=r"block \(1, 0\) of 'matrix' .*\(16, 16\).*\(8, 8\)"):
        other.validate()


# --- closed sessions -------------------------------------------------------------------------

SCRIPT = """
import json, sys
import numpy as np
from dyntc_spark import session
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.spark import SparkBackend

spark = session.local(1, config={"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}, delta=False)
backend, table = SparkBackend(spark), SparkBackend(spark, "parquet")
x, y = (BlockMatrix.from_entries(([0], [1]), (20, 20), size=16, backend=each) for each in (backend, table))
frame = spark.createDataFrame([(1, 1)], "row long, column long")
spark.stop()
calls = {
    "multiply": lambda: x.multiply(x), "rows": lambda: x.rows([0]), "update": lambda: x.set_entries([0], [0]),
    "transpose": x.transpose, "entries": x.to_entries, "validate": x.validate, "nnz": y.nnz, "add": lambda: x.add(x),
    "bytes": lambda: x.state.stored_bytes("matrix"), "dataframe": lambda: x.state.to_dataframe("matrix"),
    "build": lambda: BlockMatrix.identity(3, backend=backend),
    "build from a frame": lambda: BlockMatrix.from_entries(frame, (2, 2), backend=backend),
    "close": table.close, "a backend": lambda: BlockMatrix.identity(3, backend=SparkBackend(spark, "parquet")),
}
said, before = {}, backend.jobs.total + table.jobs.total
for name, call in calls.items():
    try:
        call()
        said[name] = "nothing"
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}"
print(json.dumps([said, backend.jobs.total + table.jobs.total - before]))
"""


@pytest.mark.slow
def test_a_closed_session():
    """In a process of its own: the session of the tests stays open."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said, jobs = json.loads(done.stdout.splitlines()[-1])
    assert jobs == 0
    expected = "SessionError: expected an open Spark session; got one that has been stopped. Start another one"
    wrong = {name: what for name, what in said.items() if not what.startswith(expected)}
    assert wrong == {}


@pytest.mark.connect
def test_a_closed_session_of_spark_connect(spark):
    if not session.is_connect(spark):
        pytest.skip("a classic session cannot be stopped alone: the test above does it in a process of its own")
    # Not by checkpoints: pyspark 4.2 looks for those of every session in the active one.
    other = type(spark).builder.remote(f"sc://{spark.client._builder.endpoint}").create()
    backend = SparkBackend(other, "parquet")
    try:
        matrix = BlockMatrix.identity(20, size=SIZE, backend=backend)
        assert matrix.nnz() == 20
        backend.close()  # its table would outlast the session
    finally:
        other.stop()
    jobs = backend.jobs.total
    for call in (lambda: matrix.rows([0]), lambda: matrix.multiply(matrix), matrix.to_entries, matrix.validate):
        with pytest.raises(SessionError, match="expected an open Spark session"):
            call()
    assert backend.jobs.total == jobs
    assert spark.range(3).count() == 3
