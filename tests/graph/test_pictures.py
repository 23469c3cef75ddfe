"""Pictures: what is drawn, where, and in which colour; in notebooks, as SVG, and with matplotlib."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from dyntc_spark import DynamicClosure, LabelledGraph
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.errors import OptionError, UnknownVertexError
from dyntc_spark.graph.pictures import svg
from dyntc_spark.graph.pictures.condensation import Condensation
from dyntc_spark.graph.pictures.layout import GAP_X, Arrow, placed
from dyntc_spark.graph.pictures.matrix import density, matrix
from dyntc_spark.graph.pictures.neighbourhood import nearby
from dyntc_spark.graph.pictures.picture import PictureOptions, picture
from dyntc_spark.graph.pictures.scene import MINUS
from dyntc_spark.graph.version import Graph

EDGES = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("a", "d")]


@pytest.fixture(autouse=True)
def _no_window():
    with mpl.rc_context():
        plt.switch_backend("agg")
        yield
        plt.close("all")


@pytest.fixture
def closure():
    return DynamicClosure.from_edges(EDGES)


def chain(n):
    return DynamicClosure.from_edges([(v, v + 1) for v in range(n)])


def drawn(closure, **wanted):
    return picture(closure._parts.door, PictureOptions(**wanted))[1]


def words(scene):
    return [text.text for text in scene.texts if text.role == "name"]


def random_arrows(seed, boxes=14, count=30):
    ends = np.random.default_rng(seed).integers(boxes, size=(count, 2))
    return [Arrow(*pair) for pair in sorted({(int(min(e)), int(max(e))) for e in ends if e[0] != e[1]})]


@pytest.mark.parametrize("seed", range(8))
def test_boxes_do_not_overlap_and_no_line_runs_through_one(seed):
    sizes = [(40.0 + 10 * (n % 3), 20.0 + 20 * (n % 4 == 0)) for n in range(14)]
    arrows = random_arrows(seed)
    found = placed(sizes, arrows)
    boxes = [(x, x + w, y - h / 2, y + h / 2) for x, y, (w, h) in zip(found.x, found.y, sizes, strict=True)]
    for n, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[n + 1 :]:
            assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
        for arrow, route in zip(arrows, found.routes, strict=True):
            for (x1, y1), (x2, y2) in pairwise(route):
                if n not in (arrow.tail, arrow.head) and y1 == y2:  # the straight part of a line, in a layer
                    assert not (top < y1 < bottom and x1 < right and left < x2)
    for arrow, route in zip(arrows, found.routes, strict=True):
        assert route[0][0] == boxes[arrow.tail][1]
        assert route[-1][0] == boxes[arrow.head][0]
        assert all(x1 <= x2 for (x1, _), (x2, _) in pairwise(route))
        assert route[-1][0] - route[-2][0] == GAP_X  # where it bends no box is


def test_a_box_for_a_component_or_for_each_of_its_vertices(closure):
    assert sorted(words(drawn(closure))) == ["a", "b & 1 more", "d"]
    unfolded = drawn(closure, unfold=True)
    assert sorted(words(unfolded)) == ["a", "b", "c", "d"]
    assert [box.role for box in unfolded.boxes].count("frame") == 1
    assert len(unfolded.curves) == len(EDGES)


def test_long_names_can_be_told_apart():
    shared = "warehouse://shop.example/analytics/staging."
    found = words(drawn(DynamicClosure.from_edges([(f"{shared}orders", f"{shared}customers")])))
    assert [name[-9:] for name in found] == ["customers", "ng.orders"]
    assert all(name.startswith("warehou…") and len(name) == 24 for name in found)


def test_few_names_are_looked_up(monkeypatch):
    ring = DynamicClosure.from_edges([(v, (v + 1) % 900) for v in range(900)])
    asked, table = [], type(ring._parts.door.now.graph.vertices)
    found = table.names
    monkeypatch.setattr(table, "names", lambda table, numbers=None: asked.append(numbers) or found(table, numbers))
    assert words(drawn(ring)) == ["0 & 899 more"]
    assert [len(numbers) for numbers in asked] == [1]


def test_the_last_batch_is_in_colour(closure):
    assert {curve.role for curve in drawn(closure).curves} == {"edge"}  # the first build is no change
    closure.apply([("delete", "c", "d"), ("delete", "a", "d"), ("insert", "d", "e"), ("insert", "d", "a")])
    found = drawn(closure)
    roles = [curve.role for curve in found.curves]
    assert sorted(roles) == ["deleted", "deleted", "edge", "inserted", "inserted"]
    marks = {(text.role, text.text.strip()) for text in found.texts if text.role in {"won", "lost"}}
    assert marks == {("won", "+4"), ("lost", f"{MINUS}1"), ("lost", f"{MINUS}2")}  # d; a; b and c together
    assert any("last batch" in text.text for text in found.texts)
    alone = DynamicClosure.from_edges([*EDGES, ("x", "y")])
    alone.insert([("x", "z")])
    assert not any("last batch" in text.text for text in drawn(alone, around="a").texts)  # nothing there has a colour


def test_a_deleted_edge_does_not_lie_on_one_that_is_there():
    ends = [("web", "http"), ("http", "tls"), ("web", "tls"), ("shop", "db"), ("db", "disk"), ("shop", "tls")]
    closure = DynamicClosure.from_edges(ends)
    closure.delete([("shop", "tls")])
    found = drawn(closure)
    passed = {
        role: {point for curve in found.curves if curve.role == role for *_, point in curve.bends[1:-1]}
        for role in ("edge", "deleted")
    }
    assert passed["deleted"]
    assert not passed["deleted"] & passed["edge"]


def test_a_neighbourhood_of_any_graph():
    closure = chain(5_000)
    assert words(drawn(closure, around=2_000, depth=2)) == ["1998", "1999", "2000", "2001", "2002"][::-1]
    note = next(text.text for text in drawn(closure, around=2_000, depth=1).texts if text.role == "note")
    assert note == "2000: 2,000 reach it, it reaches 3,000; drawn are 2 vertices up to 1 edge away"
    star = DynamicClosure.from_edges([(0, v) for v in range(1, 500)])
    assert len(words(drawn(star, around=0))) == 9
    star.apply([("delete", 0, 7), ("insert", 0, 600)])
    assert {"7", "600"} < set(words(drawn(star, around=0)))  # what has changed comes first
    with pytest.raises(UnknownVertexError, match="got 9999, which"):
        closure.plot(around=9_999)
    with pytest.raises(OptionError, match="depth, a number of edges from 0 on; got -1"):
        closure.plot(around=1, depth=-1)


@pytest.mark.parametrize("seed", range(5))
def test_a_shortest_path_to_every_vertex_of_a_neighbourhood_is_in_it(seed):
    random = np.random.default_rng(seed)
    edges = EdgeSet.of(Edges(*random.integers(60, size=(2, 150))))
    found = nearby(edges, np.array([3]), random.integers(9, size=60), depth=None, most=25)
    kept = set(found.vertices.tolist())
    assert len(kept) <= 26
    every = list(zip(edges.edges.sources.tolist(), edges.edges.targets.tolist(), strict=True))
    reached, reaching = {3}, {3}
    for _ in range(60):
        reached |= {b for a, b in every if a in reached and b in kept}
        reaching |= {a for a, b in every if b in reaching and a in kept}
    assert reached | reaching == kept


def test_layers_of_the_matrix():
    closure = chain(5)
    condensed = Condensation.of(closure._parts.door.now.graph)
    engine = closure._parts.door.engine.current
    assert density(condensed, engine, 3).tolist() == [[0.75, 1, 1], [0, 0.75, 1], [0, 0, 0.75]]
    assert density(Condensation.of(Graph()), engine, 3).tolist() == [[0]]
    found = matrix(closure._parts.door.now.graph, condensed, engine, 3)
    assert [(row.label, row.count) for row in found.rows] == [("0", 5), ("1", 4), ("2", 3), ("3", 2), ("4", 1)]
    assert [(column.label, column.count) for column in found.columns][-1] == ("5", 5)


def test_matplotlib_draws_the_same(closure):
    ax = closure.plot()
    assert sorted(text.get_text() for text in ax.texts) == ["a", "b & 1 more", "d"]
    assert closure.plot(ax=ax) is ax
    _, small = plt.subplots(figsize=(2, 1))
    assert closure.plot(small).texts[0].get_fontsize() < ax.texts[0].get_fontsize()
    ax = DynamicClosure.from_edges([("$x$", "_{")]).plot()
    ax.figure.canvas.draw()  # names are no formulas


def test_matplotlib_draws_the_matrix_with_names_and_a_legend():
    ax = chain(100).plot()
    (image,) = ax.get_images()
    shown = image.get_array()
    assert shown.shape == (101, 101)
    assert shown[0].all()
    assert shown[-1].sum() == 1
    named = [text.get_text() for text in ax.texts]
    assert "0 reaches 100" in named
    assert "100: 100 reach it" in named
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == [
        "share of the pairs that are reachable"
    ]
    ax.figure.canvas.draw()


HOSTILE = '<script>alert(1)</script>"&\u202e\n'


@pytest.mark.parametrize(
    "edges", [[], EDGES, [(v, v + 1) for v in range(100)], [(HOSTILE, "b")], [("", "b")]], ids=range(5)
)
def test_a_notebook_shows_size_engine_batch_and_a_picture(edges):
    closure = DynamicClosure.from_edges(edges)
    shown = closure._repr_html_()
    assert f"{len(edges)} edge{'s' * (len(edges) != 1)}; engine &#x27;lanes&#x27; in process, version 0" in shown
    assert "last batch" not in shown  # the first build is none
    assert ("The graph has no vertices." in shown) == (not edges)
    ET.fromstring(re.search(r"<svg.*</svg>", shown)[0])  # noqa: S314  (our own)
    assert "<script" not in shown
    assert "\u202e" not in shown
    closure.insert(edges or [(1, 2)])
    assert (f"{len(edges)} insertions ignored" if edges else "1 inserted") in closure._repr_html_()


def test_a_notebook_names_labels_and_shows_what_is_closed(closure):
    labelled = LabelledGraph.from_edges([("a", "b", "member"), ("b", "c", "owner")]).closure({"member"})
    assert "<b>LabelClosure(member: 3 vertices, 1 edge; engine" in labelled._repr_html_()
    closure.close()
    assert closure._repr_html_() == repr(closure) == "DynamicClosure(closed)"


def test_a_picture_in_a_file_is_on_white(closure):
    found = svg.document(closure._parts.door, PictureOptions(around="b", unfold=True))
    root = ET.fromstring(found)  # noqa: S314  (our own)
    assert root[0].get("fill") == "#fff"
    size = float(root.get("width")), float(root.get("height"))
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= size[0] + 1
        assert float(box.get("y", 0)) + float(box.get("height")) <= size[1] + 1
