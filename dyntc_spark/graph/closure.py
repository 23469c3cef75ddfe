"""``DynamicClosure``: which vertices reach which, in a directed graph that changes.

The closure of a digraph is the set of pairs ``(u, v)`` such that a path leads
from ``u`` to ``v``. Every vertex reaches itself, by the path without edges; these
pairs are left out of answers unless asked for with ``reflexive=True``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.blocks.grid import Ids
from dyntc_spark.closure import choose
from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.errors import CycleError, OptionError, RedundantChangeError, UnreachableError, VertexTypeError
from dyntc_spark.graph.batch import net_effect, only_used
from dyntc_spark.graph.frames import closure_rows, frame, numbered, session_for
from dyntc_spark.graph.history import Graph, Tally, changes_between
from dyntc_spark.graph.inputs import Ends, read_changes, read_ends, read_vertices
from dyntc_spark.graph.paths import shortest_path
from dyntc_spark.graph.views import Views, statement

#: A Spark DataFrame, a pandas or Arrow table with the columns that are named, or a list of tuples in their order.
Table: TypeAlias = Any
#: A value of any type that can be compared; one type in one graph.
Vertex: TypeAlias = Any
Unknown: TypeAlias = Literal["raise", "false"]


class DynamicClosure:
    """The closure of a directed graph, kept up to date while edges come and go.

    Every change is one atomic batch: when it is refused, the closure answers as
    before. Batches are numbered; ``version`` is the number of the last.

    Examples
    --------
    >>> c = DynamicClosure.from_edges([("app", "web"), ("web", "tls"), ("web", "log")])
    >>> c.reaches("app", "tls")
    True
    >>> c.delete([("web", "tls")])
    >>> c.reaches("app", "tls")
    False
    >>> c
    DynamicClosure(4 vertices, 2 edges; engine 'refresh' in process, version 1)
    """

    def __init__(self, engine: Engine, spark: SparkSession | None = None) -> None:
        self._engine = engine
        self._spark = spark
        self._graph = Graph()
        self._before = self._graph
        self._changed: dict[str, pa.Array] | None = None  # worked out when first asked for
        self._tally = Tally()
        self._views: list[Views] = []
        self.version = 0

    # --- making and changing -----------------------------------------------------------------

    @classmethod
    def from_edges(
        cls, edges: Table, spark: SparkSession | None = None, engine: str = "auto", backend: str = "auto"
    ) -> DynamicClosure:
        """Make the closure of a graph.

        Parameters
        ----------
        edges
            Columns ``src`` and ``dst``, or pairs; an edge that is there twice counts once. The vertices
            are the ends of the edges.
        spark
            The session in which answers become DataFrames; by default that of ``edges``, else the active one,
            else a local one that is started when an answer first needs it.
        engine
            ``"refresh"``, ``"recompute"``, for acyclic graphs ``"path_counting"``, or ``"auto"`` to have one chosen.
        backend
            ``"local"``: the state is in this process; ``"auto"`` to have one chosen.
        """
        if backend not in {"auto", "local"}:
            raise OptionError("a backend called 'auto', 'local'", f"{backend!r}", "Leave it out to have one chosen.")
        made = choose.create(engine)
        closure = cls(made, edges.sparkSession if spark is None and isinstance(edges, DataFrame) else spark)
        closure._start(edges)
        closure._before = closure._graph
        return closure

    def insert(self, edges: Table, *, strict: bool = False) -> None:
        """Insert edges, as one batch; ends that are not there yet become vertices.

        Edges that are there already are counted in ``stats()``; with ``strict`` they are an error.
        """
        ends = read_ends(edges)
        self._change(ends, np.ones(len(ends), np.bool_), strict=strict)

    def insert_at(
        self, vertex: Vertex, sources: Iterable[Vertex] = (), targets: Iterable[Vertex] = (), *, strict: bool = False
    ) -> None:
        """Insert edges from ``sources`` to a vertex and from there to ``targets``, as one batch.

        Examples
        --------
        >>> c = DynamicClosure.from_edges([(1, 2), (3, 4)])
        >>> c.insert_at(9, sources=[2], targets=[3])
        >>> c.reaches(1, 4)
        True
        """
        centre = read_vertices([vertex], "vertex")
        tails, heads = (
            _of_kind(read_vertices(ends, name), centre.type, name)
            for ends, name in ((sources, "sources"), (targets, "targets"))
        )
        into, out = (centre.take(pa.array([0] * len(ends), pa.int64())) for ends in (tails, heads))
        ends = Ends(pa.concat_arrays([tails, out]), pa.concat_arrays([into, heads]))
        self._change(ends, np.ones(len(ends), np.bool_), strict=strict)

    def delete(self, edges: Table, *, strict: bool = False) -> None:
        """Delete edges, as one batch; their ends stay vertices.

        Edges that are not there are counted in ``stats()``; with ``strict`` they are an error.
        """
        ends = read_ends(edges)
        self._change(ends, np.zeros(len(ends), np.bool_), strict=strict)

    def apply(self, changes: Table, *, strict: bool = False) -> None:
        """Insert and delete edges, as one batch.

        Parameters
        ----------
        changes
            Columns ``op`` (``"insert"`` or ``"delete"``), ``src`` and ``dst``, or triples. Where an edge is named
            more than once the last change counts, so a Spark DataFrame that does this should be sorted.
        strict
            Whether a change that changes nothing is an error.

        Examples
        --------
        >>> c = DynamicClosure.from_edges([(1, 2)])
        >>> c.apply([("insert", 2, 3), ("delete", 1, 2), ("insert", 1, 3)])
        >>> c.reaches(1, 2), c.reaches(1, 3)
        (False, True)
        """
        self._change(*read_changes(changes), strict=strict)

    def reset(self, edges: Table) -> None:
        """Start again with other edges, as one batch; vertices without an edge go."""
        before = self._graph
        self._start(edges)
        self._committed(before)

    # --- questions ---------------------------------------------------------------------------

    def reaches(self, src: Vertex, dst: Vertex, *, unknown: Unknown = "raise") -> bool:
        """Tell whether a path leads from ``src`` to ``dst``; it needs no Spark.

        A vertex that the graph does not have is an error, or with ``unknown="false"`` reaches nothing.
        """
        return bool(self._reachable(Ends(read_vertices([src], "src"), read_vertices([dst], "dst")), unknown)[0])

    def query(self, pairs: Table, *, unknown: Unknown = "raise") -> DataFrame:
        """Answer many pairs at once: ``src``, ``dst`` and ``reachable``, a row for each row of ``pairs``."""
        ends = read_ends(pairs)
        if not len(ends):
            nothing = self._graph.vertices.names([])
            ends = Ends(nothing, nothing)
        return self._frame({**_columns(ends), "reachable": pa.array(self._reachable(ends, unknown))})

    def descendants(self, vertex: Vertex, *, reflexive: bool = False) -> DataFrame:
        """The vertices that a vertex reaches: the column ``vertex``."""
        number = self._number(vertex)
        found = self._engine.descendants(number).targets
        return self._frame({"vertex": self._graph.vertices.names(found if reflexive else found[found != number])})

    def ancestors(self, vertex: Vertex, *, reflexive: bool = False) -> DataFrame:
        """The vertices that reach a vertex: the column ``vertex``."""
        number = self._number(vertex)
        found = self._engine.ancestors(number).sources
        return self._frame({"vertex": self._graph.vertices.names(found if reflexive else found[found != number])})

    def pairs(self, *, reflexive: bool = False) -> DataFrame:
        """The whole closure: ``src`` reaches ``dst``."""
        spark = session_for(self._spark)
        vertices = frame(spark, numbered(self._graph.vertices.names()))
        found = spark.sql(statement("closure"), rows=frame(spark, self._rows()), vertices=vertices)
        return found.unionAll(vertices.selectExpr("vertex AS src", "vertex AS dst")) if reflexive else found

    def edges(self) -> DataFrame:
        """The edges: ``src``, ``dst``."""
        return self._frame(_columns(self._graph.named(self._graph.edges.edges)))

    def vertices(self) -> DataFrame:
        """The vertices: the column ``vertex``."""
        return self._frame({"vertex": self._graph.vertices.names()})

    def explain(self, src: Vertex, dst: Vertex) -> DataFrame:
        """A shortest path that witnesses that ``src`` reaches ``dst``: ``hop`` from 1 on, ``src``, ``dst``.

        From a vertex to itself it is empty. Where there is no path, the error ``UnreachableError`` says so.
        """
        source, target = self._number(src)[0], self._number(dst)[0]
        path = shortest_path(self._graph.edges, self._engine, int(source), int(target))
        if path is None:
            raise UnreachableError(
                "two vertices of which the first reaches the second",
                f"{src!r} and {dst!r}, which no path joins in this direction",
                "Ask reaches or query where it may be so.",
            )
        hops = pa.array(np.arange(1, len(path), dtype=np.int32))
        return self._frame({"hop": hops, **_columns(self._graph.named(Edges.of(path[:-1], path[1:])))})

    def changes(self) -> DataFrame:
        """The pairs that the last batch made reachable or unreachable: ``src``, ``dst``, ``op``, ``version``.

        Worked out when asked for, from the rows of the vertices that the batch can have affected.
        """
        return self._frame(self._changes())

    def stats(self) -> Mapping[str, Any]:
        """Sizes, the number of batches and what became of them, and under ``details`` what the engine says."""
        details = dict(self._engine.stats())
        return {
            "version": self.version,
            "vertices": len(self._graph.vertices),
            "edges": len(self._graph.edges),
            "pairs": details["pairs"] if "pairs" in details else self._count_pairs(),
            **self._tally.as_dict(),
            "engine": self._engine.name,
            "backend": "local",
            "details": details,
        }

    # --- SQL ---------------------------------------------------------------------------------

    def create_views(self, prefix: str) -> None:
        """Create the temporary views ``<prefix>_edges``, ``_vertices``, ``_closure``, ``_changes`` and ``_stats``.

        They see every later batch, each of which then also hands the closure to Spark: some four bytes a pair.
        The statements are in ``sql/``.
        """
        views = Views(session_for(self._spark), prefix)
        views.register(self._relations(views.spark))
        self._views.append(views)

    # --- helpers -----------------------------------------------------------------------------

    def _start(self, edges: Table) -> None:
        """Take other edges; nothing is replaced before the engine has them."""
        ends = read_ends(edges)
        self._graph.vertices.require_kind(ends.src)
        graph = Graph()
        numbers, names = graph.vertices.numbered(ends)
        with _naming_cycles(names):
            self._engine.init(numbers, len(names))
        self._graph = graph.after(numbers, Edges.of(), names)
        self._tally = self._tally.plus(insertions_ignored=len(ends) - len(self._graph.edges))

    def _change(self, ends: Ends, inserting: npt.NDArray[np.bool_], *, strict: bool) -> None:
        """Bring a batch to its net effect, to the engine and into the graph."""
        before = self._graph
        known = len(before.vertices)
        numbers, names = before.vertices.numbered(ends)
        net = net_effect(numbers, inserting, before.edges)
        if strict and net.redundant.any():
            _refuse_redundant(ends, inserting, int(np.argmax(net.redundant)))
        inserted, used = only_used(net.inserted, known)
        added = names.take(pa.array(used))
        # When an earlier batch failed after this, the engine has vertices to spare.
        self._engine.grow(max(self._engine.vertices, known + len(used)))
        if len(inserted) or len(net.deleted):
            with _naming_cycles(before.vertices.names(), added):
                self._engine.apply(inserted, net.deleted)
        self._graph = before.after(inserted, net.deleted, added)
        self._tally = self._tally.plus(
            inserted=len(inserted),
            deleted=len(net.deleted),
            insertions_ignored=int(np.count_nonzero(net.redundant & inserting)),
            deletions_ignored=int(np.count_nonzero(net.redundant & ~inserting)),
        )
        self._committed(before)

    def _committed(self, before: Graph) -> None:
        """Number the batch that is done, and let the views see it."""
        self.version += 1
        self._before, self._changed = before, None
        self._views = [views for views in self._views if views.current()]
        for views in self._views:
            views.refresh(self._relations(views.spark))

    def _number(self, vertex: Vertex) -> Ids:
        return self._graph.vertices.known_numbers(read_vertices([vertex], "vertex"))

    def _reachable(self, ends: Ends, unknown: Unknown) -> npt.NDArray[np.bool_]:
        if unknown not in {"raise", "false"}:
            raise OptionError("unknown='raise' or unknown='false'", f"{unknown!r}", "The former is the default.")
        src, dst = (
            self._graph.vertices.known_numbers(column, refuse=unknown == "raise") for column in (ends.src, ends.dst)
        )
        known = (src >= 0) & (dst >= 0)
        answers = np.zeros(len(ends), np.bool_)
        answers[known] = self._engine.query(src[known], dst[known])
        return answers

    def _frame(self, columns: dict[str, pa.Array]) -> DataFrame:
        return frame(session_for(self._spark), columns)

    def _rows(self) -> dict[str, pa.Array]:
        everything = np.arange(len(self._graph.vertices))
        return closure_rows(self._graph.vertices.names(), self._engine.descendants(everything))

    def _count_pairs(self) -> int:
        everything = np.arange(len(self._graph.vertices))
        return len(self._engine.descendants(everything)) - len(everything)

    def _changes(self) -> dict[str, pa.Array]:
        if self._changed is None:
            ends, op = changes_between(self._before, self._graph, self._engine)
            version = pa.array(np.full(len(ends), self.version))
            self._changed = {**_columns(ends), "op": op, "version": version}
        return self._changed

    def _relations(self, spark: SparkSession) -> dict[str, DataFrame]:
        """Give what the statements in ``sql/`` are about."""
        stats = self.stats()
        details = pa.array([[(key, str(value)) for key, value in stats["details"].items()]], _DETAILS)
        columns = {
            "vertices": numbered(self._graph.vertices.names()),
            "edges": _columns(self._graph.named(self._graph.edges.edges)),
            "rows": self._rows(),
            "changes": self._changes(),
            "stats": {
                **{key: pa.array([value]) for key, value in stats.items() if key != "details"},
                "details": details,
            },
        }
        return {name: frame(spark, relation) for name, relation in columns.items()}

    def __repr__(self) -> str:
        sizes = f"{len(self._graph.vertices)} vertices, {len(self._graph.edges)} edges"
        return f"DynamicClosure({sizes}; engine {self._engine.name!r} in process, version {self.version})"


_DETAILS = pa.map_(pa.string(), pa.string())


@contextmanager
def _naming_cycles(*names: pa.Array) -> Iterator[None]:
    """Let a cycle that an engine refuses be named by its vertices; the engine knows their numbers."""
    try:
        yield
    except CycleError as error:
        every = pa.concat_arrays([part for part in names if len(part)])
        raise CycleError.of(every.take(pa.array(error.cycle)).to_pylist()) from None


def _columns(ends: Ends) -> dict[str, pa.Array]:
    return {"src": ends.src, "dst": ends.dst}


def _of_kind(vertices: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Give vertices of this type, or an error that names the argument; an empty list has any type."""
    if len(vertices) and vertices.type != kind:
        raise VertexTypeError(f"{name} of type {kind}, as the vertex is", f"{vertices.type}", "Convert them first.")
    return vertices.cast(kind)


def _refuse_redundant(ends: Ends, inserting: npt.NDArray[np.bool_], row: int) -> None:
    edge = (ends.src[row].as_py(), ends.dst[row].as_py())
    what, state = ("insertion", "is there already") if inserting[row] else ("deletion", "is not there")
    raise RedundantChangeError(
        "changes that change something, for strict=True",
        f"in row {row} the {what} of {edge!r}, which {state}",
        "Leave strict out to have such changes counted instead.",
    )
