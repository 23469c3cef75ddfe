"""What is stored, without Spark: types of vertices, payloads, and the log played again."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.errors import DamagedBlockError, SetupError
from dyntc_spark.graph.history import Graph
from dyntc_spark.graph.store import checkpoint
from dyntc_spark.graph.store.checkpoint import Content
from dyntc_spark.graph.store.commits import NULLABLE, SCHEMA, Commit, Commits
from dyntc_spark.graph.store.kinds import from_storage, kind_of, kind_text, to_storage
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.replay import Batch, log_table, replayed
from dyntc_spark.graph.store.stored_edges import edges_in
from dyntc_spark.kernels.target_lists import TargetLists

SIZE = 13
VERTEX = st.integers(0, SIZE - 1)
EDGES = st.lists(st.tuples(VERTEX, VERTEX), max_size=40)

PLAIN = st.sampled_from(
    [
        pa.int64(),
        pa.string(),
        pa.binary(),
        pa.bool_(),
        pa.date32(),
        pa.duration("us"),
        pa.timestamp("us"),
        pa.float64(),
        pa.timestamp("us", "UTC"),
        pa.decimal128(38, 4),
    ]
)
KINDS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        inner.map(pa.list_), st.lists(st.tuples(st.text(), inner), min_size=1, max_size=3).map(pa.struct)
    ),
    max_leaves=4,
)


@given(KINDS)
def test_types_as_text(kind):
    assert kind_of(kind_text(kind)) == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '"int"',
        '{"array": 1}',
        '{"decimal": 99}',
        '{"a": 1, "b": 2}',
        '{"struct": [1]}',
        "[" * 100_000,
        '{"array": ' * 60 + '"string"' + "}" * 60,
    ],
    ids=range(11),
)
def test_texts_that_are_no_types(text):
    with pytest.raises(DamagedBlockError):
        kind_of(text)


def test_vertices_of_structs():
    column = pa.array([{"a b": [[1, 2], []], "": {"x": pa.scalar(5, pa.duration("us")).as_py()}}] * 2)
    stored = to_storage(column)
    assert [field.name for field in stored.type] == ["_0", "_1"]
    assert from_storage(stored, column.type).equals(column)
    with pytest.raises(DamagedBlockError):
        from_storage(stored, pa.string())


def stored(edges, size=2**18):
    """The payloads of format 1, with about so many targets each."""
    found = EdgeSet.of(Edges.of(*zip(*edges, strict=True)) if edges else Edges.of())
    return [part.encode() for part in TargetLists(0, *found.adjacency(SIZE)).cut(size)]


@given(EDGES, st.integers(1, 50))
def test_edges_come_back(edges, targets):
    found = edges_in(stored(edges, targets), SIZE).edges
    assert list(zip(found.sources.tolist(), found.targets.tolist(), strict=True)) == sorted(set(edges))


@given(st.data())
def test_a_flipped_byte_is_seen(data):
    (payload,) = stored([(0, 1), (1, 2), (2, 0), (2, 3)])
    damaged = bytearray(payload)
    damaged[data.draw(st.integers(0, len(payload) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DamagedBlockError, match="in block 0 of 'edges'"):
        edges_in([bytes(damaged)], SIZE)


@pytest.mark.parametrize(
    ("first", "offsets", "targets"),
    [(0, [0, 1], [3]), (0, [0, 1], [-1]), (0, [0, 0, 0, 0, 1], [0]), (1, [0, 1], [0])],
)
def test_numbers_outside_the_graph_reach_no_kernel(first, offsets, targets):
    forged = TargetLists(first, np.array(offsets), np.array(targets, np.int32)).encode()
    with pytest.raises(DamagedBlockError, match="in the stored matrix 'edges'"):
        edges_in([forged], 3)


def commit_of(number, batch, table, graph):
    zeros = dict.fromkeys(("bytes", "oldest", "inserted", "deleted", "insertions_ignored", "deletions_ignored"), 0)
    return Commit(
        **zeros, number=number, version=number, kind=batch.kind, token=str(number), checkpoint=number == 1,
        logged=table.num_rows, vertex=kind_text(batch.vertex_kind(graph)), extent=graph.vertices.extent, batch_id=None,
        author="", time=None, seconds=0.0, vertices=len(graph.vertices), edges=len(graph.edges), engine="", backend="",
    )  # fmt: skip


def checkpoint_of(edges):
    """A checkpoint as tables, with the commit that publishes it."""
    c = DynamicClosure.from_edges(edges, backend="local")
    vertices, runs = Content.of(c._parts.door.now.graph, c._parts.door.engine, None)
    commit = commit_of(1, Batch("save"), pa.table({}), c._parts.door.now.graph)
    told = {"vertices_checksum": checkpoint._vertices_checksum(vertices), "runs": runs.num_rows}
    return c, replace(commit, vertex=kind_text(c._parts.door.now.graph.vertices.kind), **told), vertices


@given(EDGES.filter(bool), st.randoms())
def test_a_checkpoint_comes_back_in_any_order(edges, random):
    c, commit, vertices = checkpoint_of(edges)
    order = random.sample(range(vertices.num_rows), vertices.num_rows)
    graph = checkpoint.read(commit, {"vertices": vertices.take(order)})
    ours, theirs = (sorted(zip(*_ends(one), strict=True)) for one in (graph, c._parts.door.now.graph))
    assert ours == theirs
    assert set(graph.vertices.names().to_pylist()) == set(c._parts.door.now.graph.vertices.names().to_pylist())


@pytest.mark.parametrize("name", [*checkpoint.NUMBERS, "successors"])
def test_a_changed_number_in_a_checkpoint_is_seen(name):
    _, commit, vertices = checkpoint_of([(1, 2), (2, 3), (3, 2)])
    values = vertices[name].to_pylist()
    other = [2, *values[0]] if name == "successors" else values[0] + 1
    for first in (other, None):
        damaged = vertices.set_column(
            vertices.column_names.index(name), name, pa.array([first, *values[1:]], vertices[name].type)
        )
        with pytest.raises(DamagedBlockError, match="in the table 'vertices'"):
            checkpoint.read(commit, {"vertices": damaged})
    with pytest.raises(DamagedBlockError, match=r"3 rows .* in the table 'vertices'; got 2"):
        checkpoint.read(commit, {"vertices": vertices.slice(1)})


def test_a_forged_checkpoint_reaches_no_kernel():
    """Successors that are no vertices, with a checksum that fits."""
    _, commit, vertices = checkpoint_of([(1, 2), (2, 3)])
    for wrong in (-1, 7, 2**31 - 1):
        lists = pa.array([[wrong], [2], []], vertices["successors"].type)
        forged = vertices.set_column(vertices.column_names.index("successors"), "successors", lists)
        told = replace(commit, vertices_checksum=checkpoint._vertices_checksum(forged))
        with pytest.raises(DamagedBlockError, match="successors that are vertices"):
            checkpoint.read(told, {"vertices": forged})


@given(st.lists(st.tuples(st.sampled_from(["apply", "drop", "reset"]), EDGES, EDGES), max_size=6))
def test_the_log_played_again(script):
    c = DynamicClosure.from_edges([], engine="recompute", backend="local")
    commits, tables = [], []

    def note(version, touched, batch):
        number = len(commits) + 1
        tables.append(log_table(batch, version.graph, number, str(number)))
        commits.append(commit_of(number, batch, tables[-1], version.graph))
        committed(version, touched, batch)

    attachment = c._parts.attachment
    committed, attachment.commit = attachment.commit, note
    for kind, first, second in script:
        if kind == "apply":
            c.apply([("insert", *edge) for edge in first] + [("delete", *edge) for edge in second])
        elif kind == "reset":
            c.reset(first, vertices=[SIZE])
        else:
            used = {vertex for row in c.arrow.edges().to_pylist() for vertex in row.values()}
            c.drop(set(c.arrow.vertices()["vertex"].to_pylist()) - used)
    log = pa.concat_tables([table for table in tables if table.num_rows]) if any(t.num_rows for t in tables) else None
    if log is not None:  # what a crash left behind
        log = pa.concat_tables([log, log.set_column(1, "token", pa.array(["other"] * log.num_rows))])
    graph, _ = replayed(Graph(), commits, log)
    ours, theirs = (sorted(zip(*_ends(one), strict=True)) for one in (graph, c._parts.door.now.graph))
    assert ours == theirs
    assert set(graph.vertices.names().to_pylist()) == set(c._parts.door.now.graph.vertices.names().to_pylist())
    assert sorted(graph.vertices.used.tolist() + graph.vertices._free.tolist()) == list(range(graph.vertices.extent))


def _ends(graph):
    ends = graph.named(graph.edges.edges)
    return ends.src.to_pylist(), ends.dst.to_pylist()


def test_lost_rows_of_the_log_are_seen():
    c = DynamicClosure.from_edges([(1, 2)])
    batch = Batch("batch", c._parts.door.now.graph.edges.edges)
    table = log_table(batch, c._parts.door.now.graph, 1, "1")
    commit = commit_of(1, batch, table, c._parts.door.now.graph)
    for log in (None, table.slice(0, 0)):
        with pytest.raises(DamagedBlockError, match="1 rows of version 1 in the table 'log'; got 0"):
            replayed(Graph(), [commit], log)
    with pytest.raises(DamagedBlockError, match="the commit 1"):
        Commits([commit_of(2, batch, table, c._parts.door.now.graph)])


@pytest.mark.connect
def test_a_session_without_delta(spark, tmp_path):
    with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND") as found:
        spark.read.format("delta.which.is.not.there").load(str(tmp_path)).collect()
    error = Place(spark, str(tmp_path)).problem(found.value, "reading")
    assert isinstance(error, SetupError)
    assert "dyntc-spark[delta]" in str(error)


@pytest.fixture
def commits():
    """A table of two commits."""
    c = DynamicClosure.from_edges([("a", "b")])
    batch = Batch("batch", c._parts.door.now.graph.edges.edges)
    made = [
        commit_of(number, batch, log_table(batch, c._parts.door.now.graph, number, "t"), c._parts.door.now.graph)
        for number in (1, 2)
    ]
    rows = pa.concat_tables([replace(commit, time=dt.datetime.now(dt.timezone.utc)).table() for commit in made])
    assert len(Commits.read(rows, "deps")) == 2
    return rows


@pytest.mark.parametrize("name", [name for name in SCHEMA.names if name not in NULLABLE])
def test_a_row_of_commits_that_lacks_something(commits, name):
    """A flipped bit in the footer of a Parquet file can make nulls of a column."""
    place, kind = commits.schema.get_field_index(name), commits.schema.field(name).type
    for first in (None, commits[name][0].as_py()):
        damaged = commits.set_column(place, name, pa.array([first, None], kind))
        with pytest.raises(
            DamagedBlockError, match=f"'{name}' in every row of the table 'commits' at 'deps'; got null"
        ):
            Commits.read(damaged, "deps")


@pytest.mark.parametrize(
    ("name", "values"), [("number", ["x", "y"]), ("time", [2**62, -(2**62)]), ("edges", [[1], [2]])]
)
def test_a_row_of_commits_that_has_something_else(commits, name, values):
    kind = SCHEMA.field(name).type if name == "time" else None
    damaged = commits.set_column(commits.schema.get_field_index(name), name, pa.array(values, kind))
    with pytest.raises(DamagedBlockError, match="the table 'commits' at 'deps' as it was written; got "):
        Commits.read(damaged, "deps")
