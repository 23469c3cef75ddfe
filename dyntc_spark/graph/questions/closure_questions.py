"""The questions that every closure answers, whoever changes it: `DynamicClosure`, or the closure over some labels.

Each method calls the part that does the work, and has its docstring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from dyntc_spark.graph.documented import documented_by
from dyntc_spark.graph.explore.page import Page
from dyntc_spark.graph.misuse import refuse_copy
from dyntc_spark.graph.parts import SEEN, Parts
from dyntc_spark.graph.questions.arrow import ArrowAnswers
from dyntc_spark.graph.questions.asking import NO_TARGET, Table, Unknown, Vertex
from dyntc_spark.graph.questions.ranking import By
from dyntc_spark.graph.tables.joins import UnknownRow

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes
    from pyspark.sql import DataFrame
    from typing_extensions import Self


@documented_by(Parts, *SEEN)
class ClosureQuestions:
    """What can be asked of a closure, and how it is shown.

    Parameters
    ----------
    parts
        The parts of the closure.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __reduce__(self) -> NoReturn:
        refuse_copy(repr(self))

    def close(self) -> None:
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # --- asking --------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of the last batch."""
        return self._parts.door.now.number

    @property
    def arrow(self) -> ArrowAnswers:
        return self._parts.answers.arrow

    def reaches(self, src: Vertex, dst: Vertex, *, unknown: Unknown = "raise") -> bool:
        return self._parts.answers.reaches(src, dst, unknown=unknown)

    def query(
        self, pairs: Table, *, unknown: UnknownRow | None = None, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        return self._parts.answers.query(pairs, unknown=unknown, src=src, dst=dst)

    def descendants(
        self,
        vertex: Vertex | DataFrame,
        *,
        reflexive: bool = False,
        unknown: UnknownRow = "null",
        column: str = "vertex",
    ) -> DataFrame:
        return self._parts.answers.descendants(vertex, reflexive=reflexive, unknown=unknown, column=column)

    def ancestors(
        self,
        vertex: Vertex | DataFrame,
        *,
        reflexive: bool = False,
        unknown: UnknownRow = "null",
        column: str = "vertex",
    ) -> DataFrame:
        return self._parts.answers.ancestors(vertex, reflexive=reflexive, unknown=unknown, column=column)

    def pairs(self, *, reflexive: bool = False) -> DataFrame:
        return self._parts.answers.pairs(reflexive=reflexive)

    def edges(self) -> DataFrame:
        return self._parts.answers.edges()

    def vertices(self) -> DataFrame:
        return self._parts.answers.vertices()

    def explain(
        self, source: Vertex | Table, target: Vertex = NO_TARGET, /, *, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        return self._parts.answers.explain(source, target, src=src, dst=dst)

    def __len__(self) -> int:
        """Return how many vertices there are, as a graph of NetworkX does; ``stats()`` knows edges and pairs."""
        return len(self._parts.door.now.graph.vertices)

    def __contains__(self, asked: Vertex | tuple[Vertex, Vertex]) -> bool:
        return asked in self._parts.answers

    # --- everyday questions --------------------------------------------------------------------

    def components(self) -> DataFrame:
        return self._parts.questions.components()

    def cycles(self) -> DataFrame:
        return self._parts.questions.cycles()

    def is_acyclic(self) -> bool:
        return self._parts.questions.is_acyclic()

    def roots(self) -> DataFrame:
        return self._parts.questions.roots()

    def leaves(self) -> DataFrame:
        return self._parts.questions.leaves()

    def distance(
        self,
        source: Vertex | Table,
        target: Vertex = NO_TARGET,
        /,
        *,
        unknown: UnknownRow | None = None,
        src: str = "src",
        dst: str = "dst",
    ) -> DataFrame | int | None:
        return self._parts.questions.distance(source, target, unknown=unknown, src=src, dst=dst)

    def impact(self, top: int = 10, by: By = "ancestors") -> DataFrame:
        return self._parts.questions.impact(top, by)

    def between(self, source: Vertex, target: Vertex, *, edges: bool = False) -> DataFrame:
        return self._parts.questions.between(source, target, edges=edges)

    def common_ancestors(self, a: Vertex, b: Vertex, *, reflexive: bool = False) -> DataFrame:
        return self._parts.questions.common_ancestors(a, b, reflexive=reflexive)

    def common_descendants(self, a: Vertex, b: Vertex, *, reflexive: bool = False) -> DataFrame:
        return self._parts.questions.common_descendants(a, b, reflexive=reflexive)

    # --- views, pictures, state ----------------------------------------------------------------

    def create_views(self, prefix: str) -> None:
        self._parts.views.create_views(prefix)

    def to_networkx(self, *, closure: bool = False) -> nx.DiGraph:
        return self._parts.interop.to_networkx(closure=closure)

    def plot(
        self, ax: Axes | None = None, *, around: Vertex | None = None, depth: int = 2, unfold: bool = False
    ) -> Axes:
        return self._parts.pictures.plot(ax, around=around, depth=depth, unfold=unfold)

    def explore(self, around: Vertex | None = None, depth: int | None = None, *, most: int = 2_000) -> Page:
        return self._parts.pictures.explore(around, depth, most=most)

    def stats(self) -> dict[str, Any]:
        return self._parts.upkeep.stats()

    def _titled(self, sizes: object) -> str:
        """Return what the closure is called, with its sizes."""
        return f"DynamicClosure({sizes})"

    def __repr__(self) -> str:
        return self._titled(self._parts.door)

    def _repr_html_(self) -> str:
        return self._parts.pictures.html(self._titled)
