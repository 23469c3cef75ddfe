"""BooleanPolynomial on Spark: the same answers, and how many jobs they take."""

from dataclasses import replace

import numpy as np
import pytest
from chispa import assert_df_equality
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.operations import CountEntries
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.matrices.polynomial.boolean_polynomial import BooleanPolynomial
from tests.matrices.polynomial_oracle import History
from tests.matrices.polynomial_scripts import FORMS, apply, compare, draw, machine, remember, value

NEVER = float("inf")


@pytest.fixture(scope="module")
def backend(spark):
    return SparkBackend(spark)


def jobs(backend, call, *arguments, **options):
    """How many jobs a call starts."""
    with backend.jobs.watch() as started:
        call(*arguments, **options)
    return len(started)


def degree_2(backend):
    """A polynomial whose sizes are no multiples of the block's."""
    return BooleanPolynomial("A*B", {"A": (5, 7), "B": (7, 4)}, backend, size=3, rebuild_share=NEVER)


@pytest.mark.cluster
def test_degree_2_jobs(backend):
    rng = np.random.default_rng(0)
    p, history = degree_2(backend), History(degree_2(backend).layout)
    script = [
        (("init", {"A": rng.random((5, 7)) < 0.4, "B": rng.random((7, 4)) < 0.4}), 3),  # one is the multiplication
        (("set_row", "A", 4, rng.random(7) < 0.4), 3),
        (("set_col", "B", 3, rng.random(7) < 0.4), 3),
        (("set_col", "A", 6, rng.random(5) < 0.4), 2),
        (("set_row", "B", 2, rng.random(4) < 0.4), 2),
        (("lazy_set", "A", rng.random((5, 7)) < 0.4), 1),
        (("reset", "B", rng.random((7, 4)) < 0.4), 3),
        (("lazy_set", "B", np.ones((7, 4), bool)), 1),
        (("reset", "A", np.zeros((5, 7), bool)), 0),
        (("reset", "B", np.zeros((7, 4), bool)), 0),
    ]
    assert jobs(backend, degree_2, backend) == 0  # a constructor starts none
    for operation, expected in script:
        assert jobs(backend, apply, p, operation) == expected, operation[0]
        remember(history, operation)
    assert jobs(backend, p.lookup) == 1
    compare(p, history)
    p.check_invariant()


@pytest.mark.slow
def test_degree_3_jobs(backend):
    rng = np.random.default_rng(1)
    form = ("A + A*B*C", {"A": (5, 5), "B": (5, 5), "C": (5, 5)})
    p = BooleanPolynomial(*form, backend, size=3, rebuild_share=NEVER)
    history = History(p.layout)
    first = {name: rng.random(shape) < 0.3 for name, shape in form[1].items()}
    # the variables, a multiplication for each of 4 products that differ (of 8), a superstep for each of 2 levels
    assert jobs(backend, p.init, first) == 1 + 4 + 2
    remember(history, ("init", first))
    limits = {"set_row": 3 + 1, "set_col": 3 + 1, "lazy_set": 1, "reset": 2 + 2}
    for operation in [
        ("lazy_set", "B", rng.random((5, 5)) < 0.2),
        ("set_row", "A", 4, rng.random(5) < 0.3),
        ("set_col", "B", 4, rng.random(5) < 0.3),
        ("set_col", "C", 0, rng.random(5) < 0.3),
        ("reset", "A", rng.random((5, 5)) < 0.3),
    ]:
        assert jobs(backend, apply, p, operation) <= limits[operation[0]], operation[0]
        remember(history, operation)
    compare(p, history)


def test_every_counted_job_is_one_of_sparks(backend, job_count):
    p = BooleanPolynomial("A*B*C", 4, backend, size=3, rebuild_share=NEVER)
    p.lazy_set("C", np.eye(4, dtype=bool))
    for call, expected in [
        (lambda: p.set_row("A", 0, [1, 3]), 4),
        (lambda: p.set_col("B", 2, [1]), 3),
        (lambda: p.lazy_set("A", ([1], [1])), 1),
        (lambda: p.reset("B", ([1], [2])), 4),
        (p.lookup, 1),
    ]:
        with job_count() as real, backend.jobs.watch() as counted:
            call()
        assert real.started == len(counted) == expected


def test_degree_4_sets_stay_below_the_bound(backend):
    """From zero matrices: one Set of degree k is at most k + 3 jobs, whichever variable and side."""
    p = BooleanPolynomial(*FORMS["section 6, Q"], backend, size=2)
    history = History(p.layout)
    p.lazy_set("C", np.ones((2, 3), bool))
    remember(history, ("lazy_set", "C", np.ones((2, 3), bool)))
    for operation in [("set_col", "B", 0, np.ones(3, bool)), ("set_row", "P", 0, np.ones(2, bool))]:
        assert jobs(backend, apply, p, operation) <= 4 + 1
        remember(history, operation)
    (row,) = p.set_col("P", 1, np.ones(2, bool), then=[p.reading(rows=[0])])
    remember(history, ("set_col", "P", 1, np.ones(2, bool)))
    assert np.array_equal(row.array()[0] > 0, history.lookup()[0])
    compare(p, history)


