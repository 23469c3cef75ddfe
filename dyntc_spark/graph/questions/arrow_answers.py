"""Everything that can be asked of a closure: worked out in numbers, and then named, as Arrow tables or on Spark.

The closure of a digraph is the set of pairs ``(u, v)`` such that a path leads
from ``u`` to ``v``. Every vertex reaches itself, by the path without edges; these
pairs are left out of answers unless asked for with ``reflexive=True``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.abilities import path_counts
from dyntc_spark.engines.base import Reachability
from dyntc_spark.errors import OptionError, UnreachableError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Ends, Table, Vertex, read_ends, read_vertices
from dyntc_spark.graph.older_versions import OlderVersions
from dyntc_spark.graph.questions.everyday_arrow import EverydayArrow
from dyntc_spark.graph.questions.numbered import (
    NO_TARGET,
    Unknown,
    ask_about,
    changes_table,
    for_one_pair,
    known_pairs,
    numbering_one,
    numbering_pairs,
    pair_of,
    reachable,
    typed,
)
from dyntc_spark.graph.questions.paths import shortest_paths
from dyntc_spark.graph.version import Graph, Version
from dyntc_spark.graph.vertices.names import with_names
from dyntc_spark.progress import progress

#: Columns of answers that have vertices.
ENDS, HOPS = ("src", "dst"), ("hop_src", "hop_dst")

_Made = TypeVar("_Made")  # what answers are made of: Arrow tables, or DataFrames


class NamedAnswers(Generic[_Made]):
    """What can be asked of a closure as it stands.

    Input is read and answers are named outside the door: only the engine has to be asked behind it.

    Parameters
    ----------
    door
        The way to the closure.
    make
        Makes an answer of a table in which some columns, which are named, have numbers of the graph's vertices.
    """

    def __init__(self, door: Door, make: Callable[[Graph, pa.Table, tuple[str, ...]], _Made]) -> None:
        self._door, self._make = door, make

    def reaches(self, src: Vertex, dst: Vertex, unknown: Unknown = "raise") -> bool:
        """Return whether a path leads from ``src`` to ``dst``."""
        _, _, found = ask_about(self._door, numbering_pairs(pair_of(src, dst), unknown), reachable)
        return bool(found[0])

    def query(self, pairs: Table, unknown: Unknown = "raise", src: str = "src", dst: str = "dst") -> _Made:
        """Return ``src``, ``dst``, ``reachable``, and ``paths`` where these are counted, for each row of ``pairs``."""
        ends = read_ends(pairs, (src, dst))

        def answered(closure: Reachability, numbers: Edges) -> tuple[npt.NDArray[np.bool_], pa.Array | None]:
            known = known_pairs(numbers)
            counts = path_counts(closure, numbers.where(known))
            return reachable(closure, numbers), counts

        graph, numbers, (found, counts) = ask_about(self._door, numbering_pairs(ends, unknown), answered)
        ends = typed(ends, graph)
        columns = {"src": ends.src, "dst": ends.dst, "reachable": pa.array(found)}
        if counts is not None:
            known = known_pairs(numbers)
            columns["paths"] = counts.take(pa.array(np.cumsum(known) - 1, mask=~known))
        return self._make(graph, pa.table(columns), ())

    def descendants(self, vertex: Vertex, *, reflexive: bool = False) -> _Made:
        """Return the vertices that a vertex reaches: the column ``vertex``."""
        asked = numbering_one(vertex)
        graph, number, found = ask_about(self._door, asked, lambda closure, number: closure.descendants(number).targets)
        return self._make(graph, pa.table({"vertex": found if reflexive else found[found != number]}), ("vertex",))

    def ancestors(self, vertex: Vertex, *, reflexive: bool = False) -> _Made:
        """Return the vertices that reach a vertex: the column ``vertex``."""
        asked = numbering_one(vertex)
        graph, number, found = ask_about(self._door, asked, lambda closure, number: closure.ancestors(number).sources)
        return self._make(graph, pa.table({"vertex": found if reflexive else found[found != number]}), ("vertex",))

    def edges(self) -> _Made:
        """Return the edges: ``src``, ``dst``, and of a multigraph ``count``."""
        return self.edges_of(self._door.now.graph)

    def vertices(self) -> _Made:
        """Return the vertices: the column ``vertex``."""
        return self.vertices_of(self._door.now.graph)

    def edges_of(self, graph: Graph) -> _Made:
        """Return the edges of a version: ``src``, ``dst``, and of a multigraph ``count``."""
        edges = graph.edges.edges
        found = _table(edges)
        if graph.copies is not None:
            found = found.append_column("count", pa.array(graph.counts(edges)))
        return self._make(graph, found, ENDS)

    def vertices_of(self, graph: Graph) -> _Made:
        """Return the vertices of a version: the column ``vertex``."""
        return self._make(graph, pa.table({"vertex": graph.vertices.used}), ("vertex",))

    def changes(self) -> _Made:
        """Return the pairs that the last batch changed: ``src``, ``dst``, ``op``, ``version``."""
        version, difference = self._door.difference()
        pairs, op = difference.changed()
        number = pa.array(np.full(len(pairs), version.number, np.int64))
        found = _table(pairs).append_column("op", op).append_column("version", number)
        return self._make(difference.graph, found, ENDS)

    def explain(self, source: Vertex | Table, target: Vertex = NO_TARGET, src: str = "src", dst: str = "dst") -> _Made:
        """Return a shortest path, or one for each row of a table of pairs; see `DynamicClosure.explain`."""
        if target is NO_TARGET:
            return self._explain_pairs(source, src, dst)
        pair = Ends(read_vertices([source], "vertex"), read_vertices([target], "vertex"))

        def found(version: Version, closure: Reachability) -> tuple[Graph, list[int] | None]:
            numbers = numbering_pairs(pair, "raise")(version.graph.vertices)
            (path,) = shortest_paths(version.graph.edges, closure, numbers)
            return version.graph, path

        graph, path = self._door.ask(found)
        if path is None:
            raise UnreachableError(
                "two vertices, the first of which reaches the second",
                f"{source!r} and {target!r}, which no path joins in this direction",
                "Ask reaches or query where it may be so, or explain with a table of pairs.",
            )
        hops = pa.array(np.arange(1, len(path), dtype=np.int32))
        return self._make(graph, _table(Edges.of(path[:-1], path[1:])).add_column(0, "hop", hops), ENDS)

    def _explain_pairs(self, pairs: Table, src: str, dst: str) -> _Made:
        with for_one_pair("explain"):
            ends = read_ends(pairs, (src, dst))
        of: list[int] = []  # for each row of the answer the row of the pair
        hops: list[int | None] = []
        steps: list[tuple[int, int]] = []
        reachable = np.zeros(len(ends), np.bool_)

        def found(version: Version, closure: Reachability) -> tuple[Graph, list[list[int] | None]]:
            numbers = numbering_pairs(ends, "raise")(version.graph.vertices)
            with progress("explaining", len(ends)) as shown:
                paths = []
                for path in shortest_paths(version.graph.edges, closure, numbers):
                    paths.append(path)
                    shown.advance()
            return version.graph, paths

        graph, paths = self._door.ask_apart(found)
        for row, path in enumerate(paths):
            reachable[row] = path is not None
            walked = list(pairwise(path)) if path else []
            of += [row] * max(len(walked), 1)
            hops += range(1, len(walked) + 1) if walked else [None]
            steps += walked or [(-1, -1)]
        rows, every = pa.array(of, pa.int64()), np.array(steps, np.int64).reshape(-1, 2)
        ends = typed(ends, graph)
        columns = {
            "src": ends.src.take(rows),
            "dst": ends.dst.take(rows),
            "reachable": pa.array(reachable).take(rows),
            "hop": pa.array(hops, pa.int32()),
        }
        steps_of = {end: pa.array(column, mask=column < 0) for end, column in zip(HOPS, every.T, strict=True)}
        return self._make(graph, pa.table({**columns, **steps_of}), HOPS)


class ArrowAnswers(NamedAnswers[pa.Table], EverydayArrow):
    """What can be asked of a closure as it stands, answered as Arrow tables; see `DynamicClosure.arrow`.

    Where names of vertices are on Spark, they are brought here.

    Parameters
    ----------
    door
        The way to the closure.
    older
        The older versions of the closure; None where only what is in memory is asked.
    """

    def __init__(self, door: Door, older: OlderVersions | None = None) -> None:
        super().__init__(door, lambda graph, table, ends: with_names(graph.vertices, table, ends))
        self._older = older

    def pairs(self, *, reflexive: bool = False) -> pa.Table:
        """Return the whole closure: ``src``, ``dst``, as dictionaries of the vertices, four bytes an end."""
        vertices, found = self._door.ask_apart(
            lambda version, closure: (version.graph.vertices, closure.descendants(version.graph.vertices.used))
        )
        kept = slice(None) if reflexive else found.sources != found.targets
        used, place = vertices.used, np.zeros(vertices.extent, np.int32)
        names = vertices.names(used)
        place[used] = np.arange(len(used))
        ends = [pa.DictionaryArray.from_arrays(place[ends[kept]], names) for ends in (found.sources, found.targets)]
        if pa.types.is_nested(names.type):  # which few formats take as a dictionary
            ends = [column.dictionary_decode() for column in ends]
        return pa.table(ends, ["src", "dst"])

    def history(self) -> pa.Table:
        """Return the versions at the location of the closure; see `DynamicClosure.history`."""
        return self._required_older().history()

    def changes(self, since: int | None = None) -> pa.Table:
        """Return the pairs that the last batch changed, or all since a version; see `DynamicClosure.changes`."""
        if since is None:
            return super().changes()
        number, found = self._required_older().difference(since)
        return changes_table(found, number)

    def _required_older(self) -> OlderVersions:
        if self._older is None:
            raise OptionError("a closure at a location", "one in memory only", "Call save() first, or open().")
        return self._older


def _table(pairs: Edges) -> pa.Table:
    return pa.table({"src": pairs.sources, "dst": pairs.targets})
