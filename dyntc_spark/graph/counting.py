"""Numbers of paths, from the engines that count them."""

from __future__ import annotations

import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.abilities import CountsPaths
from dyntc_spark.engines.base import Reachability

#: The largest integers that Spark has.
COUNT = pa.decimal128(38, 0)


def path_counts(engine: Reachability, pairs: Edges) -> pa.Array | None:
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
