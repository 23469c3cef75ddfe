"""A part of a graph as boxes, arrows and words with places; `svg` and `plots` draw it.

Vertices that reach each other are one box, a component, unless they are to be unfolded.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dyntc_spark.edges import Edges, keys_of
from dyntc_spark.graph.history import Graph
from dyntc_spark.graph.pictures.condensation import Condensation
from dyntc_spark.graph.pictures.labels import label
from dyntc_spark.graph.pictures.layout import Arrow, Placed, Point, placed
from dyntc_spark.graph.pictures.marks import Marks
from dyntc_spark.kernels.ids import Indices

FONT = 11.0
LETTER = 6.4  # width of a letter, generously
ROW = 20.0
PAD = 8.0
TIP = 7.0  # of an arrow; it ends a little before the box
CLEAR = 3.0
LONGEST = 24
MOST_MEMBERS = 12


class Box(NamedTuple):
    """A rectangle: ``role`` is vertex, centre, component or frame."""

    x: float
    y: float
    width: float
    height: float
    role: str


class Text(NamedTuple):
    """Words, vertically in the middle: ``role`` is name, won, lost or note."""

    x: float  #: where they begin; where they end for won and lost
    y: float
    text: str
    role: str = "name"


class Curve(NamedTuple):
    """Cubic curves from a start on, to an arrow's tip: ``role`` is edge, inserted or deleted."""

    start: Point
    bends: list[tuple[Point, Point, Point]]
    tip: list[Point]  #: three corners
    role: str


