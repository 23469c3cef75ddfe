"""The deterministic engines on Spark: the same answers, and how many jobs they take."""

import math

import numpy as np
import pytest

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic.centres import Centres
from dyntc_spark.engines.deterministic.divide_conquer import DivideConquer
from dyntc_spark.engines.deterministic.logarithmic import Logarithmic
from tests.engines.kleene_scripts import Plain, Step, compare, play, play_shortly, run, value

NEVER = float("inf")
N = 11
MAKERS = {
    "logarithmic": lambda backend: Logarithmic(backend, size=4),
    "divide_conquer": lambda backend: DivideConquer(backend, size=4),
    "centres": lambda backend: Centres(backend, size=4, depth=1, rebuild_share=NEVER),
    "centres, depth 2": lambda backend: Centres(backend, size=4, depth=2, rebuild_share=NEVER),
    "centres, depth 3": lambda backend: Centres(backend, size=4, depth=3, rebuild_share=NEVER),
}
LOG = math.ceil(math.log2(N))
#: Jobs of Set* and of Reset*.
BOUNDS = {
    "logarithmic": (LOG + 3, 2 * LOG + 3),
    "divide_conquer": (12, 20),
    "centres": (2, 10),
    "centres, depth 2": (2, 20),
    "centres, depth 3": (2, 40),
}


@pytest.fixture(scope="module")
def backend(spark):
    return SparkBackend(spark)


def jobs(backend, call):
    with backend.jobs.watch() as started:
        call()
    return len(started)


def script(seed):
    """Centres in both halves, and a large deletion that every link of the chains feels."""
    rng = np.random.default_rng(seed)
    edges = np.nonzero(rng.random((N, N)) < 0.18)
    first = Step("init", (edges[0].tolist(), edges[1].tolist()))
    sets = [
        Step("set", (i, rng.choice(N, 3, replace=False).tolist(), rng.choice(N, 2, replace=False).tolist()))
        for i in (2, 9)
    ]
    plain = Plain(N)
    for step in (first, *sets):
        plain.run(step)
    gone = np.nonzero(plain.x & (rng.random((N, N)) < 0.35))
    return [first, *sets, Step("reset", (gone[0].tolist(), gone[1].tolist()))]


def stays_below(backend, name):
    """Run the script and count jobs."""
    engine, plain, done = MAKERS[name](backend), Plain(N), []
    most_set, most_reset = BOUNDS[name]
    for step in script(1):
        done.append(step)
        plain.run(step)
        count = jobs(backend, lambda step=step: run(engine, step, N))
        limit = {"init": 1, "set": most_set, "reset": most_reset}[step.kind]
        assert count <= limit, f"{count} jobs for {step}"
    compare(engine, plain, done)
    assert jobs(backend, lambda: engine.query([0, 3, 7], [5, 5, 5])) == 1
    assert np.array_equal(engine.query([0, 3, 7], [5, 9, 5]), plain.closure[[0, 3, 7], [5, 9, 5]])
    assert engine.backend == "spark"


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_jobs_stay_below_their_bounds(backend, name):
    """A superstep is a job; test_kleene_jobs.py counts them without Spark."""
    stays_below(backend, name)


@pytest.mark.parametrize(
    ("make", "in_set", "in_reset"),
    [(Logarithmic, 4, 6), pytest.param(DivideConquer, 10, 15, marks=pytest.mark.slow)],
)
def test_sections_5_and_6_on_a_small_graph(backend, make, in_set, in_reset):
    """One Set* and one Reset*, with the number of jobs that the counts of supersteps say."""
    n = 4
    engine, plain, done = make(backend), Plain(n), [Step("init", ([1], [2]))]
    plain.run(done[0])
    run(engine, done[0], n)
    steps = [(Step("set", (0, [1, 3], [2])), in_set), (Step("reset", ([0, 2], [1, 0])), in_reset)]
    for step, most in steps:
        done.append(step)
        plain.run(step)
        assert jobs(backend, lambda step=step: run(engine, step, n)) <= most
    compare(engine, plain, done)


@pytest.mark.slow
def test_one_task_closes_a_large_leaf(backend, monkeypatch):
    monkeypatch.setattr("dyntc_spark.engines.deterministic.divide_conquer_leaf.CLOSED_HERE", 0)
    engine, plain, done = DivideConquer(backend, size=4), Plain(N), []
    for step in script(3):
        done.append(step)
        plain.run(step)
        with backend.jobs.watch() as started:
            run(engine, step, N)
        limit, leaves = {"init": (7, 3), "set": (12, 2), "reset": (20, 3)}[step.kind]
        assert len(started) <= limit
        assert 1 <= sum("CloseLeaf" in job for job in started) <= leaves
    compare(engine, plain, done)


