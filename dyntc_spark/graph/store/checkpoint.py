"""Checkpoints: a graph at a version with its closure, in the tables ``vertices`` and ``blocks``.

``vertices`` has the number of each vertex, ``blocks`` matrices by these numbers, as payloads with
checksums (``closure.restored``). Rows carry the token of the commit that published them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark.closure.engine import Engine
from dyntc_spark.closure.restored import Payloads, read_edges, stored, stored_far
from dyntc_spark.closure.stored_rows import ROWS
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.graph.frames import frame
from dyntc_spark.graph.history import Graph
from dyntc_spark.graph.store import steps
from dyntc_spark.graph.store.commits import Commit
from dyntc_spark.graph.store.kinds import from_storage, kind_of, to_storage
from dyntc_spark.graph.store.near import Where
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.vertices import VertexTable

#: Up to so many bytes, a checkpoint is one file.
ONE_FILE = 2**26

_REMEDY = "Call repair() for the location, or open an older version."


def write(place: Place, version: int, token: str, graph: Graph, engine: Engine) -> int:
    """Write a checkpoint, which counts when the commit with its token is published; give its bytes."""
    numbers = graph.vertices.used
    vertices = pa.table(
        {
            "version": pa.array(np.full(len(numbers), version)),
            "token": pa.array([token] * len(numbers), pa.string()),
            "number": pa.array(numbers.astype(np.int32)),
            "vertex": to_storage(graph.vertices.names(numbers)),
        }
    )
    found = list(stored(engine, graph.edges, graph.vertices.extent))
    blocks = pa.table(
        {
            "version": pa.array(np.full(len(found), version)),
            "token": pa.array([token] * len(found), pa.string()),
            "matrix": pa.array([name for name, _ in found], pa.string()),
            "place": pa.array(np.arange(len(found), dtype=np.int32)),
            "payload": pa.array([payload for _, payload in found], pa.binary()),
        }
    )
    steps.run("vertices", lambda: _append(place, "vertices", vertices))
    far, size = stored_far(engine) or (None, 0)
    more = None if far is None else _rows_of(far, version, token)
    steps.run("blocks", lambda: _append(place, "blocks", blocks, more))
    return int(vertices.nbytes + blocks.nbytes) + size


def wanted(commit: Commit, *, rows: bool = True) -> dict[str, Where]:
    """Give the tables that a checkpoint is in, each with what is to be read of it.

    Without ``rows``, those of the closure stay where they are; `far_rows` gives them as a DataFrame.
    """
    if not commit.vertices:
        return {}

    def published(column: Callable[[str], Any], *, rows: bool = True) -> Any:  # noqa: ANN401  (of Spark or of Arrow)
        found = column("token") == commit.token
        return found if rows else found & (column("matrix") != ROWS)

    return {"vertices": published, "blocks": partial(published, rows=rows)}


def read(commit: Commit, tables: Mapping[str, pa.Table | None]) -> tuple[Graph, Payloads]:
    """Give the graph of a checkpoint and its payloads out of the tables, or refuse what is not all there."""
    if not commit.vertices:
        return Graph(), {}
    vertices, blocks = tables["vertices"], tables["blocks"]
    if vertices is None or vertices.num_rows != commit.vertices:
        raise _damaged(commit, "vertices", f"{commit.vertices} rows", "none" if vertices is None else vertices.num_rows)
    numbers = vertices.column("number").to_numpy().astype(np.int64)
    inside = numbers.min(initial=0) >= 0 and numbers.max(initial=-1) < commit.extent
    if not inside or np.bincount(numbers, minlength=1).max() > 1:
        raise _damaged(commit, "vertices", "each number once", "others")
    names = from_storage(vertices.column("vertex"), kind_of(commit.vertex))
    payloads = _payloads(blocks)
    edges = read_edges(payloads, commit.extent)
    if len(edges) != commit.edges:
        raise _damaged(commit, "blocks", f"{commit.edges} edges", len(edges))
    return Graph(VertexTable.of(names, numbers, commit.extent), edges), payloads


def far_rows(place: Place, commit: Commit) -> DataFrame:
    """Give the stored rows of the closure, the column ``payload``; no job."""
    with place.translating("reading the table 'blocks'"):
        published = F.col("token") == commit.token
        return place.frame("blocks").where(published & (F.col("matrix") == ROWS)).select("payload")


def _rows_of(far: DataFrame, version: int, token: str) -> DataFrame:
    """Give rows on Spark as the table has them; the place of a stripe is its first row."""
    told = (F.lit(version).cast("bigint").alias("version"), F.lit(token).alias("token"), F.lit(ROWS).alias("matrix"))
    return far.select(*told, F.col("first").alias("place"), "payload")


def _append(place: Place, name: str, table: pa.Table, more: DataFrame | None = None) -> None:
    """Add rows that are here, and perhaps more that are on Spark, in one write."""
    if not table.num_rows:
        return
    content = frame(place.spark, table)
    content = content.coalesce(1) if table.nbytes <= ONE_FILE else content
    place.append(name, content if more is None else content.unionByName(more))


def _payloads(blocks: pa.Table | None) -> Payloads:
    if blocks is None:
        return {}
    found: dict[str, list[bytes | pa.Buffer]] = {}
    names, payloads = blocks.column("matrix").to_pylist(), blocks.column("payload")
    for k in pc.sort_indices(blocks, [("place", "ascending")]).to_pylist():
        found.setdefault(names[k], []).append(payloads[k].as_buffer() or b"")
    return found


def _damaged(commit: Commit, table: str, expected: str, came: object) -> DamagedBlockError:
    where = f"of the checkpoint of version {commit.version} in the table {table!r}"
    return DamagedBlockError(f"{expected} {where}", str(came), _REMEDY)
