"""All rows of ``(I - W)⁻¹ - I`` modulo primes at once: each row is merged from the rows of its successors.

In the topological order of ``kernels.sweep``, last place first, the row of a vertex is

    N[v] = Σ W[v, w] · (e_w + N[w])        over its edges (v, w),

and that of a member ``i`` of a component the sum of these over its members ``j``, without the edges
inside, times ``(I - W)⁻¹[i, j]``. Rows that are there are read from front to back, which is what makes
this faster than a sweep a row where one process makes all of them. Large components are better swept.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.components import starts
from dyntc_spark.kernels.ids import Floats, Ids, Offsets, Words
from dyntc_spark.kernels.sweep import Ordered, drain, insert, reduced

LARGEST = 16  #: vertices of a component, at most, for which rows are merged
TERMS = 960  #: products of residues, below 2**52, that are added before sums are reduced


def merged_rows(graph: Ordered, primes: tuple[int, ...]) -> tuple[Offsets, Ids, Ints]:
    """Return all rows by vertex: where each begins, columns, and residues ``[plane, entry]``."""
    moduli = np.array(primes, np.int64)
    begins, lengths, ids, values = _merge(*graph, moduli, 1.0 / moduli)
    return _by_vertex(begins, lengths, ids, values)


@compiled
def transposed(begins: Offsets, ids: Ids, values: Ints) -> tuple[Offsets, Ids, Ints]:
    """Return the columns of rows, in the same form: a counting sort."""
    n = len(begins) - 1
    offsets = starts(ids, n)
    cursor = offsets[:-1].copy()
    rows, turned = np.empty(len(ids), np.int32), np.empty_like(values)
    for v in range(n):
        for e in range(begins[v], begins[v + 1]):
            place = cursor[ids[e]]
            cursor[ids[e]] += 1
            rows[place] = v
            for plane in range(len(values)):
                turned[plane, place] = values[plane, e]
    return offsets, rows, turned


@compiled
def _merge(
    place: Ids, vertex: Ids, offsets: Offsets, targets: Ids, weights: Ints, firsts: Ids, lasts: Ids, blocks: Offsets,
    inverses: Ints, primes: Offsets, reciprocals: Floats,
) -> tuple[Offsets, Offsets, Ids, Ints]:  # fmt: skip
    """Return rows in the order in which they are made: begins and lengths by vertex, columns, ``[entry, plane]``."""
    n, planes, used = len(place), len(primes), 0
    begins, lengths = np.zeros(n, np.int64), np.zeros(n, np.int64)
    ids, values = np.empty(4 * n + 64, np.int32), np.empty((4 * n + 64, planes), np.int32)
    sums, ones, found = np.zeros((n, planes), np.int64), np.ones(planes, np.int64), np.empty(n, np.int32)
    held, held_words = np.zeros(n // 64 + 1, np.uint64), np.zeros(n // 4096 + 1, np.uint64)
    for i in range(n - 1, -1, -1):
        v = vertex[i]
        first, last = firsts[i], lasts[i]
        if blocks[i] < 0:
            count = _add_edges(i, ones, first, last, vertex, offsets, targets, weights, primes, reciprocals,
                               begins, lengths, ids, values, sums, held, held_words)  # fmt: skip
        else:
            count = 0
            for j in range(first, last):
                factors = inverses[blocks[i] + (i - first) * (last - first) + j - first].astype(np.int64)
                for plane in range(planes):
                    sums[vertex[j], plane] += factors[plane] + (primes[plane] - 1 if i == j else 0)
                insert(vertex[j], held, held_words)
                count += 1 + _add_edges(j, factors, first, last, vertex, offsets, targets, weights, primes, reciprocals,
                                        begins, lengths, ids, values, sums, held, held_words)  # fmt: skip
        if used + min(count, n) > len(ids):
            more = len(ids) + min(count, n)
            ids = np.concatenate((ids, np.empty(more, np.int32)))
            values = np.concatenate((values, np.empty((more, planes), np.int32)))
        begins[v] = used
        for w in found[: drain(held, held_words, found)]:
            some = False
            for plane in range(planes):
                value = reduced(sums[w, plane], primes[plane], reciprocals[plane])
                values[used, plane] = value
                some = some or value != 0
                sums[w, plane] = 0
            ids[used] = w
            used += some
        lengths[v] = used - begins[v]
    return begins, lengths, ids[:used], values[:used]


@compiled
def _add_edges(
    i: int, factors: Offsets, first: int, last: int, vertex: Ids, offsets: Offsets, targets: Ids, weights: Ints,
    primes: Offsets, reciprocals: Floats, begins: Offsets, lengths: Offsets, ids: Ids, values: Ints, sums: Offsets,
    held: Words, held_words: Words,
) -> int:  # fmt: skip
    """Add a multiple of what the edges of place ``i`` out of its component lead to; return how many entries."""
    count, planes, added = 0, len(primes), 0
    own, terms = np.empty(planes, np.int64), TERMS // (last - first)
    for e in range(offsets[i], offsets[i + 1]):
        if first <= targets[e] < last:
            continue
        w = vertex[targets[e]]
        for plane in range(planes):
            own[plane] = reduced(factors[plane] * np.int64(weights[e, plane]), primes[plane], reciprocals[plane])
            sums[w, plane] += own[plane]
        insert(w, held, held_words)
        for k in range(begins[w], begins[w] + lengths[w]):
            u = ids[k]
            if sums[u, 0] == 0:  # else it is in the set
                insert(u, held, held_words)
            for plane in range(planes):
                sums[u, plane] += own[plane] * np.int64(values[k, plane])
        count += 1 + lengths[w]
        added += 1
        if added % terms == 0:
            _reduce(sums, primes, reciprocals)
    return count


@compiled
def _reduce(sums: Offsets, primes: Offsets, reciprocals: Floats) -> None:
    """Make all sums small again."""
    for w in range(len(sums)):
        for plane in range(len(primes)):
            sums[w, plane] = reduced(sums[w, plane], primes[plane], reciprocals[plane])


@compiled
def _by_vertex(begins: Offsets, lengths: Offsets, ids: Ids, values: Ints) -> tuple[Offsets, Ids, Ints]:
    """Put rows one behind the other, by vertex, and residues by plane."""
    offsets = np.zeros(len(begins) + 1, np.int64)
    offsets[1:] = np.cumsum(lengths)
    columns, planes = np.empty(len(ids), np.int32), np.empty((values.shape[1], len(ids)), np.int32)
    for v in range(len(begins)):
        for k in range(lengths[v]):
            columns[offsets[v] + k] = ids[begins[v] + k]
            for plane in range(len(planes)):
                planes[plane, offsets[v] + k] = values[begins[v] + k, plane]
    return offsets, columns, planes
