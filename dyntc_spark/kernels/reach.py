"""The closure of a digraph by its condensation: one sorted row of reached components a component.

A digraph on the vertices ``0 … n-1`` is given by ``offsets`` and ``targets``: the
edges of ``v`` lead to ``targets[offsets[v]:offsets[v + 1]]``. Two vertices are in
one strongly connected component when each reaches the other. Contracting the
components leaves an acyclic graph; they are numbered so that every edge between
two of them leads to the smaller number. Then the row of a component,

    row(c) = {c} and the union of row(d) over the edges (c, d),

needs only rows with smaller numbers, and ``c`` is its last element. The rows lie
one behind the other in ``heads``, as int32: four bytes a pair of components,
however many vertices these have.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.ascend import ascend
from dyntc_spark.kernels.bits import lowest, popcount
from dyntc_spark.kernels.block import Words
from dyntc_spark.kernels.compile import compiled

Ids: TypeAlias = npt.NDArray[np.int32]
Offsets: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
#: Components whose rows meet as bits, 2 MiB in all; and those, up to 128 MiB, whose rows do so if they are long:
FEW, MANY = 4096, 32768
#: if so many of them would be more than all components.
LONG = 16
#: Ones in a word from which on it is faster to look at every bit.
BARE = 8


@compiled
def strong_components(offsets: Offsets, targets: Ids) -> tuple[Ids, int]:
    """Give the component of each vertex, and how many components there are.

    Tarjan's algorithm without recursion: linear in vertices and edges. It
    finishes a component after all that it reaches, hence the numbering.

    Examples
    --------
    >>> strong_components(np.array([0, 1, 3, 3]), np.array([1, 0, 2], np.int32))
    (array([1, 1, 0], dtype=int32), 2)
    """
    n = len(offsets) - 1
    component = np.full(n, -1, np.int32)
    visited = np.zeros(n, np.int32)  # the moment of the first visit, from 1
    lowest = np.zeros(n, np.int32)  # the first moment that is known to be in reach
    cursor = offsets[:-1].copy()  # the next edge to follow
    path = np.empty(n, np.int32)  # from the root of the search to the current vertex
    pending = np.empty(n, np.int32)  # visited, but of no component yet
    clock = count = n_pending = 0
    for root in range(n):
        if visited[root]:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            v = path[depth]
            if not visited[v]:
                clock += 1
                visited[v] = lowest[v] = clock
                pending[n_pending] = v
                n_pending += 1
            if cursor[v] < offsets[v + 1]:
                w = targets[cursor[v]]
                cursor[v] += 1
                if not visited[w]:
                    depth += 1
                    path[depth] = w
                elif component[w] < 0:
                    lowest[v] = min(lowest[v], visited[w])
                continue
            if lowest[v] == visited[v]:
                n_pending = _settle(v, pending, n_pending, component, count)
                count += 1
            depth -= 1
            if depth >= 0:
                lowest[path[depth]] = min(lowest[path[depth]], lowest[v])
    return component, count


@compiled
def _settle(v: int, pending: Ids, n_pending: int, component: Ids, number: int) -> int:
    """Let the pending vertices from ``v`` on be component ``number``; give how many are still pending."""
    while component[v] < 0:
        n_pending -= 1
        component[pending[n_pending]] = number
    return n_pending


@compiled
def grouped(component: Ids, count: int) -> tuple[Offsets, Ids]:
    """Give the members of each component, ascending, as offsets and vertices."""
    offsets = np.zeros(count + 1, np.int64)
    for c in component:
        offsets[c + 1] += 1
    offsets = np.cumsum(offsets)
    cursor = offsets[:-1].copy()
    members = np.empty(len(component), np.int32)
    for v in range(len(component)):
        members[cursor[component[v]]] = v
        cursor[component[v]] += 1
    return offsets, members


def closed_rows(
    offsets: Offsets, targets: Ids, component: Ids, member_offsets: Offsets, members: Ids, most: int = 2**62
) -> tuple[Offsets, Ids] | None:
    """Give the rows of all components, as offsets and heads; None when there are more than ``most`` heads.

    Costs the lengths of the rows that meet: a row whose component is in reach
    through another edge is not read. The heads grow by half when they are full.
    Where components are few, or rows turn out to be long, they meet as bits, 64 at
    a time, and become numbers at the end.
    """
    count = len(member_offsets) - 1
    graph = offsets, targets, component, member_offsets, members
    row_offsets = np.zeros(count + 1, np.int64)
    heads, marks = np.empty(0, np.int32), np.full(count, -1, np.int32)
    done = 0
    while count > FEW:
        heads.resize(max(len(heads) * 3 // 2, 4 * count, row_offsets[done] + count), refcheck=False)  # not copied
        done = _close_rows(done, *graph, row_offsets, heads, marks)
        if row_offsets[done] > most:
            return None
        if done == count:
            heads.resize(row_offsets[count], refcheck=False)
            return row_offsets, heads
        if count <= MANY and LONG * row_offsets[done] > done * count:
            break
    words = np.zeros((count, (count + 63) // 64), np.uint64)
    _close_words(*graph, words, row_offsets)
    if row_offsets[count] > most:
        return None
    heads = np.empty(row_offsets[count] + 1, np.int32)
    _number(words, heads)
    heads.resize(row_offsets[count], refcheck=False)
    return row_offsets, heads


@compiled
def _close_words(
    offsets: Offsets,
    targets: Ids,
    component: Ids,
    member_offsets: Offsets,
    members: Ids,
    words: Words,
    row_offsets: Offsets,
) -> None:
    """Fill in the rows as bits, and where each begins as numbers."""
    room = np.empty(len(targets), np.int32)
    for c in range(len(words)):
        row, width = words[c], (c >> 6) + 1  # a row has no number above its own
        for d in _successors(c, offsets, targets, component, member_offsets, members, room)[::-1]:
            if not (row[d >> 6] >> np.uint64(d & 63)) & np.uint64(1):
                for w in range((d >> 6) + 1):
                    row[w] |= words[d, w]
        row[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
        length = 0
        for w in range(width):
            length += np.int64(popcount(row[w]))
        row_offsets[c + 1] = row_offsets[c] + length


@compiled
def _number(words: Words, heads: Ids) -> None:
    """Write the places of the ones of all rows; ``heads`` has room for one more, where what is no one is written."""
    end = 0
    for c in range(len(words)):
        for w in range((c >> 6) + 1):
            word = words[c, w]
            if popcount(word) < np.uint64(BARE):
                while word:
                    heads[end] = 64 * w + lowest(word)
                    end += 1
                    word &= word - np.uint64(1)
            else:
                for b in range(64):
                    heads[end] = 64 * w + b
                    end += np.int64((word >> np.uint64(b)) & np.uint64(1))


@compiled
def _close_rows(
    first: int,
    offsets: Offsets,
    targets: Ids,
    component: Ids,
    member_offsets: Offsets,
    members: Ids,
    row_offsets: Offsets,
    heads: Ids,
    marks: Ids,
) -> int:
    """Append the rows of the components from ``first`` on; give the first one for which there was no room."""
    count = len(row_offsets) - 1
    room = np.empty(len(targets), np.int32)
    extra = np.empty(count, np.int32)
    for c in range(first, count):
        end = row_offsets[c]
        if end + c + 1 > len(heads):
            return c
        nexts = _successors(c, offsets, targets, component, member_offsets, members, room)
        if len(nexts):
            end = _unite(c, nexts, row_offsets, heads, marks, extra)
        heads[end] = c
        row_offsets[c + 1] = end + 1
    return count


@compiled
def _successors(
    c: int, offsets: Offsets, targets: Ids, component: Ids, member_offsets: Offsets, members: Ids, room: Ids
) -> Ids:
    """Give the other components that an edge leads to from ``c``, ascending, perhaps with repetitions."""
    count = 0
    for v in members[member_offsets[c] : member_offsets[c + 1]]:
        for w in targets[offsets[v] : offsets[v + 1]]:
            if component[w] != c:
                room[count] = component[w]
                count += 1
    ascend(room, 0, count)
    return room[:count]


@compiled
def _unite(c: int, nexts: Ids, row_offsets: Offsets, heads: Ids, marks: Ids, extra: Ids) -> int:
    """Write the union of the rows of ``nexts`` where the row of ``c`` begins; give its end.

    The longest row is sorted already and copied. From the others few elements
    join it: a successor that is in it by now brings nothing new, and going from
    the last to the first makes that so for all but the nearest.
    """
    begin = end = int(row_offsets[c])
    longest = nexts[0]
    for d in nexts:
        if row_offsets[d + 1] - row_offsets[d] > row_offsets[longest + 1] - row_offsets[longest]:
            longest = d
    for x in heads[row_offsets[longest] : row_offsets[longest + 1]]:
        marks[x] = c
        heads[end] = x
        end += 1
    n_extra = 0
    for d in nexts[::-1]:
        if marks[d] != c:
            for x in heads[row_offsets[d] : row_offsets[d + 1]]:
                if marks[x] != c:
                    marks[x] = c
                    extra[n_extra] = x
                    n_extra += 1
    if n_extra:
        ascend(extra, 0, n_extra)
        _merge(heads, begin, end, extra[:n_extra])
    return end + n_extra


@compiled
def _merge(heads: Ids, begin: int, end: int, extra: Ids) -> None:
    """Merge the ascending ``extra`` into the ascending ``heads[begin:end]``, from behind."""
    left, right = end - 1, len(extra) - 1
    while right >= 0:
        if left >= begin and heads[left] > extra[right]:
            heads[left + right + 1] = heads[left]
            left -= 1
        else:
            heads[left + right + 1] = extra[right]
            right -= 1


@compiled
def transposed(row_offsets: Offsets, heads: Ids) -> tuple[Offsets, Ids]:
    """Give the columns: for each component those whose rows hold it, ascending, as offsets and tails.

    Linear in the pairs, and as large as the rows.
    """
    count = len(row_offsets) - 1
    offsets = np.zeros(count + 1, np.int64)
    for d in heads:
        offsets[d + 1] += 1
    offsets = np.cumsum(offsets)
    cursor = offsets[:-1].copy()
    tails = np.empty(len(heads), np.int32)
    for c in range(count):
        for d in heads[row_offsets[c] : row_offsets[c + 1]]:
            tails[cursor[d]] = c
            cursor[d] += 1
    return offsets, tails


@compiled
def within(values: Ids, low: int, length: int, number: int) -> bool:
    """Tell whether ascending values hold a number, from ``low`` on: halvings that no branch predictor has to guess."""
    if length == 0:
        return False
    while length > 1:
        half = length >> 1
        low += half if values[low + half] <= number else 0
        length -= half
    return bool(values[low] == number)


@compiled
def holds(row_offsets: Offsets, heads: Ids, rows: Ids, columns: Ids) -> Flags:
    """Tell for each ``q`` whether row ``rows[q]`` holds ``columns[q]``: a binary search each."""
    found = np.empty(len(rows), np.bool_)
    for q in range(len(rows)):
        low = row_offsets[rows[q]]
        found[q] = within(heads, low, row_offsets[rows[q] + 1] - low, columns[q])
    return found


@compiled
def joined(component: Ids, row_offsets: Offsets, heads: Ids, sources: Offsets, targets: Offsets) -> Flags:
    """Tell for each ``q`` whether vertex ``sources[q]`` reaches ``targets[q]``; nothing where one is no vertex."""
    found = np.empty(len(sources) if len(sources) == len(targets) else 0, np.bool_)
    for q in range(len(found)):
        u, v = sources[q], targets[q]
        if min(u, v) < 0 or max(u, v) >= len(component):
            return found[:0]
        low = row_offsets[component[u]]
        found[q] = within(heads, low, row_offsets[component[u] + 1] - low, component[v])
    return found


@compiled
def weights(row_offsets: Offsets, heads: Ids, member_offsets: Offsets) -> Offsets:
    """Give for each row the number of vertices in the components that it holds."""
    total = np.zeros(len(row_offsets) - 1, np.int64)
    for c in range(len(total)):
        for d in heads[row_offsets[c] : row_offsets[c + 1]]:
            total[c] += member_offsets[d + 1] - member_offsets[d]
    return total


def pairs(row_offsets: Offsets, heads: Ids, member_offsets: Offsets) -> int:
    """Count the pairs of vertices of which one reaches the other, each with itself among them."""
    sizes = np.diff(member_offsets)
    if sizes.max(initial=0) <= 1:
        return len(heads)
    return int(weights(row_offsets, heads, member_offsets) @ sizes)


@compiled
def spread(rows: Ids, row_offsets: Offsets, heads: Ids, member_offsets: Offsets, members: Ids) -> tuple[Offsets, Ids]:
    """Give for each of ``rows`` the vertices in the components that it holds, ascending, as offsets and vertices."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    for q in range(len(rows)):
        offsets[q + 1] = offsets[q]
        for d in heads[row_offsets[rows[q]] : row_offsets[rows[q] + 1]]:
            offsets[q + 1] += member_offsets[d + 1] - member_offsets[d]
    vertices = np.empty(offsets[-1], np.int32)
    for q in range(len(rows)):
        end = offsets[q]
        for d in heads[row_offsets[rows[q]] : row_offsets[rows[q] + 1]]:
            for v in members[member_offsets[d] : member_offsets[d + 1]]:
                vertices[end] = v
                end += 1
        ascend(vertices, offsets[q], end)
    return offsets, vertices


@compiled
def without(keys: Offsets, others: Offsets) -> Offsets:
    """Give the elements of the ascending ``keys`` that the ascending ``others`` lack, in one pass over both.

    Examples
    --------
    >>> without(np.array([1, 3, 5]), np.array([0, 3, 4]))
    array([1, 5])
    """
    found = np.empty(len(keys), np.int64)
    count = place = 0
    for key in keys:
        while place < len(others) and others[place] < key:
            place += 1
        if place == len(others) or others[place] != key:
            found[count] = key
            count += 1
    result: Offsets = found[:count].copy()
    return result
