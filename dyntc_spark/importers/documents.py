"""JSON documents of other tools: values that are looked up by their place, and refused by it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from dyntc_spark.errors import FileFormatError, InputError

#: The path of a file.
File: TypeAlias = str | os.PathLike[str]
#: Source, target and label.
Edge: TypeAlias = tuple[str, str, str]

_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A value of a document, and where it is.

    Examples
    --------
    >>> part = Part({"nodes": [{"name": "a"}]}, "m.json", remedy="Write it again.")
    >>> [node.text("name") for node in part.items("nodes")]
    ['a']
    >>> part.text("nodes")
    Traceback (most recent call last):
      ...
    dyntc_spark.errors.FileFormatError: expected text at nodes in 'm.json'; got an array. Write it again.
    """

    value: Any
    file: str
    place: str = ""
    remedy: str = ""

    def find(self, key: str, kind: type) -> Part | None:
        """Return the value of a key; None where there is none, or null; refuse another kind of value."""
        if not isinstance(self.value, dict):
            raise self.error("an object", _shown(self.value))
        found = self.value.get(key)
        if found is None:
            return None
        part = Part(found, self.file, f"{self.place}.{key}" if self.place else key, self.remedy)
        if not isinstance(found, kind):
            raise part.error(_KINDS[kind], _shown(found))
        return part

    def get(self, key: str, kind: type = dict) -> Part:
        """Return the value of a key, which has to be there."""
        found = self.find(key, kind)
        if found is None:
            came = "null" if key in self.value else f"none among {_few(self.value)}"
            raise self.error(f"{_KINDS[kind]} called {key!r}", came)
        return found

    def text(self, key: str) -> str:
        """Return the text of a key, which has to be there and not empty."""
        found = self.get(key, str)
        if not found.value:
            raise found.error("text", "an empty one")
        found.require_unicode()
        return str(found.value)

    def items(self, key: str) -> Iterator[Part]:
        """Return the objects of an array, or those of an object by their keys; none where the key is not there."""
        found = self.find(key, list)
        for number, value in enumerate(found.value if found else []):
            yield Part(value, self.file, f"{self.place}.{key}[{number}]".lstrip("."), self.remedy)

    def texts(self, key: str) -> list[str]:
        """Return the texts of an array; none where the key is not there."""
        found = list(self.items(key))
        for part in found:
            if not isinstance(part.value, str) or not part.value:
                raise part.error("text", _shown(part.value))
            part.require_unicode()
        return [part.value for part in found]

    def entries(self) -> Iterator[tuple[str, Part]]:
        """Return the keys of an object with their values."""
        for key, value in self.value.items():
            Part(key, self.file, self.place, self.remedy).require_unicode()
            yield key, Part(value, self.file, f"{self.place}.{key}".lstrip("."), self.remedy)

    def require_unicode(self) -> None:
        """Refuse half of a surrogate pair: JSON can tell of it, by an escape, but neither Arrow nor UTF-8 has it."""
        try:
            str(self.value).encode()
        except UnicodeEncodeError as error:
            raise self.error("text in Unicode", f"half of a surrogate pair in {self.value!r:.80}") from error

    def error(self, expected: str, came: str) -> FileFormatError:
        """Return the error that names this place."""
        return FileFormatError.of(self.file, self.place, expected, came, self.remedy)


def file_name(file: File) -> str:
    """Return the path of a file as text; refuse what is no path, such as an open file or what was read from it."""
    found: object = os.fspath(file) if isinstance(file, str | os.PathLike) else file
    if not isinstance(found, str):
        raise InputError("the path of a file", type(found).__name__, "Give its path, as text or as pathlib.Path.")
    return found


def read_text(file: File) -> str:
    """Return what a file has, which is text in UTF-8."""
    name = file_name(file)
    try:
        return Path(name).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        came, remedy = f"a byte that is none at {error.start}", "Write the file in UTF-8."
        raise FileFormatError.of(name, "", "text in UTF-8", came, remedy) from error
    except (OSError, ValueError) as error:
        raise InputError("a file that can be read", f"{name!r}: {error}", "Check the path.") from error


def parsed(text: str, file: str, place: str, remedy: str) -> Part:
    """Read a JSON document."""
    try:
        return Part(json.loads(text), file, place, remedy)
    except json.JSONDecodeError as error:
        at = place or f"line {error.lineno}, column {error.colno}"
        raise FileFormatError.of(file, at, "JSON", f"{error.msg}, as in a file that is cut off", remedy) from error
    except (RecursionError, ValueError) as error:  # numbers with thousands of digits
        raise FileFormatError.of(file, place, "JSON of some depth", f"{error!s:.80}", remedy) from error


def read_document(file: File, remedy: str) -> Part:
    """Read a file that is one JSON object."""
    found = parsed(read_text(file), file_name(file), "", remedy)
    if not isinstance(found.value, dict):
        raise found.error("an object", _shown(found.value))
    return found


def edge_table(edges: Iterable[Edge]) -> pa.Table:
    """Return edges as a table: ``src``, ``dst``, ``label``, each once and sorted."""
    rows = sorted(set(edges))
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table([pa.array(column, pa.string()) for column in columns], ["src", "dst", "label"])


def _shown(value: object) -> str:
    for kind, name in _KINDS.items():  # true and false are numbers as well, for Python, and come first
        if isinstance(value, kind):
            return name
    return "null" if value is None else type(value).__name__


def _few(value: dict[str, Any]) -> str:
    keys = [*value][:8]
    return ", ".join(map(repr, keys)) + (", …" if len(value) > len(keys) else "") if keys else "no keys"
