"""Block matrices against the machine: Spark's own overhead, BLAS, and MLlib's BlockMatrix.

1. a rank-1 update of every block, materialised, against an identity pass over the same blocks;
2. Boolean and modular products on Spark against numpy's BLAS in one process on as many cores;
3. a gather of one row and one column against an empty Spark job of as many tasks;
4. bytes stored, dense and sparse;
5. a product against MLlib's BlockMatrix on the same dense input.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)
from threadpoolctl import threadpool_limits

from benchmarks.harness import Line, ratio, report, take_turns
from dyntc_spark import session
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.operations import Gather
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING, Modular, Ring
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.where import Lines
from dyntc_spark.kernels.block import Bits, Dense

PRIME = 8388593


def dense_matrix(backend: SparkBackend, n: int, ring: Ring, seed: int, size: int | None = None) -> BlockMatrix:
    """Make a dense random matrix on Spark, each block drawn by the task that holds it."""
    empty = BlockMatrix.from_entries(([], []), (n, n), ring, size=size, backend=backend)
    grid = empty.grid

    def draw(batches):
        import pyarrow as pa  # noqa: PLC0415  (runs in a worker)

        for batch in batches:
            payloads = []
            for bi, bj in zip(batch["bi"].to_pylist(), batch["bj"].to_pylist(), strict=True):
                rng = np.random.default_rng((seed, bi, bj))
                rows, columns = grid.extent(bi, bj)
                if ring is BOOLEAN:
                    words = rng.integers(0, 2**64, (rows, -(-columns // 64)), np.uint64)
                    words[:, -1] &= np.uint64(2 ** (columns % 64 or 64) - 1)
                    block = Bits((rows, columns), words)
                else:
                    top = ring.modulus[0] if ring.modulus else 1000
                    block = Dense(rng.integers(0, top, (1, rows, columns)).astype(np.int32))
                payloads.append(ring.encode(block))
            yield pa.RecordBatch.from_arrays(
                [batch["bi"], batch["bj"], pa.array(payloads, pa.binary())], names=["bi", "bj", "payload"]
            )

    cells = backend.cells(grid.blocks).mapInArrow(draw, "bi int, bj int, payload binary")
    return BlockMatrix.from_blocks(cells, (n, n), ring, size=grid.down.step, backend=backend)


def rank_one(backend: SparkBackend, n: int, repeats: int) -> list[Line]:
    """Benchmark 1."""
    lines = []
    rng = np.random.default_rng(1)
    for ring, label in ((BOOLEAN, "Boolean"), (COUNTING, "counting")):
        side = n if ring is BOOLEAN else n // 4  # as many bytes
        matrix = dense_matrix(backend, side, ring, seed=1)
        u, v = rng.random(side) < 0.5, rng.random(side) < 0.5
        frame = matrix.state.frame

        def identity(frame=frame):
            kept = frame.mapInArrow(_same, frame.schema).localCheckpoint(eager=False)
            kept.select("bi").toArrow()

        times = take_turns({"rank-1 update": partial(matrix.rank_update, u, v), "identity pass": identity}, repeats)
        lines.append(ratio(f"1. rank-1 update, {label}, n = {side}", times, "rank-1 update", "identity pass", 1.8))
    return lines


def products(backend: SparkBackend, n: int, repeats: int) -> list[Line]:
    """Benchmark 2."""
    lines = []
    for ring, kind, label in ((BOOLEAN, np.float32, "Boolean"), (Modular((PRIME,)), np.float64, "modulo p")):
        a, b = (dense_matrix(backend, n, ring, seed) for seed in (2, 3))
        rng = np.random.default_rng(4)
        x, y = (rng.random((n, n)).astype(kind) for _ in range(2))
        times = take_turns(
            {"on Spark": partial(a.multiply, b), f"numpy {kind.__name__} BLAS": partial(np.matmul, x, y)}, repeats, 1
        )
        lines.append(ratio(f"2. product, {label}, n = {n}", times, "on Spark", f"numpy {kind.__name__} BLAS", 2.5))
    return lines


def gather(backend: SparkBackend, n: int, repeats: int) -> list[Line]:
    """Benchmark 3."""
    matrix = dense_matrix(backend, n, BOOLEAN, seed=5)
    ids = np.array([n // 3])
    operations = [Gather(matrix.name, BOOLEAN, Lines(matrix.grid, ids, upright)) for upright in (False, True)]
    tasks = matrix.state.frame.select(F.spark_partition_id().alias("part")).distinct().count()
    spark = backend.spark

    def empty():
        spark.range(0, tasks, 1, tasks).where("id < 0").mapInArrow(_same, "id bigint").toArrow()

    def empty_without_python():
        spark.range(0, tasks, 1, tasks).where("id < 0").toArrow()

    times = take_turns(
        {
            "row and column": lambda: matrix.state.run(*operations),
            f"empty job of {tasks} tasks": empty,
            "the same without Python (for comparison)": empty_without_python,
        },
        repeats,
    )
    return [ratio(f"3. gather, n = {n}", times, "row and column", f"empty job of {tasks} tasks", 3)]


def stored(backend: SparkBackend, n: int) -> list[Line]:
    """Benchmark 4."""
    dense = dense_matrix(backend, n, BOOLEAN, seed=6)
    bits = 8 * dense.state.stored_bytes(dense.name) / n**2
    rng = np.random.default_rng(7)
    places = np.unique(rng.integers(0, n * n, n * 20))
    sparse = BlockMatrix.from_entries((places // n, places % n), (n, n), BOOLEAN, backend=backend)
    octets = sparse.state.stored_bytes(sparse.name) / len(places)
    return [
        Line(f"4. dense Boolean, n = {n}", bits, "bits/entry", "<= 1.05", bits <= 1.05),
        Line(f"4. sparse Boolean, n = {n}", octets, "bytes/entry", "<= 5", octets <= 5),
    ]


def against_mllib(backend: SparkBackend, n: int, repeats: int) -> list[Line]:
    """Benchmark 5."""
    from pyspark.mllib.linalg import Matrices  # noqa: PLC0415  (only here, and only on a classic session)
    from pyspark.mllib.linalg.distributed import BlockMatrix as MLlibMatrix  # noqa: PLC0415

    ours = dense_matrix(backend, n, Modular((PRIME,)), seed=8, size=512)
    block = 1024  # MLlib's default
    context = backend.spark.sparkContext

    def draw(at):
        values = np.random.default_rng((8, *at)).integers(0, PRIME, block * block).astype(float)
        return at, Matrices.dense(block, block, values)

    places = [(bi, bj) for bi in range(n // block) for bj in range(n // block)]
    theirs = MLlibMatrix(context.parallelize(places, 2 * backend.parallelism).map(draw), block, block, n, n).cache()
    theirs.validate()

    def theirs_once():
        return theirs.multiply(theirs).blocks.count()

    times = take_turns({"ours": partial(ours.multiply, ours), "MLlib": theirs_once}, repeats, 1)
    return [ratio(f"5. product of dense {n} x {n}", times, "ours", "MLlib", 1.0)]


def _same(batches):
    yield from batches


def run(*, quick: bool = False, cores: int = 2) -> bool:
    """Run all five; ``quick`` takes a quarter of the sizes."""
    spark: SparkSession = session.local(cores, config={"spark.ui.showConsoleProgress": "false"})
    backend = SparkBackend(spark)
    part = 4 if quick else 1
    stages = {
        "rank-1 updates": partial(rank_one, backend, 16384 // part, 9),
        "products": partial(products, backend, 8192 // part, 3),
        "gathers": partial(gather, backend, 32768 // part, 15),
        "bytes stored": partial(stored, backend, 16384 // part),
        "MLlib": partial(against_mllib, backend, 4096 // (2 if quick else 1), 3),
    }
    lines: list[Line] = []
    with threadpool_limits(cores):
        for name, measure in stages.items():
            print(f"measuring {name} …", flush=True)
            lines += measure()
    return report("foundation" + ("-quick" if quick else ""), lines)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")
    run()
