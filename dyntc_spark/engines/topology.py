"""A digraph without cycles that changes, and a topological order of it that is kept.

The order is exact: it is kept on the edges themselves, never on residues, so a
batch that would close a cycle is refused with certainty and by name, before
anything else hears of it (section 7 asks "such that the graph obtained after
the update is still acyclic" and leaves the test to the caller).

``rank[v]`` is the place of ``v`` in the order. An inserted edge ``(x, y)`` with
``rank[x] < rank[y]`` agrees with it. The others are *violating*; between the
lowest head ``low`` and the highest tail ``high`` of them lies the window of
ranks in which every new cycle lies whole, for a cycle climbs along agreeing
edges and falls along violating ones only. The vertices ``F`` of the window that
the violating heads reach are found by one depth-first search. It meets each new
cycle; if there is none, the window becomes (the others in their old order, then
``F`` in the order of the search), because no edge leads out of ``F`` and stays in
the window.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyntc_spark.edges import Edges
from dyntc_spark.engines.certificate import Successors
from dyntc_spark.errors import CycleError
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.ids import Ids, Indices

ROOM = 4  # targets that a vertex has room for when it gets its first edge
UNSEEN, OPEN, DONE = 0, 1, 2


class Adjacency:
    """The edges, by source, as rows of one pool that grow by moving to its end.

    Inserting or deleting an edge costs the out-degree of its source, whatever
    the size of the graph; the holes that moved rows leave add up to less than
    the rows themselves.
    """

    def __init__(self, edges: Edges, vertices: int) -> None:
        order = np.argsort(edges.sources, kind="stable")
        self.degrees = np.bincount(edges.sources, minlength=vertices).astype(np.int64)
        self.starts = np.cumsum(self.degrees) - self.degrees
        self.targets: Ids = edges.targets[order].astype(np.int32)
        self._room = self.degrees.copy()
        self._used = len(edges)

    def __len__(self) -> int:
        return int(self.degrees.sum())

    def has(self, edges: Edges) -> npt.NDArray[np.bool_]:
        """Which of these edges are present."""
        return _places(*self.successors, edges.sources, edges.targets) >= 0

    def insert(self, edges: Edges) -> None:
        """Add edges that are absent."""
        for x, y in zip(edges.sources.tolist(), edges.targets.tolist(), strict=True):
            if self.degrees[x] == self._room[x]:
                self._move(x)
            self.targets[self.starts[x] + self.degrees[x]] = y
            self.degrees[x] += 1

    def delete(self, edges: Edges) -> None:
        """Take out edges that are present."""
        _take_out(*self.successors, edges.sources, edges.targets)

    def grow(self, vertices: int) -> None:
        """Let there be this many vertices; the new ones have no edges."""
        more = np.zeros(vertices - len(self.degrees), np.int64)
        self.degrees, self.starts, self._room = (
            np.concatenate([side, more]) for side in (self.degrees, self.starts, self._room)
        )

    @property
    def successors(self) -> Successors:
        """Where the edges of each vertex lead to."""
        return Successors(self.starts, self.degrees, self.targets)

    def edges(self) -> Edges:
        """All edges, sorted by source and target."""
        sources, targets = _listed(*self.successors, len(self))
        order = np.lexsort((targets, sources))
        return Edges(sources[order], targets[order])

    def _move(self, x: int) -> None:
        room = max(ROOM, 2 * int(self._room[x]))
        if self._used + room > len(self.targets):
            more = np.empty(len(self.targets) + room, np.int32)
            self.targets = np.concatenate([self.targets, more])
        row = self.targets[self.starts[x] : self.starts[x] + self.degrees[x]]
        self.targets[self._used : self._used + len(row)] = row
        self.starts[x], self._room[x] = self._used, room
        self._used += room


class Topology:
    """An acyclic digraph and its topological order, under batches of edges.

    Examples
    --------
    >>> graph = Topology(Edges.of([0, 1], [1, 2]), 4)
    >>> graph.apply(Edges.of([3], [0]), Edges.of())
    >>> bool(graph.rank[3] < graph.rank[0] < graph.rank[1] < graph.rank[2])
    True
    >>> graph.apply(Edges.of([2], [3]), Edges.of())
    Traceback (most recent call last):
        ...
    dyntc_spark.errors.CycleError: expected edges that leave the graph acyclic; got the cycle 3 → 0 → 1 → 2 → 3. ...
    """

    def __init__(self, edges: Edges, vertices: int) -> None:
        self.adjacency = Adjacency(edges, vertices)
        self._order = self._searched(np.arange(vertices), np.zeros(vertices, np.int64), 0)[::-1]
        self.rank = np.empty(vertices, np.int64)
        self.rank[self._order] = np.arange(vertices)

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Change the edges and the order, or raise ``CycleError`` and change nothing."""
        self.adjacency.delete(deleted)
        self.adjacency.insert(inserted)
        try:
            self._reorder(inserted)
        except CycleError:
            self.adjacency.delete(inserted)
            self.adjacency.insert(deleted)
            raise

    def agrees(self, edges: Edges) -> bool:
        """Whether the order is one of the graph with these edges too."""
        return bool((self.rank[edges.sources] < self.rank[edges.targets]).all())

    def grow(self, vertices: int) -> None:
        """Put new vertices without edges at the end of the order."""
        new = np.arange(len(self.rank), vertices)
        self.adjacency.grow(vertices)
        self.rank, self._order = np.concatenate([self.rank, new]), np.concatenate([self._order, new])

    def _reorder(self, inserted: Edges) -> None:
        tails, heads = self.rank[inserted.sources], self.rank[inserted.targets]
        violating = tails >= heads
        if not violating.any():
            return
        low, high = int(heads[violating].min()), int(tails[violating].max())
        found = self._searched(np.unique(inserted.targets[violating]), self.rank, high)
        _reorder_window(self._order, self.rank, low, high, found)

    def _searched(self, roots: Indices, rank: Indices, high: int) -> Indices:
        """The vertices up to rank ``high`` that ``roots`` reach, each after all that it reaches."""
        cyclic, found = _search(*self.adjacency.successors, roots, rank, high)
        if cyclic:
            raise CycleError.of(found.tolist())
        return found


