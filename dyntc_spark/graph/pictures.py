"""Pictures of a closure: with matplotlib, and for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dyntc_spark.graph import display, plots
from dyntc_spark.graph.door import Door

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Pictures:
    """Draws a closure, which is behind a door."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the closure with matplotlib, and give the axes.

        A small graph is drawn in layers, a node for each set of vertices that reach each other; of a larger one the
        matrix is shown: how many pairs of vertices, in a topological order, are in each part of it.
        """
        return self._door.ask_apart(lambda version, closure: plots.draw(version.graph, closure, ax))

    def html(self) -> str:
        """Return the closure as a notebook shows it."""
        return self._door.ask_apart(
            lambda version, closure: display.html(f"DynamicClosure({version})", version.last, version.graph, closure)
        )
