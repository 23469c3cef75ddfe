"""The closure over some labels of a graph: what `LabelledGraph.closure` returns."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pyarrow as pa

from dyntc_spark.engines.base import Engine
from dyntc_spark.graph.answers import Answers
from dyntc_spark.graph.arrow import ArrowAnswers
from dyntc_spark.graph.asking import Table
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.history import Version
from dyntc_spark.graph.misuse import refuse_copy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Owner(Protocol):
    """The graph that a closure is of."""

    def reading(self) -> AbstractContextManager[int]:
        """Hold up changes."""

    def within(self, labels: frozenset[str] | None, changes: Table, names: Names, *, strict: bool) -> pa.Table:
        """Return what changes of labelled edges come to among some labels: ``op``, ``src``, ``dst``."""

    def forget(self, labels: frozenset[str] | None) -> None:
        """Let the closure over some labels go."""


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


class LabelClosure(Answers):
    """The closure of the edges that have one of some labels: it can be asked, and its graph changes it.

    It has all vertices of the graph, also those that have edges with other labels only.

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
        super().__init__(engine, spark)
        self._owner, self._labels = owner, labels

    def __reduce__(self) -> NoReturn:
        refuse_copy(repr(self))

    @property
    def labels(self) -> frozenset[str] | None:
        """The labels of the edges that paths may have; None: all, also those that are new later."""
        return self._labels

    @property
    def arrow(self) -> LabelArrow:
        """The same questions, answered as Arrow tables."""
        return LabelArrow(self._door, self._owner, self._labels)

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
            return super().what_if(found)

    def stats(self) -> dict[str, Any]:
        """Sizes, the number of batches, and under ``details`` what the engine says."""

        def told(version: Version, closure: Engine) -> dict[str, Any]:
            return {
                "version": version.number,
                "vertices": len(version.graph.vertices),
                "edges": len(version.graph.edges),
                "labels": None if self._labels is None else sorted(self._labels),
                "engine": version.engine,
                "backend": version.backend,
                "details": {**closure.stats(), "losses": self._door.losses},
            }

        return self._door.ask(told)

    def close(self) -> None:
        """Let the closure go; the graph keeps its edges, and builds the closure again when it is asked for."""
        self._owner.forget(self._labels)
        self._door.close()

    def __repr__(self) -> str:
        return f"LabelClosure({shown(self._labels)}: {self._door})"


def shown(labels: frozenset[str] | None) -> str:
    """Return labels as a text.

    Examples
    --------
    >>> shown(frozenset({"viewer", "owner"})), shown(None)
    ('owner, viewer', 'all labels')
    """
    return "all labels" if labels is None else ", ".join(sorted(labels))
