"""The views of a prefix go from one version to the next together, or stay where they are together."""

from __future__ import annotations

import threading

import pytest
from pyspark.errors import AnalysisException, PySparkRuntimeError

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import SessionError
from dyntc_spark.graph.tables.views import NAMES
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("_few_functions")
EDGES = [("1", "2"), ("2", "3")]
# One statement about all views and functions of a prefix. What it gives is text, whatever the vertices are.
ALL = """
SELECT 'version', CAST(version AS STRING) FROM {0}_stats
UNION ALL SELECT 'edge', concat_ws('>', src, dst) FROM {0}_edges
UNION ALL SELECT 'pair', concat_ws('>', src, dst) FROM {0}_closure
UNION ALL SELECT 'vertex', CAST(vertex AS STRING) FROM {0}_vertices
UNION ALL SELECT op, concat_ws('>', src, dst) FROM {0}_changes
UNION ALL SELECT 'below', CAST(vertex AS STRING) FROM {0}_descendants('2')
"""


def ask(spark, prefix):
    found = {}
    for what, which in spark.sql(ALL.format(prefix)).collect():
        found.setdefault(what, set()).add(which)
    return found


class Steps:
    """Counts the statements and the views that are put into the session, and does something before each of them."""

    def __init__(self, spark, monkeypatch, before):
        self.done, self._before, self._inside = 0, before, False
        for kind, name in ((type(spark), "sql"), (type(spark.range(1)), "createOrReplaceTempView")):
            monkeypatch.setattr(kind, name, self._step(getattr(kind, name)))

    def _step(self, real):
        def step(*given, **named):
            if not self._inside:
                self._inside, self.done = True, self.done + 1
                try:
                    self._before(self.done)
                finally:
                    self._inside = False
            return real(*given, **named)

        return step


def failing_at(step):
    def fail(done):
        if done == step:
            raise PySparkRuntimeError(errorClass="NO_ACTIVE_SESSION", messageParameters={})

    return fail


def another(spark, _closure):
    DynamicClosure.from_edges([("2", "9")], spark=spark).create_views("deps")


ACTS = {
    "batch": (EDGES, lambda _, c: c.apply([("insert", "3", "4"), ("delete", "1", "2")])),
    "reset": (EDGES, lambda _, c: c.reset([("3", "2"), ("2", "5"), ("5", "6")])),
    "another closure": (EDGES, another),
    "first vertices": ([], lambda _, c: c.insert([(1, 2), (2, 3)])),  # views are made again for their type
}


SLOW = ("another closure", "first vertices")  # every view and function is a step there


MARKS = {"batch": pytest.mark.connect, **dict.fromkeys(SLOW, pytest.mark.slow)}


@pytest.mark.parametrize("act", [pytest.param(act, marks=MARKS.get(act, ())) for act in ACTS])
def test_a_question_between_any_two_steps_sees_one_version(spark, monkeypatch, act):
    edges, change = ACTS[act]
    c = DynamicClosure.from_edges(edges, spark=spark)
    c.create_views("deps")
    seen = [ask(spark, "deps")]
    with monkeypatch.context() as patched:
        steps = Steps(spark, patched, lambda _: seen.append(ask(spark, "deps")))
        change(spark, c)
    seen.append(ask(spark, "deps"))
    changed = [place for place in range(1, len(seen)) if seen[place] != seen[place - 1]]
    assert len(changed) == 1
    assert steps.done == len(seen) - 2


@pytest.mark.parametrize(
    ("act", "step"),
    [("batch", 1), *(pytest.param("first vertices", step, marks=pytest.mark.slow) for step in (1, 2))],
)
def test_views_that_cannot_be_replaced_stay_at_the_version_before(spark, monkeypatch, act, step):
    edges, change = ACTS[act]
    c = DynamicClosure.from_edges(edges, spark=spark)
    c.create_views("deps")
    before = ask(spark, "deps")
    with monkeypatch.context() as patched:
        Steps(spark, patched, failing_at(step))
        with pytest.raises(SessionError, match=r"views deps_\* up to date; .*batch itself is done"):
            change(spark, c)
    assert ask(spark, "deps") == before
    assert c.version == 1


