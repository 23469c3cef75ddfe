"""What a closure shows of itself: its history, SQL views, pictures, and graphs for other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.closure.engine import Edges, Engine
from dyntc_spark.errors import SessionError
from dyntc_spark.graph import display, interop, plots
from dyntc_spark.graph.answers import Answers
from dyntc_spark.graph.counting import CountsPaths
from dyntc_spark.graph.frames import frame
from dyntc_spark.graph.history import Graph, Tally
from dyntc_spark.graph.kinds import spark_type
from dyntc_spark.graph.relations import Relations, Touched
from dyntc_spark.graph.views import Views
from dyntc_spark.progress import progress
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    import networkx as nx
    from graphframes import GraphFrame
    from matplotlib.axes import Axes

_DETAILS = pa.map_(pa.string(), pa.string())


class Shown(Answers):
    """A closure at a version of its graph, with the version before; views of it are kept up to date."""

    def __init__(self, engine: Engine, spark: SparkSession | None = None) -> None:
        super().__init__(engine, spark)
        self._tally = self._last = Tally()
        self._views: list[tuple[Views, Relations]] = []
        self._attributes = interop.Attributes()

    def stats(self) -> dict[str, Any]:
        """Sizes, the number of batches and what became of them, and under ``details`` what the engine says."""
        details = self._ask(lambda _: {**self._engine.stats(), "losses": self._losses})
        return {
            "version": self.version,
            "vertices": len(self._graph.vertices),
            "edges": len(self._graph.edges),
            "pairs": details["pairs"] if "pairs" in details else self._count_pairs(),
            **self._tally.as_dict(),
            "engine": self._chosen.name,
            "backend": self._chosen.backend,
            "details": details,
        }

    def create_views(self, prefix: str) -> None:
        """Create the temporary views ``<prefix>_edges``, ``_vertices``, ``_closure``, ``_changes`` and ``_stats``.

        The table functions ``<prefix>_descendants(v)``, ``<prefix>_ancestors(v)`` and ``<prefix>_path(a, b)`` are
        made where the session allows it. All see every later batch, which hands to Spark what it changed, some
        four bytes a pair. The statements are in ``sql/``.
        """
        views = Views(session_for(self._spark), prefix)
        relations = Relations(views.spark)
        with progress("creating views", 1):
            views.register(self._relations(relations, None), self._vertex_type, self.version)
        replaced = [old for old, _ in self._views if (old.spark, old.prefix) == (views.spark, prefix)]
        self._views = [(old, tables) for old, tables in self._views if old not in replaced] + [(views, relations)]
        for old in replaced:
            old.drop_hidden()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the closure with matplotlib, and give the axes.

        A small graph is drawn in layers, a node for each set of vertices that reach each other; of a larger one the
        matrix is shown: how many pairs of vertices, in a topological order, are in each part of it.
        """
        return self._ask(lambda engine: plots.draw(self._graph, engine, ax))

    def to_graphframe(self, *, closure: bool = False) -> GraphFrame:
        """Give the graph as a GraphFrame, with the attributes of the GraphFrame that it was made of.

        Edges that were inserted have null attributes. With ``closure`` the edges are the pairs, without attributes.
        """
        edges = self.pairs() if closure else self._attributes.of_edges(self.edges())
        return interop.graphframe(self._attributes.of_vertices(self.vertices()), edges)

    def to_networkx(self, *, closure: bool = False) -> nx.DiGraph:
        """Give the graph, or with ``closure`` its closure, as a directed graph of NetworkX.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> DynamicClosure.from_edges([(1, 2), (2, 3)]).to_networkx(closure=True).edges
        OutEdgeView([(1, 2), (1, 3), (2, 3)])
        """
        found = self._graph.edges.edges
        if closure:
            found = self._ask(lambda engine: engine.descendants(self._graph.vertices.used))
            apart = found.sources != found.targets
            found = Edges(found.sources[apart], found.targets[apart])
        return interop.to_networkx(self._graph.vertices.names(), self._graph.named(found))

    def __repr__(self) -> str:
        sizes = f"{len(self._graph.vertices)} vertices, {len(self._graph.edges)} edges"
        place = "in process" if self._chosen.backend == "local" else "on Spark"
        return f"DynamicClosure({sizes}; engine {self._chosen.name!r} {place}, version {self.version})"

    def _repr_html_(self) -> str:
        return display.html(repr(self), self._last, self._graph, self._chosen)

    # --- helpers -----------------------------------------------------------------------------

    def _mended(self) -> None:
        self._show(None)

    def _committed(self, before: Graph, touched: Touched | None) -> None:
        """Number the batch that is done, and let the views see it; None: everything may be another."""
        self.version += 1
        self._before, self._difference = before, None
        self._show(touched)

    def _show(self, touched: Touched | None) -> None:
        """Let the views see what a batch touched; those that are gone are forgotten."""
        self._views = [(views, relations) for views, relations in self._views if views.current()]
        if self._views and touched is not None:
            touched = self._with_rows(touched)
        failures = []
        for views, relations in list(self._views):
            # Views that do not show the version before this batch take everything.
            known = touched if views.version == self.version - 1 else None
            try:
                views.refresh(self._relations(relations, known), self._vertex_type, self.version)
            except PySparkException as error:
                failures.append((views.prefix, error))
                self._views = [(other, tables) for other, tables in self._views if other is not views]
        for prefix, failure in failures[:1]:
            raise SessionError(
                f"a session that brings the views {prefix}_* up to date",
                f"{type(failure).__name__}: {failure}",
                "The batch itself is done. The views stay at one version, all of them; create them again.",
            ) from failure

    def _with_rows(self, touched: Touched) -> Touched:
        """Add the rows that a batch changed: of what is reached, and of numbers of paths where these are counted."""
        rows = [touched.rows, self._changed().rows]
        if isinstance(self._chosen, CountsPaths):
            rows.append(self._ask(lambda engine: engine.ancestors(touched.vertices)).sources)
        return Touched(touched.vertices, np.unique(np.concatenate(rows)))

    def _relations(self, relations: Relations, touched: Touched | None) -> dict[str, DataFrame]:
        """Give what the statements in ``sql/`` are about."""
        stats = self.stats()
        details = pa.array([[(key, str(value)) for key, value in stats.pop("details").items()]], _DETAILS)
        columns = {key: pa.array([value]) for key, value in stats.items()}
        return {
            **self._ask(lambda engine: relations.tables(self._graph, engine, touched)),
            "changes": frame(relations.spark, self.arrow.changes()),
            "stats": frame(relations.spark, pa.table({**columns, "details": details})),
        }

    @property
    def _vertex_type(self) -> str:
        return spark_type(self._graph.vertices.kind)