@dataclass(frozen=True, slots=True)
class Scene:
    """What is to be drawn."""

    width: float
    height: float
    boxes: list[Box]
    texts: list[Text]
    curves: list[Curve]


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a graph that is drawn."""

    graph: Graph
    vertices: Indices
    edges: Edges
    marks: Marks
    centres: Indices


@dataclass(frozen=True, slots=True)
class _Node:
    """A component, with the vertices of it that are drawn; ``rows``: where each of these is, below its middle."""

    name: str
    members: list[int]
    rows: dict[int, float]
    words: list[list[Text]]  #: of each row
    role: str
    size: tuple[float, float]


def scene(part: Part, condensed: Condensation, *, unfold: bool, notes: list[str]) -> Scene:
    """Place a part of a graph; ``notes`` are lines below it."""
    nodes, of = _nodes(part, condensed, unfold=unfold)
    edges = _edges(part)
    out: dict[int, set[int]] = {}
    for tail, head, _ in edges:
        out.setdefault(of[tail], set()).add(of[head])
    drawn: set[tuple[Arrow, str]] = set()
    inner: list[tuple[int, int, int, str]] = []
    back: set[tuple[int, int]] = set()
    for tail, head, role in edges:
        one, other = of[tail], of[head]
        if one == other:
            inner += [(one, tail, head, role)] if unfold and tail != head else []
        elif role == "deleted" and _leads(out, other, one):  # it was part of a cycle
            back.add((one, other))
        else:
            drawn.add((Arrow(one, other, nodes[one].rows[tail], nodes[other].rows[head]), role))
    arrows = sorted(drawn)
    at = placed([node.size for node in nodes], [arrow for arrow, _ in arrows])
    curves = [_curve(route, role) for route, (_, role) in zip(at.routes, arrows, strict=True)]
    curves += [_arc(nodes[node], at, node, tail, head, role) for node, tail, head, role in inner]
    curves += [_under(nodes, at, one, other) for one, other in sorted(back)]
    boxes, texts = _drawn(nodes, at)
    notes = notes if part.marks.is_empty else [*notes, _LEGEND]
    width = max([at.width, *(_width(note) for note in notes)])
    bottom = at.height + (24 if back else 0)
    texts += [Text(0, bottom + 16 + 16 * n, note, "note") for n, note in enumerate(notes)]
    return _moved(Scene(width, bottom + 8 + 16 * len(notes), boxes, texts, curves))


MINUS = "\N{MINUS SIGN}"
_LEGEND = f"last batch: green: inserted, +n: reaches n more; red, dashed: deleted, {MINUS}n: reaches n fewer"


def _nodes(part: Part, condensed: Condensation, *, unfold: bool) -> tuple[list[_Node], dict[int, int]]:
    """Return a node for each component of the part, and the node of each vertex."""
    place = np.full(part.graph.vertices.extent, -1)
    place[condensed.vertices] = condensed.component
    sizes = np.bincount(condensed.component, minlength=1)
    names = part.graph.vertices.names(part.vertices).to_pylist()
    members: dict[int, list[tuple[int, str]]] = {}
    for vertex, name in zip(part.vertices.tolist(), names, strict=True):
        members.setdefault(int(place[vertex]), []).append((vertex, label(name, LONGEST)))
    centres = set(part.centres.tolist())
    nodes: list[_Node] = []
    of: dict[int, int] = {}
    for component, found in sorted(members.items()):
        shown = sorted(found, key=lambda each: each[0] not in centres)
        of.update((vertex, len(nodes)) for vertex, _ in shown)
        nodes.append(_node(part, shown, int(sizes[component]), centres, unfold=unfold and len(found) > 1))
    return nodes, of


def _node(part: Part, found: list[tuple[int, str]], size: int, centres: set[int], *, unfold: bool) -> _Node:
    name = found[0][1] if size == 1 else f"{found[0][1]} & {size - 1:,} more"
    won, lost = part.marks.won, part.marks.lost
    vertices = [vertex for vertex, _ in found]
    if unfold:
        rows = [[Text(0, 0, text), *_counts(int(won[v]), int(lost[v]))] for v, text in found[:MOST_MEMBERS]]
        hidden = size - len(rows)
        rows += [[Text(0, 0, f"{hidden:,} more", "note")]] if hidden else []
    else:
        rows = [[Text(0, 0, name), *_counts(int(won[vertices].sum()), int(lost[vertices].sum()))]]
    last = len(rows) - 1
    below = {v: (min(n, last) - last / 2) * ROW if unfold else 0.0 for n, v in enumerate(vertices)}
    width = max(sum(_width(text.text) for text in row) for row in rows) + 2 * PAD
    role = "centre" if centres.intersection(vertices) else "vertex" if size == 1 else "component"
    side = ROW if unfold else 0.0  # room for the arrows inside
    return _Node(name, vertices, below, rows, role, (width + 2 * side, ROW * len(rows) + (8 if unfold else 0)))


def _counts(won: int, lost: int) -> list[Text]:
    counted = (("won", "+", won), ("lost", MINUS, lost))
    return [Text(0, 0, f" {sign}{count:,}", role) for role, sign, count in counted if count]


def _width(text: str) -> float:
    return LETTER * sum(1.8 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _edges(part: Part) -> list[tuple[int, int, str]]:
    new = set(keys_of(part.marks.inserted).tolist())
    roles = ["inserted" if key in new else "edge" for key in keys_of(part.edges).tolist()]
    edges = list(zip(part.edges.sources.tolist(), part.edges.targets.tolist(), roles, strict=True))
    drawn, gone = set(part.vertices.tolist()), part.marks.deleted
    pairs = zip(gone.sources.tolist(), gone.targets.tolist(), strict=True)
    return edges + [(tail, head, "deleted") for tail, head in pairs if tail in drawn and head in drawn]


def _leads(out: dict[int, set[int]], start: int, end: int) -> bool:
    """Return whether a path leads from one node to another."""
    seen, ready = {start}, [start]
    for node in ready:
        new = out.get(node, set()) - seen
        seen |= new
        ready += new
    return end in seen


def _curve(route: list[Point], role: str) -> Curve:
    """Return an arrow along a route: horizontal where it passes a layer and where it ends."""
    (x, y), end = route[-1], route[-1][0] - CLEAR - TIP
    points = [*route[:-1], (end, y)]
    bends = []
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (x1 + x2) / 2
        bends.append(((middle, y1), (middle, y2), (x2, y2)))
    tip = [(x - CLEAR, y), (end, y - TIP / 2), (end, y + TIP / 2)]
    return Curve(route[0], bends, tip, role)


def _arc(node: _Node, at: Placed, number: int, tail: int, head: int, role: str) -> Curve:
    """Return an arrow inside an unfolded component: downwards on the right, upwards on the left."""
    down = node.rows[tail] < node.rows[head]
    side = 1 if down else -1
    x = at.x[number] + (node.size[0] - ROW if down else ROW)
    y1, y2 = (at.y[number] + node.rows[end] for end in (tail, head))
    out = side * min(ROW + 4, 6 + abs(y2 - y1) / 4)
    near = x + side * (CLEAR + TIP)
    y1, y2 = (y1 + 3, y2 - 3) if down else (y1 - 3, y2 + 3)
    tip = [(x + side * CLEAR, y2), (near, y2 - TIP / 2), (near, y2 + TIP / 2)]
    return Curve((x, y1), [((x + out, y1), (near + out, y2), (near, y2))], tip, role)


def _under(nodes: list[_Node], at: Placed, tail: int, head: int) -> Curve:
    """Return an arrow for a deleted edge that leads backwards: from below one box to below the other."""
    (x1, y1), (x2, y2) = (
        (at.x[n] + nodes[n].size[0] / 2, at.y[n] + nodes[n].size[1] / 2 + CLEAR) for n in (tail, head)
    )
    tip = [(x2, y2), (x2 - TIP / 2, y2 + TIP), (x2 + TIP / 2, y2 + TIP)]
    low = max(y1, y2) + 24
    return Curve((x1, y1), [((x1, low), (x2, low), (x2, y2 + TIP))], tip, "deleted")


def _drawn(nodes: list[_Node], at: Placed) -> tuple[list[Box], list[Text]]:
    boxes, texts = [], []
    for node, left, middle in zip(nodes, at.x, at.y, strict=True):
        width, height = node.size
        unfolded = len(node.words) > 1
        boxes.append(Box(left, middle - height / 2, width, height, "frame" if unfolded else node.role))
        side = ROW if unfolded else 0.0
        for n, row in enumerate(node.words):
            y = middle + (n - (len(node.words) - 1) / 2) * ROW
            if unfolded and row[0].role == "name":
                first = node.role == "centre" and n == 0
                role = "centre" if first else "vertex"
                boxes.append(Box(left + side, y - ROW / 2 + 2, width - 2 * side, ROW - 4, role))
            texts.append(row[0]._replace(x=left + side + PAD, y=y))
            x = left + width - side - PAD
            for word in reversed(row[1:]):
                texts.append(word._replace(x=x, y=y))
                x -= _width(word.text)
    return boxes, texts


def _moved(made: Scene, by: float = 6.0) -> Scene:
    """Return a scene with a margin."""

    def point(place: Point) -> Point:
        return place[0] + by, place[1] + by

    return Scene(
        made.width + 2 * by,
        made.height + 2 * by,
        [box._replace(x=box.x + by, y=box.y + by) for box in made.boxes],
        [text._replace(x=text.x + by, y=text.y + by) for text in made.texts],
        [
            Curve(
                point(curve.start),
                [(point(a), point(b), point(c)) for a, b, c in curve.bends],
                [point(corner) for corner in curve.tip],
                curve.role,
            )
            for curve in made.curves
        ],
    )