@pytest.mark.cluster
def test_an_insertion_rewrites_no_block(backend):
    engine = MAKERS["centres"](backend)
    engine.init(Edges.of([0, 1], [1, 2]), N)
    before = engine.state
    with backend.jobs.watch() as started:
        engine.set(2, row=[7, 8], column=[9])
    assert started == ["superstep Witnesses Y0, Witnesses Y0"]  # reads, and adds up at the driver
    assert engine.state is before
    assert engine.query([0, 9], [8, 7]).all()


@pytest.mark.connect
@pytest.mark.cluster
def test_moving_there_and_back(backend, spark):
    """The state goes along: no Init* on either side."""
    engine, plain, done = Centres(size=4, depth=1, most_records=50, rebuild_share=NEVER), Plain(N), []
    for step in script(2):
        done.append(step)
        plain.run(step)
        run(engine, step, N)
    there = engine.moved(backend)
    assert there.backend == "spark"
    assert there.moved(backend) is there
    compare(there, plain, done)
    matrices = {row.matrix for row in there.blocks(spark).select("matrix").distinct().collect()}
    assert {"X0", "Y0", "Y1", "N0"} <= matrices
    again = there.moved(LocalBackend())
    again.set(0, row=[10])
    plain.run(Step("set", (0, [10], [])))
    compare(again, plain, done)
    assert again.stats()["inits"] == 1


@pytest.mark.slow
def test_init_by_distributed_multiplication_gives_the_same_state(backend):
    edges = Edges.of(*np.nonzero(np.random.default_rng(3).random((N, N)) < 0.2))
    there, here = Centres(backend, size=6, depth=1, distributed_init=True), Centres(size=6, depth=1)
    for engine in (there, here):
        engine.init(edges, N)
    found = there.state.to_local()
    for name in here.state.kinds:
        a, b = found.entries(name), here.state.entries(name)
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)), name


@pytest.mark.slow
def test_init_by_distributed_multiplication(backend):
    there, plain = Centres(backend, size=3, depth=1, distributed_init=True), Plain(4)
    there.init(Edges.of([0, 3], [3, 1]), 4)
    plain.run(Step("init", ([0, 3], [3, 1])))
    compare(there, plain, [])


@pytest.mark.slow
def test_init_of_sections_5_and_6_by_distributed_multiplication(backend):
    edges = Edges.of(*np.nonzero(np.random.default_rng(4).random((N, N)) < 0.2))
    for engine_class in (Logarithmic, DivideConquer):
        there, here = engine_class(backend, size=6, distributed_init=True), engine_class(size=6)
        for engine in (there, here):
            engine.init(edges, N)
        found = there.state.to_local()
        for name in here.state.kinds:
            a, b = found.entries(name), here.state.entries(name)
            assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)), name


def test_small_graphs(backend):
    engine = Centres(backend, depth=1)
    for n in (0, 1, 2):
        engine.init(Edges.of([0], [n - 1]) if n else Edges.of(), n)
        assert value(engine).sum() == (0, 1, 3)[n]


@pytest.mark.slow
def test_small_graphs_of_sections_5_and_6(backend):
    for engine in (Logarithmic(backend), DivideConquer(backend)):
        for n in (0, 1, 2):
            engine.init(Edges.of([0], [n - 1]) if n else Edges.of(), n)
            assert value(engine).sum() == (0, 1, 3)[n]


@pytest.mark.parametrize("length", [6, pytest.param(12, marks=pytest.mark.slow)])
def test_random_scripts(backend, length):
    """A few steps; hundreds of scripts run in the slow test."""
    play(lambda: MAKERS["centres"](backend), 0, (7,), length)


#: Of ten scripts in turn: the engine and the steps. A step of section 6 is a dozen jobs, one of centres one or two.
TURNS = [
    ("centres", 6), ("logarithmic", 4), ("centres, depth 2", 5), ("divide_conquer", 3), ("centres", 6),
    ("logarithmic", 4), ("centres, depth 3", 5), ("logarithmic", 4), ("centres, depth 2", 5), ("divide_conquer", 3),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_hundreds_of_random_scripts(backend, seed):
    """One script each, some seconds; the engines take turns."""
    name, length = TURNS[seed % 10]
    sizes = (2, 3, 5) if name == "divide_conquer" else (2, 3, 5, 7)
    play_shortly(lambda: MAKERS[name](backend), seed, sizes, length)
