"""Write the API reference from the docstrings of everything public.

python docs/site/api.py FILE
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dyntc_spark
from dyntc_spark import datasets, errors, importers, session
from dyntc_spark.graph.labels.label_closure import LabelClosure
from dyntc_spark.graph.labels.labelled_arrow import LabelledArrow
from dyntc_spark.graph.maintenance import Verification
from dyntc_spark.graph.questions.arrow_answers import ArrowAnswers

CLASSES = [
    dyntc_spark.DynamicClosure,
    Verification,
    ArrowAnswers,
    dyntc_spark.LabelledGraph,
    LabelledArrow,
    LabelClosure,
    importers.OpenLineage,
    dyntc_spark.BlockMatrix,
    dyntc_spark.BooleanPolynomial,
    dyntc_spark.LazyMatrix,
]
MODULES = [session, datasets, importers]
TABLE = re.compile(r"(?m)^(=+)  =+\n((?:.*\n)*?)=+  =+$")  # two columns; a row goes on where the first is empty
SECTION = re.compile(r"(?m)^(\w[\w ]*)\n-{3,}\n")  # of numpydoc: a title, underlined


def main(target: str) -> None:
    """Write the page."""
    Path(target).write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the whole page."""
    parts = ["# API reference\n", *(part for kind in CLASSES for part in of_class(kind))]
    for module in MODULES:
        parts.append(f"## {module.__name__}\n\n{text(module)}")
        found = inspect.getmembers(module, inspect.isfunction)
        own = [(name, f) for name, f in found if public(name) and f.__module__.startswith(module.__name__)]
        parts += [of_function(name, f) for name, f in own]
    parts.append(f"## {errors.__name__}\n\n{text(errors)}")
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.DyntcError):
            parts.append(f"`{name}({kind.__mro__[1].__name__})`: {text(kind).splitlines()[0]}\n")
    return "\n".join(parts)


def of_class(kind: type) -> list[str]:
    """Return a class: its docstring, then its public methods and properties, those that it inherits included."""
    parts = [f"## {kind.__name__}\n\n{text(kind)}"]
    for name, member in inspect.getmembers(kind):
        if not public(name):
            continue
        if isinstance(member, property):
            parts.append(f"### `{name}`\n\n{text(member)}")
        elif inspect.isfunction(member) or inspect.ismethod(member):
            parts.append(of_function(name, member))
    return parts


def of_function(name: str, function: Callable[..., Any]) -> str:
    """Return a function or method: its signature, then its docstring."""
    return f"### `{name}`\n\n```python\n{name}{signature(function)}\n```\n\n{text(function)}"


def signature(function: Callable[..., Any]) -> str:
    """Return the arguments of a function; on lines of their own where one line is too long."""
    found = inspect.signature(function)
    parameters = [parameter for name, parameter in found.parameters.items() if name != "self"]
    whole = unquoted(str(found.replace(parameters=parameters)))
    if len(whole) <= 100:
        return whole
    lines: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and "    *," not in lines:
            lines.append("    *,")
        lines.append(f"    {parameter},")
    gives = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
    return unquoted("\n".join(["(", *lines, f"){gives}"]))


def unquoted(arguments: str) -> str:
    """Return arguments with their types as they stand in the source, not as strings."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", arguments)


def text(of: object) -> str:
    """Return a docstring as Markdown."""
    before, *sections = SECTION.split(inspect.getdoc(of) or "")
    parts = [plain(before)]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title == "Examples":
            parts.append(f"```pycon\n{body.strip()}\n```\n")
        else:
            parts.append(f"**{title}**\n\n{plain(described(body))}")
    return "\n".join(parts)


def described(body: str) -> str:
    """Return a section in which a name stands above its indented description as a list."""
    lines = []
    for line in body.rstrip().splitlines():
        if line and not line.startswith(" ") and re.search(rf"(?m)^{re.escape(line)}\n    ", body):
            lines.append(f"- `{line}`:")
        else:
            lines.append(line)
    return "\n".join(lines)


def plain(words: str) -> str:
    """Return text with the marks of Markdown for code, and with pieces that are set apart as blocks."""
    words = re.sub(r"::\n\n((?: {4}.*\n?|\n)+)", lambda block: f":\n\n{block[1]}\n", words)
    words = TABLE.sub(tabled, words)
    return re.sub(r"``([^`]+)``", r"`\1`", words).strip() + "\n"


def tabled(found: re.Match[str]) -> str:
    """Return a table of a docstring as one of Markdown."""
    rows: list[list[str]] = []
    for line in found[2].splitlines():
        left, right = line[: len(found[1])].strip(), line[len(found[1]) :].strip()
        if left or not rows:
            rows.append([left, right])
        else:
            rows[-1][1] += f" {right}"
    return "\n".join(["| | |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)])


def public(name: str) -> bool:
    """Return whether a name is meant for users."""
    return not name.startswith("_")


if __name__ == "__main__":
    main(*sys.argv[1:])
