"""Where blocks go when Spark multiplies: to every part of the output that needs them, in one shuffle.

The output cells are dealt out to ``p x q`` parts in a cyclic way, so that a crowded block row is shared by ``q`` tasks
and a crowded block column by ``p``. Within a part, blocks arrive sorted by the inner index.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from dyntc_spark.blocks.placement import Placement
from dyntc_spark.lazy_pyspark import F, sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LAST = 2**31 - 1  # an inner index beyond all others


def routed(
    lefts: DataFrame, rights: DataFrame, cells: DataFrame, carried: tuple[str, ...], place: Placement
) -> DataFrame:
    """Return blocks of the factors (``bi, bj, payload``) and cells of the output, each once for every part it goes to.

    A cell of the output comes behind all blocks of its part, with its matrices that are ``carried`` along.
    """
    empty = [F.lit(None).cast("binary").alias(name) for name in carried]
    bi, bj, nothing = F.col("bi"), F.col("bj"), F.lit(None).cast("binary").alias("payload")
    rows = [
        lefts.select(place.row_parts(bi), bj.alias("inner"), F.lit(0).alias("side"), "bi", F.lit(0).alias("bj"),
                     "payload", *empty),
        rights.select(place.column_parts(bj), bi.alias("inner"), F.lit(1).alias("side"), F.lit(0).alias("bi"), "bj",
                      "payload", *empty),
        cells.select(place.part(bi, bj), F.lit(_LAST).alias("inner"), F.lit(2).alias("side"), "bi", "bj",
                     nothing, *carried),
    ]  # fmt: skip
    return place.route(reduce(sql.DataFrame.unionAll, rows)).sortWithinPartitions("part", "inner")
