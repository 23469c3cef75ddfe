"""Every notebook runs from its first cell to its last, on the tests' own session."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))


@pytest.fixture(autouse=True)
def _no_window():
    with mpl.rc_context({"backend": "agg"}):
        plt.switch_backend("agg")
        yield
        plt.close("all")


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(path, marks=[] if path == NOTEBOOKS[0] else [pytest.mark.classic]) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_the_notebook_runs_and_draws(notebook, spark, monkeypatch, capsys):
    monkeypatch.setenv("DYNTC_NOTEBOOK_SIZE", "small")
    runpy.run_path(str(notebook), init_globals={"spark": spark})
    assert "+--" in capsys.readouterr().out  # a table was shown
    assert plt.get_fignums()


def test_there_are_five_in_databricks_format():
    assert [path.name[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# Databricks notebook source\n# MAGIC %md\n# MAGIC # ")
        cells = text.split("\n# COMMAND ----------\n")
        assert len(cells) > 4
        assert all(cell.strip() for cell in cells)
        assert path.name in listed
        assert not re.search(r"(?m)^# MAGIC (?!%md|#|\S|$)", text)
