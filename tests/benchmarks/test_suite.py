"""The suite refuses wrong answers, reports failures as failures, and compares what it should."""

import json
import os
import sqlite3
import sys

import networkx as nx
import numpy as np
import pytest

from benchmarks.suite import capacity, cell, cluster, compare, memory, oracle, plan, runner, systems, workloads
from benchmarks.suite.digest import SQL_DIGEST, Digest
from benchmarks.suite.system import Recomputing
from dyntc_spark.cli import commands
from dyntc_spark.edges import Edges
from dyntc_spark.errors import SetupError

pytestmark = pytest.mark.long

GRAPHS = {
    "random": (lambda: workloads.random_digraph(50, 2.0), False),
    "lineage": (lambda: workloads.lineage(70, 7), True),
    "groups": (lambda: workloads.groups(400), False),
    "dense": (lambda: workloads.dense(23), True),
    "long": (lambda: workloads.long_rows(40), True),
}


def closure(edges, n):
    """Return the pairs of different vertices, by networkx."""
    graph = nx.DiGraph(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))
    graph.add_nodes_from(range(n))
    return {(u, v) for u in graph for v in nx.descendants(graph, u)}


def small(name="random"):
    return workloads.made(name, GRAPHS[name][0](), {1: 2, 5: 2}, ("mixed",), questions=200)


@pytest.fixture
def task(tmp_path):
    workload = small()
    workload.save(tmp_path / "w.npz")
    expected, answers = oracle.expected(workload)
    tried = oracle.tried(workload)
    return lambda system: cell.Task(tmp_path / "w.npz", system, tuple(expected), answers, tried=tried)


# --- digests and the oracle -----------------------------------------------------------------------


def test_a_digest_knows_no_order_and_no_loops():
    u, v = np.array([1, 2, 3, 3]), np.array([2, 3, 1, 3])
    whole = Digest.of([(u, v)])
    assert whole == Digest.of([(u[3:], v[3:]), (u[1:3][::-1], v[1:3][::-1]), (u[:1], v[:1])])
    assert whole.pairs == 3
    assert whole != Digest.of([(u[:3], [2, 3, 2])])  # as many pairs, one of them another


def test_sql_has_the_same_digest():
    u, v = np.random.default_rng(1).integers(10**7, size=(2, 500))
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE closed (src INTEGER, dst INTEGER)")
        base.executemany("INSERT INTO closed VALUES (?, ?)", zip(u.tolist(), v.tolist(), strict=True))
        row = base.execute(f"SELECT {', '.join(SQL_DIGEST)} FROM closed WHERE src <> dst").fetchone()  # noqa: S608
    assert Digest(*row) == Digest.of([(u, v)])


@pytest.mark.parametrize("name", GRAPHS)
def test_the_oracle_agrees_with_networkx(name):
    workload = small(name)
    expected, answers = oracle.expected(workload)
    edges, n = workload.edges, workload.vertices
    assert expected[0] == Digest.of([tuple(np.array(sorted(closure(edges, n))).T)])
    for group in workload.groups:
        for batch in group.batches:
            edges = oracle.changed(edges, *batch, n)
    pairs = closure(edges, n)
    assert expected[-1] == Digest.of([tuple(np.array(sorted(pairs)).T)])
    asked = zip(*(side.tolist() for side in workload.questions), strict=True)
    assert answers.tolist() == [u == v or (u, v) in pairs for u, v in asked]


