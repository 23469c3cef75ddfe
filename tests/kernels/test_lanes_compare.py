"""Two versions of stripes: where their words differ, and the pairs that this stands for, some at a time."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.lanes.in_process import by_number
from dyntc_spark.kernels.lanes import compare

N, WIDTH = 150, 7


@pytest.mark.parametrize("most", [N, N + 1, 10**4])
def test_pairs_in_parts(most):
    """A ring of 20 vertices beside a chain, which is cut and joined with it."""
    ring = [(v, (v + 1) % 20) for v in range(20)]
    chain = [(v, v + 1) for v in range(20, 100)]
    engine = Lanes(width=WIDTH)
    engine.init(Edges.of(*np.transpose(ring + chain)), N)
    engine.apply(Edges.of([99, 3, 45], [5, 101, 120]), Edges.of([60], [61]))
    change = engine._change
    old, new = change.before.version, change.after.version
    assert not len(change.changed)
    assert len(change.altered) > 1
    offsets, vertices = by_number(new.members, N)
    found, most_parts = ([], []), 0
    for s in change.altered.tolist():
        runs = compare.runs(old.stripes, new.stripes, s)
        assert not (runs.won & runs.lost).any()
        for words, pairs in zip((runs.won, runs.lost), found, strict=True):
            parts = list(compare.unfolded(offsets, vertices, s * WIDTH, runs, words, most))
            most_parts = max(most_parts, len(parts))
            for sources, targets in parts:
                assert 0 < len(sources) <= most
                pairs.extend(((sources.astype(np.int64) << 32) | targets).tolist())
    expected = compare.xor(old, new, change.altered)
    assert [sorted(pairs) for pairs in found] == [keys.tolist() for keys in expected]
    assert min(map(len, expected)) > N
    assert (most_parts > 1) == (most < 10**4)
