"""DynamicClosure in this process: what needs no Spark."""

from __future__ import annotations

import gc
import importlib.metadata
import subprocess
import sys
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dyntc_spark
from dyntc_spark import BatchResult, DynamicClosure
from dyntc_spark.engines import registry
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.errors import (
    DyntcError,
    InputError,
    MissingColumnError,
    NullEndpointError,
    OptionError,
    RedundantChangeError,
    UnknownOperationError,
    UnknownVertexError,
    VertexTypeError,
)

CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]


@pytest.fixture(params=["recompute", "lanes"])
def closure(request):
    return DynamicClosure.from_edges(CHAIN, engine=request.param)


def changed(closure):
    return sorted(zip(*(column.to_pylist() for column in closure.arrow.changes().columns), strict=True))


def test_every_kind_of_table_makes_the_same_closure():
    frame = pd.DataFrame(CHAIN, columns=["src", "dst"])
    for edges in (CHAIN, frame, pa.Table.from_pandas(frame), CHAIN + CHAIN):
        closure = DynamicClosure.from_edges(edges)
        assert closure.reaches("a", "d")
        assert not closure.reaches("d", "a")
        assert closure.stats()["pairs"] == 6


def test_a_vertex_reaches_itself(closure):
    assert closure.reaches("d", "d")


def test_a_self_loop_is_an_edge_and_no_pair():
    closure = DynamicClosure.from_edges([(1, 1)])
    assert (closure.stats()["edges"], closure.stats()["pairs"]) == (1, 0)
    closure.delete([(1, 1)])
    assert closure.reaches(1, 1)
    assert changed(closure) == []


def test_insertions_and_deletions(closure):
    closure.insert([("d", "a"), ("e", "a")])
    assert closure.reaches("d", "c")
    assert closure.reaches("e", "d")
    closure.delete([("b", "c")])
    assert not closure.reaches("e", "d")
    assert closure.reaches("c", "b")
    assert closure.version == 2


def test_a_batch_returns_what_it_did(closure):
    told = closure.apply([("insert", "d", "e"), ("insert", "a", "b"), ("delete", "b", "c"), ("delete", "x", "y")])
    assert told == BatchResult(version=1, inserted=1, deleted=1, ignored=2)
    assert closure.insert([("a", "b")]) == BatchResult(version=2, ignored=1)
    assert closure.delete([("d", "e")]) == BatchResult(version=3, deleted=1)
    assert closure.drop(["e"]) == BatchResult(version=4)
    assert closure.insert_at("b", targets=["c"]) == BatchResult(version=5, inserted=1)
    assert closure.reset([("a", "b"), ("a", "b")]) == BatchResult(version=6, inserted=1)


def test_a_batch_without_changes_makes_no_version(closure):
    for change in (closure.insert, closure.delete, closure.apply, closure.drop):
        assert change([]) == BatchResult(version=0)
    assert closure.version == 0


def test_a_closure_that_nobody_uses_is_gone_at_once():
    """Python need not collect garbage for it: what the closure has on Spark is released then."""
    closure = DynamicClosure.from_edges(CHAIN)
    closure.insert([("d", "e")])
    known = weakref.ref(closure)
    gc.collect()
    gc.disable()
    try:
        del closure
        assert known() is None
    finally:
        gc.enable()


def test_an_insertion_at_a_vertex_is_one_batch(closure):
    closure.insert_at("x", sources=["d", "c"], targets=["a", "y"])
    assert closure.reaches("d", "y")
    assert closure.version == 1
    closure.insert_at("z")
    assert closure.reaches("z", "a", unknown="false") is False
    with pytest.raises(InputError, match="a list of vertices in 'targets'; got the single value 'abc'"):
        closure.insert_at("x", targets="abc")
    with pytest.raises(VertexTypeError, match="sources of type string, as the vertex is; got int64"):
        closure.insert_at("x", sources=[1], targets=["b"])
    with pytest.raises(NullEndpointError, match="column 'vertex'"):
        closure.insert_at(None, sources=["a"])


def test_the_net_effect_counts(closure):
    closure.apply(
        [("insert", "x", "y"), ("delete", "x", "y"), ("delete", "a", "b"), ("insert", "a", "b"), ("insert", "d", "e")]
    )
    assert changed(closure) == [(v, "e", "insert", 1) for v in "abcd"]
    assert closure.stats()["vertices"] == 5
    with pytest.raises(UnknownVertexError):
        closure.reaches("x", "y")


def test_changes_without_effect_are_counted(closure):
    closure.insert([("a", "b"), ("d", "e"), ("d", "e")])
    closure.delete([("a", "b"), ("a", "b"), ("no", "where")])
    stats = closure.stats()
    assert [stats[name] for name in ("inserted", "deleted", "insertions_ignored", "deletions_ignored")] == [1, 1, 2, 2]
    assert (stats["version"], stats["vertices"]) == (2, 5)
    assert DynamicClosure.from_edges(CHAIN + CHAIN[:1]).stats()["insertions_ignored"] == 1


