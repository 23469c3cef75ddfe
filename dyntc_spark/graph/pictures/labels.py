"""Names of vertices as a person reads them: one line each, nothing in them acts on what is around."""

from __future__ import annotations

from typing import Any


def label(name: Any, most: int) -> str:  # noqa: ANN401  (a vertex of any type)
    r"""Return a name in at most ``most`` characters; those that cannot be seen are written as escapes.

    Such are line ends and the marks that turn the direction of a text.

    Examples
    --------
    >>> label("openssl", 18), label(7, 18), label("", 18)
    ('openssl', '7', '""')
    >>> label("a\nb\u202e", 18), label("abcdefgh", 4)
    ('a\\nb\\u202e', 'abc…')
    """
    text = str(name)[: most + 1]
    seen = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text) or '""'
    return seen if len(seen) <= most else f"{seen[: most - 1]}…"
