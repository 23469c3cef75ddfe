"""Colours of pictures, which can be told apart on white and on black; green and red also differ in lightness."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """How a box is drawn."""

    fill: str
    opacity: float
    line: str
    width: float


BOXES = {
    "vertex": Look("#4a86c5", 0.12, "#4a86c5", 1),
    "component": Look("#d98a2b", 0.22, "#d98a2b", 1.4),
    "frame": Look("#d98a2b", 0.08, "#d98a2b", 1.4),
    "centre": Look("#4a86c5", 0.45, "#2a66a5", 2),
}
EDGES = {"edge": "#8d9bab", "inserted": "#1a9850", "deleted": "#d73027"}
DASHES = {"deleted": "5 3"}
TEXTS = {
    "name": ("currentColor", "normal"),
    "won": ("#1a9850", "bold"),
    "lost": ("#d73027", "bold"),
    "note": ("#7a8794", "normal"),
}
#: Roles of words that are placed by their end.
ENDING = frozenset({"won", "lost"})
#: Shares that the legend of a matrix shows.
SCALE = (0.0, 0.001, 0.01, 0.1, 0.5, 1.0)
POWER = 0.35
_LIGHT, _DARK = (222, 235, 247), (8, 48, 107)


def shade(share: float) -> str:
    """Return the colour of a part of a matrix by how full it is.

    Examples
    --------
    >>> shade(0), shade(1)
    ('none', '#08306b')
    """
    if not share:
        return "none"
    strength = share**POWER
    return "#" + "".join(f"{round(a + (b - a) * strength):02x}" for a, b in zip(_LIGHT, _DARK, strict=True))
