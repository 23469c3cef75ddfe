"""Batches in the log, and a graph brought from one version to the next by them.

The log holds what a batch came to: edges that were absent and are there, edges that were
there and are gone, vertices that were dropped. So the order of its rows says nothing, and
many batches become one change for the engine: the edges before against the edges after.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.edges import Edges
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.graph.changes.copies import Copies
from dyntc_spark.graph.changes.net_effect import renumbered
from dyntc_spark.graph.inputs.read import DELETE, INSERT, Ends
from dyntc_spark.graph.inputs.vertex_types import encoded
from dyntc_spark.graph.store.commits import Commit
from dyntc_spark.graph.store.stored_types import from_storage, kind_of, to_storage
from dyntc_spark.graph.version import Graph
from dyntc_spark.kernels.ids import Indices

#: A row about one vertex, which is in both columns.
VERTEX, DROP = "vertex", "drop"
BATCH, RESET = "batch", "reset"
#: The column that a multigraph has besides.
COPIES = "copies"
REMEDY = "Restore the table to an older state with Delta's RESTORE, or open another version."


@dataclass(frozen=True)
class Batch:
    """What a batch did to a graph, by numbers, with the names of vertices that it says something about."""

    kind: str  #: ``"batch"``, ``"drop"``, or ``"reset"``
    inserted: Edges = field(default_factory=Edges.of)
    deleted: Edges = field(default_factory=Edges.of)
    vertices: pa.Array | None = None
    batch_id: str | None = None
    #: Of a multigraph: how many copies there are from now on of what is inserted, which may have been there.
    counts: Indices | None = None

    def vertex_kind(self, graph: Graph) -> pa.DataType:
        """Return the type of the vertices that it is about; a graph that has lost all has none to tell."""
        return self.vertices.type if self.vertices is not None and len(self.vertices) else graph.vertices.kind

    def rows(self, graph: Graph) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return what the log says: operations and their ends, by the names of a graph that has them all."""
        gained, lost = graph.named(self.inserted), graph.named(self.deleted)
        parts = [(INSERT, gained.src, gained.dst), (DELETE, lost.src, lost.dst)]
        if self.vertices is not None:
            parts.append((DROP if self.kind == DROP else VERTEX, self.vertices, self.vertices))
        parts = [part for part in parts if len(part[1])]
        if not parts:
            return pa.array([], pa.string()), graph.vertices.names([]), graph.vertices.names([])
        ops = pa.array(np.repeat([op for op, _, _ in parts], [len(src) for _, src, _ in parts]), pa.string())
        return ops, pa.concat_arrays([part[1] for part in parts]), pa.concat_arrays([part[2] for part in parts])


def log_table(batch: Batch, graph: Graph, version: int, token: str) -> pa.Table:
    """Return the rows of a batch as they are stored."""
    ops, src, dst = batch.rows(graph)
    table = pa.table(
        {
            "version": pa.array(np.full(len(ops), version)),
            "token": pa.array([token] * len(ops), pa.string()),
            "op": ops,
            "src": to_storage(src),
            "dst": to_storage(dst),
        }
    )
    if graph.copies is None:
        return table
    counts = np.zeros(0, np.int64) if batch.counts is None else batch.counts  # of the first rows, the insertions
    return table.append_column(
        COPIES, pa.concat_arrays([pa.array(counts), pa.nulls(len(ops) - len(counts), pa.int64())])
    )


def replayed(graph: Graph, commits: Iterable[Commit], log: pa.Table | None) -> tuple[Graph, bool]:
    """Bring a graph through the batches of some commits; tell also whether it was begun anew on the way."""
    anew = False
    for commit in commits:
        rows = _rows(commit, log)
        if commit.kind == RESET:
            graph, anew = _begun(commit, rows), True
        elif rows is not None:
            graph = _after(graph, commit, rows)
    return graph, anew


def _rows(commit: Commit, log: pa.Table | None) -> pa.Table | None:
    """Return the rows that a commit published, all of them."""
    if not commit.logged:
        return None
    rows = None if log is None else log.filter(pc.equal(log.column("token"), commit.token))
    count = 0 if rows is None else rows.num_rows
    if count != commit.logged:
        raise DamagedBlockError(
            f"{commit.logged} rows of version {commit.version} in the table 'log'",
            f"{count}",
            REMEDY,
        )
    return rows


def _ends(rows: pa.Table | None, op: str, kind: pa.DataType) -> Ends:
    if rows is None:
        return Ends(pa.array([], kind), pa.array([], kind))
    part = rows.filter(pc.equal(rows.column("op"), op))
    return Ends(from_storage(part.column("src"), kind), from_storage(part.column("dst"), kind))


def _counts(commit: Commit, rows: pa.Table | None) -> Indices | None:
    """Return how many copies there are of the edges that a commit has inserted; None where these are not counted."""
    if commit.copies is None or rows is None:
        return None
    found = rows.filter(pc.equal(rows.column("op"), INSERT)).column(COPIES)
    if found.null_count or (pc.min(found).as_py() or 1) < 1:
        raise DamagedBlockError(
            f"in version {commit.version} of the log a number of copies for each insertion", "another one", REMEDY
        )
    counts: Indices = found.to_numpy()
    return counts


def _begun(commit: Commit, rows: pa.Table | None) -> Graph:
    kind = kind_of(commit.vertex)
    inserted, alone = _ends(rows, INSERT, kind), _ends(rows, VERTEX, kind).src
    names = encoded(pa.concat_arrays([inserted.src, inserted.dst, alone]))[1]
    graph = empty(commit).begun(Edges.of(), names)
    numbers = graph.vertices.numbered(inserted)[0]
    return graph.after(numbers, Edges.of(), names.slice(0, 0), np.zeros(0, np.int64), _counts(commit, rows))


def empty(commit: Commit) -> Graph:
    """Return a graph without edges of the kind that a commit is about."""
    return Graph(copies=None if commit.copies is None else Copies())


def _after(graph: Graph, commit: Commit, rows: pa.Table) -> Graph:
    kind, table = kind_of(commit.vertex), graph.vertices
    gone = _ends(rows, DROP, kind).src
    if len(gone):
        return graph.without(table.known_numbers(gone))
    deleted, unknown = table.numbered(_ends(rows, DELETE, kind))
    if len(unknown):
        raise DamagedBlockError(
            f"in version {commit.version} of the log edges that are there", f"{unknown[0]}", "Use another copy."
        )
    inserted, names = table.numbered(_ends(rows, INSERT, kind))
    numbers = table.allotted(len(names))
    return graph.after(renumbered(inserted, table.extent, numbers), deleted, names, numbers, _counts(commit, rows))