# --- workloads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHS)
def test_workloads_are_what_they_say(name, tmp_path):
    graph, acyclic = GRAPHS[name][0](), GRAPHS[name][1]
    workload = workloads.made(name, graph, {1: 3, 7: 4}, (*workloads.SCRIPTS, workloads.RECENT))
    assert workload.acyclic == acyclic
    n, there = workload.vertices, set(oracle.coded(workload.edges, workload.vertices).tolist())
    for group in workload.groups:
        for inserted, deleted in group.batches:
            new, gone = (set(oracle.coded(part, n).tolist()) for part in (inserted, deleted))
            assert gone <= there
            assert not new & there
            assert len(new) == len(inserted)
            there = there - gone | new
            if acyclic:
                assert nx.is_directed_acyclic_graph(nx.DiGraph((code // n, code % n) for code in there))
    workload.save(tmp_path / "w.npz")
    again = workloads.Workload.load(tmp_path / "w.npz")
    assert [group.name for group in again.groups] == [group.name for group in workload.groups]
    assert (again.groups[-1].batches[-1][1].targets == workload.groups[-1].batches[-1][1].targets).all()
    made_again = workloads.made(name, GRAPHS[name][0](), {1: 3, 7: 4}, (*workloads.SCRIPTS, workloads.RECENT))
    assert (made_again.groups[-1].batches[-1][0].sources == workload.groups[-1].batches[-1][0].sources).all()
    assert [part.targets.tolist() for part in again.trial] == [part.targets.tolist() for part in workload.trial]


def test_what_came_recently_goes_again():
    workload = workloads.made("recent", workloads.long_rows(40), {3: 4}, (workloads.RECENT,))
    (group,) = workload.groups
    came = [set(oracle.coded(inserted, 40).tolist()) for inserted, _ in group.batches]
    went = [set(oracle.coded(deleted, 40).tolist()) for _, deleted in group.batches]
    assert [len(each) for each in came] == [3] * 5
    assert went == [set(), *came[:-1]]


def test_batches_together_do_what_they_do_one_by_one():
    workload = small()
    n, edges = workload.vertices, workload.edges
    batches = [batch for group in workload.groups for batch in group.batches]
    at_once = oracle.changed(edges, *cell.net(batches, n), n)
    for batch in batches:
        edges = oracle.changed(edges, *batch, n)
    assert (at_once.sources == edges.sources).all()
    assert (at_once.targets == edges.targets).all()


# --- cells ----------------------------------------------------------------------------------------


class Right(Recomputing):
    """Closes as the oracle does."""

    def close(self, edges, vertices):
        self.closed = oracle.digest(edges, vertices)

    def digest(self):
        return self.closed


class OnePairOff(Right):
    """Has one wrong pair in place of a right one: the number of pairs is right."""

    def digest(self):
        return Digest(self.closed.pairs, self.closed.total + 1)


class WrongLater(Right):
    """Forgets all changes."""

    def apply(self, *_):
        pass


class WrongAnswers(Right):
    """Has the right closure and says anything."""

    def query(self, sources, targets):
        return sources != targets


class WrongTrial(Right):
    """Has the right closure, and says that a batch would change nothing."""

    def what_if(self, *_):
        return lambda: (Digest(0, 0), Digest(0, 0))


class Breaks(Right):
    """Gives up after the start."""

    def apply(self, *_):
        raise MemoryError("first line\n[RECURSION_LIMIT] what matters\n at some line of code")


def outcome(task, kind, monkeypatch):
    monkeypatch.setitem(systems.PEERS, "double", kind)
    told = []
    cell.run(task("double"), told.append)
    return [record for record in told if record["phase"] != cell.STARTED]


def test_right_answers_have_times(task, monkeypatch):
    told = outcome(task, Right, monkeypatch)
    assert [record["phase"] for record in told] == ["init", "mixed/1", "mixed/5"]
    assert all(record["status"] == "ok" and record["runs"] for record in told)


@pytest.mark.parametrize(
    ("kind", "phase"),
    [(OnePairOff, "init"), (WrongLater, "mixed/1"), (WrongAnswers, "query/200"), (WrongTrial, "what-if/10")],
)
def test_a_wrong_answer_has_no_time(task, monkeypatch, kind, phase):
    last = outcome(task, kind, monkeypatch)[-1]
    assert (last["status"], last["phase"]) == ("wrong", phase)
    assert "runs" not in last


@pytest.mark.parametrize("system", ["lanes", "networkx", "DuckDB", "roaring rows"])
def test_systems_know_what_a_batch_would_change(task, system):
    """Those with a way to ask leave the closure as it is; the others have all other phases."""
    told = []
    cell.run(task(system), told.append)
    if "not installed" in told[-1].get("message", ""):
        pytest.skip(told[-1]["message"])
    phases = {record["phase"]: record["status"] for record in told if record["phase"] != cell.STARTED}
    expected = ["init", "mixed/1", "mixed/5", "query/1", "query/200"]
    assert phases == dict.fromkeys(expected + ["what-if/10"] * (system != "roaring rows"), "ok")


def test_a_failure_is_reported_as_one_with_its_message(task, monkeypatch):
    last = outcome(task, Breaks, monkeypatch)[-1]
    assert (last["status"], last["phase"]) == ("failed", "mixed/1")
    assert last["message"] == "MemoryError: [RECURSION_LIMIT] what matters"


def test_what_is_not_tried_says_why(task, monkeypatch):
    told = []
    cell.run(task("path_counting"), told.append)
    assert [(record["status"], record["message"]) for record in told] == [("not tried", "it takes acyclic graphs only")]
    monkeypatch.setitem(sys.modules, "igraph", None)
    told.clear()
    cell.run(task("igraph"), told.append)
    assert (told[-1]["status"], told[-1]["message"]) == ("not tried", "not installed: igraph")


def test_a_cell_has_a_limit_and_leaves_no_process(task):
    def machines():
        return {pid for pid, kind in memory.descendants(os.getpid()).items() if kind == "jvm"}

    before = machines()
    told = runner.in_its_process(task("search"), 0.0)
    assert told[-1]["status"] == "limit"
    assert machines() <= before


def test_a_run_writes_results_tables_and_pictures(tmp_path):
    assert runner.run("tiny", ["lineage"], ["lanes", "recompute", "scipy"], tmp_path)
    results = json.loads((tmp_path / "suite-tiny-part.json").read_text())
    assert {record["status"] for record in results["cells"]} == {"ok"}
    assert {record["system"] for record in results["cells"]} == {"lanes", "recompute", "scipy"}
    assert all(record["low"] <= record["median"] <= record["high"] for record in results["cells"])
    assert all(record["memory"]["driver"] > 2**20 for record in results["cells"])
    page = (tmp_path / "suite-tiny-part.md").read_text()
    assert "| `lanes` |" in page
    assert "## Crossovers" in page
    pictures = list(tmp_path.glob("*.svg"))
    assert {picture.stem.removeprefix("suite-tiny-part-") for picture in pictures} == {
        "batches-lineage",
        "init-lineage",
    }
    assert all(picture.name in page for picture in pictures)
    assert runner.run("tiny", ["lineage"], ["lanes"], tmp_path, resume=True)
    again = json.loads((tmp_path / "suite-tiny-part.json").read_text())
    assert again["cells"] == results["cells"], "a workload that is finished does not run again"


def test_plans_name_systems_that_exist():
    for made in (plan.tiny(), plan.quick(), plan.full()):
        assert len({entry.name for entry in made.entries}) == len(made.entries)
        assert all(name in systems.ALL for entry in made.entries for name in entry.systems)


# --- comparisons ----------------------------------------------------------------------------------


def record(system, phase, seconds, workload="w"):
    return {"workload": workload, "system": system, "phase": phase, "status": "ok", "median": seconds}


def results_of(*cells):
    return {"workloads": {"w": {"groups": ["mixed/1", "mixed/100"], "pairs": 1, "vertices": 1}}, "cells": list(cells)}


def test_a_crossover_lies_between_two_sizes():
    results = results_of(
        record("recompute", "init", 1.0),
        record("search", "init", 0.1),  # stores nothing: not a system to cross over to
        record("lanes", "mixed/1", 0.1),
        record("lanes", "mixed/100", 10.0),
        record("Pathway", "mixed/1", 2.0),
        record("Pathway", "mixed/100", 3.0),
        record("centres", "mixed/1", 0.1),
        record("centres", "mixed/100", 0.2),
    )
    found = {each.system: each.size for each in compare.crossovers(results)}
    assert found == {"lanes": pytest.approx(10), "Pathway": 1, "centres": None}


def test_the_default_is_compared_with_the_cheapest_on_its_backend():
    results = results_of(
        record("lanes", "mixed/1", 3.0),
        record("centres", "mixed/1", 1.0),
        record("recompute", "mixed/1", 2.0),
        record("lanes@spark", "mixed/1", 6.0),
        record("centres@spark", "mixed/1", 5.0),
    )
    first, second = compare.choices(results)
    assert (first.best, first.ratio, second.best, second.ratio) == ("centres", 3.0, "centres@spark", 1.2)


def test_gaps_put_our_worst_first():
    results = results_of(
        record("lanes", "init", 1.0),
        record("igraph", "init", 4.0),
        record("lanes", "mixed/1", 1.0),
        record("Pathway", "mixed/1", 0.5),
    )
    assert [(gap.phase, gap.peer, gap.ratio) for gap in compare.gaps(results)] == [
        ("mixed/1", "Pathway", 2.0),
        ("init", "igraph", 0.25),
    ]


def test_what_is_slower_than_before_is_listed():
    before = results_of(
        record("refresh", "mixed/1", 1.0), record("refresh", "mixed/100", 1.0), record("refresh@spark", "mixed/1", 1.0)
    )
    now = results_of(
        record("lanes", "mixed/1", 1.1),
        record("lanes", "mixed/100", 3.0),
        record("lanes@spark", "mixed/1", 2.0),
        record("centres", "mixed/1", 9.0),
    )
    found = [(each.phase, each.backend, each.ratio) for each in compare.slower(now, before, 1.0)]
    assert found == [("mixed/100", "in process", 3.0), ("mixed/1", "Spark", 2.0)]


def test_what_is_slower_is_told_apart_from_another_machine():
    before = results_of(record("refresh", "init", 1.0), record("search", "init", 4.0), record("search", "mixed/1", 4.0))
    now = results_of(record("lanes", "init", 0.9), record("search", "init", 2.0), record("search", "mixed/1", 1.0))
    speed = compare.machine(now, before)
    assert speed == 0.375
    (slower,) = compare.slower(now, before, speed)
    assert (slower.best_seconds, slower.ratio) == (0.375, pytest.approx(2.4))


# --- the capacity model ---------------------------------------------------------------------------


def test_the_model_is_near_every_measured_point():
    points = capacity.measured()
    assert points
    off = {point.name: point.off for point in points if max(point.off.values()) > capacity.FACTOR}
    assert not off


def test_the_page_about_capacity_has_these_tables():
    page = (capacity.PUBLISHED.parents[1] / "docs/explanation/capacity.md").read_text(encoding="utf-8")
    assert not [line for line in capacity.page(capacity.measured()) if line not in page]


def on_a_cluster(seconds):
    """Return what a graph took of which the model says 0.45 s."""
    work = [{"ranges": 1, "seconds": seconds, "looks": 50_000_000, "bytes": 10**8}]
    facts = {"vertices": 100_000, "edges": 400_000, "pairs": 10**9, "pickled": 3_200_000, "work": work}
    return facts | {"peaks": {"driver's Python": [350 * 2**20]}}


def test_a_measurement_far_from_the_model_shows(tmp_path):
    for name, seconds in (("near", 0.8), ("far", 3.0)):
        (tmp_path / f"scale_out-{name}.json").write_text(json.dumps(on_a_cluster(seconds)))
    points = {point.name: point for point in capacity.measured(tmp_path)}
    assert max(points["near"].off.values()) < capacity.FACTOR < points["far"].off["seconds of work"]


def test_a_shape_is_scaled():
    packages = capacity.Point("debian", on_a_cluster(0.8))
    assert packages.scaled(10**8).state_bytes == 10**11
    assert packages.scaled(10**8).executors == 12
    assert sum(line.startswith("| 10^") for line in capacity.page([packages])) == 4


# --- the command ----------------------------------------------------------------------------------


def test_without_a_checkout_the_command_says_what_to_do(tmp_path):
    with pytest.raises(SetupError, match=r"run\.py bench suite"):
        commands.in_checkout("suite", root=tmp_path)


# --- a cluster ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_cells_run_on_a_cluster_of_processes(tmp_path):
    assert cluster.run(2, "512m", 1, ("lanes@spark",), tmp_path)
    results = json.loads((tmp_path / "suite-cluster.json").read_text())
    executors = [one for one in results["cells"][0]["facts"]["executors"] if one["id"] != "driver"]
    assert [one["memory"] + one["disk"] > 0 for one in executors] == [True, True]


def test_edges_of_a_batch_are_sorted():
    changed = oracle.changed(Edges.of([3, 1], [0, 2]), Edges.of([2], [2]), Edges.of([3], [0]), 4)
    assert (changed.sources.tolist(), changed.targets.tolist()) == ([1, 2], [2, 2])
