"""What ``help(DynamicClosure)`` begins with: a table of contents, with every public name in it once."""

from __future__ import annotations

import inspect
import re

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.graph.labels.label_closure import LabelClosure
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


def test_methods_call_the_method_of_a_part_that_has_the_same_name():
    for name in public(DynamicClosure) - {"at", "close"}:  # which concern all parts
        method = inspect.getattr_static(DynamicClosure, name)
        if inspect.isfunction(method):
            assert method.__wrapped__.__name__ == name
            assert inspect.signature(method) == inspect.signature(method.__wrapped__)
