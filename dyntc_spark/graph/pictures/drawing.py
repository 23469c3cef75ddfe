"""Pictures of a closure: with matplotlib, for notebooks, and as a page to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dyntc_spark.graph.attachment import Attachment
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.explore import content
from dyntc_spark.graph.explore.page import Page
from dyntc_spark.graph.inputs.read import Vertex
from dyntc_spark.graph.older_versions import OlderVersions
from dyntc_spark.graph.pictures import plots, svg
from dyntc_spark.graph.pictures.picture import PictureOptions
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.graph.version import Graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Drawing:
    """Draws a closure; ``attachment`` has the older versions that a page shows."""

    def __init__(self, door: Door, tables: SessionTables, attachment: Attachment) -> None:
        self._door, self._tables, self._attachment = door, tables, attachment

    def plot(
        self, ax: Axes | None = None, *, around: Vertex | None = None, depth: int = 2, unfold: bool = False
    ) -> Axes:
        """Draw the closure with matplotlib, and return the axes.

        A small graph is drawn in layers, a box for each component: vertices that reach each other. What the last batch
        changed is in colour. Of a graph with more than 40 components the matrix is drawn: how many pairs of vertices,
        in a topological order, are joined in each part of it, with the names of the fullest rows and columns. For
        boxes and colours there, name a vertex by ``around``.

        Parameters
        ----------
        ax
            Where to draw; by default on new axes.
        around
            A vertex: its neighbourhood is drawn, however large the graph is.
        depth
            How many edges away from it the neighbourhood ends.
        unfold
            Whether to draw the vertices of a component one by one.
        """
        return plots.plot(self._door, PictureOptions(around, depth, unfold, parts=128), ax)

    def explore(self, around: Vertex | None = None, depth: int | None = None, *, most: int = content.MOST) -> Page:
        """Make a page to look at: search vertices, walk along edges, see why one reaches another, what batches changed.

        It is one HTML file without anything outside it. A notebook shows it in place; elsewhere, `Page.save` writes
        it to a file, and ``displayHTML(c.explore().html)`` shows it on Databricks.

        Parameters
        ----------
        around
            A vertex to begin with. Without it, the whole graph if that is small; else the vertices that most others
            reach and those that the last batch changed, with what is near them.
        depth
            How many edges away from there the page ends; by default, as far as there is room.
        most
            How many vertices are on the page. They are fewer where it would grow beyond 2 MB. The page says what was
            left out.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("shop", "web"), ("web", "tls"), ("db", "tls")])
        >>> c.explore("web", depth=1)
        Page(3 of 4 vertices)
        """
        inputs = content.PageInputs(
            self._door,
            self._older,
            lambda: self._tables.session,
            lambda version, closure: self._tables.relations(self._tables.session).tables(version, closure),
        )
        return content.page(inputs, around, depth, most)

    def html(self, titled: Callable[[object], str]) -> str:
        """Return the closure as a notebook shows it, under the title of its version."""
        return svg.notebook(self._door, titled)

    def _older(self, version: int) -> Graph | None:
        """Read an older version of the graph; None for a closure in memory only."""
        attachment = self._attachment
        return None if attachment.store is None else OlderVersions(self._door, attachment.required).graph(version)
