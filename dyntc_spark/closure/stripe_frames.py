"""Stripes as DataFrames that a user sees: the blocks as they are stored, and the closure as rows of vertices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.blocks.exhibit import BLOCKS, BLOCKS_TYPE
from dyntc_spark.closure import stripe_tasks
from dyntc_spark.closure.condensed import State
from dyntc_spark.closure.far import FarState
from dyntc_spark.closure.stripe_tasks import CODEC, ROWS, Overlay
from dyntc_spark.closure.stripes import STRIPE_NUMBERS
from dyntc_spark.kernels import pool
from dyntc_spark.kernels.stripe import Stripe


def blocks(state: State, spark: SparkSession) -> DataFrame:
    """The matrices of a condensation, cut into stripes.

    ``rows`` has the components that each component reaches, ``members`` the vertices of each component, and
    ``overlay`` the rows that replace some of those on Spark.
    """
    shown = [("members", stripe) for stripe in Stripe(0, *state.members()).cut(STRIPE_NUMBERS)]
    if not isinstance(state, FarState):
        every = pool.taken(state.graph.rows, np.arange(len(state.graph.size), dtype=np.int32))
        return _frame([*shown, *(("rows", stripe) for stripe in Stripe(0, *every).cut(STRIPE_NUMBERS))], spark)
    here = _frame([*shown, *(("overlay", stripe) for stripe in _runs(state.overlay()))], spark)
    stored = state.stripes.frame()
    if stored is None:
        return here
    return stored.mapInArrow(stripe_tasks.showing(state.stripes.firsts), BLOCKS).unionAll(here)


def rows(state: FarState, *, look: bool = False) -> DataFrame:
    """The closure as ``number`` and ``reached``: each task unfolds its stripes, the driver what replaces some rows.

    With ``look`` one job looks first whether Spark has the stripes, and ``LostBlocksError`` is raised where it has not.
    """
    if look:
        state.stripes.look()
    spark = state.stripes.backend.spark
    offsets, members = state.members()
    overlay = state.overlay()
    batches = list(stripe_tasks.unfolded(*overlay, offsets, members))
    stored = state.stripes.frame()
    frames = [spark.createDataFrame(pa.Table.from_batches(batches))] if batches else []
    if stored is not None:
        frames.append(stored.mapInArrow(stripe_tasks.unfolding(state.stale(), offsets, members), ROWS))
    if not frames:
        return spark.createDataFrame([], ROWS)
    return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])


def _runs(overlay: Overlay) -> list[Stripe]:
    """Give an overlay as stripes of consecutive numbers."""
    breaks = np.flatnonzero(np.diff(overlay.numbers, prepend=-2) != 1)
    bounds = np.append(breaks, len(overlay.numbers)).tolist()
    runs = []
    for begin, end in pairwise(bounds):
        offsets = overlay.offsets[begin : end + 1]
        heads = overlay.heads[offsets[0] : offsets[-1]]
        runs.append(Stripe(int(overlay.numbers[begin]), offsets - offsets[0], heads))
    return runs


def _frame(shown: list[tuple[str, Stripe]], spark: SparkSession) -> DataFrame:
    found, places = [], {"members": 0, "rows": 0, "overlay": 0}
    for matrix, stripe in shown:
        payload = stripe.encode()
        found.append(
            {"matrix": matrix, "bi": places[matrix], "bj": 0, "codec": CODEC, "nnz": len(stripe.heads),
             "bytes": len(payload), "payload": payload}
        )  # fmt: skip
        places[matrix] += 1
    if not found:
        return spark.createDataFrame([], BLOCKS)
    return spark.createDataFrame(pa.Table.from_pylist(found, BLOCKS_TYPE))
