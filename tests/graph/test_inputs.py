"""What is taken as edges, pairs and changes, and in which words the rest is refused."""

from __future__ import annotations

import datetime as dt
import decimal

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import (
    InputError,
    MissingColumnError,
    NullEndpointError,
    UnknownOperationError,
    VertexTypeError,
)
from dyntc_spark.graph.inputs.read import read_changes, read_ends, read_vertices

PAIRS = [("a", "b"), ("b", "c"), ("a", "b")]


def columns(ends):
    return list(zip(ends.src.to_pylist(), ends.dst.to_pylist(), strict=True))


@pytest.mark.parametrize(
    "table",
    [
        PAIRS,
        tuple(PAIRS),
        (pair for pair in PAIRS),
        [list(pair) for pair in PAIRS],
        pd.DataFrame(PAIRS, columns=["src", "dst"]),
        pd.DataFrame(PAIRS, columns=["src", "dst"]).assign(weight=1)[["weight", "dst", "src"]],
        pd.DataFrame(PAIRS, columns=["src", "dst"], dtype="category"),
        pd.DataFrame(PAIRS, columns=["src", "dst"], dtype="string"),
        pa.table({"dst": ["b", "c", "b"], "weight": [1, 2, 3], "src": ["a", "b", "a"]}),
        pa.table({"src": ["a", "b", "a"], "dst": ["b", "c", "b"]}).to_batches()[0],
        pa.table({"src": pa.array(["a", "b", "a"], pa.large_string()), "dst": pa.array(["b", "c", "b"])}),
        pa.table({"src": pa.chunked_array([["a"], ["b", "a"]]).dictionary_encode(), "dst": ["b", "c", "b"]}),
    ],
    ids=lambda table: type(table).__name__,
)
def test_tables_of_every_kind(table):
    assert columns(read_ends(table)) == PAIRS


@pytest.mark.parametrize("empty", [[], pd.DataFrame({"src": [], "dst": []}), pa.table({"src": [], "dst": []})])
def test_tables_without_rows(empty):
    assert len(read_ends(empty)) == 0


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], pa.int64()),
        (np.array([1, 2], np.uint8), pa.int64()),
        (["a", np.str_("b")], pa.string()),
        ([b"a", b"b"], pa.binary()),
        ([0.5, -0.0], pa.float64()),
        ([decimal.Decimal("1.50"), decimal.Decimal("2.25")], pa.decimal128(38, 2)),
        ([dt.date(2024, 1, 2), dt.date(2024, 1, 3)], pa.date32()),
        ([dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 3)], pa.timestamp("us")),  # noqa: DTZ001
        ([dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc)] * 2, pa.timestamp("us", "UTC")),
    ],
)
def test_one_type_for_each_kind_of_vertex(values, kind):
    found = read_vertices(values, "sources")
    assert found.type == kind
    assert found.to_pylist() == list(values)


def test_zero_has_one_sign():
    assert str(read_vertices([-0.0], "sources")[0].as_py()) == "0.0"


@pytest.mark.connect
def test_a_spark_dataframe(spark):
    frame = spark.createDataFrame([(1, 2, "x"), (2, 3, "y")], "src int, dst int, note string")
    assert columns(read_ends(frame)) == [(1, 2), (2, 3)]
    assert len(read_ends(frame.limit(0))) == 0
    with pytest.raises(MissingColumnError, match=r"no 'dst' among \['src', 'note'\]"):
        read_ends(frame.drop("dst"))
    with pytest.raises(NullEndpointError, match=r"column 'src'; got null in row 0 \(1 in all\)"):
        read_ends(spark.createDataFrame([(None, 2)], "src int, dst int"))
    with pytest.raises(VertexTypeError, match="column 'src'; got map<"):
        read_ends(frame.selectExpr("map(1, src) AS src", "map(1, dst) AS dst"))


def test_changes():
    ends, inserting = read_changes(pa.table({"op": ["insert", "delete"], "src": [1, 2], "dst": [2, 3]}))
    assert columns(ends) == [(1, 2), (2, 3)]
    assert inserting.tolist() == [True, False]
    assert len(read_changes([])[0]) == 0


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("u", "'insert' or 'delete' in column 'op'; got 'u' in row 1. In a tuple it comes first. Also taken are"),
        (None, "got None in row 1"),
        ("upsert", "got 'upsert' in row 1"),
    ],
)
def test_an_unknown_operation(op, message):
    with pytest.raises(UnknownOperationError, match=message):
        read_changes([("insert", 1, 2), (op, 1, 2)])


@pytest.mark.parametrize(
    "words",
    [
        ("INSERT", "Delete"),
        ("add", "remove"),
        ("I", "D"),
        ("c", "d"),
        ("+I", "-D"),
        ("update_postimage", "update_preimage"),
        (" i", "d "),
    ],
)
def test_what_other_tools_call_operations(words):
    assert read_changes([(words[0], 1, 2), (words[1], 2, 3)])[1].tolist() == [True, False]


