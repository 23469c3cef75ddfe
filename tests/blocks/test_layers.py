"""Layers of rows: which layer has the newest version of each row. Reading them is tested where they are used."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyntc_spark.blocks.columns import LEAST_NUMBERS, LONG_LIST, among
from dyntc_spark.blocks.layers import Layer, Layers
from dyntc_spark.blocks.lineage import Kept

KEYS = 40


def written(layers, keys, version):
    return layers.replaced(keys, Layer(Kept(version, version), keys, len(keys)))


@pytest.mark.parametrize("seed", range(5))
def test_each_row_is_in_use_where_it_was_written_last(seed):
    rng, newest = np.random.default_rng(seed), dict.fromkeys(range(KEYS), 0)
    sizes = rng.integers(1, 100, size=KEYS)
    layers = written(Layers(None, "key"), np.arange(KEYS), 0)
    for version in range(1, 30):
        keys = np.unique(rng.integers(KEYS, size=rng.integers(1, 6)))
        carried = layers.absorbed(keys, sizes)
        assert not set(carried) & set(keys)
        layers = written(layers, np.union1d(keys, carried), version)
        newest |= dict.fromkeys([*keys.tolist(), *carried.tolist()], version)
        assert {key: layer.kept.frame for layer in layers for key in layer.keys.tolist()} == newest
        assert layers.keys.tolist() == list(range(KEYS))
        assert all(len(layer.keys) for layer in layers)
        weights = [int(sizes[layer.keys].sum()) for layer in layers]
        assert len(layers) <= 1 + math.log2(sum(weights) / min(weights)) + 1
        some = rng.integers(KEYS, size=3)
        assert {layer.kept.frame for layer in layers.holding(some)} == {newest[int(key)] for key in some}


def test_rows_may_go_and_others_come():
    """A block of stripes can become several."""
    layers = written(Layers(None, "first"), np.array([0, 10, 20]), "old")
    layers = layers.replaced(np.array([10]), Layer(Kept("new", "new"), np.array([10, 13, 17]), 3, revised=1))
    assert layers.keys.tolist() == [0, 10, 13, 17, 20]
    assert [(layer.keys.tolist(), layer.written, layer.revised) for layer in layers] == [
        ([0, 20], 3, 0),
        ([10, 13, 17], 3, 1),
    ]
    assert len(written(layers, layers.keys, "newest")) == 1


def test_conditions_on_keys():
    """A list has at least so many numbers, none of which is a key, and a long one names runs."""
    listed = among("key", np.array([7, 3]))
    numbers = [int(number) for number in listed.removeprefix("key IN (").removesuffix(")").split(",")]
    assert numbers[:2] == [3, 7]
    assert len(numbers) == LEAST_NUMBERS
    assert max(numbers[2:]) < 0
    runs = np.setdiff1d(np.arange(LONG_LIST + 5), [4])
    assert among("key", runs) == f"key BETWEEN 0 AND 3 OR key BETWEEN 5 AND {LONG_LIST + 4}"
