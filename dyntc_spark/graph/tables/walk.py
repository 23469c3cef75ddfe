"""A shortest path among a few edges, as Spark's workers search it for SQL: ``<prefix>_path`` and ``<prefix>_cycles``.

It imports nothing, so that a worker is ready for it at once.
"""

from __future__ import annotations

from typing import Any


def walk(steps: list[tuple[Any, Any]], source: Any, target: Any) -> list[tuple[int, Any, Any]]:  # noqa: ANN401
    """Return the edges of a shortest path, at least one, numbered from 1: breadth-first. To its source it is a cycle.

    Examples
    --------
    >>> walk([("a", "b"), ("b", "c"), ("c", "d"), ("b", "d")], "a", "d")
    [(1, 'a', 'b'), (2, 'b', 'd')]
    >>> walk([("a", "b"), ("b", "a")], "a", "a")
    [(1, 'a', 'b'), (2, 'b', 'a')]
    >>> walk([("a", "b")], "b", "a")
    []
    """
    leaving: dict[Any, list[tuple[Any, Any]]] = {}
    for tail, head in steps:
        leaving.setdefault(key(tail), []).append((tail, head))
    arrivals: dict[Any, tuple[Any, Any]] = {}  # by vertex, the edge over which it was first met
    frontier = [key(source)]
    for vertex in frontier:
        for edge in leaving.get(vertex, ()):
            head = key(edge[1])
            if head not in arrivals:
                arrivals[head] = edge
                frontier.append(head)
    path: list[tuple[Any, Any]] = []
    at = key(target)
    while not path or at != key(source):
        if at not in arrivals:
            return []
        path.append(arrivals[at])
        at = key(path[-1][0])
    return [(hop, tail, head) for hop, (tail, head) in enumerate(reversed(path), 1)]


def key(vertex: Any) -> Any:  # noqa: ANN401  (a vertex of any type)
    """Return what a dict can know a vertex by; arrays come as lists, and bytes so that they can be changed.

    Examples
    --------
    >>> key([1, [2]]), key(bytearray(b"a"))
    ((1, (2,)), b'a')
    """
    if isinstance(vertex, list | tuple):
        return tuple(map(key, vertex))
    return bytes(vertex) if isinstance(vertex, bytearray) else vertex
