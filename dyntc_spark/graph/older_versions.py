"""Older versions of a closure that is at a location: its history, and what is different from one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.changes.difference_on_spark import DifferenceOnSpark, difference_between
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.store.store import Store
from dyntc_spark.graph.version import Difference, Graph, Version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OlderVersions:
    """The older versions of a closure, at the location that it is attached to when somebody asks."""

    def __init__(self, door: Door, attached: Callable[[], Store]) -> None:
        self._door, self._attached = door, attached

    def history(self) -> pa.Table:
        """Return the versions, one row each."""
        return Store.required(self._attached().place).history()

    def difference(self, since: int) -> tuple[int, Difference]:
        """Return the current version, and what is different from an older one."""
        before = self.graph(since)

        def compared(version: Version, closure: Reachability) -> tuple[int, Difference]:
            return version.number, Difference.between(before, version.graph, closure)

        return self._door.ask_apart(compared)

    def changed(self, since: int, session: Callable[[], SparkSession]) -> tuple[int, DifferenceOnSpark | Difference]:
        """Do the same, on Spark where the closure is there."""
        before = self.graph(since)

        def compared(version: Version, closure: Reachability) -> tuple[int, DifferenceOnSpark | Difference]:
            return version.number, difference_between(before, version.graph, closure, session)

        return self._door.ask_apart(compared)

    def graph(self, version: int) -> Graph:
        """Read the graph at an older version."""
        store = self._attached()
        return store.load(Store.required(store.place).upto(self._door.now.number).upto(version)).graph
