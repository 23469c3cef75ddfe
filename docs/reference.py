"""Write the API reference, docs/reference.md, from the docstrings of everything public.

python docs/reference.py [FILE]
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import dyntc_spark
from dyntc_spark import datasets, errors, session
from dyntc_spark.graph.arrow import ArrowAnswers
from dyntc_spark.graph.upkeep import Verification

CLASSES = [
    dyntc_spark.DynamicClosure,
    Verification,
    ArrowAnswers,
    dyntc_spark.BlockMatrix,
    dyntc_spark.BooleanPolynomial,
    dyntc_spark.LazyMatrix,
]
MODULES = [session, datasets]


def main(target: str = str(Path(__file__).with_name("reference.md"))) -> None:
    """Write the page."""
    Path(target).write_text(page(), encoding="utf-8")
    print(target)


def page() -> str:
    """Give the whole page."""
    parts = ["# API reference\n", *(part for kind in CLASSES for part in of_class(kind))]
    for module in MODULES:
        parts.append(f"## {module.__name__}\n\n{text(module)}")
        found = inspect.getmembers(module, inspect.isfunction)
        parts += [of_function(name, f) for name, f in found if public(name) and f.__module__ == module.__name__]
    parts.append(f"## {errors.__name__}\n\n{text(errors)}")
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.DyntcError):
            parts.append(f"`{name}({kind.__mro__[1].__name__})`: {text(kind).splitlines()[0]}\n")
    return "\n".join(parts)


def of_class(kind: type) -> list[str]:
    """Give a class: its docstring, then its public methods and properties, those that it inherits included."""
    parts = [f"## {kind.__name__}\n\n{text(kind)}"]
    for name, member in inspect.getmembers(kind):
        if not public(name):
            continue
        if isinstance(member, property):
            parts.append(f"### `{name}`\n\n{text(member)}")
        elif inspect.isfunction(member) or inspect.ismethod(member):
            parts.append(of_function(name, member))
    return parts


def of_function(name: str, function: object) -> str:
    """Give a function or method: its signature, then its docstring."""
    return f"### `{name}{inspect.signature(function)}`\n\n{text(function)}"


def text(of: object) -> str:
    """Give a docstring as text in a fence, so that its layout stays."""
    summary, _, rest = (inspect.getdoc(of) or "").partition("\n\n")
    return f"{summary}\n" + (f"\n```text\n{rest}\n```\n" if rest else "")


def public(name: str) -> bool:
    """Tell whether a name is meant for users."""
    return not name.startswith("_")


if __name__ == "__main__":
    main(*sys.argv[1:])
