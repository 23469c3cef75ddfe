"""Pictures with matplotlib, which is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dyntc_spark.errors import SetupError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.pictures.colours import BOXES, EDGES, ENDING, POWER, TEXTS
from dyntc_spark.graph.pictures.matrix import Matrix
from dyntc_spark.graph.pictures.picture import PictureOptions, picture
from dyntc_spark.graph.pictures.scene import FONT, Curve, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 72.0  # a unit of a scene is a point
INK = "#222222"
WIDE = 0.92  # letters of matplotlib's own font are wide


def plot(door: Door, wanted: PictureOptions, ax: Axes | None = None) -> Axes:
    """Draw a picture, on new axes unless some are given."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise SetupError(
            "the package matplotlib", "an environment without it", 'Install it: pip install "dyntc-spark[plot]".'
        ) from error
    _, drawn = picture(door, wanted)
    if isinstance(drawn, Matrix):
        if ax is None:
            _, ax = plt.subplots(figsize=(7.5, 6.5), layout="constrained")
        _draw_matrix(ax, drawn)
        return ax
    if ax is None:
        figure = plt.figure(figsize=(max(drawn.width, 120) / DPI, max(drawn.height, 40) / DPI))
        ax = figure.add_axes((0, 0, 1, 1))
    _draw_scene(ax, drawn)
    return ax


def _draw_scene(ax: Axes, drawn: Scene) -> None:
    """Draw boxes, arrows and words; words have the size that fits the axes as they are now."""
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415

    ax.set_xlim(0, max(drawn.width, 120))
    ax.set_ylim(max(drawn.height, 40), 0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    for curve in drawn.curves:
        for patch in _arrow(curve):
            ax.add_patch(patch)
    for box in drawn.boxes:
        look = BOXES[box.role]
        style: dict[str, Any] = {
            "boxstyle": "round,pad=0,rounding_size=5",
            "facecolor": (look.fill, look.opacity),
            "zorder": 3,
        }
        corner = box.x, box.y
        ax.add_patch(FancyBboxPatch(corner, box.width, box.height, edgecolor=look.line, linewidth=look.width, **style))
    place = ax.get_window_extent()
    scale = min(place.width / max(drawn.width, 120), place.height / max(drawn.height, 40)) * DPI / ax.figure.dpi
    for text in drawn.texts:
        colour, weight = TEXTS[text.role]
        ax.text(
            text.x,
            text.y,
            text.text,
            fontsize=WIDE * FONT * scale,
            ha="right" if text.role in ENDING else "left",
            color=INK if colour == "currentColor" else colour,
            weight=weight,
            va="center_baseline",
            parse_math=False,
            zorder=4,
        )


def _arrow(curve: Curve) -> list[Any]:
    from matplotlib.patches import PathPatch, Polygon  # noqa: PLC0415
    from matplotlib.path import Path  # noqa: PLC0415

    points = [curve.start, *(point for bend in curve.bends for point in bend)]
    path = Path(points, [Path.MOVETO] + [Path.CURVE4] * (len(points) - 1))
    changed = curve.role != "edge"
    line: dict[str, Any] = {
        "linestyle": (0, (4, 2)) if curve.role == "deleted" else "solid",
        "linewidth": 1.8 if changed else 1,
    }
    colour, above = EDGES[curve.role], 2 if changed else 1
    return [
        PathPatch(path, facecolor="none", edgecolor=colour, zorder=above, **line),
        Polygon(curve.tip, closed=True, facecolor=colour, edgecolor="none", zorder=above),
    ]


def _draw_matrix(ax: Axes, drawn: Matrix) -> None:
    from matplotlib.colors import PowerNorm  # noqa: PLC0415
    from matplotlib.ticker import PercentFormatter, StrMethodFormatter  # noqa: PLC0415

    n = drawn.vertices
    shown = ax.imshow(
        drawn.full, cmap="Blues", norm=PowerNorm(POWER, 0, 1), extent=(0, n, n, 0), interpolation="nearest"
    )
    ax.set(xlabel="reached\n" + drawn.about.replace(", ", ",\n"), ylabel="reaching")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.tick_params(labelsize=8)
    bar = ax.figure.colorbar(shown, ax=ax, shrink=0.7, format=PercentFormatter(1), ticks=[0, 0.01, 0.1, 0.5, 1])
    bar.set_label("share of the pairs that are reachable")
    line = {"arrowstyle": "-", "color": "#8899aa", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    style: dict[str, Any] = {"fontsize": 8, "parse_math": False, "annotation_clip": False, "xycoords": "axes fraction"}
    rows = {**style, "va": "center", "arrowprops": {**line, "relpos": (0, 0.5)}}
    columns = {**style, "rotation": 45, "rotation_mode": "anchor", "arrowprops": {**line, "relpos": (0, 0)}}
    for row in drawn.rows:
        words = f"{row.label} reaches {row.count:,}"
        ax.annotate(words, xy=(1, 1 - row.place), xytext=(1.05, 1 - row.beside), **rows)
    for column in drawn.columns:
        words = f"{column.label}: {column.count:,} reach it"
        ax.annotate(words, xy=(column.place, 1), xytext=(column.beside, 1.05), **columns)
