"""How a question about vertices is put: read and numbered outside the door, answered behind it, named outside again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Reachability
from dyntc_spark.errors import InputError, MissingColumnError, OptionError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Ends, Vertex, read_vertices
from dyntc_spark.graph.version import Difference, Graph, Version
from dyntc_spark.graph.vertices.names import Vertices
from dyntc_spark.kernels.ids import Indices

Unknown: TypeAlias = Literal["raise", "false"]

NO_TARGET: Any = object()

_Answer = TypeVar("_Answer")
_Numbers = TypeVar("_Numbers")  # of vertices, or of pairs of them


def ask_about(
    door: Door, numbering: Callable[[Vertices], _Numbers], question: Callable[[Reachability, _Numbers], _Answer]
) -> tuple[Graph, _Numbers, _Answer]:
    """Ask a question about some vertices; return also the graph that it was answered for, and their numbers there.

    They are numbered before the door, and again behind it if a batch has just made another table.
    """
    table = door.now.graph.vertices
    before = numbering(table)

    def asked(version: Version, closure: Reachability) -> tuple[Graph, _Numbers, _Answer]:
        numbers = before if version.graph.vertices is table else numbering(version.graph.vertices)
        return version.graph, numbers, question(closure, numbers)

    return door.ask(asked)


def numbering_pairs(ends: Ends, unknown: Unknown) -> Callable[[Vertices], Edges]:
    """Return what numbers pairs by a table: -1 for a vertex that it does not have, unless that is an error."""
    if not isinstance(unknown, str) or unknown not in {"raise", "false"}:
        raise OptionError("unknown='raise' or unknown='false'", f"{unknown!r:.80}", "The former is the default.")
    refuse = unknown == "raise"
    if ends.src.type != ends.dst.type:  # of two values; at most one of them is of the right type
        return lambda table: Edges(*(table.known_numbers(column, refuse=refuse) for column in (ends.src, ends.dst)))
    both = pa.concat_arrays([ends.src, ends.dst])

    def numbered(table: Vertices) -> Edges:
        numbers = table.known_numbers(both, refuse=refuse)
        return Edges(numbers[: len(ends)], numbers[len(ends) :])

    return numbered


def numbering_one(vertex: Vertex) -> Callable[[Vertices], Indices]:
    """Return what numbers a vertex by a table; one that the table does not have is an error."""
    name = read_vertices([vertex], "vertex")
    return lambda table: table.known_numbers(name)


def pair_of(source: Vertex, target: Vertex) -> Ends:
    """Read two vertices."""
    return Ends(read_vertices([source], "src"), read_vertices([target], "dst"))


@contextmanager
def for_one_pair(question: str) -> Iterator[None]:
    """Where something else comes than a table of pairs, let the error say as well how one pair is asked."""
    try:
        yield
    except InputError as error:
        if type(error) not in {InputError, MissingColumnError}:
            raise
        raise type(error)(error.expected, error.came, f"{error.remedy} For one pair: {question}(a, b).") from error


def reachable(closure: Reachability, pairs: Edges) -> npt.NDArray[np.bool_]:
    """Return for each pair whether a path leads from one to the other; none does where one of them is unknown."""
    known, answers = known_pairs(pairs), np.zeros(len(pairs), np.bool_)
    answers[known] = closure.query(pairs.sources[known], pairs.targets[known])
    return answers


def known_pairs(pairs: Edges) -> npt.NDArray[np.bool_]:
    """Return for each pair whether both of its vertices are known."""
    known: npt.NDArray[np.bool_] = (pairs.sources >= 0) & (pairs.targets >= 0)
    return known


def typed(ends: Ends, graph: Graph) -> Ends:
    """Return pairs as they are, but those of an empty table with the type of the graph's vertices."""
    nothing = graph.vertices.names([])
    return ends if len(ends) else Ends(nothing, nothing)


def ends_table(ends: Ends) -> pa.Table:
    """Return pairs or edges as a table: ``src``, ``dst``."""
    return pa.table({"src": ends.src, "dst": ends.dst})


def vertices_table(graph: Graph, numbers: Indices | None = None) -> pa.Table:
    """Return some vertices of a graph, by default all: the column ``vertex``."""
    return pa.table({"vertex": graph.vertices.names(numbers)})


def changes_table(difference: Difference, version: int) -> pa.Table:
    """Return pairs that a batch changes: ``src``, ``dst``, ``op``, ``version``."""
    ends, op = difference.named()
    number = pa.array(np.full(len(ends), version, np.int64))
    return ends_table(ends).append_column("op", op).append_column("version", number)
