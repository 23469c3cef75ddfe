"""Names of vertices as a person reads them: one line each, nothing in them acts on what is around."""

from __future__ import annotations

from typing import Any


def label(name: Any, most: int) -> str:  # noqa: ANN401  (a vertex of any type)
    r"""Return a name in at most ``most`` characters; those that cannot be seen are written as escapes.

    Such are line ends and the marks that turn the direction of a text. A long name loses its middle: names of tables
    and files often begin alike, and end with what tells them apart.

    Examples
    --------
    >>> label("openssl", 18), label(7, 18), label("", 18)
    ('openssl', '7', '""')
    >>> label("a\nb\u202e", 18), label("warehouse://shop/raw.orders#amount", 18)
    ('a\\nb\\u202e', 'wareh…rders#amount')
    """
    text = str(name)
    if len(text) <= most:
        seen = _seen(text) or '""'
        if len(seen) <= most:
            return seen
    begin = (most - 1) // 3
    end = most - 1 - begin
    return f"{_seen(text[:begin])[:begin]}…{_seen(text[-end:])[-end:]}"


def _seen(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
