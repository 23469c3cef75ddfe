"""How large a closure is, and what became of its batches."""

from __future__ import annotations

from typing import Any

from dyntc_spark.engines.abilities import rows_on_spark
from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.graph.version import Graph, Version


def statistics(door: Door, tables: SessionTables) -> dict[str, Any]:
    """Return what `DynamicClosure.stats` tells."""

    def told(version: Version, closure: Reachability) -> dict[str, Any]:
        details = {**door.engine.stats(), "losses": door.losses}
        return {
            "version": version.number,
            "vertices": len(version.graph.vertices),
            "edges": len(version.graph.edges),
            "pairs": details["pairs"] if "pairs" in details else _count_pairs(version.graph, closure, tables),
            **version.tally.as_dict(),
            "engine": version.engine,
            "backend": version.backend,
            "details": details,
        }

    return door.ask(told)


def _count_pairs(graph: Graph, closure: Reachability, tables: SessionTables) -> int:
    """Return how many pairs there are, where the engine does not count them: on Spark by one job."""
    rows = rows_on_spark(closure, tables.session) if closure.backend == "spark" else None
    if rows is not None:
        found: list[Any] = rows.selectExpr("sum(size(reached) - 1) AS pairs").collect()
        return int(found[0].pairs or 0)
    used = graph.vertices.used
    return len(closure.descendants(used)) - len(used)
