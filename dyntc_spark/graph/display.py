"""A closure in a notebook: its size, its last batch, and a small picture that needs no other library."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.history import Graph, Tally
from dyntc_spark.graph.layout import MOST_NODES, Condensation, Layers, density, layered

PARTS = 32
CELL = 5
STEP_X, STEP_Y = 110, 24


def html(title: str, last: Tally, graph: Graph, engine: Reachability) -> str:
    """Return the notebook's picture of a closure."""
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in last.as_dict().items() if count)
    return (
        '<div style="font-family:sans-serif;font-size:13px">'
        f"<b>{escape(title)}</b><br>last batch: {counts or 'nothing changed'}<br>{picture(graph, engine)}</div>"
    )


def picture(graph: Graph, engine: Reachability) -> str:
    """Return the picture: nodes and edges of a small graph, the matrix of a larger one."""
    condensed = Condensation.of(graph)
    if condensed.count <= MOST_NODES:
        return _nodes(layered(graph, condensed))
    return _matrix(density(condensed, engine, PARTS))


def _nodes(drawn: Layers) -> str:
    """Draw components as dots with names, edges as lines from left to right."""
    low = min(drawn.y, default=0.0)
    points = [(10 + STEP_X * x, 14 + STEP_Y * (y - low)) for x, y in zip(drawn.x, drawn.y, strict=True)]
    width = 20 + STEP_X * (max(drawn.x, default=0) + 1)
    height = 28 + STEP_Y * (max(drawn.y, default=0.0) - low)
    lines = [
        f'<line x1="{points[tail][0]}" y1="{points[tail][1]:.0f}" x2="{points[head][0]}" y2="{points[head][1]:.0f}" '
        'stroke="#9ab"/>'
        for tail, head in drawn.edges
    ]
    dots = [
        f'<circle cx="{x}" cy="{y:.0f}" r="{4 if size == 1 else 6}" fill="{"#258" if size == 1 else "#c50"}"/>'
        f'<text x="{x + 8}" y="{y - 3:.0f}" font-size="11" fill="currentColor">{escape(label)}</text>'
        for (x, y), size, label in zip(points, drawn.sizes, drawn.labels, strict=True)
    ]
    return _svg(width, height, lines + dots)


def _matrix(full: npt.NDArray[np.float64]) -> str:
    """Draw a square for each part of the matrix, the darker the fuller."""
    squares = [
        f'<rect x="{CELL * column}" y="{CELL * row}" width="{CELL}" height="{CELL}" fill="#258" '
        f'fill-opacity="{0.15 + 0.85 * share**0.5:.2f}"/>'
        for (row, column), share in np.ndenumerate(full)
        if share > 0
    ]
    side = CELL * len(full)
    frame = f'<rect width="{side}" height="{side}" fill="none" stroke="#9ab"/>'
    return _svg(side, side, [frame, *squares])


def _svg(width: float, height: float, shapes: list[str]) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}">{"".join(shapes)}</svg>'
