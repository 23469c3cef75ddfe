"""The decremental closure and the records of the engine ``centres``: their counts by definition."""

import numpy as np
import pytest

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic.centres import Centres
from dyntc_spark.engines.deterministic.munro import Node
from dyntc_spark.engines.deterministic.munro_init import build
from tests.engines.kleene_scripts import Plain, Step, follow, path_script, play, value

NEVER = float("inf")


def array(state, name):
    rows, columns, values = state.entries(name)
    found = np.zeros(state.kinds[name].grid.shape, np.int64)
    found[rows, columns] = values
    return found


def closure(x):
    plain = Plain(len(x))
    plain.x = x
    return plain.closure


def made(x, size, depth):
    n = len(x)
    return build(Edges.of(*np.nonzero(x)), Grid.square(n, n, size), depth, LocalBackend(), here=True)


@pytest.mark.long
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_munro_is_a_decremental_closure(depth):
    """After each deletion the whole state is that of a fresh build, counts included."""
    for seed in range(6):
        rng = np.random.default_rng((seed, depth))
        n, size = int(rng.integers(0, 14)), int(rng.choice([2, 3, 5, 64]))
        x = rng.random((n, n)) < rng.choice([1.5 / max(n, 1), 3 / max(n, 1), 0.5])
        munro = made(x, size, depth)
        while x.any():
            gone = x & (rng.random((n, n)) < rng.choice([0.05, 0.3, 1.0]))
            before, x = closure(x), x & ~gone
            munro, lost, _ = munro.reset(Edges.of(*np.nonzero(gone)))
            fresh = made(x, size, depth)
            for name in fresh.state.kinds:
                if name[0] != "X":  # in X of a fresh build more of Q may be left out
                    assert np.array_equal(array(munro.state, name), array(fresh.state, name)), (name, seed)
            assert np.array_equal(array(munro.state, "Y0") > 0, closure(x))
            pairs = np.zeros((n, n), bool)
            pairs[lost.rows, lost.columns] = True
            assert np.array_equal(pairs, before & ~closure(x))
            assert len(lost.rows) == pairs.sum()


def test_counters_number_at_most_three_for_an_entry():
    """Of a complete graph every counter is positive, so that all of them are stored."""
    n = 64
    state = made(np.ones((n, n), bool), 64, depth=5).state
    counters = sum(np.count_nonzero(array(state, name)) for name in state.kinds if name[0] in "NM")
    assert 2.5 * n * n < counters <= 3 * n * n


def test_halves_meet_at_the_border_of_a_block_where_they_are_large():
    root = Node.root(1000, 2, 64)
    assert (root.first, root.second) == (range(512), range(512, 1000))
    assert [child.middle for child in root.children(2, 64)] == [256, 768]
    small = Node.root(7, 3, 64)
    assert (small.first, small.second) == (range(4), range(4, 7))
    assert Node.root(1, 3, 64).is_leaf


def check_records(engine):
    """Every count is what the module's definition says, from the snapshots and D0."""
    records = engine.records
    d0 = array(engine.state, "Y0")
    used, n = records.used, engine.vertices

    def flags(words):
        return np.array(
            [[(words[v, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) for v in range(n)] for j in range(used)]
        )

    if not used:
        return
    xo, xi, out, into = (flags(words).astype(np.int64) for words in (records.xo, records.xi, records.out, records.into))
    for j in range(used):
        ho, hi = into[:j] @ xo[j], out[:j] @ xi[j]
        assert np.array_equal(np.maximum(records.ho[j, :j], 0), ho)
        assert np.array_equal(np.maximum(records.hi[j, :j], 0), hi)
        co, ci = xo[j] @ d0 + (ho > 0) @ out[:j], d0 @ xi[j] + (hi > 0) @ into[:j]
        assert np.array_equal(records.co[j], co)
        assert np.array_equal(records.ci[j], ci)
        at = np.arange(n) == records.centres[j]
        assert np.array_equal(out[j] > 0, (co > 0) | at)
        assert np.array_equal(into[j] > 0, (ci > 0) | at)


@pytest.mark.long
def test_records_count_what_they_should():
    for seed in range(6):
        make = lambda: Centres(size=3, depth=seed % 3, most_records=9, rebuild_share=NEVER)  # noqa: B023, E731
        play(make, seed, (1, 2, 4, 6, 8), length=15, check=check_records)


def test_many_records_at_few_vertices():
    """More records than a word has bits; every vertex is a centre many times."""
    n, rng = 6, np.random.default_rng(4)
    steps = []
    for _ in range(45):
        steps.append(Step("set", (int(rng.integers(n)), [int(rng.integers(n))], [int(rng.integers(n))])))
        steps.append(Step("set", (int(rng.integers(n)), [], [int(rng.integers(n))])))
        gone = rng.integers(n, size=(2, 9))
        steps.append(Step("reset", (gone[0].tolist(), gone[1].tolist())))
    engine = Centres(most_records=1000, rebuild_share=NEVER)
    follow(engine, steps, n)
    assert engine.stats()["records"] == 90
    assert engine.stats()["inits"] == 1
    check_records(engine)


def test_a_phase_ends_after_its_records():
    engine = Centres(most_records=3)
    engine.init(Edges.of(), 9)
    seen = []
    for v in range(8):
        engine.set(v, row=[v + 1])
        seen.append(engine.stats()["records"])
    assert seen == [1, 2, 3, 0, 1, 2, 3, 0]
    assert value(engine).sum() == 45


def test_a_phase_ends_when_its_records_have_cost_as_much_as_an_init():
    engine = Centres()
    engine.init(Edges.of(), 200)
    engine.set(0, row=[1])
    assert engine.stats()["records"] == 1
    engine._extra_seconds = 2 * engine._init_seconds
    engine.set(1, row=[2])
    assert engine.stats()["records"] == 0


def test_insertions_write_no_block():
    engine = Centres(most_records=50)
    engine.init(Edges.of([0, 1], [1, 2]), 9)
    state = engine.state
    engine.set(2, row=[3, 4], column=[0])
    engine.apply(Edges.of([4, 5], [5, 0]), Edges.of())
    assert engine.state is state
    assert engine.query([0, 5], [5, 4]).all()


def test_a_reset_that_would_read_too_much_builds_again():
    engine = Centres(depth=1, rebuild_share=0)
    engine.init(Edges.of(*np.nonzero(np.ones((6, 6), bool))), 6)
    engine.set(0, row=[3])
    engine.reset(([0, 1, 2, 3, 4], [5, 5, 5, 5, 5]))
    assert engine.stats()["records"] == 0
    assert np.array_equal(value(engine), closure(np.array([[j != 5 or i == 5 for j in range(6)] for i in range(6)])))


@pytest.mark.slow
@pytest.mark.parametrize("cycle", [False, True])
def test_paths_of_many_vertices(cycle):
    for seed in range(12):
        n = (24, 33, 65)[seed % 3]
        engine = Centres(depth=seed % 4, size=10, most_records=200, rebuild_share=NEVER)
        follow(engine, path_script(seed, n, cycle=cycle), n, every=5)
        check_records(engine)
