"""Time-ordered records of centres: what is lost in one of them, and what that costs the later ones.

Facts are ``Out_j[y]``, ``In_j[x]`` and the hops ``ho[j,l]``, ``hi[j,l]`` for l < j; each has a
count of its reasons (see ``closure.centres_records``). A fact without a reason is put on
a stack; it stays true until it is taken from there. Then it is false, and each
fact that has it as part of a reason, the other part being true at this moment,
loses that reason. So a reason of which both parts go is taken away once, whichever goes
first. Reasons of record j are facts of records l < j: nothing can hold itself up.

A fact is written as ``(kind, j, at)``. A hop that is false has the count -1.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Flags, Indices, Words

OUT, IN, HOP_OUT, HOP_IN = 0, 1, 2, 3
_ONE = np.uint64(1)


@compiled
def _push(stack: Indices, top: int, kind: int, j: int, at: int) -> tuple[Indices, int]:
    if top == len(stack):
        larger = np.empty((2 * len(stack), 3), np.int64)
        larger[:top] = stack
        stack = larger
    stack[top, 0] = kind
    stack[top, 1] = j
    stack[top, 2] = at
    return stack, top + 1


@compiled
def _has(bits: Words, row: int, j: int) -> bool:
    return bool((bits[row, j >> 6] >> np.uint64(j & 63)) & _ONE)


@compiled
def _drop(bits: Words, row: int, j: int) -> None:
    bits[row, j >> 6] &= ~(_ONE << np.uint64(j & 63))


@compiled
def close_gaps(
    sign: int,
    rows: Indices,
    columns: Indices,
    snapshot: Words,
    counts: Ints,
    centres: Indices,
    stack: Indices,
    top: int,
) -> tuple[Indices, int]:
    """Pairs go from D0: ``CO_j[y]`` loses (a, y) where xo_j[a]; with ``sign`` 1 ``CI_j[x]`` loses (x, a) if xi_j[a]."""
    for e in range(len(rows)):
        a, far = (columns[e], rows[e]) if sign else (rows[e], columns[e])
        for w in range(snapshot.shape[1]):
            word = snapshot[a, w]
            while word:
                j = 64 * w + lowest(word)
                word &= word - _ONE
                counts[j, far] -= 1
                if counts[j, far] == 0 and far != centres[j]:
                    stack, top = _push(stack, top, sign, j, far)
    return stack, top


@compiled
def cut_edges(
    sign: int,
    records: Indices,
    ends: Indices,
    lines: Flags,
    line_of: Indices,
    snapshot: Words,
    counts: Ints,
    met: Words,
    hops: Ints,
    centres: Indices,
    stack: Indices,
    top: int,
) -> tuple[Indices, int]:
    """Edges go from snapshots: ``xo_j[a]`` and its share in ``CO_j`` (row a of D0) and ``HO_j``; with ``sign`` 1 xi."""
    for e in range(len(records)):
        j, a = records[e], ends[e]
        _drop(snapshot, a, j)
        line = lines[line_of[e]]
        for y in range(len(line)):
            if line[y]:
                counts[j, y] -= 1
                if counts[j, y] == 0 and y != centres[j]:
                    stack, top = _push(stack, top, sign, j, y)
        for w in range((j >> 6) + 1):
            word = met[a, w]
            while word:
                l = 64 * w + lowest(word)  # noqa: E741  (the paper's letter)
                word &= word - _ONE
                if l < j:
                    hops[j, l] -= 1
                    if hops[j, l] == 0:
                        stack, top = _push(stack, top, HOP_OUT + sign, j, l)
    return stack, top


@compiled
def settle(
    used: int,
    xo: Words,
    xi: Words,
    out: Words,
    into: Words,
    co: Ints,
    ci: Ints,
    ho: Ints,
    hi: Ints,
    centres: Indices,
    stack: Indices,
    top: int,
) -> int:
    """Take facts from the stack until none is left; return how many there were."""
    done = 0
    while top:
        top -= 1
        done += 1
        kind, j, at = stack[top, 0], stack[top, 1], stack[top, 2]
        if kind == OUT:
            stack, top = _lose_line(OUT, j, at, used, xi, hi, ho, co, out, centres, stack, top)
        elif kind == IN:
            stack, top = _lose_line(IN, j, at, used, xo, ho, hi, ci, into, centres, stack, top)
        elif kind == HOP_OUT:
            stack, top = _lose_hop(OUT, j, at, ho, co, out, centres, stack, top)
        else:
            stack, top = _lose_hop(IN, j, at, hi, ci, into, centres, stack, top)
    return done


@compiled
def _lose_line(
    kind: int,
    l: int,  # noqa: E741
    y: int,
    used: int,
    snapshot: Words,
    across: Ints,
    along: Ints,
    counts: Ints,
    lines: Words,
    centres: Indices,
    stack: Indices,
    top: int,
) -> tuple[Indices, int]:
    """``Out_l[y]`` goes: ``HI[j,l]`` loses it where xi_j[y], and ``CO_j[y]`` where the hop ho[j,l] is there."""
    _drop(lines, y, l)
    for w in range(l >> 6, snapshot.shape[1]):
        word = snapshot[y, w]
        while word:
            j = 64 * w + lowest(word)
            word &= word - _ONE
            if j > l:
                across[j, l] -= 1
                if across[j, l] == 0:
                    stack, top = _push(stack, top, HOP_IN - kind, j, l)
    for j in range(l + 1, used):
        if along[j, l] >= 0:
            counts[j, y] -= 1
            if counts[j, y] == 0 and y != centres[j]:
                stack, top = _push(stack, top, kind, j, y)
    return stack, top


@compiled
def _lose_hop(
    kind: int,
    j: int,
    l: int,  # noqa: E741
    hops: Ints,
    counts: Ints,
    lines: Words,
    centres: Indices,
    stack: Indices,
    top: int,
) -> tuple[Indices, int]:
    """``ho[j,l]`` goes: ``CO_j[y]`` loses it where Out_l[y]."""
    hops[j, l] = -1
    for y in range(lines.shape[0]):
        if _has(lines, y, l):
            counts[j, y] -= 1
            if counts[j, y] == 0 and y != centres[j]:
                stack, top = _push(stack, top, kind, j, y)
    return stack, top


@compiled
def meet(left: Words, right: Words, rows: Indices, columns: Indices) -> Flags:
    """Whether row ``rows[q]`` of ``left`` and row ``columns[q]`` of ``right`` share a bit, for each q."""
    found = np.zeros(len(rows), np.bool_)
    for q in range(len(rows)):
        for w in range(left.shape[1]):
            if left[rows[q], w] & right[columns[q], w]:
                found[q] = True
                break
    return found


@compiled
def meet_all(lines: Words, others: Words, ids: Indices, found: Flags) -> None:
    """Set ``found[e, y]`` where row ``ids[e]`` of ``lines`` and row y of ``others`` share a bit."""
    for e in range(len(ids)):
        for y in range(others.shape[0]):
            for w in range(others.shape[1]):
                if lines[ids[e], w] & others[y, w]:
                    found[e, y] = True
                    break
