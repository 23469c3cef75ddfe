"""The slow twin of DynamicClosure: a set of edges, and a search for every question."""

from __future__ import annotations


class Plain:
    """A graph as a set of pairs; vertices stay until a reset."""

    def __init__(self, edges=()):
        self.reset(edges)

    def reset(self, edges):
        self.edges = set(edges)
        self.vertices = {vertex for edge in self.edges for vertex in edge}

    def apply(self, changes):
        before = set(self.edges)
        for op, *edge in changes:
            (self.edges.add if op == "insert" else self.edges.discard)(tuple(edge))
        self.vertices |= {vertex for edge in self.edges - before for vertex in edge}

    def distances(self, source):
        """How many edges a shortest path has to each vertex in reach."""
        found, frontier = {source: 0}, [source]
        for vertex in frontier:
            for tail, head in self.edges:
                if tail == vertex and head not in found:
                    found[head] = found[vertex] + 1
                    frontier.append(head)
        return found

    def pairs(self):
        return {(v, w) for v in self.vertices for w in self.distances(v) if v != w}
