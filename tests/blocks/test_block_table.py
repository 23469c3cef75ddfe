"""The blocks of a state as a table, on both backends."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.blocks.block_table import BLOCKS, block_table
from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.superstep import Kind


@pytest.mark.parametrize("on_spark", [False, True])
def test_blocks_as_a_table(spark, on_spark):
    backend = SparkBackend(spark) if on_spark else LocalBackend()
    grid, rng = Grid.square(13, 13, 5), np.random.default_rng(1)
    rows, columns = np.divmod(rng.permutation(13 * 13)[:70], 13)
    bits = backend.from_entries((rows, columns), Kind(grid, BOOLEAN), "bits")
    counts = backend.from_entries((rows[:9], columns[:9], np.arange(1, 10)), Kind(grid, COUNTING), "counts")
    table = block_table(bits.join(counts), spark)
    assert ", ".join(f"{name} {type_}" for name, type_ in table.dtypes) == BLOCKS
    found = table.collect()
    for name, ring, nnz in (("bits", BOOLEAN, 70), ("counts", COUNTING, 9)):
        mine = [row for row in found if row.matrix == name]
        assert sum(row.nnz for row in mine) == nnz
        assert len({(row.bi, row.bj) for row in mine}) == len(mine)
        assert all(row.bytes == len(row.payload) for row in mine)
        assert all(ring.coordinates(ring.decode(row.payload))[0].size == row.nnz for row in mine)
    assert {row.codec for row in found} <= {"sparse", "dense bits", "dense integers"}


def test_no_blocks(spark):
    empty = LocalBackend().from_entries(([], []), Kind(Grid.square(3, 3, 2), BOOLEAN), "bits")
    assert block_table(empty, spark).collect() == []
