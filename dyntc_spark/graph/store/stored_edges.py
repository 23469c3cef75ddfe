"""The edges of a graph as format 1 stored them: payloads in the table ``blocks``.

A payload is checked before it is used: by its checksum, and then by what it says.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels.target_lists import TargetLists

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: The name of the matrix that the edges are; there may be others, which are no longer read.
EDGES = "edges"
REMEDY = "Call repair() at the location, or open an older version."


def edges_in(payloads: Sequence[Buffer], vertices: int) -> EdgeSet:
    """Return the edges that are stored, whose ends are below ``vertices``; refuse what is damaged.

    Examples
    --------
    >>> payload = TargetLists(0, np.array([0, 1, 1, 3]), np.array([1, 0, 2], np.int32)).encode()
    >>> edges_in([payload], 3).edges.targets
    array([1, 0, 2])
    """
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # checksums leave Python's lock alone
        parts = list(threads.map(_decoded, payloads, range(len(payloads))))
    sources, vertex = [np.zeros(0, np.int64)], 0
    for place, part in enumerate(parts):
        _require(part.first == vertex, f"vertex {vertex} at the beginning of block {place}", f"{part.first}")
        vertex += len(part)
        sources.append(np.repeat(np.arange(part.first, vertex), np.diff(part.offsets)))
    _require(vertex <= vertices, f"{vertices} vertices at most", f"{vertex}")
    targets = np.concatenate([np.zeros(0, np.int64), *(part.targets for part in parts)])
    inside = targets.min(initial=0) >= 0 and targets.max(initial=-1) < vertices
    _require(bool(inside), "numbers of the graph", "one outside")
    return EdgeSet.of(Edges(np.concatenate(sources), targets))


def _decoded(payload: Buffer, place: int) -> TargetLists:
    try:
        return TargetLists.decode(payload)
    except DamagedBlockError as error:
        raise DamagedBlockError(f"{error.expected} in block {place} of {EDGES!r}", error.came, REMEDY) from error


def _require(condition: bool, expected: str, came: str) -> None:
    if not condition:
        raise DamagedBlockError(f"{expected} in the stored matrix {EDGES!r}", came, REMEDY)
