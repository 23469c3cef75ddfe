"""What ``help(DynamicClosure)`` begins with: a table of contents, with every public name in it once."""

from __future__ import annotations

import inspect
import re

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.graph.labels.label_closure import LabelClosure
from dyntc_spark.graph.parts import SEEN
from dyntc_spark.graph.questions.arrow_answers import ArrowAnswers


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def test_the_table_of_contents_names_everything_once():
    _, table, _ = re.split(r"=+  =+\n", inspect.getdoc(DynamicClosure))
    names = re.findall(r"\w+", "".join(line[18:] for line in table.splitlines(keepends=True)))
    assert sorted(names) == sorted(public(DynamicClosure))


@pytest.mark.parametrize("kind", [DynamicClosure, ArrowAnswers, LabelClosure])
def test_everything_public_has_a_docstring(kind):
    assert [name for name in public(kind) if not inspect.getdoc(getattr(kind, name))] == []


def test_signatures_are_those_of_the_parts():
    for name in public(DynamicClosure):
        method = inspect.getattr_static(DynamicClosure, name)
        found = [vars(part)[name] for part in SEEN if name in vars(part)]
        if inspect.isfunction(method) and name not in {"at", "close"}:  # which are done with all parts
            assert len(found) == 1, name
            assert inspect.signature(found[0]) == inspect.signature(method), name
