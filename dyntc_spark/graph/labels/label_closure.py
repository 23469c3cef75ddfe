"""The closure over some labels of a graph: what `LabelledGraph.closure` returns."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NoReturn, Protocol

import pyarrow as pa

from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import OptionError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Table
from dyntc_spark.graph.parts import Parts
from dyntc_spark.graph.questions.arrow_answers import ArrowAnswers
from dyntc_spark.graph.questions.closure_questions import ClosureQuestions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_log = logging.getLogger(__name__)

MOST_LISTED = 20  # labels in a message


class Owner(Protocol):
    """The graph that a closure is of."""

    def reading(self) -> AbstractContextManager[int]:
        """Hold up changes."""

    def within(self, labels: frozenset[str] | None, changes: Table, names: Names, *, strict: bool) -> pa.Table:
        """Return the net effect of changes of labelled edges on some labels: ``op``, ``src``, ``dst``."""

    def forget(self, closure: LabelClosure) -> None:
        """Let a closure go."""


#: What columns are called: ``op``, ``src``, ``dst``, ``label``, ``timestamp``.
Names = tuple[str, str, str, str, str]


class LabelArrow(ArrowAnswers):
    """Questions to the closure over some labels, answered as Arrow tables."""

    def __init__(self, door: Door, owner: Owner, labels: frozenset[str] | None) -> None:
        super().__init__(door)
        self._owner, self._labels = owner, labels

    def _required_older(self) -> NoReturn:
        raise OptionError(
            "a closure with its own location",
            "one over labels of a graph",
            "Its graph has the location: LabelledGraph.open(location, version) opens an older version.",
        )

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


class LabelClosure(ClosureQuestions):
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
        super().__init__(Parts(engine, spark))
        self._owner, self._labels = owner, labels

    @property
    def parts(self) -> Parts:
        """What the closure is made of, for its graph, which changes it."""
        return self._parts

    @property
    def labels(self) -> frozenset[str] | None:
        """The labels of the edges that paths may have; None: all, also those that are new later."""
        return self._labels

    @property
    def arrow(self) -> LabelArrow:
        """The same questions, answered as Arrow tables: with the state in this process without Spark."""
        return LabelArrow(self._parts.door, self._owner, self._labels)

    def changes(self) -> DataFrame:
        """The pairs that the last batch made reachable or unreachable here: ``src``, ``dst``, ``op``, ``version``."""
        return self._parts.answers.changes()

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

    def close(self) -> None:
        """Let the closure go; the graph keeps its edges, and builds another one when it is asked for these labels.

        Again, it does nothing.
        """
        self._owner.forget(self)
        self._parts.close()

    def _titled(self, sizes: object) -> str:
        return f"LabelClosure({shown(self._labels)}: {sizes})"


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
        raise OptionError("a set of labels", f"{labels!r:.80}", "Write them in braces: closure({'member', 'owner'}).")
    listed = list(labels)  # what is no label need not fit into a set
    if not listed or not all(isinstance(label, str) and label for label in listed):
        came = f"{listed!r:.80}" if listed else "none"
        raise OptionError("labels, which are texts", came, "For all edges leave them out.")
    return frozenset(listed)


def look_at_unknown(wanted: frozenset[str] | None, known: Collection[str], unknown: str) -> None:
    """Log, allow or refuse labels that no edge has; among no labels at all, none is known.

    Examples
    --------
    >>> look_at_unknown(frozenset({"membr"}), {"member", "owner"}, "raise")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dyntc_spark.errors.OptionError: expected labels that edges have: 'member', 'owner'; got 'membr', which no ...
    """
    if unknown not in ("warn", "allow", "raise"):
        raise OptionError("unknown='warn', 'allow' or 'raise'", f"{unknown!r:.80}", "The first is the default.")
    strange = sorted((wanted or frozenset()) - set(known))
    if unknown == "allow" or not strange or not known:
        return
    listed = [repr(label) for label in sorted(known)]
    error = OptionError(
        f"labels that edges have: {', '.join(listed[:MOST_LISTED])}{', ...' * (len(listed) > MOST_LISTED)}",
        f"{', '.join(map(repr, strange))}, which no edge has",
        "Check the spelling, or pass unknown='allow' if it comes later.",
    )
    if unknown == "raise":
        raise error
    _log.warning("A closure over labels: %s", error)
