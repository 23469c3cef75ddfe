"""How many supersteps the paper's operations take: each is a Spark job, and a query is one."""

import math

import numpy as np
import pytest

from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic.centres import Centres
from dyntc_spark.engines.deterministic.divide_conquer import DivideConquer
from dyntc_spark.engines.deterministic.logarithmic import Logarithmic
from tests.engines.kleene_backends import Failing, hand_over
from tests.engines.kleene_scripts import Plain, compare, draw, run

NEVER = float("inf")


def log2(n):
    return math.ceil(math.log2(n))


#: How an engine is made, and the bounds of Set* and Reset* for n vertices.
ENGINES = {
    "logarithmic": (Logarithmic, {}, lambda n: log2(n) + 3, lambda n: 2 * log2(n) + 3),
    "divide_conquer": (DivideConquer, {}, lambda _: 12, lambda _: 20),
    "divide_conquer, large leaves": (DivideConquer, {}, lambda _: 12, lambda _: 20),
    "centres, depth 1": (Centres, {"depth": 1}, lambda _: 2, lambda _: 10),
    "centres, depth 2": (Centres, {"depth": 2}, lambda _: 2, lambda _: 20),
    "centres, depth 3": (Centres, {"depth": 3}, lambda _: 2, lambda _: 40),
}
LONG = {"divide_conquer, large leaves", "centres, depth 3"}
#: What is really needed, at most, as the docstrings say.
SEEN = {
    "divide_conquer": (10, 15),
    "divide_conquer, large leaves": (12, 18),
    "centres, depth 1": (1, 5),
    "centres, depth 2": (1, 13),
    "centres, depth 3": (1, 29),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in ENGINES],
)
def test_supersteps(name, monkeypatch):
    hand_over(monkeypatch)
    make, options, most_set, most_reset = ENGINES[name]
    if "large leaves" in name:  # each is closed by a job of one task
        monkeypatch.setattr("dyntc_spark.engines.deterministic.divide_conquer_leaf.CLOSED_HERE", 0)
    if make is Centres:
        options = {**options, "rebuild_share": NEVER, "most_records": 1000}
    largest = {"set": 0, "reset": 0}
    for seed, n in enumerate((3, 5, 9, 12)):
        backend, rng = Failing(), np.random.default_rng(seed)
        engine, plain, script = make(backend, size=4, distributed_init=False, **options), Plain(n), []
        engine.init(Edges.of(*np.nonzero(np.eye(n, k=1, dtype=bool))), n)
        plain.x = np.eye(n, k=1, dtype=bool)
        for _ in range(14):
            step = draw(rng, plain, (1.5 / n, 0.3)[seed % 2])
            script.append(step)
            plain.run(step)
            with backend.jobs.watch() as started:
                run(engine, step, n)
            if step.kind in largest:
                limit = (most_set if step.kind == "set" else most_reset)(n)
                assert len(started) <= limit, (step, started)
                largest[step.kind] = max(largest[step.kind], len(started))
            compare(engine, plain, script)
            with backend.jobs.watch() as started:
                engine.query([0, n - 1], [n - 1, 0])
            assert len(started) == 1
    if name in SEEN:
        assert largest["set"] == SEEN[name][0]
        assert largest["reset"] <= SEEN[name][1]
    assert largest["set"]
    assert largest["reset"]
