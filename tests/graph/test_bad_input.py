"""Bad input, in the words in which it is refused: a row of the table for each; the closure answers as before."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.errors import (
    CycleError,
    DyntcError,
    IdentifierError,
    InputError,
    MissingColumnError,
    NullEndpointError,
    OptionError,
    RedundantChangeError,
    UnknownOperationError,
    UnknownVertexError,
    UnreachableError,
    VertexTypeError,
)

REFUSED = [
    (
        "a null endpoint",
        lambda c: c.insert([("a", "b"), ("x", None)]),
        NullEndpointError,
        (
            "expected a vertex in every row of column 'dst'; got null in row 1 (1 in all). "
            "Drop or repair these rows first; NaN counts as null."
        ),
    ),
    (
        "a missing column",
        lambda c: c.insert(pd.DataFrame({"src": ["a"], "to": ["b"]})),
        MissingColumnError,
        (
            "expected the columns src, dst, each once; got no 'dst' among ['src', 'to']. "
            "Name them with src= and dst=, or rename them; other columns do no harm."
        ),
    ),
    (
        "an unknown operation",
        lambda c: c.apply([("insert", "x", "y"), ("upsert", "a", "b")]),
        UnknownOperationError,
        (
            "expected 'insert' or 'delete' in column 'op'; got 'upsert' in row 1. In a tuple it comes first. Also "
            "taken are add and remove, I and D, c and d, +I and -D, update_preimage and update_postimage. An update of "
            "an edge is two rows: a deletion of the old edge and an insertion of the new one."
        ),
    ),
    (
        "types that disagree among themselves",
        lambda c: c.insert([("a", 1)]),
        VertexTypeError,
        "expected vertices of one type in the columns 'src' and 'dst'; got string and int64. Cast one of them.",
    ),
    (
        "types that disagree with the graph",
        lambda c: c.insert([(1, 2)]),
        VertexTypeError,
        (
            "expected vertices of type string, as the graph has them; got int64, such as 1. "
            "Convert them first; a struct is given as a dictionary or a Row."
        ),
    ),
    (
        "an unknown vertex",
        lambda c: c.reaches("a", "libz"),
        UnknownVertexError,
        (
            "expected a vertex of the graph; got 'libz', which the graph does not have. "
            "Check its spelling; reaches and query take unknown='false' to answer False."
        ),
    ),
    (
        "an insertion of what is there, when strict",
        lambda c: c.insert([("a", "b")], strict=True),
        RedundantChangeError,
        (
            "expected changes that change something, for strict=True; got in row 0 the insertion of ('a', 'b'), "
            "which is there already. Leave strict out to have such changes counted instead."
        ),
    ),
    (
        "a deletion of what is not, when strict",
        lambda c: c.delete([("b", "a")], strict=True),
        RedundantChangeError,
        (
            "expected changes that change something, for strict=True; got in row 0 the deletion of ('b', 'a'), "
            "which is not there. Leave strict out to have such changes counted instead."
        ),
    ),
    (
        "no path",
        lambda c: c.arrow.explain("c", "a"),
        UnreachableError,
        (
            "expected two vertices, the first of which reaches the second; got 'c' and 'a', which no path joins in "
            "this direction. Ask reaches or query where it may be so, or explain with a table of pairs."
        ),
    ),
    (
        "a vertex that has edges",
        lambda c: c.drop(["b"]),
        InputError,
        "expected vertices without edges; got 'b', which has some. Delete its edges first.",
    ),
    (
        "no table",
        lambda c: c.insert("edges.csv"),
        InputError,
        "expected a Spark DataFrame, a pandas or Arrow table, or a list of tuples; got str. Its columns are src, dst.",
    ),
    (
        "an option that is none",
        lambda c: c.reaches("a", "b", unknown="no"),
        OptionError,
        "expected unknown='raise' or unknown='false'; got 'no'. The former is the default.",
    ),
]


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize(("ask", "kind", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_the_message_and_that_nothing_has_changed(engine, ask, kind, message):
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")], engine=engine, backend="local")
    with pytest.raises(kind) as seen:
        ask(c)
    assert str(seen.value) == message
    assert isinstance(seen.value, DyntcError)
    assert isinstance(seen.value, ValueError)
    assert (c.version, c.stats()["pairs"], c.stats()["vertices"]) == (0, 3, 3)
    assert c.reaches("a", "c")


def test_an_edge_that_would_close_a_cycle():
    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")], engine="path_counting")
    with pytest.raises(CycleError) as seen:
        c.insert([("x", "y"), ("c", "a")])
    cycle = "(a → b → c → a|b → c → a → b|c → a → b → c)"
    seen.match(f"^expected edges that leave the graph acyclic; got the cycle {cycle}. Leave one of these edges out, or")
    assert c.stats()["vertices"] == 3
    c.delete([("a", "b"), ("b", "c")])
    c.drop(["b"])
    with pytest.raises(CycleError, match=r"(new → a → new|a → new → a)"):
        c.insert([("a", "new"), ("new", "a")])  # "new" has the number that "b" had


@pytest.mark.long
def test_names_of_views():
    c = DynamicClosure.from_edges([(1, 2)])
    with pytest.raises(IdentifierError, match=r"got 'a-b'\. The views are called <prefix>_edges"):
        c.create_views("a-b")


def test_names_of_engines_and_backends():
    with pytest.raises(OptionError, match=r"called 'auto', .*'lanes'.*; got 'quick'\. Leave the engine out"):
        DynamicClosure.from_edges([(1, 2)], engine="quick")
    with pytest.raises(OptionError, match=r"a backend called 'auto', 'local', 'spark'; got 'gpu'\. Leave it out"):
        DynamicClosure.from_edges([(1, 2)], backend="gpu")


CLOSED = """
import sys
from dyntc_spark import DynamicClosure, session
from dyntc_spark.errors import SessionError
from dyntc_spark.graph.tables import views

