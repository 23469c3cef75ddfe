"""Pictures of a closure with matplotlib, which is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dyntc_spark.engines.base import Reachability
from dyntc_spark.errors import SetupError
from dyntc_spark.graph.history import Graph
from dyntc_spark.graph.layout import MOST_NODES, Condensation, Layers, density, layered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = 128


def draw(graph: Graph, engine: Reachability, ax: Axes | None = None) -> Axes:
    """Draw a small graph in layers, the matrix of a larger one; on axes of its own unless some are given."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415  (an extra)
        from matplotlib.colors import PowerNorm  # noqa: PLC0415
    except ImportError as error:
        raise SetupError(
            "the package matplotlib", "an environment without it", 'Install it: pip install "dyntc-spark[plot]".'
        ) from error
    condensed = Condensation.of(graph)
    small = condensed.count <= MOST_NODES
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 4) if small else (5, 5), layout="constrained")
    if small:
        _draw_layers(ax, layered(graph, condensed))
    else:
        full = density(condensed, engine, PARTS)
        n = len(condensed.vertices)
        ax.imshow(full, cmap="Blues", norm=PowerNorm(0.35, 0, 1), extent=(0, n, n, 0), interpolation="nearest")
        ax.set(xlabel="reached", ylabel="reaching", title=f"closure of {n} vertices, in a topological order")
    return ax


def _draw_layers(ax: Axes, drawn: Layers) -> None:
    """Draw components as labelled boxes and edges as arrows, layers from left to right."""
    boxes = {"boxstyle": "round,pad=0.3", "edgecolor": "#225588"}
    for tail, head in drawn.edges:
        ax.annotate(
            "",
            xy=(drawn.x[head], drawn.y[head]),
            xytext=(drawn.x[tail], drawn.y[tail]),
            arrowprops={"arrowstyle": "-|>", "color": "#99aabb", "shrinkA": 18, "shrinkB": 18},
        )
    for x, y, label, size in zip(drawn.x, drawn.y, drawn.labels, drawn.sizes, strict=True):
        colour = "#ffffff" if size == 1 else "#ffddbb"
        ax.text(x, y, label, ha="center", va="center", fontsize=8, bbox={**boxes, "facecolor": colour})
    ax.set_xlim(-0.5, max(drawn.x, default=0) + 0.5)
    ax.set_ylim(min(drawn.y, default=0) - 0.7, max(drawn.y, default=0) + 0.7)
    ax.set_axis_off()
