"""The page in a real browser: clicking, typing, keys, and names that try to break out."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.graph.explore import content
from tests.browser import CHROMIUM, Browser
from tests.graph.test_explore import HOSTILE

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

EDGES = [
    *[("shop", "web"), ("shop", "db"), ("web", "http"), ("http", "tls"), ("db", "tls"), ("tls", "zlib")],
    *[("numbers", "plots"), ("plots", "reports"), ("reports", "numbers"), ("plots", "web")],
]
CHANGES = [("delete", "db", "tls"), ("insert", "db", "disk")]


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    closure = DynamicClosure.from_edges(EDGES)
    closure.apply(CHANGES)
    return closure.explore("db").save(tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture
def page(browser, path):
    """The page, opened; at the end it has complained about nothing and asked for nothing."""
    browser.open(path)
    yield browser
    assert browser.trouble == []
    assert browser.asked == [path.as_uri()]


def names(page, selector):
    """Return the names in the boxes of the drawing that a selector finds."""
    return sorted(
        page.run(f"[...document.querySelectorAll('{selector}')].map((box) => box.querySelector('title').textContent)")
    )


def open_part(page, words):
    page.click("summary", words)


def test_it_begins_with_the_vertex_and_says_what_there_is(page):
    assert page.words("#name") == "db"
    assert "10 vertices, 10 edges, 31 pairs" in page.words("#sizes")
    assert "5 of the vertices: db, everything that it reaches and that reaches it. The other 5" in page.words(
        "#left-out"
    )
    assert page.words("#near h3") == "is reached by 1"


def test_what_the_batch_won_and_lost_is_in_colour(page):
    assert names(page, ".box.won") == ["disk, new since the batch"]
    assert names(page, ".box.lost") == ["tls, lost by the batch", "zlib, lost by the batch"]
    assert page.run("document.querySelectorAll('.line.deleted').length") == 1
    assert page.run("document.querySelectorAll('.line.inserted').length") == 1
    open_part(page, "last batches")
    assert "Version 1: 1 edge inserted, 1 deleted; 2 pairs won, 2 lost." in page.words("#batches")
    page.run(
        "(() => { const s = document.getElementById('batch'); s.value = -1; s.dispatchEvent(new Event('change')); })()"
    )
    assert names(page, ".box.won, .box.lost") == []


def test_walking_by_clicks_and_back(page):
    page.click(".box", "shop")
    assert page.words("#name") == "shop"
    page.click(".box", "db")
    assert page.words("#name") == "db"
    page.click("#back")
    assert page.words("#name") == "shop"


def test_two_edges_each_way_fit_into_a_window_of_1280(browser, tmp_path):
    browser.open(DynamicClosure.from_edges([(v, v + 1) for v in range(6)]).explore(3).save(tmp_path / "page.html"))
    drawing, room = (
        browser.run(f"document.getElementById('{part}').getBoundingClientRect().width")
        for part in ("drawing", "scroll")
    )
    assert names(browser, ".box") == ["1", "2", "3", "4", "5"]
    assert drawing <= room == 960


def test_searching_by_keys(page):
    page.press("/")
    assert page.run("document.activeElement.id") == "search"
    page.type("z")
    assert page.words("#search-found") == "zlib"
    page.press("Enter")
    assert page.words("#name") == "zlib"
    page.click("#search")
    page.type("nowhere")
    assert page.words("#search-found") == "no such vertex on this page"
    page.press("Escape")
    assert page.run("document.getElementById('search-found').hidden")


def test_arrow_keys_move_in_the_drawing_and_enter_goes_there(page):
    page.run("document.querySelector('.box.centre').focus()")
    page.press("ArrowLeft")
    assert page.run("document.activeElement.getAttribute('aria-label')") == "shop"
    page.press("Enter")
    assert page.words("#name") == "shop"
    page.press("Backspace")
    assert page.words("#name") == "db"


def test_why(page):
    open_part(page, "Why")
    page.click("#from")
    page.type("shop")
    page.press("Enter")
    page.click("#to")
    page.type("zli")
    page.press("Enter")
    assert "There is a path, over vertices that are not on this page" in page.words("#why")  # web and http
    page.click("#to")
    page.type("disk")
    page.press("Enter")
    assert page.words("#why ol").split() == ["shop", "db", "disk"]
    assert page.run("document.querySelectorAll('.line.way').length") == 2
    page.click("#swap")
    assert page.words("#why") == "No path leads from disk to shop."


def test_long_names_can_be_told_apart(browser, tmp_path):
    shared = "warehouse://shop.example/analytics/staging."
    closure = DynamicClosure.from_edges([(f"{shared}orders", f"{shared}customers")])
    browser.open(closure.explore().save(tmp_path / "page.html"))
    texts = browser.run("[...document.querySelectorAll('#drawing .box text')].map((text) => text.textContent)")
    assert sorted(text[-9:] for text in texts) == ["customers", "ng.orders"]
    assert all(text.startswith("ware") for text in texts)
    ends = "['rect', 'text'].map((part) => box.querySelector(part).getBoundingClientRect().right)"
    sides = browser.run(f"[...document.querySelectorAll('#drawing .box')].map((box) => {ends})")
    assert all(text < box for box, text in sides)


def test_components_open_and_close(browser, tmp_path):
    closure = DynamicClosure.from_edges(EDGES)
    browser.open(closure.explore("web").save(tmp_path / "page.html"))
    assert names(browser, ".box.component") == ["numbers and 2 more"]
    browser.click(".toggle")
    assert {"numbers", "plots", "reports"} <= set(names(browser, ".box.vertex"))
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    browser.press("Enter")
    assert "plots" not in names(browser, ".box.vertex")
    open_part(browser, "Components")
    browser.click("#components button", "and 2 more")
    assert browser.words("#name") == "numbers"
    assert browser.trouble == []


def test_hostile_names_are_text(browser, tmp_path):
    closure = DynamicClosure.from_edges([(HOSTILE[0], name) for name in HOSTILE[1:]])
    closure.apply([("insert", HOSTILE[1], HOSTILE[2]), ("delete", HOSTILE[0], HOSTILE[3])])
    elements = "[document.scripts.length, document.images.length, document.querySelectorAll('[onerror]').length]"
    place = closure.explore(HOSTILE[0]).save(tmp_path / "page.html")
    browser.open(place)
    assert browser.words("#name") == HOSTILE[0]
    for summary in ("Why", "last batches", "Biggest", "Components"):
        open_part(browser, summary)
    for name in HOSTILE[:3]:
        browser.click("#search")
        browser.type(name)
        browser.press("Enter")
        assert browser.words("#name") == name
    assert browser.run("window.pwned") is None
    assert browser.run(elements) == [4, 0, 0]
    assert browser.trouble == []
    assert browser.asked == [place.as_uri()]


def test_a_script_that_got_in_would_not_run(browser, path):
    browser.open(path)
    browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.pwned=5>')")
    browser.run(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.pwned = 6'}))"
    )
    assert browser.run("new Promise((done) => setTimeout(() => done(window.pwned === undefined), 50))")
    assert any("Content Security Policy" in text for text in browser.trouble)


def test_a_large_graph(browser, tmp_path):
    wide = [(f"top{n % 40}", f"v{n}") for n in range(6_000)] + [(f"v{n}", "base") for n in range(6_000)]
    page = DynamicClosure.from_edges(wide).explore()
    browser.open(page.save(tmp_path / "page.html"))
    assert page.shown == 2_000
    assert "The other 4,041 are left out." in browser.words("#left-out")
    assert browser.words("#name") == "base"
    shown = browser.run("document.querySelectorAll('.box').length")
    browser.click(".box.more")
    assert browser.run("document.querySelectorAll('.box').length") > shown
    assert browser.trouble == []


def test_a_notebook_shows_it_in_a_frame(browser, tmp_path):
    shown = DynamicClosure.from_edges(EDGES).explore("web")._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><meta charset=utf-8>{shown}", encoding="utf-8")
    browser.open(tmp_path / "notebook.html")
    assert browser.run("frames.length") == 1
    frame = browser.call("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
    world = browser.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
    asked = {"expression": "document.getElementById('name').textContent", "contextId": world}
    assert browser.call("Runtime.evaluate", **asked)["result"]["value"] == "web"
    assert browser.trouble == []


def test_an_impact_that_was_not_counted_says_why(browser, tmp_path, monkeypatch, spark):
    monkeypatch.setattr(content, "MOST_COUNTED", 2)
    closure = DynamicClosure.from_edges(EDGES, spark=spark, backend="spark")
    browser.open(closure.explore().save(tmp_path / "page.html"))
    open_part(browser, "Biggest impact")
    assert browser.words("#impact").startswith("Left out: the closure is on Spark, and it has 9 vertices.")
    assert browser.trouble == []
