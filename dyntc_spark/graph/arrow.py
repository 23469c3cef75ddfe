"""Answers as Arrow tables: everything that can be asked of a closure, worked out without Spark.

The closure of a digraph is the set of pairs ``(u, v)`` such that a path leads
from ``u`` to ``v``. Every vertex reaches itself, by the path without edges; these
pairs are left out of answers unless asked for with ``reflexive=True``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure.engine import Edges
from dyntc_spark.errors import MissingColumnError, OptionError, UnreachableError
from dyntc_spark.graph.counting import path_counts
from dyntc_spark.graph.history import Difference, Graph
from dyntc_spark.graph.inputs import Ends, read_ends, read_vertices
from dyntc_spark.graph.paths import shortest_paths
from dyntc_spark.graph.surviving import Ask
from dyntc_spark.progress import progress

#: A Spark DataFrame, a pandas or Arrow table with the columns that are named, or a list of tuples in their order.
Table: TypeAlias = Any
#: A value of any type that can be compared; one type in one graph.
Vertex: TypeAlias = Any
Unknown: TypeAlias = Literal["raise", "false"]

NO_TARGET: Any = object()


class ArrowAnswers:
    """What can be asked of a closure as it stands, answered as Arrow tables; see `DynamicClosure.arrow`.

    Parameters
    ----------
    graph
        The graph, whose vertices the engine knows by number.
    ask
        Puts a question to the engine.
    changed
        Works out what the last batch changed.
    version
        Its number.
    """

    def __init__(self, graph: Graph, ask: Ask, changed: Callable[[], Difference], version: int) -> None:
        self._graph = graph
        self._ask = ask
        self._changed = changed
        self._version = version

    def reaches(self, src: Vertex, dst: Vertex, unknown: Unknown = "raise") -> bool:
        """Tell whether a path leads from ``src`` to ``dst``."""
        pair = Ends(read_vertices([src], "src"), read_vertices([dst], "dst"))
        return bool(self._reachable(self._numbers(pair, unknown))[0])

    def query(self, pairs: Table, unknown: Unknown = "raise", src: str = "src", dst: str = "dst") -> pa.Table:
        """Give ``src``, ``dst``, ``reachable``, and ``paths`` where these are counted, for each row of ``pairs``."""
        ends = self._read_pairs(pairs, src, dst)
        numbers = self._numbers(ends, unknown)
        columns = {"src": ends.src, "dst": ends.dst, "reachable": pa.array(self._reachable(numbers))}
        known = _known(numbers)
        pairs = Edges(numbers.sources[known], numbers.targets[known])
        counts = self._ask(lambda engine: path_counts(engine, pairs))
        if counts is not None:
            columns["paths"] = counts.take(pa.array(np.cumsum(known) - 1, mask=~known))
        return pa.table(columns)

    def descendants(self, vertex: Vertex, *, reflexive: bool = False) -> pa.Table:
        """Give the vertices that a vertex reaches: the column ``vertex``."""
        number = self._number(vertex)
        found = self._ask(lambda engine: engine.descendants(number)).targets
        return pa.table({"vertex": self._graph.vertices.names(found if reflexive else found[found != number])})

    def ancestors(self, vertex: Vertex, *, reflexive: bool = False) -> pa.Table:
        """Give the vertices that reach a vertex: the column ``vertex``."""
        number = self._number(vertex)
        found = self._ask(lambda engine: engine.ancestors(number)).sources
        return pa.table({"vertex": self._graph.vertices.names(found if reflexive else found[found != number])})

    def pairs(self, *, reflexive: bool = False) -> pa.Table:
        """Give the whole closure: ``src``, ``dst``, as dictionaries of the vertices, four bytes an end."""
        used = self._graph.vertices.used
        found = self._ask(lambda engine: engine.descendants(used))
        kept = slice(None) if reflexive else found.sources != found.targets
        names, place = self._graph.vertices.names(used), np.zeros(self._graph.vertices.extent, np.int32)
        place[used] = np.arange(len(used))
        ends = [pa.DictionaryArray.from_arrays(place[ends[kept]], names) for ends in (found.sources, found.targets)]
        if pa.types.is_nested(names.type):  # which few formats take as a dictionary
            ends = [column.dictionary_decode() for column in ends]
        return pa.table(ends, ["src", "dst"])

    def edges(self) -> pa.Table:
        """Give the edges: ``src``, ``dst``."""
        return _table(self._graph.named(self._graph.edges.edges))

    def vertices(self) -> pa.Table:
        """Give the vertices: the column ``vertex``."""
        return pa.table({"vertex": self._graph.vertices.names()})

    def changes(self) -> pa.Table:
        """Give the pairs that the last batch changed: ``src``, ``dst``, ``op``, ``version``."""
        ends, op = self._changed().named()
        version = pa.array(np.full(len(ends), self._version))
        return _table(ends).append_column("op", op).append_column("version", version)

    def explain(
        self, source: Vertex | Table, target: Vertex = NO_TARGET, src: str = "src", dst: str = "dst"
    ) -> pa.Table:
        """Give a shortest path, or one for each row of a table of pairs; see `DynamicClosure.explain`."""
        if target is NO_TARGET:
            return self._explain_pairs(source, src, dst)
        pair = Edges(self._number(source), self._number(target))
        (path,) = self._ask(lambda engine: shortest_paths(self._graph.edges, engine, pair))
        if path is None:
            raise UnreachableError(
                "two vertices of which the first reaches the second",
                f"{source!r} and {target!r}, which no path joins in this direction",
                "Ask reaches or query where it may be so, or explain with a table of pairs.",
            )
        hops = pa.array(np.arange(1, len(path), dtype=np.int32))
        return _table(self._graph.named(Edges.of(path[:-1], path[1:]))).add_column(0, "hop", hops)

    def _explain_pairs(self, pairs: Table, src: str, dst: str) -> pa.Table:
        try:
            ends = self._read_pairs(pairs, src, dst)
        except MissingColumnError as error:
            remedy = f"{error.remedy} For one pair: explain(a, b)."
            raise MissingColumnError(error.expected, error.came, remedy) from error
        numbers = self._numbers(ends, "raise")
        of: list[int] = []  # for each row of the answer the row of the pair
        hops: list[int | None] = []
        steps: list[tuple[int, int]] = []
        reachable = np.zeros(len(ends), np.bool_)
        with progress("explaining", len(ends)) as shown:
            paths = self._ask(lambda engine: shortest_paths(self._graph.edges, engine, numbers))
            for row, path in enumerate(paths):
                reachable[row] = path is not None
                walked = list(pairwise(path)) if path else []
                of += [row] * max(len(walked), 1)
                hops += range(1, len(walked) + 1) if walked else [None]
                steps += walked or [(-1, -1)]
                shown.advance()
        rows, every = pa.array(of, pa.int64()), np.array(steps, np.int64).reshape(-1, 2)
        nothing = every[:, 0] < 0
        places = pa.array(np.cumsum(~nothing) - 1, mask=nothing)
        names = [self._graph.vertices.names(column[~nothing]).take(places) for column in every.T]
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

    def _read_pairs(self, pairs: Table, src: str, dst: str) -> Ends:
        """Read pairs; those of an empty table have the type of the graph's vertices."""
        ends = read_ends(pairs, (src, dst))
        nothing = self._graph.vertices.names([])
        return ends if len(ends) else Ends(nothing, nothing)

    def _number(self, vertex: Vertex) -> Ids:
        return self._graph.vertices.known_numbers(read_vertices([vertex], "vertex"))

    def _numbers(self, ends: Ends, unknown: Unknown) -> Edges:
        """Give pairs as numbers: -1 for a vertex that the graph does not have, unless that is an error."""
        if not isinstance(unknown, str) or unknown not in {"raise", "false"}:
            raise OptionError("unknown='raise' or unknown='false'", f"{unknown!r:.80}", "The former is the default.")
        table, refuse = self._graph.vertices, unknown == "raise"
        return Edges(*(table.known_numbers(column, refuse=refuse) for column in (ends.src, ends.dst)))

    def _reachable(self, pairs: Edges) -> npt.NDArray[np.bool_]:
        known, answers = _known(pairs), np.zeros(len(pairs), np.bool_)
        sources, targets = pairs.sources[known], pairs.targets[known]
        answers[known] = self._ask(lambda engine: engine.query(sources, targets))
        return answers


def _table(ends: Ends) -> pa.Table:
    return pa.table({"src": ends.src, "dst": ends.dst})


def _known(pairs: Edges) -> npt.NDArray[np.bool_]:
    known: npt.NDArray[np.bool_] = (pairs.sources >= 0) & (pairs.targets >= 0)
    return known
