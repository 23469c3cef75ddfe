"""Numbers of paths, from the engines that count them."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Engine

#: The largest integers that Spark has.
COUNT = pa.decimal128(38, 0)


@runtime_checkable
class CountsPaths(Protocol):
    """An engine that tells how many paths lead from one vertex to another."""

    def count_paths(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Any:  # noqa: ANN401  (`PathCounts`)
        """Return ``counts``, and whether each is ``exact`` or only a lower bound."""


def path_counts(engine: Engine, pairs: Edges) -> pa.Array | None:
    """Return the number of paths for each pair, null where it is not known or has more than 38 digits.

    None from an engine that does not count.
    """
    if not isinstance(engine, CountsPaths):
        return None
    found = engine.count_paths(pairs.sources, pairs.targets)
    known = (
        count if exact and count < 10**38 else None for count, exact in zip(found.counts, found.exact, strict=True)
    )
    return pa.array([None if count is None else int(count) for count in known], COUNT)
