"""Everyday questions about a graph and its closure, answered as Spark DataFrames.

Components, cycles, roots and leaves follow from the edges, which are in the calling process whatever the engine and
wherever its state is. The other questions are put to the closure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.changes.difference_on_spark import DifferenceOnSpark
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Table, Vertex
from dyntc_spark.graph.questions.everyday_arrow import EverydayArrow
from dyntc_spark.graph.questions.numbered import NO_TARGET, changes_table, for_one_pair
from dyntc_spark.graph.questions.ranking import By, ranked, require_ranking
from dyntc_spark.graph.questions.what_if import what_if
from dyntc_spark.graph.tables import joins
from dyntc_spark.graph.tables.frames import frame
from dyntc_spark.graph.tables.joins import UnknownRow
from dyntc_spark.graph.tables.relations import Tables
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.graph.version import Version
from dyntc_spark.lazy_pyspark import is_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class EverydayQuestions:
    """Questions to a closure, answered as Spark DataFrames."""

    def __init__(self, door: Door, tables: SessionTables) -> None:
        self._door, self._tables = door, tables
        self._arrow = EverydayArrow(door)

    def components(self) -> DataFrame:
        """The strongly connected components: ``vertex``, ``component``, ``size``, a row for each vertex.

        Two vertices are in one component when each reaches the other. ``component`` is one of its vertices, the same
        for all of them, and ``size`` is how many they are; 1 for a vertex that is on no cycle with others.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "a"), ("b", "c")])
        >>> c.arrow.components().to_pydict()
        {'vertex': ['a', 'b', 'c'], 'component': ['a', 'a', 'c'], 'size': [2, 2, 1]}
        """
        return self._frame(self._arrow.components())

    def cycles(self) -> DataFrame:
        """A cycle of each strongly connected component that has one: ``component``, ``hop``, ``src``, ``dst``.

        ``component`` is the vertex that stands for the component in `components`. The cycle is a shortest one through
        this vertex, with hops from 1 on; where the component has several vertices, self-loops do not count. There is
        no row for a component without a cycle.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d")])
        >>> for row in c.arrow.cycles().to_pylist():
        ...     print(*row.values())
        a 1 a b
        a 2 b c
        a 3 c a
        d 1 d d
        """
        return self._frame(self._arrow.cycles())

    def is_acyclic(self) -> bool:
        """Return whether the graph has no cycle; a self-loop is one. It needs no Spark.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
        >>> c.is_acyclic()
        True
        >>> c.insert([("c", "a")]), c.is_acyclic()
        (BatchResult(version=1, inserted=1, deleted=0, ignored=0), False)
        """
        return self._arrow.is_acyclic()

    def roots(self) -> DataFrame:
        """The vertices that no edge leads to: the column ``vertex``. One without edges is a root and a leaf.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c"), ("x", "c")])
        >>> c.arrow.roots()["vertex"].to_pylist()
        ['a', 'x']
        """
        return self._frame(self._arrow.roots())

    def leaves(self) -> DataFrame:
        """The vertices that no edge leaves: the column ``vertex``.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c"), ("x", "c")])
        >>> c.arrow.leaves()["vertex"].to_pylist()
        ['c']
        """
        return self._frame(self._arrow.leaves())

    def distance(
        self,
        source: Vertex | Table,
        target: Vertex = NO_TARGET,
        /,
        *,
        unknown: UnknownRow | None = None,
        src: str = "src",
        dst: str = "dst",
    ) -> DataFrame | int | None:
        """How many edges a shortest path from one vertex to another has.

        Of two vertices: a number, or None where no path joins them; it is 0 from a vertex to itself. With a table of
        pairs instead: its rows and ``distance``, which is null where there is no path; all columns of a Spark
        DataFrame are kept. The keywords ``src`` and ``dst`` name the columns of the pairs.

        A Spark DataFrame is answered as by `query`: lazily, at the version that is current now. Spark's tasks search,
        among the edges, which are sent with them; no row comes to the driver. Other pairs are searched in the calling
        process. The closure says first which pairs a path joins. Where it is in the calling process and exact, it also
        keeps the search there on course: vertices that do not reach the target are left out.

        Parameters
        ----------
        source, target
            Two vertices, or a table of pairs.
        unknown
            What becomes of a vertex that the graph does not have: an error (``"raise"``), or no distance (``"false"``
            or ``"null"``), which is the default for a Spark DataFrame. There the error is one of Spark, which comes
            when the rows are worked out.
        src, dst
            What the columns are called.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
        >>> c.distance("a", "d"), c.distance("d", "a"), c.distance("a", "a")
        (2, None, 0)
        >>> c.arrow.distance([("a", "d"), ("d", "a")])["distance"].to_pylist()
        [2, None]
        """
        if is_frame(source) and target is NO_TARGET:
            with for_one_pair("distance"):
                return joins.distances(source, *self._tables.searched(source), unknown or "null", (src, dst))
        found = self._arrow.distance(source, target, "raise" if unknown in {None, "raise"} else "false", src, dst)
        return self._frame(found) if isinstance(found, pa.Table) else found

    def impact(self, top: int = 10, by: By = "ancestors") -> DataFrame:
        """The vertices that most others depend on: ``vertex``, ``ancestors``, ``descendants``, the highest first.

        ``ancestors`` is how many other vertices reach the vertex, and ``descendants`` how many it reaches. They are
        counted by the words of the closure, 64 sources at a time; pairs are unfolded by engines without lanes only.
        Where the closure is on Spark, Spark counts when the DataFrame is read. Equal vertices come in any order.

        Parameters
        ----------
        top
            How many vertices.
        by
            ``"ancestors"``: the most depended-upon vertices; ``"descendants"``: those that depend on most others.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("shop", "web"), ("web", "tls"), ("db", "tls")])
        >>> c.arrow.impact(top=1).to_pylist()
        [{'vertex': 'tls', 'ancestors': 3, 'descendants': 0}]
        >>> c.arrow.impact(top=1, by="descendants").to_pylist()
        [{'vertex': 'shop', 'ancestors': 0, 'descendants': 2}]
        """
        require_ranking(top, by)
        relations = self._tables.relations(self._tables.session)

        def asked(version: Version, closure: Reachability) -> Tables | None:
            return relations.tables(version, closure) if closure.backend == "spark" else None

        tables = self._door.ask_apart(asked)
        return self._frame(self._arrow.impact(top, by)) if tables is None else ranked(tables, by, top)

    def between(self, source: Vertex, target: Vertex, *, edges: bool = False) -> DataFrame:
        """The vertices on the paths from one vertex to another: the column ``vertex``; no row where there is no path.

        Both ends are among them. A path may visit a vertex twice, as it must when it goes round a cycle. With
        ``edges``, the edges on these paths: ``src``, ``dst``.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("a", "x")])
        >>> c.arrow.between("a", "d")["vertex"].to_pylist()
        ['a', 'b', 'c', 'd']
        >>> c.arrow.between("b", "d", edges=True).to_pylist()
        [{'src': 'b', 'dst': 'd'}]
        """
        return self._frame(self._arrow.between(source, target, edges=edges))

    def common_ancestors(self, a: Vertex, b: Vertex, *, reflexive: bool = False) -> DataFrame:
        """The vertices that reach both ``a`` and ``b``: the column ``vertex``.

        A vertex counts as an ancestor of itself with ``reflexive`` only.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("top", "a"), ("a", "b"), ("other", "b")])
        >>> c.arrow.common_ancestors("a", "b")["vertex"].to_pylist()
        ['top']
        >>> c.arrow.common_ancestors("a", "b", reflexive=True)["vertex"].to_pylist()
        ['top', 'a']
        """
        return self._frame(self._arrow.common_ancestors(a, b, reflexive=reflexive))

    def common_descendants(self, a: Vertex, b: Vertex, *, reflexive: bool = False) -> DataFrame:
        """The vertices that both ``a`` and ``b`` reach: the column ``vertex``; see `common_ancestors`.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "x"), ("b", "x"), ("x", "y"), ("b", "z")])
        >>> c.arrow.common_descendants("a", "b")["vertex"].to_pylist()
        ['x', 'y']
        """
        return self._frame(self._arrow.common_descendants(a, b, reflexive=reflexive))

    def what_if(
        self,
        changes: Table,
        *,
        strict: bool = False,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        timestamp: str = "timestamp",
    ) -> DataFrame:
        """The pairs that a batch would make reachable or unreachable: ``src``, ``dst``, ``op``, ``version``.

        The batch is not applied: graph, closure, version, views and location stay as they are, and so does what
        `changes` gives. ``version`` is the number that the batch would get. What `apply` would refuse is refused here
        as well, by the same error.

        It takes about as long as the batch itself; engines without lanes have the closure after the batch built
        beside their own. Where the closure is on Spark, the pairs stay there.

        Parameters
        ----------
        changes, strict, op, src, dst, timestamp
            As `apply` takes them.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("anna", "staff"), ("staff", "files"), ("anna", "admins")])
        >>> c.arrow.what_if([("delete", "anna", "staff")]).to_pylist()[0]
        {'src': 'anna', 'dst': 'staff', 'op': 'delete', 'version': 1}
        >>> c.reaches("anna", "files"), c.version
        (True, 0)
        """
        spark = self._tables.session
        number, found = what_if(self._door, changes, (op, src, dst), timestamp, strict=strict, spark=spark)
        return (
            found.named(number) if isinstance(found, DifferenceOnSpark) else self._frame(changes_table(found, number))
        )

    def _frame(self, table: pa.Table) -> DataFrame:
        return frame(self._tables.session, table)
