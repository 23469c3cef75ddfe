"""The page to look at: what is in it, what cannot get out of it, and how large it becomes. No browser is needed."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.errors import OptionError, StorageError, UnknownVertexError
from dyntc_spark.graph.explore import content
from dyntc_spark.graph.explore.page import SCRIPTS

HOSTILE = [
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror=window.pwned=2>",
    "<!--<script>",
    "]]>&amp;&lt;{{data}}{{scripts}}",
    "\u2028\u2029\u202e\x00\n'\"`${window.pwned=3}\\",
    "javascript:window.pwned=4",
]


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.DOTALL)
    return json.loads(found[1])


def pairs(flat):
    return sorted(zip(flat[::2], flat[1::2], strict=True))


def random_closure(vertices=80, edges=160, seed=5):
    ends = np.random.default_rng(seed).integers(vertices, size=(edges, 2)).tolist()
    return DynamicClosure.from_edges([tuple(pair) for pair in ends])


class Tags(HTMLParser):
    """The elements of a page, with the text in each script and style."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.found and self.found[-1][0] in {"script", "style"} and data.strip():
            self.inside.append((*self.found[-1], data))


def test_a_small_graph_is_there_as_a_whole():
    closure = DynamicClosure.from_edges([("a", "b"), ("b", "c"), ("c", "b"), ("x", "x")])
    page = closure.explore()
    data = data_of(page)
    assert repr(page) == "Page(4 of 4 vertices)"
    assert data["names"] == ["a", "b", "c", "x"]
    assert (data["whole"], data["bits"]) == (True, None)
    assert (data["reached"], data["reaching"]) == ([2, 1, 1, 0], [0, 2, 2, 0])
    assert [data["sizes"][component] for component in data["component"]] == [1, 2, 2, 1]
    assert (data["offsets"], data["targets"]) == ([0, 1, 2, 3, 4], [1, 2, 1, 3])
    assert data["graph"] == {"vertices": 4, "edges": 4, "pairs": 4, "version": 0, "engine": "lanes"}
    assert data["impact"]["ancestors"][0] == ["b", 1, 2]
    assert data["batches"] == []
    assert data_of(DynamicClosure.from_edges([]).explore())["names"] == []


def test_names_become_neither_markup_nor_script():
    closure = DynamicClosure.from_edges(list(pairwise(HOSTILE)))
    closure.insert([(HOSTILE[-1], HOSTILE[0])])
    page, plain = closure.explore(), DynamicClosure.from_edges([("a", "b")]).explore()
    found, expected = Tags(page.html), Tags(plain.html)
    assert found.found == expected.found  # not one element or attribute more
    assert not re.search(r"[\u2028\u2029\u202e\x00]", page.html)
    names = data_of(page)["names"]
    assert names[0] == HOSTILE[0]
    assert names[4] == "\\u2028\\u2029\\u202e\\x00\\n'\"`${window.pwned=3}\\"


