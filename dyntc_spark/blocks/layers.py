"""Rows with keys, in layers: the newest version of each row is in one of a few DataFrames.

A layer has the rows that were written at the same time. A job that changes some rows writes a layer of these, and
copies no others: they stay where they are, in older layers. The driver knows which rows of each layer are still in
use. So

- a read asks only the layers that have a wanted row, and Spark filters by the key;
- a layer of which no row is in use is dropped, with its blocks in Spark's cache.

The caller decides how many layers there may be: it writes rows again that have not changed. `absorbed` proposes
which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, overload

import numpy as np

from dyntc_spark.blocks.columns import among
from dyntc_spark.blocks.lineage import Kept
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.lazy_pyspark import sql
from dyntc_spark.session import ensure_open

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Layer:
    """Rows that were written at the same time, and which of them are still in use."""

    kept: Kept
    keys: Indices  #: of the rows in use, ascending
    written: int  #: how many rows there are
    revised: int = 0  #: how many layers it was made from, one after the other: their plans are part of its plan

    def without(self, keys: Indices) -> Layer:
        """Return the layer when other rows have taken the place of some."""
        left = self.keys[~np.isin(self.keys, keys)]
        return self if len(left) == len(self.keys) else replace(self, keys=left)


class Layers(Sequence[Layer]):
    """Rows in layers, the oldest first; a value, and a write makes a new one.

    Parameters
    ----------
    backend
        Where they are.
    key
        The column with the key of a row.
    layers
        The layers; each key is in use in one of them at most.
    """

    def __init__(self, backend: SparkBackend, key: str, layers: Sequence[Layer] = ()) -> None:
        self.backend, self._key, self._layers = backend, key, tuple(layers)

    @overload
    def __getitem__(self, number: int) -> Layer: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Layer]: ...
    def __getitem__(self, number: int | slice) -> Layer | Sequence[Layer]:
        """Return a layer by its number, or several."""
        return self._layers[number]

    def __len__(self) -> int:
        return len(self._layers)

    @cached_property
    def keys(self) -> Indices:
        """The keys of all rows, ascending."""
        return np.sort(np.concatenate([np.zeros(0, np.int64), *(layer.keys for layer in self)]))

    def holding(self, keys: Indices) -> list[Layer]:
        """Return the layers that have a row with one of these keys."""
        return [layer for layer in self if np.isin(layer.keys, keys).any()]

    def rows(self, keys: Indices) -> DataFrame:
        """Return the rows with these keys, which ascend, as a DataFrame; there must be a layer."""
        ensure_open(self.backend.spark)
        frames = []
        for layer in self:
            here = keys[np.isin(keys, layer.keys)]
            if len(here):
                frames.append(layer.kept.frame if len(here) == layer.written else self._chosen(layer, here))
        if not frames:
            return self._chosen(self[0], keys[:0])
        united = reduce(sql.DataFrame.unionAll, frames)
        return united.coalesce(self.backend.parallelism) if len(frames) > 1 else united

    def _chosen(self, layer: Layer, keys: Indices) -> DataFrame:
        return layer.kept.frame.where(among(self._key, keys))

    def replaced(self, keys: Indices, new: Layer) -> Layers:
        """Return the layers after a new one has replaced the rows with these keys, and those with its own keys."""
        gone = np.union1d(keys, new.keys)
        left = [layer for older in self if len((layer := older.without(gone)).keys)]
        return Layers(self.backend, self._key, [*left, new])

    def absorbed(self, keys: Indices, sizes: Indices) -> Indices:
        """Return which rows a new layer of ``keys`` takes with it: those of the last layers that are not larger.

        Then layers shrink geometrically. There are never more than a logarithm of them, and rows that are not in use
        any more never outweigh the others. ``sizes[key]`` are bytes.
        """
        total, found = int(sizes[keys].sum()), [np.zeros(0, np.int64)]
        for layer in reversed(self):
            left = layer.without(keys).keys
            size = int(sizes[left].sum())
            if size > total:
                break
            found.append(left)
            total += size
        return np.concatenate(found)
