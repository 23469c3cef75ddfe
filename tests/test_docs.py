"""Every snippet of the documentation runs, and prints what stands beside it."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.cli.main import main
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.graph.tables.views import FUNCTIONS, NAMES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ELSEWHERE = {"sql", "command_line", "delta", "publish", "streaming"}  # below, and in store/test_store.py
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.stem not in ELSEWHERE and "```python" in page.read_text(encoding="utf-8")
]
SNIPPET = re.compile(r"(?ms)^```(\w+)([^\n]*)\n(.*?)^```$")


def snippets(page):
    return [(kind, title.strip(), text) for kind, title, text in SNIPPET.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_snippets_of_a_page_run(page, spark, capsys):
    assert spark
    names = {}
    for kind, _, text in snippets(page):
        assert kind in {"python", "text"}
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    expected = [
        line.strip()
        for kind, _, text in snippets(page)
        if kind == "python"
        for line in re.findall(r"(?m)^\s*print\(.*?\)\s+# (.+)$", text)
    ]
    assert printed == expected


def test_the_questions_in_sql_have_the_right_answers(spark):
    page = DOCS / "reference" / "sql.md"
    names, answers = {}, []
    for kind, _, text in snippets(page):
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)  # noqa: S102
        else:
            answers.append([tuple(row) for row in spark.sql(text).collect()])
    inherits, concerned, impact, changed, path, distance, distances, *others = answers
    trial, lost, needed, together, cycle, risk = others
    assert {vertex for (vertex,) in inherits} == {"web", "db", "http", "tls", "zlib"}
    assert set(concerned) == {("shop", 5), ("web", 3), ("http", 2), ("db", 2)}
    assert dict(impact) == {"zlib": 5, "http": 2}
    assert ("delete", "db", ["tls", "zlib"]) in changed
    assert ("insert", "shop", ["disk"]) in changed
    assert [hop for hop, _, _ in path] == [1, 2, 3]
    assert distance == [(3,)]
    assert set(distances) == {(3, 1), (None, 2)}  # one order has no path, one a vertex that is not there
    assert set(trial) == {("delete", "http", "tls"), ("delete", "http", "zlib")}
    assert set(lost) == {("http", 2), ("tls", 2), ("zlib", 2)}
    assert needed[0] == ("zlib", 4)
    assert [sorted(names) for _, names in together] == [["numbers", "plots", "reports"]]
    assert [row[0] for row in cycle] == [1, 2, 3]
    assert risk == [("db", "zlib"), ("web", "zlib")]


def test_the_session_at_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for kind, title, text in snippets(DOCS / "how_to" / "command_line.md"):
        if kind == "csv":
            (tmp_path / title).write_text(text)
        if kind != "console":
            continue
        for command, expected in re.findall(r"(?m)^\$ (.+)\n((?:(?!\$ ).+\n)*)", text):
            main(shlex.split(command)[1:])
            said = capsys.readouterr()
            assert said.out + said.err == expected, command


def test_every_engine_view_and_function_is_documented():
    engines, sql = (
        (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("explanation/engines", "reference/sql")
    )
    assert [name for name in ENGINES if f"`{name}`" not in engines] == []
    assert [name for name in NAMES if f"`deps_{name}`" not in sql] == []
    assert [name for name in FUNCTIONS if f"`deps_{name}(" not in sql] == []


def test_links_lead_somewhere():
    pages = [*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "notebooks/README.md"))]
    for page in pages:
        for target, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", prose(page)):
            found = page.parent / target if target else page
            assert found.exists(), (page.name, target)
            assert not anchor or anchor in anchors(found), (page.name, target, anchor)


def prose(page):
    return SNIPPET.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    titles = re.findall(r"(?m)^#+ (.+)$", prose(page))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_site_leads_to_every_page():
    listed = re.findall(r"(?m): (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    made = {"reference/api.md", *(f"notebooks/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.py"))}
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted(made | there)


def test_the_reference_has_every_public_method():
    spec = importlib.util.spec_from_file_location("api", DOCS / "site" / "api.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    text = reference.page()
    methods = [name for name in dir(DynamicClosure) if not name.startswith("_")]
    assert [name for name in methods if f"\n### `{name}`\n" not in text] == []
    assert "\n- `changes`:\n    Columns `op`, `src` and `dst`" in text  # a parameter
    assert "\n    vertex: Vertex | DataFrame,\n" in text  # in a signature
    assert "\n### `local`\n" in text
    assert "`CycleError(DyntcError)`" in text


@pytest.mark.slow
def test_the_site_is_built_and_asks_nothing_of_other_sites(tmp_path):
    pytest.importorskip("material", reason="the group `docs` is not installed")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-d", tmp_path], cwd=ROOT, check=True)
    pages = {page.relative_to(tmp_path).as_posix(): page.read_text("utf-8") for page in tmp_path.rglob("*.html")}
    assert {"index.html", "reference/api.html", "notebooks/01_permissions.html"} <= set(pages)
    assert "grace" in pages["notebooks/01_permissions.html"]
    for name, text in pages.items():
        assert not re.findall(r"<(?:script|img|iframe)[^>]*src=\"(?:https?:)?//", text), name
        assert not re.findall(r"<link[^>]*rel=\"(?:stylesheet|preconnect)\"[^>]*href=\"(?:https?:)?//", text), name
    for sheet in tmp_path.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", sheet.read_text("utf-8")), sheet.name
