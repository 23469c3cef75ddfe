"""Numbers of paths, from the engines that count them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.path_numbers import PathCounts
from dyntc_spark.engines.base import Engine


@runtime_checkable
class CountsPaths(Protocol):
    """An engine that tells how many paths lead from one vertex to another."""

    def count_paths(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> PathCounts:
        """Return ``counts``, and whether each is ``exact`` or only a lower bound."""


def path_counts(engine: Engine, pairs: Edges) -> pa.Array | None:
    """Return the number of paths for each pair, null where it is not known or has more than 38 digits.

    None from an engine that does not count.
    """
    if not isinstance(engine, CountsPaths):
        return None
    return engine.count_paths(pairs.sources, pairs.targets).known()
