"""Vertices of every type that Spark compares, from tables of every library, and back."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import uuid

import pyarrow as pa
import pytest
from pyspark.sql import Row

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import NullEndpointError, VertexTypeError
from dyntc_spark.graph.inputs.kinds import encoded, hashable
from dyntc_spark.graph.inputs.read import read_vertices

Place = collections.namedtuple("Place", ["schema", "table"])  # noqa: PYI024  (as users make them)

CHAINS = {
    "string": ["a", "b", "c"],
    "long": [1, 2, 3],
    "double": [0.5, 1.5, 2.5],
    "boolean": [False, True, True],
    "binary": [b"a", b"b", b"c"],
    "decimal": [decimal.Decimal("0.5"), decimal.Decimal("1.5"), decimal.Decimal("2.5")],
    "date": [dt.date(2024, 1, day) for day in (1, 2, 3)],
    "timestamp": [dt.datetime(2024, 1, day, tzinfo=dt.timezone.utc) for day in (1, 2, 3)],
    "timestamp_ntz": [dt.datetime(2024, 1, day) for day in (1, 2, 3)],  # noqa: DTZ001
    "interval": [dt.timedelta(days=day) for day in (1, 2, 3)],
    "uuid": [str(uuid.UUID(int=number)) for number in (1, 2, 3)],
    "array": [["a", "b"], ["a"], ["b"]],
    "struct": [{"schema": "x", "table": number} for number in (1, 2, 3)],
    "nested": [{"at": {"x": 1, "names": [name]}} for name in "abc"],
}


@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_of_vertices_of_each_type(kind):
    first, second, third = CHAINS[kind]
    c = DynamicClosure.from_edges([(first, second), (second, third)])
    assert c.reaches(first, third)
    c.delete([(second, third)])
    assert c.reaches(first, third) == (second == third)
    assert c.arrow.descendants(first)["vertex"].to_pylist() == [second]


@pytest.mark.connect
@pytest.mark.parametrize("kind", sorted(set(CHAINS) - {"boolean"}))
def test_each_type_on_spark_and_back(kind, spark):
    first, second, third = CHAINS[kind]
    c = DynamicClosure.from_edges([(first, second), (second, third)], spark=spark)
    again = DynamicClosure.from_edges(c.pairs())
    assert again.edges().dtypes == c.edges().dtypes
    assert again.reaches(first, third)
    assert c.stats()["pairs"] == again.stats()["edges"] == 3


@pytest.mark.parametrize("kind", ["array", "interval", "timestamp_ntz"])
def test_each_type_in_sql(kind, spark, only_functions):
    only_functions("ancestors")
    first, second, third = CHAINS[kind]
    c = DynamicClosure.from_edges([(first, second), (second, third)], spark=spark)
    c.create_views("kinds")
    found = spark.sql("SELECT v.vertex FROM kinds_vertices AS v, LATERAL kinds_ancestors(v.vertex)")
    assert found.count() == 3


def test_paths_in_sql_between_structs(spark, only_functions):
    only_functions("between", "path")
    first, second, third = CHAINS["struct"]
    c = DynamicClosure.from_edges([(first, second), (second, third)], spark=spark)
    c.create_views("kinds")
    ends = "named_struct('schema', 'x', 'table', 1L), named_struct('schema', 'x', 'table', 3L)"
    path = spark.sql(f"SELECT hop, dst.table FROM kinds_path({ends})").collect()  # noqa: S608  (a test's own text)
    assert [tuple(row) for row in path] == [(1, 2), (2, 3)]


@pytest.mark.parametrize("vertex", [Row(schema="x", table=1), Place("x", 1), {"schema": "x", "table": 1}])
def test_structs_are_written_in_three_ways(vertex):
    c = DynamicClosure.from_edges([(vertex, Place("y", 2))])
    assert c.reaches({"schema": "x", "table": 1}, Row(schema="y", table=2))


def test_structs_that_lack_a_part_or_are_of_another_type():
    with pytest.raises(NullEndpointError, match=r"column 'src.table'; got null in row 0"):
        DynamicClosure.from_edges([(Place("x", None), Place("y", 1))])
    with pytest.raises(NullEndpointError, match=r"column 'vertex\[\]'; got null"):
        read_vertices([["a", None]], "vertex")
    c = DynamicClosure.from_edges([(Place("x", 1), Place("y", 1))])
    with pytest.raises(
        VertexTypeError, match=r"struct<schema: string, table: int64>, as the graph has them; got list<"
    ):
        c.reaches(["x", "y"], ["x", "y"])
    maps = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(VertexTypeError, match="can be compared in column 'src'; got map<"):
        DynamicClosure.from_edges(pa.table({"src": maps, "dst": maps}))


def test_integers_of_every_width_are_the_same_vertices():
    c = DynamicClosure.from_edges(pa.table({"src": pa.array([1], pa.int8()), "dst": pa.array([2], pa.uint32())}))
    c.insert(pa.table({"src": pa.array([2], pa.int16()), "dst": pa.array([3], pa.int64())}))
    assert c.reaches(1, 3)


def test_encoding_keeps_the_order_of_the_first_rows():
    column = pa.array([{"a": 2}, {"a": 1}, {"a": 2}])
    places, different = encoded(column)
    assert (places.tolist(), different.to_pylist()) == ([0, 1, 0], [{"a": 2}, {"a": 1}])
    assert hashable(pa.array([["x"], [], ["y", "z"]])) == [("x",), (), ("y", "z")]


def test_uuids_are_vertices_by_their_text():
    a, b = uuid.UUID(int=1), uuid.UUID(int=2)
    c = DynamicClosure.from_edges([(a, b)])
    assert c.reaches(a, b)
    assert c.reaches(str(a), b)
    assert c.arrow.vertices()["vertex"].to_pylist() == [str(a), str(b)]
    stored = pa.array([a.bytes, b.bytes], pa.binary(16))
    if hasattr(pa, "uuid"):
        column = pa.ExtensionArray.from_storage(pa.uuid(), stored)
        c.insert(pa.table({"src": column[1:], "dst": column[:1]}))
        assert c.reaches(b, a)
    assert DynamicClosure.from_edges(pa.table({"src": stored[:1], "dst": stored[1:]})).reaches(a.bytes, b.bytes)
