"""The questions that every closure answers: `DynamicClosure`, or the closure over some labels.

A line `forwarded(...)` is a method that a part does; its signature and its docstring are those of the part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dyntc_spark.graph.argument_checks import refuse_copy
from dyntc_spark.graph.forwarding import forwarded
from dyntc_spark.graph.interop import Interop
from dyntc_spark.graph.maintenance import Maintenance
from dyntc_spark.graph.parts import Parts
from dyntc_spark.graph.pictures.drawing import Drawing
from dyntc_spark.graph.questions.answers import Answers
from dyntc_spark.graph.questions.arrow_answers import ArrowAnswers
from dyntc_spark.graph.questions.everyday import EverydayQuestions
from dyntc_spark.graph.tables.current_views import CurrentViews

if TYPE_CHECKING:
    from typing_extensions import Self


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
        """Let go of all that the closure has here and on Spark, and of its location; what was saved there stays.

        A ``with`` statement does so at its end. Whatever is asked or changed afterwards is a ``ClosedError``. Answers
        that were given stay, and so do views, at the last version. Stop a stream before.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> with DynamicClosure.from_edges([("a", "b")]) as c:
        ...     c.reaches("a", "b")
        True
        >>> c
        DynamicClosure(closed)
        """
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
        """The same questions, and `history`, answered as Arrow tables: with the state in this process without Spark.

        Examples
        --------
        >>> from dyntc_spark import DynamicClosure
        >>> c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
        >>> c.arrow.query([("a", "c"), ("c", "a")])["reachable"].to_pylist()
        [True, False]
        """
        return self._parts.answers.arrow

    reaches = forwarded(lambda parts: parts.answers, Answers.reaches)
    query = forwarded(lambda parts: parts.answers, Answers.query)
    descendants = forwarded(lambda parts: parts.answers, Answers.descendants)
    ancestors = forwarded(lambda parts: parts.answers, Answers.ancestors)
    pairs = forwarded(lambda parts: parts.answers, Answers.pairs)
    edges = forwarded(lambda parts: parts.answers, Answers.edges)
    vertices = forwarded(lambda parts: parts.answers, Answers.vertices)
    explain = forwarded(lambda parts: parts.answers, Answers.explain)

    def __len__(self) -> int:
        """Return how many vertices there are, as a graph of NetworkX does; ``stats()`` knows edges and pairs."""
        return len(self._parts.door.now.graph.vertices)

    __contains__ = forwarded(lambda parts: parts.answers, Answers.__contains__)

    # --- everyday questions --------------------------------------------------------------------

    components = forwarded(lambda parts: parts.questions, EverydayQuestions.components)
    cycles = forwarded(lambda parts: parts.questions, EverydayQuestions.cycles)
    is_acyclic = forwarded(lambda parts: parts.questions, EverydayQuestions.is_acyclic)
    roots = forwarded(lambda parts: parts.questions, EverydayQuestions.roots)
    leaves = forwarded(lambda parts: parts.questions, EverydayQuestions.leaves)
    distance = forwarded(lambda parts: parts.questions, EverydayQuestions.distance)
    impact = forwarded(lambda parts: parts.questions, EverydayQuestions.impact)
    between = forwarded(lambda parts: parts.questions, EverydayQuestions.between)
    common_ancestors = forwarded(lambda parts: parts.questions, EverydayQuestions.common_ancestors)
    common_descendants = forwarded(lambda parts: parts.questions, EverydayQuestions.common_descendants)

    # --- views, pictures, state ----------------------------------------------------------------

    create_views = forwarded(lambda parts: parts.views, CurrentViews.create_views)
    to_networkx = forwarded(lambda parts: parts.interop, Interop.to_networkx)
    plot = forwarded(lambda parts: parts.drawing, Drawing.plot)
    explore = forwarded(lambda parts: parts.drawing, Drawing.explore)
    stats = forwarded(lambda parts: parts.maintenance, Maintenance.stats)

    def _titled(self, sizes: object) -> str:
        """Return what the closure is called, with its sizes."""
        return f"DynamicClosure({sizes})"

    def __repr__(self) -> str:
        return self._titled(self._parts.door)

    def _repr_html_(self) -> str:
        return self._parts.drawing.html(self._titled)
