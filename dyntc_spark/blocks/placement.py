"""Placement: which task works on which cell of a grid.

The cells are dealt out to ``p x q`` parts like cards, ``(bi mod p, bj mod q)``,
so that neighbours, which tend to be rich or empty together, fall to different
tasks. A left block of a product is needed by the ``q`` parts of its block row,
a right one by the ``p`` parts of its block column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Placement:
    """``p x q`` parts.

    Examples
    --------
    >>> Placement.choose(8, (100, 100)), Placement.choose(8, (1, 100)), Placement.choose(8, (2, 2))
    (Placement(p=2, q=4), Placement(p=1, q=8), Placement(p=2, q=2))
    """

    p: int
    q: int

    @classmethod
    def choose(cls, parts: int, blocks: tuple[int, int]) -> Placement:
        """Choose at most ``parts`` parts for a grid of ``blocks``: as many as it fills, as square as they can be.

        Replication in a product is ``q`` left and ``p`` right blocks, so the sum decides among equals.
        """
        best = cls(1, 1)
        for p in range(1, min(parts, blocks[0]) + 1):
            q = min(parts // p, max(blocks[1], 1))
            if (p * q, -(p + q)) > (best.parts, -(best.p + best.q)):
                best = cls(p, q)
        return best

    @property
    def parts(self) -> int:
        """Number of parts."""
        return self.p * self.q

    def part(self, bi: Column, bj: Column) -> Column:
        """The part of a cell, as a column ``part``."""
        return (F.pmod(bi, F.lit(self.p)) * self.q + F.pmod(bj, F.lit(self.q))).cast("int").alias("part")

    def row_parts(self, bi: Column) -> Column:
        """The parts that hold cells of a block row, one row each."""
        first = F.pmod(bi, F.lit(self.p)) * self.q
        return F.explode(F.array(*(first + F.lit(c) for c in range(self.q)))).alias("part")

    def column_parts(self, bj: Column) -> Column:
        """The parts that hold cells of a block column, one row each."""
        first = F.pmod(bj, F.lit(self.q))
        return F.explode(F.array(*(first + F.lit(r * self.q) for r in range(self.p)))).alias("part")

    def dealt(self, frame: DataFrame) -> DataFrame:
        """Bring the cells of each part together."""
        return self.route(frame.select(self.part(F.col("bi"), F.col("bj")), "*")).drop("part")

    def route(self, frame: DataFrame) -> DataFrame:
        """Bring the rows of each part together in one partition."""
        if hasattr(frame, "repartitionById"):
            return frame.repartitionById(self.parts, F.col("part"))
        return frame.repartition(self.parts, F.col("part"))  # Spark 4.0: parts may share a partition
