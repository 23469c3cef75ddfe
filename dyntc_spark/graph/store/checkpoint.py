"""Checkpoints: a graph at a version, in the tables ``vertices`` and ``blocks``.

``vertices`` has the number of each vertex, ``blocks`` the edges by these numbers, as payloads with
checksums (``stored_edges``). Rows carry the token of the commit that published them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.graph.frames import frame
from dyntc_spark.graph.history import Graph
from dyntc_spark.graph.store import steps
from dyntc_spark.graph.store.commits import Commit
from dyntc_spark.graph.store.kinds import from_storage, kind_of, to_storage
from dyntc_spark.graph.store.near import Where
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.stored_edges import EDGES, REMEDY, edges_in, payloads_of
from dyntc_spark.graph.vertices import VertexTable

#: Up to so many bytes, a checkpoint is one file.
ONE_FILE = 2**26


def write(place: Place, version: int, token: str, graph: Graph) -> int:
    """Write a checkpoint, which counts when the commit with its token is published; return its bytes."""
    numbers = graph.vertices.used
    vertices = pa.table(
        {
            "version": pa.array(np.full(len(numbers), version)),
            "token": pa.array([token] * len(numbers), pa.string()),
            "number": pa.array(numbers.astype(np.int32)),
            "vertex": to_storage(graph.vertices.names(numbers)),
        }
    )
    found = list(payloads_of(graph.edges, graph.vertices.extent))
    blocks = pa.table(
        {
            "version": pa.array(np.full(len(found), version)),
            "token": pa.array([token] * len(found), pa.string()),
            "matrix": pa.array([EDGES] * len(found), pa.string()),
            "place": pa.array(np.arange(len(found), dtype=np.int32)),
            "payload": pa.array(found, pa.binary()),
        }
    )
    steps.run("vertices", lambda: _append(place, "vertices", vertices))
    steps.run("blocks", lambda: _append(place, "blocks", blocks))
    return int(vertices.nbytes + blocks.nbytes)


def wanted(commit: Commit) -> dict[str, Where]:
    """Return the tables that a checkpoint is in, each with what is to be read of it."""
    if not commit.vertices:
        return {}

    def published(column: Callable[[str], Any]) -> Any:  # noqa: ANN401  (of Spark or of Arrow)
        return column("token") == commit.token

    return {"vertices": published, "blocks": lambda column: published(column) & (column("matrix") == EDGES)}


def read(commit: Commit, tables: Mapping[str, pa.Table | None]) -> Graph:
    """Return the graph of a checkpoint out of the tables, or refuse what is not all there."""
    if not commit.vertices:
        return Graph()
    vertices, blocks = tables["vertices"], tables["blocks"]
    if vertices is None or vertices.num_rows != commit.vertices:
        raise _damaged(commit, "vertices", f"{commit.vertices} rows", "none" if vertices is None else vertices.num_rows)
    numbers = vertices.column("number").to_numpy().astype(np.int64)
    inside = numbers.min(initial=0) >= 0 and numbers.max(initial=-1) < commit.extent
    if not inside or np.bincount(numbers, minlength=1).max() > 1:
        raise _damaged(commit, "vertices", "each number once", "others")
    names = from_storage(vertices.column("vertex"), kind_of(commit.vertex))
    edges = edges_in(_payloads(blocks), commit.extent)
    if len(edges) != commit.edges:
        raise _damaged(commit, "blocks", f"{commit.edges} edges", len(edges))
    return Graph(VertexTable.of(names, numbers, commit.extent), edges)


def _append(place: Place, name: str, table: pa.Table) -> None:
    if table.num_rows:
        content = frame(place.spark, table)
        place.append(name, content.coalesce(1) if table.nbytes <= ONE_FILE else content)


def _payloads(blocks: pa.Table | None) -> list[pa.Buffer | bytes]:
    """Return the payloads in their order."""
    if blocks is None:
        return []
    payloads = blocks.column("payload")
    return [payloads[k].as_buffer() or b"" for k in pc.sort_indices(blocks, [("place", "ascending")]).to_pylist()]


def _damaged(commit: Commit, table: str, expected: str, came: object) -> DamagedBlockError:
    where = f"of the checkpoint of version {commit.version} in the table {table!r}"
    return DamagedBlockError(f"{expected} {where}", str(came), REMEDY)
