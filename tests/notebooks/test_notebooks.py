"""Every notebook runs from its first cell to its last, on the tests' own session, as the site shows it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
MARKS = {"06_published_table": [pytest.mark.slow]}  # the last merges into Delta tables


@pytest.fixture(scope="module")
def rendered():
    """Return the function that runs a notebook and writes it as Markdown."""
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "docs" / "site" / "notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.rendered


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(path, marks=MARKS.get(path.stem, [])) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_the_notebook_runs_and_draws(notebook, spark, rendered, monkeypatch):
    monkeypatch.setenv("DYNTC_NOTEBOOK_SIZE", "small")
    text, pictures = rendered(notebook, spark)
    assert "\n```text\n" in text
    assert "+--" in text  # a table was shown
    assert pictures
    for name, picture in pictures.items():
        assert f"]({name})" in text
        assert picture.startswith(b"<?xml")


def test_cells_become_text_and_code(tmp_path, rendered):
    cells = [
        "# Databricks notebook source\n# MAGIC %md\n# MAGIC # Title\n# MAGIC\n# MAGIC Words.\n",
        "\nnumber = 6\nprint(number * 7)\nnumber\n",
        "\nclass Shown:\n    def _repr_html_(self):\n        return '<b>shown</b>'\n\n\nShown()\n",
    ]
    notebook = tmp_path / "small.py"
    notebook.write_text("\n# COMMAND ----------\n".join(cells))
    text, pictures = rendered(notebook, None)
    assert text.startswith("# Title\n\nWords.\n")
    assert "```python\nnumber = 6\nprint(number * 7)\nnumber\n```\n\n```text\n42\n```\n" in text
    assert text.endswith("\n<b>shown</b>\n")
    assert pictures == {}


def test_there_are_six_in_databricks_format():
    assert [path.name[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06"]
    listed = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# Databricks notebook source\n# MAGIC %md\n# MAGIC # ")
        cells = text.split("\n# COMMAND ----------\n")
        assert len(cells) > 4
        assert all(cell.strip() for cell in cells)
        assert path.name in listed
        assert not re.search(r"(?m)^# MAGIC (?!%md|#|\S|$)", text)
