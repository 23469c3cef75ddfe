"""Spark DataFrames with columns of every type: an error of ours or a right answer."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import DyntcError
from tests.fuzz.test_fuzz import many, seen, tried

#: Expressions for the two ends of an edge.
TAKEN = {
    "bytes": ("tinyint(1)", "tinyint(2)"),
    "mixed integers": ("1S", "2L"),
    "largest": ("9223372036854775807", "-9223372036854775808L"),
    "decimals": ("1.50BD", "2.25BD"),
    "all digits": ("CAST(repeat('9', 38) AS DECIMAL(38, 0))", "CAST(1 AS DECIMAL(38, 0))"),
    "small decimals": ("CAST(0.5 AS DECIMAL(38, 38))", "CAST(0.25 AS DECIMAL(38, 38))"),
    "floats": ("1.5F", "2.5D"),
    "zeros": ("0.0D", "1.0D"),
    "texts": ("''", "'ü\\u0000'"),
    "binary": ("X''", "X'00FF'"),
    "booleans": ("true", "false"),
    "dates": ("DATE'0001-01-01'", "DATE'9999-12-31'"),
    "stamps": ("TIMESTAMP'2024-01-01 00:00:00'", "TIMESTAMP'9999-12-31 23:59:59.999999'"),
    "stamps without a zone": ("TIMESTAMP_NTZ'2024-01-01 00:00:00'", "TIMESTAMP_NTZ'0001-01-01 00:00:00'"),
    "intervals": ("INTERVAL '1' DAY", "INTERVAL '1 2:3:4.5' DAY TO SECOND"),
    "arrays": ("array(1, 2)", "CAST(array() AS ARRAY<INT>)"),
    "structs": ("named_struct('a`b', 1, 'c.d', 'x')", "named_struct('a`b', 2, 'c.d', '')"),
    "nested": ("array(named_struct('a', array('x')))", "array(named_struct('a', array('y', '')))"),
}
REFUSED = {
    "nulls": ("1", "CAST(NULL AS INT)"),
    "void": ("NULL", "NULL"),
    "not a number": ("1.5D", "double('NaN')"),
    "arrays of nothing": ("array()", "array()"),
    "maps": ("map('a', 1)", "map('b', 2)"),
    "variants": ("parse_json('1')", "parse_json('2')"),
    "months": ("INTERVAL '1' MONTH", "INTERVAL '2' MONTH"),
    "nulls inside": ("array(1, NULL)", "array(1, 2)"),
    "two types": ("1", "'a'"),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_types_that_name_vertices(spark, kind):
    one, other = TAKEN[kind]
    frame = spark.sql(f"SELECT {one} AS src, {other} AS dst")
    c = DynamicClosure.from_edges(frame)
    assert len(seen(c)[1]) == 1
    c.delete(frame)
    assert not seen(c)[1]


@pytest.mark.connect
@pytest.mark.parametrize("kind", REFUSED)
def test_types_that_do_not(spark, kind):
    one, other = REFUSED[kind]
    frame = spark.sql(f"SELECT 'insert' AS op, {one} AS src, {other} AS dst")
    c = DynamicClosure.from_edges([(1, 2), (2, 3)])
    for act in (c.insert, c.apply):
        assert not tried(c, lambda act=act: act(frame)), act


@settings(many, max_examples=15)
@given(name=st.text(st.characters(exclude_categories=[]), max_size=3))
def test_names_of_tables_that_are_not_there(spark, name):
    with pytest.raises(DyntcError):
        DynamicClosure.from_edges(name, spark=spark)


@pytest.mark.connect
def test_columns_that_are_not_as_they_should_be(spark):
    c = DynamicClosure.from_edges([("a", "b")])
    frames = [
        spark.sql("SELECT 'a' AS src"),
        spark.sql("SELECT 'a' AS src, 'b' AS src, 'c' AS dst"),
        spark.sql("SELECT 'a' AS src, 'b' AS SRC, 'c' AS dst"),
        spark.sql("SELECT 'a' AS SRC, 'b' AS dst"),
        spark.range(3),
    ]
    for frame in frames:
        with pytest.raises(DyntcError):
            c.insert(frame)
    assert c.stats()["edges"] == 1
    assert c.version == 0
