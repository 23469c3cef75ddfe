"""A shortest path among a few edges, as Spark's workers search it for the SQL function ``<prefix>_path``.

It imports nothing, so that a worker is ready for it at once.
"""

from __future__ import annotations

from typing import Any


def walk(steps: list[tuple[Any, Any]], source: Any, target: Any) -> list[tuple[int, Any, Any]]:  # noqa: ANN401
    """Return the edges of a shortest path, numbered from 1: breadth-first.

    Examples
    --------
    >>> walk([("a", "b"), ("b", "c"), ("c", "d"), ("b", "d")], "a", "d")
    [(1, 'a', 'b'), (2, 'b', 'd')]
    >>> walk([("a", "b")], "b", "a")
    []
    """
    leaving: dict[Any, list[tuple[Any, Any]]] = {}
    for tail, head in steps:
        leaving.setdefault(_key(tail), []).append((tail, head))
    arrivals: dict[Any, tuple[Any, Any]] = {}  # by vertex, the edge over which it was first met
    frontier = [_key(source)]
    for vertex in frontier:
        for edge in leaving.get(vertex, ()):
            head = _key(edge[1])
            if head not in arrivals:
                arrivals[head] = edge
                frontier.append(head)
    path: list[tuple[Any, Any]] = []
    at = _key(target)
    while at != _key(source):
        if at not in arrivals:
            return []
        path.append(arrivals[at])
        at = _key(path[-1][0])
    return [(hop, tail, head) for hop, (tail, head) in enumerate(reversed(path), 1)]


def _key(vertex: Any) -> Any:  # noqa: ANN401  (a vertex of any type; arrays come as lists)
    return tuple(map(_key, vertex)) if isinstance(vertex, list | tuple) else vertex