def test_reading_the_new_value_costs_no_job_of_its_own(backend):
    p = BooleanPolynomial("A*B", 4, backend, size=3)
    p.lazy_set("B", ([1], [2]))
    assert jobs(backend, p.set_row, "A", 0, [1]) == 3
    assert jobs(backend, p.set_row, "A", 3, [1], then=[p.reading(rows=[0, 3]), CountEntries("S")]) == 3
    found, number = p.set_row("A", 2, [1], then=[p.reading(rows=[0, 2]), CountEntries("S")])
    assert np.argwhere(found.array()).tolist() == [[0, 2], [1, 2]]
    assert number == 3


def test_values_may_come_from_spark_and_the_answer_is_a_dataframe(backend, spark):
    edges = spark.createDataFrame([(0, 1), (1, 2), (2, 3)], "row long, column long")
    again = BlockMatrix.from_entries(([1, 2], [1, 0]), shape=(4, 4), size=3, backend=backend)
    p = BooleanPolynomial("A*B + B", 4, backend, size=3)
    p.init({"A": edges, "B": again})
    answer = p.lookup()
    found = answer.state.to_dataframe(answer.name)
    expected = spark.createDataFrame([(0, 1), (1, 0), (1, 1), (2, 0)], "row long, column long")
    assert_df_equality(found, expected, ignore_row_order=True, ignore_nullable=True)
    p.reset("A", ([0], [1]))
    answer = p.lookup()
    rest = expected.where("row > 0")
    assert_df_equality(answer.state.to_dataframe(answer.name), rest, ignore_row_order=True, ignore_nullable=True)
    assert repr(p) == "BooleanPolynomial(A*B + B, 4 x 4 in blocks of 3 x 3, on Spark)"


def test_a_reset_by_rebuild_gives_the_same_value(backend):
    p = BooleanPolynomial("A*B", {"A": (3, 4), "B": (4, 5)}, backend, size=2, rebuild_share=0)
    rng = np.random.default_rng(2)
    first = {"A": rng.random((3, 4)) < 0.6, "B": rng.random((4, 5)) < 0.6}
    p.init(first)
    p.reset("A", np.eye(3, 4, dtype=bool))
    assert p.stats()["resets_by_rebuild"] == 1
    left = first["A"] & ~np.eye(3, 4, dtype=bool)
    assert np.array_equal(value(p), (left.astype(int) @ first["B"].astype(int)) > 0)
    p.check_invariant()


def test_strips_that_are_too_large_to_ship_are_joined(spark):
    p = BooleanPolynomial("A*B", {"A": (3, 4), "B": (4, 3)}, SparkBackend(spark, joined_bytes=0), size=2)
    history, rng = History(p.layout), np.random.default_rng(4)
    for operation in [
        ("lazy_set", "B", rng.random((4, 3)) < 0.6),
        ("set_row", "A", 1, rng.random(4) < 0.6),
        ("set_col", "A", 2, np.ones(3, bool)),
        ("reset", "A", np.eye(3, 4, dtype=bool)),
        ("reset", "B", np.eye(4, 3, dtype=bool)),
    ]:
        apply(p, operation)
        remember(history, operation)
    compare(p, history)


def test_empty_matrices(backend):
    p = BooleanPolynomial("A*B", {"A": (2, 0), "B": (0, 3)}, backend, size=2)
    p.set_row("A", 1, [])
    p.reset("B", ([], []))
    assert not value(p).any()


def test_stamps_renumber_themselves(backend):
    p = BooleanPolynomial("A*B", 3, backend, size=2, largest_stamp=11, rebuild_share=NEVER)
    history, rng = History(p.layout), np.random.default_rng(3)
    p._held = replace(p._values, time=11 - 2)
    operations = [draw(rng, p.layout) for _ in range(40)]
    for operation in [each for each in operations if each[0] != "init"][:4]:
        apply(p, operation)
        remember(history, operation)
    assert p.stats()["renumberings"] == 1
    compare(p, history)


@pytest.mark.parametrize("examples", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_state_machine(backend, examples):
    """Few examples: a job takes a third of a second. The same machine runs long in test_polynomial.py."""
    run_state_machine_as_test(
        machine(
            lambda form: BooleanPolynomial(*FORMS[form], backend, size=2, rebuild_share=NEVER),
            forms=("product", "square"),
            check=lambda *_: None,
            last=compare,
        ),
        settings=settings(max_examples=examples, stateful_step_count=5, suppress_health_check=list(HealthCheck)),
    )
