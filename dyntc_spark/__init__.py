"""Reachability of a changing directed graph, kept up to date as block matrices in Spark DataFrames."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dyntc_spark.blocks.matrix import BlockMatrix as BlockMatrix
    from dyntc_spark.dynamic.lazy_matrix import LazyMatrix as LazyMatrix
    from dyntc_spark.dynamic.polynomial import BooleanPolynomial as BooleanPolynomial
    from dyntc_spark.graph.batch import BatchResult as BatchResult
    from dyntc_spark.graph.closure import DynamicClosure as DynamicClosure

__version__ = "0.1.0"
__all__ = ["BatchResult", "BlockMatrix", "BooleanPolynomial", "DynamicClosure", "LazyMatrix", "__version__"]

# Loaded when first used: Spark's workers import this package for its kernels only.
_HOMES = {
    "BatchResult": "dyntc_spark.graph.batch",
    "BlockMatrix": "dyntc_spark.blocks.matrix",
    "BooleanPolynomial": "dyntc_spark.dynamic.polynomial",
    "DynamicClosure": "dyntc_spark.graph.closure",
    "LazyMatrix": "dyntc_spark.dynamic.lazy_matrix",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
