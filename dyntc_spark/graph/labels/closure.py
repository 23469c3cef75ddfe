"""The closure over some labels of a graph: what `LabelledGraph.closure` returns."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pyarrow as pa

from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import OptionError
from dyntc_spark.graph.arrow import ArrowAnswers
from dyntc_spark.graph.asking import NO_TARGET, Table, Unknown, Vertex
from dyntc_spark.graph.documented import documented_by
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.explore.page import Page
from dyntc_spark.graph.joins import UnknownRow
from dyntc_spark.graph.misuse import refuse_copy
from dyntc_spark.graph.parts import SEEN, Parts
from dyntc_spark.graph.ranking import By

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes
    from pyspark.sql import DataFrame, SparkSession


class Owner(Protocol):
    """The graph that a closure is of."""

    def reading(self) -> AbstractContextManager[int]:
        """Hold up changes."""

    def within(self, labels: frozenset[str] | None, changes: Table, names: Names, *, strict: bool) -> pa.Table:
        """Return what changes of labelled edges come to among some labels: ``op``, ``src``, ``dst``."""

    def forget(self, closure: LabelClosure) -> None:
        """Let a closure go."""


#: What columns are called: ``op``, ``src``, ``dst``, ``label``, ``timestamp``.
Names = tuple[str, str, str, str, str]


class LabelArrow(ArrowAnswers):
    """Questions to the closure over some labels, answered as Arrow tables."""

    def __init__(self, door: Door, owner: Owner, labels: frozenset[str] | None) -> None:
        super().__init__(door)
        self._owner, self._labels = owner, labels

    def what_if(
        self,
        changes: Table,
        *,
        strict: bool = False,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        label: str = "label",
        timestamp: str = "timestamp",
    ) -> pa.Table:
        """Return the pairs that a batch of labelled changes would change; see `LabelClosure.what_if`."""
        with self._owner.reading():
            found = self._owner.within(self._labels, changes, (op, src, dst, label, timestamp), strict=strict)
            return super().what_if(found)


@documented_by(*SEEN)
class LabelClosure:
    """The closure of the edges that have one of some labels: it can be asked, and its graph changes it.

    The questions are those of `DynamicClosure`. It has all vertices of the graph, also those that have edges with other
    labels only.

    Parameters
    ----------
    engine
        Has no closure yet.
    spark
        The session for answers.
    owner
        The graph.
    labels
        The labels; None: all.
    """

    def __init__(self, engine: Engine, spark: SparkSession | None, owner: Owner, labels: frozenset[str] | None) -> None:
        self._parts = Parts(engine, spark)
        self._owner, self._labels = owner, labels

    def __reduce__(self) -> NoReturn:
        refuse_copy(repr(self))

    @property
    def parts(self) -> Parts:
        """What the closure is made of, for its graph, which changes it."""
        return self._parts

    @property
    def labels(self) -> frozenset[str] | None:
        """The labels of the edges that paths may have; None: all, also those that are new later."""
        return self._labels

    @property
    def version(self) -> int:
        """The number of the last batch."""
        return self._parts.door.now.number

    @property
    def arrow(self) -> LabelArrow:
        """The same questions, answered as Arrow tables: with the state in this process without Spark."""
        return LabelArrow(self._parts.door, self._owner, self._labels)

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
        """The edges that have one of the labels, each once: ``src``, ``dst``."""
        return self._parts.answers.edges()

    def vertices(self) -> DataFrame:
        return self._parts.answers.vertices()

    def changes(self) -> DataFrame:
        """The pairs that the last batch made reachable or unreachable here: ``src``, ``dst``, ``op``, ``version``."""
        return self._parts.answers.changes()

    def explain(
        self, source: Vertex | Table, target: Vertex = NO_TARGET, /, *, src: str = "src", dst: str = "dst"
    ) -> DataFrame:
        return self._parts.answers.explain(source, target, src=src, dst=dst)

    def __len__(self) -> int:
        """Return how many vertices there are."""
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

    def what_if(
        self,
        changes: Table,
        *,
        strict: bool = False,
        op: str = "op",
        src: str = "src",
        dst: str = "dst",
        label: str = "label",
        timestamp: str = "timestamp",
    ) -> DataFrame:
        """The pairs that a batch would make reachable or unreachable here: ``src``, ``dst``, ``op``, ``version``.

        Parameters
        ----------
        changes, strict, op, src, dst, label, timestamp
            As `LabelledGraph.apply` takes them; nothing is applied. Changes of other labels count for nothing.

        Examples
        --------
        >>> from dyntc_spark import LabelledGraph
        >>> g = LabelledGraph.from_edges([("anna", "wiki", "viewer"), ("anna", "wiki", "owner")])
        >>> g.closure({"viewer", "owner"}).arrow.what_if([("delete", "anna", "wiki", "owner")]).num_rows
        0
        >>> g.closure({"owner"}).arrow.what_if([("delete", "anna", "wiki", "owner")]).to_pylist()
        [{'src': 'anna', 'dst': 'wiki', 'op': 'delete', 'version': 1}]
        """
        with self._owner.reading():
            found = self._owner.within(self._labels, changes, (op, src, dst, label, timestamp), strict=strict)
            return self._parts.questions.what_if(found)

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

    def close(self) -> None:
        """Let the closure go; the graph keeps its edges, and builds another one when it is asked for these labels.

        Again, it does nothing.
        """
        self._owner.forget(self)
        self._parts.close()

    def __repr__(self) -> str:
        return f"LabelClosure({shown(self._labels)}: {self._parts.door})"

    def _repr_html_(self) -> str:
        return self._parts.pictures.html()


def shown(labels: frozenset[str] | None) -> str:
    """Return labels as a text.

    Examples
    --------
    >>> shown(frozenset({"viewer", "owner"})), shown(None)
    ('owner, viewer', 'all labels')
    """
    return "all labels" if labels is None else ", ".join(sorted(labels))


def checked_labels(labels: Collection[str] | None) -> frozenset[str] | None:
    """Return labels as a set; refuse none at all, and what is no label."""
    if labels is None:
        return None
    if isinstance(labels, str) or not isinstance(labels, Collection):
        raise OptionError("a set of labels", f"{labels!r:.80}", "Write closure({'member', 'owner'}).")
    listed = list(labels)  # what is no label need not fit into a set
    if not listed or not all(isinstance(label, str) and label for label in listed):
        came = f"{listed!r:.80}" if listed else "none"
        raise OptionError("labels, which are texts", came, "For all edges leave them out.")
    return frozenset(listed)
