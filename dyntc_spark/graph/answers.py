"""What can be asked of a closure as it stands, answered as Spark DataFrames."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from dyntc_spark import session
from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import InputError
from dyntc_spark.graph import joins
from dyntc_spark.graph.arrow import ArrowAnswers, Asked
from dyntc_spark.graph.asking import NO_TARGET, Table, Unknown, Vertex
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.history import Graph
from dyntc_spark.graph.joins import UnknownRow
from dyntc_spark.graph.part import delegated
from dyntc_spark.graph.questions import Questions
from dyntc_spark.graph.relations import Relations, Tables
from dyntc_spark.graph.views import statement
from dyntc_spark.session import is_connect, session_for


def _weakly(method: Callable[[], None]) -> Callable[[], None]:
    """Return a call of a method that does not keep its object: one that nobody uses is gone at once, with its state."""
    known = weakref.WeakMethod(method)

    def call() -> None:
        found = known()
        if found is not None:
            found()

    return call


class Answers:
    """A closure at a version of its graph, behind the one door to it, and a session for answers."""

    def __init__(self, engine: Engine, spark: SparkSession | None = None) -> None:
        self._door = Door(engine, _weakly(self._rebuilt))
        self._spark = spark
        self._sent: list[Relations] = []  # what sessions have of the closure

    @property
    def _questions(self) -> Questions:
        return Questions(
            self._door,
            lambda: session_for(self._spark),
            lambda version, closure: self._relations_in(session_for(self._spark)).tables(version, closure),
        )

    @property
    def version(self) -> int:
        """The number of the last batch."""
        return self._door.now.number

    @property
    def arrow(self) -> ArrowAnswers:
        """The same questions, answered as Arrow tables."""
        return ArrowAnswers(self._door)

    def reaches(self, src: Vertex, dst: Vertex, *, unknown: Unknown = "raise") -> bool:
        """Return whether a path leads from ``src`` to ``dst``; with the state in this process it needs no Spark.

        A vertex that the graph does not have is an error, or with ``unknown="false"`` reaches nothing.
        """
        return self.arrow.reaches(src, dst, unknown)

    def query(
        self, pairs: Table, *, unknown: UnknownRow | None = None, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        """Answer many pairs at once: a row for each row of ``pairs``, with ``reachable``.

        An engine that counts paths adds ``paths``, how many lead from one to the other: 1 from a vertex to itself,
        null for an unknown vertex and where the number is not known or has more than 38 digits. The keywords
        ``src`` and ``dst`` name the columns of ``pairs``.

        A Spark DataFrame is joined with the closure, and all its columns are kept. The answer is lazy: no job runs
        until it is worked out, nothing comes to the driver, and it shows the version that is current now. For a
        vertex that the graph does not have, and for null, ``reachable`` is null; with ``unknown="false"`` it is
        false, and with ``unknown="raise"`` working it out fails with an error of Spark that names the vertex.

        Other tables are answered at once: ``src``, ``dst`` and ``reachable``. There an unknown vertex is
        an error, or with ``unknown="false"`` reaches nothing.
        """
        if isinstance(pairs, DataFrame):
            return joins.query(pairs, self._tables(pairs), unknown or "null", (src, dst))
        return self._framed.query(pairs, cast("Unknown", unknown or "raise"), src, dst)

    def descendants(
        self,
        vertex: Vertex | DataFrame,
        *,
        reflexive: bool = False,
        unknown: UnknownRow = "null",
        column: str = "vertex",
    ) -> DataFrame:
        """The vertices that a vertex reaches: the column ``vertex``.

        With a Spark DataFrame, its rows joined with what the vertices in its column ``vertex`` reach (the keyword
        ``column`` names another): all its columns, and ``descendant``. The answer is lazy, and shows the
        version that is current now. A vertex that reaches nothing has no row. One that the graph does not have, or
        null, has one row without a descendant; with ``unknown="false"`` it has none, and with ``unknown="raise"``
        working it out fails with an error of Spark that names the vertex.
        """
        if isinstance(vertex, DataFrame):
            return joins.descendants(vertex, self._tables(vertex), unknown, column, reflexive=reflexive)
        return self._framed.descendants(vertex, reflexive=reflexive)

    def ancestors(
        self,
        vertex: Vertex | DataFrame,
        *,
        reflexive: bool = False,
        unknown: UnknownRow = "null",
        column: str = "vertex",
    ) -> DataFrame:
        """The vertices that reach a vertex: the column ``vertex``.

        With a Spark DataFrame, its rows joined with what reaches the vertices in its column ``vertex``: all its
        columns, and ``ancestor``. See `descendants` for the rest.
        """
        if isinstance(vertex, DataFrame):
            return joins.ancestors(vertex, self._tables(vertex), unknown, column, reflexive=reflexive)
        return self._framed.ancestors(vertex, reflexive=reflexive)

    def pairs(self, *, reflexive: bool = False) -> DataFrame:
        """The whole closure: ``src`` reaches ``dst``. Lazy; it shows the version that is current now."""
        found, vertices = self._whole()
        return found.unionAll(vertices.selectExpr("vertex", "vertex")) if reflexive else found

    def edges(self) -> DataFrame:
        """The edges, each once: ``src``, ``dst``, and of a multigraph ``count``, how many copies there are."""
        return self._framed.edges()

    def vertices(self) -> DataFrame:
        """The vertices: the column ``vertex``."""
        return self._framed.vertices()

    def changes(self) -> DataFrame:
        """The pairs that the last batch made reachable or unreachable: ``src``, ``dst``, ``op``, ``version``.

        Worked out when asked for. Where the closure is on Spark, Spark does so when the DataFrame is read, and no
        pair comes to this process; it stays at this version.
        """
        version, changed = self._door.changed(session_for(self._spark), look=True)
        return self._framed.changes() if changed is None else changed.named(version.number)

    def explain(
        self, source: Vertex | Table, target: Vertex = NO_TARGET, /, *, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        """A shortest path that witnesses that one vertex reaches another: ``hop`` from 1 on, ``src``, ``dst``.

        From a vertex to itself it is empty. Where there is no path, the error ``UnreachableError`` says so.

        With a table of pairs instead, one path for each of them: ``src`` and ``dst`` of the pair (the keywords
        name its columns), ``reachable``, ``hop``, ``hop_src``, ``hop_dst``. A pair that no path joins, and one of a
        vertex and itself, has one row without a hop.
        """
        return self._framed.explain(source, target, src, dst)

    def blocks(self) -> DataFrame:
        """The matrices of the engine as they are stored, a row a block, wherever the state is.

        Columns ``matrix``, ``bi``, ``bj`` (the block's place), ``codec``, ``nnz`` (entries that are not zero),
        ``bytes`` and ``payload``.
        """
        spark = session_for(self._spark)
        return self._door.ask_apart(lambda _, closure: closure.blocks(spark))

    components = delegated(Questions.components)
    cycles = delegated(Questions.cycles)
    is_acyclic = delegated(Questions.is_acyclic)
    roots = delegated(Questions.roots)
    leaves = delegated(Questions.leaves)
    distance = delegated(Questions.distance)
    impact = delegated(Questions.impact)
    between = delegated(Questions.between)
    common_ancestors = delegated(Questions.common_ancestors)
    common_descendants = delegated(Questions.common_descendants)
    what_if = delegated(Questions.what_if)

    def __len__(self) -> int:
        """Return how many vertices there are, as a graph of NetworkX does; ``stats()`` knows edges and pairs."""
        return len(self._door.now.graph.vertices)

    def __contains__(self, asked: Vertex | tuple[Vertex, Vertex]) -> bool:
        """Return whether a path leads from ``a`` to ``b``, of a tuple ``(a, b)``; else whether it is a vertex.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
        >>> len(c), ("a", "c") in c, ("c", "a") in c, ("a", "x") in c, "b" in c, "x" in c
        (3, True, False, False, True, False)
        """
        if type(asked) is tuple:
            if len(asked) != 2:
                raise InputError("a pair (a, b), or a vertex", f"{asked!r:.80}", "Write (a, b) in c.")
            return self.reaches(*asked, unknown="false")
        return self.reaches(asked, asked, unknown="false")

    @property
    def _framed(self) -> Asked[DataFrame]:
        return self._framed_in(session_for(self._spark))

    def _framed_in(self, spark: SparkSession) -> Asked[DataFrame]:
        """The same questions, answered as DataFrames: where names are on Spark, they stay there."""
        return Asked(self._door, lambda graph, table, ends: graph.vertices.answer(spark, table, ends))

    def _whole(self) -> tuple[DataFrame, DataFrame]:
        """Return the closure, ``src`` and ``dst``, and the vertices of the same version, ``vertex``."""
        tables = self._tables()
        found = session_for(self._spark).sql(
            statement("closure", wide=tables.wide), None, vertices=tables.vertices, runs=tables.runs
        )
        return found.select("src", "dst"), tables.vertices.select("vertex")

    def _tables(self, asked: DataFrame | None = None) -> Tables:
        """Return the graph and its closure as tables of the session, or of one where they can be joined with ``asked``.

        Classic Spark joins DataFrames of all its sessions.
        """
        joined = asked is not None and is_connect(asked.sparkSession)
        spark = asked.sparkSession if asked is not None and joined else session_for(self._spark)
        return self._door.ask_apart(self._relations_in(spark).tables)

    def _relations_in(self, spark: SparkSession) -> Relations:
        """Return what a session has of the closure; that of sessions that are closed is forgotten."""
        found = next((each for each in self._sent if each.spark is spark), None)
        if found is None:
            found = Relations(spark)
            self._sent = [each for each in self._sent if session.is_open(each.spark)] + [found]
        return found

    def _rebuilt(self) -> None:
        """Know that the state is another one now, with the same answers."""

    # --- for whoever changes something, within `Door.changing` ------------------------------

    @property
    def _engine(self) -> Engine:
        return self._door.engine

    @property
    def _graph(self) -> Graph:
        return self._door.now.graph

    def _renumber(self, version: int) -> None:
        """Let the version that there is have another number."""
        with self._door.changing() as now:
            self._door.publish(replace(now, number=version))
