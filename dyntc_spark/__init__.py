"""Reachability of a changing directed graph, kept up to date as block matrices in Spark DataFrames."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dyntc_spark.blocks.matrix import BlockMatrix as BlockMatrix
    from dyntc_spark.graph.closure import DynamicClosure as DynamicClosure

__version__ = "0.1.0"
__all__ = ["BlockMatrix", "DynamicClosure", "__version__"]

# Loaded when first used: Spark's workers import this package for its kernels only.
_HOMES = {"BlockMatrix": "dyntc_spark.blocks.matrix", "DynamicClosure": "dyntc_spark.graph.closure"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
