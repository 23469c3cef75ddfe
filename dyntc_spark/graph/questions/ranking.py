"""Vertices ranked by what reaches them, or by what they reach, where the closure is on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from dyntc_spark.errors import OptionError
from dyntc_spark.graph.tables.relations import Tables
from dyntc_spark.graph.tables.views import statement
from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What vertices are ranked by.
By: TypeAlias = Literal["ancestors", "descendants"]
RANKED = ("vertex", "ancestors", "descendants")


def ranked(tables: Tables, by: By, top: int) -> DataFrame:
    """Return the first vertices: the columns `RANKED`. The counts are those of the view ``<prefix>_vertices``."""
    spark = tables.vertices.sparkSession
    every = spark.sql(statement("vertices"), None, vertices=tables.vertices, runs=tables.runs)
    return every.select(*RANKED).orderBy(F.col(by).desc()).limit(top)


def require_ranking(top: int, by: str) -> None:
    """Refuse what cannot be ranked."""
    if isinstance(top, bool) or not isinstance(top, int) or top < 0:
        raise OptionError("top, a number of vertices from 0 on", f"{top!r:.80}", "Leave it out for 10.")
    if by not in RANKED[1:]:
        raise OptionError("by='ancestors' or by='descendants'", f"{by!r:.80}", "The former is the default.")
