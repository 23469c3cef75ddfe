"""Every snippet of the documentation runs, and prints what stands beside it."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.cli.main import main
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.graph.views import FUNCTIONS, NAMES

DOCS = Path(__file__).parents[1] / "docs"
NAMES_OF_PAGES = ("concepts", "databricks", "engines", "importing", "operations", "permissions", "questions")
PAGES = [DOCS / f"{name}.md" for name in NAMES_OF_PAGES]
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
    page = DOCS / "sql.md"
    names, answers = {}, []
    for kind, _, text in snippets(page):
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)  # noqa: S102
        else:
            answers.append([tuple(row) for row in spark.sql(text).collect()])
    inherits, concerned, impact, changed, path, needed, cycles, risk = answers
    assert {vertex for (vertex,) in inherits} == {"web", "db", "http", "tls", "zlib"}
    assert set(concerned) == {("shop", 5), ("web", 3), ("http", 2), ("db", 2)}
    assert dict(impact) == {"zlib": 5, "http": 2}
    assert ("delete", "db", ["tls", "zlib"]) in changed
    assert ("insert", "shop", ["disk"]) in changed
    assert [hop for hop, _, _ in path] == [1, 2, 3]
    assert needed[0] == ("zlib", 4)
    assert [sorted(together) for _, together in cycles] == [["numbers", "plots", "reports"]]
    assert risk == [("db", "zlib"), ("web", "zlib")]


def test_the_session_at_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for kind, title, text in snippets(DOCS / "command_line.md"):
        if kind == "csv":
            (tmp_path / title).write_text(text)
        if kind != "console":
            continue
        for command, expected in re.findall(r"(?m)^\$ (.+)\n((?:(?!\$ ).+\n)*)", text):
            main(shlex.split(command)[1:])
            said = capsys.readouterr()
            assert said.out + said.err == expected, command


def test_every_engine_view_and_function_is_documented():
    engines, sql = ((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("engines", "sql"))
    assert [name for name in ENGINES if f"`{name}`" not in engines] == []
    assert [name for name in NAMES if f"`deps_{name}`" not in sql] == []
    assert [name for name in FUNCTIONS if f"`deps_{name}(" not in sql] == []


def test_links_lead_somewhere():
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_reference_has_every_public_method(tmp_path):
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    reference.main(str(tmp_path / "reference.md"))
    text = (tmp_path / "reference.md").read_text(encoding="utf-8")
    methods = [name for name in dir(DynamicClosure) if not name.startswith("_")]
    assert [name for name in methods if f"### `{name}" not in text] == []
    assert "### `local(" in text
    assert "`CycleError(DyntcError)`" in text
