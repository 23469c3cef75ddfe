"""What changes of one edge in one batch come to: by time, by order, or an error."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import ContradictionError, InputError
from tests.graph.oracle import Plain

ROW = st.tuples(st.sampled_from(["insert", "delete"]), st.integers(0, 3), st.integers(0, 3), st.integers(0, 5))


def timed(rows):
    return pa.table(dict(zip(("op", "src", "dst", "timestamp"), zip(*rows, strict=True), strict=True)))


@given(st.lists(ROW, min_size=1, max_size=12))
def test_the_last_by_time_counts(rows):
    closure = DynamicClosure.from_edges([(0, 1), (2, 3)], engine="recompute", backend="local")
    said = {}
    for op, src, dst, at in rows:
        said.setdefault((src, dst, at), set()).add(op)
    if any(len(ops) > 1 for ops in said.values()):
        with pytest.raises(ContradictionError, match="an insertion and a deletion of"):
            closure.apply(timed(rows))
        assert closure.version == 0
        return
    closure.apply(timed(rows))
    plain = Plain({(0, 1), (2, 3)})
    plain.apply([row[:3] for row in sorted(rows, key=lambda row: row[3])])
    edges = closure.arrow.edges()
    assert set(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True)) == plain.edges


def test_times_of_several_kinds():
    for times in (["2024-01-02", "2024-01-01"], [2.5, -1.0], np.array(["2024-01-02", "2024-01-01"], "M8[us]")):
        closure = DynamicClosure.from_edges([(0, 1)])
        closure.apply(
            pa.table({"op": ["insert", "delete"], "src": [1, 1], "dst": [2, 2], "when": times}), timestamp="when"
        )
        assert closure.reaches(0, 2)
    for wrong in ([None, 1], [[1], [2]]):
        with pytest.raises(InputError, match="time"):
            closure.apply(pa.table({"op": ["insert"] * 2, "src": [1, 1], "dst": [2, 2], "timestamp": wrong}))


def test_rows_of_a_dataframe_have_no_order(spark):
    closure = DynamicClosure.from_edges([(0, 1)])
    rows = [("insert", 1, 2, 1), ("delete", 1, 2, 2), ("insert", 3, 4, 1), ("insert", 3, 4, 9)]
    frame = spark.createDataFrame(rows, "op string, src long, dst long, at int")
    with pytest.raises(ContradictionError, match=r"\(1, 2\) in the rows"):
        closure.apply(frame)
    closure.apply(frame, timestamp="at")
    assert closure.arrow.edges().num_rows == 2
