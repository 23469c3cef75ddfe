"""What a closure cannot take or be: an error of ours that says what to do instead, and nothing has changed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import CopyError, DyntcError, InputError, OptionError

# --- DataFrames that fail when they are worked out -------------------------------------------


def failing(_value):
    raise KeyError("in a function of the user's")


FRAMES = {
    "a function that raises": (
        lambda rows: rows.withColumn("src", F.udf(failing, "string")("src")),
        'KeyError: "in a function of',
    ),
    "a division by zero": (
        lambda rows: rows.selectExpr("string(1 / int(src = 'x')) AS src", "dst"),
        "Division by zero",
    ),
    "a cast": (lambda rows: rows.selectExpr("string(cast(src AS int)) AS src", "dst"), 'cannot be cast to "INT"'),
}
CALLS = {
    "from_edges": lambda _, rows: DynamicClosure.from_edges(rows),
    "vertices": lambda _, rows: DynamicClosure.from_edges([], vertices=rows.withColumnRenamed("src", "vertex")),
    "insert": lambda c, rows: c.insert(rows),
    "delete": lambda c, rows: c.delete(rows),
    "apply": lambda c, rows: c.apply(rows.withColumn("op", F.lit("insert"))),
    "reset": lambda c, rows: c.reset(rows),
    "drop": lambda c, rows: c.drop(rows.withColumnRenamed("src", "vertex")),
    "what_if": lambda c, rows: c.what_if(rows.withColumn("op", F.lit("insert"))),
}
LAZY = {  # which Spark works out later
    "query": lambda c, rows: c.query(rows),
    "explain": lambda c, rows: c.explain(rows),
    "distance": lambda c, rows: c.distance(rows),
    "ancestors": lambda c, rows: c.ancestors(rows, column="dst"),
}


@pytest.fixture
def closure():
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
    yield c
    assert (c.version, c.arrow.edges().num_rows, c.reaches("a", "c")) == (0, 2, True)


@pytest.fixture(scope="module")
def rows(spark):
    return spark.createDataFrame([("a", "b"), ("x", "y")], "src string, dst string")


def refused(closure, call, frame, said):
    with pytest.raises(InputError, match=said) as seen:
        (CALLS | LAZY)[call](closure, frame)
    assert str(seen.value).startswith("expected a DataFrame that Spark can work out; got ")
    assert "the closure is as it was" in str(seen.value)
    assert seen.value.__cause__ is not None


@pytest.mark.connect
@pytest.mark.parametrize("kind", FRAMES)
def test_a_dataframe_that_fails(closure, rows, kind):
    make, said = FRAMES[kind]
    refused(closure, "insert", make(rows), said)


@pytest.mark.parametrize("call", CALLS)
def test_wherever_a_dataframe_is_taken(closure, rows, call):
    make, said = FRAMES["a cast"]
    refused(closure, call, make(rows), said)


@pytest.mark.connect
@pytest.mark.parametrize("call", [*CALLS, *LAZY])
def test_a_column_that_is_not_there(closure, rows, call):
    if not session.is_connect(rows.sparkSession):
        pytest.skip("classic Spark refuses such a DataFrame when it is made")
    refused(closure, call, rows.select("src", "dst", "nothing"), "`nothing` cannot be resolved")


@pytest.mark.connect
@pytest.mark.parametrize("call", [*CALLS, *LAZY])
def test_a_stream_is_no_table(closure, spark, call):
    stream = spark.readStream.format("rate").load().selectExpr("string(value) AS src", "string(value) AS dst")
    with pytest.raises(
        InputError, match=r"a DataFrame with all its rows; got a streaming one\. .*stream\(changes, chec"
    ):
        (CALLS | LAZY)[call](closure, stream)


# --- arguments -------------------------------------------------------------------------------

CHANGES = pa.table({"op": ["insert"], "src": ["a"], "dst": ["c"]})


@pytest.mark.parametrize("name", ["op", "src", "dst", "timestamp"])
@pytest.mark.parametrize("value", [np.array(["op", "src"]), ["op"], 3, pa.array(["op"])], ids=repr)
def test_names_of_columns_are_strings(closure, name, value):
    for changes in (CHANGES, CHANGES.to_pandas(), [("insert", "a", "c")]):
        with pytest.raises(OptionError, match="names of columns that are strings"):
            closure.apply(changes, **{name: value})


@pytest.mark.parametrize(
    "op", [np.array(["insert"]), ["insert"], {"op": "insert"}, 1, 0.5, b"insert", True, np.array("insert")], ids=repr
)
def test_operations_that_are_none(closure, op):
    with pytest.raises(DyntcError, match="'op'"):
        closure.apply([(op, "a", "c")])


@pytest.mark.parametrize(
    "given", [[("a", "b")], CHANGES, None, "refresh", DynamicClosure], ids=["list", "table", *"123"]
)
def test_a_closure_is_made_by_from_edges(given):
    with pytest.raises(InputError, match=r"; got \w+\. Use DynamicClosure\.from_edges\(edges\)\."):
        DynamicClosure(given)


# --- copies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("what", [lambda c: c, lambda c: c.arrow, lambda c: [c]], ids=["closure", "arrow", "list"])
def test_a_closure_stays_in_its_process(closure, make, what):
    held = what(closure)
    if make is copy.copy and held is not closure:
        return  # a list of the same closure
    with pytest.raises(CopyError, match=r"a closure that stays in its process; got .* Save it and open it there"):
        make(held)


@pytest.mark.connect
def test_a_closure_in_a_function_of_spark(closure, spark):
    with pytest.raises(CopyError, match=r"in a function for Spark, join with c\.pairs\(\) or call c\.query\(pairs\)"):
        spark.range(1).select(F.udf(lambda _: closure.reaches("a", "c"), "boolean")("id")).collect()


def test_a_copy_is_made_of_the_edges(closure):
    other = DynamicClosure.from_edges(closure.arrow.edges(), vertices=closure.arrow.vertices())
    other.delete([("b", "c")])
    assert closure.reaches("a", "c")
