"""The main job, on a part of its data and in the tests' own session."""

from __future__ import annotations

import re

import pytest

from dyntc_spark import datasets, demo, session


@pytest.fixture
def part(monkeypatch):
    """Let the graph be a part of Debian's, and the changes those that are about it."""
    edges, changes = datasets.debian_dependencies(), datasets.debian_security_changes()
    kept = edges.slice(0, 20_000)
    there = set(zip(kept["src"].to_pylist(), kept["dst"].to_pylist(), strict=True))
    rows = [
        row
        for row, (op, src, dst) in enumerate(
            zip(*(changes[name].to_pylist() for name in ("op", "src", "dst")), strict=True)
        )
        if op == "insert" or (src, dst) in there
    ]
    monkeypatch.setattr(datasets, "debian_dependencies", lambda: kept)
    monkeypatch.setattr(datasets, "debian_security_changes", lambda: changes.take(rows))
    monkeypatch.setattr(demo, "SINGLE_CHANGES", 5)
    monkeypatch.setattr(demo, "QUESTIONS", 50)


def test_the_demo_builds_changes_compares_and_draws(part, spark, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(session, "local", lambda: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _spark: None)
    picture = tmp_path / "picture.svg"
    assert demo.main(str(picture)) == 0
    printed = capsys.readouterr().out
    assert part is None
    assert printed.count("the same answers") == 3
    assert "engine 'lanes' on Spark" in printed
    assert "All answers agree." in printed
    assert re.search(r"takes [\d,]+ times as long", printed)
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.startswith("<svg ")
    assert all(f">{name}<" in drawn for name in ("vlc-plugin-base", "librist4"))  # the second is new


@pytest.mark.long
def test_answers_that_differ_are_an_error(part, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(demo, "_same", lambda *_: False)
    assert demo.main(str(tmp_path / "picture.svg"), spark=False) == 1
    assert "ANSWERS DIFFER." in capsys.readouterr().out
    assert part is None
