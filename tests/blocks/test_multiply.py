"""What a product costs: absent blocks nothing, sparse ones little, and a crowded block row more than one task."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import functions

from dyntc_spark.blocks import matrix_tasks
from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.placement import Placement
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.accumulate import Accumulator
from tests.blocks.oracle import RING_NAMES, RINGS, Plain, assert_same, header, payloads

SIZE = 16


def arrow(ring, n, cells, seed=1):
    """A matrix of n rows with entries in the given blocks only."""
    plain, draw = Plain.zeros(ring, (n, n)), np.random.default_rng(seed)
    for bi, bj in cells:
        block = plain.layers[:, bi * SIZE : (bi + 1) * SIZE, bj * SIZE : (bj + 1) * SIZE]
        block[:] = draw.random(block.shape[1:]) < 0.3
    return Plain(ring, plain.layers)


@pytest.fixture
def products(monkeypatch):
    """The number of pairs of blocks that are multiplied in this process."""
    seen = []
    original = Accumulator.add_product

    def spy(self, a, b, sign=1):
        seen.append((a.shape, b.shape))
        return original(self, a, b, sign)

    monkeypatch.setattr(Accumulator, "add_product", spy)
    return seen


def test_absent_blocks_cost_nothing(local_backend, products):
    left = arrow(BOOLEAN, 90, [(0, 0), (0, 3), (5, 3), (2, 4)])
    right = arrow(BOOLEAN, 90, [(3, 1), (3, 5), (0, 0), (1, 1)])
    product = left.blocks(local_backend, SIZE).multiply(right.blocks(local_backend, SIZE))
    assert len(products) == 5  # (0,0)(0,0), and (0,3) and (5,3) with each of (3,1) and (3,5)
    assert set(payloads(product)) == {(0, 0), (0, 1), (0, 5), (5, 1), (5, 5)}
    assert_same(product, left.multiply(right))


def test_absent_blocks_do_not_reach_the_workers(spark_backend, monkeypatch, tmp_path):
    """The tasks write down what they are given: they run in processes of their own."""
    log = tmp_path / "given"
    left, right = arrow(BOOLEAN, 90, [(0, 0), (5, 3)]), arrow(BOOLEAN, 90, [(3, 1), (0, 0)])
    blocks = left.blocks(spark_backend, SIZE), right.blocks(spark_backend, SIZE)
    monkeypatch.setattr(matrix_tasks, "multiplying", _spied(matrix_tasks.multiplying, log))
    assert_same(blocks[0].multiply(blocks[1]), left.multiply(right))
    rows = [line.split() for line in log.read_text().splitlines()]
    place = Placement.choose(spark_backend.parallelism, (6, 6))
    assert len(rows) == 2 * place.q + 2 * place.p  # each block once for each part that needs it
    assert all(size != "None" for _, size in rows)


def _spied(original, log):
    def multiplying(*arguments):
        task = original(*arguments)

        def spy(batches):
            def seen():
                for batch in batches:
                    with log.open("a") as file:
                        for side, payload in zip(batch.column("side"), batch.column("payload"), strict=True):
                            if side.as_py() < 2:
                                size = len(payload.as_py()) if payload.is_valid else None
                                file.write(f"{side.as_py()} {size}\n")
                    yield batch

            yield from task(seen())

        return spy

    return multiplying


@pytest.mark.parametrize("ring", RINGS, ids=RING_NAMES)
def test_sparse_times_sparse_is_stored_sparse(backend, ring):
    rows = np.arange(100)
    eye = Plain.zeros(ring, (100, 100)).set_entries(rows, rows)
    shift = Plain.zeros(ring, (100, 100)).set_entries(rows, (rows + 1) % 100)
    product = eye.blocks(backend, 64).multiply(shift.blocks(backend, 64))
    assert {header(payload).codec for payload in payloads(product).values()} == {codec.SPARSE}
    assert_same(product, shift)


def test_dense_times_dense_is_stored_dense(backend):
    plain = Plain.random(BOOLEAN, (100, 100), 0.5, 1)
    product = plain.blocks(backend, 64).multiply(plain.blocks(backend, 64))
    assert {header(payload).codec for payload in payloads(product).values()} == {codec.DENSE_BITS}
    counts = plain.blocks(backend, 64).multiply(plain.blocks(backend, 64), counts=True)
    assert {header(payload).codec for payload in payloads(counts).values()} == {codec.DENSE_INTEGERS}


# --- placement -------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 7, 8, 64])
@pytest.mark.parametrize("blocks", [(0, 0), (1, 1), (1, 50), (50, 1), (2, 2), (9, 13)])
def test_a_placement_fills_its_parts(parts, blocks):
    place = Placement.choose(parts, blocks)
    assert 1 <= place.parts <= parts
    used = {bi % place.p * place.q + bj % place.q for bi in range(blocks[0]) for bj in range(blocks[1])}
    assert used == (set(range(place.parts)) if blocks != (0, 0) else set())
    if parts <= min(blocks):
        assert place.parts > parts * 0.7


@pytest.mark.parametrize("parts", [2, 3, 4, 8, 200])
def test_a_block_row_is_shared_by_several_parts(parts):
    place = Placement.choose(parts, (100, 100))
    assert place.q > 1
    assert len({0 % place.p * place.q + bj % place.q for bj in range(100)}) == place.q


def test_a_crowded_block_row_is_shared_by_several_tasks(spark):
    backend = SparkBackend(spark, partitions=4)
    crowded = arrow(COUNTING, 90, [(0, bj) for bj in range(6)])
    full = arrow(COUNTING, 90, [(bi, bj) for bi in range(6) for bj in range(6)])
    product = crowded.blocks(backend, SIZE).multiply(full.blocks(backend, SIZE))
    frame = product.state.frame.where(functions.col("product").isNotNull())
    tasks = frame.select("bi", "bj", functions.spark_partition_id().alias("task")).collect()
    assert {row.bi for row in tasks} == {0}
    assert len(tasks) == 6
    assert len({row.task for row in tasks}) == Placement.choose(4, (6, 6)).q == 2


def test_parts_of_cells_agree_with_those_of_lines(spark_backend):
    grid, place = Grid.square(90, 120, SIZE), Placement(2, 3)
    cells = spark_backend.cells(grid.blocks)
    bi, bj = functions.col("bi"), functions.col("bj")
    part = place.part(bi, bj)
    found = cells.select("bi", "bj", part).collect()
    assert {(row.bi, row.bj): row.part for row in found} == {
        (i, j): i % 2 * 3 + j % 3 for i in range(6) for j in range(8)
    }
    rows = {(r.bi, r.part) for r in cells.where("bj = 0").select("bi", place.row_parts(bi)).collect()}
    columns = {(r.bj, r.part) for r in cells.where("bi = 0").select("bj", place.column_parts(bj)).collect()}
    assert rows == {(row.bi, row.part) for row in found}
    assert columns == {(row.bj, row.part) for row in found}
