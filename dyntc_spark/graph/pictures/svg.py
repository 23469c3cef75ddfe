"""Pictures as SVG, which needs no other library: in notebooks, and in files."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from dyntc_spark.errors import ClosedError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.pictures.colours import BOXES, DASHES, EDGES, ENDING, FULL, SCALE, TEXTS, shade
from dyntc_spark.graph.pictures.layout import Point
from dyntc_spark.graph.pictures.matrix import Matrix, Named
from dyntc_spark.graph.pictures.picture import PictureOptions, picture
from dyntc_spark.graph.pictures.scene import FONT, Curve, Scene

SIDE = 240
MARGIN = 26  # beside names
LETTER = 5.6
SMALL = 10


def notebook(door: Door, titled: Callable[[object], str]) -> str:
    """Return what a notebook shows of a closure: sizes, version, the last batch, and a small picture."""
    try:
        version, drawn = picture(door, PictureOptions(thorough=False))
    except ClosedError:
        return escape(titled(door))
    counts = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in version.last.as_dict().items() if n)
    batch = f"last batch: {counts or 'nothing changed'}<br>" if version.number else ""
    return (
        '<div style="font-family:sans-serif;font-size:13px;overflow-x:auto">'
        f"<b>{escape(titled(version))}</b><br>{batch}{_svg(drawn)}</div>"
    )


def document(door: Door, wanted: PictureOptions) -> str:
    """Return a picture as a complete file, on white."""
    return _svg(picture(door, wanted)[1], page=True)


def _svg(drawn: Scene | Matrix, *, page: bool = False) -> str:
    width, height, shapes = _matrix(drawn) if isinstance(drawn, Matrix) else _scene(drawn)
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>' if page else ""
    style = ' color="#222"' if page else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img"{style} '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="{FONT:.0f}">'
        f"{ground}{''.join(shapes)}</svg>"
    )


def _scene(drawn: Scene) -> tuple[float, float, list[str]]:
    shapes = [shape for curve in sorted(drawn.curves, key=lambda c: c.role != "edge") for shape in _arrow(curve)]
    for box in drawn.boxes:
        look = BOXES[box.role]
        shapes.append(
            f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5" '
            f'fill="{look.fill}" fill-opacity="{look.opacity}" stroke="{look.line}" stroke-width="{look.width}"/>'
        )
    for text in drawn.texts:
        colour, weight = TEXTS[text.role]
        shapes.append(
            f'<text x="{text.x:.1f}" y="{text.y + 4:.1f}" fill="{colour}" font-weight="{weight}" '
            f'text-anchor="{"end" if text.role in ENDING else "start"}">{escape(text.text)}</text>'
        )
    return drawn.width, drawn.height, shapes


def _arrow(curve: Curve) -> list[str]:
    colour, dashes = EDGES[curve.role], DASHES.get(curve.role)
    path = f"M{_at(curve.start)}" + "".join(f"C{_at(a)} {_at(b)} {_at(c)}" for a, b, c in curve.bends)
    corners = " ".join(map(_at, curve.tip))
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    width = 1 if curve.role == "edge" else 1.8
    return [
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>',
        f'<polygon points="{corners}" fill="{colour}"/>',
    ]


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _matrix(drawn: Matrix) -> tuple[float, float, list[str]]:
    """Draw a square for each part, the darker the fuller, with the names of the fullest rows and columns."""
    left, top = (MARGIN + share * _longest(names) for names, share in ((drawn.rows, 1.0), (drawn.columns, 0.77)))
    parts = len(drawn.full)
    cell = SIDE / parts
    shapes = [
        f'<rect x="{left + column * cell:.2f}" y="{top + row * cell:.2f}" width="{cell:.2f}" height="{cell:.2f}" '
        f'fill="{FULL}" fill-opacity="{shade(share):.2f}"/>'
        for row, line in enumerate(drawn.full.tolist())
        for column, share in enumerate(line)
        if share > 0
    ]
    shapes.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#8aa"/>')
    shapes += [_row_name(left, top, named) for named in drawn.rows]
    shapes += [_column_name(left, top, named) for named in drawn.columns]
    bottom = top + SIDE
    shapes += [
        _words(left, bottom + 16, f"{drawn.about}: a row reaches"),
        _words(left, bottom + 30, "the columns that are filled. Named are the rows that reach most and the columns"),
        _words(left, bottom + 44, "that are reached by most. plot(around=vertex) draws boxes, explore() a page."),
        *_scale(left + SIDE + 20, top),
    ]
    return left + SIDE + 240, bottom + 54, shapes


def _longest(names: list[Named]) -> float:
    return LETTER * max((len(f"{named.label}: {named.count:,}") for named in names), default=0)


def _row_name(left: float, top: float, named: Named) -> str:
    y, beside = top + SIDE * named.place, top + SIDE * named.beside
    words = _words(left - 18, beside + 3, f"{named.label}: {named.count:,}", anchor="end")
    return words + _tick(left - 15, beside, left, y)


def _column_name(left: float, top: float, named: Named) -> str:
    x, beside = left + SIDE * named.place, left + SIDE * named.beside
    words = _words(0, 0, f"{named.label}: {named.count:,}")
    return f'<g transform="translate({beside + 3:.1f},{top - 18:.1f}) rotate(-50)">{words}</g>' + _tick(
        beside, top - 15, x, top
    )


def _tick(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#8aa"/>'


def _scale(left: float, top: float) -> list[str]:
    """Draw the legend."""
    shapes = [_words(left, top + 8, "share of pairs"), _words(left, top + 20, "that are reachable")]
    for n, share in enumerate(SCALE):
        y = top + 30 + 16 * n
        opacity = f'fill-opacity="{shade(share):.2f}"'
        shapes.append(
            f'<rect x="{left:.1f}" y="{y:.1f}" width="14" height="14" fill="{FULL}" {opacity} stroke="#8aa"/>'
        )
        shapes.append(_words(left + 20, y + 11, f"{share:.0%}" if share >= 0.01 or not share else f"{share:.1%}"))
    return shapes


def _words(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{SMALL}" text-anchor="{anchor}" fill="currentColor">'
        f"{escape(text)}</text>"
    )