def test_operations_that_are_no_words():
    with pytest.raises(UnknownOperationError, match="got '1' in row 0"):
        read_changes([(1, 1, 2)])
    with pytest.raises(UnknownOperationError, match="got None in row 0"):
        read_changes([(None, 1, 2)])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([("a", "b"), ("a", None)], r"every row of column 'dst'; got null in row 1 \(1 in all\)"),
        ([(None, None)], "every row of column 'src'; got null in row 0"),
        ([(1.0, float("nan"))], "column 'dst'; got null in row 0"),
        (pd.DataFrame({"src": ["a", None, np.nan], "dst": ["b", "b", "c"]}), r"'src'; got null in row 1 \(2 in all\)"),
        (pd.DataFrame({"src": [1, None], "dst": [2, 3]}), "column 'src'; got null in row 1"),
        (pa.table({"src": [1, 2], "dst": [None, 3]}), "column 'dst'; got null in row 0"),
    ],
)
def test_null_endpoints(table, message):
    with pytest.raises(NullEndpointError, match=message):
        read_ends(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"source": ["a"], "dst": ["b"]}), r"src, dst, each once; got no 'src' among \['source', 'dst'\]"),
        (pa.table({"src": ["a"]}), r"got no 'dst' among \['src'\]"),
        (pd.DataFrame([["a", "b", "c"]], columns=["src", "dst", "dst"]), "got 2 'dst' among"),
        ([("a", "b"), ("a", "b", "c")], r"2 values in every row: src, dst; got \('a', 'b', 'c'\) in row 1"),
        (["ab"], "got 'ab' in row 0"),
        ([1], "got 1 in row 0"),
        (("a", "b"), "got 'a' in row 0. Give a list of such tuples, also if there is only one"),
        ([{"src": 1, "dst": 2}], r"in row 0. Make a table of the dictionaries: pyarrow.Table.from_pylist\(rows\)"),
    ],
)
def test_missing_columns(table, message):
    with pytest.raises(MissingColumnError, match=message):
        read_ends(table)


def test_other_graphs_are_told_how_to_come_in():
    with pytest.raises(InputError, match=r"got DiGraph. Use DynamicClosure.from_networkx\(graph\)"):
        read_ends(nx.DiGraph([("a", "b")]))
    with pytest.raises(InputError, match=r"got dict. .*make a list: \[\(a, b\) for a, found in neighbours.items\(\)"):
        read_ends({"a": ["b"]})


@pytest.mark.parametrize("table", ["ab", 3, None, {"src": [1]}, pa.chunked_array([[1]])])
def test_no_table(table):
    with pytest.raises(InputError, match="expected a Spark DataFrame, a pandas or Arrow table, or a list of tuples"):
        read_ends(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([("a", "b"), (1, "b")], "values of one type in column 'src', such as 'a'; got 1 in row 1"),
        ([(1, 2), (3, 4.5)], "column 'dst', such as 2; got 4.5 in row 1"),
        ([(1, 2), (True, 4)], "column 'src', such as 1; got True in row 1"),
        ([("a", 1)], "one type in the columns 'src' and 'dst'; got string and int64"),
        (pd.DataFrame({"src": ["a", 1], "dst": ["b", "c"]}), "column 'src', such as 'a'; got 1 in row 1"),
        (pa.table({"src": ["a"], "dst": [1]}), "got string and int64"),
        ([(2**70, 1)], "values that Arrow knows in column 'src'; got int.* 64 bits: write longer ones as text"),
        ([(2**63, 1)], "values that Arrow knows in column 'src'; got int: Python int too large to convert to C long"),
        ([("a", "b"), ("\ud800", "b")], "values that Arrow knows in column 'src'; got str: 'utf-8' codec can't encode"),
        ([(object(), object())], "values that Arrow knows in column 'src'; got object"),
        ([({"a": object()}, 3)], "values that Arrow knows in column 'src'; got dict"),
        (pa.table({"src": pa.array([2**63], pa.uint64()), "dst": [1]}), "int64 in column 'src'; got uint64"),
    ],
)
def test_types_that_disagree_or_name_no_vertex(table, message):
    with pytest.raises(VertexTypeError, match=message):
        read_ends(table)


def test_a_word_is_no_list_of_vertices():
    with pytest.raises(InputError, match="a list of vertices in 'sources'; got the single value 'ab'"):
        read_vertices("ab", "sources")


@pytest.mark.connect
def test_a_table_of_the_catalog_by_its_name(spark):
    spark.createDataFrame([("a", "b"), ("b", "c")], "src string, dst string").createOrReplaceTempView("deps_in")
    assert DynamicClosure.from_edges("deps_in", spark=spark).reaches("a", "c")
    for name in ("edges.csv", "half of a pair: \ud800"):
        with pytest.raises(InputError, match=r"table in Spark's catalog.*got '(edges|half).*A file is read first"):
            DynamicClosure.from_edges(name, spark=spark)
