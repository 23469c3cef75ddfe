"""Labelled graphs: input that is refused, misuse, and what results say."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from dyntc_spark import BatchResult, LabelledGraph
from dyntc_spark.errors import (
    ClosedError,
    ContradictionError,
    CopyError,
    InputError,
    MissingColumnError,
    NullEndpointError,
    OptionError,
    RedundantChangeError,
    VertexTypeError,
)
from tests.graph.test_labels import STAFF, rows

BAD = [
    ([("a", "b", None)], InputError, "a label in every row of column 'label'"),
    ([("a", "b", "")], InputError, "'' in row 0"),
    ([("a", "b", 3)], InputError, "text in column 'label'"),
    ([("a", None, "x")], NullEndpointError, "null in row 0"),
    ([("a", "b")], MissingColumnError, "3 values in every row: src, dst, label"),
    ([(1, 2, "x")], VertexTypeError, "as the graph has them"),
    (pa.table({"src": ["a"], "dst": ["b"]}), MissingColumnError, "no 'label'"),
]


@pytest.mark.parametrize(("data", "error", "says"), BAD)
def test_bad_edges_are_refused(data, error, says):
    g = LabelledGraph.from_edges(STAFF)
    closure = g.closure()
    with pytest.raises(error, match=says):
        g.insert(data)
    assert (g.version, closure.version, rows(g.arrow.edges())) == (0, 0, sorted(STAFF))


def test_a_label_that_no_edge_has_is_told(caplog):
    g = LabelledGraph.from_edges(STAFF)
    assert not g.closure({"member", "membr"}).reaches("anna", "wiki")  # it may come later
    assert "got 'membr', which no edge has. Check the spelling" in caplog.text
    assert all(f"'{label}'" in caplog.text for label in {label for *_, label in STAFF})
    caplog.clear()
    g.closure({"member", "guest"}, unknown="allow")
    LabelledGraph.from_edges([]).closure({"member"})  # nothing is known there yet
    g.closure()
    assert not caplog.text
    with pytest.raises(OptionError, match="got 'guest', 'membr', which no edge has"):
        g.closure({"membr", "guest", "member"}, unknown="raise")
    with pytest.raises(OptionError, match="unknown='warn', 'allow' or 'raise'; got 'ignore'"):
        g.closure({"member"}, unknown="ignore")


def test_a_closure_over_labels_has_no_location_of_its_own(tmp_path):
    g = LabelledGraph.from_edges(STAFF)
    g.save(str(tmp_path / "graph"))
    for ask in (lambda c: c.arrow.history(), lambda c: c.arrow.changes(since=0)):
        with pytest.raises(OptionError, match=r"LabelledGraph.open\(location, version\) opens an older version"):
            ask(g.closure())


def test_other_misuse_is_refused():
    g = LabelledGraph.from_edges(STAFF)
    for labels in ("member", set(), {""}, {1}, 3):
        with pytest.raises(OptionError):
            g.closure(labels)
    with pytest.raises(OptionError, match="an engine called"):
        LabelledGraph.from_edges(STAFF, engine="magic")
    with pytest.raises(OptionError, match="a backend called"):
        LabelledGraph.from_edges(STAFF, backend="moon")
    with pytest.raises(InputError, match="'staff', which has some"):
        g.drop(["staff"])
    with pytest.raises(RedundantChangeError, match=r"\('anna', 'wiki', 'viewer'\), which is not there"):
        g.delete([STAFF[0], ("anna", "wiki", "viewer")], strict=True)
    for thing in (g, g.closure()):
        with pytest.raises(CopyError):
            pickle.dumps(thing)
    assert (g.version, rows(g.arrow.edges())) == (0, sorted(STAFF))


@pytest.mark.parametrize(
    ("labels", "came"),
    [([], "got none"), (set(), "got none"), ([["x"]], r"\[\['x'\]\]"), ([{}], r"\[\{\}\]"), (["x", None], r"None\]")],
)
def test_labels_that_are_none_are_refused_by_an_error_of_ours(labels, came):
    with pytest.raises(OptionError, match=f"{came}. For all edges leave them out"):
        LabelledGraph.from_edges(STAFF).closure(labels)


def test_labels_may_come_in_an_array():
    g = LabelledGraph.from_edges(STAFF)
    assert g.closure(np.array(["member", "owner"])) is g.closure({"owner", "member"})


@pytest.mark.parametrize("data", [pa.table({"src": ["a"], "dst": ["b"]}), [("a", "b")]])
def test_a_missing_column_of_labels_can_be_named(data):
    with pytest.raises(MissingColumnError, match="label="):
        LabelledGraph.from_edges(data)


def test_a_closure_that_is_closed_again_leaves_its_successor_alone():
    g = LabelledGraph.from_edges(STAFF)
    first = g.closure({"member"})
    first.close()
    second = g.closure({"member"})
    first.close()
    g.insert([("ben", "staff", "member")])
    assert second.reaches("ben", "staff")
    assert g.closures == [second]
    assert g.closure({"member"}) is second


def test_no_one_number_tells_what_a_batch_did_to_all_closures():
    g = LabelledGraph.from_edges(STAFF, vertices=["carol"])
    g.closure()
    for result in (g.insert([("ben", "staff", "member")]), g.delete([STAFF[0]])):
        assert (result.won, result.lost) == (None, None)
        assert pickle.loads(pickle.dumps(result)).won is None  # noqa: S301  (our own)
    for result in (g.delete([STAFF[0]]), g.apply([]), g.drop(["carol"])):  # no edge comes or goes
        assert (result.won, result.lost) == (0, 0)
    assert result == BatchResult(4)


def test_the_last_change_of_a_labelled_edge_counts_by_its_time():
    late = pa.table(
        {
            "op": ["delete", "insert", "insert"],
            "who": ["a", "a", "a"],
            "what": ["b", "b", "b"],
            "how": ["x", "x", "y"],
            "at": [20, 10, 20],
        }
    )
    columns = {"src": "who", "dst": "what", "label": "how", "timestamp": "at"}
    g = LabelledGraph.from_edges([])
    g.apply(late, **columns)
    assert rows(g.arrow.edges()) == [("a", "b", "y")]
    with pytest.raises(ContradictionError, match=r"\('a', 'b'\)"):
        g.apply(late.set_column(4, "at", pa.array([1, 1, 1])), **columns)


def test_a_graph_that_was_closed_answers_no_more():
    with LabelledGraph.from_edges(STAFF) as g:
        closure = g.closure({"member"})
        assert closure.stats()["edges"] == 1
    for ask in (lambda: g.version, g.closure, lambda: g.insert(STAFF), lambda: closure.reaches("anna", "staff")):
        with pytest.raises(ClosedError):
            ask()
    assert repr(g) == "LabelledGraph(closed)"
    assert repr(closure) == "LabelClosure(member: closed)"
