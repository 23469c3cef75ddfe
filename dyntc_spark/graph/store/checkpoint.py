"""Checkpoints: a graph and its closure at a version, in the tables ``vertices`` and ``runs``.

``vertices`` has a row for each vertex: its number, its name, where it is in the closure, and the numbers that its edges
lead to. ``runs`` is the closure (``kernels.lanes.runs``). Rows carry the token of the commit that published
them, and the commit has a checksum of the numbers in each table (``kernels.row_hash``).

The graph is read from ``vertices`` alone. An engine in lanes takes its closure from ``runs``, after checks; where these
fail, or another engine is asked for, the graph is closed again. So damage to ``runs`` loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.edges import Edges, EdgeSet, keys_of
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.lanes.load import StoredClosure, no_runs
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.graph.changes.copies import Copies
from dyntc_spark.graph.store import steps
from dyntc_spark.graph.store.commits import Commit
from dyntc_spark.graph.store.format_1 import EDGES, REMEDY, edges_in
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.replay import COPIES, empty
from dyntc_spark.graph.store.stored_types import from_storage, kind_of, to_storage
from dyntc_spark.graph.store.tables import PART, Rows, Where, row_checksum
from dyntc_spark.graph.tables.relations import vertex_table
from dyntc_spark.graph.tables.runs import runs_of
from dyntc_spark.graph.version import Graph
from dyntc_spark.graph.vertices.in_process import VertexTable
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.kernels.lanes.stripes import LANES
from dyntc_spark.kernels.row_hash import checksum, row_hashes, with_lists
from dyntc_spark.lazy_pyspark import F, is_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The columns of ``runs`` that are the closure, and those of ``vertices`` that are numbers, before ``successors``.
RUNS = ("stripe", "first", "last", "word")
NUMBERS = ("number", "component", "stripe", "lane")
#: Files that ``runs`` is cut into, at most, by ranges of stripes; and the fewest stripes of a range, as a power of two.
PARTS, LEAST_SHIFT = 32, 6
#: What a commit says about the tables of its checkpoint.
Facts = dict[str, int]


class Content(NamedTuple):
    """What a checkpoint is to hold; the runs of a closure on Spark stay there."""

    vertices: pa.Table
    runs: pa.Table | DataFrame

    @classmethod
    def of(cls, graph: Graph, closure: Reachability, session: Callable[[], SparkSession]) -> Content:
        """Return a graph and its closure as the tables that `relations` makes of them."""
        found = runs_of(closure, graph)
        vertices = _with_copies(vertex_table(graph, found, None), graph)
        runs = found.frame(session(), look=True) if closure.backend == "spark" else None
        if runs is not None:
            return cls(vertices, runs.select(*RUNS))  # in ranges of stripes
        return cls(vertices, found.table(None).select(RUNS))


def write(place: Place, version: int, token: str, content: Content, *, upgrading: bool) -> Facts:
    """Write a checkpoint, which counts when the commit with its token is published; return what that has to say.

    ``upgrading``: whether the tables may be those of an older format.
    """
    vertices, runs = content
    if not vertices.num_rows:
        return {}
    options = {"mergeSchema": "true"} if upgrading else None
    kept, parted = vertices.set_column(1, "vertex", to_storage(vertices.column("vertex").combine_chunks())), runs
    # A table keeps the columns that it was made with; one of the two may be lost, or may not have been made yet.
    if PART in (place.columns("runs") or place.columns("vertices") or [PART]):
        shift = _shift(vertices)
        kept, parted = _with_parts(kept, shift), _with_parts(runs, shift)
    steps.run("vertices", lambda: place.append("vertices", _marked(kept, version, token), None, options))
    steps.run("runs", lambda: place.append("runs", _marked(parted, version, token)))
    if isinstance(runs, pa.Table):
        told = runs.num_rows, row_checksum(runs)
    else:  # nobody else knows what the tasks have written
        told = _runs_checksum(place, token, on_spark=True) or (0, 0)
    return {
        "bytes": int(kept.nbytes + told[0] * 20),
        "runs": told[0],
        "runs_checksum": told[1],
        "vertices_checksum": _vertices_checksum(vertices),
    }


def wanted(commit: Commit) -> dict[str, Where]:
    """Return the tables that the graph of a checkpoint is in, each with what is to be read of it."""
    if not commit.vertices:
        return {}
    published = _published(commit.token)
    if commit.format == 1:
        return {"vertices": published, "blocks": lambda column: published(column) & (column("matrix") == EDGES)}
    return {"vertices": published}


def read(commit: Commit, tables: Mapping[str, pa.Table | None]) -> Graph:
    """Return the graph of a checkpoint out of the tables, or refuse what is not all there."""
    if not commit.vertices:
        return empty(commit)
    vertices = tables["vertices"]
    if vertices is None or vertices.num_rows != commit.vertices:
        raise _damaged(commit, "vertices", f"{commit.vertices} rows", "none" if vertices is None else vertices.num_rows)
    if commit.format > 1:
        _require_whole(commit, vertices)
    numbers = vertices.column("number").to_numpy().astype(np.int64)
    inside = numbers.min(initial=0) >= 0 and numbers.max(initial=-1) < commit.extent
    if not inside or np.bincount(numbers, minlength=1).max() > 1:
        raise _damaged(commit, "vertices", "each number once", "others")
    names = from_storage(vertices.column("vertex"), kind_of(commit.vertex))
    if commit.format == 1:
        edges = edges_in(_payloads(tables["blocks"]), commit.extent)
    else:
        edges = _edges(commit, numbers, vertices.column("successors"))
    if len(edges) != commit.edges:
        raise _damaged(commit, "vertices", f"{commit.edges} edges", len(edges))
    graph = Graph(VertexTable.of(names, numbers, commit.extent), edges, copies=_copies(commit, numbers, vertices))
    if commit.copies not in {None, graph.size}:
        raise _damaged(commit, "vertices", f"{commit.copies} edges with their copies", graph.size)
    return graph


def closure_of(place: Place, commit: Commit, tables: Mapping[str, pa.Table | None]) -> StoredClosure | None:
    """Return the closure of a checkpoint whose graph was read; None where it has none, or not in lanes."""
    vertices = tables.get("vertices")
    if vertices is None or commit.format == 1:
        return None
    number, component, stripe, lane = (vertices.column(name).to_numpy() for name in NUMBERS)
    if not np.array_equal(component, stripe * LANES + lane):
        return None

    def runs() -> pa.Table:
        found = place.read("runs", _published(commit.token))
        return no_runs() if found is None else found.select(RUNS)

    return StoredClosure(number.astype(np.int64), component, LANES, commit.runs, commit.runs_checksum, runs)


def require_runs(place: Place, commit: Commit, *, on_spark: bool) -> None:
    """Refuse a checkpoint whose runs are not what was written; ``on_spark``: whether they may be too many for here."""
    if not commit.vertices or commit.format == 1:
        return
    found, expected = _runs_checksum(place, commit.token, on_spark=on_spark), (commit.runs, commit.runs_checksum)
    if found is None or found[0] != commit.runs:
        raise _damaged(commit, "runs", f"{commit.runs} rows", "none" if found is None else found[0])
    if found != expected:
        raise _damaged(commit, "runs", f"the checksum {expected[1]}", found[1])


def _runs_checksum(place: Place, token: str, *, on_spark: bool) -> tuple[int, int] | None:
    """Return how many runs a commit has, and their checksum; ``on_spark``: they do not come to this process."""
    if not on_spark:
        return place.checksum("runs", RUNS, _published(token))
    with place.translating("reading the table 'runs'"):
        return place.by_spark.checksum("runs", RUNS, _published(token))


def _published(token: str) -> Where:
    """Return the condition for rows of a commit."""

    def condition(column: Callable[[str], Any]) -> Any:  # noqa: ANN401  (of Spark or of Arrow)
        return column("token") == token

    return condition


def _marked(table: Rows, version: int, token: str) -> Rows:
    """Return rows with the version and the token of their checkpoint."""
    if is_frame(table):
        return table.select(F.lit(version).cast("bigint").alias("version"), F.lit(token).alias("token"), "*")
    marks = pa.array(np.full(table.num_rows, version)), pa.array([token] * table.num_rows, pa.string())
    return pa.table([*marks, *table.columns], ["version", "token", *table.column_names])


def _shift(vertices: pa.Table) -> int:
    """Return by how many bits to shift a stripe to the right for its part: then there are at most `PARTS`."""
    return max(LEAST_SHIFT, int(pc.max(vertices.column("stripe")).as_py()).bit_length() - PARTS.bit_length() + 1)


def _with_parts(rows: Rows, shift: int) -> Rows:
    """Return rows with the part that their stripe is in."""
    if is_frame(rows):
        return rows.withColumn(PART, F.shiftright("stripe", shift))
    return rows.append_column(PART, pa.array(rows.column("stripe").to_numpy() >> shift))


def _with_copies(vertices: pa.Table, graph: Graph) -> pa.Table:
    """Add, for a multigraph, how many copies there are of the edge to each successor."""
    if graph.copies is None:
        return vertices
    lists = vertices.column("successors").combine_chunks()
    edges = Edges(np.repeat(vertices.column("number").to_numpy(), _lengths(lists)), lists.flatten().to_numpy())
    counts = pa.array(graph.counts(Edges.of(edges.sources, edges.targets)), pa.int32())
    return vertices.append_column(COPIES, pa.ListArray.from_arrays(lists.offsets, counts))


def _copies(commit: Commit, numbers: np.ndarray[Any, Any], vertices: pa.Table) -> Copies | None:
    """Return the copies of a multigraph."""
    if commit.copies is None:
        return None
    lists, counts = vertices.column("successors"), vertices.column(COPIES)
    if not np.array_equal(_lengths(lists), _lengths(counts)) or (pc.min(pc.list_flatten(counts)).as_py() or 1) < 1:
        raise _damaged(commit, "vertices", "a number of copies for each successor", "another one")
    edges = Edges.of(np.repeat(numbers, _lengths(lists)), pc.list_flatten(lists).to_numpy())
    order = np.argsort(keys_of(edges))
    found = pc.list_flatten(counts).to_numpy()[order]
    return Copies.counted(Edges(edges.sources[order], edges.targets[order]), found)


def _lengths(lists: pa.Array | pa.ChunkedArray) -> Indices:
    found: Indices = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    return found


def _lists_of(vertices: pa.Table) -> list[str]:
    """Return the columns that are lists; a set of edges has no copies, or nulls where a table is read as Spark does."""
    counted = COPIES in vertices.column_names and vertices.column(COPIES).null_count < vertices.num_rows
    return ["successors", COPIES] if counted else ["successors"]


def _vertices_checksum(vertices: pa.Table) -> int:
    """Return the checksum of all columns but the names."""
    hashes = row_hashes([vertices.column(name).to_numpy() for name in NUMBERS])
    for name in _lists_of(vertices):
        lists = vertices.column(name).combine_chunks()
        first = lists.offsets.to_numpy().astype(np.int64)
        hashes = with_lists(hashes, first - first[0], lists.flatten().to_numpy())
    return checksum(hashes)


def _require_whole(commit: Commit, vertices: pa.Table) -> None:
    lists = ["successors"] if commit.copies is None else ["successors", COPIES]
    for name in (*NUMBERS, *lists):
        column = vertices.column(name) if name in vertices.column_names else pa.nulls(vertices.num_rows)
        if column.null_count or (name in lists and pc.list_flatten(column).null_count):
            raise _damaged(commit, "vertices", f"a value of {name!r} in every row", "null")
    found = _vertices_checksum(vertices)
    if found != commit.vertices_checksum:
        raise _damaged(commit, "vertices", f"the checksum {commit.vertices_checksum}", found)


def _edges(commit: Commit, numbers: np.ndarray[Any, Any], successors: pa.ChunkedArray) -> EdgeSet:
    targets = pc.list_flatten(successors).to_numpy()
    inside = targets.min(initial=0) >= 0 and targets.max(initial=-1) < commit.extent
    if inside and len(numbers) < commit.extent:  # some numbers are those of no vertex
        known = np.zeros(commit.extent, np.bool_)
        known[numbers] = True
        inside = bool(known[targets].all())
    if not inside:
        raise _damaged(commit, "vertices", "successors that are vertices", "others")
    keys = np.repeat(numbers.astype(np.int64) << 32, _lengths(successors))  # as `keys_of`, in fewer passes over them
    keys |= targets
    return EdgeSet.of_keys(keys)


def _payloads(blocks: pa.Table | None) -> list[pa.Buffer | bytes]:
    """Return the payloads of format 1 in their order."""
    if blocks is None:
        return []
    payloads = blocks.column("payload")
    return [payloads[k].as_buffer() or b"" for k in pc.sort_indices(blocks, [("place", "ascending")]).to_pylist()]


def _damaged(commit: Commit, table: str, expected: str, came: object) -> DamagedBlockError:
    where = f"of the checkpoint of version {commit.version} in the table {table!r}"
    return DamagedBlockError(f"{expected} {where}", str(came), REMEDY)