def test_an_error_of_some_views_leaves_no_others_behind(spark, monkeypatch):
    c = DynamicClosure.from_edges(EDGES, spark=spark)
    c.create_views("deps")
    c.create_views("more")
    with monkeypatch.context() as patched:
        Steps(spark, patched, failing_at(1))
        with pytest.raises(SessionError, match=r"views deps_\*"):
            c.insert([("3", "4")])
    c.insert([("4", "5")])
    deps, more = ask(spark, "deps"), ask(spark, "more")
    assert (deps["version"], more["version"]) == ({"0"}, {"2"})
    assert (len(deps["pair"]), len(more["pair"])) == (3, 10)


def test_views_that_missed_a_batch_get_it_with_the_next(spark, monkeypatch):
    def interrupted(*_parts):
        raise KeyboardInterrupt

    c = DynamicClosure.from_edges(EDGES, spark=spark)
    c.create_views("deps")
    before = ask(spark, "deps")
    with monkeypatch.context() as patched:
        patched.setattr("dyntc_spark.graph.tables.current_views.statistics", interrupted)
        with pytest.raises(KeyboardInterrupt):
            c.insert([("3", "4")])
    assert ask(spark, "deps") == before
    c.insert([("5", "6")])
    assert ask(spark, "deps")["pair"] == {"1>2", "1>3", "1>4", "2>3", "2>4", "3>4", "5>6"}


@pytest.mark.connect
def test_a_plan_of_two_versions_is_refused(spark):
    c = DynamicClosure.from_edges(EDGES, spark=spark)
    c.create_views("deps")
    spark.table("deps_edges").createOrReplaceTempView("kept")  # as Spark has found it: the plan of a version
    joined = "SELECT count(*) FROM kept JOIN deps_closure USING (src, dst)"
    assert spark.sql(joined).first() == (2,)
    c.insert([("3", "4")])
    for question in (joined, "SELECT * FROM kept WHERE src IN (SELECT vertex FROM deps_descendants('1'))"):
        with pytest.raises(AnalysisException, match=r"deps_\*: views of two versions in one statement. Run it again"):
            spark.sql(question).collect()
    assert spark.table("kept").count() == 2
    assert c.pairs().join(spark.table("kept"), ["src", "dst"]).count() == 2


def test_nothing_grows_with_the_number_of_batches(spark):
    def sizes():
        plan = spark.sql("EXPLAIN EXTENDED SELECT * FROM deps_closure JOIN deps_vertices ON src = vertex").first()[0]
        return len(spark.sql("SHOW VIEWS").collect()), plan.count("\n")

    c = DynamicClosure.from_edges([(0, 1), (2, 3)], spark=spark)
    c.create_views("deps")
    c.create_views("deps")
    c.insert([(1, 2)])
    first = sizes()
    for number in range(4):
        c.apply([("delete" if number % 2 == 0 else "insert", 1, 2)])
    assert sizes() == first
    assert first[0] == len([*NAMES, "of the prefix", "of the version"])
    assert len(c._parts.views.shown) == 1


@pytest.mark.slow
def test_questions_while_batches_come(spark):
    """Every answer is that of a version, or a refusal that says so: of a statement that a batch came into."""
    c = DynamicClosure.from_edges([(0, 1)], spark=spark)
    c.create_views("deps")
    done, answers, refused, other = threading.Event(), [], [], []
    question = """
        SELECT (SELECT count(*) FROM deps_edges), (SELECT count(*) FROM deps_closure), (SELECT edges FROM deps_stats)
    """

    def asking():
        while not done.is_set():
            try:
                answers.append(tuple(spark.sql(question).first()))
            except AnalysisException as error:  # noqa: PERF203  (each statement by itself)
                (refused if "two versions in one statement" in str(error) else other).append(error)

    threads = [threading.Thread(target=asking) for _ in range(2)]
    for thread in threads:
        thread.start()
    for vertex in range(1, 60):  # a path: of n edges there are n(n + 1)/2 pairs
        ended = len(answers) + len(refused)
        c.insert([(vertex, vertex + 1)])
        if vertex == 48:  # so far one after the other, as fast as they are done; from now on each meets two statements
            fast = len(answers), len(refused)
        if vertex > 48:
            assert eventually(lambda ended=ended: len(answers) + len(refused) + len(other) >= ended + 6)
    done.set()
    for thread in threads:
        thread.join()
    assert other == []
    assert [answer for answer in answers if answer[1:] != (answer[0] * (answer[0] + 1) // 2, answer[0])] == []
    assert len(answers) - fast[0] > len(refused) - fast[1]
