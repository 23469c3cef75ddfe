"""The engine ``recompute``: the closure built again from the edges at every batch.

It keeps what ``lanes`` keeps and answers as ``lanes`` does; only the policy differs. A batch costs what a build
costs, however small it is. It is what the other engines are measured against.
"""

from __future__ import annotations

from typing import ClassVar

from dyntc_spark.edges import Edges, EdgeSet, checked
from dyntc_spark.engines.lanes.engine import Lanes


class Recompute(Lanes):
    """The closure of any digraph, built again at every batch.

    Examples
    --------
    >>> engine = Recompute()
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    """

    name: ClassVar[str] = "recompute"

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges: as much work as ``init``."""
        n = self.vertices
        edges = EdgeSet.of(self.edges).replaced(checked(inserted, n), checked(deleted, n))
        self.init(edges.edges, n)
