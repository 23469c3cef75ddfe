"""Numbers of paths, from the engines that count them."""

from __future__ import annotations

import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.abilities import CountsPaths
from dyntc_spark.engines.base import Reachability


def path_counts(engine: Reachability, pairs: Edges) -> pa.Array | None:
    """Return the number of paths for each pair, null where it is not known or has more than 38 digits.

    None from an engine that does not count.
    """
    if not isinstance(engine, CountsPaths):
        return None
    return engine.count_paths(pairs.sources, pairs.targets).known()
