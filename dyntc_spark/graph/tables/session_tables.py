"""A closure as tables of Spark sessions: of the one for answers, and of others that join with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


from dyntc_spark import session
from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.questions.arrow_answers import NamedAnswers
from dyntc_spark.graph.questions.paths import searcher
from dyntc_spark.graph.tables.joins import Search
from dyntc_spark.graph.tables.relations import Relations, Tables
from dyntc_spark.graph.tables.views import statement
from dyntc_spark.graph.version import Version
from dyntc_spark.session import is_connect, session_for


class SessionTables:
    """The tables that sessions have of a closure.

    ``spark`` is the session for answers; None: the active one, or a local one that is started when it is first needed.
    """

    def __init__(self, door: Door, spark: SparkSession | None) -> None:
        self.spark = spark
        self._door = door
        self._sent: list[Relations] = []  # what sessions have of the closure

    @property
    def session(self) -> SparkSession:
        """The session for answers."""
        return session_for(self.spark)

    def tables(self, asked: DataFrame | None = None) -> Tables:
        """Return the graph and its closure as tables of the session, or of one where they can be joined with ``asked``.

        Classic Spark joins DataFrames of all its sessions.
        """
        return self._door.ask_apart(self._relations_for(asked).tables)

    def searched(self, asked: DataFrame) -> tuple[Tables, Search]:
        """Return the same tables, and what tasks need to search for paths in the same version."""
        relations = self._relations_for(asked)

        def both(version: Version, closure: Reachability) -> tuple[Tables, Search]:
            edges, extent = version.graph.edges, version.graph.vertices.extent
            return relations.tables(version, closure), Search(searcher(edges, extent), closure.exact)

        return self._door.ask_apart(both)

    def _relations_for(self, asked: DataFrame | None) -> Relations:
        joined = asked is not None and is_connect(asked.sparkSession)
        return self.relations(asked.sparkSession if asked is not None and joined else self.session)

    def whole(self) -> tuple[DataFrame, DataFrame]:
        """Return the closure, ``src`` and ``dst``, and the vertices of the same version, ``vertex``."""
        tables = self.tables()
        text = statement("closure", wide=tables.wide)
        found = self.session.sql(text, None, vertices=tables.vertices, runs=tables.runs)
        return found.select("src", "dst"), tables.vertices.select("vertex")

    def framed(self, spark: SparkSession | None = None) -> NamedAnswers[DataFrame]:
        """Return answers as DataFrames of a session; names that are on Spark stay there."""
        session = spark or self.session
        return NamedAnswers(self._door, lambda graph, table, ends: graph.vertices.answer(session, table, ends))

    def relations(self, spark: SparkSession) -> Relations:
        """Return what a session has of the closure; that of sessions that are closed is forgotten."""
        found = next((each for each in self._sent if each.spark is spark), None)
        if found is None:
            found = Relations(spark)
            self._sent = [each for each in self._sent if session.is_open(each.spark)] + [found]
        return found

    def forget(self) -> None:
        """Let go of what was sent."""
        self._sent = []
