"""``DynamicClosure``: which vertices reach which, in a directed graph that changes.

The class is what users see, and no more. A line `forwarded(...)` is a method that a part does; its signature and its
docstring are those of the part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dyntc_spark.engines.base import Engine
from dyntc_spark.graph.argument_checks import required_engine
from dyntc_spark.graph.changes.batches import Batches
from dyntc_spark.graph.changes.streaming import Streaming
from dyntc_spark.graph.forwarding import forwarded
from dyntc_spark.graph.inputs.read import Table, Vertex
from dyntc_spark.graph.interop import Attributes, Interop, networkx_edges
from dyntc_spark.graph.location import Location, StoredVersion
from dyntc_spark.graph.maintenance import Maintenance
from dyntc_spark.graph.parts import Parts
from dyntc_spark.graph.questions.answers import Answers
from dyntc_spark.graph.questions.closure_questions import ClosureQuestions
from dyntc_spark.graph.questions.everyday import EverydayQuestions
from dyntc_spark.graph.store.location_views import create_location_views
from dyntc_spark.graph.store.place import Place
from dyntc_spark.session import session_at_hand

if TYPE_CHECKING:
    import networkx as nx
    from graphframes import GraphFrame
    from pyspark.sql import SparkSession
    from typing_extensions import Self


class DynamicClosure(ClosureQuestions):
    """The closure of a directed graph, kept up to date while edges come and go.

    Every change is one atomic batch: when it is refused, the closure answers as
    before. Batches are numbered; ``version`` is the number of the last. Any number of threads may
    ask and change a closure: every answer is that of one whole version.

    Wherever a table is taken (a Spark DataFrame, pandas, Arrow), the keywords ``src``,
    ``dst`` and ``op`` name its columns, where these are called otherwise; a list of tuples is read by position.

    ================  ==========================================================================================
    making            from_edges, open, at, repair, close
    asking            reaches, query, descendants, ancestors, pairs, edges, vertices, changes, explain,
                      version, arrow
    more questions    components, cycles, is_acyclic, roots, leaves, distance, impact, between, common_ancestors,
                      common_descendants, what_if
    changing          insert, insert_at, delete, apply, drop, reset
    views and tables  create_views, create_location_views, publish
    location          save, refresh, vacuum, history
    stream            stream
    state             stats, blocks, verify, on_spark, in_process, use
    other libraries   from_graphframe, to_graphframe, from_networkx, to_networkx
    pictures          plot, explore
    ================  ==========================================================================================

    Examples
    --------
    >>> c = DynamicClosure.from_edges([("app", "web"), ("web", "tls"), ("web", "log")])
    >>> c.reaches("app", "tls")
    True
    >>> c.delete([("web", "tls")])
    BatchResult(version=1, inserted=0, deleted=1, ignored=0)
    >>> c.reaches("app", "tls")
    False
    >>> c
    DynamicClosure(4 vertices, 2 edges; engine 'lanes' in process, version 1)
    """

    def __init__(self, engine: Engine | Parts | None = None, spark: SparkSession | None = None) -> None:
        super().__init__(engine if isinstance(engine, Parts) else Parts(required_engine(engine), spark))

    # --- making --------------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        edges: Table,
        spark: SparkSession | None = None,
        engine: str = "auto",
        backend: str = "auto",
        *,
        vertices: Iterable[Vertex] | Table = (),
        src: str = "src",
        dst: str = "dst",
        names: str = "auto",
        multigraph: bool = False,
    ) -> Self:
        """Make the closure of a graph.

        Parameters
        ----------
        edges
            Columns ``src`` and ``dst``, or pairs, or the name of a table of Spark's catalog; an edge that is there
            twice counts once. The vertices are the ends of the edges.
        spark
            The session in which answers become DataFrames; by default that of ``edges``, else the active one,
            else a local one that is started when an answer first needs it.
        engine
            The name of an engine, or ``"auto"`` for the one that suits most graphs. ``"path_counting"`` takes
            acyclic graphs only.
        backend
            Where the state is kept: ``"local"`` in this process, ``"spark"`` as DataFrames of blocks, ``"auto"`` in
            this process as long as that has room.
        vertices
            Further vertices, which need not have an edge: a list, or a table with the column ``vertex``.
        src, dst
            What these columns are called in ``edges``.
        names
            Where names of vertices are: ``"driver"``, in this process; ``"spark"``, in a DataFrame, so that only
            numbers come here; ``"auto"``, on Spark if they come in a DataFrame and are more than 10 million.
        multigraph
            Whether to count parallel edges: one that was inserted twice is there until it was deleted twice. Paths are
            the same. By default an edge is there or not.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from dyntc_spark import DynamicClosure
        >>> needs = pa.table({"package": ["shop", "web"], "needs": ["web", "tls"]})
        >>> DynamicClosure.from_edges(needs, src="package", dst="needs").reaches("shop", "tls")
        True
        """
        made = Parts.from_edges(
            edges,
            spark,
            engine,
            backend,
            vertices=vertices,
            src=src,
            dst=dst,
            names=names,
            multigraph=multigraph,
        )
        return cls(made)

    @classmethod
    def open(cls, location: str, version: int | None = None, spark: SparkSession | None = None) -> Self:
        """Open the closure that was saved at a location, and attach it to that.

        Parameters
        ----------
        location
            A path, which has a ``/``, or a schema of the catalog.
        version
            An older version; such a closure can be asked, but takes no changes. By default the last one.
        spark
            The session to read and write in; by default the active one. Without one, a path of this machine is read
            and written without Spark, and for other locations a local session is started.
        """
        spark = session_at_hand(spark)
        return cls(Parts.read(StoredVersion.at(Place(spark, location), version), spark))

    def at(self, version: int) -> Self:
        """The closure as it was at an older version of its location: it can be asked, but takes no changes."""
        return self.open(self._parts.attachment.required().place.location, version, self._parts.tables.spark)

    @classmethod
    def repair(cls, location: str, spark: SparkSession | None = None, *, version: int | None = None) -> Self:
        """Open a closure whose files are damaged, and repair its location.

        The closure is built again from its edges: those of a checkpoint that is whole, and the log behind it. What is
        damaged is put aside, into the folder ``_damaged`` of the location, and a new checkpoint is written.

        Where a published version is lost, nothing is changed: the error names the version that can be recovered. With
        that as ``version`` it becomes the last one, under a new number, and older versions are removed.
        """
        spark = session_at_hand(spark)
        return cls(Parts.read(StoredVersion.damaged(Place(spark, location), version), spark))

    # --- asking, beside what every closure answers -----------------------------------------------

    changes = forwarded(lambda parts: parts.answers, Answers.changes)
    what_if = forwarded(lambda parts: parts.questions, EverydayQuestions.what_if)

    # --- changing ------------------------------------------------------------------------------

    insert = forwarded(lambda parts: parts.batches, Batches.insert)
    insert_at = forwarded(lambda parts: parts.batches, Batches.insert_at)
    delete = forwarded(lambda parts: parts.batches, Batches.delete)
    apply = forwarded(lambda parts: parts.batches, Batches.apply)
    drop = forwarded(lambda parts: parts.batches, Batches.drop)
    reset = forwarded(lambda parts: parts.batches, Batches.reset)

    # --- views and tables ----------------------------------------------------------------------

    create_location_views = staticmethod(create_location_views)

    publish = forwarded(lambda parts: parts.location, Location.publish)

    # --- location ------------------------------------------------------------------------------

    save = forwarded(lambda parts: parts.location, Location.save)
    refresh = forwarded(lambda parts: parts.location, Location.refresh)
    vacuum = forwarded(lambda parts: parts.location, Location.vacuum)
    history = forwarded(lambda parts: parts.answers, Answers.history)

    # --- stream --------------------------------------------------------------------------------

    stream = forwarded(lambda parts: parts.streaming, Streaming.stream)

    # --- state ---------------------------------------------------------------------------------

    blocks = forwarded(lambda parts: parts.answers, Answers.blocks)
    verify = forwarded(lambda parts: parts.maintenance, Maintenance.verify)
    on_spark = forwarded(lambda parts: parts.maintenance, Maintenance.on_spark)
    in_process = forwarded(lambda parts: parts.maintenance, Maintenance.in_process)
    use = forwarded(lambda parts: parts.maintenance, Maintenance.use)

    # --- other libraries -----------------------------------------------------------------------

    @classmethod
    def from_graphframe(cls, graph: GraphFrame, engine: str = "auto", backend: str = "auto") -> Self:
        """Make the closure of a GraphFrame; what it says about vertices and edges is kept for `to_graphframe`."""
        vertices = graph.vertices.withColumnRenamed("id", "vertex")
        made = cls.from_edges(graph.edges, engine=engine, backend=backend, vertices=vertices)
        made._parts.interop.attributes = Attributes(graph.vertices, graph.edges)  # noqa: SLF001  (one of this class)
        return made

    to_graphframe = forwarded(lambda parts: parts.interop, Interop.to_graphframe)

    @classmethod
    def from_networkx(
        cls, graph: nx.DiGraph, spark: SparkSession | None = None, engine: str = "auto", backend: str = "auto"
    ) -> Self:
        """Make the closure of a directed graph of NetworkX: its nodes and edges, without their attributes.

        Examples
        --------
        >>> import networkx as nx
        >>> from dyntc_spark import DynamicClosure
        >>> DynamicClosure.from_networkx(nx.DiGraph([(1, 2), (2, 3)])).reaches(1, 3)
        True
        """
        return cls.from_edges(networkx_edges(graph), spark, engine, backend, vertices=list(graph.nodes))
