"""How many vertices each component reaches, and how many reach it: counted by words, no pair is unfolded."""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Offsets
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.runs import Runs, runs

#: Stripes whose runs are made at a time.
TOGETHER = 1024


def reach_counts(version: Version) -> tuple[Offsets, Offsets]:
    """Return for each vertex how many others it reaches, and how many others reach it; all stripes are at hand."""
    members, vertices = version.members, version.vertices
    size = np.zeros(len(members.size), np.int64)
    size[:vertices] = members.size[:vertices]  # a snapshot may share these with a larger graph
    several = np.flatnonzero(size > 1).astype(np.int32)
    below, above = np.zeros(len(size), np.int64), np.zeros(len(size) + 1, np.int64)
    before = np.append(0, np.cumsum(size))
    width, total = version.stripes.width, len(version.stripes.starts)
    for begin in range(0, total, TOGETHER):
        which = np.arange(begin, min(begin + TOGETHER, total), dtype=np.int32)
        inside = several[np.searchsorted(several, begin * width) : np.searchsorted(several, (which[-1] + 1) * width)]
        _add(runs(version.stripes, which, inside), size, before, width, below, above)
    component: Ids = members.component[:vertices]
    itself = (size > 1)[component]  # the run of a component of several members counts the vertex itself
    return below[component] - itself, np.cumsum(above)[component] - itself


@compiled
def _add(runs: Runs, size: Offsets, before: Offsets, width: int, below: Offsets, above: Offsets) -> None:
    """Add what runs say: ``below`` by component, and ``above`` as differences from one component to the next."""
    one = np.uint64(1)
    for k in range(len(runs.stripe)):
        first, last, word = runs.first[k], runs.last[k], runs.word[k]
        many, weight = before[last + 1] - before[first], 0
        lane = np.int64(runs.stripe[k]) * width
        while word:
            if word & one:
                below[lane] += many
                weight += size[lane]
            word >>= one
            lane += 1
        above[first] += weight
        above[last + 1] -= weight
