"""A page as one HTML file: style, scripts and data are inside, nothing is fetched, nothing else can run.

Names of vertices are hostile. They are data in a script element that is no script, and the scripts of the page write
them as text only. A policy in the page's head lets exactly these scripts and this style through, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from dyntc_spark.errors import StorageError

SCRIPTS = ("model.js", "drawing.js", "explore.js")
STYLE = "explore.css"
HEIGHT = 680  # of the frame in a notebook
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """A page to look at, as `DynamicClosure.explore` makes it: notebooks show it in place.

    Examples
    --------
    >>> from dyntc_spark import DynamicClosure
    >>> DynamicClosure.from_edges([("a", "b")]).explore()
    Page(2 of 2 vertices)
    """

    html: str  #: the whole page, for ``displayHTML`` or a server
    shown: int  #: vertices on the page
    vertices: int  #: vertices of the graph

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, and return its path."""
        place = Path(path)
        try:
            place.write_text(self.html, encoding="utf-8")
        except OSError as error:
            raise StorageError(
                "a file that can be written, for the page", f"{str(path)!r}: {error.strerror}", "Name another file."
            ) from error
        return place.absolute()

    def _repr_html_(self) -> str:
        """Return the page in a frame, which can do nothing but run its scripts."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="a closure to explore" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid #8886"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Page({self.shown:,} of {self.vertices:,} vertices)"


def rendered(data: dict[str, Any]) -> str:
    """Return the page with its data."""
    parts = {"data": as_script_data(data), **_fixed()}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("page.html"))


def as_script_data(data: Any) -> str:  # noqa: ANN401  (what JSON can hold)
    r"""Return JSON that ends no script element, begins no comment, and has no line ends of JavaScript.

    Examples
    --------
    >>> as_script_data(["</script>", "&"])
    '["\\u003c/script\\u003e","\\u0026"]'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


@cache
def _fixed() -> dict[str, str]:
    """Return what is the same in all pages."""
    scripts, style = [_read(name) for name in SCRIPTS], _read(STYLE)
    policy = [
        "default-src 'none'",
        f"script-src {' '.join(map(_hash, scripts))}",
        f"style-src {_hash(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return {
        "policy": "; ".join(policy),
        "style": f"<style>{style}</style>",
        "scripts": "".join(f"<script>{text}</script>" for text in scripts),
    }


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
