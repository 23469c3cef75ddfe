"""What writes the payloads of format 1, as releases up to 0.1 did."""

from __future__ import annotations

import numpy as np

from dyntc_spark.graph.store.format_1 import HEADER


def encoded(first, rows):
    """Return the payload of vertices from ``first`` on, each with a list of successors."""
    lengths, targets = [len(row) for row in rows], [target for row in rows for target in row]
    body = np.array([*lengths, *targets], "<i4").tobytes()
    return HEADER.sealed([first, len(lengths), len(targets), 0], body)
