"""The closure of packed matrices, against Warshall's algorithm."""

import numpy as np
import pytest

from dyntc_spark.kernels.bits import pack, unpack
from dyntc_spark.kernels.leaf_closure import closed


def warshall(x):
    y = x | np.eye(len(x), dtype=bool)
    for k in range(len(y)):
        y |= np.outer(y[:, k], y[k])
    return y


@pytest.mark.parametrize("n", [0, 1, 2, 3, 63, 64, 65, 130])
@pytest.mark.parametrize("edges", [0, 0.5, 1, 2, 8])
def test_closure(n, edges):
    rng = np.random.default_rng(n)
    x = rng.random((n, n)) < edges / max(n, 1)
    before = pack(x)
    found = closed(before)
    assert np.array_equal(unpack(found, n), warshall(x))
    assert np.array_equal(before, pack(x))  # left as it was
    assert np.array_equal(closed(found), found)
