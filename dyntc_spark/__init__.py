"""Who reaches whom in a directed graph that changes: a transitive closure that stays right, for Spark."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dyntc_spark.blocks.matrix import BlockMatrix as BlockMatrix
    from dyntc_spark.graph.changes.batch_result import BatchResult as BatchResult
    from dyntc_spark.graph.closure import DynamicClosure as DynamicClosure
    from dyntc_spark.graph.labels.labelled_graph import LabelledGraph as LabelledGraph
    from dyntc_spark.graph.store.location_views import create_location_views as create_location_views
    from dyntc_spark.graph.store.location_views import location_views_sql as location_views_sql
    from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix as LazyMatrix
    from dyntc_spark.matrices.polynomial.boolean_polynomial import BooleanPolynomial as BooleanPolynomial

__version__ = "0.2.0"
__all__ = [
    "BatchResult",
    "BlockMatrix",
    "BooleanPolynomial",
    "DynamicClosure",
    "LabelledGraph",
    "LazyMatrix",
    "__version__",
    "create_location_views",
    "location_views_sql",
]

# Loaded when first used: Spark's workers import this package for its kernels only.
_HOMES = {
    "BatchResult": "dyntc_spark.graph.changes.batch_result",
    "BlockMatrix": "dyntc_spark.blocks.matrix",
    "BooleanPolynomial": "dyntc_spark.matrices.polynomial.boolean_polynomial",
    "DynamicClosure": "dyntc_spark.graph.closure",
    "LabelledGraph": "dyntc_spark.graph.labels.labelled_graph",
    "LazyMatrix": "dyntc_spark.matrices.lazy.lazy_matrix",
    "create_location_views": "dyntc_spark.graph.store.location_views",
    "location_views_sql": "dyntc_spark.graph.store.location_views",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
