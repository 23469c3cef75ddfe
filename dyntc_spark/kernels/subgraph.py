"""Parts of a condensation that can be closed apart: a range of components with all that it reaches.

The components are numbered so that edges lead to smaller numbers
(``kernels.reach``), and neighbours in this order tend to reach the same things:
they were found by one depth-first search. So a range ``begin … end - 1`` together
with what it reaches is a small graph of its own, whose closure holds the rows of
the range. What two ranges both reach is closed twice; where that would be most of
the work, rows are searched for one by one instead (`searched`), which costs the
edges in reach of each row and repeats nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.ascend import ascend
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.reach import Ids, Offsets, closed_rows
from dyntc_spark.kernels.refresh import Condensed

#: A step of a search, which sorts its row in the end, in units of a number that is merged into a row.
SEARCH_STEP = 3


class Subgraph(NamedTuple):
    """A range of components with what it reaches, numbered among themselves in the same order."""

    nodes: Ids  #: the components, ascending; those of the range are the last
    own: int  #: how many are of the range
    offsets: Offsets
    targets: Ids
    by_search: bool  #: whether rows had better be searched for

    def rows(self) -> tuple[Offsets, Ids]:
        """Give the rows of the range, in the numbers of ``nodes``, as offsets and heads."""
        count = len(self.nodes)
        if self.by_search:
            offsets, heads = searched(self.offsets, self.targets, count - self.own)
        else:
            same = np.arange(count + 1)
            every = same[:-1].astype(np.int32)
            offsets, heads = closed_rows(self.offsets, self.targets, every, same, every) or (same, every)
            begin = offsets[count - self.own]
            offsets, heads = offsets[count - self.own :] - begin, heads[begin:]
        return offsets, heads


@compiled
def contracted(
    offsets: Offsets, targets: Ids, component: Ids, member_offsets: Offsets, members: Ids
) -> tuple[Offsets, Ids]:
    """Give the edges between different components, each once."""
    count = len(member_offsets) - 1
    ends, heads = np.zeros(count + 1, np.int64), np.empty(len(targets), np.int32)
    marks = np.full(count, -1, np.int32)
    end = 0
    for c in range(count):
        marks[c] = c
        for v in members[member_offsets[c] : member_offsets[c + 1]]:
            for w in targets[offsets[v] : offsets[v + 1]]:
                d = component[w]
                if marks[d] != c:
                    marks[d] = c
                    heads[end] = d
                    end += 1
        ends[c + 1] = end
    return ends, heads[:end].copy()


@compiled
def estimated(offsets: Offsets, targets: Ids, sample: Ids) -> Offsets:
    """Estimate the length of each row: by how many of at most 64 sampled components are in it."""
    count = len(offsets) - 1
    words = np.zeros(count, np.uint64)
    for k in range(len(sample)):
        words[sample[k]] |= np.uint64(1) << np.uint64(k)
    found = np.empty(count, np.int64)
    for c in range(count):
        for d in targets[offsets[c] : offsets[c + 1]]:
            words[c] |= words[d]
        bits = 0
        word = words[c]
        while word:
            word &= word - np.uint64(1)
            bits += 1
        found[c] = max(1 + offsets[c + 1] - offsets[c], bits * count // max(len(sample), 1))
    return found


def cut(offsets: Offsets, targets: Ids, ranges: int) -> list[Subgraph]:
    """Cut a condensation into so many ranges, of about as much work each, and give each with what it reaches."""
    count = len(offsets) - 1
    sample = np.random.default_rng(0).permutation(count)[:64].astype(np.int32)
    work = estimated(offsets, targets, sample)
    total = np.cumsum(work)
    shares = np.searchsorted(total, total[-1:] * np.arange(1, ranges) / ranges)
    bounds = np.unique(np.concatenate([[0], shares, [count]])).tolist()
    place, degree = np.full(count, -1, np.int32), 1 + len(targets) / max(count, 1)
    found = []
    for begin, end in pairwise(bounds):
        nodes, starts, heads = _reached(offsets, targets, begin, end, place)
        alone = SEARCH_STEP * degree * int(work[begin:end].sum())
        found.append(Subgraph(nodes, end - begin, starts, heads, bool(alone < int(work[nodes].sum()))))
    return found


@compiled
def _reached(offsets: Offsets, targets: Ids, begin: int, end: int, place: Ids) -> tuple[Ids, Offsets, Ids]:
    """Give what a range reaches, ascending, and the edges there in places; ``place`` has -1 before and after."""
    found = np.empty(end, np.int32)
    count = done = n_edges = 0
    for c in range(begin, end):
        found[count] = c
        place[c] = 0
        count += 1
    while done < count:
        c = found[done]
        done += 1
        n_edges += offsets[c + 1] - offsets[c]
        for d in targets[offsets[c] : offsets[c + 1]]:
            if place[d] < 0:
                place[d] = 0
                found[count] = d
                count += 1
    nodes = np.sort(found[:count])
    for k in range(count):
        place[nodes[k]] = k
    starts, heads = np.zeros(count + 1, np.int64), np.empty(n_edges, np.int32)
    n_edges = 0
    for k in range(count):
        for d in targets[offsets[nodes[k]] : offsets[nodes[k] + 1]]:
            heads[n_edges] = place[d]
            n_edges += 1
        starts[k + 1] = n_edges
    for c in nodes:
        place[c] = -1
    return nodes, starts, heads


@compiled
def searched(offsets: Offsets, targets: Ids, first: int) -> tuple[Offsets, Ids]:
    """Give the rows from ``first`` on, each by a search."""
    count = len(offsets) - 1
    ends, heads = np.zeros(count - first + 1, np.int64), np.empty(4 * count, np.int32)
    marks = np.full(count, -1, np.int32)
    for c in range(first, count):
        begin = done = ends[c - first]
        if begin + c + 1 > len(heads):
            longer = np.empty(max(2 * len(heads), begin + c + 1), np.int32)
            longer[:begin] = heads[:begin]
            heads = longer
        heads[begin] = c
        marks[c] = c
        end = begin + 1
        while done < end:
            d = heads[done]
            done += 1
            for e in targets[offsets[d] : offsets[d + 1]]:
                if marks[e] != c:
                    marks[e] = c
                    heads[end] = e
                    end += 1
        ascend(heads, begin, end)
        ends[c - first + 1] = end
    return ends, heads[: ends[-1]].copy()


@compiled
def search(graph: Condensed, numbers: Ids, lengths: Ids, used: int, seen: Ids, clock: int) -> bool:
    """Write the rows of the components ``numbers`` into the pool from ``used`` on, each by a search over the edges.

    Each is known to have ``lengths[k]`` numbers; false when one has not. ``seen``, by component, holds nothing above
    ``clock``, and is left with nothing above ``clock + len(numbers)``.
    """
    values, out = graph.rows.values, graph.out
    begin = used
    for k in range(len(numbers)):
        mark, stop = clock + k + 1, begin + lengths[k]
        values[begin], seen[numbers[k]] = numbers[k], mark
        done, end = begin, begin + 1
        while done < end:
            d = values[done]
            done += 1
            v = graph.first[d]
            for _ in range(graph.size[d]):
                for place in range(out.starts[v], out.starts[v] + out.lengths[v]):
                    e = graph.component[out.values[place]]
                    if seen[e] != mark:
                        seen[e] = mark
                        if end == stop:
                            return False
                        values[end] = e
                        end += 1
                v = graph.after[v]
        if end != stop:
            return False
        ascend(values, begin, end)
        begin = end
    return True


@compiled
def asked(graph: Condensed, inserted: Offsets, deleted: Offsets) -> Ids:
    """Give the components whose rows tell whether a change is harmless: rules (i) and (iii) of ``refresh``."""
    component, out, low = graph.component, graph.out, 2**32 - 1
    count = len(inserted)
    for key in deleted:
        count += out.lengths[key >> 32]
    found = np.empty(count, np.int32)
    count = 0
    for key in inserted:
        if component[key >> 32] != component[key & low]:
            found[count] = component[key >> 32]
            count += 1
    for key in deleted:
        u = key >> 32
        if component[u] != component[key & low]:
            for place in range(out.starts[u], out.starts[u] + out.lengths[u]):
                if component[out.values[place]] != component[u]:
                    found[count] = component[out.values[place]]
                    count += 1
    return np.unique(found[:count])


@compiled
def surroundings(graph: Condensed, vertices: Ids, begins: Offsets, ends: Offsets) -> Ids:
    """Give the components of ``vertices`` and those one step further, by edges at ``begins`` to ``ends``."""
    found = np.empty(len(vertices) + (ends - begins).sum(), np.int32)
    count = 0
    for i in range(len(vertices)):
        found[count] = graph.component[vertices[i]]
        count += 1
        for place in range(begins[i], ends[i]):
            found[count] = graph.component[graph.out.values[place]]
            count += 1
    return np.unique(found[:count])
