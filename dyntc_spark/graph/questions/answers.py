"""What can be asked of a closure as it stands, answered as Spark DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


from dyntc_spark.engines.abilities import blocks_of
from dyntc_spark.errors import InputError
from dyntc_spark.graph.changes.difference_on_spark import DifferenceOnSpark
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Table, Vertex
from dyntc_spark.graph.older_versions import OlderVersions
from dyntc_spark.graph.questions.arrow_answers import ArrowAnswers
from dyntc_spark.graph.questions.numbered import NO_TARGET, Unknown, changes_table, for_one_pair
from dyntc_spark.graph.tables import joins
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.tables.joins import UnknownRow
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.lazy_pyspark import is_frame


class Answers:
    """Which vertices reach which, the graph itself, and how it became so."""

    def __init__(self, door: Door, tables: SessionTables, older: OlderVersions) -> None:
        self._door, self._tables, self._older = door, tables, older
        self.arrow = ArrowAnswers(door, older)

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
        if is_frame(pairs):
            return joins.query(pairs, self._tables.tables(pairs), unknown or "null", (src, dst))
        return self._tables.framed().query(pairs, cast("Unknown", unknown or "raise"), src, dst)

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
        if is_frame(vertex):
            return joins.descendants(vertex, self._tables.tables(vertex), unknown, column, reflexive=reflexive)
        return self._tables.framed().descendants(vertex, reflexive=reflexive)

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
        if is_frame(vertex):
            return joins.ancestors(vertex, self._tables.tables(vertex), unknown, column, reflexive=reflexive)
        return self._tables.framed().ancestors(vertex, reflexive=reflexive)

    def pairs(self, *, reflexive: bool = False) -> DataFrame:
        """The whole closure: ``src`` reaches ``dst``. Lazy; it shows the version that is current now."""
        found, vertices = self._tables.whole()
        return found.unionAll(vertices.selectExpr("vertex", "vertex")) if reflexive else found

    def edges(self) -> DataFrame:
        """The edges, each once: ``src``, ``dst``, and of a multigraph ``count``, how many copies there are."""
        return self._tables.framed().edges()

    def vertices(self) -> DataFrame:
        """The vertices: the column ``vertex``."""
        return self._tables.framed().vertices()

    def changes(self, since: int | None = None) -> DataFrame:
        """The pairs that the last batch made reachable or unreachable: ``src``, ``dst``, ``op``, ``version``.

        Worked out when asked for. Where the closure is on Spark, Spark does so when the DataFrame is read, and no
        pair comes to this process; it stays at this version.

        ``since`` is an older version of the location: then what is different from that one, each pair once. The graph
        of then is read and closed again for it.
        """
        spark = self._tables.session
        if since is None:
            version, changed = self._door.changed(spark, look=True)
            return self._tables.framed().changes() if changed is None else changed.named(version.number)
        number, found = self._older.changed(since, lambda: spark)
        return (
            found.named(number) if isinstance(found, DifferenceOnSpark) else frame(spark, changes_table(found, number))
        )

    def history(self) -> DataFrame:
        """The batches at the location, the oldest first: version, batch_id, author, time, counts and seconds.

        The row of kind ``save`` is the start; its counts are those of all batches before. ``won`` and ``lost`` are the
        pairs that a version made reachable and unreachable; null where changes are not recorded.
        """
        return frame(self._tables.session, self.arrow.history())

    def explain(
        self, source: Vertex | Table, target: Vertex = NO_TARGET, /, *, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        """A shortest path that witnesses that one vertex reaches another: ``hop`` from 1 on, ``src``, ``dst``.

        From a vertex to itself it is empty. Where there is no path, the error ``UnreachableError`` says so.

        With a table of pairs instead, one path for each of them: ``src`` and ``dst`` of the pair (the keywords
        name its columns), ``reachable``, ``hop``, ``hop_src``, ``hop_dst``. A pair that no path joins, and one of a
        vertex and itself, has one row without a hop. A vertex that the graph does not have is an error.

        Of a Spark DataFrame the answer is lazy, as that of `query`: tasks search, no row comes to the driver, and an
        unknown vertex fails, with an error of Spark that names it, when the answer is worked out.
        """
        if is_frame(source) and target is NO_TARGET:
            with for_one_pair("explain"):
                return joins.explained(source, *self._tables.searched(source), (src, dst))
        return self._tables.framed().explain(source, target, src, dst)

    def blocks(self) -> DataFrame:
        """The matrices of the engine as they are stored, a row a block, wherever the state is.

        Columns ``matrix``, ``bi``, ``bj`` (the block's place), ``codec``, ``nnz`` (entries that are not zero),
        ``bytes`` and ``payload``.
        """
        spark = self._tables.session
        return self._door.ask_apart(lambda _, closure: blocks_of(closure, spark))

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
