"""Runs of a closure in lanes: what they stand for, and what of them a batch changes."""

from __future__ import annotations

import pytest

from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.lanes.runs import Layout, moved, several
from tests.engines.lanes_oracle import as_edges, drawing, reached, unfolded


def runs_of(engine, stripes=None):
    found = {}
    for run in zip(*engine.run_table(stripes).to_pydict().values(), strict=True):
        found.setdefault(run[0], []).append(run)
    return found


def every(found):
    return [run for runs in found.values() for run in runs]


def test_all_bits_and_large_components():
    n = 140
    ring = [(v, v + 1) for v in range(3, 9)] + [(9, 3)]
    edges = {(v, v + 1) for v in range(n - 1)} | set(ring)
    engine = Lanes()
    engine.init(as_edges(edges), n)
    found = runs_of(engine)
    assert min(run[3] for run in every(found)) < 0  # the highest bit of a word
    assert len(several(engine.version.members)) == 1
    assert unfolded(every(found), engine.version.members.component[:n].tolist(), 64) == reached(edges, n)
    engine.apply(Edges.of(), as_edges(edges))
    assert runs_of(engine) == {}


@pytest.mark.parametrize(("seed", "width"), [(1, 4), (2, 64), (3, 1)])
def test_a_batch_changes_the_stripes_that_it_says_and_no_others(seed, width):
    draw, n = drawing(seed), 60
    edges = {(draw.randrange(n), draw.randrange(n)) for _ in range(70)}
    engine = Lanes(width=width)
    engine.init(as_edges(edges), n)
    layout, known, component = Layout.of(engine.version), runs_of(engine), engine.version.members.component[:n].tolist()
    followed = 0
    for step in range(30):
        if step % 9 == 8:
            n += 20
            engine.grow(n)
        inserted = {(draw.randrange(n), draw.randrange(n)) for _ in range(draw.randint(0, 3))} - edges
        deleted = set(draw.sample(sorted(edges), 2))
        engine.apply(as_edges(inserted), as_edges(deleted))
        edges = (edges - deleted) | inserted
        before, layout = layout, Layout.of(engine.version)
        now = engine.version.members.component[:n].tolist()
        component += [None] * (n - len(component))
        for vertex in moved(layout.component, before.component).tolist():
            component[vertex] = now[vertex]
        assert component == now
        altered = layout.altered(before)
        if altered is None:
            known = runs_of(engine)
        else:
            followed += 1
            known = {stripe: runs for stripe, runs in known.items() if stripe not in set(altered.tolist())}
            known |= runs_of(engine, altered)
        assert known == runs_of(engine)
        assert unfolded(every(known), component, width) == reached(edges, n)
    assert followed > 15
