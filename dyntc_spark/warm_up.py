"""Compile ahead what closures call: later processes load it from the cache on disk."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dyntc_spark import DynamicClosure, datasets
from dyntc_spark.kernels.plain_first import compiling_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EDGES = 5_000
A, B, C = "0ad", "0ad-data", "a-new-package"


def warm_up(spark: SparkSession | None = None) -> None:
    """Do once, on a small graph, what users of the default engine do; with a session also what its tasks do."""
    edges = datasets.debian_dependencies().slice(0, EDGES)
    with compiling_all(), tempfile.TemporaryDirectory() as folder:
        c = DynamicClosure.from_edges(edges)
        c.save(str(Path(folder, "location")))
        _change(c)
        _ask(c)
        c.close()
        with DynamicClosure.open(str(Path(folder, "location"))) as c:
            c.verify()
        if spark is not None:
            c = DynamicClosure.from_edges(edges, spark=spark, backend="spark")
            _change(c)
            c.pairs().count()
            c.distance(A, B)
            c.close()


def _change(c: DynamicClosure) -> None:
    """Apply batches that join components, take them apart, and add a vertex."""
    c.insert([(A, C)])
    c.apply([("insert", C, A), ("insert", B, C)])
    c.apply([("delete", C, A), ("delete", A, C)])


def _ask(c: DynamicClosure) -> None:
    """Ask every kind of question once."""
    c.reaches(A, B)
    c.distance(A, C)
    c.is_acyclic()
    for question in (c.arrow.pairs, c.arrow.changes, c.arrow.components, c.arrow.cycles, c.arrow.impact):
        question()
    for ask in (c.arrow.descendants, c.arrow.ancestors):
        ask(A)
    c.arrow.query([(A, B), (C, A)])
    c.arrow.explain(A, B)
    c.arrow.between(A, B)
    c.arrow.common_ancestors(A, B)
    c.arrow.what_if([("insert", A, C)])
