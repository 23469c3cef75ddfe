"""Whether rows of a closure lack something: each row has to hold the successors of all that it holds.

A row that holds its own vertex and is closed under the edges holds all that the vertex
reaches. So a row is certified by itself, in one pass over the edges that leave its members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Floats, Ids, Offsets
from dyntc_spark.kernels.sweep import reduced

LIMIT = 2**62  # sums are reduced beyond it


@compiled
def missing(
    vertices: Offsets, begins: Offsets, members: Ids, starts: Offsets, degrees: Offsets, targets: Ids, marks: Offsets
) -> tuple[Offsets, Offsets]:
    """Return a pair for each row that is not closed: its vertex, and a vertex that it lacks.

    Parameters
    ----------
    vertices, begins, members
        Row ``q`` is that of ``vertices[q]`` and holds ``members[begins[q]:begins[q + 1]]``, and its own vertex.
    starts, degrees, targets
        The edges of ``v`` lead to ``targets[starts[v] : starts[v] + degrees[v]]``.
    marks
        For each vertex a number, all from 0 to ``marks[-1]``, the last one; left so.

    Examples
    --------
    >>> edges = np.array([0, 1, 2]), np.array([1, 1, 0]), np.array([1, 2], np.int32)
    >>> missing(np.array([0, 1]), np.array([0, 1, 2]), np.array([1, 2], np.int32), *edges, np.zeros(4, np.int64))
    (array([0]), array([2]))
    """
    sources, lacking = np.empty(len(vertices), np.int64), np.empty(len(vertices), np.int64)
    count, mark = 0, marks[-1]
    for q in range(len(vertices)):
        mark += 1
        v = vertices[q]
        marks[v] = mark
        for m in members[begins[q] : begins[q + 1]]:
            marks[m] = mark
        lack = _lack(v, starts, degrees, targets, marks, mark)
        place = begins[q]
        while lack < 0 and place < begins[q + 1]:
            lack = _lack(members[place], starts, degrees, targets, marks, mark)
            place += 1
        if lack >= 0:
            sources[count], lacking[count] = v, lack
            count += 1
    marks[-1] = mark
    return sources[:count].copy(), lacking[:count].copy()


class Lines(NamedTuple):
    """Sparse lines of residues: line ``q`` is at ``ids[begins[q] : begins[q + 1]]``, with ``values[plane, entry]``."""

    begins: Offsets
    ids: Ids
    values: Ints


@compiled
def missing_updated(  # noqa: C901, PLR0912  (add up, mark, and look)
    vertices: Offsets, rows: Lines, coefficients: Lines, lines: Lines,
    starts: Offsets, degrees: Offsets, targets: Ids, primes: Offsets, marks: Offsets,
) -> tuple[Offsets, Offsets]:  # fmt: skip
    """The same for ``rows + coefficients · lines`` modulo primes, sums that are never written down.

    Only where the product has an entry is anything added up: elsewhere a row holds what it has an entry for. The
    mark of what a row holds is even, that of what is being added up one less.
    """
    sources, lacking = np.empty(len(vertices), np.int64), np.empty(len(vertices), np.int64)
    held, sums = np.empty(len(marks), np.int32), np.empty((len(marks), len(primes)), np.int64)
    factors, reciprocals, count, mark = np.ones(len(primes), np.int64), 1.0 / primes, 0, marks[-1] + marks[-1] % 2
    for q in range(len(vertices)):
        mark += 2
        v, size = vertices[q], 0
        for c in range(coefficients.begins[q], coefficients.begins[q + 1]):
            for plane in range(len(primes)):
                factors[plane] = coefficients.values[plane, c]
            size = _add(lines, coefficients.ids[c], factors, primes, marks, mark - 1, sums, held, size)
        for e in range(rows.begins[q], rows.begins[q + 1]):
            w = rows.ids[e]
            if marks[w] == mark - 1:
                for plane in range(len(primes)):
                    sums[w, plane] += rows.values[plane, e]
            else:
                marks[w] = mark
        for k in range(size):
            marks[held[k]] = 0 if _is_zero(sums[held[k]], primes, reciprocals) else mark
        marks[v] = mark
        lack, e, k = _lack(v, starts, degrees, targets, marks, mark), rows.begins[q], 0
        while lack < 0 and e < rows.begins[q + 1]:
            if marks[rows.ids[e]] == mark:
                lack = _lack(rows.ids[e], starts, degrees, targets, marks, mark)
            e += 1
        while lack < 0 and k < size:
            if marks[held[k]] == mark:
                lack = _lack(held[k], starts, degrees, targets, marks, mark)
            k += 1
        if lack >= 0:
            sources[count], lacking[count] = v, lack
            count += 1
    marks[-1] = mark
    return sources[:count].copy(), lacking[:count].copy()


@compiled
def _add(
    lines: Lines, line: int, factors: Offsets, primes: Offsets, marks: Offsets, mark: int, sums: Offsets, held: Ids,
    size: int,
) -> int:  # fmt: skip
    """Add a multiple of a line to the sums of the vertices that are held; return how many these are then."""
    for e in range(lines.begins[line], lines.begins[line + 1]):
        w = lines.ids[e]
        if marks[w] != mark:
            marks[w] = mark
            held[size] = w
            size += 1
            sums[w] = 0
        for plane in range(len(primes)):
            total = sums[w, plane] + factors[plane] * np.int64(lines.values[plane, e])
            sums[w, plane] = total if total < LIMIT else total % primes[plane]
    return size


@compiled
def _is_zero(sums: Offsets, primes: Offsets, reciprocals: Floats) -> bool:
    zero = True
    for plane in range(len(primes)):
        zero = zero and reduced(sums[plane], primes[plane], reciprocals[plane]) == 0
    return zero


@compiled
def _lack(v: int, starts: Offsets, degrees: Offsets, targets: Ids, marks: Offsets, mark: int) -> int:
    """Return a successor of ``v`` that has no mark, or -1."""
    for e in range(starts[v], starts[v] + degrees[v]):
        if marks[targets[e]] != mark:
            return int(targets[e])
    return -1
