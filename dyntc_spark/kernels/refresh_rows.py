"""The rows of the affected components of a batch, built again and put in place of the old ones.

See ``kernels.refresh`` for which they are and why no others. The row of a component is

    row(c) = {c} and the union of row(d) over the edges (c, d),

here with numbers in no particular order, for a component keeps its number for as
long as it has the same members. `rebuild` goes through the components so that
each comes after all that it reaches, writes behind the pool and changes nothing
that answers; `commit` assigns.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.ascend import ascend
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.pool import Rows
from dyntc_spark.kernels.reach import Ids, Offsets
from dyntc_spark.kernels.refresh import EDGES, FREE, HEADS, PAIRS, Condensed, Part

_LOW = 2**32 - 1
STAMPS = 3  #: values of marks that `rebuild` uses for a component


@compiled
def rebuild(
    done: int, graph: Condensed, part: Part, place: Ids, used: int, marks: Ids, clock: int
) -> tuple[int, int, int, int]:
    """Write the rows of the part's components from ``done`` on behind those in the pool.

    Gives the first component for which there was no room, the end of the rows, the numbers of the pool that
    this component may need, and by how much the pairs of vertices in rows that changed became more.
    ``marks``, by component number, holds nothing above ``clock`` and is left with nothing above
    ``clock + STAMPS * len(part.numbers)``.
    """
    most = gain = 0
    for c in range(done, len(part.numbers)):
        degree = 0
        for i in part.members[part.member_offsets[c] : part.member_offsets[c + 1]]:
            degree += part.ends[i] - part.begins[i]
        most = max(most, degree)
    keys, starts, numbers = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int32)
    found = np.empty(len(marks), np.int32)
    for c in range(done, len(part.numbers)):
        nexts, longest = _nexts(c, graph, part, place, marks, clock + 1, keys, starts, numbers)
        own = part.numbers[c]
        part.starts[c], part.lengths[c] = graph.rows.starts[own], graph.rows.lengths[own]
        if part.altered[c]:
            need = min(longest, len(marks))
            if used + need > len(graph.rows.values):
                return c, used, need, gain
            count = _collect(own, graph.rows.values, nexts, starts, numbers, marks, clock + 2, found)
            begin, length = part.starts[c], np.int64(part.lengths[c])
            if part.fresh[c]:
                begin, length = (starts[nexts[-1] & _LOW], nexts[-1] >> 32) if len(nexts) else (begin, 0)
            kept, count, more = _write(graph, begin, length, found[:count], used, marks, clock + 2)
            part.altered[c] = part.fresh[c] or kept < length or count > 0
            if part.altered[c]:
                part.starts[c], part.lengths[c] = used, kept + count
                used += kept + count
                if part.fresh[c]:
                    more += weight(graph, begin, length)
                gain += (part.member_offsets[c + 1] - part.member_offsets[c]) * more
        clock += STAMPS
    return len(part.numbers), used, 0, gain


@compiled
def _nexts(
    c: int,
    graph: Condensed,
    part: Part,
    place: Ids,
    marks: Ids,
    mark: int,
    keys: Offsets,
    starts: Offsets,
    numbers: Ids,
) -> tuple[Offsets, int]:
    """List the components one step from ``c``, each once; note whether one of them has another row than before.

    Gives ``length * 2**32 + k`` for each, ascending, where ``starts[k]`` and ``numbers[k]`` are its row and its
    number, and how long the union of the rows and ``c`` can be at most.
    """
    count, total = 0, 1
    marks[part.numbers[c]] = mark
    for i in part.members[part.member_offsets[c] : part.member_offsets[c + 1]]:
        for k in range(part.begins[i], part.ends[i]):
            w = graph.out.values[k]
            inside = place[w] >= 0
            d = part.component[place[w]] if inside else graph.component[w]
            number = part.numbers[d] if inside else d
            if marks[number] == mark:
                continue
            marks[number] = mark
            if inside and part.altered[d]:
                part.altered[c] = True
            length = np.int64(part.lengths[d] if inside else graph.rows.lengths[d])
            keys[count] = (length << 32) + count
            starts[count] = part.starts[d] if inside else graph.rows.starts[d]
            numbers[count] = number
            count += 1
            total += length
    if part.altered[c]:
        ascend(keys, 0, count)
    return keys[:count], total


@compiled
def _collect(
    own: int, values: Ids, nexts: Offsets, starts: Offsets, numbers: Ids, marks: Ids, mark: int, found: Ids
) -> int:
    """Mark and list ``own`` and what is in the rows of ``nexts``, in any order; give how much it is.

    A component that is marked by now brings nothing, and those that others reach come after these, for
    their rows are shorter: most rows need not be read.
    """
    found[0], marks[own] = own, mark
    count = 1
    for key in nexts[::-1]:
        k = key & _LOW
        if marks[numbers[k]] != mark:
            for x in values[starts[k] : starts[k] + (key >> 32)]:
                if marks[x] != mark:
                    marks[x] = mark
                    found[count] = x
                    count += 1
    return count


@compiled
def _write(
    graph: Condensed, begin: int, length: int, found: Ids, used: int, marks: Ids, mark: int
) -> tuple[int, int, int]:
    """Write the marked numbers, which are ``found``, ascending, from ``used`` on.

    What of them is in the ascending row at ``begin`` needs no sorting; the more it is like the new row, the
    better. Gives how many these are, how many are not in that row, and how many vertices there are more in
    the new row than in that one.
    """
    values, more = graph.rows.values, 0
    end = used
    for k in range(begin, begin + length):
        x = values[k]
        if marks[x] == mark:
            marks[x] = mark + 1
            values[end] = x
            end += 1
        else:
            more -= graph.size[x]
    count = 0
    for x in found:
        if marks[x] == mark:
            found[count] = x
            count += 1
            more += graph.size[x]
    ascend(found, 0, count)
    left, right = end - 1, count - 1
    while right >= 0:  # merged from behind
        if left >= used and values[left] > found[right]:
            values[left + right + 1] = values[left]
            left -= 1
        else:
            values[left + right + 1] = found[right]
            right -= 1
    return end - used, count, more


@compiled
def weight(graph: Condensed, start: int, length: int) -> int:
    """Give how many vertices the components in a row have."""
    total = 0
    for d in graph.rows.values[start : start + length]:
        total += graph.size[d]
    return total


@compiled
def _replace(rows: Rows, touched: Ids, starts: Offsets, lengths: Ids) -> int:
    """Let these be the rows of ``touched``; give by how many numbers the rows became longer."""
    more = 0
    for t in range(len(touched)):
        more += lengths[t] - rows.lengths[touched[t]]
        rows.starts[touched[t]], rows.lengths[touched[t]] = starts[t], lengths[t]
    return more


@compiled
def commit(
    graph: Condensed,
    part: Part,
    lost: Ids,
    gain: int,
    tails: tuple[Ids, Offsets, Ids],
    heads: tuple[Ids, Offsets, Ids],
) -> None:
    """Let the batch be done: assignments only, so that it happens as a whole or not at all."""
    graph.totals[EDGES] += _replace(graph.out, *tails)
    _replace(graph.into, *heads)
    for c in lost:
        gain -= graph.size[c] * weight(graph, graph.rows.starts[c], graph.rows.lengths[c])
    for c in range(len(part.numbers)):
        if part.altered[c]:
            number, begin, end = part.numbers[c], part.member_offsets[c], part.member_offsets[c + 1]
            graph.totals[HEADS] += part.lengths[c] - graph.rows.lengths[number]
            graph.rows.starts[number], graph.rows.lengths[number] = part.starts[c], part.lengths[c]
            if part.fresh[c]:
                graph.totals[FREE] -= 1
                last = part.vertices[part.members[end - 1]]
                for i in part.members[begin:end]:
                    v = part.vertices[i]
                    graph.component[v], graph.after[last] = number, v
                    last = v
                graph.first[number] = last
    for c in lost:
        graph.totals[HEADS] -= graph.rows.lengths[c]
        graph.rows.lengths[c] = graph.size[c] = 0
        graph.free[graph.totals[FREE]] = c
        graph.totals[FREE] += 1
    graph.totals[PAIRS] += gain
