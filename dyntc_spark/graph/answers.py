"""What can be asked of a closure as it stands, answered as Spark DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.closure.engine import Engine
from dyntc_spark.graph.arrow import NO_TARGET, ArrowAnswers, Table, Unknown, Vertex
from dyntc_spark.graph.frames import frame
from dyntc_spark.graph.history import Difference, Graph
from dyntc_spark.graph.relations import Relations
from dyntc_spark.graph.surviving import surviving
from dyntc_spark.graph.views import statement
from dyntc_spark.session import session_for

_Answer = TypeVar("_Answer")


class Answers:
    """A closure at a version of its graph, with the version before, and a session for answers."""

    def __init__(self, engine: Engine, spark: SparkSession | None = None) -> None:
        self._engine = engine
        self._spark = spark
        self._graph = self._before = Graph()
        self._difference: Difference | None = None  # worked out when first asked for
        self.version = 0
        self._losses = 0  # of blocks on Spark, after which the closure was built again

    @property
    def arrow(self) -> ArrowAnswers:
        """The same questions, answered as Arrow tables: with the state in this process they need no Spark.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
        >>> c.arrow.query([("a", "c"), ("c", "a")])["reachable"].to_pylist()
        [True, False]
        """
        return ArrowAnswers(self._graph, self._ask, self._changed, self.version)

    def reaches(self, src: Vertex, dst: Vertex, *, unknown: Unknown = "raise") -> bool:
        """Tell whether a path leads from ``src`` to ``dst``; with the state in this process it needs no Spark.

        A vertex that the graph does not have is an error, or with ``unknown="false"`` reaches nothing.
        """
        return self.arrow.reaches(src, dst, unknown)

    def query(self, pairs: Table, *, unknown: Unknown = "raise", src: str = "src", dst: str = "dst") -> DataFrame:
        """Answer many pairs at once: ``src``, ``dst`` and ``reachable``, a row for each row of ``pairs``.

        An engine that counts paths adds ``paths``, how many lead from one to the other: 1 from a vertex to itself,
        null for an unknown vertex and where the number is not known or has more than 38 digits. The keywords
        ``src`` and ``dst`` name the columns of ``pairs``.
        """
        return self._frame(self.arrow.query(pairs, unknown, src, dst))

    def descendants(self, vertex: Vertex, *, reflexive: bool = False) -> DataFrame:
        """The vertices that a vertex reaches: the column ``vertex``."""
        return self._frame(self.arrow.descendants(vertex, reflexive=reflexive))

    def ancestors(self, vertex: Vertex, *, reflexive: bool = False) -> DataFrame:
        """The vertices that reach a vertex: the column ``vertex``."""
        return self._frame(self.arrow.ancestors(vertex, reflexive=reflexive))

    def pairs(self, *, reflexive: bool = False) -> DataFrame:
        """The whole closure: ``src`` reaches ``dst``."""
        spark = session_for(self._spark)
        tables = Relations(spark).tables(self._graph, self._chosen)
        found = spark.sql(statement("closure"), None, **tables).select("src", "dst")
        return found.unionAll(tables["vertices"].selectExpr("vertex", "vertex")) if reflexive else found

    def edges(self) -> DataFrame:
        """The edges: ``src``, ``dst``."""
        return self._frame(self.arrow.edges())

    def vertices(self) -> DataFrame:
        """The vertices: the column ``vertex``."""
        return self._frame(self.arrow.vertices())

    def changes(self) -> DataFrame:
        """The pairs that the last batch made reachable or unreachable: ``src``, ``dst``, ``op``, ``version``.

        Worked out when asked for, from the rows of the vertices that the batch can have affected.
        """
        return self._frame(self.arrow.changes())

    def explain(
        self, source: Vertex | Table, target: Vertex = NO_TARGET, /, *, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        """A shortest path that witnesses that one vertex reaches another: ``hop`` from 1 on, ``src``, ``dst``.

        From a vertex to itself it is empty. Where there is no path, the error ``UnreachableError`` says so.

        With a table of pairs instead, one path for each of them: ``src`` and ``dst`` of the pair (the keywords
        name its columns), ``reachable``, ``hop``, ``hop_src``, ``hop_dst``. A pair that no path joins, and one of a
        vertex and itself, has one row without a hop.
        """
        return self._frame(self.arrow.explain(source, target, src, dst))

    def blocks(self) -> DataFrame:
        """The matrices of the engine as they are stored, a row a block, wherever the state is.

        Columns ``matrix``, ``bi``, ``bj`` (the block's place), ``codec``, ``nnz`` (entries that are not zero),
        ``bytes`` and ``payload``.
        """
        return self._engine.blocks(session_for(self._spark))

    def _frame(self, table: pa.Table) -> DataFrame:
        return frame(session_for(self._spark), table)

    def _changed(self) -> Difference:
        if self._difference is None:
            self._difference = self._ask(lambda engine: Difference.between(self._before, self._graph, engine))
        return self._difference

    @property
    def _chosen(self) -> Engine:
        """The engine that is at work, wherever its state is."""
        return self._engine.current

    def _count_pairs(self) -> int:
        every = self._graph.vertices.used
        return len(self._ask(lambda engine: engine.descendants(every))) - len(every)

    # --- losses ------------------------------------------------------------------------------

    def _ask(self, question: Callable[[Engine], _Answer]) -> _Answer:
        """Ask the engine at work; what Spark has lost of its state is built again."""
        known = self._losses
        answer = self._surviving(lambda: question(self._chosen))
        if self._losses > known:
            self._mended()
        return answer

    def _surviving(self, act: Callable[[], _Answer]) -> _Answer:
        """Do something with the engine, again where Spark has lost its state."""
        return surviving(act, self._mend)

    def _mend(self) -> None:
        """Build the closure again from the edges of the graph."""
        self._losses += 1
        self._engine.init(self._graph.edges.edges, max(self._graph.vertices.extent, self._engine.vertices))

    def _mended(self) -> None:
        """Know that the state is another one now, with the same answers."""
