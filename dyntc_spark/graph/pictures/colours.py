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
FULL = "#1f6fc0"


def shade(share: float) -> float:
    """Return how opaque a part of a matrix is, by how full it is: the empty ones can be told from the others.

    Examples
    --------
    >>> shade(0), shade(1)
    (0.0, 1.0)
    """
    return 0.1 + 0.9 * share**POWER if share else 0.0
