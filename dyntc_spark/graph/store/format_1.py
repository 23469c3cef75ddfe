"""The edges of a graph as format 1 stored them: payloads in the table ``blocks``, which are read and no longer written.

A payload has the successors of consecutive vertices. All little endian:

======  =====  ==============================================
offset  bytes  field
======  =====  ==============================================
0       4      magic, ``DTCS``
4       4      format version, 1
8       4      first vertex
12      4      number of vertices
16      8      number of successors of all of them
24      4      0
28      4      CRC-32 of the 28 bytes before it and the body
======  =====  ==============================================

The body is the number of successors of each vertex, then the successors, 4 bytes a number. A payload is checked before
it is used: by its checksum, and then by what it says.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels.header import Header
from dyntc_spark.kernels.ids import Ids

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: The name of the matrix that the edges are; there may be others, which are no longer read.
EDGES = "edges"
REMEDY = "Call repair() at the location, or open an older version."
HEADER = Header(b"DTCS", 1, struct.Struct("<4sIIIQI"), "Read it from another copy.")


def edges_in(payloads: Sequence[Buffer], vertices: int) -> EdgeSet:
    """Return the edges that are stored, whose ends are below ``vertices``; refuse what is damaged."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # checksums leave Python's lock alone
        parts = list(threads.map(_decoded, payloads, range(len(payloads))))
    sources, vertex = [np.zeros(0, np.int64)], 0
    for place, (first, lengths, _) in enumerate(parts):
        _require(first == vertex, f"vertex {vertex} at the beginning of block {place}", f"{first}")
        vertex += len(lengths)
        sources.append(np.repeat(np.arange(first, vertex), lengths))
    _require(vertex <= vertices, f"{vertices} vertices at most", f"{vertex}")
    targets = np.concatenate([np.zeros(0, np.int64), *(targets for _, _, targets in parts)])
    inside = targets.min(initial=0) >= 0 and targets.max(initial=-1) < vertices
    _require(bool(inside), "numbers of the graph", "one outside")
    return EdgeSet.of(Edges(np.concatenate(sources), targets))


def _decoded(payload: Buffer, place: int) -> tuple[int, Ids, Ids]:
    """Return the first vertex of a payload, how many successors each vertex has, and the successors."""
    try:
        view, (first, count, total, _) = HEADER.opened(payload, lambda _, count, total, __: 4 * (count + total))
        lengths = np.frombuffer(view, "<i4", count, HEADER.size)
        targets = np.frombuffer(view, "<i4", total, HEADER.size + 4 * count)
        filled = lengths.min(initial=0) >= 0 and int(lengths.sum(dtype=np.int64)) == total
        HEADER.require(filled, f"lists of {total} targets", "others")
    except DamagedBlockError as error:
        raise DamagedBlockError(f"{error.expected} in block {place} of {EDGES!r}", error.came, REMEDY) from error
    return first, lengths, targets


def _require(condition: bool, expected: str, came: str) -> None:
    if not condition:
        raise DamagedBlockError(f"{expected} in the stored matrix {EDGES!r}", came, REMEDY)