@compiled
def _search(
    starts: Indices, degrees: Indices, targets: Ids, roots: Indices, rank: Indices, high: int
) -> tuple[bool, Indices]:  # pragma: no cover  (compiled)
    """Search depth first from ``roots`` among ranks up to ``high``: False and the postorder, or True and a cycle."""
    mark = np.zeros(len(starts), np.int8)
    path, cursor = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
    found = np.empty(len(starts), np.int64)
    count = 0
    for root in roots:
        if mark[root] != UNSEEN:
            continue
        depth = 0
        path[0], cursor[0], mark[root] = root, 0, OPEN
        while depth >= 0:
            v = path[depth]
            if cursor[depth] == degrees[v]:
                mark[v] = DONE
                found[count] = v
                count += 1
                depth -= 1
                continue
            w = np.int64(targets[starts[v] + cursor[depth]])
            cursor[depth] += 1
            if mark[w] == OPEN:
                first = depth
                while path[first] != w:
                    first -= 1
                return True, path[first : depth + 1].copy()
            if mark[w] == UNSEEN and rank[w] <= high:
                depth += 1
                path[depth], cursor[depth], mark[w] = w, 0, OPEN
    return False, found[:count].copy()


@compiled
def _reorder_window(
    order: Indices, rank: Indices, low: int, high: int, found: Indices
) -> None:  # pragma: no cover  (compiled)
    """Move ``found`` (a postorder) behind the other vertices of the window of ranks."""
    for v in found:
        rank[v] = -1
    place = low
    for old in range(low, high + 1):
        v = order[old]
        if rank[v] >= 0:
            order[place], rank[v] = v, place
            place += 1
    for k in range(len(found) - 1, -1, -1):
        order[place], rank[found[k]] = found[k], place
        place += 1


@compiled
def _places(
    starts: Indices, degrees: Indices, targets: Ids, sources: Indices, heads: Indices
) -> Indices:  # pragma: no cover  (compiled)
    """Where each edge lies in the pool; -1 where it is absent."""
    found = np.full(len(sources), -1)
    for q in range(len(sources)):
        first = starts[sources[q]]
        for k in range(first, first + degrees[sources[q]]):
            if targets[k] == heads[q]:
                found[q] = k
    return found


@compiled
def _take_out(
    starts: Indices, degrees: Indices, targets: Ids, sources: Indices, heads: Indices
) -> None:  # pragma: no cover  (compiled)
    for q in range(len(sources)):
        place = _places(starts, degrees, targets, sources[q : q + 1], heads[q : q + 1])[0]
        degrees[sources[q]] -= 1
        targets[place] = targets[starts[sources[q]] + degrees[sources[q]]]


@compiled
def _listed(
    starts: Indices, degrees: Indices, targets: Ids, edges: int
) -> tuple[Indices, Indices]:  # pragma: no cover  (compiled)
    sources, heads = np.empty(edges, np.int64), np.empty(edges, np.int64)
    place = 0
    for v in range(len(starts)):
        for k in range(starts[v], starts[v] + degrees[v]):
            sources[place], heads[place] = v, targets[k]
            place += 1
    return sources, heads
