"""Everyday questions about a graph and its closure, answered as Arrow tables; `everyday` says what each one means.

What edges alone tell is answered from the version that is current, without waiting. The rest goes through the door.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.abilities import reach_counts
from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.changes.difference_on_spark import DifferenceOnSpark
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Table, Vertex, read_ends
from dyntc_spark.graph.questions import structure
from dyntc_spark.graph.questions.numbered import (
    NO_TARGET,
    Unknown,
    ask_about,
    changes_table,
    ends_table,
    for_one_pair,
    known_pairs,
    numbering_pairs,
    pair_of,
    typed,
    vertices_table,
)
from dyntc_spark.graph.questions.paths import distances
from dyntc_spark.graph.questions.ranking import RANKED, By, ranked, require_ranking
from dyntc_spark.graph.questions.what_if import what_if
from dyntc_spark.graph.tables.relations import Relations
from dyntc_spark.graph.version import Graph, Version
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.session import session_for


class EverydayArrow:
    """Questions to a closure, answered as Arrow tables."""

    def __init__(self, door: Door) -> None:
        self._door = door

    # --- what the edges tell -----------------------------------------------------------------

    def components(self) -> pa.Table:
        """Return the strongly connected component of each vertex: ``vertex``, ``component``, ``size``."""
        graph = self._door.now.graph
        used = graph.vertices.used
        of = structure.representatives(graph.edges, graph.vertices.extent)
        sizes = np.bincount(of, minlength=1)[of[used]]
        names = [graph.vertices.names(numbers) for numbers in (used, of[used])]
        return pa.table([*names, pa.array(sizes, pa.int64())], ["vertex", "component", "size"])

    def cycles(self) -> pa.Table:
        """Return a cycle of each component that has one: ``component``, ``hop``, ``src``, ``dst``."""
        graph = self._door.now.graph
        of = structure.representatives(graph.edges, graph.vertices.extent)
        component, hops, edges = structure.witnesses(graph.edges, of)
        ends = graph.named(edges)
        columns = [graph.vertices.names(component), pa.array(hops, pa.int32()), ends.src, ends.dst]
        return pa.table(columns, ["component", "hop", "src", "dst"])

    def is_acyclic(self) -> bool:
        """Return whether the graph has no cycle; a self-loop is one."""
        graph = self._door.now.graph
        return not len(structure.cyclic(graph.edges, structure.representatives(graph.edges, graph.vertices.extent)))

    def roots(self) -> pa.Table:
        """Return the vertices that no edge leads to: the column ``vertex``."""
        graph = self._door.now.graph
        return vertices_table(graph, structure.roots(graph.edges, graph.vertices.used))

    def leaves(self) -> pa.Table:
        """Return the vertices that no edge leaves: the column ``vertex``."""
        graph = self._door.now.graph
        return vertices_table(graph, structure.leaves(graph.edges, graph.vertices.used))

    # --- what the closure tells --------------------------------------------------------------

    def distance(
        self,
        source: Vertex | Table,
        target: Vertex = NO_TARGET,
        unknown: Unknown = "raise",
        src: str = "src",
        dst: str = "dst",
    ) -> pa.Table | int | None:
        """Return how many edges a shortest path has, or ``src``, ``dst`` and ``distance`` for each row of a table."""
        with for_one_pair("distance"):
            ends = read_ends(source, (src, dst)) if target is NO_TARGET else pair_of(source, target)
        numbering = numbering_pairs(ends, unknown)

        def asked(version: Version, closure: Reachability) -> tuple[Graph, Indices]:
            numbers = numbering(version.graph.vertices)
            known, found = known_pairs(numbers), np.full(len(ends), -1, np.int64)
            pairs = numbers.where(known)
            found[known] = distances(version.graph.edges, closure, pairs)
            return version.graph, found

        graph, found = self._door.ask_apart(asked) if target is NO_TARGET else self._door.ask(asked)
        if target is not NO_TARGET:
            return int(found[0]) if found[0] >= 0 else None
        hops = pa.array(found.astype(np.int32), mask=found < 0)
        return ends_table(typed(ends, graph)).append_column("distance", hops)

    def impact(self, top: int = 10, by: By = "ancestors") -> pa.Table:
        """Return the vertices with most ancestors, or descendants: ``vertex``, ``ancestors``, ``descendants``."""
        require_ranking(top, by)

        def asked(version: Version, closure: Reachability) -> pa.Table:
            if closure.backend == "spark":
                tables = Relations(session_for(None)).tables(version, closure)
                return ranked(tables, by, top).toArrow()
            used = version.graph.vertices.used
            below, above = reach_counts(closure, used)
            first = np.argsort(-(above if by == "ancestors" else below), kind="stable")[:top]
            names = version.graph.vertices.names(used[first])
            return pa.table([names, pa.array(above[first]), pa.array(below[first])], list(RANKED))

        return self._door.ask_apart(asked)

    def between(self, source: Vertex, target: Vertex, *, edges: bool = False) -> pa.Table:
        """Return the vertices, or the edges, on the paths from one vertex to another."""

        def asked(closure: Reachability, pair: Edges) -> Indices:
            below, above = closure.descendants(pair.sources).targets, closure.ancestors(pair.targets).sources
            return np.intersect1d(below, above, assume_unique=True)

        graph, _, inside = ask_about(self._door, numbering_pairs(pair_of(source, target), "raise"), asked)
        if not edges:
            return vertices_table(graph, inside)
        steps = graph.edges.leaving(inside)
        kept = np.isin(steps.targets, inside)
        return ends_table(graph.named(steps.where(kept)))

    def common_ancestors(self, a: Vertex, b: Vertex, *, reflexive: bool = False) -> pa.Table:
        """Return the vertices that reach both of two vertices: the column ``vertex``."""
        return self._common(a, b, lambda closure, number: closure.ancestors(number).sources, reflexive)

    def common_descendants(self, a: Vertex, b: Vertex, *, reflexive: bool = False) -> pa.Table:
        """Return the vertices that both of two vertices reach: the column ``vertex``."""
        return self._common(a, b, lambda closure, number: closure.descendants(number).targets, reflexive)

    def what_if(
        self,
        changes: Table,
        *,
        strict: bool = False,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        timestamp: str = "timestamp",
    ) -> pa.Table:
        """Return the pairs that a batch would change: ``src``, ``dst``, ``op``, ``version``; nothing is applied."""
        number, found = what_if(self._door, changes, (op, src, dst), timestamp, strict=strict)
        return changes_table(found.collected() if isinstance(found, DifferenceOnSpark) else found, number)

    def _common(
        self, a: Vertex, b: Vertex, side: Callable[[Reachability, Indices], Indices], reflexive: bool
    ) -> pa.Table:
        def others(closure: Reachability, number: Indices) -> Indices:
            found = side(closure, number)
            return found if reflexive else found[found != number]

        def asked(closure: Reachability, pair: Edges) -> Indices:
            both = others(closure, pair.sources), others(closure, pair.targets)
            return np.intersect1d(*both, assume_unique=True)

        graph, _, found = ask_about(self._door, numbering_pairs(pair_of(a, b), "raise"), asked)
        return vertices_table(graph, found)