views.FUNCTIONS = ("descendants",)
quick = {**session._read_conf("test"), "spark.sql.codegen.wholeStage": "false"}
spark = session.local(1, delta=False, config=quick)
c = DynamicClosure.from_edges([("a", "b"), ("b", "c")], spark=spark)
c.create_views("deps")
there = DynamicClosure.from_edges([("a", "b")], spark=spark, backend="spark")
rows = spark.createDataFrame([("a", "c")], "src string, dst string")
spark.stop()
questions = [c.pairs, c.edges, c.changes, lambda: c.query([("a", "c")]), lambda: c.create_views("more"), c.on_spark]
questions += [lambda: c.insert(rows), lambda: DynamicClosure.from_edges(rows)]
for question in questions:
    try:
        question()
    except SessionError as error:
        assert str(error).startswith("expected an open Spark session; got one that has been stopped. Start"), error
    else:
        sys.exit("no error")
c.insert([("c", "d")])
assert c.reaches("a", "d") and c.arrow.pairs().num_rows == 6
again = session.local(1, delta=False, config=quick)
for closure in (c, there):
    closure.use(again)
there.insert([("b", "x")])
assert c.pairs().count() == 6 and there.reaches("a", "x") and there.pairs().count() == 3
print("fine")
"""


@pytest.mark.long
def test_a_session_that_was_closed():
    ran = subprocess.run([sys.executable, "-c", CLOSED], capture_output=True, text=True, check=False)
    assert ran.stdout == "fine\n", ran.stderr


def test_two_closures_in_one_session(spark, only_functions):
    only_functions("ancestors")
    one = DynamicClosure.from_edges([("a", "b")], spark=spark)
    other = DynamicClosure.from_edges([("a", "b")], spark=spark, backend="spark")
    one.create_views("one")
    other.create_views("other")
    one.insert([("b", "c")])
    other.delete([("a", "b")])
    assert (one.reaches("a", "c"), other.reaches("a", "b")) == (True, False)
    counts = [spark.sql(f"SELECT count(*) FROM {name}_closure").first()[0] for name in ("one", "other")]  # noqa: S608
    assert counts == [3, 0]
    other.in_process()
    other.insert([("b", "a")])
    assert [row.vertex for row in spark.sql("SELECT * FROM one_ancestors('c')").orderBy("vertex").collect()] == [
        "a",
        "b",
    ]
    assert [row.vertex for row in spark.sql("SELECT * FROM other_ancestors('a')").collect()] == ["b"]
