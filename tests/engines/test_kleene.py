"""The three deterministic engines side by side, in this process: scripts, shapes that find mistakes, bad input."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic import kleene
from dyntc_spark.engines.deterministic.centres import Centres
from dyntc_spark.engines.deterministic.divide_conquer import DivideConquer
from dyntc_spark.engines.deterministic.logarithmic import Logarithmic
from dyntc_spark.engines.registry import create
from dyntc_spark.errors import IndexOutsideError, OptionError, ShapeMismatchError
from tests.engines.kleene_backends import Failing, hand_over
from tests.engines.kleene_scripts import Plain, Step, compare, follow, path_script, play, run, value

NEVER = float("inf")
#: Sizes of blocks are small and odd, so that every graph has ragged ones.
MAKERS = {
    "logarithmic": lambda: Logarithmic(size=5),
    "divide_conquer": lambda: DivideConquer(size=3),
    "centres, depth 2": lambda: Centres(size=3, depth=2, most_records=100, rebuild_share=NEVER),
    "centres, depth 3": lambda: Centres(size=4, depth=3, most_records=3, rebuild_share=NEVER),
}
MORE = {
    "divide_conquer, depth 2": lambda: DivideConquer(size=3, depth=2),
    "divide_conquer, depth 3": lambda: DivideConquer(depth=3),
    "centres, depth 1": lambda: Centres(size=5, depth=1, rebuild_share=NEVER),
    "centres, no depth": lambda: Centres(depth=0, most_records=1),
    "centres, as it comes": Centres,
}
EVERY = MAKERS | MORE
SMALL = (1, 2, 3, 4, 5, 6, 7)


@pytest.fixture(params=[*MAKERS, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)])
def make(request):
    return EVERY[request.param]


@pytest.mark.long
def test_random_scripts(make):
    for seed in range(6):
        play(make, seed, SMALL, length=12)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_random_scripts(part):
    """A thousand a part; the engines take turns, each with all its options."""
    makers = list(EVERY.values())
    for seed in range(1000 * part, 1000 * (part + 1)):
        play(makers[seed % len(makers)], seed, SMALL, length=12)


@pytest.mark.slow
def test_larger_graphs(make):
    for seed in range(6):
        play(make, seed, (33, 48), length=20)


@pytest.mark.long
@pytest.mark.parametrize("cycle", [False, True])
def test_hamiltonian_paths(make, cycle):
    for seed, n in enumerate((5, 8)):
        follow(make(), path_script(seed, n, cycle=cycle), n)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 7, 8, 9, 12, 16, 17])
def test_many_hamiltonian_paths(make, n):
    for seed in range(12):
        follow(make(), path_script(seed, n, cycle=bool(seed % 2)), n)


def test_a_complete_graph_deleted_edge_by_edge(make):
    n = 5
    every = [(u, v) for u in range(n) for v in range(n)]
    order = np.random.default_rng(3).permutation(len(every))
    script = [Step("init", tuple(map(list, zip(*every, strict=True))))]
    script += [Step("reset", ([every[k][0]], [every[k][1]])) for k in order]
    follow(make(), script, n)


def test_a_hub_inserted_and_removed(make):
    n, all_of_them = 9, list(range(9))
    hub = Step("set", (4, all_of_them, all_of_them))
    ends = [4] * n + all_of_them, all_of_them + [4] * n
    path = Step("set", (0, [1], [8]))
    follow(make(), [path, hub, Step("reset", ends), hub, Step("reset", ([0], [1])), Step("reset", ends)], n)


def test_batches_that_empty_the_graph(make):
    n, rng = 7, np.random.default_rng(5)
    engine, plain, script = make(), Plain(n), []
    engine.init(Edges.of(), n)
    for _ in range(3):
        new = np.nonzero(rng.random((n, n)) < 0.3)
        steps = [Step("apply", ((new[0].tolist(), new[1].tolist()), ([], [])))]
        steps += [Step("apply", (([], []), (new[0].tolist(), new[1].tolist())))]
        for step in steps:
            script.append(step)
            plain.run(step)
            run(engine, step, n)
            compare(engine, plain, script)
    assert not plain.x.any()


def test_insertions_only(make):
    n, rng = 8, np.random.default_rng(6)
    steps = [Step("set", (int(rng.integers(n)), [int(rng.integers(n))], [int(rng.integers(n))])) for _ in range(12)]
    follow(make(), steps, n)


@pytest.mark.long
def test_deletions_only(make):
    n, rng = 8, np.random.default_rng(7)
    x = rng.random((n, n)) < 0.3
    edges = rng.permutation(np.argwhere(x)).tolist()
    steps = [Step("init", tuple(side.tolist() for side in np.nonzero(x)))]
    steps += [Step("reset", ([u], [v])) for u, v in edges]
    follow(make(), steps, n)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_small_and_empty_graphs(make, n):
    engine = make()
    assert engine.vertices == 0
    assert not len(engine.query([], []))
    engine.init(Edges.of(), n)
    assert np.array_equal(value(engine), np.eye(n, dtype=bool))
    if n:
        plain = Plain(n)
        for step in (Step("set", (0, [0], [n - 1])), Step("set", (n - 1, list(range(n)), [0]))):
            plain.run(step)
            run(engine, step, n)
            compare(engine, plain, [step])
        engine.reset((list(range(n)), [n - 1] * n))
        engine.reset(([n - 1] * n, list(range(n))))
        assert np.array_equal(value(engine), np.eye(n, dtype=bool))
    engine.reset(([], []))
    engine.apply(Edges.of(), Edges.of())


def test_a_self_loop_changes_no_answer(make):
    engine = make()
    engine.init(Edges.of([1], [1]), 4)
    engine.set(2, [2], [2])
    assert np.array_equal(value(engine), np.eye(4, dtype=bool))
    engine.reset(([1, 2], [1, 2]))
    assert np.array_equal(value(engine), np.eye(4, dtype=bool))
    assert not len(engine.edges)


def test_answers_by_rows_by_columns_and_by_pairs_agree(make):
    n, rng = 11, np.random.default_rng(8)
    engine = make()
    engine.init(Edges.of(*np.nonzero(rng.random((n, n)) < 0.12)), n)
    engine.set(3, [5, 9], [10])
    y = value(engine)
    x, z = np.nonzero(np.ones((n, n), bool))
    assert np.array_equal(engine.query(x, z), y.ravel())
    found = engine.ancestors([9, 2, 2])
    assert found.targets.tolist() == sorted(found.targets.tolist())
    assert all(np.array_equal(found.sources[found.targets == v], np.flatnonzero(y[:, v])) for v in (2, 9))
    assert not len(engine.descendants([]))
    assert not len(engine.ancestors([]))


def test_a_closure_certifies_itself(make):
    engine = make()
    engine.init(Edges.of([0, 1, 2], [1, 2, 3]), 5)
    engine.set(3, row=[4])
    found = engine.verify()
    assert found.holds
    assert found.rows == 5
    assert not found.repaired
    honest = engine.descendants
    engine.descendants = lambda ids: Edges.of(ids, ids)  # an engine that has lost everything but the diagonal
    found = engine.verify()
    assert found.holds
    assert found.repaired
    assert len(found.missing)
    engine.descendants = honest
    assert value(engine).sum() == 15


def test_the_graph_can_grow(make):
    engine = make()
    engine.init(Edges.of([0, 1], [1, 2]), 3)
    engine.grow(5)
    engine.apply(Edges.of([2, 4], [4, 0]), Edges.of())
    assert engine.query([0, 4, 3, 1], [4, 1, 3, 3]).tolist() == [True, True, True, False]
    inits = engine.stats()["inits"]
    engine.grow(6)  # there is room
    assert engine.stats()["inits"] == inits
    assert engine.query([0, 5], [4, 5]).tolist() == [True, True]
    with pytest.raises(ShapeMismatchError, match="at least 6 vertices"):
        engine.grow(2)


def test_bad_input_changes_nothing(make):
    engine = make()
    engine.init(Edges.of([0], [1]), 3)
    for wrong in (
        lambda: engine.apply(Edges.of([0], [7]), Edges.of()),
        lambda: engine.apply(Edges.of([1], [2]), Edges.of([0], [-1])),
        lambda: engine.set(5, [0], []),
        lambda: engine.set(0, [3], []),
        lambda: engine.reset(([0], [3])),
        lambda: engine.query([0], [3]),
        lambda: engine.init(Edges.of([4], [0]), 3),
    ):
        with pytest.raises(IndexOutsideError):
            wrong()
    assert value(engine).tolist() == [[True, True, False], [False, True, False], [False, False, True]]
    with pytest.raises(ShapeMismatchError, match="as many sources as targets"):
        engine.query([0, 1], [2])
    with pytest.raises(OptionError, match="depth"):
        DivideConquer(depth=-1)
    with pytest.raises(OptionError, match="most_records"):
        Centres(most_records=0)


@pytest.mark.long
@pytest.mark.parametrize("engine_class", [Logarithmic, DivideConquer, Centres])
def test_a_batch_is_all_or_nothing(engine_class, monkeypatch):
    """Whichever superstep of a batch fails, the answers are as before, and the next batch succeeds."""
    n, rng = 7, np.random.default_rng(9)
    hand_over(monkeypatch)
    failures = 0
    for fails_at in range(0, 40, 3):
        backend = Failing()
        options = {"most_records": 100, "rebuild_share": NEVER, "depth": 2} if engine_class is Centres else {}
        engine, plain = engine_class(backend, distributed_init=False, size=4, **options), Plain(n)
        x = rng.random((n, n)) < 0.25
        plain.x = x.copy()
        engine.init(Edges.of(*np.nonzero(x)), n)
        engine.set(2, [3], [4])
        plain.run(Step("set", (2, [3], [4])))
        new, gone = np.nonzero(~plain.x & (rng.random((n, n)) < 0.08)), np.nonzero(plain.x & (rng.random((n, n)) < 0.4))
        step = Step("apply", (new, gone))
        edges = engine.edges
        backend.left = fails_at
        try:
            run(engine, step, n)
        except RuntimeError:
            failures += 1
            backend.left = NEVER
            compare(engine, plain, [step])
            assert np.array_equal(engine.edges.targets, edges.targets)
            run(engine, step, n)
        backend.left = NEVER
        plain.run(step)
        compare(engine, plain, [step])
    assert failures > 3


def test_centres_cover_a_batch():
    edges = Edges.of([0, 0, 5, 3, 6, 7], [1, 2, 0, 3, 7, 6])
    chosen = kleene.cover(edges, 9)
    assert chosen == [0, 6, 3]
    assert all(u in chosen or v in chosen for u, v in zip(edges.sources, edges.targets, strict=True))
    assert kleene.cover(Edges.of(), 3) == []
    engine = Centres(most_records=100)
    engine.init(Edges.of(), 9)
    engine.apply(edges, Edges.of())
    assert engine.stats()["sets"] == 3
    assert engine.stats()["inits"] == 1


def test_the_engines_have_their_names():
    for name in ("logarithmic", "divide_conquer", "centres"):
        engine = create(name)
        assert engine.name == name
        assert engine.exact
        assert engine.backend == "local"


class SideBySide(RuleBasedStateMachine):
    """All engines and the plain matrix, step by step."""

    @initialize(n=st.integers(1, 7), data=st.data())
    def begin(self, n, data):
        self.n, self.plain, self.script = n, Plain(n), []
        names = data.draw(st.sampled_from(["divide_conquer", "divide_conquer, depth 3"]))
        centres = data.draw(st.sampled_from(["centres, depth 2", "centres, depth 3", "centres, no depth"]))
        self.engines = [EVERY[name]() for name in ("logarithmic", names, centres)]
        for engine in self.engines:
            engine.init(Edges.of(), n)

    def do(self, step):
        self.script.append(step)
        self.plain.run(step)
        for engine in self.engines:
            run(engine, step, self.n)
            compare(engine, self.plain, self.script)

    def vertices(self, data, most=4):
        return data.draw(st.lists(st.integers(0, self.n - 1), max_size=most))

    def pairs(self, data, most=4):
        ends = st.integers(0, self.n - 1)
        drawn = data.draw(st.lists(st.tuples(ends, ends), max_size=most, unique=True))
        return [u for u, _ in drawn], [v for _, v in drawn]

    @rule(data=st.data())
    def init(self, data):
        self.do(Step("init", self.pairs(data, most=12)))

    @rule(data=st.data())
    def set(self, data):
        (i,) = data.draw(st.lists(st.integers(0, self.n - 1), min_size=1, max_size=1))
        self.do(Step("set", (i, self.vertices(data), self.vertices(data))))

    @precondition(lambda self: self.plain.x.any())
    @rule(data=st.data())
    def reset(self, data):
        there = np.argwhere(self.plain.x).tolist()
        gone = data.draw(st.lists(st.sampled_from(there), min_size=1, max_size=6, unique_by=tuple))
        self.do(Step("reset", ([u for u, _ in gone], [v for _, v in gone])))

    @rule(data=st.data())
    def apply(self, data):
        inserted, deleted = self.pairs(data), self.pairs(data)
        kept = [k for k in range(len(deleted[0])) if (deleted[0][k], deleted[1][k]) not in zip(*inserted, strict=True)]
        self.do(Step("apply", (inserted, ([deleted[0][k] for k in kept], [deleted[1][k] for k in kept]))))


def test_state_machine():
    run_state_machine_as_test(SideBySide, settings=settings(max_examples=6, stateful_step_count=8))


@pytest.mark.slow
def test_long_state_machine():
    run_state_machine_as_test(SideBySide, settings=settings(max_examples=200, stateful_step_count=30))
