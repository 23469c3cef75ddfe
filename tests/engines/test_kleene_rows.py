"""The rows of the deterministic engines on Spark: worked out by tasks, never gathered."""

import numpy as np
import pytest

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.operations import ClearEntries, Gather
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.where import Places
from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic.centres import Centres
from dyntc_spark.engines.deterministic.divide_conquer import DivideConquer
from dyntc_spark.engines.deterministic.logarithmic import Logarithmic
from tests.engines.kleene_scripts import Plain, Step, run

N = 11
MAKERS = {
    "logarithmic": lambda backend: Logarithmic(backend, size=4),
    "divide_conquer": lambda backend: DivideConquer(backend, size=4),
    "centres": lambda backend: Centres(backend, size=4, depth=1, rebuild_share=float("inf")),
}
#: An Init*, a Set* in each half and a Reset*: the last two are on Spark, and are what the rows have to follow.
SCRIPT = [
    Step("init", ([0, 1, 2, 5, 9, 10], [1, 2, 0, 6, 10, 3])),
    Step("set", (3, [5, 4], [2])),
    Step("set", (9, [7], [6, 8])),
    Step("reset", ([1, 9], [2, 10])),
]


@pytest.fixture(scope="module")
def backend(spark):
    return SparkBackend(spark)


def closed(frame):
    """Return the rows of a DataFrame as a matrix."""
    found = np.zeros((N, N), bool)
    for number, reached in frame.collect():
        assert reached == sorted(set(reached))
        found[number, reached] = True
    assert frame.count() == N
    return found


def moved_halfway(make, backend, script):
    """Run two steps of a script in this process, and the rest on Spark."""
    engine, plain = make(None), Plain(N)
    for number, step in enumerate(script):
        if number == 2:
            engine = engine.moved(backend)
        plain.run(step)
        run(engine, step, N)
    return engine, plain


@pytest.mark.parametrize("name", ["logarithmic", "centres", pytest.param("divide_conquer", marks=pytest.mark.slow)])
def test_rows_are_worked_out_by_tasks(backend, spark, name, monkeypatch):
    engine, plain = moved_halfway(MAKERS[name], backend, SCRIPT)
    monkeypatch.setattr(Gather, "collect", None)  # no line comes to the driver
    with backend.jobs.watch() as started:
        frame = engine.rows(spark)
    assert started == []
    assert frame.dtypes == [("number", "int"), ("reached", "array<int>")]
    assert np.array_equal(closed(frame), plain.closure)
    with backend.jobs.watch() as started:
        assert engine.stats()["pairs"] == plain.closure.sum() - N
        assert engine.stats()["pairs"] == plain.closure.sum() - N
    assert started == ["count pairs"]  # once a version
    with backend.jobs.watch() as started:
        certificate = engine.verify()
    assert certificate.rows == N
    assert certificate.holds
    assert started == ["certify"]


def test_rows_of_a_version_stay_what_they_were(backend, spark):
    """Records shrink in place; a DataFrame that was made before does not follow them."""
    engine, plain = moved_halfway(MAKERS["centres"], backend, SCRIPT[:3])
    before, frame = plain.closure.copy(), engine.rows(spark, look=True)
    plain.run(SCRIPT[3])
    run(engine, SCRIPT[3], N)
    assert not np.array_equal(before, plain.closure)
    assert np.array_equal(closed(frame), before)
    assert np.array_equal(closed(engine.rows(spark)), plain.closure)


def test_a_pair_that_is_missing_is_found_and_repaired(backend):
    engine = Logarithmic(backend, size=4)
    engine.init(Edges.of([0, 1], [1, 2]), N)
    last = f"V{engine._levels}"
    damage = ClearEntries(last, Places(engine.state.kinds[last].grid, np.array([0]), np.array([2])))
    engine._state = engine.state.run(damage)[0]
    found = engine.verify()
    assert (found.missing.sources.tolist(), found.missing.targets.tolist()) == ([0], [2])
    assert found.repaired
    assert engine.query([0], [2]).all()


def test_in_this_process_there_is_no_frame():
    engine = Centres()
    engine.init(Edges.of([0], [1]), 2)
    assert engine.rows(None) is None
    assert "pairs" not in engine.stats()
    assert isinstance(engine._where, LocalBackend)


def test_vertices_that_have_room_but_are_not_there_yet(backend, spark):
    """Growing makes room for more vertices than there are; these have no rows."""
    engine = Centres(backend, size=4, depth=1)
    engine.init(Edges.of([0, 1], [1, 2]), 8)
    engine.grow(9)  # room for 11
    engine.apply(Edges.of([2], [8]), Edges.of())
    rows = {row.number: row.reached for row in engine.rows(spark).collect()}
    assert sorted(rows) == list(range(9))
    assert rows[0] == [0, 1, 2, 8]
    assert engine.stats()["pairs"] == 6
