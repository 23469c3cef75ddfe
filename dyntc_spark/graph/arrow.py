"""Answers as Arrow tables: everything that can be asked of a closure, worked out without Spark.

The closure of a digraph is the set of pairs ``(u, v)`` such that a path leads
from ``u`` to ``v``. Every vertex reaches itself, by the path without edges; these
pairs are left out of answers unless asked for with ``reflexive=True``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.errors import MissingColumnError, OptionError, UnreachableError
from dyntc_spark.graph.counting import path_counts
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.history import Graph, Version
from dyntc_spark.graph.inputs import Ends, read_ends, read_vertices
from dyntc_spark.graph.paths import shortest_paths
from dyntc_spark.graph.vertices import VertexTable
from dyntc_spark.progress import progress

#: A Spark DataFrame, a pandas or Arrow table with the columns that are named, or a list of tuples in their order.
Table: TypeAlias = Any
#: A value of any type that can be compared; one type in one graph.
Vertex: TypeAlias = Any
Unknown: TypeAlias = Literal["raise", "false"]

NO_TARGET: Any = object()

_Answer = TypeVar("_Answer")
_Numbers = TypeVar("_Numbers")  # of vertices, or of pairs of them


class ArrowAnswers:
    """What can be asked of a closure as it stands, answered as Arrow tables; see `DynamicClosure.arrow`.

    Input is read and answers are named outside the door: only the engine has to be asked behind it.

    Parameters
    ----------
    door
        The way to the closure.
    """

    def __init__(self, door: Door) -> None:
        self._door = door

    def reaches(self, src: Vertex, dst: Vertex, unknown: Unknown = "raise") -> bool:
        """Return whether a path leads from ``src`` to ``dst``."""
        pair = Ends(read_vertices([src], "src"), read_vertices([dst], "dst"))
        _, _, found = self._about(_numbering(pair, unknown), _reachable)
        return bool(found[0])

    def query(self, pairs: Table, unknown: Unknown = "raise", src: str = "src", dst: str = "dst") -> pa.Table:
        """Return ``src``, ``dst``, ``reachable``, and ``paths`` where these are counted, for each row of ``pairs``."""
        ends = read_ends(pairs, (src, dst))

        def answered(closure: Engine, numbers: Edges) -> tuple[npt.NDArray[np.bool_], pa.Array | None]:
            known = _known(numbers)
            counts = path_counts(closure, Edges(numbers.sources[known], numbers.targets[known]))
            return _reachable(closure, numbers), counts

        graph, numbers, (found, counts) = self._about(_numbering(ends, unknown), answered)
        ends = _typed(ends, graph)
        columns = {"src": ends.src, "dst": ends.dst, "reachable": pa.array(found)}
        if counts is not None:
            known = _known(numbers)
            columns["paths"] = counts.take(pa.array(np.cumsum(known) - 1, mask=~known))
        return pa.table(columns)

    def descendants(self, vertex: Vertex, *, reflexive: bool = False) -> pa.Table:
        """Return the vertices that a vertex reaches: the column ``vertex``."""
        asked = _numbering_one(vertex)
        graph, number, found = self._about(asked, lambda closure, number: closure.descendants(number).targets)
        return pa.table({"vertex": graph.vertices.names(found if reflexive else found[found != number])})

    def ancestors(self, vertex: Vertex, *, reflexive: bool = False) -> pa.Table:
        """Return the vertices that reach a vertex: the column ``vertex``."""
        asked = _numbering_one(vertex)
        graph, number, found = self._about(asked, lambda closure, number: closure.ancestors(number).sources)
        return pa.table({"vertex": graph.vertices.names(found if reflexive else found[found != number])})

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

    def edges(self) -> pa.Table:
        """Return the edges: ``src``, ``dst``."""
        return edges_table(self._door.now.graph)

    def vertices(self) -> pa.Table:
        """Return the vertices: the column ``vertex``."""
        return vertices_table(self._door.now.graph)

    def changes(self) -> pa.Table:
        """Return the pairs that the last batch changed: ``src``, ``dst``, ``op``, ``version``."""
        version, difference = self._door.difference()
        ends, op = difference.named()
        number = pa.array(np.full(len(ends), version.number))
        return _table(ends).append_column("op", op).append_column("version", number)

    def explain(
        self, source: Vertex | Table, target: Vertex = NO_TARGET, src: str = "src", dst: str = "dst"
    ) -> pa.Table:
        """Return a shortest path, or one for each row of a table of pairs; see `DynamicClosure.explain`."""
        if target is NO_TARGET:
            return self._explain_pairs(source, src, dst)
        pair = Ends(read_vertices([source], "vertex"), read_vertices([target], "vertex"))

        def found(version: Version, closure: Engine) -> tuple[Graph, list[int] | None]:
            numbers = _numbering(pair, "raise")(version.graph.vertices)
            (path,) = shortest_paths(version.graph.edges, closure, numbers)
            return version.graph, path

        graph, path = self._door.ask(found)
        if path is None:
            raise UnreachableError(
                "two vertices of which the first reaches the second",
                f"{source!r} and {target!r}, which no path joins in this direction",
                "Ask reaches or query where it may be so, or explain with a table of pairs.",
            )
        hops = pa.array(np.arange(1, len(path), dtype=np.int32))
        return _table(graph.named(Edges.of(path[:-1], path[1:]))).add_column(0, "hop", hops)

    def _explain_pairs(self, pairs: Table, src: str, dst: str) -> pa.Table:
        try:
            ends = read_ends(pairs, (src, dst))
        except MissingColumnError as error:
            remedy = f"{error.remedy} For one pair: explain(a, b)."
            raise MissingColumnError(error.expected, error.came, remedy) from error
        of: list[int] = []  # for each row of the answer the row of the pair
        hops: list[int | None] = []
        steps: list[tuple[int, int]] = []
        reachable = np.zeros(len(ends), np.bool_)

        def found(version: Version, closure: Engine) -> tuple[Graph, list[list[int] | None]]:
            numbers = _numbering(ends, "raise")(version.graph.vertices)
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
        nothing = every[:, 0] < 0
        places = pa.array(np.cumsum(~nothing) - 1, mask=nothing)
        names = [graph.vertices.names(column[~nothing]).take(places) for column in every.T]
        ends = _typed(ends, graph)
        return pa.table(
            {
                "src": ends.src.take(rows),
                "dst": ends.dst.take(rows),
                "reachable": pa.array(reachable).take(rows),
                "hop": pa.array(hops, pa.int32()),
                "hop_src": names[0],
                "hop_dst": names[1],
            }
        )

    def _about(
        self, numbering: Callable[[VertexTable], _Numbers], question: Callable[[Engine, _Numbers], _Answer]
    ) -> tuple[Graph, _Numbers, _Answer]:
        """Put a question about some vertices; give also the graph that it was answered for, and their numbers there.

        They are numbered before the door, and again behind it if a batch has just made another table.
        """
        table = self._door.now.graph.vertices
        before = numbering(table)

        def asked(version: Version, closure: Engine) -> tuple[Graph, _Numbers, _Answer]:
            numbers = before if version.graph.vertices is table else numbering(version.graph.vertices)
            return version.graph, numbers, question(closure, numbers)

        return self._door.ask(asked)


def edges_table(graph: Graph) -> pa.Table:
    """Return the edges of a graph: ``src``, ``dst``."""
    return _table(graph.named(graph.edges.edges))


def vertices_table(graph: Graph) -> pa.Table:
    """Return the vertices of a graph: the column ``vertex``."""
    return pa.table({"vertex": graph.vertices.names()})


def _numbering(ends: Ends, unknown: Unknown) -> Callable[[VertexTable], Edges]:
    """Return what numbers pairs by a table: -1 for a vertex that it does not have, unless that is an error."""
    if not isinstance(unknown, str) or unknown not in {"raise", "false"}:
        raise OptionError("unknown='raise' or unknown='false'", f"{unknown!r:.80}", "The former is the default.")
    refuse = unknown == "raise"
    return lambda table: Edges(*(table.known_numbers(column, refuse=refuse) for column in (ends.src, ends.dst)))


def _numbering_one(vertex: Vertex) -> Callable[[VertexTable], Ids]:
    name = read_vertices([vertex], "vertex")
    return lambda table: table.known_numbers(name)


def _reachable(closure: Engine, pairs: Edges) -> npt.NDArray[np.bool_]:
    """Return for each pair whether a path leads from one to the other; none does where one of them is unknown."""
    known, answers = _known(pairs), np.zeros(len(pairs), np.bool_)
    answers[known] = closure.query(pairs.sources[known], pairs.targets[known])
    return answers


def _typed(ends: Ends, graph: Graph) -> Ends:
    """Return pairs as they are, but those of an empty table with the type of the graph's vertices."""
    nothing = graph.vertices.names([])
    return ends if len(ends) else Ends(nothing, nothing)


def _table(ends: Ends) -> pa.Table:
    return pa.table({"src": ends.src, "dst": ends.dst})


def _known(pairs: Edges) -> npt.NDArray[np.bool_]:
    known: npt.NDArray[np.bool_] = (pairs.sources >= 0) & (pairs.targets >= 0)
    return known
