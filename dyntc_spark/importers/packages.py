"""Dependencies of Python packages: what ``pip inspect`` prints, and requirements files.

Names are normalised: ``Flask_Login`` and ``flask-login`` are one package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pyarrow as pa
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dyntc_spark.importers.documents import Edge, File, Part, edge_table, file_name, read_document, read_text

#: Of edges that always count, and of those that an extra of the package adds.
REQUIRES, EXTRA = "requires", "extra"

_INSPECT = "Write it again: python -m pip inspect > packages.json, with pip 23 or newer."
_COMPILE = "Give each line a name, as pip-compile and uv pip compile do."
_MARKER = "Repair its marker: names are compared by ==, != and in; < and ~= are for versions."
_INCLUDE = re.compile(r"(?:-r|--requirement)[\s=]*(.*)")  # -rbase.txt and --requirement=base.txt are for pip the same
_COMMENT = re.compile(r"(?:^|\s)#")


def pip_inspect(file: File) -> pa.Table:
    """Return the dependencies among installed packages: ``src`` needs ``dst``.

    The label is ``requires`` where the requirement holds in the environment of the report, and ``extra`` where it holds
    with an extra of the package only, whether or not somebody asked for that. A package that is needed but not
    installed is a vertex all the same.

    Parameters
    ----------
    file
        What ``pip inspect`` printed.

    Examples
    --------
    >>> from dyntc_spark import datasets
    >>> edges = pip_inspect(datasets.sample("pip-inspect.json")).to_pylist()
    >>> [edge["dst"] for edge in edges if edge["src"] == "requests" and edge["label"] == "requires"]
    ['certifi', 'charset-normalizer', 'idna', 'urllib3']
    """
    root = read_document(file, _INSPECT)
    version = root.text("version")
    if version != "1":
        raise root.error("a report of version '1' at version", f"{version!r:.40}")
    told = root.get("environment")
    environment = {key: str(told.get(key, str).value) for key in told.value}
    root.get("installed", list)
    return edge_table(edge for item in root.items("installed") for edge in _needed(item.get("metadata"), environment))


def requirements(file: File) -> pa.Table:
    """Return the edges that a requirements file tells of: ``src`` needs ``dst``, with the label ``requires``.

    Files that pip-compile or uv wrote say in comments (``# via``) by whom a package is needed. A package without such
    a comment is needed by the file, which is a vertex of its name. Files that it includes (``-r``) are read as well.
    A requirement whose marker does not hold in this Python is left out.

    Examples
    --------
    >>> from dyntc_spark import datasets
    >>> requirements(datasets.sample("requirements.txt")).to_pylist()[0]
    {'src': 'flask', 'dst': 'blinker', 'label': 'requires'}
    """
    return edge_table(_required(Path(file_name(file)), set()))


def _needed(metadata: Part, environment: dict[str, str]) -> Iterator[Edge]:
    """Return what a package needs."""
    source = canonicalize_name(metadata.text("name"))
    extras = metadata.texts("provides_extra")
    for part, text in zip(metadata.items("requires_dist"), metadata.texts("requires_dist"), strict=True):
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise part.error("a requirement", f"{text!r:.80}") from error
        target, marker = canonicalize_name(requirement.name), requirement.marker
        if target == source:  # an extra that is made of others
            continue
        if _holds(marker, {**environment, "extra": ""}, part):
            yield source, target, REQUIRES
        elif any(_holds(marker, {**environment, "extra": extra}, part) for extra in extras):
            yield source, target, EXTRA


def _holds(marker: Marker | None, environment: dict[str, str] | None, part: Part) -> bool:
    """Return whether the marker of a requirement, which is at some place, holds; by default in this Python."""
    try:
        return marker is None or marker.evaluate(environment)
    except (ValueError, KeyError) as error:  # which of them, and of which class, depends on the version of packaging
        came = f"{part.value!r:.80}"
        raise replace(part, remedy=_MARKER).error("a requirement with a marker that holds or not", came) from error


def _required(file: Path, seen: set[Path]) -> Iterator[Edge]:
    """Return the edges of a requirements file, and of those that it includes."""
    content = read_text(file)  # first: of a path that cannot be one there is nothing to resolve
    if file.resolve() in seen:
        return
    seen.add(file.resolve())
    for line, text, comments in _statements(content):
        include = _INCLUDE.match(text)
        if include:
            yield from _required(file.parent / include[1], seen)
        if text.startswith("-") and not text.startswith(("-e", "--editable")):
            continue
        part = Part(text, os.fspath(file), f"line {line}", _COMPILE)
        try:
            requirement = Requirement(re.split(r"\s--hash", text)[0])
        except InvalidRequirement as error:
            raise part.error("a requirement", f"{text!r:.80}") from error
        if _holds(requirement.marker, None, part):
            target = canonicalize_name(requirement.name)
            yield from ((source, target, REQUIRES) for source in _via(comments) or [file.name])


def _statements(text: str) -> list[tuple[int, str, list[str]]]:
    """Return the statements of a requirements file: the line, the text, and the comments beside and below it."""
    found: list[tuple[int, str, list[str]]] = []
    goes_on = False
    for number, content in enumerate(text.splitlines(), 1):
        body, *comment = (part.strip() for part in _COMMENT.split(content, maxsplit=1))
        if body:
            line, before, comments = found.pop() if goes_on else (number, "", [])
            goes_on = body.endswith("\\")
            found.append((line, f"{before} {body.rstrip(chr(92))}".strip(), comments))
        if found and comment and (body or content[0].isspace()):  # else it is about the file
            found[-1][2].extend(comment)
    return found


def _via(comments: list[str]) -> list[str]:
    """Return who needs a package, as its comments say; none where they do not."""
    start = next((place for place, text in enumerate(comments) if re.match(r"via\b", text)), None)
    if start is None:
        return []
    below = takewhile(lambda text: not text.startswith("from "), comments[start + 1 :])  # the index it comes from
    texts = [comments[start].removeprefix("via"), *below]
    named = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    return [_source(name) for name in named]


def _source(name: str) -> str:
    """Return who is meant by ``-r requirements.in``, by ``shop (pyproject.toml)``, or by the name of a package."""
    option = re.match(r"-[rc]\s+(.+)", name)
    return Path(option[1]).name if option else canonicalize_name(name.partition(" (")[0])
