"""Questions to a condensed digraph that changes: what is in reach, from where, and what a batch made of it.

The members of a component are a ring of vertices, its row a slice of a pool
(``kernels.refresh``). Ancestors are searched for backwards on the edges: they
need no index of columns, which every batch would have to bring up to date.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.ascend import ascend
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.reach import Ids, Offsets
from dyntc_spark.kernels.refresh import Condensed


class Former(NamedTuple):
    """What a batch replaced: the rows of components, and the members of those that are no more."""

    vertices: Ids  #: whose rows changed, ascending
    component: Ids  #: of each of them before
    moved: Ids  #: vertices of components that are no more, grouped by these
    numbers: Ids  #: components that are no more, then others whose rows changed
    member_offsets: Offsets  #: into ``moved``, for the former
    starts: Offsets  #: the row that each of ``numbers`` had
    lengths: Ids


@compiled
def descendants(graph: Condensed, vertices: Ids) -> tuple[Offsets, Ids]:
    """Give for each of ``vertices`` what it reaches, ascending, as offsets and vertices: linear, and a sort each."""
    offsets = np.zeros(len(vertices) + 1, np.int64)
    for q in range(len(vertices)):
        offsets[q + 1] = offsets[q]
        c = graph.component[vertices[q]]
        for place in range(graph.rows.starts[c], graph.rows.starts[c] + graph.rows.lengths[c]):
            offsets[q + 1] += graph.size[graph.rows.values[place]]
    found = np.empty(offsets[-1], np.int32)
    for q in range(len(vertices)):
        end = offsets[q]
        c = graph.component[vertices[q]]
        for place in range(graph.rows.starts[c], graph.rows.starts[c] + graph.rows.lengths[c]):
            end = _append_ring(graph, graph.rows.values[place], found, end)
        ascend(found, offsets[q], end)
    return offsets, found


@compiled
def _append_ring(graph: Condensed, c: int, found: Ids, end: int) -> int:
    v = graph.first[c]
    for _ in range(graph.size[c]):
        found[end] = v
        end += 1
        v = graph.after[v]
    return end


@compiled
def ancestors(graph: Condensed, vertices: Ids, which: Offsets) -> tuple[Offsets, Ids]:
    """Give for each ``q`` what reaches ``vertices[which[q]]``, ascending, as offsets and vertices.

    A search for each of ``vertices``, which costs the edges into what it finds.
    """
    ends = np.zeros(len(vertices) + 1, np.int64)
    seen = np.zeros(len(graph.component), np.int32)
    found = np.empty(4 * len(vertices), np.int32)
    for q in range(len(vertices)):
        if len(found) < ends[q] + len(seen):
            found = _longer(found, ends[q] + len(seen))
        seen[vertices[q]] = q + 1
        found[ends[q]] = vertices[q]
        ends[q + 1] = _search(graph, q + 1, seen, found, ends[q])
        ascend(found, ends[q], ends[q + 1])
    offsets = np.zeros(len(which) + 1, np.int64)
    for q in range(len(which)):
        offsets[q + 1] = offsets[q] + ends[which[q] + 1] - ends[which[q]]
    answers = np.empty(offsets[-1], np.int32)
    for q in range(len(which)):
        answers[offsets[q] : offsets[q + 1]] = found[ends[which[q]] : ends[which[q] + 1]]
    return offsets, answers


@compiled
def _search(graph: Condensed, mark: int, seen: Ids, found: Ids, done: int) -> int:
    end = done + 1
    while done < end:
        v = found[done]
        done += 1
        for place in range(graph.into.starts[v], graph.into.starts[v] + graph.into.lengths[v]):
            u = graph.into.values[place]
            if seen[u] != mark:
                seen[u] = mark
                found[end] = u
                end += 1
    return end


@compiled
def _longer(array: Ids, least: int) -> Ids:
    longer = np.empty(max(least, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


@compiled
def differences(graph: Condensed, former: Former) -> tuple[Offsets, Ids, Offsets, Ids]:
    """Give for each of ``former.vertices`` what it newly reaches and what it reaches no more, ascending.

    Offsets and vertices, twice. One pass over the old and the new rows of these vertices.
    """
    n = len(graph.component)
    index = np.full(len(graph.size), -1, np.int32)  # of components in former.numbers
    for k in range(len(former.numbers)):
        index[former.numbers[k]] = k
    seen = np.zeros(n, np.int64)
    old, new = np.empty(n, np.int32), np.empty(n, np.int32)
    n_vertices = len(former.vertices)
    won_offsets, lost_offsets = np.zeros(n_vertices + 1, np.int64), np.zeros(n_vertices + 1, np.int64)
    won, lost = np.empty(n, np.int32), np.empty(n, np.int32)
    for q in range(n_vertices):
        n_old = _former_row(graph, former, index, index[former.component[q]], old)
        n_new = 0
        c = graph.component[former.vertices[q]]
        for place in range(graph.rows.starts[c], graph.rows.starts[c] + graph.rows.lengths[c]):
            n_new = _append_ring(graph, graph.rows.values[place], new, n_new)
        if len(won) < won_offsets[q] + n_new:
            won = _longer(won, won_offsets[q] + n_new)
        if len(lost) < lost_offsets[q] + n_old:
            lost = _longer(lost, lost_offsets[q] + n_old)
        won_offsets[q + 1] = _missing(new[:n_new], old[:n_old], seen, 2 * q + 1, won, won_offsets[q])
        lost_offsets[q + 1] = _missing(old[:n_old], new[:n_new], seen, 2 * q + 2, lost, lost_offsets[q])
    return won_offsets, won[: won_offsets[-1]], lost_offsets, lost[: lost_offsets[-1]]


@compiled
def _former_row(graph: Condensed, former: Former, index: Ids, k: int, found: Ids) -> int:
    """Write the vertices that component ``former.numbers[k]`` reached; give how many."""
    end, gone = 0, len(former.member_offsets) - 1
    for place in range(former.starts[k], former.starts[k] + former.lengths[k]):
        d = graph.rows.values[place]
        if 0 <= index[d] < gone:
            for at in range(former.member_offsets[index[d]], former.member_offsets[index[d] + 1]):
                found[end] = former.moved[at]
                end += 1
        else:
            end = _append_ring(graph, d, found, end)
    return end


@compiled
def _missing(wanted: Ids, present: Ids, seen: Offsets, mark: int, found: Ids, end: int) -> int:
    """Append what of ``wanted`` is not ``present``, ascending; give the end."""
    begin = end
    for v in present:
        seen[v] = mark
    for v in wanted:
        if seen[v] != mark:
            found[end] = v
            end += 1
    ascend(found, begin, end)
    return end
