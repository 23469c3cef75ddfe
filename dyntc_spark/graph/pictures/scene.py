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
from dyntc_spark.graph.pictures.colours import ENDING
from dyntc_spark.graph.pictures.condensation import Condensation
from dyntc_spark.graph.pictures.labels import label
from dyntc_spark.graph.pictures.layout import Arrow, Placed, Point, placed
from dyntc_spark.graph.pictures.marks import Marks
from dyntc_spark.graph.version import Graph
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
    """What to draw."""

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
    """A component; ``rows``: where the vertices are that are drawn one by one, below its middle."""

    rows: dict[int, float]
    words: list[list[Text]]  #: of each row
    role: str
    size: tuple[float, float]


def scene(part: Part, condensed: Condensation, *, unfold: bool, notes: list[str]) -> Scene:
    """Place a part of a graph; ``notes`` are lines below it."""
    nodes, of = _nodes(part, condensed, unfold=unfold)
    edges = _edges(part, of, unfold=unfold)
    out: dict[int, set[int]] = {}
    for one, other, *_ in edges:
        out.setdefault(one, set()).add(other)
    drawn: set[Arrow] = set()
    inner: list[tuple[int, int, int, str]] = []
    back: set[tuple[int, int]] = set()
    for one, other, tail, head, role in edges:
        if one == other:
            inner.append((one, tail, head, role))
        elif role == "deleted" and _leads(out, other, one):  # it was part of a cycle
            back.add((one, other))
        else:
            below = nodes[one].rows.get(tail, 0.0), nodes[other].rows.get(head, 0.0)
            drawn.add(Arrow(one, other, *below, role))
    arrows = sorted(drawn)
    at = placed([node.size for node in nodes], arrows)
    curves = [_curve(route, arrow.role) for route, arrow in zip(at.routes, arrows, strict=True)]
    curves += [
        _arc(nodes[node], at, node, tail, head, role)
        for node, tail, head, role in inner
        if {tail, head} <= nodes[node].rows.keys()
    ]
    curves += [_under(nodes, at, one, other) for one, other in sorted(back)]
    boxes, texts = _drawn(nodes, at)
    coloured = any(curve.role != "edge" for curve in curves) or any(text.role in ENDING for text in texts)
    notes = [*notes, _LEGEND] if coloured else notes
    notes = notes or ([] if nodes else ["The graph has no vertices."])
    width = max([at.width, *(_width(note) for note in notes)])
    bottom = at.height + (24 if back else 0)
    texts += [Text(0, bottom + 16 + 16 * n, note, "note") for n, note in enumerate(notes)]
    return _moved(Scene(width, bottom + 8 + 16 * len(notes), boxes, texts, curves))


MINUS = "\N{MINUS SIGN}"
_LEGEND = f"last batch: green: inserted, +n: reaches n more; red, dashed: deleted, {MINUS}n: reaches n fewer"


def _nodes(part: Part, condensed: Condensation, *, unfold: bool) -> tuple[list[_Node], Indices]:
    """Return a node for each component of the part, and by vertex the node, or -1. Few names are looked up."""
    place = np.full(part.graph.vertices.extent, -1, np.int64)
    place[condensed.vertices] = condensed.component
    components, node = np.unique(place[part.vertices], return_inverse=True)
    of = np.full(len(place), -1, np.int64)
    of[part.vertices] = node
    sizes = np.bincount(condensed.component, minlength=1)[components]
    order = np.lexsort((~np.isin(part.vertices, part.centres), node))  # by node, a centre first
    ends = np.searchsorted(node[order], np.arange(len(components) + 1))
    members = [part.vertices[order[begin : min(end, begin + MOST_MEMBERS)]] for begin, end in pairwise(ends.tolist())]
    named = [each if unfold else each[:1] for each in members]
    names = iter(part.graph.vertices.names(np.concatenate([np.zeros(0, np.int64), *named])).to_pylist())
    won, lost = (
        np.bincount(node, weights=counts[part.vertices]).astype(int).tolist()
        for counts in (part.marks.won, part.marks.lost)
    )
    centres = set(part.centres.tolist())
    nodes = []
    for at, (vertices, size) in enumerate(zip(named, sizes.tolist(), strict=True)):
        found = [(vertex, label(next(names), LONGEST)) for vertex in vertices.tolist()]
        role = "centre" if found[0][0] in centres else "vertex" if size == 1 else "component"
        if len(found) > 1:
            nodes.append(_unfolded(part, found, size, role))
        else:
            name = found[0][1] if size == 1 else f"{found[0][1]} & {size - 1:,} more"
            words = [Text(0, 0, name), *_counts(won[at], lost[at])]
            nodes.append(_Node({}, [words], role, (_across(words), ROW)))
    return nodes, of


def _unfolded(part: Part, found: list[tuple[int, str]], size: int, role: str) -> _Node:
    """Return a node with a row for each vertex."""
    won, lost = part.marks.won, part.marks.lost
    rows = [[Text(0, 0, text), *_counts(int(won[v]), int(lost[v]))] for v, text in found]
    hidden = size - len(rows)
    rows += [[Text(0, 0, f"{hidden:,} more", "note")]] if hidden else []
    below = {v: (n - (len(rows) - 1) / 2) * ROW for n, (v, _) in enumerate(found)}
    return _Node(below, rows, role, (max(map(_across, rows)) + 2 * ROW, ROW * len(rows) + 8))


def _across(words: list[Text]) -> float:
    return sum(_width(word.text) for word in words) + 2 * PAD


def _counts(won: int, lost: int) -> list[Text]:
    counted = (("won", "+", won), ("lost", MINUS, lost))
    return [Text(0, 0, f" {sign}{count:,}", role) for role, sign, count in counted if count]


def _width(text: str) -> float:
    return LETTER * sum(1.8 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _edges(part: Part, of: Indices, *, unfold: bool) -> list[tuple[int, int, int, int, str]]:
    """Return what is drawn of the edges: the nodes of both ends, the ends, and the role."""
    new = np.isin(keys_of(part.edges), keys_of(part.marks.inserted))
    found = []
    for role, edges, kept in (
        ("edge", part.edges, ~new),
        ("inserted", part.edges, new),
        ("deleted", part.marks.deleted, np.ones(len(part.marks.deleted), np.bool_)),
    ):
        one, other = of[edges.sources], of[edges.targets]
        apart = edges.sources != edges.targets if unfold else one != other
        rows = np.flatnonzero(kept & apart & (one >= 0) & (other >= 0))
        if not unfold:  # one for all edges between two nodes
            rows = rows[np.unique(one[rows] * len(of) + other[rows], return_index=True)[1]]
        ends = [column[rows].tolist() for column in (one, other, edges.sources, edges.targets)]
        found += list(zip(*ends, [role] * len(rows), strict=True))
    return found


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
