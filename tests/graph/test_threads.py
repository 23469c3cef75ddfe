"""Many threads: every answer is that of one whole version, and no batch that was acknowledged is lost."""

from __future__ import annotations

import threading

import pytest

from dyntc_spark import DynamicClosure
from tests.graph.schedule import QUESTIONS, SECONDS, Askers, drawn, edges_of, played, switching_often

EVERYTHING = tuple(QUESTIONS)
ENGINES = ["auto", "recompute", "lanes", "centres", "algebraic"]


@pytest.fixture(autouse=True)
def _restless():
    with switching_often():
        yield


def require(closure, version):
    """Compare a closure that nobody changes any more with a version."""
    assert edges_of(closure.arrow.edges()) == version.edges
    assert edges_of(closure.arrow.pairs()) == version.pairs
    counts = closure.stats()
    told = (counts["version"], counts["inserted"], counts["deleted"])
    assert told == (version.number, version.inserted, version.deleted)


@pytest.mark.long
@pytest.mark.parametrize("question", ["edges", "pairs", "repr"])
def test_a_batch_while_one_question_is_asked(question):
    seed = len(question)
    start, script, versions = drawn(seed, batches=100)
    c = DynamicClosure.from_edges(start)
    with Askers(c, seed, versions, *[(question,)] * 2):
        played(c, script)
    require(c, versions[-1])


@pytest.mark.parametrize("engine", ENGINES)
def test_every_answer_is_that_of_one_version(engine):
    seed = ENGINES.index(engine)
    start, script, versions = drawn(seed, batches=40)
    c = DynamicClosure.from_edges(start, engine=engine)
    turned = [EVERYTHING[k:] + EVERYTHING[:k] for k in range(0, len(EVERYTHING), 4)]
    with Askers(c, seed, versions, *turned):
        played(c, script)
    require(c, versions[-1])


@pytest.mark.slow
@pytest.mark.parametrize("engine", [*ENGINES, "logarithmic", "divide_conquer", "path_counting"])
@pytest.mark.parametrize("seed", range(4))
def test_many_schedules(engine, seed):
    start, script, versions = drawn(100 + seed, batches=120, acyclic=engine == "path_counting")
    c = DynamicClosure.from_edges(start, engine=engine)
    turned = [EVERYTHING[k:] + EVERYTHING[:k] for k in range(len(EVERYTHING))]
    with Askers(c, seed, versions, *turned):
        played(c, script)
    require(c, versions[-1])


def test_several_threads_change_it():
    threads, each = 4, 25
    c = DynamicClosure.from_edges([(0, 1)])

    def write(mine):
        for number in range(each):
            c.insert([(mine, number + 2000)])
            c.apply([("delete", mine, number + 2000), ("insert", mine + 100, number + 1000)])

    writers = [threading.Thread(target=write, args=(1 + mine,), daemon=True) for mine in range(threads)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join(SECONDS)
    counts = c.stats()
    assert c.version == counts["version"] == 2 * threads * each
    assert (counts["inserted"], counts["deleted"]) == (2 * threads * each, threads * each)
    expected = {(0, 1)} | {(1 + mine + 100, number + 1000) for mine in range(threads) for number in range(each)}
    assert edges_of(c.arrow.edges()) == expected == edges_of(c.arrow.pairs())


def test_answers_of_a_closure_without_edges_while_it_gets_some():
    """The type of the vertices is another one from one version to the next."""
    c = DynamicClosure.from_edges([])
    found = []

    def ask():
        while not found or found[-1]:
            found.append(c.arrow.query([("a", "b")], "false")["reachable"].to_pylist() != [True])

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    c.insert([("a", "b")])
    thread.join(SECONDS)
    assert not thread.is_alive()
