"""The index of columns: it names every stripe that reaches a number, and hardly any other."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.kernels.lanes import columns, stripes

N, WIDTH = 1_000, 8


def named(index, count):
    """Return for each block the stripes that the index names."""
    bits = np.unpackbits(index.bits.view(np.uint8), axis=1, bitorder="little")[:, :count]
    return [set(np.flatnonzero(row).tolist()) for row in bits]


def in_blocks(held, shift):
    """Return for each block the stripes that reach one of its numbers, by their words."""
    found = [set() for _ in range((N >> shift) + 1)]
    for s in range(len(held.starts)):
        for number in range(N):
            if stripes.word_at(held, s, number):
                found[number >> shift].add(s)
    return found


@pytest.mark.long
def test_an_index_follows_the_stripes():
    draw = np.random.default_rng(1)
    ends = np.sort(draw.integers(0, N, (2, 700)), axis=0)
    ends[:, ::5] = ends[::-1, ::5]  # some lead back, into cycles
    edges = Edges.of(*np.unique(ends, axis=1))
    engine = Lanes(width=WIDTH)
    engine.init(edges, N)
    count = len(engine.version.stripes.starts)
    index = columns.columns(engine.version.stripes, N)
    assert index.shift == 6
    assert named(index, count) == in_blocks(engine.version.stripes, index.shift)
    assert all(len(row) == count for row in named(columns.every(engine.version.stripes), count))
    before, every = named(index, count), np.arange(N)
    assert len(engine.ancestors(every)) > N  # from here on the engine keeps an index
    for part in range(4):
        some = Edges(edges.sources[part::4], edges.targets[part::4])
        for batch in ((Edges.of(), some), (some, Edges.of())):
            snapshot = engine.snapshot()
            expected = snapshot.ancestors(every)
            engine.apply(*batch)
            columns.add(index, engine.version.stripes, np.arange(count, dtype=np.int32))
            after = in_blocks(engine.version.stripes, index.shift)
            assert all(old | new <= now for old, new, now in zip(before, after, named(index, count), strict=True))
            down, up = engine.descendants(every), engine.ancestors(every)
            order = np.lexsort((down.sources, down.targets))
            assert np.array_equal(down.sources[order], up.sources)
            assert np.array_equal(down.targets[order], up.targets)
            again = snapshot.ancestors(every)  # an older version shares the index
            assert np.array_equal(expected.sources, again.sources)
            assert np.array_equal(expected.targets, again.targets)