def test_nothing_but_the_scripts_of_the_page_can_run_and_nothing_is_fetched():
    page = DynamicClosure.from_edges([("a", "b")]).explore()
    tags = Tags(page.html)
    policy = next(a["content"] for tag, a in tags.found if a.get("http-equiv") == "Content-Security-Policy")
    scripts = [text for tag, attrs, text in tags.inside if tag == "script" and "type" not in attrs]
    styles = [text for tag, _, text in tags.inside if tag == "style"]
    assert len(scripts) == len(SCRIPTS)
    for text in scripts + styles:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all(not {"src", "href", "onload", "onclick", "style"} & set(attrs) for _, attrs in tags.found)
    code = "".join(scripts)
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import("):
        assert way not in code


def test_a_part_of_a_graph_tells_the_truth_about_the_whole():
    closure = random_closure()
    closure.apply([("delete", *closure.arrow.edges().to_pylist()[0].values()), ("insert", 3, 40)])
    page = closure.explore(3, most=25)
    data = data_of(page)
    assert page.shown == len(data["names"]) == 25
    assert data["starts"] == [data["names"].index("3")]
    n, names = page.shown, [int(name) for name in data["names"]]
    rows = np.frombuffer(base64.b64decode(data["bits"]), np.uint8).reshape(n, -1)
    reached = np.unpackbits(rows, axis=1, bitorder="little")[:, :n]
    asked = [(a, b) for a in names for b in names]
    assert reached.ravel().astype(bool).tolist() == closure.arrow.query(asked)["reachable"].to_pylist()
    assert data["reached"] == [closure.arrow.descendants(name).num_rows for name in names]
    assert data["reaching"] == [closure.arrow.ancestors(name).num_rows for name in names]
    edges = {(row["src"], row["dst"]) for row in closure.arrow.edges().to_pylist()}
    drawn = {
        (names[v], names[w]) for v in range(n) for w in data["targets"][data["offsets"][v] : data["offsets"][v + 1]]
    }
    assert drawn == {(a, b) for a, b in edges if a in names and b in names}


def test_the_last_batch_is_there():
    closure = random_closure()
    gone = tuple(closure.arrow.edges().to_pylist()[0].values())
    closure.apply([("delete", *gone), ("insert", 3, 40)])
    data = data_of(closure.explore())
    (batch,) = data["batches"]
    changed = closure.arrow.changes().to_pylist()
    place = {int(name): at for at, name in enumerate(data["names"])}
    for kind, op in (("won", "insert"), ("lost", "delete")):
        expected = sorted((place[row["src"]], place[row["dst"]]) for row in changed if row["op"] == op)
        assert pairs(batch[kind]) == expected
        assert batch["counts"][kind] == len(expected)
    assert pairs(batch["deleted"]) == [(place[gone[0]], place[gone[1]])]
    assert (batch["version"], batch["cut"]) == (1, False)


@pytest.mark.long
def test_at_a_location_the_last_batches_are_there(tmp_path):
    closure = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
    closure.save(str(tmp_path / "deps"))
    closure.apply([("insert", "c", "d")])
    closure.apply([("delete", "a", "b")])
    closure.drop(["a"])
    closure.reset([("b", "c"), ("c", "d"), ("d", "e")])
    for each in (closure, DynamicClosure.open(str(tmp_path / "deps"))):
        data = data_of(each.explore())
        told = [
            (b["version"], *(b["counts"][k] for k in ("inserted", "deleted", "won", "lost"))) for b in data["batches"]
        ]
        assert told == [(4, 1, 0, 3, 0), (3, 0, 0, 0, 0), (2, 0, 1, 0, 3), (1, 1, 0, 3, 0)]
        names = data["names"]
        won = [(names[a], names[b]) for a, b in pairs(data["batches"][3]["won"])]
        assert won == [("b", "d"), ("c", "d")]  # a is no vertex any more
    closure.vacuum(keep=2)
    assert [batch["version"] for batch in data_of(closure.explore())["batches"]] == [4]


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_engines_agree(engine):
    edges = [("a", "b"), ("b", "c"), ("a", "d"), ("x", "b")]
    pages = [
        DynamicClosure.from_edges(edges, engine=each, backend="local").explore("b", 1, most=3)
        for each in (engine, "recompute")
    ]
    one, other = map(data_of, pages)
    assert one.pop("graph").keys() == other.pop("graph").keys()
    assert one == other


@pytest.mark.slow
def test_a_closure_on_spark_has_the_same_page(spark):
    edges = [(f"v{n}", f"v{n + 1}") for n in range(12)] + [("v3", "v1")]
    there = DynamicClosure.from_edges(edges, spark=spark, backend="spark")
    here = DynamicClosure.from_edges(edges, backend="local")
    for closure in (there, here):
        closure.apply([("delete", "v5", "v6"), ("insert", "v9", "w")])
    one, other = (data_of(closure.explore("v4", 3)) for closure in (there, here))
    assert there.stats()["backend"] == "spark"
    for data in (one, other):
        for by in ("ancestors", "descendants"):
            data["impact"][by] = sorted(data["impact"][by])
    assert one == other


def test_what_is_not_counted_is_said(spark, monkeypatch):
    monkeypatch.setattr(content, "MOST_COUNTED", 2)
    edges = [("a", "b"), ("b", "c")]
    data = data_of(DynamicClosure.from_edges(edges, spark=spark, backend="spark").explore())
    assert (data["reached"], data["graph"]["pairs"], data["impact"]) == (
        None,
        None,
        {"ancestors": [], "descendants": []},
    )
    assert data["uncounted"].startswith("Left out: the closure is on Spark, and it has 3 vertices. A page counts there")
    assert data["uncounted"].endswith("To have Spark count, ask impact(top=15).")
    assert data_of(DynamicClosure.from_edges(edges).explore())["uncounted"] is None


@pytest.mark.long
def test_a_page_stays_small(monkeypatch):
    long = [("<" * 5_000 + str(n), "x") for n in range(2_000)]
    page = DynamicClosure.from_edges(long).explore()
    assert len(page.html.encode()) < 2_000_000
    monkeypatch.setattr(content, "LARGEST", 150_000)
    ends = range(300)
    page = DynamicClosure.from_edges([(a, b) for a in ends for b in ends[a + 1 :]]).explore()  # 45,000 edges
    assert 50 < page.shown < 300
    assert len(page.html.encode()) < 150_000


def test_a_page_goes_to_a_file_and_into_a_notebook(tmp_path):
    page = DynamicClosure.from_edges([("a", "b")]).explore()
    assert page.save(tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(StorageError, match="a file that can be written, for the page"):
        page.save(tmp_path / "missing" / "page.html")
    (frame,) = re.findall(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"', page._repr_html_())
    assert html.unescape(frame) == page.html


def test_what_cannot_be_shown_is_refused():
    closure = DynamicClosure.from_edges([("a", "b")])
    with pytest.raises(UnknownVertexError, match="got 'x'"):
        closure.explore("x")
    with pytest.raises(OptionError, match="depth, a number of edges from 0 on; got 'far'"):
        closure.explore("a", "far")
    with pytest.raises(OptionError, match="most, a number of vertices from 1 on; got 0"):
        closure.explore(most=0)
    assert closure.explore("a", 0).shown == 1
