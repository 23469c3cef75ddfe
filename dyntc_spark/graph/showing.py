"""What a closure shows of itself: its history, SQL views, pictures, and graphs for other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dyntc_spark import session
from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Engine
from dyntc_spark.engines.lanes.questions import Answering
from dyntc_spark.errors import SessionError
from dyntc_spark.graph import display, interop, plots
from dyntc_spark.graph.answers import Answers
from dyntc_spark.graph.counting import CountsPaths
from dyntc_spark.graph.frames import frame
from dyntc_spark.graph.history import Graph, Version
from dyntc_spark.graph.relations import Touched
from dyntc_spark.graph.views import Views
from dyntc_spark.lazy_pyspark import spark_errors
from dyntc_spark.progress import progress
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    import networkx as nx
    from graphframes import GraphFrame
    from matplotlib.axes import Axes
    from pyspark.sql import DataFrame, SparkSession

_DETAILS = pa.map_(pa.string(), pa.string())


class Shown(Answers):
    """A closure at a version of its graph, with the version before; views of it are kept up to date."""

    def __init__(self, engine: Engine, spark: SparkSession | None = None) -> None:
        super().__init__(engine, spark)
        self._views: list[Views] = []
        self._attributes = interop.Attributes()

    def stats(self) -> dict[str, Any]:
        """Sizes, the number of batches and what became of them, and under ``details`` what the engine says."""

        def told(version: Version, closure: Engine) -> dict[str, Any]:
            details = {**self._door.engine.stats(), "losses": self._door.losses}
            return {
                "version": version.number,
                "vertices": len(version.graph.vertices),
                "edges": len(version.graph.edges),
                "pairs": details["pairs"] if "pairs" in details else self._count_pairs(version.graph, closure),
                **version.tally.as_dict(),
                "engine": version.engine,
                "backend": version.backend,
                "details": details,
            }

        return self._door.ask(told)

    def create_views(self, prefix: str) -> None:
        """Create the temporary views ``<prefix>_edges``, ``_vertices``, ``_closure`` and so on: the files of ``sql/``.

        The table functions ``<prefix>_descendants(v)``, ``_ancestors(v)``, ``_between(a, b)`` and ``_path(a, b)`` are
        made where the session allows it. All see every later batch, which hands to Spark the vertices and the stripes
        of the closure that it changed. The statements are in ``sql/``.
        """
        views = Views(session_for(self._spark), prefix)
        with self._door.changing(), progress("creating views", 1):
            views.register(self._relations(views.spark, None), self._graph.vertices, self.version)
            replaced = [old for old in self._views if (old.spark, old.prefix) == (views.spark, prefix)]
            self._views = [old for old in self._views if old not in replaced] + [views]
            for old in replaced:
                old.drop_hidden()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the closure with matplotlib, and give the axes.

        A small graph is drawn in layers, a node for each set of vertices that reach each other; of a larger one the
        matrix is shown: how many pairs of vertices, in a topological order, are in each part of it.
        """
        return self._door.ask_apart(lambda version, closure: plots.draw(version.graph, closure, ax))

    def to_graphframe(self, *, closure: bool = False) -> GraphFrame:
        """Return the graph as a GraphFrame, with the attributes of the GraphFrame that it was made of.

        Edges that were inserted have null attributes. With ``closure`` the edges are the pairs, without attributes.
        """
        if closure:
            edges, vertices = self._whole()
        else:
            graph = self._door.now.graph
            edges = self._attributes.of_edges(self._framed.edges_of(graph))
            vertices = self._framed.vertices_of(graph)
        return interop.graphframe(self._attributes.of_vertices(vertices), edges)

    def to_networkx(self, *, closure: bool = False) -> nx.DiGraph:
        """Return the graph, or with ``closure`` its closure, as a directed graph of NetworkX.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> DynamicClosure.from_edges([(1, 2), (2, 3)]).to_networkx(closure=True).edges
        OutEdgeView([(1, 2), (1, 3), (2, 3)])
        """
        graph = self._door.now.graph
        found = graph.edges.edges
        if closure:
            graph, every = self._door.ask_apart(
                lambda version, closure: (version.graph, closure.descendants(version.graph.vertices.used))
            )
            apart = every.sources != every.targets
            found = Edges(every.sources[apart], every.targets[apart])
        return interop.to_networkx(graph.vertices.names(), graph.named(found))

    def __repr__(self) -> str:
        return f"DynamicClosure({self._door})"

    def _repr_html_(self) -> str:
        return self._door.ask_apart(
            lambda version, closure: display.html(f"DynamicClosure({version})", version.last, version.graph, closure)
        )

    # --- helpers -----------------------------------------------------------------------------

    def _rebuilt(self) -> None:
        self._show(None)

    def _committed(self, version: Version, touched: Touched | None) -> None:
        """Make the version that a batch leads to the current one, and let the views see it.

        ``touched``: what the batch changed; None: perhaps everything.
        """
        self._door.publish(version)
        self._show(touched)

    def _show(self, touched: Touched | None) -> None:
        """Let the views see what a batch touched; those that are gone are forgotten."""
        self._views = [views for views in self._views if session.is_open(views.spark)]
        if self._views and touched is not None:
            touched = self._with_rows(touched)
        failures = []
        for views in list(self._views):
            try:
                views.refresh(self._relations(views.spark, touched), self._graph.vertices, self.version)
            except spark_errors.PySparkException as error:  # noqa: PERF203  (the others are brought up to date)
                failures.append((views.prefix, error))
                self._views = [other for other in self._views if other is not views]
        for prefix, failure in failures[:1]:
            raise SessionError(
                f"a session that brings the views {prefix}_* up to date",
                f"{type(failure).__name__}: {failure}",
                "The batch itself is done. The views stay at one version, all of them; create them again.",
            ) from failure

    def _with_rows(self, touched: Touched) -> Touched:
        """Add the rows that a batch changed: of what is reached, and of numbers of paths where these are counted.

        Runs of lanes are compared as they are, and rows that are on Spark are not sent there.
        """
        if isinstance(self._engine.current, Answering):
            return touched
        on_spark = self._door.now.backend == "spark"
        if on_spark and self._door.ask(lambda _, closure: closure.rows(session_for(self._spark)) is not None):
            return touched
        rows = [touched.rows, self._door.difference()[1].rows]
        if isinstance(self._engine.current, CountsPaths):
            rows.append(self._door.ask(lambda _, closure: closure.ancestors(np.unique(touched.vertices))).sources)
        return Touched(touched.vertices, np.unique(np.concatenate(rows)))

    def _relations(self, spark: SparkSession, touched: Touched | None) -> dict[str, DataFrame]:
        """Return what the statements in ``sql/`` are about."""
        relations, stats = self._relations_in(spark), self.stats()
        details = pa.array([[(key, str(value)) for key, value in stats.pop("details").items()]], _DETAILS)
        columns = {key: pa.array([value]) for key, value in stats.items()}
        tables = self._door.ask(
            lambda version, closure: relations.tables(version, closure, touched, look=touched is None)
        )
        version, changed = self._door.changed(spark, look=touched is None)
        if changed is None:
            changes = self._framed_in(spark).changes()
        else:
            changes = changed.named(version.number, tables.vertices if changed.graph is version.graph else None)
        return {
            "vertices": tables.vertices,
            "runs": tables.runs,
            "changes": changes,
            "stats": frame(spark, pa.table({**columns, "details": details})),
        }

    def _count_pairs(self, graph: Graph, closure: Engine) -> int:
        """Return how many pairs there are, where the engine does not count them: on Spark by one job."""
        rows = closure.rows(session_for(self._spark)) if closure.backend == "spark" else None
        if rows is not None:
            found: list[Any] = rows.selectExpr("sum(size(reached) - 1) AS pairs").collect()
            return int(found[0].pairs or 0)
        used = graph.vertices.used
        return len(closure.descendants(used)) - len(used)
