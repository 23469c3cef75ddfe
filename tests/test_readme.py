"""The README's code runs, its picture tells the truth, and its commands are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "assets" / "picture.svg").read_text(encoding="utf-8")


def test_the_code_in_the_readme_runs_as_the_picture_shows(spark, capsys):
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", README)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    assert spark.catalog.tableExists("acl_closure")
    printed = capsys.readouterr().out
    for line in re.findall(r"(?m)^\s*print\(.*#\s*(.+)$", README):
        assert line in printed.splitlines()
    signs = {"insert": "+", "delete": "−"}  # noqa: RUF001
    changed = {(signs[row["op"]], row["src"], row["dst"]) for row in names["c"].arrow.changes().to_pylist()}
    assert changed == set(re.findall(r">(\S) (\w+) reaches (\w+)<", PICTURE))


def test_the_readme_begins_with_code_and_has_both_commands():
    assert README.index("```python") < README.index("\n## ")
    assert "python3 run.py demo" in README
    assert "python3 run.py test" in README
