"""Where boxes and arrows are in a picture of layers: arrows lead from left to right, and around boxes.

An arrow that crosses a layer has a place of its own there, as a box has, which it shares with the other arrows to the
same end and of the same role. So no line runs through a label, and none hides a line of another colour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

GAP_X, GAP_Y = 46.0, 10.0
LANE = 6.0  # height of an arrow's place in a layer
SWEEPS = 12

Point: TypeAlias = tuple[float, float]


class Arrow(NamedTuple):
    """An edge from one box to another, in some role; ``below``: how far below the middle of the box an end is."""

    tail: int
    head: int
    below_tail: float = 0.0
    below_head: float = 0.0
    role: str = "edge"


@dataclass(frozen=True, slots=True)
class Placed:
    """Boxes with places: the left side and the middle of each. A route passes the points in turn."""

    x: list[float]
    y: list[float]
    routes: list[list[Point]]
    width: float
    height: float


@dataclass(slots=True)
class _Place:
    """A box, or the place of arrows in a layer that they cross."""

    layer: int
    height: float
    into: list[tuple[_Place, float]] = field(default_factory=list)  #: what leads here, and how far below its middle
    out: list[tuple[_Place, float]] = field(default_factory=list)
    y: float = 0.0


def placed(sizes: list[tuple[float, float]], arrows: list[Arrow]) -> Placed:
    """Return places for boxes of these widths and heights, and routes for arrows that form no cycle.

    Examples
    --------
    >>> found = placed([(10, 10)] * 3, [Arrow(0, 1), Arrow(1, 2), Arrow(0, 2)])
    >>> found.x
    [0.0, 56.0, 112.0]
    >>> [len(route) for route in found.routes]  # the last one goes around the second box
    [3, 3, 5]
    """
    layers_of = _layers(len(sizes), arrows)
    boxes = [_Place(layer, height) for layer, (_, height) in zip(layers_of, sizes, strict=True)]
    lanes: dict[tuple[int, float, str, int], _Place] = {}
    ways = [_way(arrow, boxes, lanes) for arrow in arrows]
    for arrow, way in zip(arrows, ways, strict=True):
        _join(arrow, way)
    count = max(layers_of, default=-1) + 1
    layers: list[list[_Place]] = [[] for _ in range(count)]
    for place in [*boxes, *lanes.values()]:
        layers[place.layer].append(place)
    _order(layers)
    _align(layers)
    widths = [max((w for at, (w, _) in zip(layers_of, sizes, strict=True) if at == n), default=0) for n in range(count)]
    lefts = [sum(widths[:n]) + n * GAP_X for n in range(count)]
    top = min((place.y - place.height / 2 for layer in layers for place in layer), default=0.0)
    bottom = max((place.y + place.height / 2 for layer in layers for place in layer), default=0.0)
    routes = []
    for arrow, way in zip(arrows, ways, strict=True):
        tail, head = way[0], way[-1]
        y, right = tail.y + arrow.below_tail - top, lefts[tail.layer] + widths[tail.layer]
        route = [(lefts[tail.layer] + sizes[arrow.tail][0], y), (right, y)]  # past the wider boxes of the layer
        for lane in way[1:-1]:
            route += [(lefts[lane.layer], lane.y - top), (lefts[lane.layer] + widths[lane.layer], lane.y - top)]
        routes.append([*route, (lefts[head.layer], head.y + arrow.below_head - top)])
    width = lefts[-1] + widths[-1] if count else 0.0
    return Placed([lefts[n] for n in layers_of], [box.y - top for box in boxes], routes, width, bottom - top)


def _layers(count: int, arrows: list[Arrow]) -> list[int]:
    """Return the layer of each box: behind all that lead to it; what nothing leads to is just before what follows."""
    ends = sorted({(arrow.tail, arrow.head) for arrow in arrows})
    out: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for tail, head in ends:
        out[tail].append(head)
        missing[head] += 1
    first = [box for box in range(count) if not missing[box]]
    layer = [0] * count
    for box in (ready := list(first)):
        for head in out[box]:
            layer[head] = max(layer[head], layer[box] + 1)
            missing[head] -= 1
            if not missing[head]:
                ready.append(head)
    for box in first:
        layer[box] = min((layer[head] for head in out[box]), default=1) - 1
    return layer


def _way(arrow: Arrow, boxes: list[_Place], lanes: dict[tuple[int, float, str, int], _Place]) -> list[_Place]:
    """Return where an arrow passes: its ends, and a place in each layer between."""
    tail, head = boxes[arrow.tail], boxes[arrow.head]
    between = [
        lanes.setdefault((arrow.head, arrow.below_head, arrow.role, layer), _Place(layer, LANE))
        for layer in range(tail.layer + 1, head.layer)
    ]
    return [tail, *between, head]


def _join(arrow: Arrow, way: list[_Place]) -> None:
    for one, other in pairwise(way):
        one.out.append((other, arrow.below_head if other is way[-1] else 0.0))
        other.into.append((one, arrow.below_tail if one is way[0] else 0.0))


def _order(layers: list[list[_Place]]) -> None:
    """Put the places of each layer into an order that crosses few arrows: by their neighbours, to and fro."""
    for layer in layers:
        _stack(layer)
    for sweep in range(SWEEPS):
        forwards = sweep % 2 == 0
        for layer in layers if forwards else reversed(layers):
            layer.sort(key=lambda place: _wanted(place, place.into if forwards else place.out))
            _stack(layer)


def _align(layers: list[list[_Place]]) -> None:
    """Move places close to their neighbours; their order and the gaps between them stay."""
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            near = [place.into + place.out for place in layer]
            _settle(layer, [_wanted(place, each) for place, each in zip(layer, near, strict=True)])


def _wanted(place: _Place, near: list[tuple[_Place, float]]) -> float:
    return sum(other.y + below for other, below in near) / len(near) if near else place.y


def _stack(layer: list[_Place]) -> None:
    """Set the heights of the places of a layer, in their order; the middle of the layer is 0."""
    at = -sum(place.height + GAP_Y for place in layer) / 2
    for place in layer:
        place.y = at + (place.height + GAP_Y) / 2
        at += place.height + GAP_Y


def _settle(layer: list[_Place], wanted: list[float]) -> None:
    """Bring the places of a layer as near as they can be to where they want to be (least squares, by pooling)."""
    offsets, at = [], 0.0  # of each place from the first, where all are as close as they may be
    for before, place in pairwise([layer[0], *layer]):
        at += 0.0 if place is layer[0] else (before.height + place.height) / 2 + GAP_Y
        offsets.append(at)
    pools: list[tuple[float, int]] = []  # sums and counts; their means ascend
    for want, offset in zip(wanted, offsets, strict=True):
        pools.append((want - offset, 1))
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            (total, count), (sum_before, count_before) = pools.pop(), pools.pop()
            pools.append((total + sum_before, count + count_before))
    means = [total / count for total, count in pools for _ in range(count)]
    for place, mean, offset in zip(layer, means, offsets, strict=True):
        place.y = mean + offset