def test_changes_without_effect_are_errors_when_strict(closure):
    with pytest.raises(RedundantChangeError, match=r"in row 1 the insertion of \('a', 'b'\), which is there already"):
        closure.insert([("x", "y"), ("a", "b")], strict=True)
    with pytest.raises(RedundantChangeError, match=r"in row 0 the deletion of \('x', 'y'\), which is not there"):
        closure.delete([("x", "y")], strict=True)
    with pytest.raises(RedundantChangeError, match="in row 1 the insertion"):
        closure.apply([("insert", "x", "y"), ("insert", "x", "y")], strict=True)
    with pytest.raises(RedundantChangeError, match="in row 0 the insertion"):
        closure.insert_at("b", sources=["a"], strict=True)
    assert (closure.version, closure.stats()["vertices"], closure.stats()["insertions_ignored"]) == (0, 4, 0)
    closure.apply([("insert", "x", "y"), ("delete", "x", "y"), ("delete", "a", "b")], strict=True)
    assert closure.version == 1


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda c: c.insert([("a", "d"), ("b", None)]), NullEndpointError),
        (lambda c: c.insert([(1, 2)]), VertexTypeError),
        (lambda c: c.delete(pd.DataFrame({"src": ["a"]})), MissingColumnError),
        (lambda c: c.apply([("insert", "d", "a"), ("replace", "a", "b")]), UnknownOperationError),
        (lambda c: c.reset([("a", None)]), NullEndpointError),
        (lambda c: c.reset([(1, 2)]), VertexTypeError),
    ],
)
def test_a_refused_batch_changes_nothing(closure, change, kind):
    with pytest.raises(kind):
        change(closure)
    assert closure.version == 0
    assert closure.stats()["pairs"] == 6
    assert not closure.reaches("d", "a")


def test_a_batch_that_the_engine_refuses_changes_nothing(closure, monkeypatch):
    def fail(*_edges):
        raise OverflowError

    with monkeypatch.context() as patch:
        patch.setattr(type(closure._parts.door.engine), "apply", fail)
        with pytest.raises(OverflowError):
            closure.insert([("d", "x"), ("x", "y")])
    assert (closure.version, closure.stats()["vertices"], closure.stats()["pairs"]) == (0, 4, 6)
    closure.insert([("d", "new")])
    assert changed(closure) == [(v, "new", "insert", 1) for v in "abcd"]
    with pytest.raises(UnknownVertexError):
        closure.reaches("a", "x")


def test_a_reset_starts_again(closure):
    closure.reset([("b", "c"), ("c", "x")])
    assert closure.reaches("b", "x")
    assert closure.version == 1
    assert changed(closure) == [
        *[("a", w, "delete", 1) for w in "bcd"],
        ("b", "d", "delete", 1),
        ("b", "x", "insert", 1),
        ("c", "d", "delete", 1),
        ("c", "x", "insert", 1),
    ]
    with pytest.raises(UnknownVertexError):
        closure.reaches("a", "b")
    closure.reset([])
    assert (closure.stats()["vertices"], closure.stats()["edges"]) == (0, 0)
    closure.insert([(1, 2)])
    assert closure.reaches(1, 2)


def test_there_are_no_changes_before_the_first_batch(closure):
    assert changed(closure) == []


def test_an_empty_closure_takes_its_type_from_the_first_edges():
    closure = DynamicClosure.from_edges([])
    with pytest.raises(UnknownVertexError):
        closure.reaches("a", "b")
    closure.insert([(1, 2)])
    with pytest.raises(VertexTypeError, match="vertices of type int64"):
        closure.insert([("a", "b")])


def test_unknown_vertices(closure):
    with pytest.raises(UnknownVertexError, match="got 'zlib', which the graph does not have"):
        closure.reaches("a", "zlib")
    assert closure.reaches("zlib", "zlib", unknown="false") is False
    with pytest.raises(OptionError, match="unknown='raise' or unknown='false'; got 'no'"):
        closure.reaches("a", "b", unknown="no")
    with pytest.raises(VertexTypeError):
        closure.reaches(1, "b")
    with pytest.raises(NullEndpointError):
        closure.reaches(None, "b")


def test_engines_and_backends_by_name(monkeypatch):
    class Other(Recompute):
        name = "other"

        def stats(self):
            return {}

    monkeypatch.setitem(registry.ENGINES, "other", Other)
    closure = DynamicClosure.from_edges(CHAIN, engine="other", backend="local")
    assert (closure.stats()["engine"], closure.stats()["backend"], closure.stats()["pairs"]) == ("other", "local", 6)
    with pytest.raises(OptionError, match=r"an engine called 'auto', .*'other'.*; got 'best'"):
        DynamicClosure.from_edges(CHAIN, engine="best")
    with pytest.raises(OptionError, match="a backend called 'auto', 'local', 'spark'; got 'gpu'"):
        DynamicClosure.from_edges(CHAIN, backend="gpu")


@pytest.mark.parametrize("vertex", [np.int64(3), 3, np.uint8(3)])
def test_numbers_of_numpy_are_numbers(vertex):
    closure = DynamicClosure.from_edges(pd.DataFrame({"src": [1, 2], "dst": [2, 3]}, dtype="int32"))
    assert closure.reaches(1, vertex)


def test_text_form():
    closure = DynamicClosure.from_edges(CHAIN)
    assert repr(closure) == "DynamicClosure(4 vertices, 3 edges; engine 'lanes' in process, version 0)"


def test_errors_are_value_errors():
    assert issubclass(DyntcError, ValueError)
    assert issubclass(NullEndpointError, InputError)


def test_importing_the_package_is_cheap():
    code = "import sys, dyntc_spark; print(*sorted({'numba', 'numpy', 'pyarrow', 'pyspark'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not ran.stdout.strip()
    assert dyntc_spark.__version__ == importlib.metadata.version("dyntc-spark")
    with pytest.raises(AttributeError, match="'dyntc_spark' has no attribute 'nothing'"):
        _ = dyntc_spark.nothing


@pytest.mark.long
def test_no_session_is_started_without_need():
    code = (
        "from dyntc_spark import DynamicClosure; from pyspark.sql import SparkSession\n"
        "c = DynamicClosure.from_edges([(1, 2)]); c.insert([(2, 3)]); c.stats()\n"
        "assert c.reaches(1, 3) and SparkSession.getActiveSession() is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
