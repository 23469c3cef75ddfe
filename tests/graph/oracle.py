"""The slow twin of DynamicClosure: a set of edges, and a search for every question."""

from __future__ import annotations

from collections import Counter


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


class Counted(Plain):
    """A multigraph: how often each edge is there."""

    def reset(self, edges):
        self.counts = Counter(edges)
        super().reset(edges)

    def apply(self, changes):
        """Add up insertions and deletions; return how many copies came, how many went, and deletions of too many."""
        net, before = Counter(), Counter(self.counts)
        for op, *edge in changes:
            net[tuple(edge)] += 1 if op == "insert" else -1
        ignored = 0
        for edge, number in net.items():
            ignored += max(0, -(self.counts[edge] + number))
            self.counts[edge] = max(0, self.counts[edge] + number)
        self.counts = +self.counts
        came, went = self.counts - before, before - self.counts
        self.vertices |= {vertex for edge in came for vertex in edge}
        self.edges = set(self.counts)
        return came.total(), went.total(), ignored
